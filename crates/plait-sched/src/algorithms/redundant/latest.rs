//! Copies of the segment that was sent last: on all paths that are open, or on those that were not used for long.

use super::super::clip;
use super::super::opportunity::Opportunity;
use super::{fastest, open};
use crate::decision::{Decision, Event};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathSet};

/// Which copies are still to be decided, and when paths were used.
#[derive(Clone, Debug)]
pub(super) struct Latest {
    /// After how many of its round-trip times without use a path gets a copy; `None`: always.
    probe_after: Option<u32>,
    opportunity: Opportunity,
    /// The segment that was assigned last, and whether it has left.
    segment: u64,
    has_left: bool,
    /// The paths that are to carry it too, at this moment.
    copies: PathSet,
    /// The paths on which something was sent since the last decision.
    used: PathSet,
    /// When each path was used last, in nanoseconds; `NEVER`.
    last_used: [u64; MAX_PATHS],
}

const NEVER: u64 = u64::MAX;

impl Latest {
    /// Nothing was sent.
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
            // What was never sent cannot be copied: an engine that sends when it has been told to wait asks again then, at the same moment.
            return Decision::WAIT;
        }
        if let Some(path) = fastest(self.copies, paths) {
            self.copies.remove(path.id);
            // An engine may ask for more before it sends this one.
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

    /// True if the path is to carry a copy of what is assigned to another one.
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
                // An option may have copied it meanwhile.
                self.copies.remove(path);
            }
        }
    }
}

#[cfg(test)]
mod tests;
