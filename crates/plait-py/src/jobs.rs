//! Makes runs: on several threads, or on the calling thread if they call Python.

use crate::bad_input;
use crate::captured::{self, Captures, Encapsulation, Failure};
use crate::controller::{self, Factories};
use crate::foreign::Foreign;
use crate::foreign_workload::ForeignWorkload;
use crate::run::Run;
use crate::scenario::Parsed;
use crate::scheduler::{PythonScheduler, Raised, is_raised, take};
use crate::watch::Watched;
use crate::workload;
use plait_sched::{Duration, Scheduler, Time};
use plait_sched_ffi::Fault;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control, OnTimes, RunError as Stopped};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};

/// Interval between two checks for a keyboard interrupt and between two progress reports.
const POLL: std::time::Duration = std::time::Duration::from_millis(50);

/// Adds this file's classes and function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Job>()?;
    module.add_class::<Run>()?;
    module.add_function(wrap_pyfunction!(run, module)?)
}

/// One run to be made.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Job {
    parsed: Parsed,
    options: RecordOptions,
    python_scheduler: Option<Py<PyAny>>,
    /// Whether the scheduler, the workload or a congestion controller is written in Python.
    calls_python: bool,
    /// The exception of one of these.
    raised: Raised,
    foreign: Option<Foreign>,
    /// The failure of a class of a shared library.
    fault: Fault,
    captures: Option<Captures>,
}

#[pymethods]
impl Job {
    #[new]
    #[pyo3(signature = (
        scenario, *, scheduler = None, python_scheduler = None, foreign = None,
        workload = None, controllers = None, seed = None, packets = false, series_ns = None,
        decisions_from_ns = None, pcap = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        scenario: &Bound<'_, Parsed>,
        scheduler: Option<&str>,
        python_scheduler: Option<Py<PyAny>>,
        foreign: Option<Py<Foreign>>,
        workload: Option<&Bound<'_, PyAny>>,
        controllers: Option<Factories>,
        seed: Option<u64>,
        packets: bool,
        series_ns: Option<u64>,
        decisions_from_ns: Option<u64>,
        pcap: Option<Vec<PathBuf>>,
    ) -> PyResult<Self> {
        let mut parsed = scenario.get().changed(scheduler, seed).map_err(bad_input)?;
        let raised = Raised::default();
        let fault = Fault::default();
        let factories = controllers.unwrap_or_default();
        if !factories.is_empty() {
            parsed = parsed.with_controllers(|name| {
                let make = factories.get(name)?.bind(py);
                Some(controller::factory(make, raised.clone(), fault.clone()))
            });
        }
        if let Some(object) = workload {
            let bound = workload::bound(&parsed.scenario, object, raised.clone(), fault.clone())?;
            parsed.scenario = Arc::new(bound);
        }
        let scenario = &parsed.scenario;
        if series_ns == Some(0) {
            return Err(bad_input("series: the sampling interval must be more than 0"));
        }
        let series = series_ns.map(Duration::from_nanos);
        let options = RecordOptions {
            packets,
            series,
            decisions: decisions_from_ns.is_some(),
            decisions_from: Time::from_nanos(decisions_from_ns.unwrap_or(0)),
        };
        if let Some(places) = pcap.as_ref().filter(|places| places.len() != scenario.paths.len()) {
            let (found, paths) = (places.len(), scenario.paths.len());
            return Err(bad_input(format!("pcap: expected a place for each of {paths} paths, got {found}")));
        }
        let foreign = foreign.map(|foreign| foreign.get().clone());
        let text = match (&python_scheduler, &foreign) {
            (Some(object), _) => object.bind(py).get_type().name()?.to_string(),
            (None, Some(foreign)) => foreign.text(),
            (None, None) => captured::scheduler_text(scenario),
        };
        let captures = pcap.map(|places| Captures { places, scheduler: text });
        let calls_python = python_scheduler.is_some()
            || workload.is_some_and(|workload| !workload.is_instance_of::<ForeignWorkload>())
            || factories.values().any(|make| controller::calls_python(make.bind(py)));
        Ok(Self { parsed, options, python_scheduler, calls_python, raised, foreign, fault, captures })
    }

    /// The scenario of the run, with the job's scheduler and seed.
    #[getter(scenario)]
    fn parsed(&self) -> Parsed {
        self.parsed.clone()
    }

    /// Returns the requests of every client of a workload of requests, in order: bytes of the
    /// request, bytes of the response, nanoseconds of thinking time. There are as many as fit if
    /// every request takes at least `least_ns`. Returns nothing for more than `most`.
    fn demands(&self, least_ns: u64, most: usize) -> Option<Vec<Vec<(u64, u64, u64)>>> {
        simulation::demands(self.scenario(), Duration::from_nanos(least_ns), most)
    }

    /// Returns the part of the scenario that QUIC connections cannot carry, and the reason. Returns
    /// nothing if they can carry all.
    fn refusal_of_quic(&self) -> Option<(String, String)> {
        plait_quic::tunnels::refusal(self.scenario())
    }

    /// Returns the part of the scenario that FreeBSD's stack cannot express, and the reason.
    /// Returns nothing if it can express all.
    fn refusal_of_usrsctp(&self) -> Option<(String, String)> {
        let schedules = self.python_scheduler.is_none() && self.foreign.is_none();
        plait_usrsctp::refusal(self.scenario(), schedules)
    }

    /// Returns the on times of the workload, then of each flow: pairs of start and length in
    /// nanoseconds.
    fn on_times(&self) -> (Nanos, Vec<Nanos>) {
        let nanos = |times: OnTimes| -> Nanos {
            times.into_iter().map(|(began, length)| (began.as_nanos(), length.as_nanos())).collect()
        };
        let (workload, flows) = simulation::on_times(self.scenario());
        (nanos(workload), flows.into_iter().map(nanos).collect())
    }
}

