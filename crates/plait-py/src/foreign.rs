//! Schedulers from shared libraries, through the C interface.

use crate::bad_input;
use plait_sched_ffi::library;
use plait_sched_ffi::{Class, Fault};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Library>()?;
    module.add_class::<Foreign>()
}

/// A shared library of schedulers. It stays loaded until the process ends.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Library(library::Library);

#[pymethods]
impl Library {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // SAFETY: a caller who names a library wants to run its code, like a Python module. Nobody
        // can check that the library follows the header.
        #[allow(unsafe_code, reason = "running somebody's code is what this is for")]
        let opened = py.detach(|| unsafe { library::Library::open(&path) });
        opened.map(Self).map_err(bad_input)
    }

    /// Names and summaries of the classes.
    #[getter]
    fn classes(&self) -> Vec<(String, String)> {
        self.0.classes().iter().map(|class| (class.name(), class.summary())).collect()
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source()
    }

    /// Returns a scheduler of this library. Builds one instance at once, to check the parameters.
    fn scheduler(&self, name: &str, parameters: String) -> PyResult<Foreign> {
        let class = self.0.classes().iter().find(|class| class.name() == name);
        let class = *class.ok_or_else(|| bad_input(format!("class {name}: unknown")))?;
        let made = Foreign { class, name: name.to_owned(), parameters: parameters.into() };
        made.build(Fault::default()).map_err(bad_input)?;
        Ok(made)
    }
}

/// A scheduler of a shared library with its parameters. Every run builds an instance of its own.
#[pyclass(frozen, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct Foreign {
    class: Class,
    name: String,
    parameters: Arc<str>,
}

impl Foreign {
    /// Builds an instance that reports its failures to `fault`.
    pub(crate) fn build(&self, fault: Fault) -> Result<plait_sched_ffi::Foreign, String> {
        plait_sched_ffi::Foreign::new(self.class, &self.parameters, fault)
    }

    /// Returns the name of the class.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name and the parameters in the syntax of the command line.
    pub(crate) fn text(&self) -> String {
        let Self { name, parameters, .. } = self;
        if parameters.is_empty() { name.clone() } else { format!("{name}:{parameters}") }
    }
}
