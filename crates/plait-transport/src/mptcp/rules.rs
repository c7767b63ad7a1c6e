//! An endpoint's choices where standards leave one, or where implementations differ from them.

use plait_sched::Duration;

/// Independent choices of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Rule of loss detection.
    pub losses: Losses,
    /// Number of acknowledgements without delay at the start of a subflow, after a long pause and
    /// after a duplicate; 0 for none.
    pub quick_acks: u8,
    /// Longest time of SACK compression (__tcp_ack_snd_check in net/ipv4/tcp_input.c). The first
    /// three segments beyond a gap are acknowledged at once. After that, one acknowledgement covers
    /// several such segments within a twentieth of the round trip, at most this time.
    pub longest_compression: Option<Duration>,
    /// Longest delay of acknowledgements, whose delay grows with the interval between packets.
    pub longest_ack_delay: Option<Duration>,
    /// Whether the last segment of a burst is marked (PSH). Its acknowledgement leaves as soon as
    /// the application has read all data (`tcp_push` and `tcp_cleanup_rbuf` in net/ipv4/tcp.c,
    /// `mptcp_subflow_could_cleanup` in net/mptcp/protocol.c).
    pub pushes: bool,
    /// Time at which the other subflows are opened.
    pub joins: Joins,
    /// Rule of the receiver's window.
    pub grant: Grant,
    /// Whether a send buffer limits memory instead of payload, for the connection and for each
    /// subflow. A writer that waits for room is then woken when a third is free
    /// (`sk_stream_memory_free`, `sk_stream_is_writeable` in include/net/sock.h).
    pub buffer_of_memory: bool,
    /// Condition under which the connection retransmits data that a subflow has not delivered.
    pub reinjection: Reinjection,
    /// Number of ticks by which a segment's timestamp may be older than the timestamp to echo. RFC
    /// 7323 §5.3, rule R1, has 0; Linux' TCP_PAWS_WINDOW is 1.
    pub timestamp_tolerance: u32,
    /// True if MPTCP's options carry numbers of 64 bits, and no checksum.
    pub long_numbers: bool,
    /// True if the connection may fall back to TCP. It does so if the first packet after the
    /// receiver's SYN/ACK does not prove that its sender supports MPTCP: see `fallback.rs`.
    pub falls_back: bool,
}

/// Rule of loss detection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Losses {
    /// A transmission is lost once three later transmissions have arrived, or one and enough time
    /// has passed (see the documentation of [`mptcp`](super)). Once reordering was seen, only time
    /// decides.
    #[default]
    ByOrder,
    /// Linux' loss recovery, by time alone (see `linux`). It includes a window that shrinks step by
    /// step, and one timer for timeouts, probes and reordering.
    ByTime,
}

/// Time at which the other subflows are opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Joins {
    /// Subflows open once the first one is open, and carry data as soon as they are answered.
    #[default]
    AtOnce,
    /// Subflows open once data was acknowledged on the first one, which proves that the peer
    /// supports MPTCP. They carry data once the packet that authenticates them was answered (RFC
    /// 8684 §3.1 and §3.2), one round trip later.
    Confirmed,
}

/// Rule of the receiver's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// The window is the buffer, from the next missing byte of the stream. Data behind gaps lies in
    /// the window that was granted for it.
    #[default]
    Buffer,
    /// The window is the free part of the buffer, as Linux computes it: see `grant.rs`. Data behind
    /// a gap counts twice: for its own place, and for the place of the data after it. Segments pass
    /// from their subflow to the connection in the subflow's order; the connection then drops data
    /// beyond the granted edge. A sender takes the size of a window, not its end, from each
    /// acknowledgement.
    Free,
}

/// Condition under which the connection retransmits data that a subflow has not delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reinjection {
    /// After a retransmission timeout of the subflow, on subflows that have not carried the data.
    #[default]
    AfterTimeout,
    /// When no data acknowledgement came within the period of the connection's own timer: see
    /// `reinjection.rs`. Needs [`Grant::Free`].
    ByConnection,
}

impl Rules {
    /// The requirements of the RFCs, in their simplest form.
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

    /// The rules of Linux 6.12.
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
