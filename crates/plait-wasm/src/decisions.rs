//! Decisions in the shape of `plait explain --json`.

use plait_sim::recorder::frames::{DECISION_NAMES, DecisionFrame, DecisionPaths, NEVER, limited};
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A packet whose decision is sought.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Packet {
    /// Its segment.
    pub(crate) segment: u64,
    /// The path that carried it.
    pub(crate) path: u8,
    /// The time of its transmission.
    pub(crate) sent_ns: u64,
    /// Whether it is a copy of a segment in flight.
    pub(crate) reinjection: bool,
}

/// The latest decision that assigned the packet's segment to its path, or requested its copy there.
pub(crate) fn of_packet(result: &RunResult, scenario: &Scenario, packet: &Packet) -> Option<Value> {
    let (decisions, paths) = (result.decisions.as_ref()?, result.decision_paths.as_ref()?);
    let wanted = if packet.reinjection { "reinject" } else { "assign" };
    let row = (0..decisions.len()).rev().find(|&row| {
        decisions.time[row].unsigned_abs() <= packet.sent_ns
            && DECISION_NAMES[usize::from(decisions.decision[row])] == wanted
            && decisions.path[row] == Some(packet.path)
            && decisions.segment[row].is_some_and(|first| {
                let count = u64::from(decisions.segments[row].unwrap_or(1));
                (first..first.saturating_add(count)).contains(&packet.segment)
            })
    })?;
    Some(document(decisions, paths, row, scenario))
}

fn document(decisions: &DecisionFrame, paths: &DecisionPaths, row: usize, scenario: &Scenario) -> Value {
    let name = |path: u8| scenario.paths[usize::from(path)].name.as_str();
    let rows = (0..paths.decision.len()).filter(|&at| paths.decision[at] == row as u64);
    json!({
        "time_ns": decisions.time[row],
        "decision": DECISION_NAMES[usize::from(decisions.decision[row])],
        "path": decisions.path[row].map(name),
        "segments": decisions.segments[row].filter(|&limit| limit != u32::MAX),
        "segment": decisions.segment[row],
        "wait_until_ns": decisions.wait_until[row],
        "unassigned": limited(decisions.unassigned[row]),
        "window_left": decisions.window_left[row],
        "window": decisions.window[row],
        "send_buffer_left": limited(decisions.send_buffer_left[row]),
        "oldest_unacked": decisions.oldest_unacked[row],
        "oldest_unacked_path": decisions.oldest_unacked_path[row].map(name),
        "reason": reason(&decisions.reason[row], scenario),
        "paths": rows.map(|at| facts(paths, at, name(paths.path[at]))).collect::<Vec<_>>(),
    })
}

/// The reason, with the names of paths.
fn reason(text: &str, scenario: &Scenario) -> Option<String> {
    let named = |part: &str| {
        let (number, rest) = part.split_once('}')?;
        let path = scenario.paths.get(number.parse::<usize>().ok()?)?;
        Some(format!("{}{rest}", path.name))
    };
    let mut parts = text.split('{');
    let first = parts.next().filter(|_| !text.is_empty())?.to_owned();
    Some(parts.fold(first, |done, part| done + &named(part).unwrap_or_else(|| format!("{{{part}"))))
}

fn facts(paths: &DecisionPaths, at: usize, name: &str) -> Value {
    let moment = |value: i64| (value != NEVER).then_some(value);
    let amount = |value: u32| (value != u32::MAX).then_some(value);
    let verdict = paths.verdict[at];
    let mut facts = Map::new();
    let mut put = |key: &str, value: Value| facts.insert(key.to_owned(), value);
    put("path", name.into());
    put("verdict", verdict.name().into());
    put("kind", verdict.kind().name().into());
    put("state", paths.state[at].name().into());
    put("srtt_ns", moment(paths.srtt[at]).into());
    put("rttvar_ns", moment(paths.rttvar[at]).into());
    put("own_rtt_ns", moment(paths.own_rtt[at]).into());
    put("min_rtt_ns", moment(paths.min_rtt[at]).into());
    put("latest_rtt_ns", moment(paths.latest_rtt[at]).into());
    put("forward_delay_ns", paths.forward_delay[at].into());
    put("rto_ns", paths.rto[at].into());
    put("cwnd", paths.cwnd[at].into());
    put("ssthresh", amount(paths.ssthresh[at]).into());
    put("in_flight", paths.in_flight[at].into());
    put("queued", paths.queued[at].into());
    put("limit", amount(paths.limit[at]).into());
    put("cwnd_left", paths.cwnd_left[at].into());
    put("loss_ppm", paths.loss_ppm[at].into());
    put("delivery_rate_bps", paths.delivery_rate[at].into());
    Value::Object(facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn names_of_paths_stay_as_they_are_in_a_reason() {
        let text = "[[path]]\nname = \"{1}\"\nrate = \"1Mbit\"\nrtt = \"9ms\"\n\
                    [[path]]\nname = \"lte\"\nrate = \"1Mbit\"\nrtt = \"9ms\"\n";
        let scenario = Scenario::from_toml(text, "test.toml", Path::new("")).expect("a valid scenario");
        for (text, expected) in [
            ("{0}, {1}, {2}, {10}, {x}, {", Some("{1}, lte, {2}, {10}, {x}, {")),
            ("no path", Some("no path")),
            ("", None),
        ] {
            assert_eq!(reason(text, &scenario).as_deref(), expected, "{text}");
        }
    }
}
