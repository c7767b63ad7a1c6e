//! Lost segments, and the queues in which they wait for retransmission.

use super::segment::StreamSegment;
use super::transmission::TransmissionId;
use super::{Core, SegmentState, TransmissionState};
use plait_sched::{Event, PathId, Scheduler};
use std::collections::VecDeque;

impl<S: Scheduler, R> Core<S, R> {
    /// Declares these transmissions lost, if they are in flight; their segments wait for
    /// retransmission on `target`. Returns true if the path itself retransmits some of them.
    ///
    /// A segment with copies is retransmitted on the path that lost it. Copies insure against
    /// losses, so that path delivers as if it were alone, however slow the others are. If the
    /// scheduler asks for it, this applies to every segment.
    pub(crate) fn lose(
        &mut self,
        index: usize,
        numbers: impl Iterator<Item = u64>,
        target: Option<PathId>,
    ) -> bool {
        let origin = PathId(index as u8);
        let mut segments = core::mem::take(&mut self.lost);
        segments.extend(numbers.filter_map(|number| self.lose_one(index, number)));
        let repairs = self.facts[index].is_usable() && self.repair(origin, &mut segments);
        segments.retain(|&segment| {
            self.stream.get(segment).is_some_and(|entry| entry.state() == SegmentState::Lost)
        });
        for &segment in &segments {
            if let Some(entry) = self.stream.get_mut(segment) {
                entry.wait_on(target);
            }
        }
        match target {
            Some(target) => {
                let path = &mut self.paths[target.index()];
                path.waiting += merge_ascending(&mut path.retransmissions, segments.drain(..)) as u32;
                self.paths[target.index()].touch_amounts();
            }
            None => {
                merge_ascending(&mut self.shared_retransmissions, segments.drain(..));
            }
        }
        segments.clear();
        self.lost = segments;
        self.paths[index].touch();
        self.retransmits = true;
        repairs
    }

    /// Moves those of the lost `segments` that the path retransmits itself into its queue. Returns
    /// true if there are any.
    fn repair(&mut self, origin: PathId, segments: &mut Vec<u64>) -> bool {
        let mut own = Vec::new();
        segments.retain(|&segment| {
            let copied = self.needs.repair || self.is_copied(segment, origin);
            if copied {
                own.push(segment);
            }
            !copied
        });
        let mut waiting = 0;
        for &segment in &own {
            if let Some(entry) =
                self.stream.get_mut(segment).filter(|entry| entry.state() == SegmentState::Lost)
            {
                entry.wait_on(Some(origin));
                waiting += 1;
            }
        }
        let path = &mut self.paths[origin.index()];
        path.waiting += waiting;
        merge_ascending(&mut path.retransmissions, own.iter().copied());
        self.paths[origin.index()].touch_amounts();
        !own.is_empty()
    }

    /// True if other paths have, or had, copies of the segment. The queue of copies does not show
    /// this: they may all have left before the segment is lost.
    fn is_copied(&self, segment: u64, path: PathId) -> bool {
        let by_hand = || self.stream.get(segment).is_some_and(StreamSegment::is_copied);
        self.needs.reinject && self.stream.is_copied(segment, path) || by_hand()
    }

    /// Removes a segment from the count of waiting ones on its path: it is no longer lost, or is
    /// about to be in flight.
    pub(crate) fn waits_no_more(&mut self, segment: u64) {
        let Some(entry) = self.stream.get_mut(segment) else { return };
        if let Some(path) = entry.waits_on() {
            entry.wait_on(None);
            self.paths[path.index()].waiting -= 1;
            self.paths[path.index()].touch_amounts();
        }
    }

    /// Everything in flight on the path is considered lost.
    pub(crate) fn lose_all(&mut self, index: usize, target: Option<PathId>) {
        let (first, next) = (self.paths[index].flight.first(), self.paths[index].flight.next());
        self.lose(index, first..next, target);
        self.paths[index].superseded.clear();
    }

    /// Empties the flight of a path that holds only copies of arrived segments. The sender waits
    /// for none of them, and an acknowledged TSN is not outstanding (RFC 9260 §6.2.1). Returns true
    /// if it did.
    pub(crate) fn settle_superseded(&mut self, index: usize) -> bool {
        if !self.has_only_superseded(index) {
            return false;
        }
        let path = &mut self.paths[index];
        for (segment, number) in path.superseded.drain(..) {
            if path.flight.leave(number, TransmissionState::Acknowledged).is_some() {
                self.stream.note_gone(segment, PathId(index as u8));
            }
        }
        path.timed = None;
        self.paths[index].touch();
        true
    }

