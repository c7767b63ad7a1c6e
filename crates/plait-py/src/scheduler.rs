//! Adapts schedulers written in Python to Rust, and the conformance suite to Python.

use crate::decisions::{Assign, Defer, Limit, Penalize, Recall, Reinject, Wait};
use crate::facts::{Connection, Event, Path};
use crate::own_class::OwnClass;
use crate::{ConformanceError, RunError};
use plait_sched::conformance::{self, Options};
use plait_sched::{self as sched, Capabilities, Decision, Interest, PathId, Time};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Adds this file's class and function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scheduler>()?;
    let scheduler = module.py().get_type::<Scheduler>();
    for (name, _) in Capabilities::EACH {
        scheduler.setattr(attribute(name), false)?;
    }
    module.add_function(wrap_pyfunction!(check_scheduler, module)?)
}

/// The class attribute by which a scheduler declares that it needs a capability.
fn attribute(capability: &str) -> String {
    capability.replace('-', "_")
}

/// The base class of schedulers written in Python.
#[pyclass(subclass, frozen, extends = OwnClass, module = "plait._core")]
pub(crate) struct Scheduler;

#[pymethods]
impl Scheduler {
    #[new]
    #[pyo3(signature = (*arguments, **keywords))]
    fn new(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(OwnClass::new(arguments, keywords)).add_subclass(Self)
    }

    #[pyo3(text_signature = "($self, now, connection, paths)")]
    fn decide(
        &self,
        _now: f64,
        _connection: &Bound<'_, PyAny>,
        _paths: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        Err(PyNotImplementedError::new_err("a scheduler must define decide(self, now, connection, paths)"))
    }

    #[pyo3(text_signature = "($self, event, connection, paths)")]
    fn on_event(&self, _event: &Bound<'_, PyAny>, _connection: &Bound<'_, PyAny>, _paths: &Bound<'_, PyAny>) {
    }
}

