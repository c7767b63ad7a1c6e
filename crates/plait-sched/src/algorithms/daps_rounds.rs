//! DAPS in rounds: every path gets a window's worth of segments each time one of its forward delays has passed.
//!
//! # Source
//! Sarwar et al., *Mitigating Receiver's Buffer Blocking by Delay Aware Packet Scheduling in Multipath Data Transfer*
//! (IEEE WAINA 2013), in the form for n paths of Ferlin's MPTCP port. With D_i = srtt_i / 2, walk
//! t = D_min … lcm(D_1 … D_n); at each t every path with t mod D_i = 0, by ascending D, gets the next cwnd_i segments
//! of the stream. They are assigned *ahead*: those of a fast path wait in its queue while a slow path already sends
//! segments from behind them.
//!
//! # Readings
//! A window of segments takes a path a whole round trip, 2·D_i, not one forward delay; and what is in flight has left
//! already. As printed, twice as many numbers are kept for a fast path as can arrive before the slow one's: it fills
//! the receiver's window with segments from far ahead and starves the fast path of it. `spacing` has both: "round-trip"
//! (the default) gives the room that is there now at t = D_i and cwnd_i every 2·D_i after that, which is the order of
//! arrival; "one-way" is as printed.
//!
//! # The walk
//! It is walked only as far as it is needed: until no usable path has congestion-window room that its queue does not
//! cover. After the least common multiple a new period begins, with the windows and delays of that moment.
//! `replan` says how facts that changed meanwhile get in:
//! * "always" (the paper's "the next execution will generate a new schedule"): at every opportunity at which some
//!   path is open, all queues are recalled and the walk starts afresh, so the lowest numbers are planned first. It
//!   costs the engine a recall of everything that waits for each acknowledgement that opens a window.
//! * "exhausted": the walk goes on where it stopped; queues are recalled, once, when a period begins and when a path
//!   timed out, failed or came back. Cheaper; follows changes of window and delay a period later. Where the receiver's window is the limit, a
//!   round of a path with a wide window takes all of it, and the others wait for the next one: over MPTCP, 20 Mbit/s
//!   with 60 ms beside 10 Mbit/s with 25 ms and 0.5 % loss bring 20.3 Mbit/s with a buffer of 256 kB, "always" 25.2.
//!
//! # Departures
//! * Real delays have no small common multiple, so D_i is rounded to the nearest multiple of D_min, at least 1 (as
//!   D is half of srtt, so is srtt_i to that of srtt_min). Both these multiples and their least common multiple are
//!   capped at `max_period`; a period that is capped ends early for all paths.
//! * While the RTT of a usable path is unknown, round-robin. A path in loss recovery misses its rounds. One that
//!   timed out gets what it can send at once, and no more until it acknowledges something, while another one is better
//!   off.
//! * Nothing is assigned while the receiver's window is closed: it would only be recalled.

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

/// When a plan is made again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replan {
    /// At every opportunity at which a path is open.
    Always,
    /// When the period is over, or a path timed out, failed or came back.
    Exhausted,
}

/// How far apart the rounds of a path are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    /// One forward delay, as printed.
    OneWay,
    /// One round trip, which is how long a window takes; the first round gets the room that is there now.
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
    /// Round-robin for the rest of this opportunity.
    blind: bool,
    /// A bit per path whose queue may still be recalled in this opportunity. Each at most once: what is recalled is
    /// assigned again, and would be recalled for ever.
    recalls: u32,
    suspects: Suspects,
    /// A path timed out, failed or came back since the plan was made.
    overtaken: bool,
    walk: Walk,
}

impl DapsRounds {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "daps-rounds",
        title: "DAPS in rounds",
        summary: "Each path is assigned a window of segments per round trip, ahead of its window and in stream order.",
        source: "Sarwar et al., IEEE WAINA 2013 (Ferlin's port to n paths)",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "replan",
                doc: "Recall and plan again at every opportunity, or only when the period is exhausted (cheaper).",
                default: Value::Text("exhausted"),
                domain: Domain::Choice(&["exhausted", "always"]),
            },
            ParameterInfo {
                name: "spacing",
                doc: "A window of segments per forward delay (one-way), as printed, or per round trip.",
                default: Value::Text("round-trip"),
                domain: Domain::Choice(&["round-trip", "one-way"]),
            },
            ParameterInfo {
                name: "max_period",
                doc: "The longest period, and the largest ratio of delays told apart, in smallest forward delays.",
                default: Value::Integer(64),
                domain: Domain::Integer { min: 1, max: 65_536 },
            },
            ENABLED,
            ASYMMETRY,
        ],
    };

    /// With the given limit of a period (0 counts as 1), with or without the guard of DAPS.
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

    /// From checked parameters.
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
        // The guard looks even while paths are unmeasured: it compares with its last look.
        let admitted = self.guard.as_mut().is_none_or(|guard| guard.admits(paths));
        self.blind = !(measured && admitted);
        if self.blind || self.replan == Replan::Always {
            self.walk.stop();
        }
        self.recalls = u32::MAX;
    }

    /// The next queue to empty before a new period is planned.
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
        // What the plan of before put into the queues is planned again, whether there is more to plan or not.
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
            // Once a period is under way, what it assigned stays, however many periods this opportunity takes.
            self.recalls = 0;
            self.walk.start(self.spacing, self.max_period, self.suspects, paths);
        }
        loop {
            if let Some((path, segments)) = self.walk.next(paths) {
                return Decision::Assign { path, segments: clip(segments, connection.unassigned) };
            }
            // The period is over. Under "exhausted", and at the start of an opportunity, the rest is planned anew.
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

/// What a path does in a period.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// When its next round is, in multiples of D_min.
    due: u32,
    /// D_i, in multiples of D_min.
    every: u32,
    /// How long after a round the next one is.
    step: u32,
    /// What the first round gets.
    first: u32,
    /// cwnd_i when the period began.
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

    /// Begins a period with the delays and windows of this moment; all usable paths are measured.
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

    /// The next step: which path is due, and how many segments it gets. None after the end of the period.
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

/// True if the path may be given segments, be it ahead of its window.
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
