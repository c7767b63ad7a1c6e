//! Common fixtures of all controllers' tests.

use super::{Acknowledged, Algorithm, CongestionConfig, Repairing, Share, WindowUse};
use plait_sched::{Duration, Time};

pub(super) const SEGMENT: u64 = 1448;

/// So many full segments, in bytes.
pub(super) const fn segments(count: u64) -> u64 {
    count * SEGMENT
}

/// An initial window of ten segments (RFC 6928).
pub(super) const fn config(algorithm: Algorithm) -> CongestionConfig {
    CongestionConfig {
        algorithm,
        own: None,
        initial_window: segments(10),
        initial_threshold: u64::MAX,
        segment: SEGMENT,
        paced_options: 0,
        hystart: false,
        seed: 0,
    }
}

/// An acknowledgement on path 0.
pub(super) const fn ack(bytes: u64, in_flight_before: u64) -> Acknowledged {
    Acknowledged {
        now: Time::ZERO,
        bytes,
        may_grow: true,
        repairing: Repairing::Nothing,
        in_flight_before,
        used_before: in_flight_before,
        limited: false,
        srtt: Duration::from_millis(20),
        rtt: None,
        path: 0,
        segments: 1,
        newest_rtt: None,
        cumulative: 0,
        next: 0,
    }
}

/// `packets` are in flight at `millis`; each call begins a new stretch. The window has more room.
pub(super) fn used(packets: u64, millis: u64) -> WindowUse {
    WindowUse {
        now: Time::ZERO + Duration::from_millis(millis),
        full: false,
        outstanding: packets,
        cumulative: 0,
        next: 0,
        rto: Duration::from_millis(200),
        starved: true,
    }
}

/// A usable path with a window of this many segments.
pub(super) const fn share(window: u64, millis: u64) -> Share {
    Share { window: segments(window), srtt: Duration::from_millis(millis), loss_interval: 0, usable: true }
}
