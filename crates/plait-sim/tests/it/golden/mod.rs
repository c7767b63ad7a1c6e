//! A few runs with all their metrics, and with bounds from formulas. The bounds show that the
//! numbers are right; the stored numbers show that they have not changed.
//!
//! After an *intended* change, check the difference and renew the numbers: `PLAIT_RENEW_GOLDEN=1
//! cargo test -p plait-sim --test it golden`, then `git diff
//! crates/plait-sim/tests/it/golden.json`.

mod runs;

use crate::common::{run, same_through_bytes, scenario};
use plait_sim::result::RunResult;
use runs::{GOLDENS, Golden};
use serde_json::{Map, Value};
use std::path::PathBuf;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden.json")
}

/// All metrics except the number of events, which does not describe the result.
fn metrics(golden: &Golden, result: &RunResult) -> Value {
    let text = result.to_json(&scenario(golden.scenario), golden.name);
    let mut run: Value = serde_json::from_str(&text).expect("our own JSON");
    let metrics = run["metrics"].as_object_mut().expect("a table");
    metrics.remove("events");
    let mut all = serde_json::json!({ "metrics": run["metrics"], "paths": run["paths"] });
    if !result.queues.is_empty() {
        all["queues"] = run["queues"].take();
    }
    all
}

#[test]
fn nothing_changed_and_all_bounds_hold() {
    let mut runs = Map::new();
    for golden in &GOLDENS {
        let result = run(golden.scenario);
        (golden.bound)(&result);
        runs.insert(golden.name.to_owned(), metrics(golden, &result));
    }
    let runs = Value::Object(runs);
    if std::env::var_os("PLAIT_RENEW_GOLDEN").is_some() {
        std::fs::write(file(), format!("{runs:#}\n")).expect("the file can be written");
        return;
    }
    let text = std::fs::read_to_string(file()).expect("tests/it/golden.json can be read");
    let expected: Value = serde_json::from_str(&text).expect("tests/it/golden.json is JSON");
    let mut changes = Vec::new();
    compare("", &expected, &runs, &mut changes);
    assert!(
        changes.is_empty(),
        "if that is meant, see the top of crates/plait-sim/tests/it/golden/mod.rs:\n{}",
        changes.join("\n")
    );
}

/// Lists the differences between two documents.
fn compare(place: &str, expected: &Value, found: &Value, changes: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(old), Value::Object(new)) => {
            for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
                let (old, new) = (old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null));
                compare(&format!("{place}/{key}"), old, new, changes);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                compare(&format!("{place}/{index}"), old, new, changes);
            }
        }
        (old, new) if old != new => changes.push(format!("{place}: {old} became {new}")),
        _ => {}
    }
}

/// The ends use only data on the wire.
#[test]
fn through_bytes_everything_is_the_same() {
    let mut packets = 0;
    for golden in &GOLDENS {
        let through = same_through_bytes(golden.scenario).unwrap_or_else(|reason| panic!("{reason}"));
        packets += through;
    }
    assert!(packets > 50_000, "{packets} went through bytes");
}
