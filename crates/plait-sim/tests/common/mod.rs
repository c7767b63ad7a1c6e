//! Scenarios from TOML, and runs of them.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control, RunError};
use std::path::Path;

/// Everything that can be recorded.
pub(crate) const ALL: RecordOptions = RecordOptions {
    packets: true,
    series: Some(plait_sched::Duration::from_millis(500)),
    decisions: true,
    decisions_from: plait_sched::Time::ZERO,
};

/// One row per transmission.
pub(crate) const PACKETS: RecordOptions =
    RecordOptions { packets: true, series: None, decisions: false, decisions_from: plait_sched::Time::ZERO };

/// Reads a scenario that is known to be valid.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml", Path::new(".")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs it with its own scheduler, recording `options`.
pub(crate) fn try_run(scenario: &Scenario, options: &RecordOptions) -> Result<RunResult, RunError> {
    simulation::run(scenario, scenario.scheduler.build(), options, &mut |_share| Control::Continue)
}

/// As [`try_run`], for a scenario that has to work.
pub(crate) fn run_with(text: &str, options: &RecordOptions) -> RunResult {
    try_run(&scenario(text), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The metrics of a scenario that has to work.
pub(crate) fn run(text: &str) -> RunResult {
    run_with(text, &RecordOptions::default())
}
