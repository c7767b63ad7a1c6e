//! MPTCP (RFC 8684), and TCP as MPTCP over one path without its options.
//!
//! What is particular to it, and so lives here and not in the connection core:
//! - every subflow has its own sequence space and is reliable by itself: what is lost on a subflow is sent
//!   again on it,
//!   under the same number, whatever other subflows carry ([`subflow`](self), `recovery.rs`);
//! - segments of the stream are mapped onto subflows; the *data acknowledgement* says what arrived of the
//!   stream, and the
//!   one receive window that all subflows share ends relative to it;
//! - after a retransmission timeout, the other subflows carry what the silent one has not delivered as well
//!   (*reinjection*, never on a subflow that carried it already);
//! - subflows are opened by handshakes, the first one first (`handshake.rs`), and tell one-way delays by
//!   timestamps
//!   (`clock.rs`).
//!
//! # Loss detection
//! A transmission is lost once three that were sent later *on the same subflow* have arrived; or one that was sent later
//! has, and one and a half round trips have passed, or 9/8 of one if fewer than three were sent later at all. In the order of sending the first rule is RFC 6675's `IsLost` for what was sent
//! once; for retransmissions it is the idea of RACK (RFC 8985), as RFC 9002 §6.1 writes it. A tail that nothing follows
//! is probed after two round trips (RFC 8985 §7), so that a lone loss at the end needs no timeout.
//!
//! Once reordering was seen, time alone tells, by RACK's window (RFC 8985 §6.2), which reported duplicates widen; a reduction
//! that turns out to have been needless is taken back (`needless.rs`).
//!
//! [`Rules::LINUX`] recovers as Linux does, from `linux`, and differs elsewhere as `rules.rs` says.
//!
//! # Not modelled
//! There is no three-way close; the application reads at once, so the window never closes;
//! a receiver never reneges. Of Linux also not: a connection that
//! fell back to TCP (`fallback.rs`) keeps the headers and the payload of MPTCP's data packets, while Linux' payload grows by 1.7 % then;
//! and a send buffer without a limit is one, while Linux' grows with the window up to one.

mod ack_delay;
mod clock;
mod ecn;
mod endpoint;
mod fallback;
mod grant;
mod handshake;
mod image;
mod incoming;
mod linux;
mod marks;
mod merging;
mod needless;
mod reading;
mod receiver;
mod recovery;
mod reinjection;
mod rules;
mod sender;
mod subflow;
mod transmit;
mod wheel;
mod window;

pub use clock::ClockConfig;
pub use endpoint::Endpoint;
pub use image::{Agreed, Image, Place};
pub use receiver::Receiver;
pub use rules::{Grant, Joins, Losses, Reinjection, Rules};
pub(crate) use sender::Sender;

use crate::core::{BufferRule, ConnectionConfig, CoreRules, WindowRule};
use crate::packet::Overhead;
use plait_sched::{Capabilities, Duration, PathId};

/// What MPTCP lets a scheduler do: everything.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

impl Config {
    /// Selective blocks that an acknowledgement has room for: of TCP's 40 bytes of options, timestamps take
    /// 12 and a data ACK 8, or 12 with numbers of 64 bits; a block takes 8.
    pub(crate) const fn ack_blocks(&self) -> usize {
        match (self.multipath, self.rules.long_numbers) {
            (true, true) => 1,
            (true, false) => 2,
            (false, _) => 3,
        }
    }

    const fn core_rules(&self) -> CoreRules {
        CoreRules {
            window: WindowRule::Offset,
            overshoots: false,
            lost_keep_numbers: true,
            settled_are_remembered: false,
            commits: self.multipath && matches!(self.rules.grant, Grant::Free),
            penalties_wait: matches!(self.rules.losses, Losses::ByTime),
            streams: false,
            message_header: 0,
            buffer: match (self.rules.buffer_of_memory, self.multipath) {
                (false, _) => BufferRule::Payload,
                (true, false) => BufferRule::Memory,
                (true, true) => BufferRule::MemoryOfEachPath,
            },
        }
    }

    /// Payload bytes of a full segment.
    pub(crate) const fn segment_bytes(&self) -> u64 {
        self.connection.segment_bytes as u64
    }

    /// Bytes of a full packet.
    pub(crate) const fn packet_bytes(&self) -> u64 {
        self.segment_bytes() + self.overhead().of_data() as u64
    }

    /// What headers take on the wire.
    pub const fn overhead(&self) -> Overhead {
        match (self.multipath, self.rules.long_numbers) {
            (true, true) => Overhead::LINUX_MPTCP,
            (true, false) => Overhead::MPTCP,
            (false, _) => Overhead::TCP,
        }
    }
}

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// What the core needs to know.
    pub connection: ConnectionConfig,
    /// Packets per acknowledgement; 1 acknowledges each.
    pub ack_every: u8,
    /// The longest that an acknowledgement is delayed.
    pub ack_delay: Duration,
    /// Subflows are opened by handshakes; otherwise all are open from the start.
    pub handshake: bool,
    /// The subflow that is opened first; the others join once it is open.
    pub initial_path: PathId,
    /// The timestamps.
    pub clock: ClockConfig,
    /// MPTCP with its options; otherwise plain TCP.
    pub multipath: bool,
    /// Both ends have data to send: the client ends each handshake with a packet, by which the server knows that the subflow is open.
    pub two_way: bool,
    /// Marks of congestion are understood (RFC 3168).
    pub ecn: bool,
    /// What it does where standards and implementations differ.
    pub rules: Rules,
}
