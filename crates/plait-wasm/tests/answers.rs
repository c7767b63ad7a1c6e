//! Answers against runs of the simulator.

use plait_sched::{Duration, Time};
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_sim::simulation::{self, Control};
use serde_json::{Value, json};
use std::path::Path;

const SCENARIO: &str = r#"
    name = "two"
    duration = "4s"
    warmup = "1s"
    scheduler = "round-robin"
    transport = { protocol = "mptcp", receive_buffer = "128kB" }
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

/// The simulator's own run, with every table.
fn run(scheduler: &str) -> (Scenario, RunResult) {
    let text = SCENARIO.replace("round-robin", scheduler);
    let scenario = Scenario::from_toml(&text, "playground", Path::new("")).expect("a valid scenario");
    let series = Some(Duration::from_millis(50));
    let options = RecordOptions { packets: true, series, decisions: true, decisions_from: Time::ZERO };
    let control = &mut |_share| Control::Continue;
    let result = simulation::run(&scenario, scenario.scheduler.build(), &options, control);
    (scenario, result.expect("the run ends"))
}

fn answer(request: &Value) -> Value {
    serde_json::from_str(&plait_wasm::answer(&request.to_string(), &mut |_| ())).expect("an answer is JSON")
}

fn pictures(window: [u64; 2]) -> Value {
    json!({ "window_ns": window, "series_ns": 50_000_000 })
}

