//! Heartbeats: probing idle, suspected and failed paths (RFC 9260 §8.3, RFC 7829).

use super::recovery::Recovery;
use super::sender::Sender;
use crate::core::PathSender;
use crate::observer::Observer;
use plait_sched::{Duration, PathId, PathState, Scheduler, Time};

/// When a path that carries no data is probed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// When the next heartbeat is due, unless data is sent before.
    pub(super) due: Time,
    /// When the heartbeat in flight counts as lost.
    deadline: Option<Time>,
    /// How long after its last use, and a timeout, a path is probed.
    interval: Duration,
}

impl Probing {
    /// Of a path that has not been used, with the timeout that it begins with.
    pub(super) fn new(timeout: Duration, interval: Duration) -> Self {
        Self { due: Time::ZERO.saturating_add(timeout).saturating_add(interval), deadline: None, interval }
    }
}

impl Recovery {
    /// When the path's next heartbeat is due, or given up.
    #[inline]
    pub(super) fn next_heartbeat(&self) -> Time {
        self.probing.deadline.unwrap_or(self.probing.due)
    }
}

impl PathSender<Recovery> {
    /// The path is in use now: it need not be probed for a while.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn probe_later(&mut self, now: Time) {
        let probing = &mut self.recovery.probing;
        probing.due = now.saturating_add(self.rtt.rto()).saturating_add(probing.interval);
    }

    /// Handles the answer to a heartbeat of `sent_at`. Returns the state of the path.
    fn note_answer(&mut self, now: Time, sent_at: Time) -> PathState {
        self.rtt.sample(now.since(sent_at));
        self.errors = 0;
        self.recovery.probing.deadline = None;
        self.probe_later(now);
        self.touch();
        self.working_state()
    }
}

impl<S: Scheduler> Sender<S> {
    pub(super) fn check_heartbeats(&mut self, now: Time, observer: &mut impl Observer) {
        for index in 0..self.core.paths.len() {
            if self.core.paths[index].recovery.probing.deadline.is_some_and(|deadline| deadline <= now) {
                self.heartbeat_timeout(now, index, observer);
            }
            let Probing { due, deadline, .. } = self.core.paths[index].recovery.probing;
            if deadline.is_none() && due <= now {
                self.send_heartbeat(now, index);
            }
        }
    }

    fn send_heartbeat(&mut self, now: Time, index: usize) {
        let usable = self.core.facts()[index].is_usable();
        let path = &mut self.core.paths[index];
        if path.flight.segments() > 0 && usable {
            // Data in flight probes the path already.
            path.probe_later(now);
            return;
        }
        path.recovery.probing.deadline = Some(now.saturating_add(path.rtt.rto()));
        self.heartbeats.push_back((PathId(index as u8), now));
    }

    fn heartbeat_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let suspected = self.core.facts()[index].state == PathState::PotentiallyFailed;
        let path = &mut self.core.paths[index];
        path.rtt.back_off();
        path.recovery.probing.deadline = None;
        self.note_error(now, index, observer);
        let path = &mut self.core.paths[index];
        // A suspected path is probed again at once; a failed one at leisure.
        if suspected {
            path.recovery.probing.due = now;
        } else {
            path.probe_later(now);
        }
        path.touch();
    }

    pub(super) fn handle_heartbeat_ack(
        &mut self,
        now: Time,
        index: usize,
        sent_at: Time,
        observer: &mut impl Observer,
    ) {
        self.hear(index);
        let state = self.core.paths[index].note_answer(now, sent_at);
        self.core.set_state(now, index, state, observer);
        self.core.note_opportunity();
    }
}
