//! Multipath QUIC: an ordered stream over several paths, each with a packet number space of its own
//! (draft-ietf-quic-multipath-21, on RFC 9000 and RFC 9002).
//!
//! What is particular to it:
//! - *packet numbers never repeat*: what is lost leaves in a new packet, on whichever path has room first, so that an acknowledgement
//!   always says which sending of it arrived;
//! - acknowledgements are PATH_ACK frames with ranges of one path's numbers and the time they waited; they return on that path and ride
//!   on data where there is any;
//! - *loss* is three later packets, or 9/8 of a round trip (RFC 9002 §6.1); the tail is probed (§6.2) and a probe changes no window;
//! - *flow control* is an offset of the stream (MAX_DATA), which nobody takes back; who can send nothing else for it says so (DATA_BLOCKED) until it moves;
//! - the first path opens with a handshake of one round trip, others are validated once it is there (PATH_CHALLENGE).
//!
//! Not modelled: encryption (packets have its tag's size) and the handshake's contents; connection IDs, which never run out; several
//! streams (data of several writes shares a packet, and counts as one STREAM frame); MAX_DATA that is acknowledged by itself (it is repeated in acknowledgements instead, and in the answer to DATA_BLOCKED); PATH_STATUS and PATH_ABANDON (a
//! path that answers nothing is set aside by this end alone).

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

/// What Multipath QUIC lets a scheduler do: everything.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

const CORE_RULES: CoreRules = CoreRules {
    window: WindowRule::Limit,
    overshoots: false,
    lost_keep_numbers: false,
    settled_are_remembered: false,
    commits: false,
    penalties_wait: false,
    streams: true,
    message_header: 0,
    buffer: BufferRule::Payload,
};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the core needs to know. Its timeout is the probe timeout (RFC 9002 §6.2.1).
    pub connection: ConnectionConfig,
    /// Packets per acknowledgement; RFC 9000 §13.2.2: 2.
    pub ack_every: u8,
    /// The longest that an acknowledgement is delayed (max_ack_delay).
    pub ack_delay: Duration,
    /// Paths are opened; otherwise all are open from the start.
    pub handshake: bool,
    /// The path of the handshake.
    pub initial_path: PathId,
    /// Paths may be cut at any moment. So none waits until the first is open, and what came on a path that is silent is acknowledged on another one, too: acknowledgements that
    /// were lost with a path would have all of it sent again.
    pub watchful: bool,
    /// Packets may be marked instead of dropped (RFC 9000 §13.4).
    pub ecn: bool,
}

impl Config {
    /// What headers take on the wire.
    pub const fn overhead(&self) -> Overhead {
        Overhead::MPQUIC
    }
}
