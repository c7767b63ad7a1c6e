//! Adapts congestion controllers written in Python to Rust.

use crate::RunError;
use crate::controller_facts::{Acknowledgement, CongestionEvent};
use crate::foreign_controller::ForeignController;
use crate::own_class::OwnClass;
use crate::scheduler::{Raised, described, is_raised, keep};
use plait_sched::Time;
use plait_sched_ffi::Fault;
use plait_transport::congestion::{self, Acknowledged, CongestionConfig, Factory, Own, RateSample, Share};
use pyo3::exceptions::{PyException, PyNotImplementedError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Adds this file's class.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CongestionController>()
}

/// The base class of congestion controllers written in Python.
#[pyclass(subclass, frozen, extends = OwnClass, module = "plait._core")]
pub(crate) struct CongestionController;

#[pymethods]
impl CongestionController {
    #[new]
    #[pyo3(signature = (*arguments, **keywords))]
    fn new(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        PyClassInitializer::from(OwnClass::new(arguments, keywords)).add_subclass(Self)
    }

    #[pyo3(text_signature = "($self)")]
    fn start(&self) {}

    #[pyo3(text_signature = "($self, ack)")]
    fn on_ack(&self, _ack: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyNotImplementedError::new_err("a congestion controller must define on_ack(self, ack)"))
    }

    #[pyo3(text_signature = "($self, event)")]
    fn on_event(&self, _event: &Bound<'_, PyAny>) {}
}

/// The controllers of a run by their names in the scenario: functions that build one, or those of a
/// shared library.
pub(crate) type Factories = BTreeMap<String, Py<PyAny>>;

/// Builds controllers by a function of Python.
#[derive(Debug)]
struct PythonFactory {
    make: Py<PyAny>,
    raised: Raised,
}

/// Whether a factory calls Python; those of shared libraries do not.
pub(crate) fn calls_python(make: &Bound<'_, PyAny>) -> bool {
    !make.is_instance_of::<ForeignController>()
}

/// Returns the factory of `make`, which may be a library's. Its controllers report exceptions to
/// `raised`, and those of a library their failures to `fault`.
pub(crate) fn factory(make: &Bound<'_, PyAny>, raised: Raised, fault: Fault) -> Own {
    match make.cast::<ForeignController>() {
        Ok(foreign) => foreign.get().factory(fault),
        Err(_) => Own(Arc::new(PythonFactory { make: make.clone().unbind(), raised })),
    }
}

impl Factory for PythonFactory {
    fn build(&self, config: &CongestionConfig) -> Box<dyn congestion::OwnController> {
        let mut made = PythonController {
            object: None,
            segment: config.segment,
            window: config.initial_window,
            threshold: config.initial_threshold,
            pacing_rate: None,
            raised: self.raised.clone(),
        };
        made.guarded(|made, py| {
            let object = self.make.bind(py).call0()?;
            object.setattr("segment", config.segment)?;
            object.setattr("initial_window", config.initial_window)?;
            object.setattr("window", config.initial_window)?;
            object.setattr("threshold", Some(made.threshold).filter(|&bytes| bytes < u64::MAX))?;
            object.setattr("pacing_rate", py.None())?;
            made.object = Some(object.unbind());
            made.call(py, "start", ())
        });
        Box::new(made)
    }
}

/// A controller that calls a Python object. `window`, `threshold` and `pacing_rate` are copies of
/// the object's attributes after the last call.
#[derive(Debug)]
struct PythonController {
    /// None if the object could not be created.
    object: Option<Py<PyAny>>,
    segment: u64,
    window: u64,
    threshold: u64,
    pacing_rate: Option<u64>,
    raised: Raised,
}

impl Clone for PythonController {
    fn clone(&self) -> Self {
        let Self { segment, window, threshold, pacing_rate, .. } = *self;
        let raised = self.raised.clone();
        let mut copy = Self { object: None, segment, window, threshold, pacing_rate, raised };
        copy.guarded(|copy, py| {
            let Some(object) = &self.object else { return Ok(()) };
            copy.object = Some(py.import("copy")?.call_method1("deepcopy", (object,))?.unbind());
            Ok(())
        });
        copy
    }
}

impl PythonController {
    /// Calls Python unless an earlier call failed. The first exception stops the run.
    fn guarded(&mut self, call: impl FnOnce(&mut Self, Python<'_>) -> PyResult<()>) {
        if is_raised(&self.raised) {
            return;
        }
        if let Err(error) = Python::attach(|py| call(self, py)) {
            keep(&self.raised, error);
        }
    }

    /// Calls a method and reads the attributes.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        method: &str,
        arguments: impl pyo3::call::PyCallArgs<'py>,
    ) -> PyResult<()> {
        let Some(object) = &self.object else { return Ok(()) };
        let object = object.bind(py);
        object.call_method1(method, arguments).map_err(|error| named(object, method, error))?;
        let wrong = |name: &str, value: &Bound<'_, PyAny>, least: &str| {
            let kind = object.get_type().name()?;
            let value = value.repr()?;
            let message = format!("{kind}.{method} left {name} = {value}: expected a number, {least}");
            Err(RunError::new_err(message))
        };
        let window = object.getattr("window")?;
        let Some(bytes) = amount(&window) else { return wrong("window", &window, "at least 0 (bytes)") };
        let threshold = object.getattr("threshold")?;
        let Some(limit) = amount_or_none(&threshold) else {
            return wrong("threshold", &threshold, "at least 0 (bytes), or None");
        };
        let pacing_rate = object.getattr("pacing_rate")?;
        let Some(rate) = amount_or_none(&pacing_rate).filter(|rate| *rate != Some(0)) else {
            return wrong("pacing_rate", &pacing_rate, "at least 1 (bytes per second), or None");
        };
        self.window = bytes.max(self.segment);
        self.threshold = limit.unwrap_or(u64::MAX);
        self.pacing_rate = rate;
        Ok(())
    }
}

/// Returns an exception that names class, method and line; the original one is its cause. Interrupts
/// stay as they are.
fn named(object: &Bound<'_, PyAny>, method: &str, error: PyErr) -> PyErr {
    let py = object.py();
    match object.get_type().name() {
        Ok(class) if error.is_instance_of::<PyException>(py) => {
            let named = RunError::new_err(described(py, &class.to_string(), method, &error));
            named.set_cause(py, Some(error));
            named
        }
        _ => error,
    }
}

/// A finite number that is not negative, rounded down; None for anything else.
fn amount(value: &Bound<'_, PyAny>) -> Option<u64> {
    let number: f64 = value.extract().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

/// The same, or Python's None.
fn amount_or_none(value: &Bound<'_, PyAny>) -> Option<Option<u64>> {
    if value.is_none() { Some(None) } else { amount(value).map(Some) }
}

impl congestion::CongestionController for PythonController {
    fn on_ack(&mut self, ack: &Acknowledged, rate: Option<&RateSample>, shares: &[Share]) {
        self.guarded(|control, py| control.call(py, "on_ack", (Acknowledgement::new(ack, rate, shares),)));
    }

    fn on_event(&mut self, now: Time, event: congestion::CongestionEvent) {
        self.guarded(|control, py| control.call(py, "on_event", (CongestionEvent::new(now, event),)));
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }
}
