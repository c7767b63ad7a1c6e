//! Bounds of the completion time of a file.

use super::envelope::{WaysBack, envelopes};
use super::network::{Demand, Network};
use super::{Bound, COMPLETION, Runs};
use crate::application::File;
use crate::scenario::Scenario;

/// L0 and L2a.
pub(super) fn bounds(scenario: &Scenario, network: &Network<'_>, file: &File) -> Vec<Bound> {
    let start = file.start.as_nanos();
    let demand = if super::has_full_segments(scenario) {
        demand_of(file.size, network)
    } else {
        Demand::Bytes(file.size as f64)
    };
    let smallest = match demand {
        Demand::Bytes(_) => network.sizes.headers + 1.0,
        Demand::Packets { short: 0.0, .. } => network.sizes.full,
        Demand::Packets { short, .. } => short + network.sizes.headers,
    };
    let limits = (start, network.end.max(start));
    let bound = |name, nanos: u64, note| Bound {
        name,
        metric: COMPLETION,
        value: nanos as f64 / 1e9,
        runs: Runs::All,
        note,
    };
    let links = network.earliest(&vec![start; scenario.paths.len()], demand, None, limits);
    let links = bound(
        "L0",
        links,
        "links alone, without handshakes and congestion control. Loose for files of a few round trips.",
    );
    if scenario.transport.congestion_control.is_own() {
        return vec![links];
    }
    let back = WaysBack::new(scenario, network.end);
    let slow = envelopes(scenario, network, &back, start, smallest);
    let from: Vec<u64> = slow.iter().map(|path| path.begins).collect();
    let windows = network.earliest(&from, demand, Some(&slow), limits);
    let windows = bound(
        "L2a",
        windows,
        "links, handshakes, and windows that double per round trip. Loose where losses or thresholds end slow \
         start early.",
    );
    vec![windows, links]
}

/// A message of `bytes`, in full packets and a last one.
pub(super) fn demand_of(bytes: u64, network: &Network<'_>) -> Demand {
    let payload = network.sizes.payload as u64;
    Demand::Packets { full: bytes / payload, short: (bytes % payload) as f64 }
}
