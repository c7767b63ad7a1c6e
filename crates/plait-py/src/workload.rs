//! Workloads written in Python: the base class, the steps that it returns, and the adaptor to Rust.

use crate::decisions::{Wait, whole};
use crate::foreign_workload::ForeignWorkload;
use crate::own_class::OwnClass;
use crate::scheduler::{Raised, described, is_raised, keep};
use crate::{RunError, bad_input};
use plait_sched::{Duration, Time};
use plait_sched_ffi::Fault;
use plait_sim::application::{Behaviour, OwnDelivery, OwnStep, OwnWrite};
use plait_sim::scenario::{Scenario, Workload as Kind};
use pyo3::exceptions::{PyException, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Workload>()?;
    module.py().get_type::<Workload>().setattr(REQUESTS, false)?;
    module.add_class::<Write>()?;
    module.add_class::<Request>()?;
    module.add_class::<End>()?;
    module.add_class::<Delivery>()
}

/// The class attribute that makes the messages of a workload requests.
const REQUESTS: &str = "requests";
/// Largest number of bytes of one message and of a run.
pub(crate) const MAX_BYTES: u64 = 1_000_000_000_000_000;
/// Largest number of a stream.
pub(crate) const MAX_STREAM: u32 = 999;

/// Bytes of a request unless it says so.
pub(crate) const REQUEST_BYTES: u64 = 200;

/// The condition of a wait.
const LATER: &str = "expected a time until which it waits, later than now";

/// The base class of workloads written in Python.
#[pyclass(subclass, frozen, extends = OwnClass, module = "plait._core")]
pub(crate) struct Workload;

#[pymethods]
impl Workload {
    #[new]
    #[pyo3(signature = (*arguments, **keywords))]
    fn new(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(OwnClass::new(arguments, keywords)).add_subclass(Self)
    }

    fn begin(&self) -> PyResult<Py<PyAny>> {
        Err(PyNotImplementedError::new_err("a workload must define begin(self)"))
    }

    #[pyo3(text_signature = "($self, now)")]
    fn on_time(&self, _now: f64) -> PyResult<Py<PyAny>> {
        Err(PyNotImplementedError::new_err("a workload that waits must define on_time(self, now)"))
    }

    #[pyo3(text_signature = "($self, now, delivery)")]
    fn on_delivered(&self, _now: f64, _delivery: &Bound<'_, PyAny>) {}
}

fn nanos(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

/// Converts a size in bytes.
fn size(value: &Bound<'_, PyAny>, place: &str) -> PyResult<u64> {
    match whole(value, place, MAX_BYTES)? {
        0 => Err(PyValueError::new_err(format!("{place}: expected at least 1, got 0"))),
        bytes => Ok(bytes),
    }
}

/// Converts the arguments that writes and requests share.
fn message(
    class: &str,
    (bytes, request): (u64, u64),
    (at, deadline): (Option<f64>, Option<f64>),
    (stream, priority): (Option<&Bound<'_, PyAny>>, Option<&Bound<'_, PyAny>>),
) -> PyResult<OwnWrite> {
    let place = |name: &str| format!("plait.{class}: {name}");
    let wrong = |name: &str, expected: &str, got: f64| {
        PyValueError::new_err(format!("{}: expected {expected} seconds, got {got}", place(name)))
    };
    if let Some(at) = at.filter(|at| !at.is_finite() || *at < 0.0) {
        return Err(wrong("at", "at least 0", at));
    }
    if let Some(deadline) = deadline.filter(|deadline| !deadline.is_finite() || nanos(*deadline) == 0) {
        return Err(wrong("deadline", "more than 0", deadline));
    }
    let stream = stream.map_or(Ok(0), |stream| whole(stream, &place("stream"), MAX_STREAM))?;
    let priority = priority.map_or(Ok(0), |priority| whole(priority, &place("priority"), u8::MAX))?;
    let at = at.map(|at| Time::from_nanos(nanos(at)));
    let deadline = deadline.map(|deadline| Duration::from_nanos(nanos(deadline)));
    Ok(OwnWrite { at, bytes, request, stream, priority, deadline })
}

/// The keywords of a message that are not the defaults, for a representation.
fn keywords(message: &OwnWrite) -> String {
    let OwnWrite { at, stream, priority, deadline, .. } = *message;
    let at = at.map(|at| format!(", at={}", at.as_secs_f64()));
    let deadline = deadline.map(|deadline| format!(", deadline={}", deadline.as_secs_f64()));
    let stream = (stream > 0).then(|| format!(", stream={stream}"));
    let priority = (priority > 0).then(|| format!(", priority={priority}"));
    [at, deadline, stream, priority].into_iter().flatten().collect()
}

/// Writes a block.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Write(OwnWrite);

#[pymethods]
impl Write {
    #[new]
    #[pyo3(
        signature = (bytes, *, at = None, deadline = None, stream = None, priority = None),
        text_signature = "(bytes, *, at=None, deadline=None, stream=0, priority=0)"
    )]
    fn new(
        bytes: &Bound<'_, PyAny>,
        at: Option<f64>,
        deadline: Option<f64>,
        stream: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let sizes = (size(bytes, "plait.Write: bytes")?, 0);
        message("Write", sizes, (at, deadline), (stream, priority)).map(Self)
    }

