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
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Assign {
    #[new]
    #[pyo3(
        signature = (path, segments = None, *, reason = None),
        text_signature = "(path, segments=1, *, reason=None)"
    )]
    fn new(
        path: &Bound<'_, PyAny>,
        segments: Option<&Bound<'_, PyAny>>,
        reason: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let place = "plait.Assign: segments";
        let segments = segments.map_or(Ok(1), |segments| whole(segments, place, u32::MAX))?;
        Ok(Self { path: number(path, "Assign")?, segments, reason: line(reason, "Assign")? })
    }

    fn __repr__(&self) -> String {
        let arguments = format!("path={}, segments={}", self.path, self.segments);
        written("Assign", &arguments, self.reason.as_deref())
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

/// Converts the reason of `decision`: a text that stays one line wherever it is printed.
fn line(reason: Option<&Bound<'_, PyAny>>, decision: &str) -> PyResult<Option<String>> {
    let Some(reason) = reason else { return Ok(None) };
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    match reason.extract::<String>() {
        Ok(text) if !text.contains(breaks) => Ok(Some(text)),
        _ => {
            let got = reason.repr()?;
            let message = format!("plait.{decision}: reason: expected one line of text, got {got}");
            Err(match reason.is_instance_of::<PyString>() {
                true => PyValueError::new_err(message),
                false => PyTypeError::new_err(message),
            })
        }
    }
}

/// Writes a decision as Python does: its arguments, then its reason if it has one.
fn written(decision: &str, arguments: &str, reason: Option<&str>) -> String {
    let reason = reason.map(|reason| format!("reason={reason:?}")).unwrap_or_default();
    let separator = if arguments.is_empty() || reason.is_empty() { "" } else { ", " };
    format!("{decision}({arguments}{separator}{reason})")
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
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Reinject {
    #[new]
    #[pyo3(signature = (path, segment, *, reason = None))]
    fn new(
        path: &Bound<'_, PyAny>,
        segment: &Bound<'_, PyAny>,
        reason: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let segment = whole(segment, "plait.Reinject: segment", u64::MAX)?;
        Ok(Self { path: number(path, "Reinject")?, segment, reason: line(reason, "Reinject")? })
    }

    fn __repr__(&self) -> String {
        let arguments = format!("path={}, segment={}", self.path, self.segment);
        written("Reinject", &arguments, self.reason.as_deref())
    }
}

/// Takes back the unsent segments of a path.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Recall {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Recall {
    #[new]
    #[pyo3(signature = (path, *, reason = None))]
    fn new(path: &Bound<'_, PyAny>, reason: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Recall")?, reason: line(reason, "Recall")? })
    }

    fn __repr__(&self) -> String {
        written("Recall", &format!("path={}", self.path), self.reason.as_deref())
    }
}

/// Limits the segments in flight of a path below its congestion window.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Limit {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// Fewer segments than this may be in flight; None lifts the limit.
    pub(crate) in_flight: Option<u32>,
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Limit {
    #[new]
    #[pyo3(signature = (path, in_flight, *, reason = None))]
    fn new(
        path: &Bound<'_, PyAny>,
        in_flight: Option<&Bound<'_, PyAny>>,
        reason: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let place = "plait.Limit: in_flight";
        let in_flight = in_flight.map(|segments| whole(segments, place, u32::MAX)).transpose()?;
        Ok(Self { path: number(path, "Limit")?, in_flight, reason: line(reason, "Limit")? })
    }

    fn __repr__(&self) -> String {
        let in_flight = self.in_flight.map_or("None".to_owned(), |segments| segments.to_string());
        let arguments = format!("path={}, in_flight={in_flight}", self.path);
        written("Limit", &arguments, self.reason.as_deref())
    }
}

/// Halves the congestion window of a path that holds up the others.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Penalize {
    /// Number of the path, from 0.
    pub(crate) path: u8,
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Penalize {
    #[new]
    #[pyo3(signature = (path, *, reason = None))]
    fn new(path: &Bound<'_, PyAny>, reason: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { path: number(path, "Penalize")?, reason: line(reason, "Penalize")? })
    }

    fn __repr__(&self) -> String {
        written("Penalize", &format!("path={}", self.path), self.reason.as_deref())
    }
}

/// Lets the other streams go first.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Defer {
    /// The reason, for the log of decisions.
    pub(crate) reason: Option<String>,
}

#[pymethods]
impl Defer {
    #[new]
    #[pyo3(signature = (*, reason = None))]
    fn new(reason: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { reason: line(reason, "Defer")? })
    }

    fn __repr__(&self) -> String {
        written("Defer", "", self.reason.as_deref())
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
        let reason = line(reason, "Wait")?;
        match until {
            Some(seconds) if seconds.is_nan() => Err(PyValueError::new_err(
                "plait.Wait: until: expected seconds from the start of the run, or None, got nan",
            )),
            _ => Ok(Self { until, reason }),
        }
    }

    fn __repr__(&self) -> String {
        let until = self.until.map(|until| format!("until={until}")).unwrap_or_default();
        written("Wait", &until, self.reason.as_deref())
    }
}
