//! STTF, shortest transfer time first: assigns each segment, ahead of the windows, to the path
//! where it would arrive first as windows grow. Queued segments are planned again when that would
//! change their paths.
//!
//! # Source
//! Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, *Low-Latency Scheduling in MPTCP* (IEEE/ACM
//! Transactions on Networking 27(1), 2019), as its authors published it (mptcp_sttf.c, version
//! 0.91). Let r be the latest round-trip time of a path and q its queued segments; the next segment
//! is number n = q + 1. Its transfer time is r/2 if the window has room for it now. Otherwise r is
//! added for the present room, and r for each further window that the segments before it fill. A
//! window doubles up to its threshold, and grows by a segment from there on.
//!
//! * *Paths alike*: if the first round trips of the first two measured paths differ by less than
//!   `alike`, the whole connection is scheduled by lowest RTT.
//! * *Planning again*: before any assignment, all queued segments are planned by the same rule, as
//!   if none were queued. If the number of segments for a path changes by more than one, all queues
//!   are recalled.
//!
//! # Readings
//! The growth is that of a loop, which version 0.91 computes in closed form. An earlier version
//! (0.90, part of Karlstad University's MPTCP) differs in every fifth state, by up to twelve round
//! trips.
//!
//! # Departures
//! * Nothing is assigned ahead while only one path is usable. The same holds while a usable path is
//!   unmeasured, in loss recovery, or a suspect: it timed out and has acknowledged nothing since,
//!   while another path has. Then each path takes the segments that its window admits. The
//!   published code gives the first path all data before the second path joins, and leaves it there
//!   if both prove alike.
//! * An unmeasured path and a suspect go first.
//! * The first round trip of a path is the first that the scheduler sees. There is no clock tick,
//!   which also makes paths alike.
//! * Segments that arrive in the same round have the same time, and are assigned at once.
//! * A path in loss recovery takes nothing, and its queued segments stay out of the plan.
//!
//! # Progress
//! It waits only for data, for the receiver's window, or, where nothing is assigned ahead, for room
//! in a window. Recalled segments are assigned at once, at the same opportunity, and planned once
//! per opportunity.

use super::lowest_rtt::LowestRtt;
use super::opportunity::Opportunity;
use super::suspects::Suspects;
use super::{clip, room};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// The state of STTF.
#[derive(Clone, Debug)]
pub struct Sttf {
    /// The smallest difference of first round trips that are not alike, in thousandths of the
    /// smaller one.
    alike: u64,
    /// The first round trips of the first two paths.
    first: [Option<(PathId, Duration)>; 2],
    suspects: Suspects,
    opportunity: Opportunity,
    /// Paths whose queues are being recalled.
    recalls: u32,
}

/// One, in the unit of `alike`.
const ONE: u64 = 1_000;

/// The position after a number of queued segments on a path: the next arrival time, and the number
/// of segments that arrive in the same round.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    /// Half round trips until the arrival.
    halves: u64,
    /// Segments that can still arrive in this round.
    left: u64,
    window: u64,
    threshold: u64,
}

impl Rounds {
    /// Starts with an empty path queue.
    fn begin(path: &Path) -> Self {
        let left = u64::from(path.cwnd.saturating_sub(path.in_flight));
        let threshold = if path.ssthresh == u32::MAX { u64::MAX } else { u64::from(path.ssthresh) };
        let mut rounds = Self { halves: 1, left, window: u64::from(path.cwnd.max(1)), threshold };
        rounds.settle();
        rounds
    }

    /// Moves to the first round with room.
    fn settle(&mut self) {
        while self.left == 0 {
            self.halves += 2;
            self.window = if self.window < self.threshold {
                self.window.saturating_mul(2).min(self.threshold)
            } else {
                self.window.saturating_add(1)
            };
            self.left = self.window;
        }
    }

    /// Adds `segments` queued segments.
    fn take(&mut self, mut segments: u64) {
        while segments > 0 {
            let here = segments.min(self.left);
            self.left -= here;
            segments -= here;
            self.settle();
        }
    }
}

