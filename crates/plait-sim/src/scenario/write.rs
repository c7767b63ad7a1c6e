//! Writes a scenario as JSON with all defaults filled in, in the reader's format.

use std::sync::Arc;

use plait_sched::Time;
use serde_json::{Map, Value, json};

use super::reader::Word;
use super::{
    Flow, FlowKind, FlowRoute, Parameter, PathOptions, Scenario, SchedulerChoice, SharedLink, discipline,
    text,
};
use crate::link::{
    Capacity, Duplicate, Jitter, JitterDistribution, LinkConfig, Loss, Outages, QueueLimit, Step, Steps,
};

pub(super) fn scenario(scenario: &Scenario) -> Value {
    let mut value = json!({
        "name": scenario.name,
        "seed": scenario.seed,
        "duration": text::duration(scenario.duration),
        "warmup": text::duration(scenario.warmup),
        "scheduler": scheduler(&scenario.scheduler),
        "transport": scenario.transport.write(),
        "workload": scenario.workload.write(),
        "path": scenario.paths.iter().map(|one| path(one, scenario)).collect::<Vec<_>>(),
    });
    if !scenario.links.is_empty() {
        value["link"] = scenario.links.iter().map(shared).collect();
    }
    if !scenario.flows.is_empty() {
        value["flow"] = scenario.flows.iter().map(|one| flow(one, scenario)).collect();
    }
    value
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

fn path(path: &PathOptions, scenario: &Scenario) -> Value {
    let mut value = json!({
        "name": path.name,
        "backup": path.backup,
        "cost": path.cost,
        "weight": path.weight,
    });
    if let Some(wire) = &path.wire {
        value["forward"] = link(&wire.forward);
        value["backward"] = link(&wire.backward);
    }
    if !path.links.is_empty() {
        value["links"] = links(&path.links, scenario);
    }
    value
}

fn links(links: &[usize], scenario: &Scenario) -> Value {
    links.iter().map(|&link| scenario.links[link].name.as_str()).collect()
}

fn shared(shared: &SharedLink) -> Value {
    let mut value = json!({ "name": shared.name });
    if let Some(forward) = &shared.forward {
        value["forward"] = link(forward);
    }
    if let Some(backward) = &shared.backward {
        value["backward"] = link(backward);
    }
    value
}

fn flow(flow: &Flow, scenario: &Scenario) -> Value {
    let mut value = json!({
        "name": flow.name,
        "kind": flow.kind.word(),
        "direction": flow.direction.word(),
        "start": text::duration(flow.start),
    });
    if let Some(stop) = flow.stop {
        value["stop"] = text::duration(stop).into();
    }
    let name = |&path: &usize| scenario.paths[path].name.as_str();
    match (&flow.route, &flow.kind) {
        (FlowRoute::Links(route), _) => value["links"] = links(route, scenario),
        (FlowRoute::Paths(paths), FlowKind::Multipath { .. }) => {
            value["paths"] = paths.iter().map(name).collect();
        }
        (FlowRoute::Paths(paths), _) => value["path"] = paths.iter().map(name).collect::<String>().into(),
    }
    if let Some(size) = flow.kind.size() {
        value["size"] = text::bytes(size).into();
    }
    if let Some(control) = flow.kind.control() {
        value["congestion_control"] = control.name().into();
    }
    let mut datagrams = |rate: u64, packet: u32| {
        value["rate"] = text::rate(rate).into();
        value["packet"] = text::bytes(u64::from(packet)).into();
    };
    match &flow.kind {
        FlowKind::Tcp { .. } | FlowKind::Multipath { scheduler: None, .. } => {}
        FlowKind::Multipath { scheduler: Some(choice), .. } => value["scheduler"] = scheduler(choice),
        FlowKind::ConstantRate { rate, packet } => datagrams(*rate, *packet),
        FlowKind::OnOff { rate, packet, times } => {
            datagrams(*rate, *packet);
            times.write(&mut value);
        }
    }
    value
}

/// Writes a direction with all its keys, so that it takes nothing from its path.
fn link(config: &LinkConfig) -> Value {
    let mut value = json!({
        "delay": text::duration(config.delay.first()),
        "queue": queue(config.queue.first()),
        "loss": loss(config.loss.first()),
        "jitter": jitter(config.jitter),
        "outages": outages(&config.outages),
    });
    if let Some(settings) = &config.discipline {
        value["discipline"] = discipline::write(settings);
    }
    match &config.capacity {
        Capacity::Rate(rate) => value["rate"] = text::rate(*rate).into(),
        Capacity::Trace(trace) => value["trace"] = trace.name().into(),
        Capacity::Steps(steps) => {
            value["rate"] = text::rate(steps.first()).into();
            changes(&mut value, "rate", Some(steps), |rate| text::rate(rate).into());
        }
    }
    changes(&mut value, "delay", config.delay.steps(), |delay| text::duration(delay).into());
    changes(&mut value, "loss", config.loss.steps(), loss);
    changes(&mut value, "queue", config.queue.steps(), |limit| queue(limit).into());
    if let Some(Duplicate { share, correlation }) = config.duplicate {
        value["duplicate"] = json!({ "share": text::share(share), "correlation": text::share(correlation) });
    }
    if config.reorder {
        value["reorder"] = true.into();
    }
    value
}

/// Writes the steps of one key, and their `repeat`, which all steps of a direction share.
fn changes<T: Copy>(
    value: &mut Value,
    what: &str,
    steps: Option<&Arc<Steps<T>>>,
    write: impl Fn(T) -> Value,
) {
    let Some(steps) = steps else { return };
    let step = |step: &Step<T>| {
        let mut table = Map::new();
        table.insert("at".to_owned(), moment(step.at).into());
        table.insert(what.to_owned(), write(step.value));
        Value::Object(table)
    };
    value[format!("{what}_steps")] = steps.steps().iter().map(step).collect();
    if let Some(repeat) = steps.repeat() {
        value["repeat"] = text::duration(repeat).into();
    }
}

fn moment(time: Time) -> String {
    text::duration(time.since(Time::ZERO))
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
        Some(jitter) if jitter == (Jitter { amount: jitter.amount, ..Jitter::default() }) => {
            text::duration(jitter.amount).into()
        }
        Some(Jitter { amount, distribution, correlation, reorder }) => {
            let mut value = json!({ "amount": text::duration(amount), "reorder": reorder });
            if distribution != JitterDistribution::Uniform {
                value["distribution"] = distribution.word().into();
            }
            if correlation > 0 {
                value["correlation"] = text::share(correlation).into();
            }
            value
        }
    }
}

fn outages(outages: &Outages) -> Value {
    match outages {
        Outages::List(outages) => outages
            .iter()
            .map(|outage| json!({ "from": moment(outage.from), "to": moment(outage.to) }))
            .collect(),
        Outages::Periodic { every, length, first } => json!({
            "every": text::duration(*every),
            "length": text::duration(*length),
            "first": moment(*first),
        }),
    }
}
