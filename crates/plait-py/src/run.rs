//! The result of a run for Python: JSON, and tables without copies.

use crate::tables::{self, ArrowTable};
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use pyo3::prelude::*;

/// The result of one run.
#[pyclass(frozen, module = "plait._core")]
pub(crate) struct Run {
    #[pyo3(get)]
    json: String,
    /// Reason why a Python or foreign scheduler never sent anything, if so.
    #[pyo3(get)]
    silence: Option<String>,
    packets: Option<ArrowTable>,
    requests: Option<ArrowTable>,
    path_series: Option<ArrowTable>,
    connection_series: Option<ArrowTable>,
    decisions: Option<ArrowTable>,
    decision_paths: Option<ArrowTable>,
}

#[pymethods]
impl Run {
    fn packets(&self) -> Option<ArrowTable> {
        self.packets.clone()
    }

    fn requests(&self) -> Option<ArrowTable> {
        self.requests.clone()
    }

    fn path_series(&self) -> Option<ArrowTable> {
        self.path_series.clone()
    }

    fn connection_series(&self) -> Option<ArrowTable> {
        self.connection_series.clone()
    }

    fn decisions(&self) -> Option<ArrowTable> {
        self.decisions.clone()
    }

    fn decision_paths(&self) -> Option<ArrowTable> {
        self.decision_paths.clone()
    }
}

impl Run {
    pub(crate) fn new(
        scenario: &Scenario,
        scheduler: &str,
        result: RunResult,
        silence: Option<String>,
    ) -> PyResult<Self> {
        Self::of(result.to_json(scenario, scheduler), result, silence)
    }

    /// Creates a result with this JSON.
    pub(crate) fn of(json: String, result: RunResult, silence: Option<String>) -> PyResult<Self> {
        Ok(Self {
            json,
            silence,
            packets: result.packets.map(tables::packets).transpose()?,
            requests: result.requests.map(tables::requests).transpose()?,
            path_series: result.path_series.map(tables::path_series).transpose()?,
            connection_series: result.connection_series.map(tables::connection_series).transpose()?,
            decisions: result.decisions.map(tables::decisions).transpose()?,
            decision_paths: result.decision_paths.map(tables::decision_paths).transpose()?,
        })
    }
}
