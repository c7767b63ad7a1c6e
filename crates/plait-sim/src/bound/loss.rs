//! L3: the losses of a run are known, as each packet that a wire accepts has the next draw.

use super::Bound;
use super::bulk::Transfer;
use crate::link::loss::Losses;
use crate::link::{LinkConfig, Loss, Outages};
use crate::scenario::{Direction, FlowRoute};
use crate::simulation::layout::wire_name;

/// The most draws that are looked at.
const MOST_DRAWS: f64 = 5e6;

/// L3, if a path has losses of its own, and all packets with data are full. A path carries at most
/// `others` packets without data forward.
pub(super) fn bound(transfer: &Transfer<'_>, others: f64) -> Option<Bound> {
    if !transfer.full {
        return None;
    }
    let thinned: Vec<Option<f64>> =
        (0..transfer.paths.len()).map(|path| thinned(transfer, path, others)).collect();
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
fn thinned(transfer: &Transfer<'_>, path: usize, others: f64) -> Option<f64> {
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
    let packets = |from, to| curve.carries(from, to) / network.sizes.full + 2.0 + others;
    let earlier = if transfer.since > transfer.start { packets(transfer.start, transfer.since) } else { 0.0 };
    let bytes = transfer.paths[path];
    let within = bytes / network.sizes.payload + 2.0 + others;
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
