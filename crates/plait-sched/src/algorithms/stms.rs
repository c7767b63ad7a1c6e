//! STMS: a slower path gets segments from behind the head of the stream, so far behind that they
//! arrive in order.
//!
//! # Source
//! Shi, Cui, Wang, Hu, Dai et al., *STMS: Improving MPTCP Throughput Under Heterogeneous Networks*
//! (USENIX ATC 2018). A segment for a slower path is taken `gap` segments behind the head of the
//! data queue. That is about as many as the fastest path f sends in the additional delay of the
//! slower path. Acknowledgements of the stream correct the gap; the rule and the steps of that
//! correction are not known to us.
//!
//! # Readings
//! * An assignment takes the head of the data queue, so the gap is made in the opposite way. Before
//!   a segment is assigned to a slower path s, f gets segments ahead of its window, until its queue
//!   is as long as the gap.
//! * The gap of s begins with (r_s − r_f)/2 · w_f/r_f, with smoothed round-trip times and f's
//!   window. It is never more than `most` times that.
//! * The controller is our own. One segment at a time is followed on each path s. If it becomes the
//!   oldest unacknowledged one, so that the others wait for it, s is late, and the gap grows by an
//!   eighth and one segment. If the stream passes the segment before that, s is early, and the gap
//!   shrinks by a sixteenth and one segment.
//!
//! # Departures
//! * f is the measured usable path with the lowest round-trip time that did not time out without an
//!   acknowledgement since. Unmeasured paths go first, with the segments that their windows admit
//!   and without a gap.
//! * When another path becomes the fastest, the queue of f is recalled.
//!
//! # Progress
//! f gets segments whenever its queue is shorter than the largest gap, or its window has room. So
//! data is always in flight or can be sent.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathSet, usable};

/// Units of the gap in a segment.
const SEGMENT: u64 = 16;
/// The growth of the gap when the path is late, and its decrease when it is early: this part of it,
/// and a segment.
const LATER: u64 = 8;
const EARLIER: u64 = 16;
/// The largest gap in segments, beyond all reasonable values.
const LARGEST: u64 = 1 << 20;

/// The state of one slower path.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// The gap in sixteenths of a segment; `None` before the first use.
    gap: Option<u64>,
    /// The segment that is followed.
    followed: Option<u64>,
}

/// The state of STMS.
#[derive(Clone, Debug)]
pub struct Stms {
    /// The largest gap, as a multiple of the first one.
    most: u64,
    slow: [Slow; MAX_PATHS],
    /// The fastest path, in whose queue segments wait.
    fast: Option<PathId>,
    suspects: Suspects,
}

impl Stms {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "stms",
        title: "STMS's gap",
        summary: "A slower path gets segments from so far behind the fastest path's queue that they arrive in order.",
        source: "Shi et al., STMS, USENIX ATC 2018",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "most",
            doc: "The largest gap, as a multiple of the first one. With 1 a gap only shrinks; with 0 there is none.",
            default: Value::Integer(4),
            domain: Domain::Integer { min: 0, max: 1000 },
        }],
    };

    /// Creates the state with the largest gap, as a multiple of the first one.
    pub const fn new(most: u64) -> Self {
        Self {
            most,
            slow: [Slow { gap: None, followed: None }; MAX_PATHS],
            fast: None,
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("most") as u64)
    }

    /// The gap of `slow`, in segments.
    fn gap(&mut self, fast: &Path, slow: &Path) -> u64 {
        let first = first(fast, slow);
        let most = first.saturating_mul(self.most).min(LARGEST * SEGMENT);
        let gap = &mut self.slow[slow.id.index() % MAX_PATHS].gap;
        *gap = Some(gap.unwrap_or(first).min(most));
        gap.unwrap_or(0) / SEGMENT
    }

    /// Checks the followed segments, and corrects the gaps.
    fn follow(&mut self, connection: &Connection) {
        let Some(oldest) = connection.oldest_unacked else { return };
        for slow in &mut self.slow {
            let Some(followed) = slow.followed.filter(|&segment| segment <= oldest.segment) else { continue };
            slow.followed = None;
            let Some(gap) = &mut slow.gap else { continue };
            *gap = if followed == oldest.segment {
                *gap + *gap / LATER + SEGMENT
            } else {
                (*gap - *gap / EARLIER).saturating_sub(SEGMENT)
            };
        }
    }
}

/// (r_s − r_f)/2 · w_f/r_f, in the gap's unit.
fn first(fast: &Path, slow: &Path) -> u64 {
    let longer = slow.srtt.as_nanos().saturating_sub(fast.srtt.as_nanos()) / 2;
    let sent = u128::from(longer) * u128::from(fast.cwnd) * u128::from(SEGMENT);
    let gap = sent / u128::from(fast.srtt.as_nanos().max(1));
    u64::try_from(gap).unwrap_or(u64::MAX).min(LARGEST * SEGMENT)
}

impl Default for Stms {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Scheduler for Stms {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.follow(connection);
        let suspects = self.suspects;
        let trusted = |path: &&Path| path.has_rtt() && !suspects.excludes(path, paths);
        let fast = usable(paths).take(MAX_PATHS).filter(trusted).min_by_key(|path| path.srtt);
        let now_fast = fast.map(|path| path.id);
        if now_fast != self.fast {
            let before = core::mem::replace(&mut self.fast, now_fast);
            let left = usable(paths).find(|path| Some(path.id) == before && path.queued > 0);
            if let Some(left) = left {
                return Decision::Recall { path: left.id };
            }
        }
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let mut open = PathSet::EMPTY;
        for path in usable(paths).take(MAX_PATHS).filter(|path| path.is_open()) {
            if !path.has_rtt() {
                return Decision::Assign { path: path.id, segments: clip(path.room(), sendable) };
            }
            open.insert(path.id);
        }
        let Some(fast) = fast else {
            // No path is measured and trusted: data leaves where it can.
            let path = usable(paths).filter(|path| open.contains(path.id)).min_by_key(|path| path.srtt);
            return path.map_or(Decision::WAIT, |path| Decision::Assign {
                path: path.id,
                segments: clip(path.room(), sendable),
            });
        };
        if open.contains(fast.id) {
            return Decision::Assign { path: fast.id, segments: clip(fast.room(), sendable) };
        }
        open.remove(fast.id);
        let slow = usable(paths).filter(|path| open.contains(path.id)).min_by_key(|path| path.srtt);
        let Some(slow) = slow else { return Decision::WAIT };
        let lacks = self.gap(fast, slow).saturating_sub(fast.queued.into());
        if lacks > 0 && fast.in_flight > 0 && !fast.in_recovery {
            let lacks = u32::try_from(lacks).unwrap_or(u32::MAX);
            return Decision::Assign { path: fast.id, segments: clip(lacks, sendable) };
        }
        Decision::Assign { path: slow.id, segments: 1 }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
        match *event {
            Event::Sent { path, segment, retransmission: false } if self.fast != Some(path) => {
                if let Some(slow) = self.slow.get_mut(path.index())
                    && slow.followed.is_none()
                {
                    slow.followed = Some(segment);
                }
            }
            // A lost segment is late for another reason.
            Event::Lost { path, .. } | Event::Timeout { path } | Event::PathDown { path } => {
                if let Some(slow) = self.slow.get_mut(path.index()) {
                    slow.followed = None;
                }
            }
            _ => {}
        }
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }
}

#[cfg(test)]
mod tests;
