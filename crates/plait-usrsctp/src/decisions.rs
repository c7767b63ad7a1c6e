//! The scheduler of a run: it decides for the stack whenever the process asks, with the facts that
//! the process sends (`usrsctp/host/schedule.c`).

use plait_sched::{Capabilities, Connection, Decision, Duration, Path, Scheduler, Time};
use plait_sched_ffi::bytes;
use plait_sim::scenario::Scenario;
use plait_transport::{Error, MAX_DECISIONS_PER_OPPORTUNITY, MAX_QUEUED, SchedulerFault};
use std::fmt;

/// The capabilities of the stack with a scheduler. It sends no copies, and messages have no
/// deadlines. It chooses the path of a retransmission itself.
pub const OFFERED: Capabilities =
    Capabilities { assign_ahead: true, recall: true, limit: true, penalize: true, ..Capabilities::NONE };

/// A scheduler, and the costs and weights of the scenario's paths.
pub(crate) struct Decisions<'s> {
    scheduler: &'s mut dyn Scheduler,
    needs: Capabilities,
    /// Cost and weight of each path.
    choices: Vec<(u32, u32)>,
    /// The stack's clock at the scenario's time 0; `None` until the association is open.
    begin: Option<Duration>,
    /// Decisions since the last wait, without assigned segments.
    decided: u32,
}

impl fmt::Debug for Decisions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decisions").field("needs", &self.needs).field("begin", &self.begin).finish()
    }
}

impl<'s> Decisions<'s> {
    /// Returns an error if the scheduler needs a capability that the stack lacks.
    pub(crate) fn new(scheduler: &'s mut dyn Scheduler, scenario: &Scenario) -> Result<Self, String> {
        let needs = scheduler.needs();
        if let Some(lacking) = needs.missing_from(OFFERED) {
            return Err(format!("the scheduler needs {lacking}, which FreeBSD's stack lacks"));
        }
        let choices = scenario.paths.iter().map(|path| (path.cost, path.weight)).collect();
        Ok(Self { scheduler, needs, choices, begin: None, decided: 0 })
    }

    /// The events that the process reports, as bits of `plait_sched.h`.
    pub(crate) fn interest(&self) -> u32 {
        plait_sched_ffi::decision::interest_bits(self.scheduler.interest())
    }

    /// The association is open: the scenario's time begins.
    pub(crate) fn begin(&mut self, begin: Duration) {
        self.begin = Some(begin);
    }

    /// Returns the `plait_decision` about the facts that the process sent at the stack's time
    /// `now`.
    pub(crate) fn decide(&mut self, now: Time, body: &[u8]) -> Result<Vec<u8>, String> {
        let (connection, paths) = self.facts(body)?;
        let Some(begin) = self.begin else { return Ok(bytes::decision(&Decision::WAIT)) };
        let at = Time::ZERO + now.since(Time::ZERO + begin);
        let fault = |fault| Error::Scheduler { at, fault }.to_string();
        let mut decision = self.ask(at, &connection, &paths);
        self.check(at, &decision, &connection, &paths).map_err(fault)?;
        if let Decision::Wait { until: Some(until) } = &mut decision {
            *until += begin;
        }
        Ok(bytes::decision(&decision))
    }

    /// Takes an event with the facts after it.
    pub(crate) fn on_event(&mut self, body: &[u8]) -> Result<(), String> {
        let (event, rest) = bytes::event(body)?;
        let (connection, paths) = self.facts(rest)?;
        if self.begin.is_some() {
            self.scheduler.on_event(&event, &connection, &paths);
        }
        Ok(())
    }

    fn facts(&self, body: &[u8]) -> Result<(Connection, Vec<Path>), String> {
        let (connection, mut paths) = bytes::facts(body)?;
        for (path, &(cost, weight)) in paths.iter_mut().zip(&self.choices) {
            (path.cost, path.weight) = (cost, weight);
        }
        Ok((connection, paths))
    }

    /// As in the simulation: nobody is asked about nothing, and a path's queue is finite.
    fn ask(&mut self, at: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let queued = paths.iter().any(|path| path.queued > 0);
        if connection.unassigned == 0 && !(self.needs.recall && queued) {
            return Decision::WAIT;
        }
        let decision = self.scheduler.decide(at, connection, paths);
        match decision {
            Decision::Assign { path, .. }
                if paths.get(path.index()).is_some_and(|path| path.queued as usize >= MAX_QUEUED) =>
            {
                Decision::WAIT
            }
            decision => decision,
        }
    }

    fn check(
        &mut self,
        at: Time,
        decision: &Decision,
        connection: &Connection,
        paths: &[Path],
    ) -> Result<(), SchedulerFault> {
        self.decided += 1;
        let known = |path: plait_sched::PathId| {
            let unknown = SchedulerFault::UnknownPath { path, paths: paths.len() };
            paths.get(path.index()).ok_or(unknown)
        };
        let declared = |used: Capabilities| {
            used.missing_from(self.needs).map_or(Ok(()), |name| Err(SchedulerFault::Undeclared(name)))
        };
        match *decision {
            Decision::Assign { path, segments } => {
                let (facts, wanted) = (known(path)?, u64::from(segments));
                if wanted == 0 {
                    return Err(SchedulerFault::NothingAssigned(path));
                }
                if !facts.is_usable() {
                    return Err(SchedulerFault::UnusablePath(path, facts.state));
                }
                if wanted > connection.unassigned {
                    return Err(SchedulerFault::OverAssigned { wanted, unassigned: connection.unassigned });
                }
                if wanted > u64::from(facts.room()).min(connection.window_left) {
                    declared(Capabilities { assign_ahead: true, ..Capabilities::NONE })?;
                }
                self.decided = 0;
            }
            Decision::Recall { path } => {
                known(path)?;
                declared(Capabilities { recall: true, ..Capabilities::NONE })?;
            }
            Decision::Limit { path, in_flight } => {
                known(path)?;
                declared(Capabilities { limit: true, ..Capabilities::NONE })?;
                if in_flight == 0 {
                    return Err(SchedulerFault::ClosedLimit(path));
                }
            }
            Decision::Penalize { path } => {
                known(path)?;
                declared(Capabilities { penalize: true, ..Capabilities::NONE })?;
            }
            Decision::Reinject { .. } => return Err(SchedulerFault::Undeclared("reinject")),
            Decision::Defer => return Err(SchedulerFault::Undeclared("messages")),
            Decision::Wait { until } => {
                if let Some(past) = until.filter(|&until| until <= at) {
                    return Err(SchedulerFault::PastWait(past));
                }
                self.decided = 0;
            }
        }
        if self.decided > MAX_DECISIONS_PER_OPPORTUNITY { Err(SchedulerFault::NeverWaits) } else { Ok(()) }
    }
}
