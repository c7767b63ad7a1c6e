//! DAPS, the literal algorithm: some segments go on the fast path and the next ones on the slow
//! path, so that they arrive in order.
//!
//! # Source
//! Kuhn et al., *DAPS: Intelligent Delay-Aware Packet Scheduling for Multipath Transport* (IEEE ICC
//! 2014). Algorithm 3 makes a schedule, Algorithm 2 transmits it:
//! * if at most cwnd_f − unack_f segments are left to send, the fast path takes them all;
//! * η = ⌊r_s / r_f⌋; max_f = min(η, cwnd_f − unack_f);
//! * the next max_f segments go on the fast path f, the cwnd_s − unack_s after them on the slow
//!   path s;
//! * in this order, as far as the receiver's window admits. The remaining segments are scheduled
//!   again, "giving priority to the packets with the lowest TSN by sending them on the fast path".
//!
//! The engine decides which data is retransmitted, and on which path.
//!
//! # Readings
//! The paper leaves three questions open; all answers are here.
//! * `fast_limit`: "literal" is the formula as printed, which limits the segments that *one
//!   schedule* puts on f. A new schedule at every acknowledgement still fills cwnd_f, and a queue
//!   grows on f. "outstanding" is max_f = min(η, cwnd_f) − unack_f: η limits the segments *in
//!   flight* on f, the number that "path p_f transmits during the longest forward delay". But then
//!   f has nothing left to send before the segments that leave on s now. "reserved", the default,
//!   takes both sentences literally: a schedule puts min(η, cwnd_f − unack_f) segments on f, of
//!   which at most η are in flight. The others keep their numbers and wait, so s carries later
//!   ones.
//! * `schedule`: "anew" makes one schedule per opportunity (the decisions at one moment, until the
//!   answer is to wait), and drops the segments that the window did not admit. "to-end" keeps them
//!   until the window admits them, and then makes the next schedule at once.
//! * `round_trip`: how r_s and r_f are measured, see [`super::round_trip`].
//!
//! # Departures
//! * The inner `while` of Algorithm 2 would send one element until the window is full; it is read
//!   as `if`. So an element whose path has no congestion window (any more) is skipped, not waited
//!   for.
//! * With more than two paths, the slow ones follow by ascending RTT. Each comes after the share of
//!   the fast path that its own η gives: f up to η₁, s₁, f up to η₂, s₂, … For two paths this is
//!   the paper's schedule.
//! * A single usable path is filled. While the RTT of a usable path is unknown, round-robin
//!   decides.
//!
//! # Progress
//! If nothing is in flight and some path is open, a schedule is never empty. An open f with nothing
//! in flight has max_f ≥ 1, since η ≥ 1 and cwnd_f ≥ 1. Any other open path puts its own room into
//! the schedule.

use core::fmt;

use super::guard::{ASYMMETRY, ENABLED, Guard};
use super::opportunity::Opportunity;
use super::round_robin::RoundRobin;
use super::round_trip::{ROUND_TRIP, RoundTrip};
use super::{clip, room, room_now};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// The segments that η limits on the fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FastLimit {
    /// The segments in flight: min(η, cwnd_f) − unack_f.
    Outstanding,
    /// The segments of one schedule: min(η, cwnd_f − unack_f).
    Literal,
    /// The segments of one schedule, as in [`FastLimit::Literal`], and separately those in flight,
    /// by η.
    Reserved,
}

/// The lifetime of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifetime {
    /// One opportunity.
    Anew,
    /// Until all of it has been sent, or skipped for lack of a congestion window.
    ToEnd,
}

/// The state of DAPS.
#[derive(Clone, Debug)]
pub struct Daps {
    fast_limit: FastLimit,
    lifetime: Lifetime,
    round_trip: RoundTrip,
    guard: Option<Guard>,
    rotation: RoundRobin,
    opportunity: Opportunity,
    /// True if round-robin decides for the rest of this opportunity.
    blind: bool,
    /// True if a schedule may still be made in this opportunity.
    may_plan: bool,
    schedule: Schedule,
}

