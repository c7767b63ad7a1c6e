//! A plan: schedulers and steps, by the numbers of the segments to which they apply.

use crate::scenario::SchedulerChoice;
use plait_sched::{Builtin, Capabilities, Connection, Decision, Duration, Event, Interest, MAX_PATHS};
use plait_sched::{Path, PathId, PathState, Scheduler, Time};
use serde_json::{Value, json};
use std::fmt;

/// The most segments that a step keeps in a path's queue. Endless data would fill it, and a run
/// with long queues takes minutes.
const MOST_QUEUED: u32 = 256;

/// A scheduler that decides for all segments, and steps that replace its decisions for some.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The scheduler of all segments without a step.
    pub base: SchedulerChoice,
    /// A later step comes before an earlier one.
    pub steps: Vec<Step>,
}

/// An action for consecutive segments.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The number of the first segment.
    pub first: u64,
    /// The number after the last segment.
    pub end: u64,
    /// The action.
    pub action: Action,
}

/// An action of a step.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Another scheduler decides.
    Scheduler(SchedulerChoice),
    /// Of each `period` segments, the path takes the first `count`, whether it has room or not.
    Send {
        /// The path.
        path: PathId,
        /// Segments that it takes at the start of each period.
        count: u64,
        /// Segments of a period.
        period: u64,
    },
    /// Nothing is decided for some time after the first segment could have left.
    Wait(Duration),
    /// The path also sends a copy of each segment once another path has sent it.
    Copy(PathId),
    /// At most so many segments are in flight on the path.
    Limit(PathId, u32),
}

impl Plan {
    /// The plan that leaves all decisions to a scheduler.
    pub const fn of(base: SchedulerChoice) -> Self {
        Self { base, steps: Vec::new() }
    }

    /// The plan in JSON.
    pub fn to_json(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(Step::to_json).collect();
        json!({ "base": label(&self.base), "steps": steps })
    }
}

/// A scheduler with the parameters that differ from the defaults, as commands name it.
pub fn label(choice: &SchedulerChoice) -> String {
    let default = SchedulerChoice::new(choice.name(), &[]).ok();
    let usual = default.as_ref().map_or(&[][..], SchedulerChoice::parameters);
    let changed = choice.parameters().iter().filter(|one| !usual.contains(one));
    changed.fold(choice.name().to_owned(), |text, (name, value)| {
        format!("{text}:{name}={}", value.value().to_string().trim_matches('"'))
    })
}

impl Step {
    const fn covers(&self, segment: u64) -> bool {
        self.first <= segment && segment < self.end
    }

    /// Segments from `segment` on that the step sends on its path next; 0 outside of its periods.
    const fn sends(&self, segment: u64) -> u64 {
        let Action::Send { count, period, .. } = self.action else { return 0 };
        let phase = (segment - self.first) % period;
        let left = count.saturating_sub(phase);
        if left < self.end - segment { left } else { self.end - segment }
    }

    fn to_json(&self) -> Value {
        let action = match &self.action {
            Action::Scheduler(choice) => json!({ "scheduler": label(choice) }),
            Action::Send { path, count, period } => {
                json!({ "send_on": path.0, "segments": count, "of_each": period })
            }
            Action::Wait(duration) => json!({ "wait_ns": duration.as_nanos() }),
            Action::Copy(path) => json!({ "copy_on": path.0 }),
            Action::Limit(path, in_flight) => json!({ "limit": path.0, "in_flight": in_flight }),
        };
        let end = (self.end < u64::MAX).then_some(self.end);
        json!({ "first_segment": self.first, "end_segment": end, "action": action })
    }
}

/// A scheduler that carries out a plan.
#[derive(Debug)]
pub struct Planned<'a> {
    plan: &'a Plan,
    /// The plan's schedulers with the steps that use them; the first one is the base, without a
    /// step. All of them hear all events.
    schedulers: Vec<(Option<usize>, Builtin)>,
    /// The scheduler that decided last.
    current: usize,
    /// The number after the newest segment that a step sent. A recalled segment is the
    /// scheduler's: a step and a recall in turn would never end.
    sent: u64,
    /// Per step: the time at which its wait began; whether its limit is in force.
    waits_since: Vec<Option<Time>>,
    limits: Vec<bool>,
    /// Copies to be sent.
    copies: Vec<(PathId, u64)>,
    /// Facts for the search.
    pub(super) seen: Seen,
}

/// Facts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Segments that were assigned.
    pub segments: u64,
    /// Payload of a full segment, in bytes.
    pub segment_bytes: u32,
    /// The most segments in flight on each path, during decisions.
    pub in_flight: [u32; MAX_PATHS],
}

impl<'a> Planned<'a> {
    /// Starts the plan.
    pub fn new(plan: &'a Plan) -> Self {
        let others = plan.steps.iter().enumerate().filter_map(|(step, one)| match &one.action {
            Action::Scheduler(choice) => Some((Some(step), choice.build())),
            _ => None,
        });
        Self {
            plan,
            schedulers: std::iter::once((None, plan.base.build())).chain(others).collect(),
            current: 0,
            sent: 0,
            waits_since: vec![None; plan.steps.len()],
            limits: vec![false; plan.steps.len()],
            copies: Vec::new(),
            seen: Seen::default(),
        }
    }

    fn look(&mut self, connection: &Connection, paths: &[Path]) {
        self.seen.segments = self.seen.segments.max(connection.next_segment);
        self.seen.segment_bytes = paths.first().map_or(0, |path| path.mss);
        for (most, path) in self.seen.in_flight.iter_mut().zip(paths) {
            *most = path.in_flight.max(*most);
        }
    }

