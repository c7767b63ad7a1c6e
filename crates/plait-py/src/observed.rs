//! Reads the files of real hosts: captures of a run, and logs of the kernel's schedulers.

use crate::jobs::Job;
use crate::run::Run;
use crate::tables::{self, ArrowTable};
use crate::{RunError, bad_input};
use plait_capture::Logged;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Adds this file's functions.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(observed, module)?)?;
    module.add_function(wrap_pyfunction!(logged, module)?)
}

/// Returns the run of the job, as observed in `folder` after a run over real hosts.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
fn observed(py: Python<'_>, job: Py<Job>, folder: PathBuf) -> PyResult<Run> {
    let (scenario, options) = (job.get().scenario(), job.get().options());
    let result = py.detach(|| plait_capture::observe(scenario, &folder, options));
    let result = result
        .map_err(|error| RunError::new_err(format!("{}: {}: {error}", scenario.name, folder.display())))?;
    Run::new(scenario, scenario.scheduler.name(), result, None)
}

/// Reads the decisions of a kernel's scheduler from a file that `plait-mptcp log --out` wrote.
/// Returns for each connection its token, its number of paths, and both tables.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
fn logged(py: Python<'_>, file: PathBuf) -> PyResult<Vec<(u32, usize, ArrowTable, ArrowTable)>> {
    let found = py.detach(|| plait_capture::logged(&file));
    let place = file.parent().map(|folder| folder.join("")).unwrap_or_default();
    let found = found.map_err(|error| bad_input(format!("{}{error}", place.display())))?;
    let tables = |one: Logged| {
        let frames = (tables::decisions(one.decisions)?, tables::decision_paths(one.decision_paths)?);
        Ok((one.token, one.paths, frames.0, frames.1))
    };
    found.into_iter().map(tables).collect()
}
