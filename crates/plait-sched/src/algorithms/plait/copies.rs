//! Rules 4 to 6: copies on idle paths.

use super::flight::Sent;
use super::{Plait, room_now, signed};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// Timers are seldom finer, in nanoseconds.
pub(super) const TIMER: u64 = 1_000_000;

impl Plait {
    /// The most useful copy on an idle path: its segment, and the path.
    pub(super) fn copy(&mut self, connection: &Connection, paths: &[Path]) -> Option<(PathId, u64)> {
        let oldest = connection.oldest_unacked?.segment;
        let last = self.is_ending(connection, paths);
        let now = signed(self.now.as_nanos());
        let mut best: Option<(i64, PathId, u64)> = None;
        for path in usable(paths).take(MAX_PATHS) {
            let Some(uncarried) = path.uncarried.filter(|_| room_now(path, paths) > 0) else { continue };
            let Some((arrival, delay)) = self.arrival(path, paths, 0) else { continue };
            let bottleneck = self.bottleneck(path);
            let idle = bottleneck.is_idle(self.now, path);
            if arrival == i64::MIN || path.in_flight >= path.limit || !(last || idle) {
                continue;
            }
            let unused = bottleneck.is_unused();
            let half = signed(bottleneck.round_trip(path) / 2);
            let own = (arrival - now).saturating_sub(delay).max(0).saturating_add(half);
            let useful = arrival.saturating_add(if last { 0 } else { own / 4 });
            let fresh = Some(uncarried).filter(|&segment| self.copied[path.id.index()] != segment);
            let helps = |&segment: &u64| useful < self.due(segment, delay, last, paths);
            let mut found = fresh.filter(helps);
            if found.is_none() {
                let from = self.cursors[path.id.index()].max(oldest);
                let late = |sent: &Sent| useful < self.arrival_of(sent, paths);
                (found, self.cursors[path.id.index()]) = self.flight.late(from, path.id, late);
            }
            let first = self.switches.first_copies && connection.unassigned > 0;
            found = found.or(fresh.filter(|_| last || first && unused));
            if let Some(segment) = found
                && best.is_none_or(|(other, ..)| arrival < other)
            {
                best = Some((arrival, path.id, segment));
            }
        }
        let (_, path, segment) = best?;
        self.copied[path.index()] = segment;
        self.flight.copied(segment, path);
        Some((path, segment))
    }

    /// The arrival of a segment that was sent.
    fn arrival_of(&self, sent: &Sent, paths: &[Path]) -> i64 {
        super::arrival(&self.bottlenecks, self.one_way, sent.carrier, sent.departure, paths)
    }

    /// The arrival of the oldest segment in flight that a path lacks, which may be lost. `delay` is
    /// that of the path. A segment that is no longer remembered counts as lost.
    fn due(&self, segment: u64, delay: i64, last: bool, paths: &[Path]) -> i64 {
        let Some(sent) = self.flight.get(segment) else {
            return if segment < self.flight.begin() { i64::MAX } else { i64::MIN };
        };
        let Some(carrier) = paths.get(sent.carrier.index()) else { return i64::MIN };
        let now = signed(self.now.as_nanos());
        let silent = now > self.patience(sent, carrier, last);
        if silent || !carrier.is_usable() || self.suspects.contains(carrier.id) {
            let round = signed(self.bottleneck(carrier).round_trip(carrier));
            now.saturating_add(delay).saturating_add(round + round / 2)
        } else {
            self.arrival_of(sent, paths)
        }
    }

    /// The time after which a segment without acknowledgement counts as lost.
    fn patience(&self, sent: &Sent, carrier: &Path, last: bool) -> i64 {
        let round = signed(self.bottleneck(carrier).round_trip(carrier));
        let variation = signed(carrier.rttvar.as_nanos());
        let late = if last { variation } else { round / 4 + (4 * variation).min(round) };
        signed(sent.departure).saturating_add(round + variation / 2 + late)
    }

    /// True after the last byte has left the queues.
    fn is_ending(&self, connection: &Connection, paths: &[Path]) -> bool {
        let assigned = connection.finished && connection.unassigned == 0;
        self.switches.last_copies && assigned && paths.iter().all(|path| path.queued == 0)
    }

    /// The time when the oldest segment that an idle path may copy counts as lost.
    pub(super) fn next_copy(&self, connection: &Connection, paths: &[Path]) -> Option<Time> {
        if !self.switches.copies || connection.sendable() > 0 {
            return None;
        }
        let last = self.is_ending(connection, paths);
        let now = signed(self.now.as_nanos());
        let ahead = |path: &Path| {
            let sent = self.flight.get(path.uncarried?)?;
            let carrier = paths.get(sent.carrier.index())?;
            u64::try_from(self.patience(sent, carrier, last) - now).ok()
        };
        let idle = usable(paths).take(MAX_PATHS).filter(|path| room_now(path, paths) > 0);
        let first = idle.filter_map(ahead).min()?;
        Some(self.now + Duration::from_nanos(first.max(TIMER)))
    }
}
