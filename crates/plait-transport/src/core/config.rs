//! Settings that both ends and all protocols share.

use crate::congestion::CongestionConfig;
use crate::rtt::RtoConfig;

/// Segments that may wait in one path's queue.
pub const MAX_QUEUED: usize = 1 << 20;

/// Decisions that a scheduler may take before it waits, plus one per assigned segment.
pub const MAX_DECISIONS_PER_OPPORTUNITY: u32 = 1 << 16;

/// Settings that both ends and all protocols share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionConfig {
    /// Payload bytes of a full segment.
    pub segment_bytes: u32,
    /// Header bytes per segment that count in windows (SCTP's DATA chunk header: 16).
    pub counted_overhead: u32,
    /// The receiver's window before its first acknowledgement, in counted bytes.
    pub receive_window: u64,
    /// Payload bytes that may be assigned and not cumulatively acknowledged; `u64::MAX`: no limit.
    pub send_buffer: u64,
    /// Congestion control.
    pub congestion: CongestionConfig,
    /// Retransmission timeout.
    pub rto: RtoConfig,
    /// Timeouts in a row after which a path has failed (Path.Max.Retrans).
    pub path_max_retransmissions: u32,
    /// Timeouts in a row, over all paths, until the peer is given up (Association.Max.Retrans).
    pub association_max_retransmissions: u32,
    /// A path takes no new data from its first timeout until a probe comes back (RFC 7829).
    pub potentially_failed: bool,
    /// A window may grow during recovery, as in ns-2; RFC 9260 §7.2.1 forbids it.
    pub grow_in_recovery: bool,
    /// Packets that one event may release on a path (RFC 9260 §6.1 D: Max.Burst); 0 for no limit.
    pub max_burst: u32,
    /// Congestion windows count packets as in Linux, small ones as full segments.
    pub window_in_packets: bool,
    /// After a pause, each packet of the first burst cuts the window (Linux' MPTCP checks as it
    /// queues packets: `tcp_slow_start_after_idle_check`). If false, the pause cuts the window
    /// once.
    pub restarts_by_packet: bool,
    /// Merges queued small writes into full segments. Protocols with message boundaries bundle.
    pub joined_writes: bool,
}

impl ConnectionConfig {
    /// Bytes that a full segment counts in windows.
    pub fn counted_segment(&self) -> u64 {
        u64::from(self.segment_bytes) + u64::from(self.counted_overhead)
    }
}
