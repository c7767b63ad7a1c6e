//! TCP connections and UDP datagrams over one multipath connection, from the near end to the far
//! end.
//!
//! ```text
//! program ─► listener or SOCKS5 ─► stream of Near ═► paths ═► Far ─► is it allowed? which address? ─► TCP connection
//! program ─► UDP port or relay ─► flow of Near ═► paths ═► Far ─► allowed? address? ─► UDP socket
//! ```
//!
//! [`NearEnd::open`] and [`FarEnd::open`] bind the sockets. [`NearEnd::run`] and [`FarEnd::run`]
//! then run on the calling thread, each in one loop. They call a watcher, which returns a
//! [`ControlFlow`](std::ops::ControlFlow), in every turn, and twice a second with a [`NearStatus`].

mod connecting;
mod datagram_socket;
mod far_end;
mod far_settings;
mod lookup;
mod near_end;
mod near_settings;
mod pipe;
mod rate_limit;
mod socks;
mod target;
mod target_connection;
mod udp_flows;
mod udp_ports;

pub use crate::streams::far::PeerStatus;
pub use far_end::FarEnd;
pub use far_settings::{FarEvent, FarSettings};
pub use near_end::NearEnd;
pub use near_settings::{Forward, NearEvent, NearSettings, NearStatus};
pub use pipe::IDLE;
pub use target::{Allowed, Target};

/// Allocates tokens for sockets that do not belong to paths.
#[derive(Debug)]
struct Tokens(usize);

impl Tokens {
    fn new() -> Self {
        Self(crate::files::sockets::FIRST_OTHER)
    }

    fn next(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}