impl Job {
    pub(crate) fn scenario(&self) -> &Scenario {
        &self.parsed.scenario
    }

    pub(crate) const fn options(&self) -> &RecordOptions {
        &self.options
    }

    /// Whether the run goes on: no class of the user has failed.
    fn goes_on(&self) -> bool {
        self.fault.message().is_none() && !is_raised(&self.raised)
    }

    /// Makes the run of a scheduler that is not written in Python.
    fn make(&self, encapsulation: Encapsulation<'_>, control: &mut dyn FnMut(f64) -> Control) -> Outcome {
        if let Some(foreign) = &self.foreign {
            let scheduler = foreign.build(self.fault.clone()).map_err(Failure::Scheduler)?;
            return self.watch(scheduler, encapsulation, control);
        }
        let Self { options, captures, .. } = self;
        let scenario = self.scenario();
        let mut scheduler = scenario.scheduler.build();
        let mut control = |share: f64| if self.goes_on() { control(share) } else { Control::Interrupt };
        let result = match (encapsulation, captures) {
            // The usual run: its engine is compiled for the built-in schedulers.
            (Encapsulation::Packets, None) => {
                simulation::run(scenario, scheduler, options, &mut control).map_err(Failure::Run)
            }
            (encapsulation, captures) => {
                let encapsulation = (encapsulation, captures.as_ref());
                let wanted = || self.goes_on();
                captured::simulate(scenario, &mut scheduler, options, encapsulation, &mut control, wanted)
            }
        };
        self.unless_failed(result.map(|result| (result, None)))
    }

    /// Returns the outcome, or the failure of a class of a shared library.
    fn unless_failed(&self, outcome: Outcome) -> Outcome {
        let failure = self.fault.message().map(|message| Failure::Scheduler(message.to_owned()));
        failure.map_or(outcome, Err)
    }

    /// Makes the run of a Python or foreign scheduler. Reports a scheduler that never sends, also
    /// if the run fails for that reason.
    fn watch<S: Scheduler>(
        &self,
        scheduler: S,
        encapsulation: Encapsulation<'_>,
        control: &mut dyn FnMut(f64) -> Control,
    ) -> Outcome {
        let Self { options, captures, .. } = self;
        let scenario = self.scenario();
        let mut watched = Watched::new(scheduler);
        let encapsulation = match encapsulation {
            Encapsulation::Usrsctp(program) => Encapsulation::UsrsctpScheduled(program),
            encapsulation => encapsulation,
        };
        let encapsulation = (encapsulation, captures.as_ref());
        let mut control = |share: f64| if self.goes_on() { control(share) } else { Control::Interrupt };
        let wanted = || self.goes_on();
        let outcome =
            captured::simulate(scenario, &mut watched, options, encapsulation, &mut control, wanted);
        let silence = watched.silence().map(|silence| silence.to_string());
        self.unless_failed(match (outcome, silence) {
            (Ok(result), silence) => Ok((result, silence)),
            // The scheduler caused the stall. The error alone would blame the simulator.
            (Err(Failure::Run(Stopped::Stalled { at })), Some(silence)) => {
                let at = at.as_secs_f64();
                Err(Failure::Scheduler(format!("at {at} s nothing moved any more: the scheduler {silence}")))
            }
            (Err(failure), _) => Err(failure),
        })
    }
}

/// Start times and lengths in nanoseconds.
type Nanos = Vec<(u64, u64)>;

/// A result, and the reason why a Python or foreign scheduler never sent anything, if so.
type Outcome = Result<(RunResult, Option<String>), Failure>;

