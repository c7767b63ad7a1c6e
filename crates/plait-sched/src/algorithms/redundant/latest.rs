//! Copies of the last assigned segment: on all open paths, or on those that were not used for long.

use super::super::clip;
use super::super::opportunity::Opportunity;
use super::{fastest, open};
use crate::decision::{Decision, Event};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathSet};

/// The copies still to be decided, and the times of the paths' last use.
#[derive(Clone, Debug)]
pub(super) struct Latest {
    /// A path gets a copy after this many of its round-trip times without use; `None`: always.
    probe_after: Option<u32>,
    opportunity: Opportunity,
    /// The segment that was assigned last, and whether it has left.
    segment: u64,
    has_left: bool,
    /// The paths that also have to carry it, at this moment.
    copies: PathSet,
    /// The paths on which a segment was sent since the last decision.
    used: PathSet,
    /// The time of each path's last use, in nanoseconds; `NEVER` if there was none.
    last_used: [u64; MAX_PATHS],
}

const NEVER: u64 = u64::MAX;

impl Latest {
    /// Creates the state before anything was sent.
    pub(super) const fn new(probe_after: Option<u32>) -> Self {
        Self {
            probe_after,
            opportunity: Opportunity::NEW,
            segment: 0,
            has_left: false,
            copies: PathSet::EMPTY,
            used: PathSet::EMPTY,
            last_used: [NEVER; MAX_PATHS],
        }
    }

    pub(super) fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        for path in core::mem::take(&mut self.used).iter() {
            self.last_used[path.index()] = now.as_nanos();
        }
        if self.opportunity.begins(now) {
            self.copies = PathSet::EMPTY;
        }
        let open = open(paths);
        self.copies = PathSet(self.copies.0 & open.0);
        if self.copies != PathSet::EMPTY && !self.has_left {
            // An unsent segment cannot be copied. An engine that sends after a `Wait` asks again
            // then, at the same moment.
            return Decision::WAIT;
        }
        if let Some(path) = fastest(self.copies, paths) {
            self.copies.remove(path.id);
            // The engine may ask for more before it sends this copy.
            self.last_used[path.id.index()] = now.as_nanos();
            return Decision::Reinject { path: path.id, segment: self.segment };
        }
        let sendable = connection.sendable();
        let Some(path) = fastest(open, paths).filter(|_| sendable > 0) else { return self.opportunity.end() };
        for other in paths.iter().filter(|other| open.contains(other.id) && other.id != path.id) {
            if self.is_wanted(now, other) {
                self.copies.insert(other.id);
            }
        }
        (self.segment, self.has_left) = (connection.next_segment, false);
        let segments = if self.copies == PathSet::EMPTY { clip(path.room(), sendable) } else { 1 };
        Decision::Assign { path: path.id, segments }
    }

    /// True if the path has to carry a copy of a segment assigned to another path.
    fn is_wanted(&self, now: Time, path: &Path) -> bool {
        let Some(probe_after) = self.probe_after else { return true };
        let last = self.last_used[path.id.index()];
        let round_trip = if path.has_rtt() { path.srtt } else { path.rto };
        let pause = round_trip.as_nanos().saturating_mul(u64::from(probe_after));
        last == NEVER || now.as_nanos().saturating_sub(last) >= pause
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        self.opportunity.on_event(event);
        if let Event::Sent { path, segment, .. } = *event {
            self.used.insert(path);
            if segment == self.segment {
                self.has_left = true;
                // An option may have copied the segment meanwhile.
                self.copies.remove(path);
            }
        }
    }
}

#[cfg(test)]
mod tests;
