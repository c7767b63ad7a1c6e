//! Random paths and shared links.

use super::direction::{direction, outages};
use super::{Network, log};
use proptest::prelude::*;

/// A shared link: its rate, its text, and for each path whether the path uses it, and whether it
/// replaces the path's wire.
pub(super) type SharedLink = (u64, String, Vec<(bool, bool)>);

/// Up to three shared links, usually none.
pub(super) fn links(network: Network) -> impl Strategy<Value = Vec<SharedLink>> {
    let users = prop::collection::vec((any::<bool>(), prop::bool::weighted(0.2)), 8);
    let link = (log(10_000, 100_000_000), direction(network), direction(network), users).prop_map(
        |(rate, forward, backward, users)| {
            let text =
                format!("forward = {{ rate = \"{rate}bit\", {forward} }}\nbackward = {{ rate = \"{rate}bit\", {backward} }}\n");
            (rate, text, users)
        },
    );
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(link, 1..=3)]
}

/// Adds the links to paths. Returns the texts of the links in use.
pub(super) fn connect(paths: &mut [(u64, String)], links: &[SharedLink]) -> Vec<String> {
    let mut used = vec![false; links.len()];
    for (index, (rate, text)) in paths.iter_mut().enumerate() {
        let passed: Vec<usize> = (0..links.len()).filter(|&link| links[link].2[index].0).collect();
        if passed.is_empty() {
            continue;
        }
        let names: Vec<String> = passed.iter().map(|link| format!("\"link{link}\"")).collect();
        passed.iter().for_each(|&link| used[link] = true);
        if links[passed[0]].2[index].1 {
            *text = "[[path]]\n".to_owned();
            *rate = links[passed[0]].0;
        }
        text.push_str(&format!("links = [{}]\n", names.join(", ")));
    }
    let texts = links.iter().enumerate().filter(|(link, _)| used[*link]);
    texts.map(|(link, (_, text, _))| format!("[[link]]\nname = \"link{link}\"\n{text}")).collect()
}

/// The path's rate in bits per second, and the text.
pub(super) fn path(network: Network) -> impl Strategy<Value = (u64, String)> {
    let rates = (log(10_000, 100_000_000), prop_oneof![2 => Just(1_u64), 1 => log(1, 20)]);
    let ways = (direction(network), direction(network));
    let outages = if network == Network::Any { outages().boxed() } else { Just(String::new()).boxed() };
    (rates, ways, outages, steps(network), (prop::bool::weighted(0.1), 0_u32..5, 1_u32..5)).prop_map(
        move |((rate, slower), (forward, backward), outages, steps, (backup, cost, weight))| {
            let back = (rate / slower).max(10_000);
            let (steps, of_queue) = steps;
            let steps = steps.replace("$rate", &(rate / 2).to_string());
            // An active discipline has one limit.
            let of_queue = if network == Network::Any && !forward.contains("discipline") { of_queue } else { String::new() };
            let text = format!(
                "[[path]]\nbackup = {backup}\ncost = {cost}\nweight = {weight}\n{outages}\
                 forward = {{ rate = \"{rate}bit\", {forward}{steps}{of_queue} }}\nbackward = {{ rate = \"{back}bit\", {backward} }}\n"
            );
            (rate, text)
        },
    )
}

/// Sometimes a step to half the rate, another delay or other losses. Separately, a step to another
/// limit of the queue. The steps may repeat.
fn steps(network: Network) -> impl Strategy<Value = (String, String)> {
    let which = prop::array::uniform4(any::<bool>());
    let moments = (log(1, 20_000), prop::option::of(log(1, 20_000)));
    let values = (log(1, 300_000), log(1, 2_000), log(1, 200));
    let steps = (moments, which, values).prop_map(move |((at, rest), which, (delay, loss, queue))| {
        let [rate, delays, losses, queues] = which;
        let losses = losses && network == Network::Any;
        let text = |given: bool, key: &str, value: String| {
            let step = format!(", {key}_steps = [{{ at = \"{at}ms\", {key} = \"{value}\" }}]");
            if given { step } else { String::new() }
        };
        let repeat = rest.filter(|_| rate || delays || losses);
        let repeat = repeat.map_or(String::new(), |rest| format!(", repeat = \"{}ms\"", at + rest));
        let steps = text(rate, "rate", "$ratebit".to_owned())
            + &text(delays, "delay", format!("{delay}us"))
            + &text(losses, "loss", format!("{:.2}%", loss as f64 / 100.0))
            + &repeat;
        (steps, text(queues && repeat.is_empty(), "queue", format!("{queue}p")))
    });
    prop_oneof![4 => Just((String::new(), String::new())), 2 => steps]
}