    fn __repr__(&self) -> String {
        format!("Write({}{})", self.0.bytes, keywords(&self.0))
    }
}

/// Writes a request, which the near end answers.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Request(OwnWrite);

#[pymethods]
impl Request {
    #[new]
    #[pyo3(
        signature = (response, *, request = None, at = None, deadline = None, stream = None, priority = None),
        text_signature = "(response, *, request=200, at=None, deadline=None, stream=0, priority=0)"
    )]
    fn new(
        response: &Bound<'_, PyAny>,
        request: Option<&Bound<'_, PyAny>>,
        at: Option<f64>,
        deadline: Option<f64>,
        stream: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let request = request.map_or(Ok(REQUEST_BYTES), |request| size(request, "plait.Request: request"))?;
        let sizes = (size(response, "plait.Request: response")?, request);
        message("Request", sizes, (at, deadline), (stream, priority)).map(Self)
    }

    fn __repr__(&self) -> String {
        format!("Request({}, request={}{})", self.0.bytes, self.0.request, keywords(&self.0))
    }
}

/// Writes no further message.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct End;

#[pymethods]
impl End {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __repr__(&self) -> &'static str {
        "End()"
    }
}

/// A block or a response that was delivered wholly.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Delivery {
    /// Number of the message in the order of writing, from 0.
    number: u64,
    /// Its size, in payload bytes.
    bytes: u64,
    /// The number of its stream; no unit.
    stream: u32,
    /// The time at which the block or the request was written, in seconds from the start.
    written: f64,
}

/// The messages of a workload so far, to check its next steps.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    ended: bool,
    /// Bytes of all messages so far.
    bytes: u64,
}

impl Totals {
    /// Adds a step at a time, which is `None` before the run.
    ///
    /// # Errors
    /// The expected step.
    pub(crate) fn add(&mut self, step: &OwnStep, now: Option<Time>) -> Result<(), &'static str> {
        match step {
            OwnStep::End => self.ended = true,
            OwnStep::Wait(until) if now.is_some_and(|now| *until <= now) => {
                return Err(LATER);
            }
            OwnStep::Wait(_) => {}
            OwnStep::Write(_) if self.ended => return Err("expected no message after the end"),
            OwnStep::Write(write) => {
                self.bytes += write.bytes.max(write.request);
                if self.bytes > MAX_BYTES {
                    return Err("expected at most 1 PB in all messages");
                }
            }
        }
        Ok(())
    }
}

/// A behaviour that calls a Python object.
struct PythonWorkload {
    object: Arc<Py<PyAny>>,
    class: String,
    /// The scenario's name.
    scenario: Arc<str>,
    requests: bool,
    totals: Totals,
    /// The exception that ends the run.
    raised: Raised,
}

/// Returns the scenario with `object` as its workload. `raised` gets the exception that ends a run,
/// and `fault` the failure of a library's workload.
pub(crate) fn bound(
    scenario: &Scenario,
    object: &Bound<'_, PyAny>,
    raised: Raised,
    fault: Fault,
) -> PyResult<Scenario> {
    let class = object.get_type().name()?.to_string();
    let Kind::Own(own) = &scenario.workload else {
        return Err(bad_input(format!("workload {class}: the scenario has a built-in kind of workload")));
    };
    if let Ok(foreign) = object.cast::<ForeignWorkload>() {
        let workload = foreign.get().bound(own.clone(), fault).into();
        return Ok(Scenario { workload, ..scenario.clone() });
    }
    if !object.is_instance_of::<Workload>() {
        return Err(PyTypeError::new_err(format!("expected a plait.Workload, got {class}")));
    }
    let requests = object.getattr(REQUESTS)?.is_truthy()?;
    let (object, name): (_, Arc<str>) = (Arc::new(object.clone().unbind()), scenario.name.as_str().into());
    let make = move || -> Box<dyn Behaviour> {
        Box::new(PythonWorkload {
            object: object.clone(),
            class: class.clone(),
            scenario: name.clone(),
            requests,
            totals: Totals::default(),
            raised: raised.clone(),
        })
    };
    let workload = own.clone().bound(requests, make).into();
    Ok(Scenario { workload, ..scenario.clone() })
}