#[test]
fn metrics_are_those_of_the_simulator_to_the_byte() {
    for scheduler in ["round-robin", "lowest-rtt", "redundant", "lowest-rtt+rp"] {
        let (scenario, result) = run(scheduler);
        let request = json!({ "scenario": SCENARIO, "scheduler": scheduler, "run": pictures([0, 0]) });
        let text = plait_wasm::answer(&request.to_string(), &mut |_| ());
        let metrics = result.to_json(&scenario, scheduler);
        assert!(text.starts_with(&format!(r#"{{"result":{metrics},"scenario":"#)), "{scheduler}: {text}");
    }
}

#[test]
fn a_scenario_in_json_is_the_same_scenario() {
    let (scenario, _) = run("daps");
    let of = |written: Value| {
        answer(&json!({ "scenario": written, "run": pictures([2_000_000_000, 2_100_000_000]) }))
    };
    let text = SCENARIO.replace("round-robin", "daps");
    assert_eq!(of(text.into()), of(scenario.to_json()));
}

#[test]
fn tables_have_the_packets_of_the_window_and_the_whole_series() {
    let (_, result) = run("round-robin");
    let (from, to) = (2_000_000_000, 2_100_000_000);
    let answer = answer(&json!({ "scenario": SCENARIO, "run": pictures([from, to]) }));
    let (tables, packets) = (&answer["tables"], result.packets.expect("recorded"));
    let rows: Vec<usize> =
        (0..packets.len()).filter(|&row| (from..to).contains(&packets.sent[row].unsigned_abs())).collect();
    assert!(rows.len() > 100, "{}", rows.len());
    let shown = &tables["packets"];
    assert_eq!(shown["transmission"], json!(rows));
    assert_eq!(shown["sequence"], json!(rows.iter().map(|&row| packets.sequence[row]).collect::<Vec<_>>()));
    let times = |column: &[i64]| -> Value {
        rows.iter().map(|&row| column[row]).map(|at| if at < 0 { Value::Null } else { at.into() }).collect()
    };
    assert_eq!(shown["arrived_ns"], times(&packets.arrived));
    assert_eq!(shown["duplicate_ns"], times(&packets.duplicate));
    assert_eq!(shown["delivered_ns"], times(&packets.delivered));
    assert!(
        shown["arrived_ns"].as_array().is_some_and(|column| column.contains(&Value::Null)),
        "no loss shown"
    );
    let series = result.path_series.expect("recorded");
    assert_eq!(tables["path_series"]["cwnd_packets"], json!(series.cwnd));
    assert_eq!(tables["path_series"]["link_queue_packets"], json!(series.link_queue));
    let series = result.connection_series.expect("recorded");
    assert_eq!(tables["connection_series"]["delivered_bytes"], json!(series.delivered_bytes));
}

#[test]
fn a_preview_has_the_packets_of_the_answer_and_changes_nothing_else() {
    let mut request = json!({ "scenario": SCENARIO, "run": pictures([2_000_000_000, 2_100_000_000]) });
    let plain = answer(&request);
    let mut previews = Vec::new();
    for at in [3_500_000_000_u64, 2_050_000_000, 4_000_000_000] {
        request["run"]["preview_ns"] = at.into();
        let text = plait_wasm::answer(&request.to_string(), &mut |text| {
            previews.push(serde_json::from_str::<Value>(text).expect("a preview is JSON"));
        });
        assert_eq!(serde_json::from_str::<Value>(&text).expect("an answer is JSON"), plain);
    }
    let [late, early] = &previews[..] else { panic!("{} previews", previews.len()) };
    assert_eq!(late, &plain["tables"]["packets"]);
    let rows = |packets: &Value| packets["sequence"].as_array().map_or(0, Vec::len);
    assert!(rows(early) > 50 && rows(early) < rows(late), "{} and {} packets", rows(early), rows(late));
}

#[test]
fn quantiles_agree_with_the_percentiles_of_the_metrics() {
    let answer = answer(&json!({ "scenario": SCENARIO, "run": pictures([0, 0]) }));
    let quantiles = answer["tables"]["app_delay_quantiles_ns"].as_array().expect("a table");
    let milliseconds = |part: usize| quantiles[part].as_f64().expect("a number") / 1e6;
    let delays = &answer["result"]["metrics"]["app_delay_ms"];
    for (part, name) in [(100, "p50"), (190, "p95"), (198, "p99")] {
        let percentile = delays[name].as_f64().expect("a number");
        assert!((milliseconds(part) / percentile - 1.0).abs() < 0.001, "{name}: {percentile}");
    }
    assert_eq!(json!(milliseconds(200)), delays["max"]);
}

#[test]
fn the_decision_of_a_packet_names_its_path_and_segment() {
    let (_, result) = run("lowest-rtt");
    let packets = result.packets.expect("recorded");
    let (decisions, paths) = (result.decisions.expect("recorded"), result.decision_paths.expect("recorded"));
    let new = (0..packets.len()).filter(|&row| !packets.retransmission[row]);
    for row in new.skip(500).step_by(700) {
        let (segment, path) = (packets.sequence[row], packets.path[row]);
        let why =
            json!({ "segment": segment, "path": path, "sent_ns": packets.sent[row], "reinjection": false });
        let answer = answer(&json!({ "scenario": SCENARIO, "scheduler": "lowest-rtt", "why": why }));
        let found = &answer["decision"];
        let time = found["time_ns"].as_i64().expect("a decision");
        let same = |at: &usize| {
            let count = u64::from(decisions.segments[*at].unwrap_or(1));
            decisions.path[*at] == Some(path)
                && decisions.segment[*at]
                    .is_some_and(|start| (start..start.saturating_add(count)).contains(&segment))
        };
        let at = (0..decisions.len()).rfind(same).expect("the segment was assigned");
        assert_eq!((time, found["decision"].as_str()), (decisions.time[at], Some("assign")));
        assert_eq!(found["path"], ["dsl", "lte"][usize::from(path)]);
        let first = (0..paths.decision.len()).find(|&row| paths.decision[row] == at as u64).expect("facts");
        assert_eq!(found["paths"][0]["srtt_ns"], paths.srtt[first]);
        assert_eq!(found["paths"][1]["cwnd"], paths.cwnd[first + 1]);
        assert_eq!(found["paths"][usize::from(path)]["verdict"], "chosen");
    }
}

#[test]
fn a_retransmission_that_no_decision_requested_has_none() {
    let (_, result) = run("lowest-rtt");
    let packets = result.packets.expect("recorded");
    let row = (0..packets.len()).find(|&row| packets.retransmission[row]).expect("the scenario has losses");
    // Another path than the segment's own.
    let why = json!({ "segment": packets.sequence[row], "path": 1 - packets.path[row], "sent_ns": packets.sent[row],
        "reinjection": true });
    let answer = answer(&json!({ "scenario": SCENARIO, "scheduler": "lowest-rtt", "why": why }));
    assert_eq!(answer, json!({ "decision": null }));
}

#[test]
fn errors_are_one_line_with_the_place() {
    for (request, expected) in [
        (
            json!({ "scenario": SCENARIO.replace("16Mbit", "16Mbitt"), "run": pictures([0, 0]) }),
            "path[0].rate",
        ),
        (json!({ "scenario": SCENARIO, "scheduler": "lowest-rrt", "run": pictures([0, 0]) }), "lowest-rtt?"),
        (json!({ "scenario": SCENARIO }), "expected one of: run, why"),
        (json!({ "scenario": SCENARIO, "runs": 1 }), "unknown field"),
        (json!({ "scenario": SCENARIO, "run": { "window_ns": [0, 1], "series_ns": 0 } }), "more than 0"),
    ] {
        let error = answer(&request)["error"].as_str().expect("an error").to_owned();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}
