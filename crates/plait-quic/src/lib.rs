//! Files over several real paths at once, with any of Plait's schedulers.
//!
//! ```text
//! file ──► Session: plait-transport's Multipath QUIC ──► one Link per path: a QUIC connection (noq) ──► UDP
//!          (scheduler, windows, losses, order)              (TLS, pinned certificate, nothing else)
//! ```
//!
//! Every path is a QUIC connection of its own from one local address, and the packets of the transport crate's endpoint travel in its
//! datagrams (RFC 9221). So the state machine that is simulated is the one that sends: noq's congestion control is switched off
//! ([`unlimited`]), it repeats no datagram, and what it acknowledges serves its own handshake alone. That the paths are not paths of *one*
//! QUIC connection is deliberate: noq 1.4.0 acknowledges all paths on the lowest one, gives up those that are busy in one direction and needs the
//! first to work (`tests/it/noq_multipath.rs` holds that, so that an update which mends it is noticed). Here no path needs another.
//!
//! No sockets and no clock but in [`files`] and [`proxy`]: [`Sender`] and [`Receiver`] take datagrams and moments, and give datagrams.
//!
//! - [`identity`]: certificates, fingerprints, who is believed;
//! - [`clients`]: clients of a listening end, with secrets and limits;
//! - [`hello`]: the greeting of each path; [`files::records`]: the messages about files. This crate itself reads these and streams' records from the wire;
//! - [`names`]: checks and display of files' names;
//! - [`session`]: a transport endpoint, its packets as bytes, the payload;
//! - [`source`]: where the payload comes from, and the application that writes and reads;
//! - [`link`]: one QUIC connection;
//! - [`recording`]: what happened at the end that sends, in a file;
//! - [`sender`], [`receiver`]: the two ends;
//! - [`streams`]: many streams of bytes, both ways, in the segments of one session;
//! - [`interop`]: one QUIC connection with QUIC's own multipath, to any peer;
//! - [`terms`]: what a path costs, and how much it may carry;
//! - [`measured`]: what a connection finds out about its paths; [`pilot`]: who may change the scheduler while it runs;
//! - `auto` (feature `simulation`): the pilot that asks the simulator;
//! - `tunnels` (feature `simulation`): the simulator's packets in real connections over its links: the engine `quic`;
//! - [`files`], [`proxy`]: the ends with sockets, files or TCP connections, and a clock;
//! - `report` (feature `simulation`): their events as JSON;
//! - `command` (feature `program`): the commands `send`, `recv` and `proxy`.

#[cfg(feature = "simulation")]
pub mod auto;
pub mod clients;
#[cfg(feature = "program")]
pub mod command;
mod door;
pub mod error;
pub mod files;
pub mod hello;
pub mod identity;
pub mod interop;
pub mod link;
pub mod measured;
pub mod names;
pub mod pilot;
pub mod proxy;
pub mod receiver;
pub mod recording;
#[cfg(feature = "simulation")]
pub mod report;
mod reroute;
pub mod sender;
pub mod session;
pub mod settings;
pub mod source;
pub mod streams;
pub mod terms;
mod transfer;
#[cfg(feature = "simulation")]
pub mod tunnels;
pub mod unlimited;
mod ways;

pub use clients::{Client, Clients, Guest, Limits};
pub use error::Error;
pub use hello::Offer;
pub use identity::{Fingerprint, Identity, Secret};
pub use receiver::Receiver;
pub use sender::Sender;
pub use settings::Settings;
pub use terms::Terms;