/// Holds an exception raised in Python until the run has stopped.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Takes the exception out.
pub(crate) fn take(raised: &Raised) -> Option<PyErr> {
    raised.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whether an exception is held.
pub(crate) fn is_raised(raised: &Raised) -> bool {
    raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Keeps the first exception.
pub(crate) fn keep(raised: &Raised, error: PyErr) {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
}

/// Describes an exception of a user's method in one line: class, method, error, file and line.
pub(crate) fn described(py: Python<'_>, class: &str, method: &str, error: &PyErr) -> String {
    let place = py.import("plait.scenarios.python_class").and_then(|module| {
        module.call_method1("place", (error.clone_ref(py).into_value(py),))?.extract::<String>()
    });
    match place {
        Ok(place) if !place.is_empty() => format!("{class}.{method}: {error} ({place})"),
        _ => format!("{class}.{method}: {error}"),
    }
}

/// A scheduler that calls a Python object for every decision.
pub(crate) struct PythonScheduler {
    object: Py<PyAny>,
    names: Vec<String>,
    needs: Capabilities,
    /// Whether the class overrides `on_event`. A call into Python for every packet would be slow.
    listens: bool,
    raised: Raised,
}

impl PythonScheduler {
    /// Creates an adaptor of `object`; `names` are those of the paths.
    pub(crate) fn new(object: &Bound<'_, PyAny>, names: Vec<String>, raised: Raised) -> PyResult<Self> {
        let base = object.py().get_type::<Scheduler>();
        if !object.is_instance(&base)? {
            let kind = object.get_type().name()?;
            return Err(PyTypeError::new_err(format!("expected a plait.Scheduler, got {kind}")));
        }
        let flag = |name: &str| object.getattr(name)?.is_truthy();
        let mut needs = Capabilities::NONE;
        for &(name, one) in Capabilities::EACH {
            if flag(&attribute(name))? {
                needs = needs.and(one);
            }
        }
        let listens = !object.get_type().getattr("on_event")?.is(&base.getattr("on_event")?);
        Ok(Self { object: object.clone().unbind(), names, needs, listens, raised })
    }

    fn views(&self, connection: &sched::Connection, paths: &[sched::Path]) -> Vec<Path> {
        let usable = |path: &sched::Path| sched::usable(paths).any(|usable| usable.id == path.id);
        let name = |path: &sched::Path| self.names.get(path.id.index()).map_or("", String::as_str);
        let sendable = connection.sendable();
        paths.iter().map(|path| Path::new(path, name(path), usable(path), sendable)).collect()
    }

    fn call(
        &self,
        py: Python<'_>,
        now: Time,
        connection: &sched::Connection,
        paths: &[sched::Path],
        reason: Option<&mut dyn fmt::Write>,
    ) -> PyResult<Decision> {
        let arguments = (now.as_secs_f64(), Connection::from(connection), self.views(connection, paths));
        let object = self.object.bind(py);
        let answer = object.call_method1("decide", arguments)?;
        let (decision, given) = decision(&answer).map_err(|expected| {
            let kind =
                object.get_type().name().map_or_else(|_| "scheduler".to_owned(), |name| name.to_string());
            RunError::new_err(format!("{kind}.{expected}"))
        })?;
        if let (Some(reason), Some(given)) = (reason, given) {
            // Writing to a text in memory cannot fail.
            let _ = reason.write_str(given);
        }
        Ok(decision)
    }

    fn ask(
        &self,
        now: Time,
        connection: &sched::Connection,
        paths: &[sched::Path],
        reason: Option<&mut dyn fmt::Write>,
    ) -> Decision {
        if self.has_raised() {
            return Decision::WAIT;
        }
        let asked = Python::attach(|py| self.call(py, now, connection, paths, reason));
        asked.unwrap_or_else(|error| {
            self.keep(error);
            Decision::WAIT
        })
    }

    /// Keeps the first exception. The run stops at the next opportunity.
    fn keep(&self, error: PyErr) {
        keep(&self.raised, error);
    }

    fn has_raised(&self) -> bool {
        is_raised(&self.raised)
    }
}

/// Converts an object returned by `decide` into a decision and its reason. Returns an error message
/// for any other object.
fn decision<'a>(answer: &'a Bound<'_, PyAny>) -> Result<(Decision, Option<&'a str>), String> {
    let (decision, reason) = if let Ok(assign) = answer.cast::<Assign>() {
        let Assign { path, segments, reason } = assign.get();
        (Decision::Assign { path: PathId(*path), segments: *segments }, reason)
    } else if let Ok(wait) = answer.cast::<Wait>() {
        let Wait { until, reason } = wait.get();
        let until = until.map(|seconds| Time::from_nanos((seconds.max(0.0) * 1e9).round() as u64));
        (Decision::Wait { until }, reason)
    } else if let Ok(reinject) = answer.cast::<Reinject>() {
        let Reinject { path, segment, reason } = reinject.get();
        (Decision::Reinject { path: PathId(*path), segment: *segment }, reason)
    } else if let Ok(recall) = answer.cast::<Recall>() {
        let Recall { path, reason } = recall.get();
        (Decision::Recall { path: PathId(*path) }, reason)
    } else if let Ok(limit) = answer.cast::<Limit>() {
        let Limit { path, in_flight, reason } = limit.get();
        (Decision::Limit { path: PathId(*path), in_flight: in_flight.unwrap_or(u32::MAX) }, reason)
    } else if let Ok(penalize) = answer.cast::<Penalize>() {
        let Penalize { path, reason } = penalize.get();
        (Decision::Penalize { path: PathId(*path) }, reason)
    } else if let Ok(defer) = answer.cast::<Defer>() {
        (Decision::Defer, &defer.get().reason)
    } else {
        let got = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
        return Err(format!(
            "decide returned {got}: expected plait.Assign, Wait, Reinject, Recall, Limit, Penalize or Defer"
        ));
    };
    Ok((decision, reason.as_deref()))
}

impl sched::Scheduler for PythonScheduler {
    fn decide(&mut self, now: Time, connection: &sched::Connection, paths: &[sched::Path]) -> Decision {
        self.ask(now, connection, paths, None)
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &sched::Connection,
        paths: &[sched::Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.ask(now, connection, paths, Some(reason))
    }

    fn on_event(&mut self, event: &sched::Event, connection: &sched::Connection, paths: &[sched::Path]) {
        if !self.listens || self.has_raised() {
            return;
        }
        let arguments = (Event::from(event), Connection::from(connection), self.views(connection, paths));
        let told = Python::attach(|py| self.object.bind(py).call_method1("on_event", arguments).map(|_| ()));
        if let Err(error) = told {
            self.keep(error);
        }
    }

    fn needs(&self) -> Capabilities {
        self.needs
    }

    fn interest(&self) -> Interest {
        if self.listens { Interest::ALL } else { Interest::NONE }
    }
}

/// Runs the conformance suite on schedulers that `factory` makes. `name` stands in the summary.
#[pyfunction]
fn check_scheduler(factory: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let raised = Raised::default();
    let names: Vec<String> = (1..=sched::MAX_PATHS).map(|number| format!("path{number}")).collect();
    // Builds one instance first, so that an exception of the constructor is reported as such.
    PythonScheduler::new(&factory.call0()?, names.clone(), raised.clone())?;
    let mut make = || -> Box<dyn sched::Scheduler> {
        match factory.call0().and_then(|object| PythonScheduler::new(&object, names.clone(), raised.clone()))
        {
            Ok(scheduler) => Box::new(scheduler),
            Err(error) => {
                keep(&raised, error);
                Box::new(Silent)
            }
        }
    };
    let outcome = conformance::check(name, &mut make, Options::default());
    if let Some(error) = take(&raised) {
        return Err(error);
    }
    match outcome {
        Ok(report) => Ok(format!(
            "{name} keeps all rules: {} cases, {} decisions, {} segments",
            report.cases, report.decisions, report.segments
        )),
        Err(failure) => Err(ConformanceError::new_err(failure.to_string())),
    }
}

/// Replaces a scheduler that could not be built.
struct Silent;

impl sched::Scheduler for Silent {
    fn decide(&mut self, _now: Time, _connection: &sched::Connection, _paths: &[sched::Path]) -> Decision {
        Decision::WAIT
    }
}
