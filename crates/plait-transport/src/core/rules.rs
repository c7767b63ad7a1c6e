//! The requirements of a protocol on the core.
//!
//! The core never asks which protocol it serves.
//!
//! # Decisions behind the core
//! 1. Transmissions are judged by the order of sending, per path. A path delivers in order under
//!    any scheduler, so "a later one arrived" is a question of the path's own order. Loss detection
//!    is cheap, because the holes are at the head.
//! 2. There is one accounting of small segments. Congestion windows count bytes, or packets where
//!    Linux does, for every scheduler. Facts are in full segments, so `cwnd` minus `in_flight` may
//!    leave. Lost segments that wait for retransmission count too (`lost`).
//! 3. The connection gives up the peer when every path is silent. A path that has heard the peer
//!    since its last timeout speaks for the peer, so a dead path alone ends nothing.
//! 4. Copies are an insurance: a path with copies retransmits its own losses, so each path delivers
//!    as if it were alone.

use super::WindowRule;

/// Settings that a protocol states once, when an end is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreRules {
    /// How the receiver's window is counted.
    pub(crate) window: WindowRule,
    /// The congestion window may be overshot by less than a packet, as in SCTP (RFC 9260 §6.1, rule
    /// B). If false, a packet leaves only if it fits completely.
    pub(crate) overshoots: bool,
    /// A lost transmission keeps its number until it is acknowledged, as on a subflow of TCP.
    pub(crate) lost_keep_numbers: bool,
    /// Paths remember settled transmissions until the protocol releases them.
    pub(crate) settled_are_remembered: bool,
    /// Paths have write queues (`committed.rs`). The scheduler is also asked while assigned segments
    /// wait, and once more.
    pub(crate) write_queues: bool,
    /// A scheduler's penalty takes effect with the path's next acknowledgement, as in Linux;
    /// otherwise at once.
    pub(crate) penalties_wait: bool,
    /// Paths whose congestion control states no rate pace packets by window and round trip (RFC 9002
    /// §7.7).
    pub(crate) paces_windows: bool,
    /// Packets leave one by one at the rate that congestion control states, as in Linux over a device
    /// without segmentation offload (`gso_max_segs` 1); otherwise in bursts.
    pub(crate) paces_single_packets: bool,
    /// The application limits the flight if data is written where less than a full segment waits
    /// and the window has room, as in Linux' TCP; otherwise if the window has room when nothing
    /// more can leave.
    pub(crate) limited_at_writes: bool,
    /// There are streams: data of one stream need not wait for earlier data of another.
    pub(crate) streams: bool,
    /// For protocols with message boundaries: header bytes of each message but the first in a
    /// packet; 0 if a packet holds a piece of the byte stream.
    pub(crate) message_header: u32,
    /// Unit of the send buffer.
    pub(crate) buffer: BufferRule,
}

/// Unit of the send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferRule {
    /// Payload.
    Payload,
    /// Memory, as Linux' TCP does.
    Memory,
    /// Memory of the connection, and as much again for each path: an option of the connection is
    /// set for its subflows, too (`sync_socket_options` in net/mptcp/sockopt.c).
    MemoryOfEachPath,
}
