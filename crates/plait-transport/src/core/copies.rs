//! Copies of segments in flight, requested by the scheduler or by the end's owner.

use super::segment::StreamSegment;
use super::{Core, SegmentState};
use plait_sched::{PathId, PathSet, Scheduler};

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

    /// Handles a path's return: unacknowledged segments with manual copies get one on this path,
    /// too.
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

    /// Requests a copy on the path, unless it would be useless. Returns `None` if the segment was
    /// never sent.
    pub(super) fn copy(&mut self, path: PathId, segment: u64) -> Option<bool> {
        if segment < self.stream.first() {
            return Some(false);
        }
        let entry = self.stream.get(segment).filter(|entry| entry.ever_sent())?;
        let spread = self.stream.spread(segment);
        // A second copy on a path that carries the segment would only waste capacity.
        let carried = spread.carried.contains(path) || spread.copies.contains(path);
        let useful = is_wanted(entry.state()) && !carried;
        if useful {
            self.stream.spread_mut(segment)?.copies.insert(path);
            let sender = &mut self.paths[path.index()];
            sender.reinjections.push_back(segment);
            self.paths[path.index()].touch_amounts();
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
                let admits = || self.paths[index].has_write_queue || self.admits_on(index, segment);
                if wanted && !(self.has_room_for(index, segment) && admits()) {
                    break;
                }
                self.paths[index].reinjections.pop_front();
                self.stream.drop_copy(segment, PathId(index as u8));
                self.paths[index].touch_amounts();
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

    /// Offset of a segment in the stream, if the segment was cut and is not acknowledged.
    #[inline]
    pub(crate) fn offset_of(&self, segment: u64) -> Option<u64> {
        self.stream.get(segment).map(|entry| entry.offset)
    }

    /// True if a segment left at least once.
    pub(crate) fn was_sent(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(StreamSegment::ever_sent)
    }

    /// True if a segment is in flight.
    #[inline]
    pub(crate) fn is_in_flight(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(|entry| entry.state() == SegmentState::InFlight)
    }

    /// The paths on which a segment is in flight, if it is.
    pub(crate) fn carriers(&self, segment: u64) -> Option<PathSet> {
        self.is_in_flight(segment).then(|| self.stream.spread(segment).carried)
    }
}

/// True if a copy of a segment in this state is useful: it was sent and is not known to have
/// arrived.
fn is_wanted(state: SegmentState) -> bool {
    matches!(state, SegmentState::InFlight | SegmentState::Lost)
}
