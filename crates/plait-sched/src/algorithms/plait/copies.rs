//! Rules 4 and 5: copies on idle paths.

use super::{Plait, room_now, signed};
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

impl Plait {
    /// The most useful copy on an idle path: its segment, and the path.
    pub(super) fn copy(&mut self, connection: &Connection, paths: &[Path]) -> Option<(PathId, u64)> {
        let oldest = connection.oldest_unacked?.segment;
        let last = self.switches.last_copies && connection.finished && connection.unassigned == 0;
        let now = signed(self.now.as_nanos());
        let mut best: Option<(i64, PathId, u64)> = None;
        for path in usable(paths).take(MAX_PATHS) {
            let Some(uncarried) = path.uncarried.filter(|_| room_now(path, paths) > 0) else { continue };
            let Some((arrival, delay)) = self.arrival(path, paths, 0) else { continue };
            if arrival == i64::MIN || path.in_flight >= path.limit {
                continue;
            }
            let half = signed(self.bottleneck(path).round_trip(path) / 2);
            let own = (arrival - now).saturating_sub(delay).max(0).saturating_add(half);
            let useful = arrival.saturating_add(if last { 0 } else { own / 4 });
            let missing = self.flight.missing(uncarried, path.id);
            let mut found =
                missing.filter(|_| useful < self.due(uncarried, delay, last, paths)).map(|_| uncarried);
            if found.is_none() {
                let from = self.cursors[path.id.index()].max(oldest);
                (found, self.cursors[path.id.index()]) = self.flight.late(from, path.id, useful);
            }
            found = found.or(if last { missing.map(|_| uncarried) } else { None });
            if let Some(segment) = found
                && best.is_none_or(|(other, ..)| arrival < other)
            {
                best = Some((arrival, path.id, segment));
            }
        }
        let (_, path, segment) = best?;
        self.flight.copied(segment, path);
        Some((path, segment))
    }

    /// The arrival of the oldest segment in flight that a path lacks, which may be lost. `delay` is
    /// that of the path.
    fn due(&self, segment: u64, delay: i64, last: bool, paths: &[Path]) -> i64 {
        let Some(sent) = self.flight.get(segment) else { return i64::MIN };
        let now = signed(self.now.as_nanos());
        let carriers = sent.carried.iter().filter_map(|id| paths.get(id.index()));
        carriers.fold(sent.due, |due, carrier| {
            let round = signed(self.bottleneck(carrier).round_trip(carrier));
            let variation = signed(carrier.rttvar.as_nanos());
            let patience = if last { round / 2 + variation } else { round / 4 * 3 + 4 * variation };
            if now - sent.due > patience || !carrier.is_usable() || self.suspects.contains(carrier.id) {
                now + delay.max(0) + round + round / 2
            } else {
                due
            }
        })
    }
}
