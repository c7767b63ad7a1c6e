//! The scenario as JSON with every default filled in, in the words that the reader understands.

use serde_json::{Map, Value, json};

use super::reader::{UNLIMITED, Word};
use super::{OwnOptions, Parameter, PathConfig, Scenario, SchedulerChoice, TransportOptions, Workload, text};
use crate::link::{Capacity, Jitter, LinkConfig, Loss, Outages, QueueLimit};

pub(super) fn scenario(scenario: &Scenario) -> Value {
    json!({
        "name": scenario.name,
        "seed": scenario.seed,
        "duration": text::duration(scenario.duration),
        "warmup": text::duration(scenario.warmup),
        "scheduler": scheduler(&scenario.scheduler),
        "transport": transport(&scenario.transport),
        "workload": workload(&scenario.workload),
        "path": scenario.paths.iter().map(path).collect::<Vec<_>>(),
    })
}

fn scheduler(choice: &SchedulerChoice) -> Value {
    let mut table = Map::new();
    table.insert("name".to_owned(), choice.name().into());
    for (name, value) in choice.parameters() {
        let value = match value {
            Parameter::Integer(number) => (*number).into(),
            Parameter::Boolean(truth) => (*truth).into(),
            Parameter::Number(number) => (*number).into(),
            Parameter::Text(text) => text.as_str().into(),
        };
        table.insert(name.clone(), value);
    }
    Value::Object(table)
}

fn transport(options: &TransportOptions) -> Value {
    let or_unlimited = |bytes: Option<u64>| bytes.map_or(UNLIMITED.to_owned(), text::bytes);
    let mut value = json!({
        "protocol": options.protocol.word(),
        "receive_buffer": text::bytes(options.receive_buffer),
        "send_buffer": or_unlimited(options.send_buffer),
        "packet": text::bytes(u64::from(options.packet)),
        "congestion_control": options.congestion_control.word(),
        "ack_every": options.ack_every,
        "ack_delay": text::duration(options.ack_delay),
        "initial_window": text::bytes(options.initial_window),
        "initial_ssthresh": or_unlimited(options.initial_ssthresh),
        "grow_in_recovery": options.grow_in_recovery,
        "max_burst": options.max_burst.unwrap_or(0),
        "rto_initial": text::duration(options.rto_initial),
        "rto_min": text::duration(options.rto_min),
        "rto_max": text::duration(options.rto_max),
        "path_max_retransmissions": options.path_max_retransmissions,
        "association_max_retransmissions": options.association_max_retransmissions,
        "potentially_failed": options.potentially_failed,
    });
    match &options.own {
        OwnOptions::CmtSctp {
            delayed_ack_for_cmt,
            receive_window_accounting,
            retransmission_policy,
            fast_retransmit_threshold,
            heartbeat_interval,
        } => {
            value["delayed_ack_for_cmt"] = (*delayed_ack_for_cmt).into();
            value["receive_window_accounting"] = receive_window_accounting.word().into();
            value["retransmission_policy"] = retransmission_policy.word().into();
            value["fast_retransmit_threshold"] = (*fast_retransmit_threshold).into();
            value["heartbeat_interval"] = text::duration(*heartbeat_interval).into();
        }
        OwnOptions::Mptcp { hystart, handshake, initial_path, timestamp_granularity, clock_offset } => {
            value["hystart"] = (*hystart).into();
            value["handshake"] = (*handshake).into();
            if let Some(name) = initial_path {
                value["initial_path"] = name.as_str().into();
            }
            value["timestamp_granularity"] = text::duration(*timestamp_granularity).into();
            let sign = if *clock_offset < 0 { "-" } else { "" };
            let span = text::duration(plait_sched::Duration::from_nanos(clock_offset.unsigned_abs()));
            value["clock_offset"] = format!("{sign}{span}").into();
        }
    }
    value
}

fn workload(workload: &Workload) -> Value {
    match workload {
        Workload::Bulk => json!({ "kind": "bulk" }),
        Workload::File { size } => json!({ "kind": "file", "size": text::bytes(*size) }),
        Workload::ConstantRate { rate, block, start } => json!({
            "kind": "cbr",
            "rate": text::rate(*rate),
            "block": text::bytes(*block),
            "start": text::duration(*start),
        }),
    }
}

fn path(path: &PathConfig) -> Value {
    json!({
        "name": path.name,
        "forward": link(&path.forward),
        "backward": link(&path.backward),
        "backup": path.backup,
        "cost": path.cost,
    })
}

/// A direction that leaves nothing to its path.
fn link(config: &LinkConfig) -> Value {
    let mut value = json!({
        "delay": text::duration(config.delay),
        "queue": queue(config.queue),
        "loss": loss(config.loss),
        "jitter": jitter(config.jitter),
        "outages": outages(&config.outages),
    });
    let (key, capacity) = match &config.capacity {
        Capacity::Rate(rate) => ("rate", text::rate(*rate)),
        Capacity::Trace(trace) => ("trace", trace.name().to_owned()),
    };
    value[key] = capacity.into();
    value
}

fn queue(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Infinite => "infinite".to_owned(),
        QueueLimit::Packets(packets) => text::packets(packets),
        QueueLimit::Bytes(bytes) => text::bytes(bytes),
        QueueLimit::Wait(longest) => text::duration(longest),
    }
}

fn loss(loss: Loss) -> Value {
    match loss {
        Loss::None => text::share(0).into(),
        Loss::Bernoulli { share } => text::share(share).into(),
        Loss::GilbertElliott { to_bad, to_good, good_loss, bad_loss } => json!({
            "model": "gilbert-elliott",
            "to_bad": text::share(to_bad),
            "to_good": text::share(to_good),
            "good_loss": text::share(good_loss),
            "bad_loss": text::share(bad_loss),
        }),
    }
}

fn jitter(jitter: Option<Jitter>) -> Value {
    match jitter {
        None => "0s".into(),
        Some(Jitter { amount, reorder: false }) => text::duration(amount).into(),
        Some(Jitter { amount, reorder }) => json!({ "amount": text::duration(amount), "reorder": reorder }),
    }
}

fn outages(outages: &Outages) -> Value {
    let moment = |time: plait_sched::Time| text::duration(time.since(plait_sched::Time::ZERO));
    match outages {
        Outages::Windows(windows) => windows
            .iter()
            .map(|window| json!({ "from": moment(window.from), "to": moment(window.to) }))
            .collect(),
        Outages::Periodic { every, length, first } => json!({
            "every": text::duration(*every),
            "length": text::duration(*length),
            "first": moment(*first),
        }),
    }
}
