//! Builds the simulated parts from a scenario.

use super::RunError;
use crate::application::{ConnectionEnd, Workload};
use crate::scenario::{CongestionControl, ConnectionSetup, FlowRoute, PathOptions, Scenario};
use plait_sched::{Builtin, PathId};
use plait_transport::{PathConfig, endpoint};

/// Refuses a user's own controller that nothing builds, and a workload without a behaviour.
pub(super) fn check(scenario: &Scenario) -> Result<(), RunError> {
    if let Some(missing) = scenario.controls().find(|control| control.is_own() && control.own().is_none()) {
        return Err(RunError::NoController(missing.name().to_owned()));
    }
    match &scenario.workload {
        Workload::Own(own) if !own.is_bound() => Err(RunError::Unbound(own.name.clone())),
        _ => Ok(()),
    }
}

/// The configuration of a scenario's transport, for both ends of its connection.
pub fn transport(scenario: &Scenario) -> endpoint::Config {
    let two_way = scenario.workload.client() == ConnectionEnd::Far;
    scenario
        .transport
        .config(&ConnectionSetup { initial_path: initial_path(scenario), two_way })
        .seeded(scenario.seed)
}

/// The path of the first subflow.
fn initial_path(scenario: &Scenario) -> PathId {
    let Some(name) = scenario.transport.initial_path() else { return PathId(0) };
    let place = scenario.paths.iter().position(|path| path.name == name);
    PathId(place.unwrap_or(0) as u8)
}

/// The sender's configuration of the paths.
pub(super) fn paths(scenario: &Scenario) -> Vec<PathConfig> {
    scenario.paths.iter().map(path_config).collect()
}

fn path_config(path: &PathOptions) -> PathConfig {
    PathConfig { backup: path.backup, cost: path.cost, weight: path.weight }
}

/// The transport of a competing TCP flow, for both ends.
pub(super) fn tcp(scenario: &Scenario, control: Option<&CongestionControl>) -> endpoint::Config {
    scenario
        .transport
        .of_tcp_flow(control)
        .config(&ConnectionSetup { initial_path: PathId(0), two_way: false })
}

/// The transport of a second connection like the scenario's own, over `route`.
pub(super) fn multipath(
    scenario: &Scenario,
    route: &FlowRoute,
    control: Option<&CongestionControl>,
) -> endpoint::Config {
    let first = initial_path(scenario);
    let place = match route {
        FlowRoute::Paths(paths) => paths.iter().position(|&path| path == first.index()).unwrap_or(0),
        FlowRoute::Links(_) => 0,
    };
    let ends = ConnectionSetup { initial_path: PathId(place as u8), two_way: false };
    scenario.transport.of_multipath_flow(control).config(&ends)
}

/// The scheduler of a connection without a choice of paths.
pub(super) fn only_path() -> Builtin {
    #[expect(clippy::expect_used, reason = "a name of the registry and no parameters")]
    Builtin::new("lowest-rtt", &[]).expect("a built-in scheduler")
}

/// The path configuration of a flow's sender. A flow over one path uses it as a normal path, even
/// if it is a backup of the scenario's connection.
pub(super) fn flow_paths(scenario: &Scenario, route: &FlowRoute) -> Vec<PathConfig> {
    match route {
        FlowRoute::Paths(paths) => {
            let only = paths.len() == 1;
            let config = |&path: &usize| {
                let config = path_config(&scenario.paths[path]);
                PathConfig { backup: config.backup && !only, ..config }
            };
            paths.iter().map(config).collect()
        }
        FlowRoute::Links(_) => vec![PathConfig::default()],
    }
}
