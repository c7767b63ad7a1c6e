//! The search for the best schedule: its runs on several threads, until a time or a number of runs.

use crate::jobs::Job;
use crate::run::Run;
use crate::{RunError, bad_input};
use plait_sim::oracle::{self, Entry, Outcome, Plan, Search};
use plait_sim::scenario::Scenario;
use plait_sim::simulation::Control;
use pyo3::prelude::*;
use serde_json::json;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Interval between two checks for a keyboard interrupt and between two progress reports.
const POLL: Duration = Duration::from_millis(50);

/// Adds this file's function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(oracle_search, module)?)
}

/// The end of a search, and its progress.
#[derive(Default)]
struct State {
    /// Set when the time is over. The runs of the schedulers continue.
    over: AtomicBool,
    /// Set to stop at once.
    interrupted: AtomicBool,
    runs: AtomicU64,
}

/// Searches the best schedule of the job's scenario. Returns its run, with the job's records, and
/// the plan in JSON. The schedulers themselves run first, even if `seconds` pass meanwhile.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
#[pyo3(signature = (job, *, seconds, evaluations = None, threads = 0, progress = None))]
fn oracle_search(
    py: Python<'_>,
    job: Py<Job>,
    seconds: f64,
    evaluations: Option<u64>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Run, String)> {
    let job = job.get();
    let scenario = job.scenario();
    if !oracle::is_searchable(scenario) {
        return Err(bad_input(
            "oracle: the workload has no value to search for; expected one of: bulk, file, cbr",
        ));
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads };
    let most = evaluations.unwrap_or(u64::MAX);
    let state = State::default();
    let begin = now();
    let (sender, mut receiver) = mpsc::channel();
    let found = std::thread::scope(|scope| {
        let state = &state;
        scope.spawn(move || {
            // The receiver is gone after an interrupt.
            let _ = sender.send(search(scenario, most, threads, state));
        });
        loop {
            let results = &mut receiver;
            match py.detach(move || results.recv_timeout(POLL)) {
                Ok(found) => return Ok(found),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let elapsed = now().duration_since(begin).as_secs_f64();
            if elapsed >= seconds {
                state.over.store(true, Ordering::Relaxed);
            }
            let runs = state.runs.load(Ordering::Relaxed) as f64 / most as f64;
            let told = py.check_signals().and_then(|()| {
                let share = (elapsed / seconds).max(runs).min(1.0);
                progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (share,)).map(|_| ()))
            });
            if let Err(error) = told {
                state.interrupted.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    })?;
    let Some((best, scheduler)) = found else {
        let message = "oracle: no scheduler's run has a value: nothing is delivered";
        return Err(RunError::new_err(format!("{}: {message}", scenario.name)));
    };
    let options = job.options();
    let result = py.detach(|| oracle::run(scenario, &best.plan, options, &mut |_| Control::Continue));
    let result = result.map_err(|error| RunError::new_err(format!("{}: oracle: {error}", scenario.name)))?;
    let document = json!({
        "value": best.value,
        "runs": state.runs.into_inner(),
        "best_scheduler": oracle::label(&scheduler.plan.base),
        "best_scheduler_value": scheduler.value,
        "plan": best.plan.to_json(),
    });
    Ok((Run::new(scenario, "oracle", result, None)?, document.to_string()))
}

/// The time of the wall clock, which only ends the search.
#[expect(clippy::disallowed_methods, reason = "a budget in seconds")]
fn now() -> Instant {
    Instant::now()
}

/// Returns the best plan and the best scheduler.
fn search(scenario: &Scenario, most: u64, threads: usize, state: &State) -> Option<(Entry, Entry)> {
    let mut search = Search::new(scenario);
    let schedulers = search.schedulers();
    search.learn(evaluate(scenario, schedulers, threads, state, &state.interrupted));
    while search.best().is_some() {
        let left = most.saturating_sub(state.runs.load(Ordering::Relaxed));
        if left == 0 || state.over.load(Ordering::Relaxed) || state.interrupted.load(Ordering::Relaxed) {
            break;
        }
        let plans = search.next(usize::try_from(left).unwrap_or(usize::MAX));
        search.learn(evaluate(scenario, plans, threads, state, &state.over));
    }
    Some((search.best()?.clone(), search.best_scheduler()?.clone()))
}

/// Runs plans until `stop`. Returns the outcomes in the order of the plans.
fn evaluate(
    scenario: &Scenario,
    plans: Vec<Plan>,
    threads: usize,
    state: &State,
    stop: &AtomicBool,
) -> Vec<(Plan, Outcome)> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut made = Vec::new();
        let mut control = |_share: f64| {
            let stops = stop.load(Ordering::Relaxed) || state.interrupted.load(Ordering::Relaxed);
            if stops { Control::Interrupt } else { Control::Continue }
        };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(plan) = plans.get(at).filter(|_| control(0.0) == Control::Continue) else { return made };
            let Some(outcome) = oracle::evaluate(scenario, plan, &mut control) else { return made };
            state.runs.fetch_add(1, Ordering::Relaxed);
            made.push((at, outcome));
        }
    };
    let mut outcomes: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(plans.len())).map(|_| scope.spawn(work)).collect();
        let outcomes =
            |worker: ScopedJoinHandle<'_, _>| worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        workers.into_iter().flat_map(outcomes).collect()
    });
    outcomes.sort_by_key(|(at, _)| *at);
    let mut outcomes = outcomes.into_iter().peekable();
    let of = |(at, plan)| outcomes.next_if(|(done, _)| *done == at).map(|(_, outcome)| (plan, outcome));
    plans.into_iter().enumerate().filter_map(of).collect()
}
