//! LAMPS: the path over which a segment arrives first if losses on the way are reckoned with; a path that loses much carries copies only.
//!
//! # Source
//! Dong, Xu, Fu, Cao, *LAMPS: A Loss Aware Scheduler for Multipath TCP over Highly Lossy Networks* (IEEE LCN 2017; Computer Networks 157, 2019), by the
//! code that Karlstad University's MPTCP has of it (mptcp_lamp.c, version 0.95). With I, the segments that a path carries from one loss to the next, and r,
//! its smoothed round-trip time, a segment needs
//!
//! > T = r/2 · (I + 1) / (I − 1),
//!
//! r/2 on a path that never lost anything, and for ever if I ≤ 1. The open path of the smallest T goes first. A path that loses more than one segment in twenty
//! (I < 20) is *redundant*: it sends again what others sent, from where it is itself, and nothing new unless all paths are redundant.
//!
//! # Readings
//! * I is learned where losses begin to be repaired: the segments acknowledged on the path since the last time, and one. The first time it is four times
//!   that; later it moves 2^−α of the way to it, where α is `smoothing` (0 in the code, so that the last time counts alone). It is never less than what was acknowledged since.
//! * A timeout is a loss of its own, unless the path is in a timeout already. Nothing is learned twice without an acknowledgement between.
//!
//! # Departures
//! * The code notes a redundant path that would take new data, and lets it. Here it does not, as the text has it.
//! * The code goes by the first unacknowledged byte of a subflow, here acknowledged segments are counted: the same but for what is selectively acknowledged.
//! * A path that has not been measured yet goes first. Opportunistic retransmission and penalization, which the code does, are the option `+rp`.
//!
//! # Progress
//! A redundant path leaves new data alone only while another one, which is not and did not time out without an acknowledgement since, is open or has something in flight.

use super::clip;
use super::redundant::full::Full;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathSet, usable};

/// One segment, in the unit of I.
const SEGMENT: u64 = 1 << 10;
/// A path is redundant below so many segments from loss to loss.
const REDUNDANT: u64 = 20;
/// How often the first sample counts.
const FIRST: u64 = 4;
/// I at most, in segments.
const MOST: u64 = 1 << 40;

/// What one path carries from loss to loss.
#[derive(Clone, Copy, Debug)]
struct Losses {
    /// I; zero while nothing was lost.
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
    /// Paths that repair losses, and those of which a timeout began it.
    repairing: PathSet,
    timed_out: PathSet,
    copies: Full,
    suspects: Suspects,
}

impl Lamps {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "lamps",
        title: "LAMPS",
        summary: "The open path where a segment arrives first if losses are reckoned with; a path that loses more than one in twenty only copies.",
        source: "Dong et al., LAMPS, IEEE LCN 2017",
        needs: Capabilities { reinject: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "smoothing",
            doc: "How slowly the interval between losses is learned: each one moves it 2 to the power of minus this of the way. At 0 the last one counts alone.",
            default: Value::Integer(0),
            domain: Domain::Integer { min: 0, max: 8 },
        }],
    };

    /// With α.
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

    /// From checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("smoothing") as u32)
    }

    /// Something was lost on a path.
    fn lose(&mut self, path: PathId) {
        let Some(losses) = self.losses.get_mut(path.index()) else { return };
        if losses.interval > 0 && losses.since == 0 {
            return;
        }
        let sample = (losses.since + 1).min(MOST) * SEGMENT;
        losses.interval = if losses.interval == 0 {
            FIRST * sample
        } else {
            // α halvings of the way to the sample.
            let before = losses.interval.max(losses.since * SEGMENT);
            (before - (before >> self.smoothing)) + (sample >> self.smoothing)
        };
        losses.since = 0;
    }

    /// I of a path, if it ever lost anything.
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
            // What a path carried as others do is where its copies begin.
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
