//! Valid and invalid scenario files, and the property that any input is read or refused.

mod changes;
mod defaults;
mod described;
mod discipline;
mod errors;
mod link_errors;
mod scheduler;
mod transport;
mod workloads;

use std::path::Path;
use std::sync::Arc;

use plait_sched::{Duration, Time};
use proptest::prelude::*;

use super::*;
use crate::application::ConstantRate;
use crate::link::{Capacity, Jitter, LinkConfig, Loss, Outage, Outages, QueueLimit, Step, Steps};

/// The example of the format, with every kind of table.
const FULL: &str = r#"
name = "Table II, 2 Mbps / 100 ms, 35 kB"
seed = 7
duration = "100s"
warmup = "10s"
scheduler = { name = "round-robin", segments = 10 }

[transport]
protocol = "cmt-sctp"
receive_buffer = "35kB"
send_buffer = "64KiB"
packet = "1500B"
congestion_control = "newreno"
ack_every = 2
receive_window_accounting = "outstanding"
retransmission_policy = "loss-rate"
max_burst = 0

[workload]
kind = "cbr"
rate = "500kbit"
block = "8kB"
start = "1s"

[[path]]
name = "fast"
rate = "1Mbit"
rtt = "20ms"
queue = "50p"
loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "25%", bad_loss = "50%" }
jitter = "5ms"
outages = [{ from = "10s", to = "12s" }, { from = "20s", to = "21s" }]
[[path]]
name = "slow"
rate = "2Mbit"
forward = { delay = "40ms", loss = "0.2%" }
backward = { delay = "60ms", queue = "64kB", jitter = { amount = "1ms", reorder = true } }
queue = "bdp"
outages = { every = "30s", length = "100ms" }
backup = true
cost = 3
[[path]]
name = "shared"
links = ["radio", "core"]

[[link]]
name = "radio"
rate = "4Mbit"
rate_steps = [{ at = "10s", rate = "500kbit" }, { at = "12s", rate = "8Mbit" }]
repeat = "30s"
delay = "15ms"
queue = "50p"
loss = "0.1%"
backward = { rate = "1Mbit", queue = "bdp" }
[[link]]
name = "core"
forward = { rate = "10Mbit", delay = "6ms", queue = "bdp" }

[[flow]]
name = "download"
kind = "tcp"
links = ["radio"]
size = "10MB"
congestion_control = "cubic"
start = "2s"
stop = "50s"
[[flow]]
kind = "multipath"
paths = ["slow", "shared"]
scheduler = { name = "round-robin", segments = 3 }
direction = "backward"
[[flow]]
kind = "cbr"
path = "fast"
rate = "64kbit"
packet = "200B"
[[flow]]
kind = "on-off"
links = ["core"]
rate = "2Mbit"
on = "300ms"
off = "600ms"
distribution = "pareto"
shape = 1.9
"#;

const SMALL: &str = "[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\n";

fn read(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(text, "s.toml", Path::new("."))
}

/// A path's own wire.
fn wire(scenario: &Scenario, path: usize) -> &DuplexLink {
    scenario.paths[path].wire.as_ref().expect("a wire of its own")
}

/// The text of the error for `text`.
fn refused(text: &str) -> String {
    let error = read(text).expect_err(text).to_string();
    assert!(!error.contains('\n'), "{error:?}");
    error
}

