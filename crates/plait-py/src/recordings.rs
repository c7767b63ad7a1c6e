//! Recordings of transfers over real paths.

use crate::jobs::Job;
use crate::run::Run;
use crate::tables::{self, ArrowTable};
use crate::{RunError, bad_input};
use plait_quic::recording::ENDLESS;
use plait_quic::recording::read::Start;
use plait_quic::recording::result::{Recorded, result};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Adds this file's class.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Recording>()
}

/// The recording of a transfer.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Recording {
    place: PathBuf,
    bytes: Vec<u8>,
    recorded: Recorded,
}

#[pymethods]
impl Recording {
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let refused = |error: &dyn std::fmt::Display| bad_input(format!("{}: {error}", file.display()));
        let bytes = std::fs::read(&file).map_err(|error| refused(&error))?;
        let recorded = py.detach(|| Recorded::read(&bytes)).map_err(|error| refused(&error))?;
        Ok(Self { place: file, bytes, recorded })
    }

    /// Description of the recorded transfer, as JSON.
    #[getter]
    fn json(&self) -> String {
        about(&self.recorded).to_string()
    }

    /// Table of all transmissions.
    fn transmissions(&self) -> PyResult<ArrowTable> {
        tables::transmissions(&self.recorded)
    }

    /// Returns the recorded transfer as a run, over the links that the job describes.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
    fn run(&self, py: Python<'_>, job: Py<Job>) -> PyResult<Run> {
        let scenario = job.get().scenario();
        let (paths, found) = (self.recorded.start.subject.paths.len(), scenario.paths.len());
        if paths != found {
            return Err(bad_input(format!("a recording of {paths} paths as a scenario of {found}")));
        }
        let made = py.detach(|| result(scenario, &self.bytes));
        let made = made.map_err(|error| RunError::new_err(format!("{}: {error}", self.place.display())))?;
        let text = made.to_json(scenario, &self.recorded.start.subject.scheduler);
        let fields = text.strip_suffix('}').unwrap_or(&text);
        Run::of(format!("{fields},\"recording\":{}}}", about(&self.recorded)), made, None)
    }
}

fn about(recorded: &Recorded) -> Value {
    let Recorded { start, end, full, whole, terms, .. } = recorded;
    let Start { subject, opening, initial, segment, window, sends, mtu } = start;
    json!({
        "file": subject.file, "scheduler": subject.scheduler, "congestion": subject.congestion, "paths": subject.paths,
        "opening_s": opening.as_secs_f64(), "initial_path": initial.0, "segment_bytes": segment, "window_bytes": window,
        "file_bytes": (*sends < ENDLESS).then_some(sends), "mtu": mtu, "end_s": end.as_secs_f64(), "full": full, "whole": whole,
        "costs": terms.iter().map(|terms| terms.0).collect::<Vec<_>>(),
        "backups": terms.iter().map(|terms| terms.1).collect::<Vec<_>>(),
    })
}
