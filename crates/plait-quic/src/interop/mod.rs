//! Mode *interop*: one ordinary QUIC connection with the multipath extension. The peer may be any
//! implementation of it.
//!
//! ```text
//! streams ──► noq: packets, losses, windows ──► a path of the connection per local address ──► UDP
//!                   ▲ window of one path
//! Scheduler ──► Connection: which path may send now
//! ```
//!
//! The wire format is standard: streams are QUIC's (RFC 9000), paths those of
//! draft-ietf-quic-multipath-21. noq does reliability, loss detection and congestion control. A
//! scheduler decides on the path of each packet: noq sees the window of one path at a time, and a
//! window of 0 on the others. Data leaves in the order in which it was written, and noq retransmits
//! it only after a loss. So a scheduler can only choose a path within its window. All other needs
//! are [refused by name](check): queues of paths (also those in which a segment waits for a limit),
//! duplicates, messages.
//!
//! - [`Connection`]: for any peer and any application protocol. It opens streams, writes, reads,
//!   and returns datagrams.
//! - [`Sender`]: for a file to `plait recv`, which tells both modes apart by the application
//!   protocol in TLS (ALPN).
//!
//! # Facts for schedulers
//! A path's windows, data in flight, round-trip times, losses and rates are those that its
//! congestion controller receives. Round-trip times come from acknowledgements. noq as a peer
//! acknowledges everything on the lowest path. A round-trip time then combines the way there on one
//! path with the way back on another. Unknown facts are estimates. `unassigned` and the bytes by
//! path come from packet sizes, less [`OVERHEAD`] for each packet. `window` comes from the peer's
//! handshake, or from the application if it knows better. `oldest_unacked` assumes that the data in
//! flight is the data sent last. There is no forward delay.
//!
//! # Path failures
//! noq does not retransmit data in flight on a path until later data is acknowledged there. It
//! waits for acknowledgements on the lowest path even if that path is dead
//! (`tests/it/noq_multipath.rs`). So a path that owes an acknowledgement for two probe timeouts is
//! given up (PATH_ABANDON) and opened anew. If all paths owe one, only the lowest path is given up,
//! because the missing acknowledgements may have to arrive there. A path that the peer gives up is
//! opened again, too. No path has an idle timeout at this end.
//!
//! # How a decision is carried out
//! noq asks the controllers of its paths for a window, lowest path first, before data,
//! retransmissions and control frames leave. Each controller wraps noq's own (`controller.rs`):
//! while its window is hidden, noq sees a window of 0. `schedule.rs` polls noq with all windows
//! hidden, which sends acknowledgements and probes, and shows whether data waits. Then it asks the
//! scheduler, and polls with the window of the chosen path visible. Consecutive decisions for one
//! path take one poll, so that their datagrams leave together (GSO). If the scheduler observes each
//! sent packet, each is polled alone. Pacing is off. [`OFFERED`] has no capability, so schedulers
//! that need one are refused.
//!
//! noq sends no data on a backup path while another path is validated, so the last working paths
//! are never backups.
//!
//! | file | content |
//! |---|---|
//! | `connection.rs` | streams, events, transmissions: the library, for any peer and protocol |
//! | `handshake.rs`, `paths.rs`, `slot.rs` | handshakes from one address after the other; opening, abandoning and reopening paths; backup paths as both ends announce them |
//! | `controller.rs`, `facts.rs` | noq's information for a controller; facts for the scheduler |
//! | `schedule.rs`, `noq_connection.rs` | execution of decisions; a noq connection with its endpoint |
//! | `sender.rs` | a transfer on a stream, with the records of mode full |

mod connection;
mod controller;
mod facts;
mod handshake;
mod noq_connection;
mod paths;
mod schedule;
mod sender;
mod slot;

pub use connection::{Connection, ConnectionEvent, Peer};
pub use noq_proto::crypto::rustls::QuicClientConfig;
pub use noq_proto::{ConnectionError, Dir, StreamId, VarInt, WriteError};
pub use sender::Sender;
pub use slot::OVERHEAD;

use crate::error::Error;
use plait_sched::{Builtin, Capabilities, SCHEDULERS, Scheduler};

/// Capabilities that schedulers have here, beyond the choice of a path within its window.
pub const OFFERED: Capabilities = Capabilities::NONE;

/// Application protocol of files in TLS (ALPN), which refuses another version of the messages.
pub const PROTOCOL: &[u8] = b"plait-stream/2";

/// Checks that a scheduler can decide here.
///
/// # Errors
/// [`Error::Setting`] names the missing capability, and the built-in schedulers that need none.
pub fn check(scheduler: &impl Scheduler) -> Result<(), Error> {
    let Some(missing) = scheduler.needs().missing_from(OFFERED) else { return Ok(()) };
    let choices = schedulers().join(", ");
    Err(Error::Setting(format!(
        "the scheduler needs \"{missing}\", which ordinary QUIC streams do not offer (interop): choose {choices}"
    )))
}

/// Returns the built-in schedulers that can decide here with their default parameters.
pub fn schedulers() -> Vec<&'static str> {
    let decides =
        |name: &&str| Builtin::new(name, &[]).is_ok_and(|it| it.needs().missing_from(OFFERED).is_none());
    SCHEDULERS.iter().map(|info| info.name).filter(decides).collect()
}