impl Sttf {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "sttf",
        title: "Shortest transfer time first",
        summary: "Each segment is assigned, ahead of the windows, to the path where it would arrive first as windows grow; queued segments are planned again when that changes their paths.",
        source: "Hurtig et al., Low-Latency Scheduling in MPTCP, IEEE/ACM ToN 2019",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "alike",
            doc: "Lowest RTT schedules the connection if the first round trips differ by less than this share, in steps of 0.001; 0: never.",
            default: Value::Number(0.1),
            domain: Domain::Number { min: 0.0, max: 100.0 },
        }],
    };

    /// Creates the state, with `alike` in thousandths.
    pub const fn new(alike: u64) -> Self {
        Self { alike, first: [None; 2], suspects: Suspects::NONE, opportunity: Opportunity::NEW, recalls: 0 }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new((parameters.number("alike") * ONE as f64 + 0.5) as u64)
    }

    /// Notes first round trips. True if those of the first two paths are known and alike.
    fn paths_are_alike(&mut self, paths: &[Path]) -> bool {
        for path in paths.iter().filter(|path| path.has_rtt()) {
            if self.first.iter().flatten().any(|&(id, _)| id == path.id) {
                continue;
            }
            let Some(place) = self.first.iter_mut().find(|first| first.is_none()) else { break };
            *place = Some((path.id, path.latest_rtt.max(Duration::from_nanos(1))));
        }
        let [Some((_, one)), Some((_, other))] = self.first else { return false };
        let (less, more) = (one.min(other).as_nanos(), one.max(other).as_nanos());
        more.saturating_mul(ONE) < less.saturating_mul(ONE + self.alike)
    }

    /// True if segments may wait on the path.
    fn plans(&self, path: &Path, paths: &[Path]) -> bool {
        !path.in_recovery && path.has_rtt() && !self.suspects.excludes(path, paths)
    }

    /// Returns all non-empty queues as a set, if the length of any queue would change by more than
    /// a segment; otherwise the empty set.
    fn outdated(&self, paths: &[Path]) -> u32 {
        let mut planned = [0_u64; MAX_PATHS];
        let mut rounds = [None; MAX_PATHS];
        let (mut waiting, mut with) = (0, 0);
        for path in usable(paths).take(MAX_PATHS).filter(|path| self.plans(path, paths)) {
            rounds[path.id.index()] = Some(Rounds::begin(path));
            waiting += u64::from(path.queued);
            with |= u32::from(path.queued > 0) << path.id.0;
        }
        while waiting > 0 {
            let time = |path: &&Path| rounds[path.id.index()].map_or(u64::MAX, |next| time(path, next));
            let Some(best) = usable(paths).take(MAX_PATHS).min_by_key(time) else { break };
            let Some(next) = &mut rounds[best.id.index()] else { break };
            let segments = next.left.min(waiting);
            next.take(segments);
            planned[best.id.index()] += segments;
            waiting -= segments;
        }
        let differs = |path: &&Path| planned[path.id.index()].abs_diff(u64::from(path.queued)) > 1;
        let planned_for = usable(paths).take(MAX_PATHS).filter(|path| rounds[path.id.index()].is_some());
        if planned_for.clone().any(|path| differs(&path)) { with } else { 0 }
    }
}

/// The time until the arrivals of this round, in nanoseconds.
fn time(path: &Path, rounds: Rounds) -> u64 {
    path.latest_rtt.as_nanos().saturating_mul(rounds.halves) / 2
}

impl Default for Sttf {
    fn default() -> Self {
        Self::new(ONE / 10)
    }
}

impl Scheduler for Sttf {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let begins = self.opportunity.begins(now);
        if self.paths_are_alike(paths) {
            return LowestRtt.decide(now, connection, paths);
        }
        if begins {
            self.recalls = self.outdated(paths);
        }
        let taken_back = |path: &&Path| path.queued > 0 && self.recalls >> path.id.0 & 1 == 1;
        if let Some(path) = paths.iter().take(MAX_PATHS).find(taken_back) {
            self.recalls &= !(1 << path.id.0);
            return Decision::Recall { path: path.id };
        }
        self.recalls = 0;
        let sendable = connection.sendable();
        if sendable == 0 {
            return self.opportunity.end();
        }
        let ahead = self.suspects.comparable(paths);
        let mut best: Option<(u64, u64, PathId)> = None;
        for path in usable(paths).take(MAX_PATHS) {
            let room = if ahead { u64::MAX } else { u64::from(room(path)) };
            if room == 0 {
                continue;
            }
            let (mut arrival, mut segments) = (0, room);
            if self.plans(path, paths) {
                let mut rounds = Rounds::begin(path);
                rounds.take(u64::from(path.queued) + u64::from(path.lost));
                (arrival, segments) = (time(path, rounds), rounds.left.min(room));
            }
            if best.is_none_or(|(least, _, _)| arrival < least) {
                best = Some((arrival, segments, path.id));
            }
        }
        match best {
            Some((_, segments, path)) => {
                let segments = u32::try_from(segments).unwrap_or(u32::MAX);
                Decision::Assign { path, segments: clip(segments, sendable) }
            }
            None => self.opportunity.end(),
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.opportunity.on_event(event);
        self.suspects.on_event(event);
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
