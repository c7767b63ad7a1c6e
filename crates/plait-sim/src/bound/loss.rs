//! L3: the losses of a run are known, as each packet that a wire accepts has the next draw.

use super::Bound;
use super::bulk::Transfer;
use crate::link::loss::Losses;
use crate::link::{LinkConfig, Loss, Outages};
use crate::scenario::{Direction, FlowRoute, OwnOptions, Scenario};
use crate::simulation::layout::wire_name;

/// The most draws that are looked at.
const MOST_DRAWS: f64 = 5e6;

/// L3, if a path has losses of its own, and all packets with data are full. Multipath QUIC also
/// sends probes and frames of its connection in packets, whose number nothing limits here.
pub(super) fn bound(transfer: &Transfer<'_>) -> Option<Bound> {
    if !transfer.full || matches!(transfer.scenario.transport.own, OwnOptions::Mpquic(_)) {
        return None;
    }
    let thinned: Vec<Option<f64>> = (0..transfer.paths.len()).map(|path| thinned(transfer, path)).collect();
    if thinned.iter().all(Option::is_none) {
        return None;
    }
    let paths = transfer.paths.iter().zip(thinned);
    let sum: f64 = paths.map(|(&path, thinned)| thinned.map_or(path, |thinned| thinned.min(path))).sum();
    Some(transfer.bound(
        "L3",
        sum + transfer.waiting,
        "links, and the very losses of this seed. Congestion control reacts to losses, so it is loose where they are \
         frequent.",
    ))
}

/// The most payload that a path delivers, if its losses depend on nothing but its own packets.
fn thinned(transfer: &Transfer<'_>, path: usize) -> Option<f64> {
    let (scenario, network) = (transfer.scenario, transfer.network);
    let wire = &scenario.paths[path].wire.as_ref()?.forward;
    let used = |route: &FlowRoute| matches!(route, FlowRoute::Paths(paths) if paths.contains(&path));
    if !is_lossy(wire) || scenario.flows.iter().any(|flow| used(&flow.route)) {
        return None;
    }
    // Packets that a later link drops, or that an outage destroys, could use up losing draws.
    let [link] = network.routes[path][..] else { return None };
    let curve = &network.curves[link];
    // Packets whose draw was before the measured time, and packets within it.
    let packets = |from, to| curve.carries(from, to) / network.sizes.full + 2.0 + other_packets(scenario);
    let earlier = if transfer.since > transfer.start { packets(transfer.start, transfer.since) } else { 0.0 };
    let bytes = transfer.paths[path];
    let within = bytes / network.sizes.payload + 2.0 + other_packets(scenario);
    if earlier + within > MOST_DRAWS {
        return None;
    }
    let mut losses = Losses::new(wire.loss.first(), scenario.seed, &wire_name(path, Direction::Forward));
    let kept: Vec<bool> = (0..(earlier + within) as usize).map(|_| !losses.next()).collect();
    let count = (within as usize).min(kept.len());
    let mut arrived = kept[..count].iter().filter(|kept| **kept).count();
    let mut most = arrived;
    for last in count..kept.len() {
        arrived = arrived + usize::from(kept[last]) - usize::from(kept[last - count]);
        most = most.max(arrived);
    }
    Some(most as f64 * network.sizes.payload)
}

fn is_lossy(wire: &LinkConfig) -> bool {
    let fails_alone = wire.duplicate.is_none() && wire.outages == Outages::List(Vec::new());
    fails_alone && wire.loss.steps().is_none() && wire.loss.first() != Loss::None
}

/// The most packets without data that a path carries forward: those that open it, and heartbeats.
fn other_packets(scenario: &Scenario) -> f64 {
    let options = &scenario.transport;
    let (time, longest) = (scenario.duration.as_secs_f64(), options.rto_max.as_secs_f64());
    match &options.own {
        OwnOptions::CmtSctp(own) => {
            let between = own.heartbeat_interval.min(options.rto_min).as_secs_f64();
            2.0 * (time / between + 8.0)
        }
        OwnOptions::Mptcp(own) if own.handshake => {
            let doublings = (longest / options.rto_initial.as_secs_f64()).max(1.0).log2();
            2.0 * (doublings + time / longest + 8.0)
        }
        OwnOptions::Mptcp(_) | OwnOptions::Mpquic(_) => 8.0,
    }
}
