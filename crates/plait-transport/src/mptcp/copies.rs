//! Copies of data on other subflows: data that a silent subflow has not delivered, and copies that
//! the scheduler wants.

use super::sender::Sender;
use crate::core::merge_ascending;
use plait_sched::{Path, PathSet, Scheduler};

impl<S: Scheduler> Sender<S> {
    /// True if data in flight may be copied to another subflow.
    #[inline]
    pub(super) fn may_copy(&self) -> bool {
        self.core.wants_copies() || !self.reinjections.is_empty() || !self.parked.is_empty()
    }

    /// Returns a copy that may leave now: first data of a silent subflow, then copies that the
    /// scheduler wants.
    #[inline(never)]
    pub(super) fn next_copy(&mut self) -> Option<(usize, u64)> {
        self.unpark();
        if !self.reinjections.is_empty() {
            self.core.update_facts();
        }
        while let Some(&segment) = self.reinjections.front() {
            let Some(carried) = self.core.carriers(segment) else {
                self.reinjections.pop_front();
                continue;
            };
            let fresh = |path: &&Path| !carried.contains(path.id);
            // No usable subflow takes the segment now. It waits for another one, unless all
            // subflows carry it already and deliver it themselves.
            if !plait_sched::usable(self.core.facts()).any(|path| fresh(&path)) {
                self.reinjections.pop_front();
                if self.core.facts().iter().any(|path| fresh(&path)) {
                    self.parked.push_back(segment);
                    self.parked_without = self.usable();
                }
                continue;
            }
            let open = plait_sched::usable(self.core.facts()).filter(fresh).filter(|path| {
                let index = path.id.index();
                self.core.has_window_for(index, segment)
                    && self.core.admits_on(index, segment)
                    && !self.core.has_awaited(index)
            });
            let Some(path) = open.min_by_key(|path| path.srtt) else { break };
            let index = path.id.index();
            self.reinjections.pop_front();
            return Some((index, segment));
        }
        self.next_wanted_copy()
    }

    /// Returns a copy that the scheduler wants.
    pub(super) fn next_wanted_copy(&mut self) -> Option<(usize, u64)> {
        if self.core.wants_copies() { self.core.next_reinjection() } else { None }
    }

    /// Returns the parked segments to the reinjection queue once the set of usable subflows has
    /// changed.
    fn unpark(&mut self) {
        if !self.parked.is_empty() && self.parked_without != self.usable() {
            merge_ascending(&mut self.reinjections, self.parked.drain(..));
        }
    }

    fn usable(&self) -> PathSet {
        let mut usable = PathSet::EMPTY;
        plait_sched::usable(self.core.facts()).for_each(|path| usable.insert(path.id));
        usable
    }
}
