//! The common base of the classes that users derive: schedulers, workloads and controllers.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Adds this file's function. The class stays hidden: users derive from its subclasses.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(given, module)?)
}

/// A class of the user. Its constructor takes the parameters that the class declares.
#[pyclass(subclass, frozen, module = "plait._core")]
pub(crate) struct OwnClass {
    arguments: Py<PyTuple>,
    keywords: Option<Py<PyDict>>,
}

impl OwnClass {
    /// Keeps the arguments of the constructor.
    pub(crate) fn new(arguments: &Bound<'_, PyTuple>, keywords: Option<&Bound<'_, PyDict>>) -> Self {
        let keywords = keywords.map(|keywords| keywords.clone().unbind());
        Self { arguments: arguments.clone().unbind(), keywords }
    }
}

#[pymethods]
impl OwnClass {
    /// Sets the parameters of a class without an `__init__` of its own.
    #[pyo3(signature = (*arguments, **keywords))]
    fn __init__(
        slf: &Bound<'_, Self>,
        arguments: &Bound<'_, PyTuple>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if arguments.is_empty() && keywords.is_none_or(PyDictMethods::is_empty) {
            return Ok(());
        }
        let module = slf.py().import("plait.scenarios.parameters")?;
        module.call_method1("take", (slf, arguments, keywords)).map(|_| ())
    }
}

/// Returns the arguments and the keywords that the constructor of an instance was given.
#[pyfunction]
fn given<'py>(instance: &Bound<'py, OwnClass>) -> (Bound<'py, PyTuple>, Bound<'py, PyDict>) {
    let (py, own) = (instance.py(), instance.get());
    let keywords =
        own.keywords.as_ref().map_or_else(|| PyDict::new(py), |keywords| keywords.bind(py).clone());
    (own.arguments.bind(py).clone(), keywords)
}