#[test]
fn the_full_example_is_read_as_written() {
    let scenario = read(FULL).expect("a valid scenario");
    assert_eq!(scenario.name, "Table II, 2 Mbps / 100 ms, 35 kB");
    assert_eq!(scenario.seed, 7);
    assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(100), Duration::from_secs(10)));
    assert_eq!(scenario.scheduler.name(), "round-robin");
    assert!(scenario.scheduler.parameters().contains(&("segments".to_owned(), Parameter::Integer(10))));
    assert_eq!(scenario.scheduler.build().name(), "round-robin");
    let transport = &scenario.transport;
    assert_eq!((transport.receive_buffer, transport.send_buffer), (35_000, Some(65_536)));
    assert_eq!((transport.packet, transport.ack_every, transport.max_burst), (1500, 2, None));
    let OwnOptions::CmtSctp(CmtSctpOptions { receive_window_accounting, retransmission_policy, .. }) =
        transport.own
    else {
        panic!("CMT-SCTP's options")
    };
    assert_eq!(receive_window_accounting, WindowAccounting::Outstanding);
    assert_eq!(retransmission_policy, RetransmissionPolicy::LossRate);
    let start = Duration::from_secs(1);
    assert_eq!(
        scenario.workload,
        ConstantRate { rate: 500_000, block: 8_000, start, stop: None, deadline: None }.into()
    );

    let [(fast_config, fast), (slow_config, slow)] = [0, 1].map(|path: usize| {
        let config = &scenario.paths[path];
        (config, config.wire.as_ref().expect("a wire of its own"))
    });
    assert_eq!((fast_config.links.len(), slow_config.links.len()), (0, 0));
    let second = |s| Time::ZERO + Duration::from_secs(s);
    let outages = Outages::List(vec![
        Outage { from: second(10), to: second(12) },
        Outage { from: second(20), to: second(21) },
    ]);
    let wire = LinkConfig {
        queue: QueueLimit::Packets(50).into(),
        outages,
        ..LinkConfig::new(1_000_000, Duration::from_millis(10))
    };
    let loss = Loss::GilbertElliott {
        to_bad: 10_000_000,
        to_good: 250_000_000,
        good_loss: 0,
        bad_loss: 500_000_000,
    }
    .into();
    let jitter = Some(Jitter { amount: Duration::from_millis(5), ..Jitter::default() });
    assert_eq!(fast.forward, LinkConfig { loss, jitter, ..wire.clone() });
    assert_eq!(fast.backward, wire, "loss and jitter of a path concern its forward direction");

    let slow_rtt = scenario.round_trip(1);
    assert_eq!((slow_config.backup, slow_config.cost, slow_rtt), (true, 3, Duration::from_millis(100)));
    // 2 Mbit/s · 100 ms = 25 000 bytes = 16.7 packets.
    assert_eq!(
        (slow.forward.queue.clone(), slow.backward.queue.clone()),
        (QueueLimit::Packets(17).into(), QueueLimit::Bytes(64_000).into())
    );
    assert_eq!(slow.forward.loss, Loss::Bernoulli { share: 2_000_000 }.into());
    assert_eq!(
        slow.backward.jitter,
        Some(Jitter { amount: Duration::from_millis(1), reorder: true, ..Jitter::default() })
    );
    let every = Duration::from_secs(30);
    let periodic = Outages::Periodic { every, length: Duration::from_millis(100), first: second(30) };
    assert_eq!((&slow.forward.outages, &slow.backward.outages), (&periodic, &periodic));
}

#[test]
fn links_and_flows_are_read_as_written() {
    let scenario = read(FULL).expect("a valid scenario");
    let shared = &scenario.paths[2];
    assert_eq!((&shared.wire, &shared.links[..]), (&None, &[0, 1][..]));
    let trip = Duration::from_millis(15 + 6 + 15);
    assert_eq!(scenario.round_trip(2), trip);
    assert_eq!(scenario.directed(scenario.hops(2), Direction::Forward), [Hop::Shared(0), Hop::Shared(1)]);
    assert_eq!(
        scenario.directed(scenario.hops(2), Direction::Backward),
        [Hop::Shared(0)],
        "core is forward only"
    );

    let [radio, core] = &scenario.links[..] else { panic!("two links") };
    let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
    let steps = vec![Step { at: at(10), value: 500_000 }, Step { at: at(12), value: 8_000_000 }];
    let steps = Steps::new(4_000_000, steps, Some(Duration::from_secs(30)));
    let forward = radio.forward.as_ref().expect("both directions");
    assert_eq!(forward.capacity, Capacity::Steps(std::sync::Arc::new(steps)));
    assert_eq!(
        (forward.loss.clone(), forward.queue.clone()),
        (Loss::Bernoulli { share: 1_000_000 }.into(), QueueLimit::Packets(50).into())
    );
    let backward = radio.backward.as_ref().expect("both directions");
    assert_eq!((&backward.capacity, backward.loss.first()), (&Capacity::Rate(1_000_000), Loss::None));
    // The longest round trip through both links is the path's, 36 ms. That is 3 packets at 1
    // Mbit/s, but a queue has at least 10, and 30 packets at 10 Mbit/s.
    assert_eq!(backward.queue, QueueLimit::Packets(10).into());
    assert_eq!(core.forward.as_ref().map(|link| link.queue.first()), Some(QueueLimit::Packets(30)));
    assert_eq!(core.backward, None);

    let [download, second, voice, bursts] = &scenario.flows[..] else { panic!("four flows") };
    assert_eq!((download.name.as_str(), second.name.as_str()), ("download", "flow2"));
    assert_eq!(
        (&download.kind, &download.route),
        (
            &FlowKind::Tcp { control: CongestionControl::new("cubic"), size: Some(10_000_000) },
            &FlowRoute::Links(vec![0])
        )
    );
    assert_eq!((download.start, download.stop), (Duration::from_secs(2), Some(Duration::from_secs(50))));
    assert_eq!((second.direction, &second.route), (Direction::Backward, &FlowRoute::Paths(vec![1, 2])));
    assert!(
        matches!(&second.kind, FlowKind::Multipath { scheduler: Some(scheduler), size: None, control: None } if scheduler.name() == "round-robin")
    );
    assert_eq!(
        (&voice.kind, voice.direction),
        (&FlowKind::ConstantRate { rate: 64_000, packet: 200 }, Direction::Forward)
    );
    let times = OnOffTimes {
        on: Duration::from_millis(300),
        off: Duration::from_millis(600),
        distribution: OnOffDistribution::Pareto { shape: 1.9 },
    };
    assert_eq!(bursts.kind, FlowKind::OnOff { rate: 2_000_000, packet: 1500, times });
}