    fn has_only_superseded(&self, index: usize) -> bool {
        let flight = &self.paths[index].flight;
        !self.paths[index].superseded.is_empty()
            && (flight.first()..flight.next())
                .filter_map(|number| flight.get(number))
                .filter(|sent| sent.is_in_flight())
                .all(|sent| {
                    let entry = self.stream.get(sent.segment);
                    entry.is_none_or(|entry| entry.state() == SegmentState::Acknowledged)
                })
    }

    /// Declares a transmission lost. Returns its segment if it is not acknowledged: it is then
    /// [lost](SegmentState::Lost), or another copy is still in flight.
    fn lose_one(&mut self, index: usize, number: u64) -> Option<u64> {
        let earlier = self.paths[index].flight.earlier(number);
        let (sent, _) = self.paths[index].flight.leave(number, TransmissionState::Lost)?;
        self.paths[index].lost += 1;
        let timed = self.paths[index].timed.take_if(|timed| *timed == number);
        self.stream.get(sent.segment)?;
        self.stream.note_gone(sent.segment, PathId(index as u8));
        self.uncarried.look_again(sent.segment, self.stream.spread(sent.segment).carried);
        let entry = self.stream.get_mut(sent.segment)?;
        if entry.state() != SegmentState::InFlight {
            return None;
        }
        let newest = entry.newest;
        let this = TransmissionId::new(index as u8, number);
        if newest != this {
            self.unlink_copy(newest, this, earlier);
            return Some(sent.segment);
        }
        if let Some(copy) = earlier {
            entry.newest = copy;
            return Some(sent.segment);
        }
        entry.set_state(SegmentState::Lost);
        // Until its segment is retransmitted, the transmission may still arrive and give its round
        // trip. A copy in flight would make the acknowledgement ambiguous.
        self.paths[index].timed = timed.or(self.paths[index].timed);
        // RFC 9260 §6.2.1 C: segments that wait for retransmission do not use the receiver's
        // window.
        self.window.acknowledged(u64::from(sent.bytes()));
        Some(sent.segment)
    }

    /// Takes `lost` out of the chain of copies in flight that begins with `newest`.
    fn unlink_copy(&mut self, newest: TransmissionId, lost: TransmissionId, earlier: Option<TransmissionId>) {
        let mut at = Some(newest);
        while let Some(copy) = at {
            at = self.earlier(copy);
            if at == Some(lost) {
                self.paths[usize::from(copy.path())].flight.set_earlier(copy.number(), earlier);
                return;
            }
        }
    }

    /// Reports losses on a path to the scheduler.
    pub(crate) fn tell_lost(&mut self, index: usize, segments: u32) {
        self.paths[index].touch();
        self.notify(&Event::Lost { path: PathId(index as u8), segments });
        self.note_opportunity();
    }
}

/// Puts `segment` where it belongs in an ascending queue; usually at its end.
#[inline]
pub(crate) fn insert_ascending(queue: &mut VecDeque<u64>, segment: u64) {
    if queue.back().is_none_or(|&last| last < segment) {
        queue.push_back(segment);
        return;
    }
    if let Err(place) = queue.binary_search(&segment) {
        queue.insert(place, segment);
    }
}

/// Merges `more` into an ascending queue, at a cost proportional to both, in any mixture. Returns
/// the number of added entries.
pub(crate) fn merge_ascending(queue: &mut VecDeque<u64>, more: impl Iterator<Item = u64>) -> u64 {
    let (before, last) = (queue.len(), queue.back().copied());
    queue.extend(more);
    let added = queue.len() - before;
    let in_order = |numbers: &VecDeque<u64>| numbers.range(before..).is_sorted_by(|a, b| a < b);
    if last.is_some_and(|last| queue.get(before).is_some_and(|&first| first <= last)) || !in_order(queue) {
        // Sorting finds the runs that are ascending already, and merges them.
        queue.make_contiguous().sort();
        let mut previous = None;
        queue.retain(|&segment| previous.replace(segment) != Some(segment));
    }
    added as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_order_and_takes_no_number_twice() {
        let merge = |queue: &[u64], more: &[u64]| {
            let mut queue: VecDeque<u64> = queue.iter().copied().collect();
            let added = merge_ascending(&mut queue, more.iter().copied());
            assert_eq!(added, more.len() as u64);
            Vec::from(queue)
        };
        assert_eq!(merge(&[], &[]), []);
        assert_eq!(merge(&[], &[3, 4, 9]), [3, 4, 9]);
        assert_eq!(merge(&[1, 2], &[3, 7]), [1, 2, 3, 7]);
        assert_eq!(merge(&[1, 4, 6], &[2, 4, 5, 9]), [1, 2, 4, 5, 6, 9]);
        assert_eq!(merge(&[5], &[5]), [5]);
        assert_eq!(merge(&[9], &[4, 2]), [2, 4, 9]);
    }
}
