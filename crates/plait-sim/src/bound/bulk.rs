//! Bounds of bulk goodput by links, by congestion windows, and by known losses.

use super::envelope::{WaysBack, envelopes};
use super::network::Network;
use super::rules::Rules;
use super::window::bounds as of_window;
use super::{Bound, GOODPUT, Runs, loss};
use crate::application::Bulk;
use crate::scenario::Scenario;

/// A bulk transfer: the time of its measurement, in nanoseconds, and its limits.
pub(super) struct Transfer<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) network: &'a Network<'a>,
    /// The first write.
    pub(super) start: u64,
    /// Deliveries count from here on; not before the start.
    pub(super) since: u64,
    /// The most payload that each path delivers in the measured time.
    pub(super) paths: Vec<f64>,
    /// The most payload that waits at the receiver when the measurement begins.
    pub(super) waiting: f64,
    /// Whether all its packets are full.
    pub(super) full: bool,
    /// The smallest packet with data, in bytes.
    pub(super) smallest: f64,
}

impl Transfer<'_> {
    /// A bound from an amount of payload.
    pub(super) fn bound(&self, name: &'static str, payload: f64, note: &'static str) -> Bound {
        let measured = (self.network.end - self.scenario.warmup.as_nanos()) as f64 / 1e9;
        // A part in 10⁹ covers the rounding of sums.
        let value = payload * 8.0 / measured * (1.0 + 1e-9);
        Bound { name, metric: GOODPUT, value, runs: Runs::All, note }
    }
}

/// L0, L1, L2a and L3.
pub(super) fn bounds(scenario: &Scenario, network: &Network<'_>, bulk: &Bulk) -> Vec<Bound> {
    let start = bulk.start.as_nanos().min(network.end);
    let since = scenario.warmup.as_nanos().max(start);
    let all = vec![start; scenario.paths.len()];
    let rules = Rules::of(scenario);
    let window = &rules.window;
    let (paths, sum) = network.arrives(start, since, network.end);
    let waiting = if since > start {
        let arrived = network.payload(&all, since, None);
        arrived.min(window.buffer.unwrap_or(f64::INFINITY))
    } else {
        0.0
    };
    let full = super::has_full_segments(scenario);
    let smallest = if full { network.sizes.full } else { network.sizes.headers + 1.0 };
    let transfer = Transfer { scenario, network, start, since, paths, waiting, full, smallest };
    let mut bounds = of_window(&transfer, window);
    if since == start && !scenario.transport.congestion_control.is_own() {
        let back = WaysBack::new(scenario, network.end);
        let slow = envelopes(scenario, network, &back, start, smallest);
        let from: Vec<u64> = slow.iter().map(|path| path.begins).collect();
        let payload = network.payload(&from, network.end, Some(&slow));
        bounds.push(transfer.bound(
            "L2a",
            payload,
            "links, handshakes, and windows that double per round trip. Loose in the steady state, where losses and \
             congestion avoidance decide.",
        ));
    }
    bounds.extend(rules.other_packets.and_then(|others| loss::bound(&transfer, others)));
    bounds.push(transfer.bound(
        "L0",
        sum + waiting,
        "links alone. Congestion control leaves a part of it unused, most where queues are short or losses frequent.",
    ));
    bounds
}
