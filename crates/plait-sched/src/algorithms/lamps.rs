//! LAMPS: the path where a segment arrives first if losses are taken into account; a path with many
//! losses carries only copies.
//!
//! # Source
//! Dong, Xu, Fu, Cao, *LAMPS: A Loss Aware Scheduler for Multipath TCP over Highly Lossy Networks*
//! (IEEE LCN 2017; Computer Networks 157, 2019), after the code in Karlstad University's MPTCP
//! (mptcp_lamp.c, version 0.95). Let I be the number of segments that a path carries from one loss
//! to the next, and r its smoothed round-trip time. A segment needs
//!
//! > T = r/2 · (I + 1) / (I − 1),
//!
//! r/2 on a path that never lost a segment, and infinitely long if I ≤ 1. The open path with the
//! smallest T goes first.
//!
//! A path that loses more than one segment in twenty (I < 20) is *redundant*. It copies segments of
//! the other paths from its own position on. It carries no new data unless all paths are redundant.
//!
//! # Readings
//! * I is learned at the beginning of a loss recovery. The sample is the number of segments
//!   acknowledged on the path since the last time, plus one. The first value is four times the
//!   sample. Later, I moves 2^−α of the way to the sample; α is `smoothing`, 0 in the code, so that
//!   only the last sample counts. I is never less than the number of segments acknowledged since.
//! * A timeout is a loss of its own, unless the path is in a timeout already. Nothing is learned
//!   twice without an acknowledgement in between.
//!
//! # Departures
//! * The code notices that a redundant path would take new data, and allows it. Here such a path
//!   takes none, as in the text.
//! * The code uses the first unacknowledged byte of a subflow; here acknowledged segments are
//!   counted. Both differ only by selectively acknowledged segments.
//! * An unmeasured path goes first. Opportunistic retransmission and penalization, which the code
//!   does, are the option `+rp`.
//!
//! # Progress
//! A redundant path leaves new data to others only while another path can carry it. Such a path is
//! not redundant, did not time out without an acknowledgement since, and is open or has data in
//! flight.

use super::clip;
use super::redundant::full::Full;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathSet, usable};

/// One segment, in the unit of I.
const SEGMENT: u64 = 1 << 10;
/// A path with fewer segments from loss to loss is redundant.
const REDUNDANT: u64 = 20;
/// The factor of the first sample.
const FIRST: u64 = 4;
/// The largest I, in segments.
const MOST: u64 = 1 << 40;

/// The segments that one path carries from loss to loss.
#[derive(Clone, Copy, Debug)]
struct Losses {
    /// I; zero before the first loss.
    interval: u64,
    /// Segments acknowledged since the last loss.
    since: u64,
}

/// The state of LAMPS.
#[derive(Clone, Debug)]
pub struct Lamps {
    /// α.
    smoothing: u32,
    losses: [Losses; MAX_PATHS],
    /// Paths in loss recovery, and those of them whose recovery has had a timeout.
    repairing: PathSet,
    timed_out: PathSet,
    copies: Full,
    suspects: Suspects,
}

impl Lamps {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "lamps",
        title: "LAMPS",
        summary: "The open path where a segment arrives first if losses are taken into account; a path that loses more than one segment in twenty carries only copies.",
        source: "Dong et al., LAMPS, IEEE LCN 2017",
        needs: Capabilities { reinject: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "smoothing",
            doc: "Slowness of the average interval between losses: each sample moves it 2 to the power of minus this of the way. With 0 only the last sample counts.",
            default: Value::Integer(0),
            domain: Domain::Integer { min: 0, max: 8 },
        }],
    };

    /// Creates the state with the given α.
    pub const fn new(smoothing: u32) -> Self {
        Self {
            smoothing,
            losses: [Losses { interval: 0, since: 0 }; MAX_PATHS],
            repairing: PathSet::EMPTY,
            timed_out: PathSet::EMPTY,
            copies: Full::NEW,
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("smoothing") as u32)
    }

    /// Learns from a loss on a path.
    fn lose(&mut self, path: PathId) {
        let Some(losses) = self.losses.get_mut(path.index()) else { return };
        if losses.interval > 0 && losses.since == 0 {
            return;
        }
        let sample = (losses.since + 1).min(MOST) * SEGMENT;
        losses.interval = if losses.interval == 0 {
            FIRST * sample
        } else {
            // Moves 2^−α of the way to the sample.
            let before = losses.interval.max(losses.since * SEGMENT);
            (before - (before >> self.smoothing)) + (sample >> self.smoothing)
        };
        losses.since = 0;
    }

    /// I of a path, if it ever lost a segment.
    fn interval(&self, path: PathId) -> Option<u64> {
        let losses = self.losses[path.index() % MAX_PATHS];
        (losses.interval > 0).then(|| losses.interval.max(losses.since * SEGMENT))
    }

    fn is_redundant(&self, path: &Path) -> bool {
        self.interval(path.id).is_some_and(|interval| interval < REDUNDANT * SEGMENT)
    }

    /// T in nanoseconds.
    fn time(&self, path: &Path) -> u64 {
        let half = path.srtt.as_nanos() / 2;
        match self.interval(path.id) {
            None => half,
            Some(interval) if interval <= SEGMENT => u64::MAX,
            Some(interval) => {
                let time = u128::from(half) * u128::from(interval + SEGMENT) / u128::from(interval - SEGMENT);
                u64::try_from(time).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Default for Lamps {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Scheduler for Lamps {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.copies.look(connection);
        let carries = |path: &Path| {
            let works = path.is_open() || path.in_flight > 0;
            works && !self.is_redundant(path) && !self.suspects.contains(path.id)
        };
        let all_redundant = !usable(paths).take(MAX_PATHS).any(carries);
        let mut done = PathSet::EMPTY;
        loop {
            let open = usable(paths).take(MAX_PATHS).filter(|path| path.is_open() && !done.contains(path.id));
            let Some(path) = open.min_by_key(|path| self.time(path)) else { return Decision::WAIT };
            let redundant = self.is_redundant(path);
            if redundant && let Some(segment) = self.copies.copy(connection, path) {
                return Decision::Reinject { path: path.id, segment };
            }
            if connection.sendable() > 0 && (!redundant || all_redundant) {
                let segments = clip(path.room(), connection.sendable());
                return Decision::Assign { path: path.id, segments };
            }
            done.insert(path.id);
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        self.copies.on_event(event);
        self.suspects.on_event(event);
        match *event {
            // The copies on a path begin after its newest segment.
            Event::Sent { path, segment, retransmission: false } => {
                self.copies.skip_to(path, segment.saturating_add(1));
            }
            Event::Acked { path, segments, .. } => {
                if let Some(losses) = self.losses.get_mut(path.index()) {
                    losses.since = losses.since.saturating_add(segments.into()).min(MOST);
                }
                if paths.get(path.index()).is_some_and(|path| !path.repairing) {
                    self.repairing.remove(path);
                    self.timed_out.remove(path);
                }
            }
            Event::Lost { path, .. } if !self.repairing.contains(path) => {
                self.repairing.insert(path);
                self.lose(path);
            }
            Event::Timeout { path } if !self.timed_out.contains(path) => {
                self.repairing.insert(path);
                self.timed_out.insert(path);
                self.lose(path);
            }
            _ => {}
        }
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }
}

#[cfg(test)]
mod tests;
