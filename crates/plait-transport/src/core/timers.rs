//! Timers of the connection: retransmission, pacing, and the scheduler's wait.

use super::{Core, PathSender};
use plait_sched::{Scheduler, Time};

/// The time of a timer that is not set.
pub(crate) const NEVER: Time = Time::MAX;

impl<S: Scheduler, R> Core<S, R> {
    /// The earliest retransmission timer, scheduler's wait, or timer of the protocol: `own` of a
    /// path's loss recovery.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_timer(&self, own: impl Fn(&R) -> Time) -> Time {
        let timer = |path: &PathSender<R>| path.retransmission_timer.min(own(&path.recovery));
        let next = self.paths.iter().map(timer).fold(moment(self.wake), Time::min);
        if self.paces { next.min(self.next_departure()) } else { next }
    }

    /// When pacing lets the next packet out, if data waits for it.
    #[inline(never)]
    fn next_departure(&self) -> Time {
        let for_any = self.has_unassigned() || !self.shared_retransmissions.is_empty();
        let waits = |path: &PathSender<R>| for_any || path.has_something_waiting();
        let held_back = self.paths.iter().filter(|path| path.is_paced_out() && waits(path));
        held_back.filter_map(|path| path.pacer.as_ref()).fold(Time::MAX, |next, pacer| next.min(pacer.next()))
    }

    /// Checks before packets leave whether pacing lets them.
    #[inline]
    pub(crate) fn look_at_pacers(&mut self, now: Time) {
        if self.paces {
            for index in 0..self.paths.len() {
                if self.paths[index].look_at_pacer(now) && !self.paths[index].is_paced_out() {
                    self.note_opportunity();
                }
            }
        }
    }

    /// Wakes the scheduler if it asked to be.
    pub(crate) fn wake_scheduler(&mut self, now: Time) {
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
            self.note_opportunity();
        }
    }
}

/// When a timer runs out: [`Time::MAX`], which is never, if it is not set.
#[inline]
pub(crate) fn moment(timer: Option<Time>) -> Time {
    timer.unwrap_or(Time::MAX)
}

/// Converts a moment to a timer: [`Time::MAX`] becomes `None`.
#[inline]
pub(crate) fn timer(moment: Time) -> Option<Time> {
    (moment < Time::MAX).then_some(moment)
}
