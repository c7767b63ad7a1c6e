//! Heartbeats: probing idle, suspected and failed paths (RFC 9260 §8.3, RFC 7829).

use super::sender::Sender;
use crate::core::PathSender;
use crate::observer::Observer;
use plait_sched::{Duration, PathId, PathState, Scheduler, Time};

/// When a path that carries no data is probed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    /// When the next heartbeat is due, unless data is sent before.
    pub(super) due: Time,
    /// When the one on its way is given up.
    deadline: Option<Time>,
}

impl Probing {
    pub(super) fn new(path: &PathSender, interval: Duration) -> Self {
        Self { due: after(Time::ZERO, path, interval), deadline: None }
    }
}

/// When a path is probed that was in use at `now`.
#[inline]
fn after(now: Time, path: &PathSender, interval: Duration) -> Time {
    now.saturating_add(path.rtt().rto()).saturating_add(interval)
}

impl<S: Scheduler> Sender<S> {
    /// When the next heartbeat is due, or given up. [`Time::MAX`] is never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_heartbeat(&self) -> Time {
        self.probing.iter().fold(Time::MAX, |next, one| next.min(one.deadline.unwrap_or(one.due)))
    }

    /// The path is in use now: it need not be probed for a while.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn probe_later(&mut self, now: Time, index: usize) {
        self.probing[index].due = after(now, self.core.path(index), self.config.heartbeat_interval);
    }

    pub(super) fn check_heartbeats(&mut self, now: Time, observer: &mut impl Observer) {
        for index in 0..self.probing.len() {
            if self.probing[index].deadline.is_some_and(|deadline| deadline <= now) {
                self.heartbeat_timeout(now, index, observer);
            }
            let Probing { due, deadline } = self.probing[index];
            if deadline.is_none() && due <= now {
                self.send_heartbeat(now, index);
            }
        }
    }

    fn send_heartbeat(&mut self, now: Time, index: usize) {
        let path = self.core.path(index);
        if path.flight().segments() > 0 && self.core.facts()[index].is_usable() {
            // Data on its way probes the path already.
            self.probe_later(now, index);
            return;
        }
        self.probing[index].deadline = Some(now.saturating_add(path.rtt().rto()));
        self.heartbeats.push_back((PathId(index as u8), now));
    }

    fn heartbeat_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let suspected = self.core.facts()[index].state == PathState::PotentiallyFailed;
        self.core.path_mut(index).rtt_mut().back_off();
        self.probing[index].deadline = None;
        self.note_error(now, index, observer);
        // A suspected path is probed again at once; a failed one at leisure.
        if suspected {
            self.probing[index].due = now;
        } else {
            self.probe_later(now, index);
        }
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
        let path = self.core.path_mut(index);
        path.rtt_mut().sample(now.since(sent_at));
        path.forgive();
        let state = path.working_state();
        self.probing[index].deadline = None;
        self.probe_later(now, index);
        self.core.touch(index);
        self.core.set_state(now, index, state, observer);
        self.core.note_opportunity();
    }
}
