//! RAVEN: sends a segment on every path that may be the fastest, judging by the spread of its round
//! trips and the age of the last one.
//!
//! # Source
//! Lee, Flinn, Tonshal, *RAVEN: Improving Interactive Latency for the Connected Car* (ACM MobiCom
//! 2018), after its authors' code (mptcp_raven.c). m is the mean of a path's round trips, with the
//! largest weight for the newest. The next round trip is expected between m (1 − l a) and m (1 + u
//! a). a grows with the age of the newest: 1 within the first second, 1.37, 1.61, 1.79, 1.93 and
//! 2.04 in the next ones, 2.25 after ten and 2.8 after thirty. b is the path with the smallest
//! lower bound. A segment leaves on b and on every path whose lower bound is not above b's upper
//! bound; this always includes unmeasured paths.
//!
//! # Readings
//! * l and u are fitted to the authors' traces, so they are parameters: `lower` and `upper`, by
//!   default those of the first trace and 90 %. The authors give (0.58, 1.32) for the second.
//! * In the mean, each sample has (1 − 1/λ) times the weight of the next one, with λ = 256 as in
//!   the code. How the code uses λ for the weights is not known to us.
//! * Between the given seconds a is interpolated linearly; it changes at whole seconds.
//! * With `stripe`, an option of the code, lowest RTT schedules from the moment at which all paths
//!   but one are full until the data queue is empty. Data that is too much for copies leaves
//!   without them.
//!
//! # Departures
//! * The segment itself takes the open path with the smallest lower bound. Copies leave when their
//!   paths have room, unless the segment was acknowledged before. Copies can wait for the last 32
//!   segments only.
//! * The code divides the upper bound in integers, which loses its fraction; here it does not.
//!
//! # Progress
//! It waits only while a path of the set has data in flight.

use super::clip;
use super::lowest_rtt::LowestRtt;
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, PathSet, usable};

/// λ.
const MEMORY: f64 = 256.0;
/// The width of the interval: seconds since the newest sample, and a.
const WIDTHS: [(u64, f64); 8] =
    [(1, 1.0), (2, 1.37), (3, 1.61), (4, 1.79), (5, 1.93), (6, 2.04), (10, 2.25), (30, 2.8)];
/// Number of segments whose copies may wait.
const WAITING: usize = 32;

/// The round trips of one path.
#[derive(Clone, Copy, Debug)]
struct Samples {
    /// Sum of the samples in nanoseconds, weighted.
    sum: f64,
    weights: f64,
    newest: Time,
}

/// A segment whose copies are to be sent.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    segment: u64,
    on: PathSet,
}

/// The state of RAVEN.
#[derive(Clone, Debug)]
pub struct Raven {
    lower: f64,
    upper: f64,
    stripe: bool,
    striping: bool,
    samples: [Samples; MAX_PATHS],
    /// The last assigned segment, until it is sent, with the other paths on which it is to leave.
    assigned: Option<Waiting>,
    waiting: [Waiting; WAITING],
    /// The place in `waiting` that is overwritten next: the oldest.
    next: usize,
    /// Paths with a sample since the last decision. The next decision sets the time of the sample.
    fresh: PathSet,
}

