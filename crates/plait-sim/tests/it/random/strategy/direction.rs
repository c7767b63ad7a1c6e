//! Random directions of links: delay, queue, loss, jitter, discipline, outages.

use super::{Network, log, sometimes};
use plait_sim::link::discipline::{DISCIPLINES, Info, Parameter, Unit};
use proptest::prelude::*;

/// Sometimes an active discipline, with any of its parameters.
fn discipline() -> impl Strategy<Value = String> {
    let active = prop::sample::select(DISCIPLINES).prop_flat_map(|info: Info| {
        let parameters: Vec<_> = info.parameters.iter().map(discipline_parameter).collect();
        parameters
            .prop_map(move |given| format!(", discipline = {{ name = \"{}\"{} }}", info.name, given.concat()))
    });
    prop_oneof![3 => Just(String::new()), 1 => active]
}

fn discipline_parameter(parameter: &'static Parameter) -> BoxedStrategy<String> {
    let key = parameter.key;
    let (low, high) = parameter.range;
    let any = match parameter.unit {
        Unit::Duration => log(low.max(1), 1_000_000_000).prop_map(|nanos| format!("\"{nanos}ns\"")).boxed(),
        Unit::Bytes => log(low, high.min(1_000_000)).prop_map(|bytes| format!("\"{bytes}B\"")).boxed(),
        Unit::Count => log(low, high.min(2_000)).prop_map(|count| count.to_string()).boxed(),
        Unit::Truth => any::<bool>().prop_map(|truth| truth.to_string()).boxed(),
    };
    prop_oneof![Just(String::new()), any.prop_map(move |value| format!(", {key} = {value}"))].boxed()
}

/// One direction: delay, queue, loss, jitter, discipline.
pub(super) fn direction(network: Network) -> BoxedStrategy<String> {
    if network == Network::Orderly {
        let jitter = sometimes(log(1, 50_000).prop_map(|micros| format!(", jitter = \"{micros}us\"")));
        let delay = log(1, 300_000);
        return (delay, jitter)
            .prop_map(|(delay, jitter)| format!("delay = \"{delay}us\", queue = \"infinite\"{jitter}"))
            .boxed();
    }
    let queue = prop_oneof![
        Just("infinite".to_owned()),
        Just("bdp".to_owned()),
        log(1, 200).prop_map(|packets| format!("{packets}p")),
        log(9_000, 500_000).prop_map(|bytes| format!("{bytes}B")),
        log(1, 2_000).prop_map(|millis| format!("{millis}ms")),
    ];
    // In hundredths of a percent, up to 20 %.
    let bernoulli = log(1, 2_000).prop_map(|share| format!(", loss = \"{:.2}%\"", share as f64 / 100.0));
    // Bursts have at most two packets on average: otherwise the last seconds of a run prove
    // nothing.
    let bursts = (log(1, 1_500), 50_u32..=100, 0_u32..=5, 20_u32..=100).prop_map(|(p, r, good, bad)| {
        let p = p as f64 / 100.0;
        format!(
            ", loss = {{ model = \"gilbert-elliott\", to_bad = \"{p:.2}%\", to_good = \"{r}%\", good_loss = \"{good}%\", \
             bad_loss = \"{bad}%\" }}"
        )
    });
    let loss = prop_oneof![3 => Just(", loss = \"0%\"".to_owned()), 1 => bernoulli, 1 => bursts];
    let distribution = prop::sample::select(vec!["uniform", "uniform", "normal", "pareto", "paretonormal"]);
    let correlation = prop_oneof![2 => Just(0), 1 => 1_u32..100];
    let jitter = (log(1, 50_000), distribution, correlation.clone(), any::<bool>()).prop_map(
        |(micros, distribution, correlation, reorder)| {
            format!(
                ", jitter = {{ amount = \"{micros}us\", distribution = \"{distribution}\", correlation = \"{correlation}%\", \
                 reorder = {reorder} }}"
            )
        },
    );
    let copies = (log(1, 3_000), correlation).prop_map(|(share, correlation)| {
        let share = share as f64 / 100.0;
        format!(", duplicate = {{ share = \"{share:.2}%\", correlation = \"{correlation}%\" }}")
    });
    let copies = prop_oneof![4 => Just(String::new()), 1 => copies];
    let reorder = prop_oneof![4 => Just(""), 1 => Just(", reorder = true")];
    (log(1, 300_000), queue, loss, sometimes(jitter), discipline(), copies, reorder)
        .prop_map(|(delay, queue, loss, jitter, discipline, copies, reorder)| {
            // A limit of time applies to drop-tail alone.
            let queue =
                if discipline.is_empty() || !queue.ends_with("ms") { queue } else { "50p".to_owned() };
            format!("delay = \"{delay}us\", queue = \"{queue}\"{loss}{jitter}{discipline}{copies}{reorder}")
        })
        .boxed()
}

/// Outages that end by the 60th second, never end, or repeat for ever.
pub(super) fn outages() -> impl Strategy<Value = String> {
    let windows = prop::collection::vec(log(1, 15_000), 2..=6).prop_map(|lengths| {
        let mut now = 0;
        let windows: Vec<String> = lengths
            .chunks_exact(2)
            .map(|pair| {
                let (from, to) = (now + pair[0], now + pair[0] + pair[1]);
                now = to;
                format!("{{ from = \"{from}ms\", to = \"{to}ms\" }}")
            })
            .collect();
        format!("outages = [{}]\n", windows.join(", "))
    });
    let for_ever = (0_u64..60_000)
        .prop_map(|from| format!("outages = [{{ from = \"{from}ms\", to = \"1000000s\" }}]\n"));
    let periodic = (log(2, 10_000), 1_u64..100).prop_map(|(every, share)| {
        let length = (every * share / 100).clamp(1, every - 1);
        format!("outages = {{ every = \"{every}ms\", length = \"{length}ms\" }}\n")
    });
    prop_oneof![12 => Just(String::new()), 4 => windows, 1 => for_ever, 1 => periodic]
}
