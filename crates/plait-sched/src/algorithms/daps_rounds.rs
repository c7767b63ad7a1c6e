//! DAPS in rounds: every path gets a window of segments each time one of its forward delays has
//! passed.
//!
//! # Source
//! Sarwar et al., *Mitigating Receiver's Buffer Blocking by Delay Aware Packet Scheduling in
//! Multipath Data Transfer* (IEEE WAINA 2013), in the form for n paths of Ferlin's MPTCP port. With
//! D_i = srtt_i / 2, walk t = D_min … lcm(D_1 … D_n). At each t every path with t mod D_i = 0, by
//! ascending D, gets the next cwnd_i segments of the stream. They are assigned *ahead*: those of a
//! fast path wait in its queue while a slow path already sends later segments.
//!
//! # Readings
//! A path needs a whole round trip, 2·D_i, for a window of segments, not one forward delay; and
//! segments in flight have left already. As printed, twice as many segments are reserved for a fast
//! path as can arrive before those of the slow path. The slow path then fills the receiver's window
//! with segments from far ahead, and leaves no window to the fast path. `spacing` offers both:
//! "round-trip" (the default) gives the present room at t = D_i and cwnd_i every 2·D_i after that,
//! which is the order of arrival; "one-way" is as printed.
//!
//! # The walk
//! The walk goes only as far as needed: until the queue of every usable path covers its
//! congestion-window room. After the least common multiple a new period begins, with the windows
//! and delays of that moment. `replan` says how changed facts enter:
//! * "always" (the paper's "the next execution will generate a new schedule"): at every opportunity
//!   with an open path, all queues are recalled and the walk starts again, so the lowest numbers
//!   are planned first. Each acknowledgement that opens a window costs the engine a recall of all
//!   queued segments.
//! * "exhausted": the walk continues at its last position. Queues are recalled once, when a period
//!   begins and when a path timed out, failed or came back. This is cheaper, and follows changes of
//!   window and delay a period later. Where the receiver's window is the limit, a round of a path
//!   with a wide window takes all of it, and the others wait for the next one. An example over
//!   MPTCP: 20 Mbit/s with 60 ms beside 10 Mbit/s with 25 ms and 0.5 % loss reach 20.3 Mbit/s with
//!   a buffer of 256 kB, "always" 25.2.
//!
//! # Departures
//! * Real delays have no small common multiple, so D_i is rounded to the nearest multiple of D_min,
//!   at least 1. (The ratio is that of srtt_i to srtt_min, since D is half of srtt.) Both these
//!   multiples and their least common multiple are capped at `max_period`. A capped period ends
//!   early for all paths.
//! * While the RTT of a usable path is unknown, round-robin decides. A path in loss recovery misses
//!   its rounds. A path that timed out gets only segments that it can send at once, until it
//!   acknowledges something, while another path has not timed out.
//! * Nothing is assigned while the receiver's window is closed: the segments would only be
//!   recalled.

use super::guard::{ASYMMETRY, ENABLED, Guard};
use super::opportunity::Opportunity;
use super::round_robin::RoundRobin;
use super::round_trip::RoundTrip;
use super::suspects::Suspects;
use super::{clip, room_now};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// The occasions of a new plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replan {
    /// At every opportunity at which a path is open.
    Always,
    /// When the period is over, or when a path timed out, failed or came back.
    Exhausted,
}

/// The time between two rounds of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    /// One forward delay, as printed.
    OneWay,
    /// One round trip, which is the time that a window takes; the first round gets the present
    /// room.
    RoundTrip,
}

/// The state of DAPS in rounds.
#[derive(Clone, Debug)]
pub struct DapsRounds {
    replan: Replan,
    spacing: Spacing,
    max_period: u32,
    guard: Option<Guard>,
    rotation: RoundRobin,
    opportunity: Opportunity,
    /// True if round-robin decides for the rest of this opportunity.
    blind: bool,
    /// A bit per path whose queue may still be recalled in this opportunity. Each queue is recalled
    /// at most once, because recalled segments are assigned again and would be recalled forever.
    recalls: u32,
    suspects: Suspects,
    /// True if a path timed out, failed or came back since the plan was made.
    overtaken: bool,
    walk: Walk,
}

