//! Shared libraries with the C interface, and the schedulers in them.

use crate::bad_input;
use crate::foreign_controller::ForeignController;
use crate::foreign_workload::ForeignWorkload;
use plait_sched_ffi::controller::ControllerClass;
use plait_sched_ffi::library;
use plait_sched_ffi::workload::WorkloadClass;
use plait_sched_ffi::{Class, Fault};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Library>()?;
    module.add_class::<ForeignController>()?;
    module.add_class::<ForeignWorkload>()?;
    module.add_class::<Foreign>()
}

/// A shared library of the user's classes. It stays loaded until the process ends.
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

    /// Names and summaries of the classes by their role.
    #[getter]
    fn classes(&self) -> BTreeMap<&str, Vec<(String, String)>> {
        let Self(library) = self;
        BTreeMap::from([
            ("scheduler", library.schedulers().iter().map(|one| (one.name(), one.summary())).collect()),
            ("controller", library.controllers().iter().map(|one| (one.name(), one.summary())).collect()),
            ("workload", library.workloads().iter().map(|one| (one.name(), one.summary())).collect()),
        ])
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.0.source()
    }

    /// Returns a scheduler of this library. Builds one instance at once, to check the parameters.
    fn scheduler(&self, name: &str, parameters: String) -> PyResult<Foreign> {
        let class = found(self.0.schedulers(), name, Class::name)?;
        let made = Foreign { class, name: name.to_owned(), parameters: parameters.into() };
        made.build(Fault::default()).map_err(bad_input)?;
        Ok(made)
    }

    /// Returns a congestion controller of this library. Builds one instance at once.
    fn controller(&self, name: &str, parameters: String) -> PyResult<ForeignController> {
        ForeignController::new(found(self.0.controllers(), name, ControllerClass::name)?, parameters)
    }

    /// Returns a workload of this library. Builds one instance at once.
    fn workload(&self, name: &str, parameters: String) -> PyResult<ForeignWorkload> {
        ForeignWorkload::new(found(self.0.workloads(), name, WorkloadClass::name)?, parameters)
    }
}

/// Returns the class of this name.
fn found<T: Copy>(classes: &[T], name: &str, name_of: impl Fn(&T) -> String) -> PyResult<T> {
    let class = classes.iter().find(|&class| name_of(class) == name);
    class.copied().ok_or_else(|| bad_input(format!("class {name}: unknown")))
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
