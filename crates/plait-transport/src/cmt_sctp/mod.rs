//! CMT-SCTP: one sequence space over several paths (Iyengar, Amer, Stewart 2006, on RFC 9260).
//!
//! What is particular to it, and so lives here and not in the connection core:
//! - acknowledgements are SACKs of the one TSN space and return on the path of the packet that caused them;
//! - *split fast retransmit*: a segment is missing only if a later one **on the same path** was acknowledged;
//! - *congestion window update for CMT*: a path's window grows when its own oldest segment is acknowledged, whatever the
//!   cumulative acknowledgement does;
//! - *delayed acknowledgement for CMT*: reordering does not force acknowledgements, and the number of packets that an
//!   acknowledgement stands for is counted in;
//! - a lost segment may be sent again on another path ([`RetransmissionPolicy`]);
//! - a copy whose segment has arrived leaves its path's flight when its own acknowledgement comes, or is due: its loss may go
//!   unnoticed (RFC 9260 has no copies; an acknowledged TSN is not outstanding there);
//! - with copies of everything, each path is clocked by its own SACKs, and so as fast as if it were alone;
//! - heartbeats, path failure and return.
//!
//! Messages keep their boundaries. Messages that wait are bundled (RFC 9260 §6.10): a packet holds as many whole ones as fit, each
//! with the header of its DATA chunk. Here a bundle has one TSN, as its chunks are sent, lost and acknowledged together; a real
//! sender may bundle its retransmissions anew.

mod changes;
mod endpoint;
mod heartbeat;
mod holes;
mod image;
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

/// What CMT-SCTP lets a scheduler do: everything.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

const CORE_RULES: CoreRules = CoreRules {
    window: WindowRule::Credit,
    overshoots: true,
    lost_keep_numbers: false,
    settled_are_remembered: true,
    commits: false,
    penalties_wait: false,
    streams: true,
    message_header: Overhead::SCTP.data,
    buffer: BufferRule::Payload,
};

/// What the receiver's window is charged with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WindowAccounting {
    /// Data waiting for in-order delivery shrinks the advertised window, as RFC 9260 says.
    #[default]
    Buffer,
    /// The whole buffer is always advertised: the window is the buffer less what is outstanding (DAPS paper, Eq. 1).
    Outstanding,
}

impl Config {
    /// What headers take on the wire.
    pub const fn overhead(&self) -> Overhead {
        Overhead::SCTP
    }
}

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the core needs to know.
    pub connection: ConnectionConfig,
    /// How the receiver charges its window.
    pub accounting: WindowAccounting,
    /// Where lost segments are sent again.
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
