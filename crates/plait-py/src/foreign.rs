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

/// A shared library of schedulers; loaded until the process ends.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Library(library::Library);

#[pymethods]
impl Library {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        // SAFETY: whoever names a library wants its code to run, as with a module of Python; that it keeps to the header nobody can see.
        #[allow(unsafe_code, reason = "running somebody's code is what this is for")]
        let opened = py.detach(|| unsafe { library::Library::open(&path) });
        opened.map(Self).map_err(bad_input)
    }

    /// Names and summaries.
    #[getter]
    fn classes(&self) -> Vec<(String, String)> {
        self.0.classes().iter().map(|class| (class.name(), class.summary())).collect()
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source()
    }

    /// A scheduler of this library; made once at once, so that parameters are checked.
    fn scheduler(&self, name: &str, parameters: String) -> PyResult<Foreign> {
        let class = self.0.classes().iter().find(|class| class.name() == name);
        let class = *class.ok_or_else(|| bad_input(format!("class {name}: unknown")))?;
        let made = Foreign { class, name: name.to_owned(), parameters: parameters.into() };
        made.build(Fault::default()).map_err(bad_input)?;
        Ok(made)
    }
}

/// A scheduler of a shared library with its parameters; every run makes an instance of its own.
#[pyclass(frozen, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct Foreign {
    class: Class,
    name: String,
    parameters: Arc<str>,
}

impl Foreign {
    /// An instance, whose failures go to `fault`.
    pub(crate) fn build(&self, fault: Fault) -> Result<plait_sched_ffi::Foreign, String> {
        plait_sched_ffi::Foreign::new(self.class, &self.parameters, fault)
    }

    /// The name of its class.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name and the parameters, as the command line writes them.
    pub(crate) fn text(&self) -> String {
        let Self { name, parameters, .. } = self;
        if parameters.is_empty() { name.clone() } else { format!("{name}:{parameters}") }
    }
}
