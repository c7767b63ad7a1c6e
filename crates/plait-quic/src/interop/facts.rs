//! Facts for schedulers.

use super::lane::Lane;
use crate::terms::Terms;
use plait_sched::{Duration, Path, PathId, PathState};

/// Updates the facts of all paths.
pub(super) fn look(lanes: &[Lane], terms: &[Terms], doubtful: &[bool], facts: &mut Vec<Path>) {
    // If all paths are doubtful, none is better than another.
    let any = lanes.iter().zip(doubtful).any(|(lane, doubtful)| lane.works && !doubtful);
    facts.resize(lanes.len(), Path::new(PathId(0), 1));
    for (index, (lane, fact)) in lanes.iter().zip(facts).enumerate() {
        let terms = terms.get(index).copied().unwrap_or_default();
        one(lane, PathId(index as u8), terms, doubtful[index] && any, fact);
    }
}

/// Updates the facts of one path.
pub(super) fn one(lane: &Lane, id: PathId, terms: Terms, doubtful: bool, fact: &mut Path) {
    let Some(gate) = lane.gate().filter(|_| lane.works) else {
        *fact = Path { state: PathState::Failed, cost: terms.cost, ..Path::new(id, 1_200) };
        return;
    };
    let gate = gate.lock();
    let (window, threshold) = gate.windows();
    let (sent, lost) = gate.totals();
    let nanos = |duration: std::time::Duration| Duration::from_nanos(duration.as_nanos() as u64);
    let state = match () {
        () if doubtful => PathState::PotentiallyFailed,
        () if terms.backup || lane.set_back => PathState::Backup,
        () => PathState::Active,
    };
    *fact = Path {
        state,
        repairing: gate.is_repairing(),
        srtt: nanos(lane.srtt.filter(|_| gate.probe_timeout().is_some()).unwrap_or_default()),
        rttvar: nanos(gate.rttvar),
        latest_rtt: nanos(gate.latest_rtt),
        min_rtt: nanos(gate.min_rtt),
        rto: gate.probe_timeout().map_or(Duration::from_secs(1), nanos),
        cwnd: window,
        ssthresh: threshold,
        in_flight: window.saturating_sub(gate.room()),
        loss_ppm: (lost.saturating_mul(1_000_000) / sent.max(1)).min(1_000_000) as u32,
        delivery_rate: gate.delivery_rate(),
        cost: terms.cost,
        ..Path::new(id, (gate.mtu.saturating_sub(super::OVERHEAD)) as u32)
    };
}