#[test]
fn json_says_the_same_as_toml_and_is_read_back() {
    for text in [FULL, SMALL] {
        let scenario = read(text).expect("a valid scenario");
        let json = scenario.to_json().to_string();
        let again = Scenario::from_json(&json, "s.json", Path::new(".")).expect(&json);
        assert_eq!(again, scenario);
        assert_eq!(again.to_json().to_string(), json);
    }
}

#[test]
fn a_scenario_has_one_to_thirty_two_paths() {
    assert_eq!(refused(""), "s.toml: path is missing");
    assert_eq!(refused("path = []"), "s.toml: path: a scenario has 1 to 32 paths, not 0");
    assert_eq!(
        refused("path = {}"),
        "s.toml: path = {table of 0}: expected a list of tables, [[path]], got a table"
    );
    assert_eq!(
        refused("path = [1]"),
        "s.toml: path[0] = 1: expected a table such as { rate = \"10Mbit\", rtt = \"20ms\" }, got an integer"
    );
    assert!(read(&SMALL.repeat(32)).is_ok());
    assert_eq!(refused(&SMALL.repeat(33)), "s.toml: path: a scenario has 1 to 32 paths, not 33");
}

#[test]
fn trace_files_are_found_beside_the_scenario() {
    let folder = std::env::temp_dir().join(format!("plait-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    std::fs::write(folder.join("lte.down"), "1\n2\n").expect("a temporary file");
    std::fs::write(folder.join("bad.down"), "2\n1\n").expect("a temporary file");
    let with = |path: &str| Scenario::from_toml(&format!("[[path]]\n{path}\n"), "s.toml", &folder);

    let scenario =
        with("rtt = \"20ms\"\ntrace = \"lte.down\"\nrate = \"1Mbit\"\nqueue = \"bdp\"").expect("valid");
    let path = wire(&scenario, 0);
    assert_eq!(
        (path.forward.capacity.nominal_rate(), &path.backward.capacity),
        (12_000_000, &Capacity::Rate(1_000_000))
    );
    assert_eq!(
        (path.forward.queue.first(), path.backward.queue.first()),
        (QueueLimit::Packets(20), QueueLimit::Packets(10))
    );
    let json = scenario.to_json().to_string();
    assert_eq!(Scenario::from_json(&json, "s.json", &folder).as_ref(), Ok(&scenario));

    let file = folder.join("s.json");
    std::fs::write(&file, &json).expect("a temporary file");
    assert_eq!(Scenario::from_file(&file).as_ref(), Ok(&scenario));
    let missing = Scenario::from_file(&folder.join("none.toml")).expect_err("no file").to_string();
    assert!(missing.contains("none.toml: cannot be read: "), "{missing}");
    let directory = Scenario::from_file(&folder).expect_err("a folder").to_string();
    assert!(directory.ends_with("it is not a regular file"), "{directory}");

    for (path, expected) in [
        (
            "rtt = \"20ms\"\ntrace = \"lte.down\"",
            "path[0].backward: rate or trace (the path's trace is that of the forward direction) is missing",
        ),
        (
            "rtt = \"20ms\"\nrate = \"1Mbit\"\nforward = { trace = \"lte.down\", rate = \"1Mbit\" }",
            "path[0].forward: give a rate or a trace, not both",
        ),
        (
            "rtt = \"20ms\"\nrate = \"1Mbit\"\ntrace = \"bad.down\"",
            "path[0].trace = \"bad.down\": line 2: timestamps never decrease: 1 after 2",
        ),
        (
            "rtt = \"20ms\"\nrate = \"1Mbit\"\ntrace = \".\"",
            "path[0].trace = \".\": a trace is a regular file",
        ),
    ] {
        assert_eq!(with(path).expect_err(path).to_string(), format!("s.toml: {expected}"));
    }
    let missing =
        with("rtt = \"20ms\"\nrate = \"1Mbit\"\ntrace = \"none\"").expect_err("no file").to_string();
    assert!(missing.starts_with("s.toml: path[0].trace = \"none\": cannot be read: "), "{missing}");
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");
}
