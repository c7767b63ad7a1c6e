//! The facts that a scheduler sees about the connection and its paths.
//!
//! Amounts of data are counted in *segments* (packets of the stream), as the papers and the Linux
//! kernel count them. An engine that keeps bytes converts by the rule of its own protocol (see
//! [`Path::cwnd`]).

use crate::time::{Duration, Time};

/// The largest number of paths of one connection; schedulers keep their per-path state in arrays of
/// this length.
pub const MAX_PATHS: usize = 32;

/// A path, identified by its index in the slice that a scheduler receives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PathId(pub u8);

impl PathId {
    /// The index into the slice of paths.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of paths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PathSet(pub u32);

impl PathSet {
    /// No path.
    pub const EMPTY: Self = Self(0);

    /// True if the path is in the set.
    pub const fn contains(self, path: PathId) -> bool {
        self.0 >> path.0 & 1 == 1
    }

    /// Adds a path.
    pub const fn insert(&mut self, path: PathId) {
        self.0 |= 1 << path.0;
    }

    /// Removes a path.
    pub const fn remove(&mut self, path: PathId) {
        self.0 &= !(1 << path.0);
    }

    /// The paths of this set that are not in `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// The paths in the set, the lowest first.
    pub fn iter(self) -> impl Iterator<Item = PathId> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let path = PathId(left.trailing_zeros() as u8);
            left &= left.wrapping_sub(1);
            (path.index() < MAX_PATHS).then_some(path)
        })
    }
}

/// Whether a path may be used, and for which data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PathState {
    /// Carries new data.
    #[default]
    Active,
    /// Works, but may be used only while no active path is usable (MPTCP's backup priority).
    Backup,
    /// Had a timeout and is being probed; takes no new data while another path works (RFC 7829).
    PotentiallyFailed,
    /// Not established, or given up after too many timeouts; takes nothing.
    Failed,
}

impl PathState {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backup => "backup",
            Self::PotentiallyFailed => "potentially-failed",
            Self::Failed => "failed",
        }
    }
}

/// The facts of one path at the time of a decision.
///
/// Later versions may add facts, each with a value for "not known": build a path from
/// [`Path::new`], as in `Path { cwnd: 10, ..Path::new(id, mss) }`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Path {
    /// The path's index.
    pub id: PathId,
    /// Whether the path may be used.
    pub state: PathState,
    /// True while the path recovers from a loss and should take no new data. Engines without that
    /// rule say false.
    pub in_recovery: bool,
    /// True during loss recovery of any kind: the congestion window has been reduced already.
    pub repairing: bool,
    /// Smoothed round-trip time; zero until the first sample.
    pub srtt: Duration,
    /// Round-trip time variation (RFC 6298 RTTVAR); zero until the first sample.
    pub rttvar: Duration,
    /// The latest round-trip sample; zero until there is one.
    pub latest_rtt: Duration,
    /// Smoothed round-trip time of packets whose acknowledgement came back on this path too; zero
    /// until the first sample. It differs from `srtt` where acknowledgements cover all paths
    /// (CMT-SCTP): a short path then returns acknowledgements for packets of a long path first.
    pub own_rtt: Duration,
    /// The smallest sample of `own_rtt`; zero until there is one.
    pub min_rtt: Duration,
    /// Estimated one-way delay towards the receiver in nanoseconds, if the transport measures it.
    /// The value may contain one clock offset that is common to all paths, and may so be negative:
    /// only order and differences have a meaning.
    pub forward_delay: Option<i64>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Largest segment, in payload bytes.
    pub mss: u32,
    /// Congestion window: number of segments that the protocol lets be in flight. SCTP may exceed
    /// its window by one segment, so its engine rounds up; TCP's rounds down.
    pub cwnd: u32,
    /// Slow-start threshold, in segments; `u32::MAX` while unset.
    pub ssthresh: u32,
    /// Segments sent and neither acknowledged nor considered lost. Where windows count bytes: the
    /// number of full segments that take up as much of the window.
    pub in_flight: u32,
    /// Segments considered lost that wait for retransmission on this path. They leave before new
    /// data.
    pub lost: u32,
    /// Segments assigned to this path and not sent yet, and copies queued on it.
    pub queued: u32,
    /// Limit set by a scheduler ([`crate::Decision::Limit`]): new data leaves only while fewer
    /// segments than this are in flight; `u32::MAX` without a limit.
    pub limit: u32,
    /// Share of the segments sent on the path that were lost, in parts per million.
    pub loss_ppm: u32,
    /// Recent delivery rate in bits per second of payload; zero until measured.
    pub delivery_rate: u64,
    /// Cost of using the path, in units of the user's choice; zero unless set.
    pub cost: u32,
    /// Weight of the path: its share of the sent data relative to the weights of the others; 1
    /// unless set.
    pub weight: u32,
    /// The oldest segment in flight on other paths that this path neither carries nor is about to
    /// carry. `None` if there is none, or if the scheduler does not declare
    /// [`crate::Capabilities::uncarried`].
    pub uncarried: Option<u64>,
    /// Memory of the packets in flight, lost and queued, in bytes, as Linux counts it for a socket
    /// (`sk_wmem_queued`); `None` from an engine that does not count it.
    pub memory: Option<u64>,
    /// Packets sent and not cumulatively acknowledged (`packets_out` in Linux); known if
    /// [`Path::memory`] is.
    pub outstanding: Option<u32>,
    /// Rate at which congestion control lets packets leave, in bits per second (`sk_pacing_rate` in
    /// Linux); `None` if packets leave as soon as the window admits them.
    pub pacing_rate: Option<u64>,
}

