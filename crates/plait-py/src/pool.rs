//! A pool of threads that make runs as these are submitted, for sweeps of any length.

use crate::foreign::Foreign;
use crate::foreign_controller::ForeignController;
use crate::foreign_workload::ForeignWorkload;
use crate::scenario;
use crate::{RunError, bad_input};
use plait_sched::Scheduler;
use plait_sched_ffi::Fault;
use plait_sim::error::ScenarioError;
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::{Scenario, Workload};
use plait_sim::simulation::{self, Control};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Adds this file's class and function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Pool>()?;
    module.add_function(wrap_pyfunction!(pick, module)?)
}

/// Returns the values in a run's JSON at some places (RFC 6901), as a JSON list, with null for
/// missing values. A place `/queues/dsl/forward/…` names a queue instead of numbering it, because
/// the set of links with a queue may differ between runs.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
fn pick(document: &str, places: Vec<String>) -> PyResult<String> {
    picked(document, &places).map_err(bad_input)
}

fn picked(document: &str, places: &[String]) -> serde_json::Result<String> {
    let document: serde_json::Value = serde_json::from_str(document)?;
    let null = serde_json::Value::Null;
    let find = |place: &String| match place.strip_prefix("/queues/") {
        Some(rest) => in_queue(&document, rest),
        None => document.pointer(place),
    };
    let values: Vec<_> = places.iter().map(|place| find(place).unwrap_or(&null)).collect();
    serde_json::to_string(&values)
}

/// Returns a value of the first queue with the link name and the direction that `place` begins
/// with.
fn in_queue<'a>(document: &'a serde_json::Value, place: &str) -> Option<&'a serde_json::Value> {
    let mut parts = place.splitn(3, '/');
    let name = parts.next()?.replace("~1", "/").replace("~0", "~");
    let (direction, rest) = (parts.next()?, parts.next()?);
    let queues = document.get("queues")?.as_array()?;
    let queue = queues.iter().find(|queue| queue["name"] == *name && queue["direction"] == *direction)?;
    queue.pointer(&format!("/{rest}"))
}

/// A run that waits for a thread. The thread also parses the scenario, so that Python's lock is not
/// held for that.
struct Work {
    ticket: u64,
    scenario_json: String,
    origin: String,
    base: PathBuf,
    scheduler: Option<String>,
    foreign: Option<Foreign>,
    controllers: Vec<ForeignController>,
    workload: Option<ForeignWorkload>,
    seed: Option<u64>,
}

/// Outcome of a run: values of the run's JSON, or the reason of the failure.
struct Done {
    ticket: u64,
    outcome: Result<String, Failure>,
}

enum Failure {
    Input(String),
    Run(String),
}

/// Ticket, values, message: one of the last two is None.
type Taken = (u64, Option<String>, Option<String>);

/// A pool of threads. Results are returned in the order in which runs end.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Pool {
    /// None once the pool is closed.
    work: Mutex<Option<Sender<Work>>>,
    done: Mutex<Receiver<Done>>,
    stop: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    #[pyo3(get)]
    size: usize,
}

