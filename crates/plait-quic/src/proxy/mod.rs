//! TCP connections and UDP datagrams over one multipath connection, from the near end to the far
//! end.
//!
//! ```text
//! program ─► listener or SOCKS5 ─► stream of Near ═► paths ═► Far ─► is it allowed? which address? ─► TCP connection
//! program ─► UDP port or relay ─► flow of Near ═► paths ═► Far ─► allowed? address? ─► UDP socket
//! ```
//!
//! [`Entrance::open`] and [`Exit::open`] bind the sockets. [`Entrance::run`] and [`Exit::run`] then
//! run on the calling thread, each in one loop. They call a watcher, which returns a
//! [`ControlFlow`](std::ops::ControlFlow), in every turn, and twice a second with a [`Status`].

mod connection;
mod datagrams;
mod entrance;
mod exit;
mod lookup;
mod outlets;
mod outward;
mod pipe;
mod plan;
mod ports;
mod rate;
mod socks;
mod target;

pub use crate::streams::far::Standing;
pub use entrance::Entrance;
pub use exit::{Exit, Hosting, Tidings};
pub use pipe::IDLE;
pub use plan::{Forward, Plan, Status, Told};
pub use target::{Allowed, Target};

/// Allocates tokens for sockets that do not belong to paths.
#[derive(Debug)]
struct Tokens(usize);

impl Tokens {
    fn new() -> Self {
        Self(crate::files::sockets::OTHERS)
    }

    fn next(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}
