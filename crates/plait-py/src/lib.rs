//! The Python interface of Plait: takes scenarios, and returns results and Arrow tables.
//!
//! This crate only translates and makes no decisions. The typed and documented interface for users
//! is the Python package `plait`.

mod captured;
mod command;
mod controller;
mod controller_facts;
mod decisions;
mod describe;
mod facts;
mod foreign;
mod foreign_controller;
mod foreign_workload;
mod jobs;
#[cfg(target_os = "linux")]
mod link;
mod observed;
mod oracle;
mod own_class;
mod pool;
mod recordings;
mod run;
mod scenario;
mod scheduler;
mod tables;
mod transfers;
mod watch;
mod workload;

use pyo3::create_exception;
use pyo3::exceptions::{PyAssertionError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    plait._core,
    ScenarioError,
    PyValueError,
    "Bad input: one line that names place, value and choices."
);
create_exception!(plait._core, RunError, PyRuntimeError, "A run failed.");
create_exception!(plait._core, TransferError, RunError, "A file was not sent, or not received.");
create_exception!(
    plait._core,
    OutputError,
    PyValueError,
    "A place that cannot be written to; one line that names it and the reason."
);
create_exception!(
    plait._core,
    ConformanceError,
    PyAssertionError,
    "A scheduler broke a rule of the conformance suite."
);

/// Converts `error` into the Python exception for bad input.
fn bad_input(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("TransferError", py.get_type::<TransferError>())?;
    module.add("OutputError", py.get_type::<OutputError>())?;
    module.add("ConformanceError", py.get_type::<ConformanceError>())?;
    scenario::register(module)?;
    describe::register(module)?;
    facts::register(module)?;
    decisions::register(module)?;
    controller_facts::register(module)?;
    controller::register(module)?;
    own_class::register(module)?;
    scheduler::register(module)?;
    workload::register(module)?;
    tables::register(module)?;
    jobs::register(module)?;
    observed::register(module)?;
    oracle::register(module)?;
    pool::register(module)?;
    foreign::register(module)?;
    #[cfg(target_os = "linux")]
    link::register(module)?;
    recordings::register(module)?;
    command::register(module)?;
    transfers::register(module)
}