#[pymethods]
impl Pool {
    #[new]
    #[pyo3(signature = (threads, places))]
    fn new(threads: usize, places: Vec<String>) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let size = if threads == 0 { cores() } else { threads };
        let (work, waiting) = mpsc::channel();
        let (finished, done) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let stop = Arc::new(AtomicBool::new(false));
        let places: Arc<[String]> = places.into();
        let threads = (0..size)
            .map(|_| {
                let (waiting, finished) = (waiting.clone(), finished.clone());
                let (stop, places) = (stop.clone(), places.clone());
                std::thread::spawn(move || make(&waiting, &finished, &stop, &places))
            })
            .collect();
        Self {
            work: Mutex::new(Some(work)),
            done: Mutex::new(done),
            stop,
            threads: Mutex::new(threads),
            size,
        }
    }

    /// Submits a run; `ticket` is returned with its result. `controllers` are in the scenario's
    /// order.
    #[pyo3(signature = (
        ticket, scenario_json, *, origin, base, scheduler = None, foreign = None,
        controllers = Vec::new(), workload = None, seed = None,
    ))]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "keywords of Python, which arrive owned"
    )]
    fn submit(
        &self,
        ticket: u64,
        scenario_json: String,
        origin: String,
        base: PathBuf,
        scheduler: Option<String>,
        foreign: Option<Py<Foreign>>,
        controllers: Vec<Py<ForeignController>>,
        workload: Option<Py<ForeignWorkload>>,
        seed: Option<u64>,
    ) -> PyResult<()> {
        let foreign = foreign.map(|foreign| foreign.get().clone());
        let controllers = controllers.iter().map(|one| one.get().clone()).collect();
        let workload = workload.map(|workload| workload.get().clone());
        let work =
            Work { ticket, scenario_json, origin, base, scheduler, foreign, controllers, workload, seed };
        let sender = lock(&self.work);
        let sent = sender.as_ref().is_some_and(|sender| sender.send(work).is_ok());
        if sent { Ok(()) } else { Err(RunError::new_err("the pool is closed")) }
    }

    /// Returns the next run that ended, as ticket, values (None if it failed) and message. Returns
    /// None after `seconds` without one.
    fn take(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Taken>> {
        let patience = Duration::try_from_secs_f64(seconds).map_err(bad_input)?;
        match py.detach(|| lock(&self.done).recv_timeout(patience)) {
            Ok(Done { ticket, outcome: Ok(json) }) => Ok(Some((ticket, Some(json), None))),
            Ok(Done { ticket, outcome: Err(Failure::Run(message)) }) => {
                Ok(Some((ticket, None, Some(message))))
            }
            Ok(Done { outcome: Err(Failure::Input(message)), .. }) => Err(bad_input(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(RunError::new_err("the threads of the pool have ended"))
            }
        }
    }

    /// Ends the threads and the runs in progress, whose results are lost.
    fn close(&self, py: Python<'_>) {
        self.stop.store(true, Ordering::Relaxed);
        lock(&self.work).take();
        let threads = std::mem::take(&mut *lock(&self.threads));
        py.detach(|| threads.into_iter().for_each(|thread| drop(thread.join())));
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Main function of a thread: makes runs until there are no more, or until the pool stops.
fn make(waiting: &Mutex<Receiver<Work>>, finished: &Sender<Done>, stop: &AtomicBool, places: &[String]) {
    loop {
        let Ok(work) = lock(waiting).recv() else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // A panic must not make callers wait for this run forever.
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&work, stop, places)))
            .unwrap_or_else(|_| Err(Failure::Run(format!("{}: the simulator panicked", work.origin))));
        if finished.send(Done { ticket: work.ticket, outcome }).is_err() {
            return;
        }
    }
}

fn run(work: &Work, stop: &AtomicBool, places: &[String]) -> Result<String, Failure> {
    let Work { scenario_json, origin, base, scheduler, foreign, controllers, workload, seed, .. } = work;
    let input = |error: ScenarioError| Failure::Input(error.to_string());
    let mut scenario = Scenario::from_json(scenario_json, origin, base).map_err(input)?;
    scenario::change(&mut scenario, origin, scheduler.as_deref(), *seed).map_err(input)?;
    let fault = Fault::default();
    for (control, own) in scenario.controls_mut().filter(|control| control.is_own()).zip(controllers) {
        control.set_own(own.factory(fault.clone()));
    }
    if let (Workload::Own(own), Some(workload)) = (&scenario.workload, workload) {
        scenario.workload = workload.bound(own.clone(), fault.clone()).into();
    }
    let mut control = |_: f64| {
        let ended = stop.load(Ordering::Relaxed) || fault.message().is_some();
        if ended { Control::Interrupt } else { Control::Continue }
    };
    let failed = |message: String| Failure::Run(format!("{}: {message}", scenario.name));
    let options = RecordOptions::default();
    let made = match foreign {
        None => simulation::run(&scenario, scenario.scheduler.build(), &options, &mut control),
        Some(foreign) => {
            let scheduler: &mut dyn Scheduler = &mut foreign.build(fault.clone()).map_err(failed)?;
            simulation::run(&scenario, scheduler, &options, &mut control)
        }
    };
    if let Some(message) = fault.message() {
        return Err(failed(message.to_owned()));
    }
    let result = made.map_err(|error| failed(error.to_string()))?;
    picked(&result.to_json(&scenario, scenario.scheduler.name()), places)
        .map_err(|error| Failure::Run(format!("{}: {error}", scenario.name)))
}

/// Locks a mutex. A thread that panicked leaves no inconsistent data behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
