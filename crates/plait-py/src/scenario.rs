//! Scenarios: read and validated once, then passed to every run.

use crate::bad_input;
use plait_sim::error::ScenarioError;
use plait_sim::scenario::{CongestionControl, Scenario, SchedulerChoice, Workload};
use plait_transport::congestion::Own;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};
use std::sync::{Arc, OnceLock};

/// Adds this file's class.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Parsed>()
}

/// A valid scenario. It does not change, so copies share it.
#[pyclass(frozen, name = "Scenario", module = "plait._core")]
#[derive(Clone)]
pub(crate) struct Parsed {
    pub(crate) scenario: Arc<Scenario>,
    /// The folder of its traces, an absolute path.
    base: PathBuf,
    json: OnceLock<String>,
}

#[pymethods]
impl Parsed {
    #[new]
    #[pyo3(signature = (text, origin, base, *, format = "toml"))]
    fn read(py: Python<'_>, text: &str, origin: &str, base: PathBuf, format: &str) -> PyResult<Self> {
        let parse = match format {
            "json" => Scenario::from_json,
            "toml" => Scenario::from_toml,
            other => return Err(bad_input(format!("format \"{other}\": expected toml or json"))),
        };
        let scenario = py.detach(|| parse(text, origin, &base)).map_err(bad_input)?;
        Ok(Self::new(scenario, base))
    }

    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive owned")]
    fn load(py: Python<'_>, file: PathBuf) -> PyResult<Self> {
        let scenario = py.detach(|| Scenario::from_file(&file)).map_err(bad_input)?;
        Ok(Self::new(scenario, file.parent().unwrap_or(Path::new("")).to_owned()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    #[getter]
    fn duration_ns(&self) -> u64 {
        self.scenario.duration.as_nanos()
    }

    /// Returns the names of the user's own congestion controllers, with absolute paths.
    #[getter]
    fn own_controllers(&self) -> Vec<&str> {
        self.scenario.controls().filter(|control| control.is_own()).map(CongestionControl::name).collect()
    }

    /// Returns the scenario as JSON that is independent of its location: files have absolute
    /// paths.
    #[getter]
    pub(crate) fn json(&self) -> &str {
        self.json.get_or_init(|| canonical(&self.scenario, &self.base))
    }

    /// Returns the bounds of the scenario's metrics as JSON.
    fn bounds(&self, py: Python<'_>) -> String {
        py.detach(|| plait_sim::bound::to_json(&self.scenario).to_string())
    }

    /// Returns the arguments that create the scenario again, for copies and other processes.
    fn __getnewargs_ex__(&self) -> ((&str, &str, &str), BTreeMap<&str, &str>) {
        ((self.json(), self.name(), ""), BTreeMap::from([("format", "json")]))
    }
}

impl Parsed {
    fn new(mut scenario: Scenario, base: PathBuf) -> Self {
        let base = absolute(Path::new(".").join(&base)).unwrap_or(base);
        for control in scenario.controls_mut().filter(|control| control.is_own() && control.own().is_none()) {
            let name = control.name().to_owned();
            let placed = placed(&base, &name);
            *control = CongestionControl::new(&placed).unwrap_or_else(|| control.clone());
        }
        Self { scenario: Arc::new(scenario), base, json: OnceLock::new() }
    }

    /// Returns the scenario with factories of its own controllers.
    pub(crate) fn with_controllers(&self, mut factory: impl FnMut(&str) -> Option<Own>) -> Self {
        let mut scenario = Scenario::clone(&self.scenario);
        for control in scenario.controls_mut().filter(|control| control.is_own()) {
            if let Some(own) = factory(control.name()) {
                control.set_own(own);
            }
        }
        Self { scenario: Arc::new(scenario), base: self.base.clone(), json: OnceLock::new() }
    }

    /// Returns the scenario with another scheduler (a name or a table in JSON) and seed, if given.
    pub(crate) fn changed(&self, scheduler: Option<&str>, seed: Option<u64>) -> Result<Self, ScenarioError> {
        if scheduler.is_none() && seed.is_none_or(|seed| seed == self.scenario.seed) {
            return Ok(self.clone());
        }
        let mut scenario = Scenario::clone(&self.scenario);
        change(&mut scenario, &self.scenario.name, scheduler, seed)?;
        Ok(Self::new(scenario, self.base.clone()))
    }
}

/// Sets the scheduler (a name or a table in JSON) and the seed, if given. Errors name `origin`.
pub(crate) fn change(
    scenario: &mut Scenario,
    origin: &str,
    scheduler: Option<&str>,
    seed: Option<u64>,
) -> Result<(), ScenarioError> {
    if let Some(choice) = scheduler {
        scenario.scheduler = SchedulerChoice::from_json(choice, origin)?;
    }
    scenario.seed = seed.unwrap_or(scenario.seed);
    Ok(())
}

/// Returns the absolute path of a file in the folder `base`.
fn placed(base: &Path, name: &str) -> String {
    let file = base.join(name);
    absolute(&file).unwrap_or(file).to_string_lossy().into_owned()
}

fn canonical(scenario: &Scenario, base: &Path) -> String {
    let mut document = scenario.to_json();
    for kind in ["path", "link"] {
        for one in document.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
            for direction in ["forward", "backward"] {
                let Some(trace) = one.get_mut(direction).and_then(|table| table.get_mut("trace")) else {
                    continue;
                };
                let Some(name) = trace.as_str() else { continue };
                *trace = placed(base, name).into();
            }
        }
    }
    if let Workload::WriteTrace(trace) = &scenario.workload {
        document["workload"]["file"] = placed(base, &trace.file).into();
    }
    if let Workload::Own(own) = &scenario.workload {
        let (file, class) = own.name.split_once(':').unwrap_or((&own.name, ""));
        document["workload"]["kind"] = format!("{}:{class}", placed(base, file)).into();
    }
    document.to_string()
}