    /// The step's decision, or the scheduler to ask.
    fn step(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Result<Decision, usize> {
        let next = connection.next_segment;
        for (step, in_force) in self.plan.steps.iter().zip(&mut self.limits) {
            if let Action::Limit(path, in_flight) = step.action
                && step.covers(next) != *in_force
            {
                *in_force = !*in_force;
                return Ok(Decision::Limit { path, in_flight: if *in_force { in_flight } else { u32::MAX } });
            }
        }
        if let Some(copy) = self.next_copy(connection, paths) {
            return Ok(copy);
        }
        if connection.unassigned == 0 {
            return Err(self.current);
        }
        for (index, step) in self.plan.steps.iter().enumerate().rev().filter(|(_, step)| step.covers(next)) {
            match step.action {
                Action::Scheduler(_) => {
                    let used = self.schedulers.iter().position(|(user, _)| *user == Some(index));
                    self.current = used.unwrap_or(0);
                    return Err(self.current);
                }
                Action::Send { path, .. } if next >= self.sent && takes(paths, path) => {
                    let segments = step.sends(next).min(connection.unassigned);
                    let room = MOST_QUEUED.saturating_sub(paths[path.index()].queued);
                    if segments > 0 && room == 0 {
                        return Ok(Decision::WAIT);
                    }
                    let segments = segments.min(u64::from(room));
                    if segments > 0 {
                        self.sent = next + segments;
                        return Ok(Decision::Assign { path, segments: segments as u32 });
                    }
                }
                Action::Wait(duration) => {
                    let until = *self.waits_since[index].get_or_insert(now) + duration;
                    if now < until {
                        return Ok(Decision::Wait { until: Some(until) });
                    }
                }
                _ => {}
            }
        }
        self.current = 0;
        Err(0)
    }

    /// The next copy of a segment that has not arrived, on a path with room.
    fn next_copy(&mut self, connection: &Connection, paths: &[Path]) -> Option<Decision> {
        if self.copies.is_empty() {
            return None;
        }
        let oldest = connection.oldest_unacked.map_or(u64::MAX, |oldest| oldest.segment);
        self.copies.retain(|(_, segment)| *segment >= oldest);
        let open = |path: PathId| paths.get(path.index()).is_some_and(Path::is_open);
        let place = self.copies.iter().position(|(path, _)| open(*path))?;
        let (path, segment) = self.copies.remove(place);
        Some(Decision::Reinject { path, segment })
    }

    fn copies_on(&self, segment: u64, carrier: PathId) -> impl Iterator<Item = PathId> + use<'a> {
        self.plan.steps.iter().filter_map(move |step| match step.action {
            Action::Copy(path) if step.covers(segment) && path != carrier => Some(path),
            _ => None,
        })
    }
}

/// True if the path takes new data.
fn takes(paths: &[Path], path: PathId) -> bool {
    paths.get(path.index()).is_some_and(|path| path.state == PathState::Active)
}

impl Scheduler for Planned<'_> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.look(connection, paths);
        match self.step(now, connection, paths) {
            Ok(decision) => decision,
            Err(scheduler) => self.schedulers[scheduler].1.decide(now, connection, paths),
        }
    }

    /// With steps, the reason begins with the name of the scheduler, or says that a step decided.
    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.look(connection, paths);
        match self.step(now, connection, paths) {
            Ok(decision) => {
                // Writing to a text in memory cannot fail.
                let _ = reason.write_str("a step of the plan");
                decision
            }
            Err(scheduler) => {
                let scheduler = &mut self.schedulers[scheduler].1;
                if !self.plan.steps.is_empty() {
                    let _ = write!(reason, "{scheduler}: ");
                }
                scheduler.decide_with_reason(now, connection, paths, reason)
            }
        }
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        if let Event::Sent { path, segment, retransmission: false } = *event {
            let copies: Vec<_> = self.copies_on(segment, path).map(|path| (path, segment)).collect();
            self.copies.extend(copies);
        }
        for (_, scheduler) in &mut self.schedulers {
            if scheduler.interest().covers(event) {
                scheduler.on_event(event, connection, paths);
            }
        }
    }

    fn needs(&self) -> Capabilities {
        let schedulers = self.schedulers.iter().map(|(_, scheduler)| scheduler.needs());
        let steps = self.plan.steps.iter().map(|step| match step.action {
            Action::Send { .. } => Capabilities { assign_ahead: true, ..Capabilities::NONE },
            Action::Copy(_) => Capabilities { reinject: true, ..Capabilities::NONE },
            Action::Limit(..) => Capabilities { limit: true, ..Capabilities::NONE },
            Action::Scheduler(_) | Action::Wait(_) => Capabilities::NONE,
        });
        schedulers.chain(steps).fold(Capabilities::NONE, Capabilities::and)
    }

    fn interest(&self) -> Interest {
        let copies = self.plan.steps.iter().any(|step| matches!(step.action, Action::Copy(_)));
        let own = if copies { Interest::SENT } else { Interest::NONE };
        self.schedulers.iter().map(|(_, scheduler)| scheduler.interest()).fold(own, Interest::and)
    }

    fn waits_without_room(&self) -> bool {
        self.plan.steps.is_empty() && self.schedulers[0].1.waits_without_room()
    }

    fn send_memory(&self) -> Option<u64> {
        self.schedulers[self.current].1.send_memory()
    }
}
