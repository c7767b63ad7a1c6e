//! The random on times and requests of a scenario's sources, for other engines: they then carry the
//! same traffic as a simulation.

use super::flow;
use crate::application::times::OnTimes;
use crate::application::{Demand, Workload, pace};
use crate::scenario::{FlowKind, Scenario};
use plait_sched::{Duration, Time};

/// The on times of a scenario's random sources: of the workload, then of each flow. The list of a
/// source without on times is empty.
pub fn on_times(scenario: &Scenario) -> (OnTimes, Vec<OnTimes>) {
    let until = |stop: Option<Duration>| stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
    let workload = scenario.workload.on_times(scenario.seed, scenario.duration);
    let flow = |flow: &crate::scenario::Flow| match &flow.kind {
        FlowKind::OnOff { times, .. } => {
            pace::on_times(*times, flow::stream(scenario.seed, &flow.name), flow.start, until(flow.stop))
        }
        FlowKind::Tcp { .. } | FlowKind::Multipath { .. } | FlowKind::ConstantRate { .. } => Vec::new(),
    };
    (workload, scenario.flows.iter().map(flow).collect())
}

/// The requests of every client of a workload of requests, in order: bytes of the request, bytes of
/// the response, nanoseconds of think time. Each list is as long as the client can need if every
/// request takes at least `least`. Returns `None` if a client has more than `most` requests. Other
/// engines use this to send the requests of a simulation.
pub fn demands(scenario: &Scenario, least: Duration, most: usize) -> Option<Vec<Vec<(u64, u64, u64)>>> {
    let Workload::RequestResponse(requests) = scenario.workload else { return Some(Vec::new()) };
    let end = Time::ZERO + requests.stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
    let count = requests.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let of_client = |client| {
        let (mut demands, mut now) = (Vec::new(), Time::ZERO + requests.start);
        for Demand { request, response, think } in requests.demands(scenario.seed, client).take(count) {
            if now >= end {
                break;
            }
            if demands.len() == most {
                return None;
            }
            demands.push((request, response, think.as_nanos()));
            now = now.saturating_add(least).saturating_add(think);
        }
        Some(demands)
    };
    (0..requests.parallel).map(of_client).collect()
}
