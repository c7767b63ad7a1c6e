//! L1: the receiver's window.

use super::bulk::Transfer;
use super::envelope::WaysBack;
use super::rules::Window;
use super::{Bound, Runs};

/// A path in the order of its shortest loop: over the path, and back over the best path.
struct Loop {
    path: usize,
    /// In nanoseconds.
    time: f64,
    /// The highest rate, in bytes of payload per nanosecond.
    peak: f64,
}

/// L1: the tightest of the window's bounds, and references.
pub(super) fn bounds(transfer: &Transfer<'_>, window: &Window) -> Vec<Bound> {
    let network = transfer.network;
    let back = WaysBack::new(transfer.scenario, network.end).shortest();
    let mut loops: Vec<Loop> = (0..network.routes.len())
        .map(|path| {
            let time = (network.quickest(path, transfer.smallest) + back).max(1) as f64;
            Loop { path, time, peak: network.peak(path) }
        })
        .collect();
    loops.sort_by(|one, other| one.time.total_cmp(&other.time));
    let time = (network.end - transfer.since) as f64;
    let shares = shares(transfer, window, &loops, time);
    let mut bounds = if window.ends {
        let least = shares.min(rounds(window, &loops, time)).min(intervals(transfer, window, &loops, time));
        let note = "the window from the oldest missing byte on. Within 24 % of the optimum on small instances. \
                    Loose with small windows, as congestion control adds its own limit.";
        vec![transfer.bound("L1", least, note)]
    } else {
        credits(transfer, window, &loops, shares)
    };
    bounds.extend(steady_order(transfer, window, &loops, time));
    bounds
}

/// The window as a credit. Data that is sent for the first time uses it for the shortest loop, or
/// until a timeout. Retransmissions may exceed it.
fn credits(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], shares: f64) -> Vec<Bound> {
    let options = &transfer.scenario.transport;
    let time = (transfer.network.end - transfer.start) as f64;
    let shortest_timeout = options.rto_initial.min(options.rto_min).as_nanos() as f64;
    let timeouts = loops.len() as f64 * (time / shortest_timeout + 1.0);
    // The segment that all delivery waits for may leave beyond the window.
    let most = (window.size + transfer.network.sizes.payload) * (time / loops[0].time + 1.0 + timeouts);
    let note = "a window of new data per shortest round trip and per timeout. Data that waits at the receiver \
                narrows the window further.";
    let mut bounds = vec![transfer.bound("L1", most, note)];
    if transfer.since == transfer.start {
        let note = "for runs without retransmissions and timeouts: the window as credit for all data on its way, which long \
                    round trips use longer.";
        let bound = transfer.bound("L1-credit", shares, note);
        bounds.push(Bound { runs: Runs::WithoutRetransmissions, ..bound });
    }
    bounds
}

/// The best goodput of a schedule that repeats itself and delivers in perfect order: the window in
/// the time of a path's loop, with all paths up to it.
fn steady_order(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], time: f64) -> Option<Bound> {
    let mut payload = 0.0;
    let rates = loops.iter().map(|path| {
        payload += transfer.paths[path.path];
        f64::min(payload, window.size * time / path.time)
    });
    let most = rates.fold(0.0, f64::max);
    let note = "not a bound: a schedule that repeats itself and delivers in perfect order, without congestion \
                control. Schedules that change beat it on some small instances.";
    let reference = transfer.bound("perfect-order", most, note);
    most.is_finite().then_some(Bound { runs: Runs::Reference, ..reference })
}

/// One window per shortest round trip.
fn rounds(window: &Window, loops: &[Loop], time: f64) -> f64 {
    (time / loops[0].time).ceil() * window.size
}

/// Before the arrival of data over the path `m` or a slower one, two windows at most arrive in the
/// time of its loop. Outside such times only faster paths deliver.
fn intervals(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], time: f64) -> f64 {
    let segment = transfer.network.sizes.payload;
    let mut least = f64::INFINITY;
    let mut faster = 0.0;
    for (place, path) in loops.iter().enumerate() {
        if place > 0 {
            // Each interval may cut off a packet of each faster path.
            let cut = place as f64 * segment - if transfer.full { segment } else { 0.0 };
            let amount = 2.0 * window.size + cut;
            let most = (time * amount / path.time).max(time * faster);
            least = least.min(most + amount + place as f64 * segment + transfer.waiting);
        }
        faster += path.peak;
    }
    least
}

/// Data over a path uses the window for the time of its loop. For each path: the faster ones are
/// full, and the rest of the window has its loop.
fn shares(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], time: f64) -> f64 {
    // The segment that all delivery waits for may exceed a credit.
    let size = window.size + if window.ends { 0.0 } else { transfer.network.sizes.payload };
    let share = |path: &Loop| {
        let faster = loops.iter().filter(|other| other.time < path.time);
        let saved: f64 =
            faster.map(|other| transfer.paths[other.path] * (1.0 - other.time / path.time)).sum();
        saved + size * (time + path.time) / path.time + transfer.waiting
    };
    loops.iter().map(share).fold(f64::INFINITY, f64::min)
}