impl Raven {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "raven",
        title: "RAVEN",
        summary: "A segment is sent on every path that may be the fastest, judging by the spread of its round trips and the age of the last one.",
        source: "Lee et al., RAVEN, ACM MobiCom 2018",
        needs: Capabilities { reinject: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "lower",
                doc: "Lower margin of the next round trip below its mean, as a share of the mean, while the last one is fresh. A larger share sends more copies.",
                default: Value::Number(0.35),
                domain: Domain::Number { min: 0.0, max: 1.0 },
            },
            ParameterInfo {
                name: "upper",
                doc: "Upper margin of the next round trip above its mean, as a share of the mean, while the last one is fresh. A larger share sends more copies.",
                default: Value::Number(0.58),
                domain: Domain::Number { min: 0.0, max: 100.0 },
            },
            ParameterInfo {
                name: "stripe",
                doc: "Lowest RTT without copies, from the moment at which all paths but one are full until the data queue is empty.",
                default: Value::Boolean(false),
                domain: Domain::Boolean,
            },
        ],
    };

    /// Creates the state with l and u.
    pub const fn new(lower: f64, upper: f64, stripe: bool) -> Self {
        Self {
            lower,
            upper,
            stripe,
            striping: false,
            samples: [Samples { sum: 0.0, weights: 0.0, newest: Time::ZERO }; MAX_PATHS],
            assigned: None,
            waiting: [Waiting { segment: 0, on: PathSet::EMPTY }; WAITING],
            next: 0,
            fresh: PathSet::EMPTY,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let (lower, upper) = (parameters.number("lower"), parameters.number("upper"));
        Self::new(lower, upper, parameters.boolean("stripe"))
    }

    /// The bounds of a path's next round trip, in nanoseconds; from 0 to infinity for an unmeasured
    /// path.
    fn interval(&self, now: Time, path: &Path) -> (f64, f64) {
        let samples = &self.samples[path.id.index() % MAX_PATHS];
        if samples.weights == 0.0 {
            return (0.0, f64::INFINITY);
        }
        let mean = samples.sum / samples.weights;
        let width = width(now.since(samples.newest).as_nanos() / 1_000_000_000);
        ((mean * (1.0 - self.lower * width)).max(0.0), mean * (1.0 + self.upper * width))
    }

    /// The paths on which a segment is to leave, and the open one of them that takes it now.
    fn choose(&self, now: Time, paths: &[Path]) -> (PathSet, Option<PathId>) {
        let all = || usable(paths).take(MAX_PATHS).map(|path| (path, self.interval(now, path)));
        let least = |best: Option<(f64, f64)>, bounds: (f64, f64)| match best {
            Some(best) if best.0 <= bounds.0 => Some(best),
            _ => Some(bounds),
        };
        let best = all().map(|(_, bounds)| bounds).filter(|bounds| bounds.0 > 0.0).fold(None, least);
        let reach = best.map_or(f64::INFINITY, |best| best.1);
        let (mut set, mut takes) = (PathSet::EMPTY, None::<(PathId, f64)>);
        for (path, (lower, _)) in all().filter(|(_, bounds)| bounds.0 <= reach) {
            set.insert(path.id);
            if path.is_open() && takes.is_none_or(|(_, least)| lower < least) {
                takes = Some((path.id, lower));
            }
        }
        (set, takes.map(|(path, _)| path))
    }

    /// Returns the next copy for which a path has room.
    fn copy(&mut self, connection: &Connection, paths: &[Path]) -> Option<Decision> {
        let oldest = connection.oldest_unacked?;
        let open = |path: &PathId| usable(paths).any(|one| one.id == *path && one.is_open());
        for place in (self.next..WAITING).chain(0..self.next) {
            let waiting = &mut self.waiting[place];
            if waiting.segment < oldest.segment {
                waiting.on = PathSet::EMPTY;
            } else if waiting.segment == oldest.segment {
                waiting.on = waiting.on.without(oldest.carried);
            }
            if let Some(path) = waiting.on.iter().find(open) {
                waiting.on.remove(path);
                return Some(Decision::Reinject { path, segment: waiting.segment });
            }
        }
        None
    }

    /// Whether lowest RTT schedules now.
    fn stripes(&mut self, connection: &Connection, paths: &[Path]) -> bool {
        let full = usable(paths).filter(|path| !path.is_open()).count();
        let begins = full > 0 && full + 1 == usable(paths).count();
        self.striping = self.stripe && connection.unassigned > 0 && (self.striping || begins);
        self.striping
    }
}

/// a, this many whole seconds after the newest sample.
fn width(seconds: u64) -> f64 {
    let mut before = WIDTHS[0];
    for (second, width) in WIDTHS {
        if seconds <= second {
            let part = seconds.max(before.0).saturating_sub(before.0) as f64;
            let whole = (second - before.0).max(1) as f64;
            return before.1 + (width - before.1) * part / whole;
        }
        before = (second, width);
    }
    before.1
}

impl Default for Raven {
    fn default() -> Self {
        Self::new(0.35, 0.58, false)
    }
}

impl Scheduler for Raven {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        for path in core::mem::take(&mut self.fresh).iter() {
            self.samples[path.index()].newest = now;
        }
        if let Some(copy) = self.copy(connection, paths) {
            return copy;
        }
        let stripes = self.stripes(connection, paths);
        if connection.sendable() == 0 {
            return Decision::WAIT;
        }
        let (set, takes) = self.choose(now, paths);
        let others_carry = usable(paths).any(|path| set.contains(path.id) && path.in_flight > 0);
        if stripes || (takes.is_none() && !others_carry) {
            self.assigned = None;
            return LowestRtt.decide(now, connection, paths);
        }
        let Some(path) = takes else { return Decision::WAIT };
        let mut on = set;
        on.remove(path);
        self.assigned = Some(Waiting { segment: connection.next_segment, on });
        let room = paths.get(path.index()).map_or(1, Path::room);
        // Each segment has its own copies.
        let segments = if on == PathSet::EMPTY { clip(room, connection.sendable()) } else { 1 };
        Decision::Assign { path, segments }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        match *event {
            Event::Sent { segment, .. } => {
                if let Some(waiting) = self.assigned.take_if(|assigned| assigned.segment == segment)
                    && waiting.on != PathSet::EMPTY
                {
                    self.waiting[self.next] = waiting;
                    self.next = (self.next + 1) % WAITING;
                }
            }
            Event::Acked { path, rtt: Some(rtt), .. } => {
                if let Some(samples) = self.samples.get_mut(path.index()) {
                    let keeps = 1.0 - 1.0 / MEMORY;
                    samples.sum = samples.sum * keeps + rtt.as_nanos() as f64;
                    samples.weights = samples.weights * keeps + 1.0;
                    self.fresh.insert(path);
                }
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
