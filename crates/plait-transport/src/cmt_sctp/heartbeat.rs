//! Heartbeats: probing idle, suspected and failed paths (RFC 9260 §8.3, RFC 7829).

use super::sender::Sender;
use crate::core::PathSender;
use crate::observer::Observer;
use plait_sched::{PathId, PathState, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// When the next heartbeat is due, or given up. [`Time::MAX`] is never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_heartbeat(&self) -> Time {
        let heartbeats = self.core.paths().iter().map(PathSender::heartbeat);
        heartbeats.fold(Time::MAX, |next, one| next.min(one.deadline.unwrap_or(one.due)))
    }

    pub(super) fn check_heartbeats(&mut self, now: Time, observer: &mut impl Observer) {
        for index in 0..self.core.paths().len() {
            if self.core.path(index).heartbeat().deadline.is_some_and(|deadline| deadline <= now) {
                self.heartbeat_timeout(now, index, observer);
            }
            let path = self.core.path(index);
            if path.heartbeat().deadline.is_none() && path.heartbeat().due <= now {
                self.send_heartbeat(now, index);
            }
        }
    }

    fn send_heartbeat(&mut self, now: Time, index: usize) {
        let busy = self.core.path(index).flight().segments() > 0 && self.core.facts()[index].is_usable();
        let interval = self.config.connection.heartbeat_interval;
        let path = self.core.path_mut(index);
        if busy {
            // Data on its way probes the path already.
            path.heartbeat_mut().due = now.saturating_add(path.rtt().rto()).saturating_add(interval);
            return;
        }
        path.heartbeat_mut().deadline = Some(now.saturating_add(path.rtt().rto()));
        self.heartbeats.push_back((PathId(index as u8), now));
    }

    fn heartbeat_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let suspected = self.core.facts()[index].state == PathState::PotentiallyFailed;
        let interval = self.config.connection.heartbeat_interval;
        let path = self.core.path_mut(index);
        path.heartbeat_mut().deadline = None;
        path.rtt_mut().back_off();
        // A suspected path is probed again at once; a failed one at leisure.
        path.heartbeat_mut().due =
            if suspected { now } else { now.saturating_add(path.rtt().rto()).saturating_add(interval) };
        let due = path.heartbeat().due;
        self.note_error(now, index, observer);
        self.core.path_mut(index).heartbeat_mut().due = due;
        self.core.touch(index);
    }

    pub(super) fn handle_heartbeat_ack(
        &mut self,
        now: Time,
        index: usize,
        sent_at: Time,
        observer: &mut impl Observer,
    ) {
        self.hear(index);
        let interval = self.config.connection.heartbeat_interval;
        let path = self.core.path_mut(index);
        path.rtt_mut().sample(now.since(sent_at));
        path.forgive();
        path.heartbeat_mut().deadline = None;
        path.heartbeat_mut().due = now.saturating_add(path.rtt().rto()).saturating_add(interval);
        let state = path.working_state();
        self.core.touch(index);
        self.core.set_state(now, index, state, observer);
        self.core.note_opportunity();
    }
}
