//! Replacing the scheduler of a connection.

use super::Core;
use super::messages::Order;
use super::uncarried::Uncarried;
use crate::error::Error;
use plait_sched::Scheduler;

impl<S: Scheduler, R> Core<S, R> {
    /// See [`crate::endpoint::Endpoint::replace_scheduler`].
    pub(crate) fn replace_scheduler(&mut self, scheduler: S) -> Result<S, Error> {
        let needs = scheduler.needs();
        if let Some(capability) = needs.missing_from(self.offered) {
            return Err(Error::Unsupported { capability });
        }
        (0..self.paths.len()).for_each(|index| self.withdraw(index));
        (self.at_once, self.asking, self.wake) = (None, None, None);
        self.needs = needs;
        self.interest = scheduler.interest();
        self.waits_without_room = scheduler.waits_without_room();
        self.uncarried = Uncarried::new(self.paths.len(), needs.uncarried);
        self.stream.reorder(Order::wanted(needs));
        self.note_opportunity();
        Ok(core::mem::replace(&mut self.scheduler, scheduler))
    }

    /// Cancels the scheduler's decisions about a path that have not taken effect yet.
    fn withdraw(&mut self, index: usize) {
        self.recall(index);
        self.drop_copies(index);
        self.paths[index].penalty = false;
        self.facts[index].limit = u32::MAX;
        self.facts[index].uncarried = None;
        self.paths[index].touch();
    }
}
