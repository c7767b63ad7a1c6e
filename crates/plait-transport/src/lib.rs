//! Multipath transports as state machines: no sockets, no threads, no clock ("sans-IO").
//!
//! An engine passes in packets and the time, and takes out packets and the moment of the next
//! timer. The simulated code could run on real sockets.
//!
//! ```text
//!  application ──write──► ┌────────────────── Endpoint ──────────────────┐
//!                         │ protocol (cmt_sctp, mptcp, mpquic)           │
//!  network ──packet─────► │  sending half:   reading acknowledgements,   │ ──push──► Sink
//!  clock ───timeout─────► │                  sending; owns Core:         │
//!                         │   Core: stream, scheduler, copies, receiver's│
//!                         │         window                               │
//!                         │    └─ a path each: queues, flight, windows,  │
//!                         │       timers, loss recovery                  │
//!                         │  receiving half: order, when to acknowledge  │
//!                         └──────────────────────────────────────────────┘
//! ```
//!
//! Call `handle_packet` or `handle_timeout`, then `transmit(now, &mut sink)`, which pushes all
//! packets that leave now, then `next_wakeup`.
//!
//! Each end sends one stream and receives one. A server that never wrote sends no probes, so a
//! connection with data in one direction costs no more than a one-way connection would.
//! Acknowledgements ride on data where there is any (MPTCP, TCP and Multipath QUIC).
//!
//! - the connection core (private module `core`): data queue and path queues, flight per path,
//!   scheduler, windows, path states; shared by all protocols;
//! - [`endpoint`]: the two ends of a connection of any protocol, driven by an engine;
//! - [`cmt_sctp`]: the particular parts of CMT-SCTP;
//! - [`mptcp`]: the particular parts of MPTCP, and TCP as its case of one path;
//! - [`mpquic`]: the particular parts of Multipath QUIC;
//! - [`congestion`], [`rtt`]: per path, behind small interfaces;
//! - [`reassembly`]: the receiver's side that protocols share;
//! - [`ring`], [`run_set`]: numbered entries, and sets of numbers, at a cost that does not grow
//!   with windows;
//! - [`sink`]: the destination of packets;
//! - [`wire`]: packets as bytes, for real networks and captures;
//! - [`observer`]: callbacks for recording.

mod boundaries;
pub mod cmt_sctp;
pub mod congestion;
mod core;
mod effort;
pub mod endpoint;
pub mod error;
pub mod image;
pub mod mpquic;
pub mod mptcp;
pub mod observer;
pub mod packet;
mod protocol;
pub mod reassembly;
pub mod ring;
pub mod rtt;
pub mod run_set;
pub mod sink;
pub mod wire;

pub use crate::core::{
    ConnectionConfig, Counters, MAX_DECISIONS_PER_OPPORTUNITY, MAX_QUEUED, OneWayDelays, PathConfig,
    PathTotals, WriteOptions,
};
pub use error::{Error, SchedulerFault};
pub use observer::{Observer, SendReason, Sent};
pub use sink::{Origin, Sink, Transmit};
