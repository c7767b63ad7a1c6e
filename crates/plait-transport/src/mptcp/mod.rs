//! MPTCP (RFC 8684), and TCP as MPTCP over one path without its options.
//!
//! These parts are particular to MPTCP, so they are here and not in the connection core:
//! - Every subflow has its own sequence space and is reliable by itself. It retransmits its own
//!   losses under the same numbers, independently of other subflows ([`subflow`](self),
//!   `recovery.rs`).
//! - Segments of the stream are mapped onto subflows. The *data acknowledgement* reports the
//!   received part of the stream. All subflows share one receive window, which ends relative to it.
//! - After a retransmission timeout, the other subflows also carry the data that the silent one has
//!   not delivered (*reinjection*, never on a subflow that carried the data already).
//! - Handshakes open subflows, the first one first (`handshake.rs`). Timestamps measure one-way
//!   delays (`clock.rs`).
//!
//! | file | content |
//! |---|---|
//! | `sender.rs`, `reading.rs`, `transmit.rs` | reading acknowledgements, timers; reading by the standards; the next packet: handshakes, retransmissions, probes, copies, new data |
//! | `bursts.rs`, `copies.rs` | the next packet of subflows with write queues; copies on other subflows |
//! | `subflow.rs`, `recovery.rs` | loss recovery of a subflow (`PathSender<Subflow>`): its state; loss detection (RFC 6675 and the idea of RACK), tail probe (RFC 8985), timeouts, reinjection |
//! | `linux/` | Linux' loss recovery, methods of the same path; its `rack.rs` and `scoreboard.rs` serve the RFCs' recovery too |
//! | `handshake.rs`, `fallback.rs` | the first subflow, then the joins; continuing as TCP |
//! | `ack_delay.rs`, `wheel.rs` | delay of acknowledgements; expiry of Linux' timers: the ends of the buckets of its timer wheel |
//! | `clock.rs` | timestamps, and one-way delays from them |
//! | `receiver.rs`, `receiver/`, `incoming.rs` | order and delivery of the stream; order and delayed acknowledgements of a subflow |
//! | `grant.rs`, `merging.rs` | the receiver's window as Linux computes it; memory of waiting packets |
//! | `window.rs`, `reinjection.rs` | the window as the sender knows it; the connection's own retransmissions (Linux' timer, stale subflows) |
//! | `rules.rs` | differences between standards and Linux, and the two sets for the key `profile` of a scenario |
//! | `needless.rs`, `ecn.rs`, `marks.rs` | unnecessary reductions, by the RFCs; ECN; PSH marks |
//! | `endpoint.rs`, `image/` | an end; packets as bytes |
//!
//! `core/flight.rs` keeps lost numbers, because lost data is retransmitted on the same subflow
//! under the same number.
//!
//! # Loss detection
//! A transmission is lost once three transmissions sent later *on the same subflow* have arrived.
//! It is also lost if one sent later has arrived and one and a half round trips have passed. If
//! fewer than three were sent later at all, 9/8 of a round trip is enough. In the order of sending,
//! the first rule is RFC 6675's `IsLost` for segments sent once. For retransmissions it is the idea
//! of RACK (RFC 8985), as RFC 9002 §6.1 writes it. A tail is probed after two round trips (RFC 8985
//! §7), so a single loss at the end needs no timeout.
//!
//! Once reordering was seen, only time decides, by RACK's window (RFC 8985 §6.2), which reported
//! duplicates widen. A reduction that turns out to be needless is undone (`needless.rs`).
//!
//! [`Rules::LINUX`] uses Linux' loss recovery from `linux`. Its other differences are in
//! `rules.rs`.
//!
//! # Not modelled
//! - There is no three-way close.
//! - The application reads at once, so the window never closes.
//! - A receiver never reneges.
//! - After a fallback to TCP (`fallback.rs`), data packets keep the headers and the payload of
//!   MPTCP. Linux' payload grows by 1.7 % then.
//! - An unlimited send buffer has no limit. Linux' send buffer grows with the window up to a limit.

mod ack_delay;
mod bursts;
mod clock;
mod copies;
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
pub use grant::largest_window;
pub use image::{Agreed, Image, Place};
pub use receiver::Receiver;
pub use rules::{Grant, Joins, Losses, Reinjection, Rules};
pub(crate) use sender::Sender;

use crate::core::{BufferRule, ConnectionConfig, CoreRules, WindowRule};
use crate::packet::Overhead;
use plait_sched::{Capabilities, Duration, PathId};

/// Features that MPTCP offers to a scheduler: all of them.
pub const CAPABILITIES: Capabilities = Capabilities::ALL;

impl Config {
    /// Number of selective blocks that fit into an acknowledgement. TCP has 40 bytes of options.
    /// Timestamps take 12 of them, and a data ACK takes 8, or 12 with numbers of 64 bits. A block
    /// takes 8.
    pub(crate) const fn ack_blocks(&self) -> usize {
        match (self.multipath, self.rules.long_numbers) {
            (true, true) => 1,
            (true, false) => 2,
            (false, _) => 3,
        }
    }

    /// True if segments wait in write queues of subflows, as in Linux' MPTCP.
    pub(crate) const fn has_write_queues(&self) -> bool {
        self.multipath && matches!(self.rules.grant, Grant::Free)
    }

    const fn core_rules(&self) -> CoreRules {
        CoreRules {
            window: WindowRule::Offset,
            overshoots: false,
            lost_keep_numbers: true,
            settled_are_remembered: false,
            write_queues: self.has_write_queues(),
            penalties_wait: matches!(self.rules.losses, Losses::ByTime),
            paces_windows: false,
            // Linux' MPTCP writes into its subflows without `tcp_rate_check_app_limited`.
            paces_single_packets: matches!(self.rules.losses, Losses::ByTime),
            limited_at_writes: !self.multipath && matches!(self.rules.losses, Losses::ByTime),
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

    /// Returns the size of headers on the wire.
    pub const fn overhead(&self) -> Overhead {
        match (self.multipath, self.rules.long_numbers) {
            (true, true) => Overhead::LINUX_MPTCP,
            (true, false) => Overhead::MPTCP,
            (false, _) => Overhead::TCP,
        }
    }
}

/// Configuration of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Configuration of the core.
    pub connection: ConnectionConfig,
    /// Packets per acknowledgement; 1 acknowledges each packet.
    pub ack_every: u8,
    /// The longest delay of an acknowledgement.
    pub ack_delay: Duration,
    /// Whether handshakes open the subflows; otherwise all are open from the start.
    pub handshake: bool,
    /// The subflow that is opened first; the others join once it is open.
    pub initial_path: PathId,
    /// The timestamps.
    pub clock: ClockConfig,
    /// Whether MPTCP's options are used; otherwise the connection is plain TCP.
    pub multipath: bool,
    /// True if both ends have data to send. The client then ends each handshake with a packet, by
    /// which the server knows that the subflow is open.
    pub two_way: bool,
    /// Whether both ends support marks of congestion (RFC 3168).
    pub ecn: bool,
    /// Rules where standards and implementations differ.
    pub rules: Rules,
}