impl Daps {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "daps",
        title: "DAPS",
        summary: "The next ⌊r_s/r_f⌋ segments go on the fast path, those after them on the slow path; meant for windows of few segments, since it leaves a fast path with a larger window idle.",
        source: "Kuhn et al., DAPS, IEEE ICC 2014: Algorithms 2 and 3",
        needs: Capabilities { limit: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "fast_limit",
                doc: "The segments on the fast path that r_s/r_f limits: those in flight (outstanding), those of one schedule (literal), or both, while the others keep their place (reserved).",
                default: Value::Text("reserved"),
                domain: Domain::Choice(&["reserved", "outstanding", "literal"]),
            },
            ParameterInfo {
                name: "schedule",
                doc: "A new schedule at each opportunity to send (anew), or only when all segments of the last one were sent (to-end).",
                default: Value::Text("anew"),
                domain: Domain::Choice(&["anew", "to-end"]),
            },
            ROUND_TRIP,
            ENABLED,
            ASYMMETRY,
        ],
    };

    /// Creates one of the readings, with or without the guard of §III.C.
    pub const fn new(
        fast_limit: FastLimit,
        lifetime: Lifetime,
        round_trip: RoundTrip,
        guard: Option<Guard>,
    ) -> Self {
        Self {
            fast_limit,
            lifetime,
            round_trip,
            guard,
            rotation: RoundRobin::new(None),
            opportunity: Opportunity::NEW,
            blind: false,
            may_plan: false,
            schedule: Schedule::EMPTY,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let fast_limit = match parameters.text("fast_limit") {
            "literal" => FastLimit::Literal,
            "outstanding" => FastLimit::Outstanding,
            _ => FastLimit::Reserved,
        };
        let lifetime = match parameters.text("schedule") {
            "to-end" => Lifetime::ToEnd,
            _ => Lifetime::Anew,
        };
        let round_trip = RoundTrip::from_parameters(parameters);
        Self::new(fast_limit, lifetime, round_trip, Guard::from_parameters(parameters, round_trip))
    }

    /// For [`FastLimit::Reserved`]: returns the first limit that η has to change, if any.
    fn hold_back(&self, paths: &[Path]) -> Option<Decision> {
        if self.fast_limit != FastLimit::Reserved {
            return None;
        }
        let (mut fast, mut eta) = (None, u64::MAX);
        if !self.blind && usable(paths).nth(1).is_some() {
            let round_trip = |path: &Path| self.round_trip.of(path);
            fast = usable(paths).min_by_key(|path| round_trip(path)).map(|path| (path.id, round_trip(path)));
            let slowest = usable(paths).map(round_trip).max();
            eta = fast.zip(slowest).and_then(|((_, r_f), r_s)| r_s.checked_div(r_f)).unwrap_or(1);
        }
        paths.iter().find_map(|path| {
            let is_fast = fast.is_some_and(|(id, _)| id == path.id);
            let in_flight = if is_fast { clip(u32::MAX, eta) } else { u32::MAX };
            (path.limit != in_flight).then_some(Decision::Limit { path: path.id, in_flight })
        })
    }

    fn begin(&mut self, paths: &[Path]) {
        let measured = usable(paths).all(Path::has_rtt);
        // The guard also checks while paths are unmeasured, because it compares with its last
        // check.
        let admitted = self.guard.as_mut().is_none_or(|guard| guard.admits(paths));
        self.blind = !(measured && admitted);
        self.may_plan = true;
        if self.blind || self.lifetime == Lifetime::Anew {
            self.schedule.clear();
        }
    }
}

impl Scheduler for Daps {
    #[inline]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.opportunity.begins(now) {
            self.begin(paths);
        }
        if self.may_plan
            && let Some(decision) = self.hold_back(paths)
        {
            return decision;
        }
        let sendable = connection.sendable();
        if sendable == 0 {
            return self.opportunity.end();
        }
        if self.blind {
            return match self.rotation.decide(now, connection, paths) {
                Decision::Wait { .. } => self.opportunity.end(),
                decision => decision,
            };
        }
        loop {
            if let Some((path, segments)) = self.schedule.next(sendable, paths) {
                return Decision::Assign { path, segments };
            }
            if !self.may_plan {
                return self.opportunity.end();
            }
            self.schedule.make(self.fast_limit, self.round_trip, connection.unassigned, paths);
            // A new schedule consists of room that exists now, so it has a next element unless it
            // is empty.
            self.may_plan = self.lifetime == Lifetime::ToEnd && self.schedule.len > 0;
        }
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let decision = self.decide(now, connection, paths);
        // Writing to a text in memory cannot fail.
        let _ = match decision {
            Decision::Assign { .. } if self.blind => {
                reason.write_str("round-robin: a path is not measured, or the guard forbids a schedule")
            }
            Decision::Assign { path, segments } => self.schedule.write(path, segments, reason),
            Decision::Limit { path, in_flight } if in_flight != u32::MAX => {
                write!(reason, "f is {{{}}}; η = ⌊r_s/r_f⌋ = {in_flight} for the slowest path", path.0)
            }
            _ => Ok(()),
        };
        decision
    }

    fn needs(&self) -> Capabilities {
        Capabilities { limit: self.fast_limit == FastLimit::Reserved, ..Capabilities::NONE }
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.opportunity.on_event(event);
        if let Some(guard) = &mut self.guard {
            guard.on_event(event);
        }
    }
}

/// Consecutive elements of a schedule on the same path.
#[derive(Clone, Copy, Debug)]
struct Leg {
    path: PathId,
    segments: u32,
}

