//! Path changes during a connection, as the host knows them, and as the peer reports them with
//! PATH_STATUS_BACKUP (draft-ietf-quic-multipath-21; its PATH_ABANDON is not modelled).

use super::ecn::Marking;
use super::sender::Sender;
use super::space::{Phase, Space};
use crate::core::{NEVER, PathConfig};
use crate::observer::Observer;
use crate::packet::quic::{OneRtt, Packet, PathAck, PathBackup};
use crate::protocol::PathChange;
use plait_sched::{Duration, PathId, PathState, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    pub(super) fn change_path(&mut self, now: Time, change: &PathChange, observer: &mut impl Observer) {
        match *change {
            PathChange::Added(path) => self.add_path(now, &path),
            PathChange::Gone(path) => self.lose_path(now, path.index(), observer),
            PathChange::Back(path) => self.ask_path(now, path.index()),
            PathChange::Renewed(path, config) => self.renew_path(now, path.index(), &config, observer),
            PathChange::Measured(path, round_trip) => self.note_measured(now, path.index(), round_trip),
            PathChange::Spent(path, from) => self.spend(now, path.index(), from, observer),
        }
    }

    /// Retires a path: it carries no data any more, and packets with data from number `from` on
    /// never left. No window is cut for those.
    fn spend(&mut self, now: Time, index: usize, from: u64, observer: &mut impl Observer) {
        self.core.paths[index].spend();
        self.core.set_state(now, index, PathState::Failed, observer);
        self.core.paths[index].recovery.probes = 0;
        self.lose_from(now, index, from, observer);
        self.core.note_opportunity();
        self.arm(index);
    }

    fn add_path(&mut self, now: Time, path: &PathConfig) {
        let mut space = Space::new(&self.config);
        space.phase = Phase::Closed;
        self.core.add_path(&self.config.core_rules(), path, space);
        self.open_closed(now);
    }

    /// Handles a path that its host knows to be gone, without waiting for a probe timeout.
    fn lose_path(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        if !self.has_others(index) {
            return;
        }
        if self.core.paths[index].is_spent() {
            self.lose_flight(now, index, observer);
        } else if self.core.facts()[index].is_usable() {
            self.put_aside(now, index, observer);
        }
        self.core.paths[index].touch();
        self.core.note_opportunity();
    }

    /// Tells the peer, on every other path, that this end cannot use a path. Otherwise only its
    /// probe timeout would find the path failure. `ack`: the packets that arrived on the path, whose
    /// acknowledgements may be lost. The frame is not repeated, because the probe timeout remains.
    pub(super) fn report_gone(&mut self, now: Time, gone: PathId, ack: Option<PathAck>) {
        let Some(space) = self.core.paths.get(gone.index()).map(|path| &path.recovery) else { return };
        let backup = Some(PathBackup { path: gone, sequence: space.backups_sent });
        for index in 0..self.core.paths.len() {
            let path = PathId(index as u8);
            if path == gone || !self.core.facts()[index].is_usable() {
                continue;
            }
            let number = self.number(now, path);
            let packet = Packet::OneRtt(OneRtt { ack, backup, ..OneRtt::new(number) });
            let space = &mut self.core.paths[index].recovery;
            space.time_later(number, now);
            self.control.push_back((path, packet));
        }
        self.core.paths[gone.index()].recovery.backups_sent += 1;
    }

    /// Handles the peer's report that it cannot use a path. An acknowledgement that the peer sent
    /// before may arrive later, over a slower path. So only the acknowledgement of a packet that
    /// leaves from now on shows that the path works again.
    pub(super) fn handle_backup(&mut self, now: Time, backup: PathBackup, observer: &mut impl Observer) {
        let index = backup.path.index();
        let Some(path) = self.core.paths.get(index) else { return };
        if path.recovery.backup_received >= Some(backup.sequence) {
            return;
        }
        let next = path.flight.next();
        let space = &mut self.core.paths[index].recovery;
        (space.backup_received, space.withdrawn_until) = (Some(backup.sequence), Some(next));
        self.lose_path(now, index, observer);
        self.arm(index);
    }

    /// Probes a path that the peer had reported as unusable, when a packet arrives on it again.
    pub(super) fn probe_withdrawn(&mut self, now: Time, path: PathId) {
        let Some(known) = self.core.paths.get(path.index()) else { return };
        let recent = now.since(known.recovery.pinged_at) < known.rtt.smoothed();
        if known.recovery.withdrawn_until.is_some() && !recent {
            self.core.paths[path.index()].recovery.probes = 1;
        }
    }

    fn ask_path(&mut self, now: Time, index: usize) {
        match self.core.paths[index].recovery.phase {
            Phase::Opening { .. } => self.open(now, index),
            Phase::Open if self.core.facts()[index].state == PathState::PotentiallyFailed => {
                self.core.paths[index].recovery.probes = 1;
            }
            Phase::Open | Phase::Closed => {}
        }
    }

    fn renew_path(&mut self, now: Time, index: usize, path: &PathConfig, observer: &mut impl Observer) {
        self.lose_flight(now, index, observer);
        self.core.set_state(now, index, PathState::Failed, observer);
        self.core.renew_path(index, &self.config.core_rules(), path);
        let marking = Marking::new(self.config.ecn);
        let space = &mut self.core.paths[index].recovery;
        (space.phase, space.loss_timer, space.probes) = (Phase::Closed, NEVER, 0);
        (space.silent, space.asked, space.verdict) = (false, false, NEVER);
        space.withdrawn_until = None;
        space.marking = marking;
        self.core.note_opportunity();
        self.open_closed(now);
    }

    fn note_measured(&mut self, now: Time, index: usize, round_trip: Duration) {
        let path = &mut self.core.paths[index];
        if path.rtt.smoothed().is_zero() {
            path.note_handshake(now, round_trip);
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
