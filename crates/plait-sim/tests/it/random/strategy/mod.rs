//! Random scenarios as TOML, so that a failure can be copied.

mod direction;
mod flow;
mod path;
mod transport;
mod workload;

use flow::flows;
use path::{connect, links, path};
use plait_sched::{Domain, ParameterInfo, SCHEDULERS, SchedulerInfo};
use proptest::prelude::*;
use transport::{cmt_sctp, mpquic, mptcp};
use workload::workload;

/// Numbers over several orders of magnitude, uniform in their logarithm.
fn log(low: u64, high: u64) -> impl Strategy<Value = u64> + Clone {
    ((low as f64).ln()..=(high as f64).ln()).prop_map(move |x| (x.exp() as u64).clamp(low, high))
}

/// The text in a third of the cases.
fn sometimes(text: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> + Clone {
    prop_oneof![2 => Just(String::new()), 1 => text]
}

/// The behaviour of a network.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Losses, copies, reordering, outages and all other effects.
    Any,
    /// Every packet arrives, in the order of its path.
    Orderly,
}

/// A complete scenario of CMT-SCTP or MPTCP.
pub(crate) fn scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, prop_oneof![cmt_sctp(), mptcp()].boxed())
}

/// A complete scenario of CMT-SCTP alone.
pub(crate) fn cmt_sctp_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, cmt_sctp().boxed())
}

/// A complete scenario of MPTCP or TCP.
pub(crate) fn mptcp_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, mptcp().boxed())
}

/// A complete scenario of Multipath QUIC.
pub(crate) fn mpquic_scenario(network: Network) -> impl Strategy<Value = String> {
    with_transport(network, mpquic().boxed())
}

/// A complete scenario of any protocol, with a scheduler that waits without room.
pub(crate) fn with_a_scheduler_that_waits_without_room(network: Network) -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec!["lowest-rtt", "delivery-delay"]);
    let transport = prop_oneof![cmt_sctp(), mptcp(), mpquic()].boxed();
    with_both(network, transport, names.prop_map(|name| format!("\"{name}\"")).boxed())
}

fn with_transport(network: Network, transport: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    with_both(network, transport, scheduler().boxed())
}

fn with_both(
    network: Network,
    transport: BoxedStrategy<String>,
    scheduler: BoxedStrategy<String>,
) -> impl Strategy<Value = String> {
    let paths = prop::collection::vec(path(network), 1..=8);
    let surroundings = (paths, links(network), flows());
    (any::<u32>(), scheduler, transport, workload(), surroundings).prop_map(
        |(seed, scheduler, transport, (workload, bulk), (mut paths, links, flows))| {
            let links = connect(&mut paths, &links);
            let total: u64 = paths.iter().map(|(rate, _)| rate).sum();
            // A flow is some thousand packets at most.
            let flow_millis = (60_000_000 * 1_000 / total).clamp(1, 150_000);
            let flows: Vec<String> = flows.iter().map(|flow| flow.replace("$stop", &flow_millis.to_string())).collect();
            let duration = if bulk {
                // Bulk traffic lasts as long as its rate allows: some ten thousand packets.
                let rate: u64 = paths.iter().map(|(rate, _)| rate).sum();
                (60_000 * 12_000_u64 / rate).clamp(1, 150)
            } else {
                150
            };
            let paths: Vec<String> = paths.into_iter().map(|(_, text)| text).collect();
            format!(
                "seed = {seed}\nduration = \"{duration}s\"\nscheduler = {scheduler}\n\n[transport]\n{transport}\n\
                 [workload]\n{workload}\n\n{}\n{}\n{}",
                paths.join("\n"),
                links.join("\n"),
                flows.join("\n")
            )
        },
    )
}

/// Any scheduler with any valid parameters.
fn scheduler() -> impl Strategy<Value = String> {
    prop::sample::select(SCHEDULERS).prop_flat_map(|info: SchedulerInfo| {
        let parameters: Vec<_> = info.parameters.iter().map(parameter).collect();
        parameters
            .prop_map(move |parameters| format!("{{ name = \"{}\"{} }}", info.name, parameters.concat()))
    })
}

/// A parameter, or an empty text for the default.
fn parameter(info: &ParameterInfo) -> BoxedStrategy<String> {
    let name = info.name;
    let value = match info.domain {
        Domain::Boolean => any::<bool>().prop_map(|truth| truth.to_string()).boxed(),
        Domain::Integer { min, max } => {
            prop_oneof![min..=max.min(min.saturating_add(8)), min..=max].prop_map(|n| n.to_string()).boxed()
        }
        Domain::Number { min, max } => {
            prop_oneof![min..=max.min(min + 4.0), min..=max].prop_map(|n| format!("{n:?}")).boxed()
        }
        Domain::Choice(words) => prop::sample::select(words).prop_map(|word| format!("\"{word}\"")).boxed(),
    };
    prop_oneof![Just(String::new()), value.prop_map(move |value| format!(", {name} = {value}"))].boxed()
}
