//! Path changes during a connection, as the host knows them (the peer's PATH_ABANDON is not
//! modelled).

use super::CORE_RULES;
use super::ecn::Marking;
use super::sender::Sender;
use super::space::{Phase, Space};
use crate::core::PathConfig;
use crate::observer::Observer;
use crate::protocol::PathChange;
use plait_sched::{Duration, PathState, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    pub(super) fn change_path(&mut self, now: Time, change: &PathChange, observer: &mut impl Observer) {
        match *change {
            PathChange::Added(path) => self.add_path(now, &path),
            PathChange::Gone(path) => self.lose_path(now, path.index(), observer),
            PathChange::Back(path) => self.ask_path(now, path.index()),
            PathChange::Renewed(path, config) => self.renew_path(now, path.index(), &config, observer),
            PathChange::Measured(path, round_trip) => self.note_measured(path.index(), round_trip),
            PathChange::Spent(path, from) => self.spend(now, path.index(), from, observer),
        }
    }

    /// Retires a path: it carries no data any more, and packets with data from number `from` on
    /// never left. No window is cut for those.
    fn spend(&mut self, now: Time, index: usize, from: u64, observer: &mut impl Observer) {
        self.core.path_mut(index).spend();
        self.core.set_state(now, index, PathState::Failed, observer);
        self.core.path_mut(index).recovery.probes = 0;
        self.lose_from(now, index, from, observer);
        self.core.touch(index);
        self.core.note_opportunity();
        self.arm(index);
    }

    fn add_path(&mut self, now: Time, path: &PathConfig) {
        let mut space = Space::new(&self.config);
        space.phase = Phase::Closed;
        self.core.add_path(&CORE_RULES, path, space);
        self.open_closed(now);
    }

    /// Handles a path that its host knows to be gone, without waiting for a probe timeout.
    fn lose_path(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        if !self.has_others(index) {
            return;
        }
        if self.core.path(index).is_spent() {
            self.lose_flight(now, index, observer);
        } else if self.core.facts()[index].is_usable() {
            self.put_aside(now, index, observer);
        }
        self.core.touch(index);
        self.core.note_opportunity();
    }

    fn ask_path(&mut self, now: Time, index: usize) {
        match self.core.path(index).recovery.phase {
            Phase::Opening { .. } => self.open(now, index),
            Phase::Open if self.core.facts()[index].state == PathState::PotentiallyFailed => {
                self.core.path_mut(index).recovery.probes = 1;
            }
            Phase::Open | Phase::Closed => {}
        }
    }

    fn renew_path(&mut self, now: Time, index: usize, path: &PathConfig, observer: &mut impl Observer) {
        self.lose_flight(now, index, observer);
        self.core.set_state(now, index, PathState::Failed, observer);
        self.core.renew_path(index, &CORE_RULES, path);
        let marking = Marking::new(self.config.ecn);
        let space = &mut self.core.path_mut(index).recovery;
        (space.phase, space.loss_timer, space.probes) = (Phase::Closed, None, 0);
        (space.silent, space.asked, space.verdict) = (false, false, None);
        space.marking = marking;
        self.core.note_opportunity();
        self.open_closed(now);
    }

    fn note_measured(&mut self, index: usize, round_trip: Duration) {
        let path = self.core.path_mut(index);
        if path.rtt.smoothed().is_zero() {
            path.rtt.sample(round_trip);
            path.touch();
        }
    }

    /// Before the connection begins nothing is opened.
    fn open_closed(&mut self, now: Time) {
        if self.started {
            self.open_paths(now);
        }
    }
}
