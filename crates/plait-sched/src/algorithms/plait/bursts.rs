//! Rule 1: bursts on slow paths, while no written data waits for the receiver's window.

use super::{Plait, room_now, signed};
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// The path of the last assignment, and the queues that cause the next burst.
#[derive(Clone, Debug)]
pub(super) struct Bursts {
    /// The path of the last assignment.
    pub(super) last: PathId,
    /// True if no data waited at the last decision: the next data is a write.
    idle: bool,
    /// The time of the last write, in nanoseconds.
    written: u64,
    /// The queueing delays that writes met since one met none, times the intervals between the
    /// writes. In square microseconds.
    cost: u64,
}

impl Bursts {
    pub(super) const NONE: Self = Self { last: PathId(0), idle: true, written: 0, cost: 0 };
}

/// True if data waits for the receiver's window, or the stream has ended.
const fn has_no_bursts(connection: &Connection) -> bool {
    connection.finished || connection.unassigned > connection.window_left
}

impl Plait {
    /// The lead of the path that took the last segment over the others, in nanoseconds: its additional
    /// delay. The burst ends when the path with the least delay is idle.
    pub(super) fn lead(&self, connection: &Connection, paths: &[Path]) -> i64 {
        if has_no_bursts(connection) {
            return 0;
        }
        let delay = |path: &Path| self.bottleneck(path).delay(path, self.one_way);
        let known = |path: &&Path| !path.in_recovery && delay(path).is_some();
        let Some(fastest) = usable(paths).take(MAX_PATHS).filter(known).min_by_key(|path| delay(path)) else {
            return 0;
        };
        if fastest.queued == 0
            && room_now(fastest, paths) > 0
            && self.bottleneck(fastest).is_idle(self.now, fastest)
        {
            return 0;
        }
        let own = paths.get(self.bursts.last.index()).and_then(delay);
        own.zip(delay(fastest)).map_or(0, |(own, least)| own.saturating_sub(least).max(0))
    }

    /// Notes whether data waits. A write that meets a lasting queue may begin a burst.
    pub(super) fn note_writes(&mut self, connection: &Connection, paths: &[Path]) {
        if connection.sendable() == 0 {
            self.bursts.idle = true;
        } else if core::mem::take(&mut self.bursts.idle) {
            let now = self.now.as_nanos();
            let since = now - core::mem::replace(&mut self.bursts.written, now);
            let queue = if has_no_bursts(connection) { None } else { self.shortest_queue(paths) };
            let Some((queueing, empty, first)) = queue else {
                self.bursts.cost = 0;
                return;
            };
            self.bursts.cost =
                self.bursts.cost.saturating_add((queueing / 1000).saturating_mul(since / 1000));
            if let Some((arrival, path)) = self.idle_path(first, paths) {
                // The burst delays its own data, and then the data behind it until it has arrived.
                let (queueing, more) = (queueing / 1000, arrival.abs_diff(empty) / 1000);
                let price = queueing.saturating_mul(more).saturating_add(more.saturating_mul(more) / 2);
                if self.bursts.cost > price / 2 {
                    self.bursts.last = path;
                    self.bursts.cost = 0;
                }
            }
        }
    }

    /// The path where the next segment arrives first, its arrival without any queue, and the queueing
    /// delay before it. `None` if the delay is at most the segment's own time at the bottleneck.
    fn shortest_queue(&self, paths: &[Path]) -> Option<(u64, i64, PathId)> {
        let now = signed(self.now.as_nanos());
        let mut first: Option<(i64, PathId, i64)> = None;
        let mut empty = i64::MAX;
        for path in usable(paths).take(MAX_PATHS) {
            let bottleneck = self.bottleneck(path);
            let delay = bottleneck.delay(path, self.one_way);
            let Some(((arrival, _), delay)) = self.arrival(path, paths, 0).zip(delay) else { continue };
            let own = signed(bottleneck.spacing(path));
            empty = empty.min(now.saturating_add(own).saturating_add(delay));
            if first.is_none_or(|(other, ..)| arrival < other) {
                first = Some((arrival, path.id, own));
            }
        }
        let (arrival, path, own) = first?;
        let queueing = arrival.saturating_sub(empty);
        (queueing > own).then_some((queueing.unsigned_abs(), empty, path))
    }

    /// The idle path other than `first` where the next segment arrives first, and the arrival.
    fn idle_path(&self, first: PathId, paths: &[Path]) -> Option<(i64, PathId)> {
        let idle = |path: &&Path| {
            path.id != first && room_now(path, paths) > 0 && self.bottleneck(path).is_idle(self.now, path)
        };
        let arrivals = usable(paths).take(MAX_PATHS).filter(idle).filter_map(|path| {
            let (arrival, _) = self.arrival(path, paths, 0)?;
            (arrival > i64::MIN).then_some((arrival, path.id))
        });
        arrivals.min()
    }
}
