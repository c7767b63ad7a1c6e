//! The commands `send`, `recv` and `proxy` of `plait`: those of `plait-quic`, plus schedulers from
//! files.

use crate::transfers::Own;
use plait_quic::Error;
use plait_quic::command::{self, Host};
use plait_sched::Scheduler;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::Path;

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(transfer_command, module)?)?;
    module.add_function(wrap_pyfunction!(transfer_scheduler, module)?)?;
    module.add_function(wrap_pyfunction!(transfer_options, module)?)
}

/// The Python program `plait` as the host of commands.
struct Python {
    host: Py<PyAny>,
    own: Own,
}

impl Python {
    /// Converts a result from Python. An exception ends the command.
    fn taken<T>(&self, result: PyResult<T>) -> Result<T, Error> {
        result.map_err(|error| {
            self.own.raise(error);
            Error::Stopped
        })
    }
}

impl Host for Python {
    fn name(&self) -> &str {
        "plait"
    }

    fn scheduler(&self, text: &str, paths: &[String]) -> Result<Box<dyn Scheduler>, Error> {
        self.taken(pyo3::Python::attach(|py| {
            let made = self.host.call_method1(py, "scheduler", (text,))?;
            self.own.build(made.bind(py), paths.to_vec())
        }))
    }

    fn goes_on(&self) -> bool {
        !self.own.has_failed()
    }

    fn recorded(&self, folder: &Path, text: &str) -> Result<(), Error> {
        self.taken(pyo3::Python::attach(|py| {
            self.host.call_method1(py, "recorded", (folder, text)).map(drop)
        }))
    }
}

/// Runs a command and returns its exit status. The first argument is the program's name.
#[pyfunction]
fn transfer_command(py: pyo3::Python<'_>, arguments: Vec<OsString>, host: Py<PyAny>) -> PyResult<u8> {
    let host = Python { host, own: Own::default() };
    let status = py.detach(|| command::run(arguments, &host));
    host.own.error().map_or(Ok(status), Err)
}

/// Returns the default scheduler of a transfer.
#[pyfunction]
fn transfer_scheduler(interop: bool) -> &'static str {
    plait_quic::settings::scheduler(interop)
}

/// Returns the arguments and options of a command, as JSON.
#[pyfunction]
fn transfer_options(command: &str) -> PyResult<String> {
    let found = command::describe(command).map(|options| options.to_string());
    found.ok_or_else(|| PyKeyError::new_err(command.to_owned()))
}
