//! One case: a scheduler in the model engine, and the check of its decisions.

use core::panic::AssertUnwindSafe;
use std::borrow::ToOwned;
use std::boxed::Box;
use std::panic::catch_unwind;

use super::model::Model;
use super::{Failure, Report, Rule};
use crate::{Capabilities, Connection, Decision, Event, Path, PathId, Scheduler, Time, usable};

/// Number of disturbed moments before the paths calm down.
const TROUBLE: u64 = 150;

/// Number of decisions at one moment after which the transports give up a scheduler.
const MOST_DECISIONS: u64 = 1 << 16;

pub(super) struct Run<'a> {
    name: &'a str,
    seed: u64,
    scheduler: Box<dyn Scheduler + 'a>,
    /// Gets the same calls and must give the same answers.
    twin: Box<dyn Scheduler>,
    allocations: Option<&'a dyn Fn() -> u64>,
    needs: Capabilities,
    model: Model,
    step: u64,
    decisions: u64,
}

type Verdict<T> = Result<T, Box<Failure>>;

impl<'a> Run<'a> {
    pub(super) fn new(
        name: &'a str,
        (seed, segments): (u64, u64),
        scheduler: Box<dyn Scheduler + 'a>,
        twin: Box<dyn Scheduler>,
        allocations: Option<&'a dyn Fn() -> u64>,
    ) -> Self {
        let needs = scheduler.needs();
        let model = Model::new(seed, segments, needs);
        Self { name, seed, scheduler, twin, allocations, needs, model, step: 0, decisions: 0 }
    }

    pub(super) fn case(mut self, report: &mut Report) -> Verdict<()> {
        let limit = TROUBLE + 200 + 20 * self.model.total();
        let mut until = self.ask()?;
        while !self.model.is_done() {
            self.step += 1;
            if self.step == TROUBLE {
                self.model.calm();
                until = self.ask()?;
            }
            let alive = self.model.step(until);
            if !alive && self.step < TROUBLE {
                continue;
            }
            if !alive || self.step > limit {
                return Err(self.failure(Rule::Delivery, None));
            }
            until = self.ask()?;
        }
        report.steps += self.step;
        report.decisions += self.decisions;
        report.segments += self.model.total();
        Ok(())
    }

    /// One opportunity: decisions until the answer is to wait, or nothing is left to decide about.
    fn ask(&mut self) -> Verdict<Option<Time>> {
        self.tell()?;
        let idle = self.model.is_idle();
        let mut assigned = false;
        let queued: u64 = self.model.paths.iter().map(|path| u64::from(path.queued)).sum();
        let mut left = 2 * (self.model.connection().unassigned + queued) + 16 * self.model.paths.len() as u64;
        if self.needs.reinject {
            // Every path may copy all segments that were sent or are sent meanwhile.
            left += self.model.paths.len() as u64 * self.model.total();
        }
        if self.needs.messages {
            // Every stream may be examined before each decision.
            left *= 1 + u64::from(self.model.connection().streams);
        }
        // No engine asks forever.
        left = left.min(MOST_DECISIONS);
        while self.is_asked() {
            let connection = self.model.connection();
            let decision = self.decide(&connection)?;
            if let Err(rule) = judge(&self.model, self.needs, &connection, &decision) {
                return Err(self.failure(rule, Some(decision)));
            }
            match decision {
                Decision::Assign { path, segments } => self.model.assign(path, segments),
                Decision::Reinject { path, segment } => self.model.reinject(path, segment),
                Decision::Recall { path } => self.model.recall(path),
                Decision::Limit { path, in_flight } => self.model.limit(path, in_flight),
                Decision::Penalize { path } => self.model.penalize(path),
                Decision::Defer => self.model.defer(),
                Decision::Wait { until } => {
                    let possible = connection.sendable() > 0 && usable(&self.model.paths).any(Path::is_open);
                    if idle && !assigned && possible && until.is_none() {
                        return Err(self.failure(Rule::Progress, Some(decision)));
                    }
                    return Ok(until);
                }
            }
            assigned |= matches!(decision, Decision::Assign { .. });
            self.tell()?;
            left -= 1;
            if left == 0 {
                return Err(self.failure(Rule::Ends, Some(decision)));
            }
        }
        Ok(None)
    }

    /// Copies and recalls may be possible when there is nothing to assign. The transports ask then
    /// too.
    fn is_asked(&self) -> bool {
        let recallable = || self.model.paths.iter().any(|path| path.queued > 0);
        self.model.connection().unassigned > 0 || self.needs.reinject || (self.needs.recall && recallable())
    }

