//! Makes simulated runs: plain runs, runs with packet captures, runs over real QUIC connections,
//! and runs of FreeBSD's SCTP stack.

use crate::{OutputError, RunError};
use plait_capture::write::{Capture, Role, WriteError};
use plait_quic::tunnels::Tunnels;
use plait_sched::Scheduler;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control};
use plait_usrsctp::Stack;
use pyo3::PyErr;
use std::path::{Path, PathBuf};

/// Locations for the captures of a run.
#[derive(Clone, Debug)]
pub(crate) struct Captures {
    /// One prefix per path; `-sender.pcapng` and `-receiver.pcapng` are appended.
    pub(crate) places: Vec<PathBuf>,
    /// The scheduler, for the files' comment.
    pub(crate) scheduler: String,
}

impl Captures {
    fn file(&self, path: usize, role: Role) -> PathBuf {
        let mut name = self.places[path].clone().into_os_string();
        name.push(format!("-{}.pcapng", role.name()));
        name.into()
    }
}

/// Contents of a run's links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encapsulation<'a> {
    /// The packets of the ends.
    Packets,
    /// QUIC connections that carry these packets.
    Quic,
    /// The packets of FreeBSD's stack, which this program has, instead of the ends'. The scenario's
    /// scheduler may be the stack's own.
    Usrsctp(&'a Path),
    /// The same, with another scheduler than the scenario's.
    UsrsctpScheduled(&'a Path),
}

/// Reason why a run has no result.
pub(crate) enum Failure {
    Run(simulation::RunError),
    /// The connections could not be opened.
    Opening(plait_quic::Error),
    /// The association of FreeBSD's stack could not be opened.
    Stack(plait_usrsctp::ProcessError),
    Output(WriteError),
    /// A scheduler of the user could not be built, failed, or never sent anything. Or another class
    /// of a shared library failed.
    Scheduler(String),
}

impl Failure {
    /// Converts the failure into a Python exception. `scenario` and `scheduler` are the run's.
    pub(crate) fn exception(&self, scenario: &str, scheduler: &str) -> PyErr {
        match self {
            Self::Run(simulation::RunError::Connection(error @ plait_transport::Error::Scheduler { .. })) => {
                RunError::new_err(format!("{scenario}: {scheduler}: {error}"))
            }
            Self::Run(error) => RunError::new_err(format!("{scenario}: {error}")),
            Self::Opening(error) => RunError::new_err(format!("{scenario}: {error}")),
            Self::Stack(error) => RunError::new_err(format!("{scenario}: {error}")),
            Self::Output(error) => OutputError::new_err(error.to_string()),
            Self::Scheduler(message) => RunError::new_err(format!("{scenario}: {message}")),
        }
    }
}

/// Makes a run, and its captures if `captures` is given and the run is still `wanted` at its end.
/// Runs over QUIC connections write no captures, because those would contain nothing readable; runs
/// of FreeBSD's stack write none either.
///
/// `scheduler` is a trait object: an engine for every type of scheduler and every wire would take
/// most of this crate's compile time.
pub(crate) fn simulate(
    scenario: &Scenario,
    scheduler: &mut dyn Scheduler,
    options: &RecordOptions,
    (encapsulation, captures): (Encapsulation<'_>, Option<&Captures>),
    control: &mut dyn FnMut(f64) -> Control,
    wanted: impl FnOnce() -> bool,
) -> Result<RunResult, Failure> {
    match encapsulation {
        Encapsulation::Packets => {}
        Encapsulation::Quic => {
            let tunnels = Tunnels::new(scenario).map_err(Failure::Opening)?;
            return simulation::run_carried(scenario, scheduler, options, tunnels, control)
                .map_err(Failure::Run);
        }
        Encapsulation::Usrsctp(program) if plait_usrsctp::takes_turns(scenario) => {
            let stack = Stack::new(scenario, program, None).map_err(Failure::Stack)?;
            return simulation::run_carried(scenario, scheduler, options, stack, control)
                .map_err(Failure::Run);
        }
        Encapsulation::Usrsctp(program) | Encapsulation::UsrsctpScheduled(program) => {
            let stack = Stack::new(scenario, program, Some(scheduler)).map_err(Failure::Stack)?;
            // The ends, which send nothing, need a scheduler too.
            let unused = scenario.scheduler.build();
            return simulation::run_carried(scenario, unused, options, stack, control).map_err(Failure::Run);
        }
    }
    let Some(captures) = captures else {
        return simulation::run(scenario, scheduler, options, control).map_err(Failure::Run);
    };
    let file_of = |path, role| captures.file(path, role);
    let mut capture = Capture::create(scenario, &captures.scheduler, &file_of).map_err(Failure::Output)?;
    let result = simulation::run_tapped(scenario, scheduler, options, &mut capture, control);
    // A full disk ends the run; the capture knows the reason.
    if let Some(error) = capture.error() {
        return Err(Failure::Output(error.clone()));
    }
    let result = result.map_err(Failure::Run)?;
    if !wanted() {
        return Err(Failure::Run(simulation::RunError::Interrupted));
    }
    capture.finish().map_err(Failure::Output)?;
    Ok(result)
}

/// Returns the scheduler with its parameters in the syntax of the command line.
pub(crate) fn scheduler_text(scenario: &Scenario) -> String {
    let choice = &scenario.to_json()["scheduler"];
    let parameters = choice.as_object().into_iter().flatten().filter(|(key, _)| *key != "name");
    let value = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    parameters.fold(scenario.scheduler.name().to_owned(), |text, (key, given)| {
        format!("{text}:{key}={}", value(given))
    })
}
