//! The decisions that a scheduler written in Python returns.

use plait_sched as sched;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Assign>()?;
    module.add_class::<Reinject>()?;
    module.add_class::<Recall>()?;
    module.add_class::<Limit>()?;
    module.add_class::<Penalize>()?;
    module.add_class::<Defer>()?;
    module.add_class::<Wait>()
}

/// Assigns the next segments to a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Assign {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Number of segments.
    pub(crate) segments: u32,
}

#[pymethods]
impl Assign {
    #[new]
    #[pyo3(signature = (path, segments = None), text_signature = "(path, segments=1)")]
    fn new(path: &Bound<'_, PyAny>, segments: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let place = "plait.Assign: segments";
        let segments = segments.map_or(Ok(1), |segments| whole(segments, place, u32::MAX))?;
        Ok(Self { path: number(path, "Assign")?, segments })
    }

    fn __repr__(&self) -> String {
        format!("Assign(path={}, segments={})", self.path, self.segments)
    }
}

/// Converts a whole number of Python. `place` names the argument, and `most` is its largest value.
pub(crate) fn whole<T>(value: &Bound<'_, PyAny>, place: &str, most: T) -> PyResult<T>
where
    T: Copy + for<'a, 'py> FromPyObject<'a, 'py> + PartialOrd + std::fmt::Display,
{
    match value.extract::<T>() {
        Ok(number) if number <= most => Ok(number),
        Err(_) if !value.is_instance_of::<PyInt>() => {
            Err(PyTypeError::new_err(format!("{place}: expected a whole number, got {}", value.repr()?)))
        }
        _ => {
            let got = value.repr()?;
            Err(PyValueError::new_err(format!("{place}: expected a number from 0 to {most}, got {got}")))
        }
    }
}

/// Converts a reason: a text that stays one line wherever it is printed.
fn line(reason: &Bound<'_, PyAny>) -> PyResult<String> {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    match reason.extract::<String>() {
        Ok(text) if !text.contains(breaks) => Ok(text),
        _ => {
            let message = format!("plait.Wait: reason: expected one line of text, got {}", reason.repr()?);
            Err(match reason.is_instance_of::<PyString>() {
                true => PyValueError::new_err(message),
                false => PyTypeError::new_err(message),
            })
        }
    }
}

/// Returns the number of the path in a decision.
fn number(path: &Bound<'_, PyAny>, decision: &str) -> PyResult<u8> {
    // The message is built only in case of an error, because this function is called for every
    // decision.
    let most = sched::MAX_PATHS as u8 - 1;
    path.extract::<u8>().or_else(|_| whole(path, &format!("plait.{decision}: path"), most))
}

/// Sends a copy of a segment in flight on another path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Reinject {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Number of the segment, from 0.
    pub(crate) segment: u64,
}

#[pymethods]
impl Reinject {
    #[new]
    fn new(path: &Bound<'_, PyAny>, segment: &Bound<'_, PyAny>) -> PyResult<Self> {
        let segment = whole(segment, "plait.Reinject: segment", u64::MAX)?;
        Ok(Self { path: number(path, "Reinject")?, segment })
    }

    fn __repr__(&self) -> String {
        format!("Reinject(path={}, segment={})", self.path, self.segment)
    }
}

/// Takes back the unsent segments of a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Recall {
    /// Number of the path, from 0.
    pub(crate) path: u8,
}

#[pymethods]
impl Recall {
    #[new]
    fn new(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Recall")? })
    }

    fn __repr__(&self) -> String {
        format!("Recall(path={})", self.path)
    }
}

/// Limits the segments in flight of a path below its congestion window.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Limit {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Fewer segments than this may be in flight; None lifts the limit.
    pub(crate) in_flight: Option<u32>,
}

#[pymethods]
impl Limit {
    #[new]
    fn new(path: &Bound<'_, PyAny>, in_flight: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let place = "plait.Limit: in_flight";
        let in_flight = in_flight.map(|segments| whole(segments, place, u32::MAX)).transpose()?;
        Ok(Self { path: number(path, "Limit")?, in_flight })
    }

    fn __repr__(&self) -> String {
        let in_flight = self.in_flight.map_or("None".to_owned(), |segments| segments.to_string());
        format!("Limit(path={}, in_flight={in_flight})", self.path)
    }
}

/// Halves the congestion window of a path that holds up the others.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Penalize {
    /// Number of the path, from 0.
    pub(crate) path: u8,
}

#[pymethods]
impl Penalize {
    #[new]
    fn new(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Penalize")? })
    }

    fn __repr__(&self) -> String {
        format!("Penalize(path={})", self.path)
    }
}

/// Lets the other streams go first.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Defer;

#[pymethods]
impl Defer {
    #[new]
    fn new() -> Self {
        Self
    }

    fn __repr__(&self) -> &'static str {
        "Defer()"
    }
}

/// Sends nothing now.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Wait {
    /// Latest time of the next call, in seconds from the start; None: at the next event.
    pub(crate) until: Option<f64>,
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Wait {
    #[new]
    #[pyo3(signature = (until = None, *, reason = None))]
    fn new(until: Option<f64>, reason: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let reason = reason.map(line).transpose()?;
        match until {
            Some(seconds) if seconds.is_nan() => Err(PyValueError::new_err(
                "plait.Wait: until: expected seconds from the start of the run, or None, got nan",
            )),
            _ => Ok(Self { until, reason }),
        }
    }

    fn __repr__(&self) -> String {
        let until = self.until.map(|until| format!("until={until}"));
        let reason = self.reason.as_ref().map(|reason| format!("reason={reason:?}"));
        let given: Vec<String> = until.into_iter().chain(reason).collect();
        format!("Wait({})", given.join(", "))
    }
}
