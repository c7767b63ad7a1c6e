//! CMT-SCTP: one sequence space over several paths (Iyengar, Amer, Stewart 2006, on RFC 9260).
//!
//! Particular to it, and therefore here and not in the connection core:
//! - acknowledgements are SACKs of the one TSN space and return on the path of the packet that
//!   caused them;
//! - *split fast retransmit*: a segment is missing only if a later one **on the same path** was
//!   acknowledged;
//! - *congestion window update for CMT*: a path's window grows when its own oldest segment is
//!   acknowledged, with any cumulative acknowledgement;
//! - *delayed acknowledgement for CMT*: reordering does not force acknowledgements, and an
//!   acknowledgement states the number of packets that it answers;
//! - a lost segment may be retransmitted on another path ([`RetransmissionPolicy`]);
//! - a copy whose segment has arrived leaves its path's flight when its own acknowledgement comes,
//!   or is due: its loss may go unnoticed (RFC 9260 has no copies; an acknowledged TSN is not
//!   outstanding there);
//! - with copies of all data, each path is clocked by its own SACKs, and so as fast as if it were
//!   alone;
//! - heartbeats, path failure and return.
//!
//! | file | content |
//! |---|---|
//! | `sender.rs`, `missing.rs` | reading SACKs; split fast retransmit |
//! | `recovery.rs`, `holes.rs` | loss recovery of a path (`PathSender<Recovery>`); overtaken segments |
//! | `receiver.rs`, `changes.rs`, `reports.rs` | writing SACKs; recent changes; reports in flight |
//! | `retransmission.rs` | the path of a retransmission |
//! | `heartbeat.rs` | heartbeats and path states |
//! | `round_trip.rs` | round trips whose both directions use the same path |
//! | `endpoint.rs`, `image.rs` | an end; packets as bytes |
//!
//! Messages keep their boundaries. Waiting messages are bundled (RFC 9260 §6.10): a packet holds as
//! many whole messages as fit, each with the header of its DATA chunk. Here a bundle has one TSN,
//! as its chunks are sent, lost and acknowledged together. A real sender may bundle its
//! retransmissions differently.
//!
//! # Cost of a SACK
//! A SACK costs the same for every window. On the wire it reports all gap blocks, and its size
//! counts them. In memory it has the runs that changed since the last SACKs on its own path, so
//! SACKs may overtake each other, and one older run in turn. If there are too many runs, the SACK
//! says so, and no segment counts as missing because of it. `RunSet` keeps maximal runs: inserting,
//! merging and finding an extent from its end take constant time. Overtaken segments are examined
//! once, and again only while they are missing. So the cost of a packet does not grow with the
//! window, with or without losses. Builds with debug assertions count each access to the sender's
//! records, and `tests/it/scripts/cost.rs` compares large windows with small ones.
//!
//! SACKs overtake each other between paths. A SACK with a lower cumulative number is ignored (RFC
//! 9260). A SACK with the same number and a larger window is older, so its window is not used while
//! a gap remains.

mod changes;
mod endpoint;
mod heartbeat;
mod holes;
mod image;
mod missing;
mod receiver;
mod recovery;
mod reports;
mod retransmission;
mod round_trip;
mod sender;

pub use endpoint::Endpoint;
pub use image::{Chosen, Image, Telling};
pub use receiver::Receiver;
pub use retransmission::RetransmissionPolicy;
pub(crate) use sender::Sender;

use crate::core::{BufferRule, ConnectionConfig, CoreRules, WindowRule};
use crate::packet::Overhead;
use plait_sched::{Capabilities, Duration};

/// Scheduler capabilities that CMT-SCTP supports: all.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

const CORE_RULES: CoreRules = CoreRules {
    window: WindowRule::Credit,
    overshoots: true,
    lost_keep_numbers: false,
    settled_are_remembered: true,
    write_queues: false,
    penalties_wait: false,
    paces_windows: false,
    paces_single_packets: false,
    limited_at_writes: false,
    streams: true,
    message_header: Overhead::SCTP.data,
    buffer: BufferRule::Payload,
};

/// Data that takes space of the receiver's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowAccounting {
    /// Data waiting for in-order delivery shrinks the advertised window, as RFC 9260 says.
    #[default]
    Buffer,
    /// The whole buffer is always advertised: the window is the buffer minus outstanding data (DAPS
    /// paper, Eq. 1).
    Outstanding,
}

impl Config {
    /// Header bytes on the wire.
    pub const fn overhead(&self) -> Overhead {
        Overhead::SCTP
    }
}

/// Everything that can be set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Configuration of the core.
    pub connection: ConnectionConfig,
    /// How the receiver charges its window.
    pub accounting: WindowAccounting,
    /// The path of retransmissions.
    pub retransmission_policy: RetransmissionPolicy,
    /// Missing reports that make a segment lost (RFC 9260: 3).
    pub fast_retransmit_threshold: u8,
    /// Packets per acknowledgement; 1 acknowledges each.
    pub ack_every: u8,
    /// The longest that an acknowledgement is delayed.
    pub ack_delay: Duration,
    /// Reordering does not force an acknowledgement at once (CMT's DAC).
    pub delayed_ack_for_cmt: bool,
    /// An idle path is probed this long (plus one RTO) after its last use.
    pub heartbeat_interval: Duration,
}
