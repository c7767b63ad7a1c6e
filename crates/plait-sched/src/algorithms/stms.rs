//! STMS: a slower path gets segments from behind the head of the stream, so far behind that they arrive when it is their turn.
//!
//! # Source
//! Shi, Cui, Wang, Hu, Dai et al., *STMS: Improving MPTCP Throughput Under Heterogeneous Networks* (USENIX ATC 2018): a segment for a slower path is taken `gap` segments behind the head of the data queue, about as many
//! as the fastest path f sends while that segment is under way longer than one of its own. What acknowledgements of the stream tell corrects the gap. How, by how much and from where is not known to us.
//!
//! # Readings
//! * An assignment takes the head of the data queue, so the gap is made the other way round: before a segment is assigned to a slower path s, f is assigned segments, ahead of its window,
//!   until as many as the gap wait there.
//! * The gap of s begins with (r_s − r_f)/2 · w_f/r_f, with smoothed round-trip times and f's window, and is never more than `most` times that.
//! * The controller is our own. Of each path s one segment at a time is followed. If it becomes the oldest that is not acknowledged, so that the others wait for it, s is late, and the gap
//!   grows by an eighth and one segment. If the stream passes it without, s is early, and the gap shrinks by a sixteenth and one segment.
//!
//! # Departures
//! * f is the usable path of the lowest round-trip time that was measured and did not time out without an acknowledgement since. Others that were not measured
//!   go first, with what their windows let out and without a gap.
//! * What waits for f when another path becomes the fastest is taken back.
//!
//! # Progress
//! f is assigned segments whenever fewer wait there than the largest gap, or there is room in its window: so something is always on its way or can be sent.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathSet, usable};

/// The gap's unit: so many make a segment.
const SEGMENT: u64 = 16;
/// How much it grows when the path is late, and shrinks when it is early: such a part of it, and a segment.
const LATER: u64 = 8;
const EARLIER: u64 = 16;
/// Segments at most, beyond all reason.
const LARGEST: u64 = 1 << 20;

/// What is known of one slower path.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// In sixteenths of a segment; none before it was used.
    gap: Option<u64>,
    /// The segment that is followed.
    followed: Option<u64>,
}

/// The state of STMS.
#[derive(Clone, Debug)]
pub struct Stms {
    /// How often the gap's beginning it may be.
    most: u64,
    slow: [Slow; MAX_PATHS],
    /// The fastest path, where segments wait.
    fast: Option<PathId>,
    suspects: Suspects,
}

impl Stms {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "stms",
        title: "STMS's gap",
        summary: "A slower path gets segments so far behind what waits for the fastest one that they arrive when it is their turn.",
        source: "Shi et al., STMS, USENIX ATC 2018",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "most",
            doc: "How many times as large as at first a gap may become. At 1 it only shrinks, at 0 there is none.",
            default: Value::Integer(4),
            domain: Domain::Integer { min: 0, max: 1000 },
        }],
    };

    /// With the largest gap, as a multiple of the first.
    pub const fn new(most: u64) -> Self {
        Self {
            most,
            slow: [Slow { gap: None, followed: None }; MAX_PATHS],
            fast: None,
            suspects: Suspects::NONE,
        }
    }

    /// From checked parameters.
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

    /// What became of the segments that are followed.
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
            // None is measured and trusted: what can leave leaves.
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
            // What is lost is late for another reason.
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
