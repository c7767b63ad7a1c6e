//! Runs of the simulator whose packets travel in real QUIC connections.

use plait_quic::tunnels::{self, Tunnels};
use plait_sched::SCHEDULERS;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::{Engine, RunResult};
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control, RunError};
use std::path::Path;

/// All data that can be recorded.
const ALL: RecordOptions = RecordOptions {
    packets: true,
    series: Some(plait_sched::Duration::from_millis(500)),
    decisions: true,
    decisions_from: plait_sched::Time::ZERO,
};

const LINKS: &str = r#"
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
[[path]]
name = "lte"
rate = "30Mbit"
rtt = "60ms"
loss = "0.5%"
"#;

const FILE: &str = "[workload]\nkind = \"file\"\nsize = \"2MB\"";

const REQUESTS: &str = "[workload]\nkind = \"request-response\"\nresponse = \"50kB\"\ncount = 20";

fn scenario(scheduler: &str, workload: &str, transport: &str) -> Scenario {
    let text = format!(
        "duration = \"30s\"\nscheduler = {scheduler:?}\n{LINKS}\n{workload}\n[transport]\nprotocol = \"mpquic\"\n{transport}"
    );
    Scenario::from_toml(&text, "test.toml", Path::new(".")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn try_carried(scenario: &Scenario) -> Result<RunResult, RunError> {
    let tunnels = Tunnels::new(scenario).unwrap_or_else(|error| panic!("{error}"));
    simulation::run_carried(scenario, scenario.scheduler.build(), &ALL, tunnels, &mut |_| Control::Continue)
}

fn carried(scenario: &Scenario) -> RunResult {
    try_carried(scenario).unwrap_or_else(|error| panic!("{}: {error}", scenario.scheduler.name()))
}

fn simulated(scenario: &Scenario) -> RunResult {
    simulation::run(scenario, scenario.scheduler.build(), &ALL, &mut |_| Control::Continue)
        .unwrap_or_else(|error| panic!("{}: {error}", scenario.scheduler.name()))
}

#[test]
fn every_scheduler_gets_every_byte_across() {
    for scheduler in SCHEDULERS {
        let result = carried(&scenario(scheduler.name, FILE, ""));
        assert!(matches!(result.engine, Engine::Quic));
        assert_eq!(result.metrics.delivered_bytes, 2_000_000, "{}", scheduler.name);
    }
}

#[test]
fn a_run_is_the_same_each_time() {
    let scenario = scenario("blest", FILE, "handshake = true");
    let [one, other] = [carried(&scenario), carried(&scenario)];
    assert_eq!(one, other);
    assert_ne!(one.metrics, simulated(&scenario).metrics, "headers of noq take room, too");
}

#[test]
fn what_the_connections_add_is_small() {
    for (workload, transport) in [(FILE, ""), (FILE, "handshake = true"), (REQUESTS, "")] {
        let scenario = scenario("lowest-rtt", workload, transport);
        let (real, plain) = (carried(&scenario), simulated(&scenario));
        let seconds = |run: &RunResult| run.metrics.completion_time_s.expect("it ends");
        let ratio = seconds(&real) / seconds(&plain);
        eprintln!("{workload}: {ratio}");
        assert!((0.97..1.10).contains(&ratio), "{workload} {transport}: {ratio}");
    }
}

#[test]
fn what_cannot_be_carried_is_named() {
    for (transport, wanted) in [("ecn = true", "transport.ecn"), ("packet = \"40kB\"", "transport.packet")] {
        let refusal = tunnels::refusal(&scenario("lowest-rtt", FILE, transport));
        assert!(refusal.as_ref().is_some_and(|(what, _)| what.contains(wanted)), "{refusal:?}");
    }
}