impl DapsRounds {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "daps-rounds",
        title: "DAPS in rounds",
        summary: "Each path is assigned a window of segments per round trip, in stream order, ahead of its congestion window.",
        source: "Sarwar et al., IEEE WAINA 2013 (Ferlin's port to n paths)",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "replan",
                doc: "Recalls all queued segments and plans again at every opportunity (always), or only when the period is over (exhausted), which is cheaper.",
                default: Value::Text("exhausted"),
                domain: Domain::Choice(&["exhausted", "always"]),
            },
            ParameterInfo {
                name: "spacing",
                doc: "A window of segments per forward delay (one-way), as printed, or per round trip (round-trip).",
                default: Value::Text("round-trip"),
                domain: Domain::Choice(&["round-trip", "one-way"]),
            },
            ParameterInfo {
                name: "max_period",
                doc: "The longest period, and the largest ratio of delays that is distinguished, in units of the smallest forward delay.",
                default: Value::Integer(64),
                domain: Domain::Integer { min: 1, max: 65_536 },
            },
            ENABLED,
            ASYMMETRY,
        ],
    };

    /// Creates the state with the given limit of a period (0 counts as 1), with or without the
    /// guard of DAPS.
    pub const fn new(replan: Replan, spacing: Spacing, max_period: u32, guard: Option<Guard>) -> Self {
        Self {
            replan,
            spacing,
            max_period: if max_period == 0 { 1 } else { max_period },
            guard,
            rotation: RoundRobin::new(None),
            opportunity: Opportunity::NEW,
            blind: false,
            recalls: 0,
            suspects: Suspects::NONE,
            overtaken: false,
            walk: Walk::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let replan = match parameters.text("replan") {
            "always" => Replan::Always,
            _ => Replan::Exhausted,
        };
        let spacing = match parameters.text("spacing") {
            "one-way" => Spacing::OneWay,
            _ => Spacing::RoundTrip,
        };
        Self::new(
            replan,
            spacing,
            parameters.integer("max_period") as u32,
            Guard::from_parameters(parameters, RoundTrip::Smoothed),
        )
    }

    fn begin(&mut self, paths: &[Path]) {
        let measured = usable(paths).all(Path::has_rtt);
        // The guard also checks while paths are unmeasured, because it compares with its last
        // check.
        let admitted = self.guard.as_mut().is_none_or(|guard| guard.admits(paths));
        self.blind = !(measured && admitted);
        if self.blind || self.replan == Replan::Always {
            self.walk.stop();
        }
        self.recalls = u32::MAX;
    }

    /// Returns the next queue to empty before a new period is planned.
    fn recall(&mut self, paths: &[Path]) -> Option<PathId> {
        let may = |path: &&Path| path.queued > 0 && self.recalls >> path.id.0 & 1 == 1;
        let path = paths.iter().take(MAX_PATHS).find(may)?.id;
        self.recalls &= !(1 << path.0);
        Some(path)
    }
}

impl Scheduler for DapsRounds {
    #[inline]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.opportunity.begins(now) {
            self.begin(paths);
        }
        let open = paths.iter().any(|path| room_now(path, paths) > 0);
        if !open {
            return self.opportunity.end();
        }
        // Queued segments of the previous plan are planned again, even if there is no other data to
        // plan.
        if self.overtaken
            && let Some(path) = self.recall(paths)
        {
            return Decision::Recall { path };
        }
        self.overtaken = false;
        if connection.sendable() == 0 {
            return self.opportunity.end();
        }
        if self.blind {
            return self.rotation.decide(now, connection, paths);
        }
        if !self.walk.is_on() {
            if let Some(path) = self.recall(paths) {
                return Decision::Recall { path };
            }
            // Assignments of a period in progress stay, however many periods this opportunity
            // takes.
            self.recalls = 0;
            self.walk.start(self.spacing, self.max_period, self.suspects, paths);
        }
        loop {
            if let Some((path, segments)) = self.walk.next(paths) {
                return Decision::Assign { path, segments: clip(segments, connection.unassigned) };
            }
            // The period is over. With "exhausted", and at the start of an opportunity, the rest is
            // planned again.
            if let Some(path) = self.recall(paths) {
                return Decision::Recall { path };
            }
            self.recalls = 0;
            // Some path is open, so it takes part and has a first round: the walk has a next step.
            self.walk.start(self.spacing, self.max_period, self.suspects, paths);
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.opportunity.on_event(event);
        self.suspects.on_event(event);
        if let Some(guard) = &mut self.guard {
            guard.on_event(event);
        }
        if matches!(event, Event::Timeout { .. } | Event::PathDown { .. } | Event::PathUp { .. }) {
            self.walk.stop();
            self.overtaken = true;
        }
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

/// The rounds of one path in a period.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The time of the next round, in multiples of D_min.
    due: u32,
    /// D_i, in multiples of D_min.
    every: u32,
    /// The time between two rounds, in multiples of D_min.
    step: u32,
    /// Segments of the first round.
    first: u32,
    /// cwnd_i at the beginning of the period.
    segments: u32,
    path: PathId,
}

