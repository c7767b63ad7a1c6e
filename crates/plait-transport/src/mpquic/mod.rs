//! Multipath QUIC: an ordered stream over several paths, each with a packet number space of its own
//! (draft-ietf-quic-multipath-21, on RFC 9000 and RFC 9002).
//!
//! Particular to it:
//! - *packet numbers never repeat*: lost data leaves in a new packet, on the first path with room,
//!   so that an acknowledgement always identifies the transmission that arrived;
//! - acknowledgements are PATH_ACK frames with ranges of one path's numbers and the acknowledgement
//!   delay; they return on that path and ride on data where there is any;
//! - *loss* is three later packets, or 9/8 of a round trip (RFC 9002 §6.1); the tail is probed
//!   (§6.2) and a probe changes no window;
//! - *flow control* is an offset of the stream (MAX_DATA), which is never reduced; a sender that it
//!   blocks completely sends DATA_BLOCKED until it moves;
//! - the first path opens with a handshake of one round trip, others are validated once it is there
//!   (PATH_CHALLENGE).
//!
//! | file | content |
//! |---|---|
//! | `sender.rs` | reading PATH_ACK, round trips without the peer's delay, the next packet |
//! | `space.rs`, `loss.rs` | loss recovery of a path (`PathSender<Space>`): packet numbers; losses by later packets and by time, probe timeouts, persistent congestion (RFC 9002), suspended paths |
//! | `ecn.rs` | marks counted by acknowledgements, one reduction per round trip; a path that clears marks works without them |
//! | `opening.rs` | the handshake on one path, the validation of the others |
//! | `late.rs` | packets declared lost that may still have arrived |
//! | `receiver.rs` | ranges of numbers per path, acknowledgements, MAX_DATA and the answer to DATA_BLOCKED |
//! | `changing.rs` | paths that appear, disappear, return or change networks (`PathChange`) |
//! | `endpoint.rs`, `image.rs` | an end, acknowledgements on data; packets as bytes |
//!
//! # Paths that are cut
//! [`Config::watchful`] is off in scenarios and on over real sockets, where links are cut. It
//! acknowledges data of a silent path on another path after 50 ms of silence. Otherwise,
//! acknowledgements that are lost with a path cause retransmissions of all data that had arrived.
//! An acknowledgement from another path does not prove that the path works. The sender remembers
//! this until something returns on the path itself. Once the oldest packet in flight there should
//! have been answered, the path gets no more data. So little data is lost with a cut path, and the
//! probe timeout of a path with little traffic does not restart with each packet. Before that
//! moment silence means nothing: with little traffic, every path is silent for longer than 50 ms.
//!
//! # Not modelled
//! - encryption (packets have its tag's size) and the handshake's contents;
//! - connection IDs, which never run out;
//! - several streams (data of several writes shares a packet, and counts as one STREAM frame);
//! - separate acknowledgement of MAX_DATA (it is repeated in acknowledgements instead, and in the
//!   answer to DATA_BLOCKED);
//! - PATH_STATUS and PATH_ABANDON (this end alone suspends a path that does not answer).

mod changing;
mod ecn;
mod endpoint;
mod image;
mod late;
mod loss;
mod opening;
mod receiver;
mod sender;
mod space;

pub use endpoint::Endpoint;
pub use image::Image;

use crate::core::{BufferRule, ConnectionConfig, CoreRules, WindowRule};
use crate::packet::Overhead;
use plait_sched::{Capabilities, Duration, PathId};

/// Scheduler capabilities that Multipath QUIC supports: all.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

/// Everything that can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Configuration of the core. Its timeout is the probe timeout (RFC 9002 §6.2.1).
    pub connection: ConnectionConfig,
    /// Packets per acknowledgement; RFC 9000 §13.2.2: 2.
    pub ack_every: u8,
    /// The longest that an acknowledgement is delayed (max_ack_delay).
    pub ack_delay: Duration,
    /// Paths are opened; otherwise all are open from the start.
    pub handshake: bool,
    /// The path of the handshake.
    pub initial_path: PathId,
    /// Paths may be cut at any moment. So no path waits until the first is open. Packets of a
    /// silent path are acknowledged on another one, too: otherwise acknowledgements lost with a
    /// path would cause retransmission of all its data.
    pub watchful: bool,
    /// Packets may be marked instead of dropped (RFC 9000 §13.4).
    pub ecn: bool,
    /// Controllers that state no rate pace packets by window and round trip (RFC 9002 §7.7).
    pub pacing: bool,
}

impl Config {
    const fn core_rules(&self) -> CoreRules {
        CoreRules {
            window: WindowRule::Limit,
            overshoots: false,
            lost_keep_numbers: false,
            settled_are_remembered: false,
            write_queues: false,
            penalties_wait: false,
            paces_windows: self.pacing,
            paces_single_packets: false,
            limited_at_writes: false,
            streams: true,
            message_header: 0,
            buffer: BufferRule::Payload,
        }
    }

    /// Header bytes on the wire.
    pub const fn overhead(&self) -> Overhead {
        Overhead::MPQUIC
    }
}
