//! The facts that a congestion controller sees: acknowledgements, delivery-rate samples, events, and
//! the other paths.

use plait_sched::{Duration, Time};

/// Newly acknowledged data of one path, from one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// When.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// The window may grow: no losses are being repaired.
    pub may_grow: bool,
    /// How losses are being repaired.
    pub repairing: Repairing,
    /// Bytes in flight on the path before the acknowledgement.
    pub in_flight_before: u64,
    /// Window that these bytes used: as many bytes, or more if whole segments count and small ones
    /// were sent.
    pub used_before: u64,
    /// Data waited for room in the window while the oldest of the acknowledged data was in flight.
    pub limited: bool,
    /// The path's smoothed round-trip time.
    pub srtt: Duration,
    /// The round-trip sample that came with it, if one was taken.
    pub rtt: Option<Duration>,
    /// The path's index into the shares.
    pub path: usize,
    /// Packets newly acknowledged.
    pub segments: u32,
    /// Round trip of the newest of them, unless it was retransmitted; `rtt` is that of the oldest.
    pub newest_rtt: Option<Duration>,
    /// The path's first transmission that is not acknowledged, in the path's own count.
    pub cumulative: u64,
    /// The number that the path's next transmission will have.
    pub next: u64,
}

/// How losses are being repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repairing {
    /// No loss is being repaired.
    #[default]
    Nothing,
    /// Losses that later acknowledgements showed.
    Losses,
    /// Losses that the retransmission timer showed.
    Timeout,
}

/// A sample of the delivery rate, for controllers that [ask for
/// it](super::CongestionController::pacing_rate). Amounts are in bytes; if windows count packets, each
/// packet counts as a full one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Bytes that the acknowledgement reports.
    pub acked: u64,
    /// Bytes that the path delivered in the interval.
    pub delivered: u64,
    /// The interval; zero if the acknowledgement gives no sample.
    pub interval: Duration,
    /// Bytes that the path had delivered when the newest reported packet left.
    pub prior: u64,
    /// Bytes that the path has delivered in all.
    pub total: u64,
    /// The application, the scheduler or the receiver limited the sender when that packet left.
    pub app_limited: bool,
    /// Bytes that the acknowledgement shows to be lost.
    pub lost: u64,
    /// Bytes that were lost in all.
    pub lost_total: u64,
    /// Bytes in flight before the acknowledgement.
    pub in_flight_before: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// When the next packet may leave.
    pub departure: Time,
}

/// How much of the window is used once everything has left that could.
#[derive(Clone, Copy, Debug)]
pub struct WindowUse {
    /// When.
    pub now: Time,
    /// The window, also one that is reduced step by step, lets nothing more out.
    pub full: bool,
    /// Packets that are not cumulatively acknowledged.
    pub outstanding: u64,
    /// The path's first transmission that is not acknowledged, in the path's own count.
    pub cumulative: u64,
    /// The number that the path's next transmission will have.
    pub next: u64,
    /// The path's retransmission timeout.
    pub rto: Duration,
    /// The application or the receiver's window keeps the rest of the window empty: the path is not
    /// recovering, and the application does not wait for room in the send buffer.
    pub starved: bool,
}

/// State of one path as a coupled controller sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Congestion window in bytes.
    pub window: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Duration,
    /// OLIA's l: bytes acknowledged between the last two losses or since the last one, whichever
    /// are more.
    pub loss_interval: u64,
    /// False for a path that is not established or failed: it is no part of the sums.
    pub usable: bool,
}

impl Share {
    /// True if the path is part of the sums: usable, and its round-trip time known.
    pub(super) fn counts(&self) -> bool {
        self.usable && !self.srtt.is_zero()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.srtt.as_secs_f64()
    }

    /// Bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.window as f64 / self.seconds()
    }
}

/// Events of a path other than acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionEvent {
    /// Later acknowledgements showed a loss. It comes once per window of data.
    Loss {
        /// Bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
        outstanding: u64,
    },
    /// The receiver reported marked packets (RFC 3168). It comes once per window of data.
    Mark {
        /// Bytes sent and not cumulatively acknowledged.
        outstanding: u64,
    },
    /// The retransmission timer ran out.
    Timeout {
        /// Bytes sent and not cumulatively acknowledged.
        outstanding: u64,
        /// The losses of the last reduction were not repaired yet.
        repairing: bool,
    },
    /// Reduces the window to this size after a timeout or persistent congestion (RFC 9002 §7.6),
    /// instead of one segment.
    Collapse {
        /// The window in bytes.
        window: u64,
    },
    /// The last reduction was unnecessary: window and threshold are restored, unless they are
    /// larger already.
    Undone {
        /// The window before the reduction, in bytes.
        window: u64,
        /// The slow-start threshold before it, in bytes.
        threshold: u64,
    },
    /// A scheduler wants the window halved, without a loss.
    Penalty,
    /// No packet was sent for one retransmission timeout.
    Idle,
    /// A packet leaves after no packet was in flight.
    Resumed {
        /// How long ago the packet before it left.
        idle: Duration,
        /// The path had no data, and not only no room.
        app_limited: bool,
    },
    /// All data in flight was acknowledged.
    Drained,
    /// A handshake measured the path's round trip, before any data left.
    Measured {
        /// The round trip.
        round_trip: Duration,
    },
}
