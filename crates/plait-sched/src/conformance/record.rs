//! Calls of a scheduler and its answers, as they are made.

use std::boxed::Box;

use super::extremes::Extremes;
use super::run::Run;
use super::{Failure, Report};
use crate::{Capabilities, Connection, Decision, Event, Path, Scheduler, Time};

/// What a scheduler was called for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// It was told of an event.
    Event(Event),
    /// It was asked.
    Decide {
        /// The time.
        now: Time,
        /// What it answered.
        decision: Decision,
    },
}

/// A call and the facts that came with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// The call.
    pub call: Call,
    /// The facts of the connection.
    pub connection: &'a Connection,
    /// The facts of the paths.
    pub paths: &'a [Path],
}

/// Drives the scheduler that `make` makes through the case of one seed, as [`super::check`] does, and shows every call.
pub fn record(
    name: &str,
    make: &mut dyn FnMut() -> Box<dyn Scheduler>,
    seed: u64,
    observer: &mut dyn FnMut(&Record<'_>),
) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let scheduler = Recorder { scheduler: make(), observer };
    Run::new(name, (seed, super::model::FEW), Box::new(scheduler), make(), None).case(&mut report)?;
    report.cases += 1;
    Ok(report)
}

/// Shows so many opportunities with facts drawn at random: all sizes that times and amounts can have, in combinations
/// that no engine ever has. Only the arithmetic is held to be right then, and no rule is checked.
pub fn record_extremes(
    scheduler: Box<dyn Scheduler>,
    seed: u64,
    opportunities: u32,
    observer: &mut dyn FnMut(&Record<'_>),
) {
    let mut scheduler = Recorder { scheduler, observer };
    let mut extremes = Extremes::new(seed);
    for _ in 0..opportunities {
        extremes.opportunity(&mut scheduler);
    }
}

/// A scheduler whose calls are shown.
struct Recorder<'a> {
    scheduler: Box<dyn Scheduler>,
    observer: &'a mut dyn FnMut(&Record<'_>),
}

impl Scheduler for Recorder<'_> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let decision = self.scheduler.decide(now, connection, paths);
        (self.observer)(&Record { call: Call::Decide { now, decision }, connection, paths });
        decision
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.scheduler.on_event(event, connection, paths);
        (self.observer)(&Record { call: Call::Event(*event), connection, paths });
    }

    fn needs(&self) -> Capabilities {
        self.scheduler.needs()
    }

    // The records are of all calls that an engine may make: kernels know nothing of interests.
}
