//! Copies of what is in flight: asked for by the scheduler, or by who owns the end.

use super::segment::StreamSegment;
use super::{Core, SegmentState};
use plait_sched::{PathId, Scheduler};

impl<S: Scheduler, R> Core<S, R> {
    /// See [`crate::endpoint::Endpoint::copy`].
    pub(crate) fn copy_by_hand(&mut self, path: PathId, segment: u64) -> bool {
        if let Some(entry) = self.stream.get_mut(segment) {
            entry.mark_copied();
        }
        let usable = self.facts.get(path.index()).is_some_and(plait_sched::Path::is_usable);
        let added = usable && self.copy(path, segment) == Some(true);
        self.copies |= added;
        added
    }

    /// The path works again. Unacknowledged segments that have copies by hand get one on this path, too.
    pub(super) fn copy_again(&mut self, index: usize) {
        let path = PathId(index as u8);
        if !plait_sched::usable(&self.facts).any(|usable| usable.id == path) {
            return;
        }
        for segment in self.stream.first()..self.sent_end {
            let wanted = self.stream.get(segment).is_some_and(StreamSegment::is_copied);
            self.copies |= wanted && self.copy(path, segment) == Some(true);
        }
    }

    /// A copy is to leave on the path, unless that would be of no use; `None` if the segment was never sent.
    pub(super) fn copy(&mut self, path: PathId, segment: u64) -> Option<bool> {
        if segment < self.stream.first() {
            return Some(false);
        }
        let entry = self.stream.get(segment).filter(|entry| entry.ever_sent())?;
        let spread = self.stream.spread(segment);
        // The same copy twice, or on a path that carries the segment already, would only waste the path.
        let carried = spread.carried.contains(path) || spread.copies.contains(path);
        let useful = is_wanted(entry.state()) && !carried;
        if useful {
            self.stream.spread_mut(segment)?.copies.insert(path);
            let sender = &mut self.paths[path.index()];
            sender.reinjections.push_back(segment);
            self.touch_amounts(path.index());
        }
        Some(useful)
    }

    /// True if there may be copies.
    pub(crate) fn wants_copies(&self) -> bool {
        self.needs.reinject || self.copies
    }

    /// True if every path gets copies of everything, and repairs its own losses.
    pub(crate) fn copies_everything(&self) -> bool {
        self.needs.repair && self.paths.len() > 1
    }

    /// True if there are copies, or will be.
    pub(crate) fn has_copies(&self) -> bool {
        self.copies_everything() || self.counters.reinjections > 0
    }

    pub(crate) fn next_reinjection(&mut self) -> Option<(usize, u64)> {
        for index in 0..self.paths.len() {
            while let Some(&segment) = self.paths[index].reinjections.front() {
                let wanted = self.stream.get(segment).is_some_and(|entry| is_wanted(entry.state()));
                if wanted && !(self.has_room_for(index, segment) && self.lets_in(index, segment)) {
                    break;
                }
                self.paths[index].reinjections.pop_front();
                self.stream.drop_copy(segment, PathId(index as u8));
                self.touch_amounts(index);
                if wanted {
                    self.waits_no_more(segment);
                    return Some((index, segment));
                }
            }
        }
        self.copies = self.paths.iter().any(|path| !path.reinjections.is_empty());
        None
    }

    /// The copies that wait on a path are not wanted any more.
    pub(super) fn drop_copies(&mut self, index: usize) {
        for segment in self.paths[index].reinjections.drain(..) {
            self.stream.drop_copy(segment, PathId(index as u8));
        }
    }
}

/// True if a copy of a segment in this state is of use: it was sent, and has not arrived as far as is known.
fn is_wanted(state: SegmentState) -> bool {
    matches!(state, SegmentState::InFlight | SegmentState::Lost)
}
