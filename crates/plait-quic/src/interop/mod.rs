//! Mode *interop*: one ordinary QUIC connection with the multipath extension, whose peer may be any implementation of it.
//!
//! ```text
//! streams ──► noq: packets, losses, windows ──► one path of the connection for each local address ──► UDP
//!                   ▲ one gate open
//! Scheduler ──► Connection: who may send now
//! ```
//!
//! Nothing of ours is on the wire: streams are QUIC's (RFC 9000), paths those of draft-ietf-quic-multipath-21. noq does reliability, loss
//! detection and congestion control; a scheduler decides which path each packet takes, by gates in front of noq's controllers of which
//! one is open at a time. Data leaves in the order in which it was written, and noq sends it once until it is lost. So what needs more than to choose a
//! path within its window is [refused by name](check): queues of paths (also those in which a segment waits for a limit), copies, messages.
//!
//! - [`Connection`]: any peer, any application protocol: open streams, write, read, take what leaves;
//! - [`Sender`]: a file, to `plait recv`, which tells both modes apart by the protocol in TLS (ALPN).
//!
//! # What schedulers see
//! Windows, what is in flight, round trips, losses and rates of each path are what its controller is told. Round trips are as acknowledgements tell them: noq as a
//! peer acknowledges everything on the lowest of the paths, so they are the way there on one and back on another. What
//! is not known is reckoned: `unassigned` and bytes by path from the sizes of packets, less [`OVERHEAD`] for each; `window` from what the peer says in the
//! handshake or the application knows better; `oldest_unacked` as if what is in flight were what was sent last. There is no forward delay.
//!
//! # Paths that fail
//! noq does not send again what is in flight on a path until something behind it was acknowledged there, and it waits for acknowledgements on the lowest path even if
//! that is dead (`tests/it/noq_multipath.rs`). So a path that owes an acknowledgement for two probe timeouts is given up (PATH_ABANDON) and opened anew; if all do, the
//! lowest one is, because what they owe may come there. A peer that gives paths up by itself finds them opened again, too. No path has an idle timeout at this end.

mod connection;
mod facts;
mod gate;
mod lane;
mod line;
mod opening;
mod paths;
mod schedule;
mod sender;

pub use connection::{Connection, Event, Peer};
pub use lane::OVERHEAD;
pub use noq_proto::crypto::rustls::QuicClientConfig;
pub use noq_proto::{ConnectionError, Dir, StreamId, VarInt, WriteError};
pub use sender::Sender;

use crate::error::Error;
use plait_sched::{Builtin, Capabilities, SCHEDULERS, Scheduler};

/// What a scheduler can have done here beyond choosing a path within its window.
pub const OFFERED: Capabilities = Capabilities::NONE;

/// What files are told to be in TLS (ALPN): another version of what is said is refused there.
pub const PROTOCOL: &[u8] = b"plait-stream/2";

/// Whether a scheduler can decide here.
///
/// # Errors
/// [`Error::Setting`] names what it needs and is not to be had, and the built-in schedulers that need nothing more.
pub fn check(scheduler: &impl Scheduler) -> Result<(), Error> {
    let Some(missing) = scheduler.needs().missing_from(OFFERED) else { return Ok(()) };
    let choices = schedulers().join(", ");
    Err(Error::Setting(format!(
        "the scheduler needs \"{missing}\", which ordinary QUIC streams do not offer (interop): choose {choices}"
    )))
}

/// The built-in schedulers that can decide here with their default parameters.
pub fn schedulers() -> Vec<&'static str> {
    let decides =
        |name: &&str| Builtin::new(name, &[]).is_ok_and(|it| it.needs().missing_from(OFFERED).is_none());
    SCHEDULERS.iter().map(|info| info.name).filter(decides).collect()
}
