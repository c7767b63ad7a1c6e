//! The next retransmission, and its path.

use super::stream::Stream;
use super::{Core, SegmentState};
use plait_sched::{PathId, Scheduler};
use std::collections::VecDeque;

impl<S: Scheduler, R> Core<S, R> {
    #[inline]
    pub(super) fn next_retransmission(&mut self) -> Option<(usize, u64)> {
        if self.retransmits { self.find_retransmission() } else { None }
    }

    #[cold]
    fn find_retransmission(&mut self) -> Option<(usize, u64)> {
        let mut best: Option<(usize, u64)> = None;
        self.update_facts();
        for index in 0..self.paths.len() {
            self.skip_settled_on(index);
            let path = &self.paths[index];
            let Some(&segment) = path.retransmissions.front() else { continue };
            let allowed = (self.has_window_for(index, segment) && !self.has_awaited(index))
                || path.exempt_retransmissions > 0;
            if allowed && best.is_none_or(|(_, lowest)| segment < lowest) {
                best = Some((index, segment));
            }
        }
        if let Some((index, segment)) = best {
            let path = &mut self.paths[index];
            path.retransmissions.pop_front();
            path.exempt_retransmissions = path.exempt_retransmissions.saturating_sub(1);
            self.waits_no_more(segment);
            return Some((index, segment));
        }
        skip_settled(&mut self.shared_retransmissions, &self.stream);
        let Some(&segment) = self.shared_retransmissions.front() else {
            self.retransmits = self.paths.iter().any(|path| !path.retransmissions.is_empty());
            return None;
        };
        let index = self.soonest_path(segment)?;
        self.shared_retransmissions.pop_front();
        Some((index, segment))
    }

    /// Drops acknowledged segments from the head of a path's retransmissions. Also drops segments
    /// that are in flight again, unless this path lost them.
    fn skip_settled_on(&mut self, index: usize) {
        let (path, stream) = (&mut self.paths[index], &self.stream);
        while let Some(&segment) = path.retransmissions.front() {
            let waits = stream.get(segment).is_some_and(|entry| match entry.state() {
                SegmentState::Lost => true,
                SegmentState::InFlight => {
                    let (spread, path) = (stream.spread(segment), PathId(index as u8));
                    spread.tried.contains(path) && !spread.carried.contains(path)
                }
                _ => false,
            });
            if waits {
                break;
            }
            path.retransmissions.pop_front();
        }
    }

    /// The usable path on which a retransmission of the segment arrives first, if its window admits
    /// it now.
    ///
    /// A full window opens within a round trip, as long as the path answers. So the segment waits
    /// for it, rather than leave on a path that takes three times as long. All data behind the
    /// segment waits for it, too.
    fn soonest_path(&self, segment: u64) -> Option<usize> {
        let open = |index: usize| self.has_window_for(index, segment) && !self.has_awaited(index);
        plait_sched::usable(&self.facts)
            .map(|facts| (facts.id.index(), facts.srtt))
            .filter_map(|(index, round_trip)| match open(index) {
                true => Some((round_trip, index, true)),
                false if self.paths[index].errors == 0 => Some((round_trip * 3, index, false)),
                false => None,
            })
            .min_by_key(|&(round_trip, index, _)| (round_trip, index))
            .and_then(|(_, index, open)| open.then_some(index))
    }

    /// True if the segment that all delivery waits for is the next new one on a path. It goes
    /// before retransmissions. Otherwise a path that repairs the losses of others might never send
    /// it, and delivery would stop.
    pub(crate) fn has_awaited(&self, index: usize) -> bool {
        self.paths[index].queue.front() == Some(&self.stream.first()) && !self.is_limited(index, 0)
    }
}

/// Drops segments that are no longer lost from the head of a retransmission queue.
fn skip_settled(queue: &mut VecDeque<u64>, stream: &Stream) {
    while let Some(&segment) = queue.front() {
        if stream.get(segment).is_some_and(|entry| entry.state() == SegmentState::Lost) {
            break;
        }
        queue.pop_front();
    }
}
