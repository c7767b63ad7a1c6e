//! The lines of text; `linux/schedulers/plait_replay.h` documents and reads them.

use std::collections::BTreeMap;
use std::fmt::Write;

use plait_sched::conformance::{Call, Record};
use plait_sched::registry::info;
use plait_sched::{
    Capabilities, Connection, Decision, Domain, Event, ParameterInfo, Path, PathState, SchedulerInfo, Value,
};

/// A fact's name in the kernel, and its value there.
type Fact = (&'static str, i128);

/// The value of a missing fact. It is written as a word.
const NONE: i128 = i128::MIN;

/// Lines about the schedulers, one scheduler after the other.
#[derive(Default)]
pub(crate) struct Text {
    lines: Vec<String>,
    needs: Capabilities,
    begun: bool,
    /// The present values of the parameters.
    set: BTreeMap<String, String>,
    /// The facts that the reader knows: only changes are written.
    connection: Vec<Fact>,
    paths: Vec<Vec<Fact>>,
}

impl Text {
    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Begins a scheduler. The kernel's has the same defaults, and refuses the same values.
    pub(crate) fn scheduler(&mut self, name: &str) {
        self.line(format!("scheduler {name}"));
        let info = info(name).expect("it is a built-in scheduler");
        for parameter in parameters(info) {
            let kernel = kernel_name(info, parameter);
            let default = kernel_value(parameter.default);
            self.line(format!("default {kernel} {default}"));
            for refused in outside(parameter.domain) {
                self.line(format!("refuse {kernel} {refused}"));
            }
            self.set.insert(kernel, default);
        }
    }

    /// Sets all parameters: those `given`, and the others to their defaults.
    pub(crate) fn set(&mut self, name: &str, given: &[(&str, Value<'_>)]) {
        let info = info(name).expect("it is a built-in scheduler");
        for parameter in parameters(info) {
            let given = given.iter().find(|(name, _)| *name == parameter.name).map(|&(_, value)| value);
            let (name, value) =
                (kernel_name(info, parameter), kernel_value(given.unwrap_or(parameter.default)));
            if self.set.get(&name) != Some(&value) {
                self.line(format!("set {name} {value}"));
                self.set.insert(name, value);
            }
        }
    }

    /// Begins a connection.
    pub(crate) fn begin(&mut self, needs: Capabilities) {
        (self.needs, self.begun) = (needs, false);
    }

    /// Writes a call: first the changed facts, then the call with its answer.
    pub(crate) fn call(&mut self, record: &Record<'_>) {
        if !self.begun {
            self.line(format!("begin {} {}", record.paths.len(), bits(self.needs)));
            self.begun = true;
            self.connection = zeros(connection_facts(record.connection));
            self.paths = record.paths.iter().map(|path| zeros(path_facts(path))).collect();
        }
        let connection = connection_facts(record.connection);
        if let Some(changes) = changes(&self.connection, &connection) {
            self.line(format!("connection{changes}"));
        }
        self.connection = connection;
        for (i, path) in record.paths.iter().enumerate() {
            let path = path_facts(path);
            if let Some(changes) = changes(&self.paths[i], &path) {
                self.line(format!("path {i}{changes}"));
            }
            self.paths[i] = path;
        }
        self.line(match record.call {
            Call::Event(event) => event_line(event),
            Call::Decide { now, decision } => format!("decide {} {}", now.as_nanos(), answer(decision)),
        });
    }

    /// Returns the lines as a file.
    pub(crate) fn lines(&self) -> String {
        self.lines.join("\n") + "\n"
    }
}

/// The parameters that the kernel also has: all but the instrument for experiments.
fn parameters(info: &'static SchedulerInfo) -> impl Iterator<Item = &'static ParameterInfo> {
    plait_sched::registry::parameters(info).filter(|parameter| parameter.name != "rtt_error")
}

/// Module parameters share one name space and have no fractions, so names get a prefix and a unit.
fn kernel_name(info: &SchedulerInfo, parameter: &ParameterInfo) -> String {
    let own = info.parameters.iter().any(|own| own.name == parameter.name);
    let prefix = if own { info.name.replace('-', "_") + "_" } else { String::new() };
    let unit = if matches!(parameter.domain, Domain::Number { .. }) { "_milli" } else { "" };
    format!("{prefix}{}{unit}", parameter.name)
}

fn kernel_value(value: Value<'_>) -> String {
    match value {
        Value::Integer(n) => n.to_string(),
        Value::Boolean(on) => u8::from(on).to_string(),
        Value::Number(x) => milli(x).to_string(),
        Value::Text(word) => word.to_string(),
    }
}

fn milli(x: f64) -> i64 {
    (x * 1_000.0).round() as i64
}

/// Values just outside a domain.
fn outside(domain: Domain) -> Vec<String> {
    match domain {
        Domain::Integer { min, max } => vec![(min - 1).to_string(), (max + 1).to_string()],
        Domain::Number { min, max } => vec![(milli(min) - 1).to_string(), (milli(max) + 1).to_string()],
        Domain::Boolean => vec![String::from("2")],
        Domain::Choice(_) => vec![String::from("neither")],
    }
}

fn bits(needs: Capabilities) -> u32 {
    // The kernel has no messages.
    let Capabilities { assign_ahead, recall, reinject, limit, penalize, uncarried, .. } = needs;
    [assign_ahead, recall, reinject, limit, penalize, uncarried]
        .iter()
        .enumerate()
        .map(|(bit, &needed)| u32::from(needed) << bit)
        .sum()
}

/// The initial facts of the reader.
fn zeros(facts: Vec<Fact>) -> Vec<Fact> {
    facts.into_iter().map(|(name, _)| (name, 0)).collect()
}

fn changes(before: &[Fact], after: &[Fact]) -> Option<String> {
    let mut changes = String::new();
    for (&(name, value), before) in after.iter().zip(before) {
        if value == before.1 {
            continue;
        }
        let _ = match value {
            NONE => write!(changes, " {name}=none"),
            value => write!(changes, " {name}={value}"),
        };
    }
    (!changes.is_empty()).then_some(changes)
}

fn connection_facts(connection: &Connection) -> Vec<Fact> {
    let oldest = connection.oldest_unacked;
    vec![
        ("unassigned", connection.unassigned.into()),
        ("next_segment", connection.next_segment.into()),
        ("window_left", connection.window_left.into()),
        ("window", connection.window.into()),
        ("send_buffer_left", connection.send_buffer_left.into()),
        ("has_oldest", oldest.is_some().into()),
        ("oldest_unacked", oldest.map_or(0, |oldest| oldest.segment.into())),
        ("oldest_carried", oldest.map_or(0, |oldest| oldest.carried.0.into())),
        ("oldest_path", oldest.map_or(0, |oldest| oldest.path.0.into())),
        ("finished", connection.finished.into()),
    ]
}

fn path_facts(path: &Path) -> Vec<Fact> {
    let state = match path.state {
        PathState::Active => 0,
        PathState::Backup => 1,
        PathState::PotentiallyFailed => 2,
        PathState::Failed => 3,
    };
    let amount = |amount: u32| if amount == u32::MAX { NONE } else { amount.into() };
    vec![
        ("state", state),
        ("in_recovery", path.in_recovery.into()),
        ("repairing", path.repairing.into()),
        ("mss", path.mss.into()),
        ("cwnd", path.cwnd.into()),
        ("ssthresh", amount(path.ssthresh)),
        ("in_flight", path.in_flight.into()),
        ("queued", path.queued.into()),
        ("limit", amount(path.limit)),
        ("loss_ppm", path.loss_ppm.into()),
        ("cost", path.cost.into()),
        ("weight", path.weight.into()),
        ("srtt", path.srtt.as_nanos().into()),
        ("rttvar", path.rttvar.as_nanos().into()),
        ("latest_rtt", path.latest_rtt.as_nanos().into()),
        ("own_rtt", path.own_rtt.as_nanos().into()),
        ("min_rtt", path.min_rtt.as_nanos().into()),
        ("forward_delay", path.forward_delay.map_or(NONE, i128::from)),
        ("rto", path.rto.as_nanos().into()),
        ("delivery_rate", path.delivery_rate.into()),
        ("pacing_rate", path.pacing_rate.unwrap_or(0).into()),
        ("uncarried", path.uncarried.map_or(NONE, i128::from)),
    ]
}

/// Writes kind, path, amount, round-trip sample, and whether it is a retransmission.
fn event_line(event: Event) -> String {
    match event {
        Event::Sent { path, segment, retransmission } => {
            format!("event sent {} {segment} 0 {}", path.0, u8::from(retransmission))
        }
        Event::Acked { path, segments, rtt } => {
            format!("event acked {} {segments} {} 0", path.0, rtt.map_or(0, plait_sched::Duration::as_nanos))
        }
        Event::Lost { path, segments } => format!("event lost {} {segments} 0 0", path.0),
        Event::Timeout { path } => format!("event timeout {} 0 0 0", path.0),
        Event::PathDown { path } => format!("event down {} 0 0 0", path.0),
        Event::PathUp { path } => format!("event up {} 0 0 0", path.0),
        other => unimplemented!("the kernel's schedulers are told of no {}", other.kind()),
    }
}

/// Writes kind, path and amount.
fn answer(decision: Decision) -> String {
    match decision {
        Decision::Wait { until } => format!("wait 0 {}", until.map_or(0, plait_sched::Time::as_nanos)),
        Decision::Assign { path, segments } => format!("assign {} {segments}", path.0),
        Decision::Reinject { path, segment } => format!("reinject {} {segment}", path.0),
        Decision::Recall { path } => format!("recall {} 0", path.0),
        Decision::Limit { path, in_flight } => format!("limit {} {in_flight}", path.0),
        Decision::Penalize { path } => format!("penalize {} 0", path.0),
        Decision::Defer => unreachable!("none of these schedulers needs messages"),
    }
}
