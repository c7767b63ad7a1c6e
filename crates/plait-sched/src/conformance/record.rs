//! Records of a scheduler's calls and answers.

use std::boxed::Box;

use super::extremes::Extremes;
use super::run::Run;
use super::{Failure, Report};
use crate::{Capabilities, Connection, Decision, Event, Path, Scheduler, Time};

/// A call of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// The report of an event.
    Event(Event),
    /// A question.
    Decide {
        /// The time.
        now: Time,
        /// The answer.
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

/// Drives the scheduler that `make` builds through the case of one seed, as [`super::check`] does,
/// and shows every call.
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

/// Shows `opportunities` opportunities with facts drawn at random. They cover all sizes of times
/// and amounts, in combinations that no engine ever has. They test only the arithmetic; no rule is
/// checked.
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

/// A scheduler that shows its calls.
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

    // All calls that an engine may make are recorded: kernels do not know interests.
}