impl PythonWorkload {
    /// Calls a method with these arguments at a time, which is `None` before the run. The first
    /// exception ends the run.
    fn call(
        &mut self,
        method: &str,
        now: Option<Time>,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Vec<OwnStep> {
        if is_raised(&self.raised) {
            return Vec::new();
        }
        Python::attach(|py| {
            let answer = arguments(py).and_then(|given| self.object.bind(py).call_method1(method, given));
            answer.and_then(|answer| self.steps(&answer, now)).unwrap_or_else(|error| {
                let error = self.named(py, method, error);
                keep(&self.raised, error);
                Vec::new()
            })
        })
    }

    /// Converts the answer of a method.
    fn steps(&mut self, answer: &Bound<'_, PyAny>, now: Option<Time>) -> PyResult<Vec<OwnStep>> {
        if answer.is_none() {
            return Ok(Vec::new());
        }
        if let Some(step) = self.step(answer, now)? {
            return Ok(vec![step]);
        }
        let other = |one: &Bound<'_, PyAny>| {
            returned(one, "expected plait.Write, Request, Wait or End, or a list of these")
        };
        let Ok(several) = answer.try_iter() else { return Err(other(answer)) };
        several
            .map(|one| {
                let one = one?;
                self.step(&one, now)?.ok_or_else(|| other(&one))
            })
            .collect()
    }

    /// Converts a step; returns `None` for any other object.
    fn step(&mut self, answer: &Bound<'_, PyAny>, now: Option<Time>) -> PyResult<Option<OwnStep>> {
        let (step, requests) = if let Ok(write) = answer.cast::<Write>() {
            (OwnStep::Write(write.get().0), Some(false))
        } else if let Ok(request) = answer.cast::<Request>() {
            (OwnStep::Write(request.get().0), Some(true))
        } else if let Ok(wait) = answer.cast::<Wait>() {
            let Some(until) = wait.get().until else { return Err(returned(answer, LATER)) };
            (OwnStep::Wait(Time::from_nanos(nanos(until))), None)
        } else if answer.is_instance_of::<End>() {
            (OwnStep::End, None)
        } else {
            return Ok(None);
        };
        self.totals.add(&step, now).map_err(|expected| returned(answer, expected))?;
        let expected = match (requests, self.requests) {
            (Some(true), false) => "expected requests = True in the class, whose messages are then requests",
            (Some(false), true) => "expected plait.Request, because the class has requests = True",
            _ => return Ok(Some(step)),
        };
        Err(returned(answer, expected))
    }

    /// Returns an exception of a method as the error of the run: one line that names class, method
    /// and place. Exceptions that are not errors, such as an interrupt, stay as they are.
    fn named(&self, py: Python<'_>, method: &str, error: PyErr) -> PyErr {
        let Self { class, scenario, .. } = self;
        if error.is_instance_of::<RunError>(py) {
            return RunError::new_err(format!("{scenario}: {class}.{method} {}", error.value(py)));
        }
        if !error.is_instance_of::<PyException>(py) {
            return error;
        }
        let told = RunError::new_err(format!("{scenario}: {}", described(py, class, method, &error)));
        told.set_cause(py, Some(error));
        told
    }
}

/// An error about an object that a method returned.
fn returned(object: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    RunError::new_err(format!("returned {shown}: {expected}"))
}

impl Behaviour for PythonWorkload {
    fn begin(&mut self) -> Vec<OwnStep> {
        self.call("begin", None, |py| Ok(PyTuple::empty(py)))
    }

    fn on_time(&mut self, now: Time) -> Vec<OwnStep> {
        self.call("on_time", Some(now), |py| (now.as_secs_f64(),).into_pyobject(py))
    }

    fn on_delivered(&mut self, now: Time, delivery: &OwnDelivery) -> Vec<OwnStep> {
        let OwnDelivery { number, bytes, stream, written } = *delivery;
        let delivery = Delivery { number, bytes, stream, written: written.as_secs_f64() };
        self.call("on_delivered", Some(now), |py| (now.as_secs_f64(), delivery).into_pyobject(py))
    }
}
