//! What an endpoint does where standards leave a choice, or where implementations differ from them.

use plait_sched::Duration;

/// The choices, each by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// What counts as lost.
    pub losses: Losses,
    /// So many acknowledgements are not delayed at the start of a subflow, after a long pause and after a duplicate; 0 for
    /// none.
    pub quick_acks: u8,
    /// What arrives beyond a gap is acknowledged at once three times; after that acknowledgements of several such
    /// segments are put into one for a twentieth of the round trip, and up to this (SACK compression,
    /// __tcp_ack_snd_check in net/ipv4/tcp_input.c).
    pub longest_compression: Option<Duration>,
    /// Acknowledgements wait longer where packets come further apart, up to this.
    pub longest_ack_delay: Option<Duration>,
    /// The last segment of a burst is marked (PSH), and its acknowledgement leaves as soon as the application has read all there
    /// is (`tcp_push` and `tcp_cleanup_rbuf` in net/ipv4/tcp.c, `mptcp_subflow_could_cleanup` in net/mptcp/protocol.c).
    pub pushes: bool,
    /// When the other subflows are opened.
    pub joins: Joins,
    /// What the receiver's window is.
    pub grant: Grant,
    /// A send buffer is so many bytes of memory, not of payload, for the connection and for each of its subflows, and a writer that
    /// waits for room is woken when a third is free (`sk_stream_memory_free`, `sk_stream_is_writeable` in include/net/sock.h).
    pub buffer_of_memory: bool,
    /// When the connection sends again what a subflow has not delivered.
    pub reinjection: Reinjection,
    /// By how many ticks a segment's timestamp may be older than the one that is to be echoed: 0 by RFC 7323 §5.3, rule R1;
    /// Linux' TCP_PAWS_WINDOW is 1.
    pub timestamp_tolerance: u32,
    /// MPTCP's options carry numbers of 64 bits, and no checksum.
    pub long_numbers: bool,
    /// The connection goes on as TCP if the first packet after the receiver's SYN/ACK does not prove that its sender speaks MPTCP: see
    /// `fallback.rs`.
    pub falls_back: bool,
}

/// What counts as lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Losses {
    /// What three transmissions that were sent later have overtaken, or one and time (see the documentation of
    /// [`mptcp`](super)); by time alone once reordering was seen.
    #[default]
    ByOrder,
    /// As Linux does it, by time alone, and with it everything that follows from a loss (see `linux`): a window that shrinks step by
    /// step, one timer for timeouts, probes and reordering.
    ByTime,
}

/// When the other subflows are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Joins {
    /// When the first one is open, and they carry data as soon as they are answered.
    #[default]
    AtOnce,
    /// When data was acknowledged on the first one, which proves that the peer speaks MPTCP; and they carry
    /// data once the packet that authenticates them was answered (RFC 8684 §3.1 and §3.2), which is one round
    /// trip later.
    Confirmed,
}

/// What the receiver's window is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// The buffer, from the next byte that the stream lacks: what waits behind gaps lies in the window that
    /// was granted for it.
    #[default]
    Buffer,
    /// What the buffer has free, as Linux reckons it: see `grant.rs`. Data that waits behind a gap takes room
    /// twice: where it is, and where what follows it might be. Segments go from their subflow to the
    /// connection in the subflow's order, and what lies beyond the granted edge is dropped then. A sender
    /// takes the size of a window, not its end, from each acknowledgement.
    Free,
}

/// When the connection sends again what a subflow has not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reinjection {
    /// After a retransmission timeout of the subflow, on those that have not carried it.
    #[default]
    AfterTimeout,
    /// When no data acknowledgement came for as long as the connection's own timer takes: see
    /// `reinjection.rs`.
    ByConnection,
}

impl Rules {
    /// What the RFCs ask for, in their simplest form.
    pub const STANDARD: Self = Self {
        losses: Losses::ByOrder,
        quick_acks: 0,
        longest_compression: None,
        longest_ack_delay: None,
        pushes: false,
        joins: Joins::AtOnce,
        grant: Grant::Buffer,
        buffer_of_memory: false,
        reinjection: Reinjection::AfterTimeout,
        timestamp_tolerance: 0,
        long_numbers: false,
        falls_back: false,
    };

    /// What Linux 6.12 does.
    pub const LINUX: Self = Self {
        losses: Losses::ByTime,
        quick_acks: 16,
        longest_compression: Some(Duration::from_millis(1)),
        longest_ack_delay: Some(Duration::from_millis(200)),
        pushes: true,
        joins: Joins::Confirmed,
        grant: Grant::Free,
        buffer_of_memory: true,
        reinjection: Reinjection::ByConnection,
        timestamp_tolerance: 1,
        long_numbers: true,
        falls_back: true,
    };
}