impl Path {
    /// Creates a path on which nothing was sent yet: active, one segment of window, no
    /// measurements.
    pub const fn new(id: PathId, mss: u32) -> Self {
        Self {
            id,
            state: PathState::Active,
            in_recovery: false,
            repairing: false,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            latest_rtt: Duration::ZERO,
            own_rtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            forward_delay: None,
            rto: Duration::from_secs(1),
            mss,
            cwnd: 1,
            ssthresh: u32::MAX,
            in_flight: 0,
            lost: 0,
            queued: 0,
            limit: u32::MAX,
            loss_ppm: 0,
            delivery_rate: 0,
            cost: 0,
            weight: 1,
            uncarried: None,
            memory: None,
            outstanding: None,
            pacing_rate: None,
        }
    }

    /// True if the path may take data at all (active or backup).
    pub const fn is_usable(&self) -> bool {
        matches!(self.state, PathState::Active | PathState::Backup)
    }

    /// Segments that could be sent at once: the congestion window less segments in flight, lost and
    /// queued.
    pub const fn room(&self) -> u32 {
        self.cwnd.saturating_sub(self.in_flight).saturating_sub(self.lost).saturating_sub(self.queued)
    }

    /// True if the path is usable, not held back by loss recovery, and has congestion-window room.
    pub const fn is_open(&self) -> bool {
        self.is_usable() && !self.in_recovery && self.room() > 0
    }

    /// True once a round-trip time has been measured.
    pub const fn has_rtt(&self) -> bool {
        !self.srtt.is_zero()
    }

    /// True while the window grows exponentially.
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The oldest segment that the receiver has not acknowledged; built with [`Outstanding::new`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outstanding {
    /// The segment's number in the stream.
    pub segment: u64,
    /// The path that carries the segment; the latest one if several do.
    pub path: PathId,
    /// Every path that carries the segment: a further copy there would be useless.
    pub carried: PathSet,
}

impl Outstanding {
    /// Creates segment number `segment`, sent last on `path` and carried by all of `carried`.
    pub const fn new(segment: u64, path: PathId, carried: PathSet) -> Self {
        Self { segment, path, carried }
    }
}

/// A message: data that the application wrote in one piece, as far as a scheduler may know of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// The number of the message. Messages of a connection are counted from 0 in the order in which
    /// they were written.
    pub number: u64,
    /// The stream of the message. Messages of a stream keep their order.
    pub stream: u32,
    /// Segments of the message in the data queue; saturates for a message that never ends.
    pub segments_left: u64,
    /// Priority between streams: the higher one goes first.
    pub priority: u8,
    /// The time by which the whole message should have arrived, if the application set one. It may
    /// have passed.
    pub deadline: Option<Time>,
}

/// The facts of the connection at the time of a decision.
///
/// Later versions may add facts: write `Connection { unassigned: 9, ..Connection::default() }`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Connection {
    /// Segments in the data queue: written by the application, assigned to no path. Saturates for
    /// endless streams.
    pub unassigned: u64,
    /// The number of the next segment that an assignment would hand out.
    pub next_segment: u64,
    /// Bytes from the next segment to the end of its fragment, the unit in which Linux' MPTCP keeps
    /// data; `None` from an engine without fragments.
    pub fragment_left: Option<u64>,
    /// Segments that the receiver's window still admits, less the segments in path queues. Those
    /// come first, and a later segment must not take their place in the window.
    pub window_left: u64,
    /// The whole receiver's window: segments admitted from the oldest unacknowledged one on, sent
    /// or not. [`Connection::window_left`] is the rest of it.
    pub window: u64,
    /// Segments that the application could still write before the send buffer is full.
    pub send_buffer_left: u64,
    /// The oldest unacknowledged segment in flight, if any.
    pub oldest_unacked: Option<Outstanding>,
    /// True if the application has written its last byte.
    pub finished: bool,
    /// The message of the next segment. Only schedulers that declare
    /// [`crate::Capabilities::messages`] know this field, `streams` and `due`; the others see
    /// `None` and 0.
    pub message: Option<Message>,
    /// Streams with data in the data queue that no path has had yet: [`crate::Decision::Defer`]
    /// chooses between them.
    pub streams: u32,
    /// The earliest deadline of the messages that are not fully acknowledged.
    pub due: Option<Time>,
    /// True while the application waits because it has more to write than there is room for. An
    /// engine that does not know says false.
    pub writer_waits: bool,
}

impl Connection {
    /// Segments that may be assigned if all of them have to leave at once: the smaller of the data
    /// queue and the rest of the receiver's window.
    pub const fn sendable(&self) -> u64 {
        if self.unassigned < self.window_left { self.unassigned } else { self.window_left }
    }
}

/// Returns the paths that new data may use now: the usable active ones, or the backup ones if no
/// active one is usable.
pub fn usable(paths: &[Path]) -> impl Iterator<Item = &Path> + Clone {
    let any_active = paths.iter().any(|p| p.state == PathState::Active);
    paths.iter().filter(move |p| match p.state {
        PathState::Active => true,
        PathState::Backup => !any_active,
        PathState::PotentiallyFailed | PathState::Failed => false,
    })
}
