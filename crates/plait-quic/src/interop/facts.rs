//! Facts for schedulers.

use super::slot::PathSlot;
use crate::terms::Terms;
use plait_sched::{Duration, Path, PathId, PathState};

/// Updates the facts of all paths.
pub(super) fn update_all(slots: &[PathSlot], terms: &[Terms], doubtful: &[bool], facts: &mut Vec<Path>) {
    // If all paths are doubtful, none is better than another.
    let any = slots.iter().zip(doubtful).any(|(slot, doubtful)| slot.works && !doubtful);
    facts.resize(slots.len(), Path::new(PathId(0), 1));
    for (index, (slot, fact)) in slots.iter().zip(facts).enumerate() {
        let terms = terms.get(index).copied().unwrap_or_default();
        update(slot, PathId(index as u8), terms, doubtful[index] && any, fact);
    }
}

/// Updates the facts of one path.
pub(super) fn update(slot: &PathSlot, id: PathId, terms: Terms, doubtful: bool, fact: &mut Path) {
    let Some(controller) = slot.controller().filter(|_| slot.works) else {
        *fact = Path { state: PathState::Failed, cost: terms.cost, ..Path::new(id, 1_200) };
        return;
    };
    let controller = controller.lock();
    let (window, threshold) = controller.windows();
    let (sent, lost) = controller.totals();
    let nanos = |duration: std::time::Duration| Duration::from_nanos(duration.as_nanos() as u64);
    let state = match () {
        () if doubtful => PathState::PotentiallyFailed,
        () if terms.backup || slot.peer_backup => PathState::Backup,
        () => PathState::Active,
    };
    *fact = Path {
        state,
        repairing: controller.is_repairing(),
        srtt: nanos(slot.srtt.filter(|_| controller.probe_timeout().is_some()).unwrap_or_default()),
        rttvar: nanos(controller.rttvar),
        latest_rtt: nanos(controller.latest_rtt),
        min_rtt: nanos(controller.min_rtt),
        rto: controller.probe_timeout().map_or(Duration::from_secs(1), nanos),
        cwnd: window,
        ssthresh: threshold,
        in_flight: window.saturating_sub(controller.room()),
        loss_ppm: (lost.saturating_mul(1_000_000) / sent.max(1)).min(1_000_000) as u32,
        delivery_rate: controller.delivery_rate(),
        cost: terms.cost,
        ..Path::new(id, (controller.mtu.saturating_sub(super::OVERHEAD)) as u32)
    };
}
