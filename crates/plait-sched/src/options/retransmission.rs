//! Retransmission and penalization (RP): the reaction to a full receiver's window while a path
//! could send.
//!
//! # Source
//! Raiciu et al., *How Hard Can It Be? Designing and Implementing a Deployable Multipath TCP*
//! (USENIX NSDI 2012), §4.2, as evaluated by Paasch et al., *Experimental Evaluation of Multipath
//! TCP Schedulers* (ACM CSWS 2014). There, two paths with a round trip of 250 ms and with 47 and 1
//! Mbit/s reach 11 Mbit/s without RP and 46 with it. The receiver's window is full because a
//! segment on the slow path is missing: it is behind the queue of the bottleneck. Two actions
//! follow:
//! * *opportunistic retransmission*: the path that could send sends the first unacknowledged
//!   segment, unless it has carried the segment already;
//! * *penalization*: the slower path that carries the segment gets half its congestion window, at
//!   most once in a round-trip time.
//!
//! The conditions are those of Linux' out-of-tree implementation, which the evaluation measured:
//! * A copy is sent only if a path that carries the segment has a window of at most 4 segments, or
//!   if all such paths have more than four times the smoothed round-trip time.
//! * Only a path with a larger round-trip time is penalized. It is not penalized while it repairs
//!   losses: its window would fall to one segment, and each loss would take a round trip.
//!
//! # Readings
//! * The window is *full* when it admits no further segment although one is in the data queue or in
//!   a path queue.
//! * The path that could send is the open one with the smallest smoothed round-trip time, which
//!   must be known: the conditions compare by it. Each path copies a segment once.
//! * Once in *whose* round-trip time? `penalization_interval` decides: "fast" (the default) takes
//!   the path that could send, as in the implementation; "slow" takes the penalized path, as in the
//!   text of 2012. The example of the evaluation over MPTCP with CUBIC, queues of 220 packets and a
//!   receive buffer of 6 MB, seconds 100 to 300, in Mbit/s: `lowest-rtt` 13.3, with "fast" 44.3,
//!   with "slow" 27.7. The queue of the slow path makes its round trip four times that of the
//!   other, so "slow" halves its window four times less often.
//!
//! # Departures
//! Linux keeps the time of the last penalty with the path that could send; here it is kept with the
//! penalized path. With two paths both are the same. With three, the third path need not wait for
//! its turn. A window of one segment is not halved.

use crate::decision::Decision;
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathSet, usable};

/// A carrier whose window is not larger than this cannot repair losses fast.
const NARROW: u32 = 4;
/// A copy clearly arrives first if the carrier has more than this many times the round-trip time.
const SLOWER: u64 = 4;

/// The round-trip time that passes between two penalties of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interval {
    /// The round-trip time of the path that could send.
    #[default]
    Fast,
    /// The round-trip time of the penalized path.
    Slow,
}

/// The state of retransmission and penalization.
#[derive(Clone, Debug)]
pub struct Penalization {
    interval: Interval,
    /// The segment that was copied last, and the paths that sent the copies.
    copied: (u64, PathSet),
    /// The time of each path's last penalty; [`Time::MAX`] if there was none.
    penalized: [Time; MAX_PATHS],
}

impl Penalization {
    /// Creates the state without any copy or penalty.
    pub const fn new(interval: Interval) -> Self {
        Self { interval, copied: (0, PathSet::EMPTY), penalized: [Time::MAX; MAX_PATHS] }
    }

    /// Returns the decision to take before the scheduler is asked, if any.
    pub(super) fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Option<Decision> {
        if connection.window_left > 0 {
            return None;
        }
        let oldest = connection.oldest_unacked?;
        if connection.unassigned == 0 && paths.iter().all(|path| path.queued == 0) {
            return None;
        }
        let open = usable(paths).take(MAX_PATHS).filter(|path| path.is_open() && path.has_rtt());
        let fast = open.min_by_key(|path| path.srtt)?;
        let carries = |path: &&Path| oldest.carried.contains(path.id) && path.id != fast.id;
        let mut carriers = paths.iter().take(MAX_PATHS).filter(carries);
        let blocks = |path: &&Path| {
            let last = self.penalized[path.id.index()];
            let round = match self.interval {
                Interval::Fast => fast.srtt,
                Interval::Slow => path.srtt,
            };
            let due = last == Time::MAX || now.since(last) >= round;
            due && fast.srtt < path.srtt && path.cwnd > 1 && !path.repairing && !path.in_recovery
        };
        if let Some(slow) = carriers.clone().find(blocks) {
            self.penalized[slow.id.index()] = now;
            return Some(Decision::Penalize { path: slow.id });
        }
        if self.copied.0 != oldest.segment {
            self.copied = (oldest.segment, PathSet::EMPTY);
        }
        if oldest.carried.contains(fast.id) || self.copied.1.contains(fast.id) {
            return None;
        }
        let narrow = carriers.clone().any(|path| path.cwnd <= NARROW);
        let comes_first = |path: &Path| fast.srtt.saturating_mul(SLOWER) < path.srtt;
        if narrow || (carriers.clone().next().is_some() && carriers.all(comes_first)) {
            self.copied.1.insert(fast.id);
            return Some(Decision::Reinject { path: fast.id, segment: oldest.segment });
        }
        None
    }
}

impl Default for Penalization {
    fn default() -> Self {
        Self::new(Interval::default())
    }
}