/// A walk through a period.
#[derive(Clone, Debug)]
struct Walk {
    rounds: [Round; MAX_PATHS],
    len: u8,
    /// The last t of the period.
    end: u32,
}

impl Walk {
    const NONE: Self = Self {
        rounds: [Round { due: 0, every: 1, step: 1, first: 0, segments: 0, path: PathId(0) }; MAX_PATHS],
        len: 0,
        end: 0,
    };

    const fn is_on(&self) -> bool {
        self.len > 0
    }

    const fn stop(&mut self) {
        self.len = 0;
    }

    /// Begins a period with the present delays and windows; all usable paths are measured.
    fn start(&mut self, spacing: Spacing, max_period: u32, suspects: Suspects, paths: &[Path]) {
        self.stop();
        self.end = 1;
        let Some(fastest) = usable(paths).map(|path| path.srtt.as_nanos()).min() else { return };
        for path in usable(paths).take(MAX_PATHS).filter(|path| path.cwnd > 0 && !path.in_recovery) {
            let every = quantize(path.srtt.as_nanos(), fastest, max_period);
            self.end = capped_lcm(self.end, every, max_period);
            let (step, first) = match spacing {
                Spacing::OneWay => (every, path.cwnd),
                Spacing::RoundTrip => (2 * every, path.room()),
            };
            let (first, segments) =
                if suspects.excludes(path, paths) { (path.room(), 0) } else { (first, path.cwnd) };
            let round = Round { due: every, every, step, first, segments, path: path.id };
            self.rounds[usize::from(self.len)] = round;
            self.len += 1;
        }
        if spacing == Spacing::RoundTrip {
            self.end *= 2;
        }
    }

    /// Returns the next step: the path whose round is due, and its number of segments. `None` after
    /// the end of the period.
    fn next(&mut self, paths: &[Path]) -> Option<(PathId, u32)> {
        loop {
            let rounds = &mut self.rounds[..usize::from(self.len)];
            // `min_by_key` keeps the first of equals: the lower path number.
            let round = rounds.iter_mut().min_by_key(|round| (round.due, round.every))?;
            if round.due > self.end {
                self.stop();
                return None;
            }
            let segments = if round.due == round.every { round.first } else { round.segments };
            round.due += round.step;
            if segments > 0 && paths.get(round.path.index()).is_some_and(|path| takes_part(path, paths)) {
                return Some((round.path, segments));
            }
        }
    }
}

/// True if the path may get segments, also ahead of its window.
fn takes_part(path: &Path, paths: &[Path]) -> bool {
    !path.in_recovery && usable(paths).any(|usable| usable.id == path.id)
}

/// `delay` as a multiple of `unit`: rounded to nearest (a half up), from 1 to `most`.
fn quantize(delay: u64, unit: u64, most: u32) -> u32 {
    let nearest = delay.saturating_add(unit / 2).checked_div(unit).unwrap_or(1);
    clip(most, nearest).max(1)
}

/// The least common multiple of two positive numbers, at most `most`.
fn capped_lcm(a: u32, b: u32, most: u32) -> u32 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    clip(most, u64::from(a / divisor) * u64::from(b))
}

#[cfg(test)]
mod tests;
