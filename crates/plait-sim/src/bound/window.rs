//! L1: the receiver's window.

use super::bulk::Transfer;
use super::envelope::WaysBack;
use super::{Bound, Condition, has_full_segments};
use crate::scenario::{OwnOptions, Profile, Scenario, WindowAccounting};
use plait_transport::mptcp::largest_window;

/// The receiver's window, in bytes of payload.
pub(super) struct Window {
    /// The most payload that is on its way or waits for earlier data.
    size: f64,
    /// Whether it ends at an offset of the stream. Otherwise it is a credit for all data on its
    /// way.
    ends: bool,
    /// The most payload that waits at the receiver; `None` without a limit.
    pub(super) buffer: Option<f64>,
}

impl Window {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let options = &scenario.transport;
        let payload = u64::from(options.packet - options.overhead().of_data());
        let size = options.receive_buffer as f64;
        match &options.own {
            OwnOptions::CmtSctp(own) => Self {
                // Chunks count with their headers.
                size: if has_full_segments(scenario) {
                    size * payload as f64 / options.counted_packet()
                } else {
                    size
                },
                ends: false,
                buffer: (own.receive_window_accounting == WindowAccounting::Buffer).then_some(size),
            },
            OwnOptions::Mptcp(own) if own.profile == Profile::Linux => {
                let size = largest_window(options.receive_buffer, payload) as f64;
                Self { size, ends: true, buffer: Some(size) }
            }
            OwnOptions::Mptcp(_) | OwnOptions::Mpquic(_) => Self { size, ends: true, buffer: Some(size) },
        }
    }
}

/// A path in the order of its shortest loop: over the path, and back over the best path.
struct Loop {
    path: usize,
    /// In nanoseconds.
    time: f64,
    /// The highest rate, in bytes of payload per nanosecond.
    peak: f64,
}

/// The tightest of the window's bounds.
pub(super) fn bounds(transfer: &Transfer<'_>, window: &Window) -> Vec<Bound> {
    let network = transfer.network;
    let full = has_full_segments(transfer.scenario);
    let smallest = if full { network.sizes.full } else { network.sizes.headers + 1.0 };
    let back = WaysBack::new(transfer.scenario, network.end).shortest();
    let mut loops: Vec<Loop> = (0..network.routes.len())
        .map(|path| {
            let time = (network.quickest(path, smallest) + back).max(1) as f64;
            Loop { path, time, peak: network.peak(path) }
        })
        .collect();
    loops.sort_by(|one, other| one.time.total_cmp(&other.time));
    let time = (network.end - transfer.since) as f64;
    let mut least = shares(transfer, window, &loops, time);
    if window.ends {
        least = least.min(rounds(window, &loops, time));
        least = least.min(intervals(transfer, window, &loops, (time, full)));
    }
    let note = if window.ends {
        "the window from the oldest missing byte on, and one round trip per window. Within 24 % of the optimum on \
         small instances; schedulers reached 40 to 80 % of it with small windows, as congestion control adds its own."
    } else {
        "the window as credit of all data on its way, for runs without timeouts. Data that waits at the receiver \
         narrows the window further."
    };
    let condition = if window.ends { Condition::None } else { Condition::NoTimeouts };
    let mut bounds = vec![transfer.bound("L1", least, condition, note)];
    bounds.extend(steady_order(transfer, window, &loops, time));
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
    let note = "a schedule that repeats itself and delivers in perfect order, without congestion control. Schedules \
                that change have beaten it by up to 50 % on small instances.";
    let reference = transfer.bound("perfect-order", most, Condition::None, note);
    most.is_finite().then_some(Bound { valid: false, ..reference })
}

/// One window per shortest round trip.
fn rounds(window: &Window, loops: &[Loop], time: f64) -> f64 {
    (time / loops[0].time).ceil() * window.size
}

/// Before the arrival of data over the path `m` or a slower one, two windows at most arrive in the
/// time of its loop. Outside such times only faster paths deliver.
fn intervals(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], (time, full): (f64, bool)) -> f64 {
    let segment = transfer.network.sizes.payload;
    let mut least = f64::INFINITY;
    let mut faster = 0.0;
    for (place, path) in loops.iter().enumerate() {
        if place > 0 {
            // Each interval may cut off a packet of each faster path.
            let cut = place as f64 * segment - if full { segment } else { 0.0 };
            let amount = 2.0 * window.size + cut;
            let most = (time * amount / path.time).max(time * faster);
            least = least.min(most + amount + place as f64 * segment + transfer.waiting);
        }
        faster += path.peak;
    }
    least
}

/// Data over a path takes a part of the window for the time of its loop. For each path: the faster
/// ones are full, and what is left of the window has its loop.
fn shares(transfer: &Transfer<'_>, window: &Window, loops: &[Loop], time: f64) -> f64 {
    // A timeout in the warm-up may have freed a window whose data still arrives.
    let freed = if window.ends || transfer.since == transfer.start { 0.0 } else { window.size };
    let share = |path: &Loop| {
        let faster = loops.iter().filter(|other| other.time < path.time);
        let saved: f64 =
            faster.map(|other| transfer.paths[other.path] * (1.0 - other.time / path.time)).sum();
        saved + window.size * (time + path.time) / path.time + freed + transfer.waiting
    };
    loops.iter().map(share).fold(f64::INFINITY, f64::min)
}