/// Makes the runs. Results are in the order of the jobs, for any number of threads. With `quic`,
/// runs use real QUIC connections on the simulator's links; with `usrsctp`, FreeBSD's SCTP stack in
/// this program.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
#[pyo3(signature = (jobs, *, threads = 0, progress = None, quic = false, usrsctp = None))]
fn run(
    py: Python<'_>,
    jobs: Vec<Py<Job>>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    quic: bool,
    usrsctp: Option<PathBuf>,
) -> PyResult<Vec<Run>> {
    let encapsulation = match &usrsctp {
        Some(program) => Encapsulation::Usrsctp(program),
        None if quic => Encapsulation::Quic,
        None => Encapsulation::Packets,
    };
    let jobs: Vec<&Job> = jobs.iter().map(Py::get).collect();
    let mut outcomes: Vec<Option<Outcome>> = jobs.iter().map(|_| None).collect();
    let report = |py: Python<'_>, done: f64| -> PyResult<()> {
        py.check_signals()?;
        progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done,)).map(|_| ()))
    };
    let native: Vec<usize> = (0..jobs.len()).filter(|&at| !jobs[at].calls_python).collect();
    let share = native.len() as f64 / jobs.len().max(1) as f64;
    let chosen = (&native[..], encapsulation);
    run_native(py, &jobs, chosen, threads, &mut outcomes, |py, done| report(py, done * share))?;
    let python: Vec<usize> = (0..jobs.len()).filter(|&at| jobs[at].calls_python).collect();
    for (count, &at) in python.iter().enumerate() {
        let outcome = run_python(py, jobs[at], encapsulation, |py, done| {
            report(py, share + (1.0 - share) * (count as f64 + done) / python.len() as f64)
        })?;
        outcomes[at] = Some(outcome);
    }
    report(py, 1.0)?;
    let mut runs = Vec::with_capacity(jobs.len());
    for (job, outcome) in jobs.iter().zip(outcomes) {
        let Some(outcome) = outcome else { continue };
        let scheduler = match (&job.python_scheduler, &job.foreign) {
            (Some(object), _) => object.bind(py).get_type().name()?.to_string(),
            (None, Some(foreign)) => foreign.name().to_owned(),
            (None, None) => job.scenario().scheduler.name().to_owned(),
        };
        let (result, silence) =
            outcome.map_err(|failure| failure.exception(&job.scenario().name, &scheduler))?;
        runs.push(Run::new(job.scenario(), &scheduler, result, silence)?);
    }
    Ok(runs)
}

/// Distributes runs of schedulers that are not written in Python over threads. The calling thread
/// checks for keyboard interrupts.
fn run_native(
    py: Python<'_>,
    jobs: &[&Job],
    (chosen, encapsulation): (&[usize], Encapsulation<'_>),
    threads: usize,
    outcomes: &mut [Option<Outcome>],
    mut report: impl FnMut(Python<'_>, f64) -> PyResult<()>,
) -> PyResult<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(chosen.len());
    if threads == 0 {
        return Ok(());
    }
    // Elapsed shares of the unfinished runs, as bits of f64.
    let elapsed: Vec<AtomicU64> = chosen.iter().map(|_| AtomicU64::new(0)).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work: Vec<&Job> = chosen.iter().map(|&at| jobs[at]).collect();
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, stop, elapsed, work) = (&next, &stop, &elapsed, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = work.get(at) else { return };
                    let mut control = |share: f64| {
                        elapsed[at].store(share.to_bits(), Ordering::Relaxed);
                        if stop.load(Ordering::Relaxed) { Control::Interrupt } else { Control::Continue }
                    };
                    let outcome = job.make(encapsulation, &mut control);
                    elapsed[at].store(1f64.to_bits(), Ordering::Relaxed);
                    if sender.send((at, outcome)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut failure = None;
        loop {
            // A receiver may move between threads but not be shared, so the closure borrows it
            // mutably.
            let results = &mut receiver;
            match py.detach(move || results.recv_timeout(POLL)) {
                Ok((at, outcome)) => {
                    outcomes[chosen[at]] = Some(outcome);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if failure.is_none() {
                let done: f64 = elapsed.iter().map(|bits| f64::from_bits(bits.load(Ordering::Relaxed))).sum();
                if let Err(error) = report(py, done / chosen.len() as f64) {
                    stop.store(true, Ordering::Relaxed);
                    next.store(chosen.len(), Ordering::Relaxed);
                    failure = Some(error);
                }
            }
        }
        failure.map_or(Ok(()), Err)
    })
}

fn run_python(
    py: Python<'_>,
    job: &Job,
    encapsulation: Encapsulation<'_>,
    mut report: impl FnMut(Python<'_>, f64) -> PyResult<()>,
) -> PyResult<Outcome> {
    let raised = &job.raised;
    let mut interrupted = None;
    let mut control = |share: f64| match report(py, share) {
        Ok(()) => Control::Continue,
        Err(error) => {
            interrupted = Some(error);
            Control::Interrupt
        }
    };
    let outcome = match &job.python_scheduler {
        Some(object) => {
            let names = job.scenario().paths.iter().map(|path| path.name.clone()).collect();
            let scheduler = PythonScheduler::new(object.bind(py), names, raised.clone())?;
            job.watch(scheduler, encapsulation, &mut control)
        }
        None => job.make(encapsulation, &mut control),
    };
    if let Some(error) = take(raised).or(interrupted) {
        return Err(error);
    }
    Ok(outcome)
}
