//! `plait link`: emulates a scenario's links for programs, until these end.

use crate::{RunError, bad_input};
use plait_link::command::{self, Options, Outcome};
use plait_link::error::Error;
use plait_link::loopback::{self, Sockets};
use plait_link::plan::{self, PathAddresses};
use plait_sched::Duration;
use plait_sim::scenario::Scenario;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

fn read(file: &str, seed: Option<u64>) -> PyResult<Scenario> {
    let mut scenario = Scenario::from_file(Path::new(file)).map_err(bad_input)?;
    if let Some(seed) = seed {
        scenario.seed = seed;
    }
    Ok(scenario)
}

/// Converts an error into the Python exception: bad input, or a failed run.
fn exception(error: &Error) -> PyErr {
    match error {
        Error::Input(message) => bad_input(message),
        Error::Forbidden { .. } | Error::System { .. } | Error::Server(_) => {
            RunError::new_err(error.to_string())
        }
    }
}

fn ends_json(ends: &[PathAddresses], peer: &str) -> Value {
    let one = |end: &PathAddresses| json!({"path": end.path, "interface": end.interface, "near": end.near.to_string(), "far": end.far.to_string()});
    json!({"peer": peer, "ends": ends.iter().map(one).collect::<Vec<_>>()})
}

fn outcome_json(scenario: &Scenario, outcome: &Outcome) -> String {
    let paths = scenario.paths.iter().zip(&outcome.counters);
    let rows = paths.flat_map(|(path, ways)| {
        ["forward", "backward"].into_iter().zip(ways).map(|(way, one)| {
            json!({
                "path": path.name, "direction": way, "sent": one.sent, "arrived": one.arrived,
                "arrived_bytes": one.arrived_bytes, "copied": one.copied, "lost": one.lost, "dropped": one.dropped, "marked": one.marked,
            })
        })
    });
    json!({"status": outcome.status, "counters": rows.collect::<Vec<_>>()}).to_string()
}

/// Returns the addresses and interfaces that `link_run` creates, as JSON.
#[pyfunction]
fn link_plan(file: &str) -> PyResult<String> {
    Ok(ends_json(&plan::path_addresses(&read(file, None)?), &plan::PEER.to_string()).to_string())
}

#[pyfunction]
#[pyo3(signature = (file, command, *, seed, server, patience, mtu, mptcp, spin))]
#[expect(clippy::too_many_arguments, reason = "they are the command's options")]
fn link_run(
    py: Python<'_>,
    file: &str,
    command: Vec<OsString>,
    seed: Option<u64>,
    server: Option<String>,
    patience: u64,
    mtu: u32,
    mptcp: bool,
    spin: u64,
) -> PyResult<String> {
    let scenario = read(file, seed)?;
    let patience = Duration::from_nanos(patience);
    let options = Options { command, server, patience, mtu, mptcp, spin: Duration::from_nanos(spin) };
    let outcome = py.detach(|| command::run(&scenario, &options));
    Ok(outcome_json(&scenario, &outcome.map_err(|error| exception(&error))?))
}

/// Links between UDP sockets on loopback.
#[pyclass(module = "plait._core")]
struct LinkSockets {
    scenario: Scenario,
    ends: Vec<PathAddresses>,
    sockets: Sockets,
}

#[pymethods]
impl LinkSockets {
    #[new]
    #[pyo3(signature = (file, target, *, port, seed))]
    fn new(file: &str, target: &str, port: u16, seed: Option<u64>) -> PyResult<Self> {
        let scenario = read(file, seed)?;
        let address: SocketAddr = target.parse().map_err(|_| {
            bad_input(format!("target {target:?}: expected ADDRESS:PORT such as 127.0.0.1:4433"))
        })?;
        let ends = loopback::path_addresses(&scenario);
        let sockets = Sockets::new(ends.len(), address, port);
        let sockets = sockets.map_err(|error| bad_input(format!("port {port} on loopback: {error}")))?;
        Ok(Self { scenario, ends, sockets })
    }

    /// Returns the addresses as JSON, like those of `link_plan`.
    fn plan(&self) -> String {
        ends_json(&self.ends, &loopback::PEER.to_string()).to_string()
    }

    /// Returns the port of all paths.
    fn port(&self) -> PyResult<u16> {
        self.sockets.port().map_err(|error| RunError::new_err(error.to_string()))
    }

    #[pyo3(signature = (command, *, spin))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "Python gives a list, of which there is nothing to borrow"
    )]
    fn run(&mut self, py: Python<'_>, command: Vec<OsString>, spin: u64) -> PyResult<String> {
        let port = self.port()?.to_string();
        let mut child = command.split_first().map(|(program, arguments)| {
            let mut child = Command::new(program);
            child
                .args(arguments)
                .envs(plan::environment(&self.ends, loopback::PEER))
                .env("PLAIT_PORT", &port);
            child
        });
        let (scenario, sockets) = (&self.scenario, &mut self.sockets);
        let outcome =
            py.detach(|| loopback::run(scenario, sockets, child.as_mut(), Duration::from_nanos(spin)));
        Ok(outcome_json(scenario, &outcome.map_err(|error| exception(&error))?))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(link_plan, module)?)?;
    module.add_function(wrap_pyfunction!(link_run, module)?)?;
    module.add_class::<LinkSockets>()
}
