//! The best schedule that a search finds with knowledge of the future. It repeats the run of a
//! scenario with other plans, and keeps the plans with the best results.
//!
//! Runs are deterministic. So a run from the start, with one step more in its plan, is a fork of the
//! run without the step. The first plans are the built-in schedulers themselves. So the best plan
//! found is never worse than the best of them.
//!
//! | file | content |
//! |---|---|
//! | `plan.rs` | a plan: a scheduler and steps; the scheduler that carries it out |
//! | `search.rs` | which plans to try |
//! | `variation.rs` | plans that differ from a good one |
//!
//! The caller makes the runs, on threads and until a time of its choice. The result depends only on
//! the number of runs.

mod plan;
mod search;
mod variation;

pub use plan::{Action, Plan, Planned, Seen, Step, label};
pub use search::{Entry, Search};

use crate::application::Workload;
use crate::recorder::RecordOptions;
use crate::result::{Metrics, RunResult};
use crate::scenario::Scenario;
use crate::simulation::{self, Control, RunError};

/// Whether the scenario's workload has a value to search for.
pub const fn is_searchable(scenario: &Scenario) -> bool {
    matches!(scenario.workload, Workload::Bulk(_) | Workload::File(_) | Workload::ConstantRate(_))
}

/// The value of a run, in the unit of the metric: goodput of bulk data in bits per second,
/// completion time of a file in seconds, mean delay of blocks in milliseconds.
///
/// Blocks that were not delivered count too, by half of the time of their backlog, which is their
/// mean age at the end, if that is more than the mean delay. Otherwise a schedule would gain by a
/// stall. Returns nothing if the run has no such value.
pub fn value(scenario: &Scenario, metrics: &Metrics) -> Option<f64> {
    match &scenario.workload {
        Workload::Bulk(_) => Some(metrics.goodput_bps).filter(|&goodput| goodput > 0.0),
        Workload::File(_) => metrics.completion_time_s,
        Workload::ConstantRate(blocks) => {
            let mean = metrics.block_delay_ms?.mean;
            let backlog = metrics.undelivered_bytes.unwrap_or(0) as f64 * 8.0 / blocks.rate as f64;
            let share = (backlog / metrics.measured_s.max(f64::MIN_POSITIVE)).min(1.0);
            Some(mean + share * (backlog / 2.0 * 1e3 - mean).max(0.0))
        }
        _ => None,
    }
}

/// The outcome of a plan.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outcome {
    /// The run's value; nothing if the run failed or has none.
    pub value: Option<f64>,
    /// Facts of the run.
    pub seen: Seen,
}

/// Runs a plan, and records `options`.
///
/// # Errors
/// Those of [`simulation::run`].
pub fn run(
    scenario: &Scenario,
    plan: &Plan,
    options: &RecordOptions,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    simulation::run(scenario, &mut Planned::new(plan), options, control)
}

/// Runs a plan for its value. Returns nothing if the caller interrupts.
pub fn evaluate(
    scenario: &Scenario,
    plan: &Plan,
    control: &mut dyn FnMut(f64) -> Control,
) -> Option<Outcome> {
    let mut planned = Planned::new(plan);
    let value = match simulation::run(scenario, &mut planned, &RecordOptions::default(), control) {
        Ok(result) => value(scenario, &result.metrics),
        Err(RunError::Interrupted) => return None,
        Err(_) => None,
    };
    Some(Outcome { value, seen: planned.seen })
}
