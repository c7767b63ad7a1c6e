//! Requests and their answers.

use crate::decisions::{self, Packet};
use crate::tables;
use plait_sched::{Duration, Time};
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::{Scenario, SchedulerChoice};
use plait_sim::simulation::{self, Control, Preview};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// The name of the scenario in errors, and of a scenario without a name in results.
const ORIGIN: &str = "playground";

/// The time before a packet's transmission in which its decision is sought first. A packet waits
/// longer than that only in a long path queue.
const REACH: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The text of a scenario file in TOML, or a scenario as JSON.
    scenario: Value,
    /// The scheduler instead of the scenario's: a name, or a table of name and parameters.
    scheduler: Option<Value>,
    run: Option<Pictures>,
    why: Option<Packet>,
}

/// The data for pictures of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pictures {
    /// Packets sent from the first moment on and before the second.
    window_ns: [u64; 2],
    /// Interval of the samples of windows and queues.
    series_ns: u64,
    /// The time of the run at which the caller gets the window's packets early.
    preview_ns: Option<u64>,
}

/// Returns the answer to a request in JSON. A failure is `{"error": "…"}` with one line.
///
/// If the request has a `preview_ns`, `preview` gets the packets of the window once, as soon as the
/// run is there. They have the columns of the answer's `packets`.
pub fn answer(request: &str, preview: &mut dyn FnMut(&str)) -> String {
    answered(request, preview).unwrap_or_else(|error| serde_json::json!({ "error": error }).to_string())
}

fn answered(request: &str, preview: &mut dyn FnMut(&str)) -> Result<String, String> {
    let request: Request = serde_json::from_str(request).map_err(|error| format!("request: {error}"))?;
    let mut scenario = match &request.scenario {
        Value::String(text) => Scenario::from_toml(text, ORIGIN, Path::new("")),
        table => Scenario::from_json(&table.to_string(), ORIGIN, Path::new("")),
    }
    .map_err(|error| error.to_string())?;
    if let Some(choice) = &request.scheduler {
        let choice = SchedulerChoice::from_json(&choice.to_string(), ORIGIN);
        scenario.scheduler = choice.map_err(|error| error.to_string())?;
    }
    match (&request.run, &request.why) {
        (Some(pictures), None) => pictured(&scenario, pictures, preview),
        (None, Some(packet)) => explained(scenario, packet),
        _ => Err("request: expected one of: run, why".to_owned()),
    }
}

fn simulate(scenario: &Scenario, options: &RecordOptions, preview: Preview<'_>) -> Result<RunResult, String> {
    let control = &mut |_share| Control::Continue;
    let scheduler = scenario.scheduler.build();
    simulation::run_with_preview(scenario, scheduler, options, preview, control)
        .map_err(|error| error.to_string())
}

/// A run's metrics and the data of its pictures.
fn pictured(
    scenario: &Scenario,
    pictures: &Pictures,
    preview: &mut dyn FnMut(&str),
) -> Result<String, String> {
    if pictures.series_ns == 0 {
        return Err("request: series_ns must be more than 0".to_owned());
    }
    let series = Some(Duration::from_nanos(pictures.series_ns));
    let options = RecordOptions { packets: true, series, ..RecordOptions::default() };
    let look = &mut |frame: &_| preview(&tables::shown(frame, pictures.window_ns).to_string());
    let at = Time::from_nanos(pictures.preview_ns.unwrap_or(u64::MAX));
    let result = simulate(scenario, &options, Preview { at, look })?;
    let metrics = result.to_json(scenario, scenario.scheduler.name());
    let tables = tables::of(&result, scenario, pictures.window_ns);
    Ok(format!(r#"{{"result":{metrics},"scenario":{},"tables":{tables}}}"#, scenario.to_json()))
}

/// The decision that put the packet on its path. The run ends soon after the packet's transmission;
/// the warm-up only limits metrics.
fn explained(mut scenario: Scenario, packet: &Packet) -> Result<String, String> {
    let sent = Time::from_nanos(packet.sent_ns);
    let end = sent.since(Time::ZERO) + Duration::from_millis(1);
    scenario.duration = scenario.duration.min(end);
    scenario.warmup = Duration::ZERO;
    for from in [Time::from_nanos(packet.sent_ns.saturating_sub(REACH.as_nanos())), Time::ZERO] {
        let options = RecordOptions { decisions: true, decisions_from: from, ..RecordOptions::default() };
        let result = simulate(&scenario, &options, Preview { at: Time::MAX, look: &mut |_| () })?;
        if let Some(found) = decisions::of_packet(&result, &scenario, packet) {
            return Ok(format!(r#"{{"decision":{found}}}"#));
        }
    }
    Ok(r#"{"decision":null}"#.to_owned())
}
