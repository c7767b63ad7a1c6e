//! What a protocol wants of the core.

use super::WindowRule;

/// Said once, as an end is made: the core asks these and never who the protocol is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreRules {
    /// How the receiver's window is counted.
    pub(crate) window: WindowRule,
    /// The congestion window may be overshot by less than a packet, as in SCTP (RFC 9260 §6.1, rule B); otherwise a packet leaves
    /// only if it fits wholly.
    pub(crate) overshoots: bool,
    /// A lost transmission keeps its number until it is acknowledged, as on a subflow of TCP.
    pub(crate) lost_keep_numbers: bool,
    /// Paths remember what has left their flight until the protocol says that it needs it no more.
    pub(crate) settled_are_remembered: bool,
    /// Paths take what their congestion windows have room for, whatever windows of their own say, as in Linux' MPTCP.
    pub(crate) commits: bool,
    /// A scheduler's penalty falls due with the path's next acknowledgement, as in Linux; otherwise at once.
    pub(crate) penalties_wait: bool,
    /// There are streams: what is written on one need not wait for what was written before on another.
    pub(crate) streams: bool,
    /// Where messages keep their boundaries: bytes that each one but the first takes in a packet beside its payload; 0 where a packet
    /// holds a piece of the stream of bytes.
    pub(crate) message_header: u32,
    /// What the send buffer counts.
    pub(crate) buffer: BufferRule,
}

/// What the send buffer counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferRule {
    /// Payload.
    Payload,
    /// Memory, as Linux' TCP does.
    Memory,
    /// Likewise that of a connection, and as much again of each path, since an option that is set for the connection is set for its
    /// subflows (`sync_socket_options` in net/mptcp/sockopt.c).
    MemoryOfEachPath,
}
