//! Counters of paths, for metrics.

use super::Session;
use plait_sched::{Path, Scheduler};
use std::time::Duration;

/// Returns a path's smoothed round-trip time, once there is one.
pub(crate) fn smoothed(path: &Path) -> Option<Duration> {
    path.has_rtt().then(|| Duration::from_nanos(path.srtt.as_nanos()))
}

/// Counters of a path since its session began.
#[derive(Clone, Debug, Default)]
pub struct PathCounts {
    /// True if the path works: it carries data, or may as a backup.
    pub usable: bool,
    /// Payload bytes sent on the path, duplicates included.
    pub sent: u64,
    /// Payload bytes received on the path, without duplicates.
    pub received: u64,
    /// Data packets sent on the path.
    pub packets: u64,
    /// Lost packets among these data packets.
    pub lost: u64,
    /// Smoothed round-trip time, after the first sample.
    pub srtt: Option<Duration>,
}

impl<W: Scheduler> Session<W> {
    /// Returns the counters of all paths; `is_open` tells whether a path has a connection.
    pub(crate) fn counts(&self, is_open: impl Fn(usize) -> bool) -> Vec<PathCounts> {
        let (sent, received) = self.carried();
        let paths = self.paths();
        let count = |path: &plait_sched::Path| {
            let (index, totals) = (path.id.index(), self.totals(path.id));
            let bytes = |counts: &[u64]| counts.get(index).copied().unwrap_or(0);
            PathCounts {
                usable: is_open(index) && path.is_usable(),
                sent: bytes(sent),
                received: bytes(received),
                packets: totals.sent,
                lost: totals.lost,
                srtt: smoothed(path),
            }
        };
        paths.iter().map(count).collect()
    }
}
