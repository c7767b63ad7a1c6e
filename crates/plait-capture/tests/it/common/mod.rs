//! Run folders made from simulated runs.

use plait_capture::write::{self, Capture, Role, START_NS};
use plait_capture::{ObservationError, observe};
use plait_sim::application::ConstantRate;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::{Scenario, Workload};
use plait_sim::simulation::{self, Control};
use serde_json::{Value, json};
use std::path::Path;

/// One row per transmission.
pub(crate) const PACKETS: RecordOptions =
    RecordOptions { packets: true, series: None, decisions: false, decisions_from: plait_sched::Time::ZERO };

/// Reads a scenario that is known to be valid.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml", Path::new(".")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Simulates a run, and writes the captures of both hosts.
pub(crate) fn simulate(scenario: &Scenario, options: &RecordOptions) -> (RunResult, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file_of = |_path, role: Role| folder.path().join(format!("{}.pcap", role.name()));
    let mut capture = Capture::create(scenario, "test", &file_of).expect("captures can be made");
    let control = &mut |_share| Control::Continue;
    let scheduler = scenario.scheduler.build();
    let result = simulation::run_tapped(scenario, scheduler, options, &mut capture, control);
    capture.finish().expect("captures can be written");
    (result.expect("a run that works"), folder)
}

/// Returns the `observed.json` of an equal run over real hosts.
pub(crate) fn observed(scenario: &Scenario, result: &RunResult) -> Value {
    let micros = |millis: Option<f64>| millis.map(|millis| millis * 1e3);
    let paths = result.paths.iter().enumerate().map(|(index, path)| {
        let (sender, receiver) = write::addresses(index);
        let probes = if index == 0 { result.metrics.counters.tail_probes } else { Some(0) };
        let timeouts = if index == 0 { result.metrics.counters.timeouts } else { Some(0) };
        json!({
            "name": path.name, "sender": sender, "receiver": receiver,
            "warmup": { "lost": 3, "dropped": 5, "timeouts": 1, "tail_probes": 2 },
            "end": {
                "lost": path.packets_lost + 3, "dropped": path.packets_dropped.unwrap_or(0) + 5,
                "timeouts": timeouts.map(|count| count + 1), "tail_probes": probes.map(|count| count + 2),
            },
            "srtt_us": micros(path.srtt_ms), "cwnd": path.cwnd_packets,
            "forward_delay_us": micros(path.forward_delay_ms), "backward_delay_us": micros(path.backward_delay_ms),
        })
    });
    let metrics = &result.metrics;
    json!({
        "version": 1, "start_ns": START_NS, "end_ns": START_NS + scenario.duration.as_nanos() as i64,
        "port": write::PORT, "paths": paths.collect::<Vec<_>>(),
        "scheduler": {
            "warmup": { "decisions": 10, "waits": 20 },
            "end": { "decisions": metrics.counters.decisions.map(|n| n + 10), "waits": metrics.counters.waits.map(|n| n + 20) },
        },
        "written_bytes": metrics.delivered_bytes + metrics.undelivered_bytes.unwrap_or(0),
        "flows": [], "complete": metrics.completion_time_s.is_some(),
        "fallback": result.fallback,
    })
}

/// Adds the other files of a folder of a run over real hosts.
pub(crate) fn complete(folder: &tempfile::TempDir, scenario: &Scenario, result: &RunResult) {
    put(folder, "observed.json", observed(scenario, result).to_string());
    if let Workload::ConstantRate(ConstantRate { rate, block, start, .. }) = scenario.workload {
        let end = scenario.duration.as_nanos();
        let time = |count: u64| {
            start.as_nanos()
                + (u128::from(count) * u128::from(block) * 8_000_000_000 / u128::from(rate)) as u64
        };
        let writes =
            (0..).map(|count| (time(count), (count + 1) * block)).take_while(|(time, _)| *time < end);
        put(folder, "writes.bin", progress(writes));
    }
}

/// Encodes records of a time, counted from the scenario's start, and a number of bytes.
pub(crate) fn progress(records: impl IntoIterator<Item = (u64, u64)>) -> Vec<u8> {
    let record =
        |(time, bytes): (u64, u64)| [(START_NS + time as i64).to_le_bytes(), bytes.to_le_bytes()].concat();
    records.into_iter().flat_map(record).collect()
}

/// Writes a file into the folder.
pub(crate) fn put(folder: &tempfile::TempDir, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), bytes).expect("the file can be written");
}

/// Observes the run in the folder.
pub(crate) fn read(scenario: &Scenario, folder: &tempfile::TempDir) -> Result<RunResult, ObservationError> {
    observe(scenario, folder.path(), &PACKETS)
}

/// Returns the run's JSON without the fields that may differ: the engine, and its number of events.
pub(crate) fn comparable(scenario: &Scenario, result: &RunResult) -> Value {
    let mut value: Value = serde_json::from_str(&result.to_json(scenario, "test")).expect("our own JSON");
    value.as_object_mut().expect("a table").remove("engine");
    let metrics = value["metrics"].as_object_mut().expect("a table");
    // Captures do not show these facts, which only a sender knows.
    let own = ["spurious_timeouts", "duplicate_reports", "reorderings", "undone_reductions"];
    ["events"].iter().chain(&own).for_each(|name| {
        metrics.remove(*name);
    });
    value
}