    fn decide(&mut self, connection: &Connection) -> Verdict<Decision> {
        self.decisions += 1;
        let (now, paths) = (self.model.now, &self.model.paths);
        let before = self.allocations.map(|count| count());
        let decision = catch_unwind(AssertUnwindSafe(|| self.scheduler.decide(now, connection, paths)));
        let after = self.allocations.map(|count| count());
        let Ok(decision) = decision else { return Err(self.failure(Rule::NoPanic, None)) };
        if before != after {
            return Err(self.failure(Rule::NoAllocation, Some(decision)));
        }
        if self.scheduler.waits_without_room() && paths.iter().all(|path| path.room() == 0) {
            // An engine need not ask then, so the twin is not asked. Its later answers show whether
            // that matters.
            return if decision == Decision::WAIT {
                Ok(decision)
            } else {
                Err(self.failure(Rule::Rests, Some(decision)))
            };
        }
        match catch_unwind(AssertUnwindSafe(|| self.twin.decide(now, connection, paths))) {
            Ok(twin) if twin == decision => Ok(decision),
            Ok(_) => Err(self.failure(Rule::Repeatable, Some(decision))),
            Err(_) => Err(self.failure(Rule::NoPanic, None)),
        }
    }

    /// Reports the events to both schedulers.
    fn tell(&mut self) -> Verdict<()> {
        let events = core::mem::take(&mut self.model.events);
        let connection = self.model.connection();
        for event in &events {
            self.tell_one(event, &connection)?;
        }
        Ok(())
    }

    fn tell_one(&mut self, event: &Event, connection: &Connection) -> Verdict<()> {
        if !self.scheduler.interest().covers(event) {
            return Ok(());
        }
        let paths = &self.model.paths;
        let before = self.allocations.map(|count| count());
        let told = catch_unwind(AssertUnwindSafe(|| self.scheduler.on_event(event, connection, paths)));
        let after = self.allocations.map(|count| count());
        let twin = catch_unwind(AssertUnwindSafe(|| self.twin.on_event(event, connection, paths)));
        match (told, twin) {
            (Ok(()), Ok(())) if before == after => Ok(()),
            (Ok(()), Ok(())) => Err(self.failure(Rule::NoAllocation, None)),
            _ => Err(self.failure(Rule::NoPanic, None)),
        }
    }

    fn failure(&self, rule: Rule, decision: Option<Decision>) -> Box<Failure> {
        Box::new(Failure {
            name: self.name.to_owned(),
            rule,
            seed: self.seed,
            step: self.step,
            now: self.model.now,
            connection: self.model.connection(),
            paths: self.model.paths.clone(),
            decision,
        })
    }
}

/// Checks the rules that a single decision can break.
fn judge(
    model: &Model,
    needs: Capabilities,
    connection: &Connection,
    decision: &Decision,
) -> Result<(), Rule> {
    let ensure = |kept: bool, rule: Rule| if kept { Ok(()) } else { Err(rule) };
    let known = |path: PathId| model.paths.get(path.index()).ok_or(Rule::KnownPath);
    match *decision {
        Decision::Assign { path, segments } => {
            let path = known(path)?;
            ensure(usable(&model.paths).any(|usable| usable.id == path.id), Rule::UsablePath)?;
            ensure(segments > 0, Rule::SomeSegments)?;
            ensure(u64::from(segments) <= connection.unassigned, Rule::EnoughData)?;
            let now = path.is_open() && segments <= path.room();
            let at_once = now && u64::from(segments) <= connection.window_left;
            ensure(needs.assign_ahead || at_once, Rule::WithinWindow)
        }
        Decision::Recall { path } => {
            let path = known(path)?;
            ensure(needs.recall, Rule::Declared)?;
            ensure(path.queued > 0, Rule::FullQueue)
        }
        Decision::Reinject { path, segment } => {
            let path = known(path)?;
            ensure(needs.reinject, Rule::Declared)?;
            ensure(usable(&model.paths).any(|usable| usable.id == path.id), Rule::UsablePath)?;
            let known_useless = (connection.oldest_unacked)
                .is_some_and(|oldest| oldest.segment == segment && oldest.carried.contains(path.id));
            ensure(model.is_outstanding(segment) && path.is_open() && !known_useless, Rule::UsefulCopy)
        }
        Decision::Limit { path, in_flight } => {
            known(path)?;
            ensure(needs.limit, Rule::Declared)?;
            ensure(in_flight > 0, Rule::OpenLimit)
        }
        Decision::Penalize { path } => {
            known(path)?;
            ensure(needs.penalize, Rule::Declared)
        }
        Decision::Defer => ensure(needs.messages, Rule::Declared),
        Decision::Wait { until } => ensure(until.is_none_or(|until| until > model.now), Rule::FutureWait),
    }
}