/// S of the paper: the paths of the next segments, in order. It contains no segment numbers,
/// because the data queue hands out the segments in order.
#[derive(Clone, Debug)]
struct Schedule {
    legs: [Leg; 2 * MAX_PATHS],
    len: u8,
    at: u8,
    /// f of the schedule.
    fast: PathId,
    /// η of each slow path of the schedule; otherwise 0.
    etas: [u64; MAX_PATHS],
}

impl Schedule {
    const EMPTY: Self = Self {
        legs: [Leg { path: PathId(0), segments: 0 }; 2 * MAX_PATHS],
        len: 0,
        at: 0,
        fast: PathId(0),
        etas: [0; MAX_PATHS],
    };

    fn clear(&mut self) {
        (self.len, self.at) = (0, 0);
    }

    /// Appends elements, at most the `left` ones that remain to be scheduled.
    fn append(&mut self, path: PathId, segments: u32, left: &mut u64) {
        let segments = clip(segments, *left);
        *left -= u64::from(segments);
        if segments > 0 {
            self.legs[usize::from(self.len)] = Leg { path, segments };
            self.len += 1;
        }
    }

    /// Writes η of each slow path, and the plan from the decision `path`, `segments` on.
    fn write(&self, path: PathId, segments: u32, reason: &mut dyn fmt::Write) -> fmt::Result {
        write!(reason, "f is {{{}}}; ", self.fast.0)?;
        for (slow, eta) in self.etas.iter().enumerate().filter(|(_, eta)| **eta > 0) {
            write!(reason, "η = ⌊r_s/r_f⌋ = {eta} for {{{slow}}}; ")?;
        }
        let mut together = Leg { path, segments };
        let mut before = "plan: ";
        let left = self.legs[usize::from(self.at)..usize::from(self.len)].iter();
        for leg in left.filter(|leg| leg.segments > 0) {
            if leg.path == together.path {
                together.segments += leg.segments;
                continue;
            }
            write!(reason, "{before}{} on {{{}}}", together.segments, together.path.0)?;
            (together, before) = (*leg, ", ");
        }
        write!(reason, "{before}{} on {{{}}}", together.segments, together.path.0)
    }

    /// Algorithm 2: returns the next elements that can be transmitted now. `sendable` is not zero.
    fn next(&mut self, sendable: u64, paths: &[Path]) -> Option<(PathId, u32)> {
        while self.at < self.len {
            let leg = &mut self.legs[usize::from(self.at)];
            let room = paths.get(leg.path.index()).map_or(0, |path| room_now(path, paths));
            let segments = clip(leg.segments.min(room), sendable);
            leg.segments -= segments;
            // The rest of a leg waits only for the receiver's window. Without a congestion window
            // it is dropped.
            if leg.segments == 0 || segments == room {
                self.at += 1;
            }
            if segments > 0 {
                return Some((leg.path, segments));
            }
        }
        None
    }

    /// Algorithm 3, for one or more measured paths.
    fn make(&mut self, limit: FastLimit, round_trip: RoundTrip, unassigned: u64, paths: &[Path]) {
        self.clear();
        let mut order = [0_u8; MAX_PATHS];
        let mut count = 0;
        for path in usable(paths).take(MAX_PATHS) {
            // Insertion keeps equal times in the order of their numbers.
            let slower = |&i: &u8| round_trip.of(&paths[usize::from(i)]) > round_trip.of(path);
            let place = order[..count].iter().position(slower).unwrap_or(count);
            order.copy_within(place..count, place + 1);
            order[place] = path.id.0;
            count += 1;
        }
        let Some((&fast, slow)) = order[..count].split_first() else { return };
        let fast = &paths[usize::from(fast)];
        (self.fast, self.etas) = (fast.id, [0; MAX_PATHS]);
        let room_f = room(fast);
        let mut left = unassigned;
        if slow.is_empty() || unassigned <= u64::from(room_f) {
            self.append(fast.id, room_f, &mut left);
            return;
        }
        let mut on_fast = 0;
        for &slow in slow {
            let slow = &paths[usize::from(slow)];
            let eta = round_trip.of(slow).checked_div(round_trip.of(fast)).unwrap_or(1);
            self.etas[slow.id.index()] = eta;
            let most = match limit {
                FastLimit::Literal | FastLimit::Reserved => clip(room_f, eta),
                FastLimit::Outstanding => clip(fast.cwnd, eta)
                    .saturating_sub(fast.in_flight)
                    .saturating_sub(fast.queued)
                    .min(room_f),
            };
            self.append(fast.id, most - on_fast, &mut left);
            on_fast = most;
            self.append(slow.id, room(slow), &mut left);
        }
    }
}

#[cfg(test)]
mod tests;
