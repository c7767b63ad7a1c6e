//! Transfers files over several real network paths at once, with any of Plait's schedulers.
//!
//! ```text
//! file ──► Session: Multipath QUIC (plait-transport) ──► a connection per path: QUIC (noq) ──► UDP
//!          (scheduler, windows, losses, order)           (TLS, pinned certificate, nothing else)
//! ```
//!
//! Every path is a separate QUIC connection from one local address. Its datagrams (RFC 9221) carry
//! the packets of the transport crate's endpoint, so the simulator and the real sender run the same
//! state machine. noq's congestion control is switched off ([`unlimited`]). noq retransmits no
//! datagram, and its acknowledgements serve only its own handshake.
//!
//! The paths are deliberately not paths of *one* QUIC connection. noq 1.4.0 acknowledges all paths
//! on the lowest one, gives up paths that are busy in one direction, and needs the first path to
//! work. `tests/it/noq_multipath.rs` checks this, so that a noq update with a fix is noticed. Here
//! no path depends on another.
//!
//! The price is a handshake per path and two short headers per packet.
//!
//! A receiver that works with bytes has to know where segments begin. A transfer is one ordered
//! stream in each direction, whose writers fill their last segment, so all segments are full
//! (`Boundaries::uniform` of the transport), which the receiver checks. Segments of [`streams`]
//! have any length: their frames carry the number of the segment instead of the offset in bytes
//! (`mpquic::Image::numbered`, `Boundaries::numbered`).
//!
//! Only [`files`] and [`proxy`] use sockets and a clock. [`Sender`] and [`Receiver`] take datagrams
//! and times, and return datagrams.
//!
//! - [`identity`]: certificates, fingerprints and secrets;
//! - [`clients`]: clients of a listening end, with secrets and limits;
//! - [`hello`]: the greeting of each path; [`files::records`]: the messages about files. This crate
//!   parses these, and the records of streams, from the network itself;
//! - [`names`]: checks and display of file names;
//! - [`session`]: a transport endpoint, with its packets as bytes, and the payload;
//! - [`source`]: the source of the payload, and the application that writes and reads it;
//! - [`connection`]: one QUIC connection;
//! - [`recording`]: the events of the sending end, in a file;
//! - [`opening_end`], [`session_opener`], [`payload`]: the end that opens the paths, with any
//!   payload;
//! - [`sender`], [`receiver`]: the two ends of a file;
//! - [`streams`]: many byte streams, in both directions, in the segments of one session;
//! - [`interop`]: one QUIC connection with QUIC's own multipath, to any peer;
//! - [`terms`]: the cost of a path, and its budget;
//! - [`measured`]: measurement of a connection's paths; [`pilot`]: changes of the scheduler at run
//!   time;
//! - `auto` (feature `simulation`): the pilot that asks the simulator;
//! - `tunnels` (feature `simulation`): the simulator's packets in real connections over its links:
//!   the engine `quic`;
//! - [`files`], [`proxy`]: the ends with sockets, files or TCP connections, and a clock;
//! - `report` (feature `simulation`): their events as JSON;
//! - `command` (feature `program`): the commands `send`, `recv` and `proxy`.
//!
//! Private modules: `connector` has the paths of the opening end, `acceptor` those of the accepting
//! end (greetings, retries, limits), `accepted_session` a client's session there, `address_change`
//! changes of local addresses, `transfer` a transfer at the receiver, `reader` numbers in messages.
//! Both ends of files and of streams use the same paths. `connector/path_mtu.rs` and
//! `session/black_hole.rs` find the MTU of each path and black holes.

mod accepted_session;
mod acceptor;
mod address_change;
#[cfg(feature = "simulation")]
pub mod auto;
pub mod clients;
#[cfg(feature = "program")]
pub mod command;
pub mod connection;
mod connector;
pub mod error;
pub mod files;
pub mod hello;
pub mod identity;
pub mod interop;
pub mod measured;
pub mod names;
pub mod opening_end;
pub mod payload;
pub mod pilot;
pub mod proxy;
mod reader;
pub mod receiver;
pub mod recording;
#[cfg(feature = "simulation")]
pub mod report;
pub mod sender;
pub mod session;
pub mod session_opener;
pub mod settings;
pub mod source;
pub mod streams;
pub mod terms;
mod transfer;
#[cfg(feature = "simulation")]
pub mod tunnels;
pub mod unlimited;

pub use clients::{Client, Clients, ConnectedClient, Limits};
pub use error::Error;
pub use hello::Offer;
pub use identity::{Fingerprint, Identity, Secret};
pub use opening_end::OpeningEnd;
pub use receiver::Receiver;
pub use sender::Sender;
pub use settings::Settings;
pub use terms::Terms;
