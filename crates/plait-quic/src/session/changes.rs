//! Paths that appear, change and disappear during a session.

use super::Session;
use super::black_hole::BlackHoleDetector;
use crate::address_change::AddressChange;
use crate::terms::Terms;
use plait_sched::{PathId, Scheduler, Time};
use plait_transport::endpoint::PathChange;
use plait_transport::image::Image;
use std::time::Duration;

/// Time that full segments may wait on a path that answers before they count as lost for their
/// size.
const LONGEST_WAIT: plait_sched::Duration = plait_sched::Duration::from_secs(6);

impl<W: Scheduler> Session<W> {
    /// Adds a path after the existing ones.
    fn add_path(&mut self, now: Time, terms: Terms) {
        if self.endpoint.change_path(now, &PathChange::Added(terms.path()), &mut self.observer) {
            if let Image::Mpquic(image) = &mut self.image {
                image.add_path();
            }
            self.agreed.paths += 1;
            self.observer.bytes.push(0);
            self.observer.black_holes.push(BlackHoleDetector::default());
            self.sent.push(0);
            self.received.push(0);
            self.budgets.push(terms.budget.unwrap_or(u64::MAX));
        }
    }

    /// Handles a path's new connection, perhaps from an address with other terms: its old state is
    /// discarded.
    fn renew_path(&mut self, now: Time, path: usize, terms: Terms) {
        let change = PathChange::Renewed(PathId(path as u8), terms.path());
        self.endpoint.change_path(now, &change, &mut self.observer);
        self.budgets[path] = terms.budget.unwrap_or(u64::MAX);
        self.spent_paths.remove(PathId(path as u8));
    }

    /// Handles a path's open connection, which may be its first one, a new one, or that of a new
    /// path. `terms` are those of the paths that have any.
    pub(crate) fn join(&mut self, now: Time, path: usize, terms: &[Terms]) {
        let of = |path: usize| terms.get(path).copied().unwrap_or_default();
        let there = path < self.agreed.paths;
        while path >= self.agreed.paths {
            self.add_path(now, of(self.agreed.paths));
        }
        if self.joined & 1 << path != 0 {
            self.renew_path(now, path, of(path));
        } else if there {
            self.probe_path(now, path);
        }
        self.joined |= 1 << path;
    }

    /// Reports the round-trip time of a path's handshake. The answering end has no other sample of
    /// a path that joins. Without a sample, a scheduler would give that path the next packets.
    pub(crate) fn measure(&mut self, now: Time, path: usize, round_trip: Option<Duration>) {
        if let Some(round_trip) = round_trip {
            let round_trip = plait_sched::Duration::from_nanos(round_trip.as_nanos() as u64);
            let change = PathChange::Measured(PathId(path as u8), round_trip);
            self.endpoint.change_path(now, &change, &mut self.observer);
        }
    }

    /// Applies a change of local addresses to an existing path.
    pub(crate) fn handle_address_change(&mut self, now: Time, address_change: &AddressChange) {
        match *address_change {
            AddressChange::Removed(path)
            | AddressChange::Moved(path, _)
            | AddressChange::Redirected(path, ..) => {
                self.remove_path(now, path);
            }
            AddressChange::Replaced(path, ..) => {
                self.remove_path(now, path);
                // Whether or not the path ever worked, it is another one from now on, with its own
                // budget.
                self.joined |= 1 << path;
                if path < self.agreed.paths {
                    (self.sent[path], self.received[path]) = (0, 0);
                    self.spent_paths.remove(PathId(path as u8));
                }
            }
            AddressChange::Restored(path) => self.probe_path(now, path),
            AddressChange::Added(..) | AddressChange::MtuLimited { .. } | AddressChange::Unreachable(_) => {}
        }
    }

    /// Returns a path that loses full segments while smaller packets arrive, if there is one. That
    /// path carries nothing until it joins again. Nothing is declared lost while no other path
    /// works: then full segments that wait for long count, if `answers` tells that a datagram
    /// arrived on the path meanwhile.
    pub(crate) fn take_black_hole(
        &mut self,
        now: Time,
        answers: impl Fn(usize, Time) -> bool,
    ) -> Option<usize> {
        let waits = |path: usize, black_hole: &BlackHoleDetector| {
            let Some(since) = black_hole.waiting_since() else { return false };
            now.since(since) >= LONGEST_WAIT && answers(path, since.saturating_add(LONGEST_WAIT / 2))
        };
        let mut black_holes = self.observer.black_holes.iter().enumerate();
        let (path, _) =
            black_holes.find(|(path, black_hole)| black_hole.is_black_hole() || waits(*path, black_hole))?;
        self.observer.black_holes[path].forget();
        self.remove_path(now, path);
        Some(path)
    }

    /// Notes that a path is gone, as this machine knows.
    pub(crate) fn remove_path(&mut self, now: Time, path: usize) {
        if path < self.agreed.paths {
            self.endpoint.change_path(now, &PathChange::Gone(PathId(path as u8)), &mut self.observer);
        }
    }

    /// Probes a path that works now, or may work again.
    fn probe_path(&mut self, now: Time, path: usize) {
        if path < self.agreed.paths {
            self.endpoint.change_path(now, &PathChange::Back(PathId(path as u8)), &mut self.observer);
        }
    }
}
