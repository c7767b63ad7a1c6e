//! Rule 3: limits.

use super::Plait;
use super::copies::TIMER;
use crate::decision::Decision;
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// Segments that may be in the queue of a bottleneck, if a quarter of the bandwidth-delay product
/// is less.
const BURST: u64 = 24;
/// The least number of segments that may be in the queue.
const LEAST: u64 = 5;

impl Plait {
    /// The limit that a path should have.
    pub(super) fn limit(&self, path: &Path, connection: &Connection) -> u32 {
        let bottleneck = self.bottleneck(path);
        let product = match bottleneck.product(path) {
            Some(product) if !path.in_slow_start() && path.pacing_rate.is_none() => product,
            _ => return u32::MAX,
        };
        let in_flight = u64::from(path.in_flight);
        let fill = bottleneck.capacity(path).map_or(u64::MAX, |capacity| capacity * 2 / 5);
        let queue = BURST.max(product / 4 + 3).min(fill.max(LEAST));
        let backlog =
            bottleneck.free().saturating_sub(self.now.as_nanos()).div_ceil(bottleneck.spacing(path).max(1));
        // Endless data always waits for the window, so its queues are drained, too.
        let limit = if connection.unassigned > connection.window_left {
            (in_flight + queue).saturating_sub(backlog)
        } else {
            in_flight + queue.saturating_sub(backlog)
        };
        let limit = limit.max(2);
        if limit >= u64::from(path.cwnd) { u32::MAX } else { limit as u32 }
    }

    /// The next change of a limit. Limits matter only while there is data to send.
    pub(super) fn limited(&self, connection: &Connection, paths: &[Path]) -> Option<Decision> {
        let sends = |path: &&Path| path.queued > 0 || connection.sendable() > 0;
        paths.iter().take(MAX_PATHS).filter(sends).find_map(|path| {
            let wanted = self.limit(path, connection);
            let differs = wanted != path.limit
                && (wanted == u32::MAX || path.limit == u32::MAX || wanted.abs_diff(path.limit) > 1);
            differs.then_some(Decision::Limit { path: path.id, in_flight: wanted })
        })
    }

    /// The time of the next decision if no event happens before, while limits hold paths back: a
    /// third of the burst has left a bottleneck then.
    pub(super) fn next_limit(&self, connection: &Connection, paths: &[Path]) -> Option<Time> {
        let held_back = |path: &&Path| {
            path.limit < path.cwnd
                && path.in_flight >= path.limit
                && (path.queued > 0 || connection.sendable() > 0)
        };
        let third = |path: &Path| self.bottleneck(path).spacing(path).saturating_mul(BURST / 3);
        let first = usable(paths).take(MAX_PATHS).filter(held_back).map(third).min()?;
        Some(self.now + Duration::from_nanos(first.max(TIMER)))
    }
}
