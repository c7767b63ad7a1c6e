//! The facts that a congestion controller written in Python sees.
//!
//! `make reference` writes the same classes, with this documentation, into `_core.pyi`.

use plait_sched::{Duration, Time};
use plait_transport::congestion::{self, Repairing};
use pyo3::prelude::*;

/// Adds this file's classes.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PathShare>()?;
    module.add_class::<RateSample>()?;
    module.add_class::<Acknowledgement>()?;
    module.add_class::<CongestionEvent>()
}

/// The state of one path, for controllers that couple paths.
#[pyclass(frozen, get_all, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct PathShare {
    /// Congestion window in bytes.
    window: u64,
    /// Smoothed round-trip time in seconds; None before the first sample.
    srtt: Option<f64>,
    /// False for a path that is not established, or that has failed.
    usable: bool,
}

impl From<&congestion::Share> for PathShare {
    fn from(share: &congestion::Share) -> Self {
        let srtt = (!share.srtt.is_zero()).then(|| share.srtt.as_secs_f64());
        Self { window: share.window, srtt, usable: share.usable }
    }
}

/// A sample of the delivery rate: `delivered` bytes in `interval` seconds.
#[pyclass(frozen, get_all, module = "plait._core")]
#[derive(Clone)]
pub(crate) struct RateSample {
    /// Bytes that the path delivered in the interval.
    delivered: u64,
    /// The interval in seconds; None if the acknowledgement gives no sample.
    interval: Option<f64>,
    /// Bytes that the path had delivered when the newest acknowledged packet left.
    prior: u64,
    /// Bytes that the path has delivered in all.
    total: u64,
    /// True if the application, the scheduler or the receiver limited the sender when that packet
    /// left.
    app_limited: bool,
    /// Bytes that the acknowledgement shows to be lost.
    lost: u64,
    /// Bytes in flight after the acknowledgement.
    in_flight: u64,
}

impl From<&congestion::RateSample> for RateSample {
    fn from(sample: &congestion::RateSample) -> Self {
        Self {
            delivered: sample.delivered,
            interval: (!sample.interval.is_zero()).then(|| sample.interval.as_secs_f64()),
            prior: sample.prior,
            total: sample.total,
            app_limited: sample.app_limited,
            lost: sample.lost,
            in_flight: sample.in_flight,
        }
    }
}

/// Newly acknowledged data of one path, from one acknowledgement.
#[pyclass(frozen, get_all, module = "plait._core")]
pub(crate) struct Acknowledgement {
    /// The time in seconds from the start.
    now: f64,
    /// Bytes newly acknowledged, as windows count them.
    bytes: u64,
    /// Packets newly acknowledged.
    packets: u32,
    /// Whether the window may grow: no losses are being repaired.
    may_grow: bool,
    /// Losses that are being repaired: `losses` that later acknowledgements showed, those of a
    /// `timeout`, or None.
    repairing: Option<&'static str>,
    /// Bytes of the window that were in use before the acknowledgement.
    in_flight: u64,
    /// Whether data waited for room in the window while the oldest acknowledged packet was in
    /// flight.
    limited: bool,
    /// Smoothed round-trip time in seconds.
    srtt: f64,
    /// The round trip in seconds of the oldest acknowledged packet; None without a sample.
    rtt: Option<f64>,
    /// The round trip in seconds of the newest acknowledged packet; None without a sample.
    newest_rtt: Option<f64>,
    /// The number of the path in `paths`, from 0.
    path: usize,
    /// All paths of the connection, in the scenario's order.
    paths: Vec<PathShare>,
    /// A sample of the delivery rate; None unless the controller set `pacing_rate` in `start`.
    rate: Option<RateSample>,
}

impl Acknowledgement {
    pub(crate) fn new(
        ack: &congestion::Acknowledged,
        rate: Option<&congestion::RateSample>,
        shares: &[congestion::Share],
    ) -> Self {
        Self {
            now: ack.now.as_secs_f64(),
            bytes: ack.bytes,
            packets: ack.segments,
            may_grow: ack.may_grow,
            repairing: match ack.repairing {
                Repairing::Nothing => None,
                Repairing::Losses => Some("losses"),
                Repairing::Timeout => Some("timeout"),
            },
            in_flight: ack.used_before,
            limited: ack.limited,
            srtt: ack.srtt.as_secs_f64(),
            rtt: ack.rtt.map(Duration::as_secs_f64),
            newest_rtt: ack.newest_rtt.map(Duration::as_secs_f64),
            path: ack.path,
            paths: shares.iter().map(PathShare::from).collect(),
            rate: rate.map(RateSample::from),
        }
    }
}

#[pymethods]
impl Acknowledgement {
    fn __repr__(&self) -> String {
        format!("Acknowledgement(now={}, bytes={}, in_flight={})", self.now, self.bytes, self.in_flight)
    }
}

/// An event on a controller's path. Fields that its kind does not have are None.
#[pyclass(frozen, get_all, module = "plait._core")]
#[derive(Default)]
pub(crate) struct CongestionEvent {
    /// The kind. `loss`: later acknowledgements showed a loss; once per window of data. `mark`: the
    /// receiver reported marked packets; once per window of data. `timeout`: the retransmission
    /// timer ran out. `collapse`: the window is to be `window`, after a timeout or persistent
    /// congestion. `undone`: the last reduction was unnecessary. `penalty`: the scheduler halves
    /// the window. `idle`: no packet left for one retransmission timeout. `resumed`: a packet
    /// leaves after no packet was in flight. `drained`: all data in flight was acknowledged.
    /// `measured`: a handshake measured the round trip.
    kind: &'static str,
    /// The time in seconds from the start.
    now: f64,
    /// Of `loss`, `mark` and `timeout`: bytes sent and not cumulatively acknowledged.
    outstanding: Option<u64>,
    /// Of `timeout`: whether the losses of the last reduction were still being repaired.
    repairing: Option<bool>,
    /// Of `collapse`: the new window in bytes. Of `undone`: the window before the reduction.
    window: Option<u64>,
    /// Of `undone`: the threshold in bytes before the reduction; None if there was none.
    threshold: Option<u64>,
    /// Of `resumed`: seconds since the packet before it left.
    idle: Option<f64>,
    /// Of `resumed`: whether the path had no data, and not only no room.
    app_limited: Option<bool>,
    /// Of `measured`: the round trip in seconds.
    rtt: Option<f64>,
}

impl CongestionEvent {
    pub(crate) fn new(now: Time, event: congestion::CongestionEvent) -> Self {
        use congestion::CongestionEvent as From;
        let at = Self { now: now.as_secs_f64(), ..Self::default() };
        match event {
            From::Loss { outstanding } => Self { kind: "loss", outstanding: Some(outstanding), ..at },
            From::Mark { outstanding } => Self { kind: "mark", outstanding: Some(outstanding), ..at },
            From::Timeout { outstanding, repairing } => {
                Self { kind: "timeout", outstanding: Some(outstanding), repairing: Some(repairing), ..at }
            }
            From::Collapse { window } => Self { kind: "collapse", window: Some(window), ..at },
            From::Undone { window, threshold } => Self {
                kind: "undone",
                window: Some(window),
                threshold: Some(threshold).filter(|&bytes| bytes < u64::MAX),
                ..at
            },
            From::Penalty => Self { kind: "penalty", ..at },
            From::Idle => Self { kind: "idle", ..at },
            From::Resumed { idle, app_limited } => {
                Self { kind: "resumed", idle: Some(idle.as_secs_f64()), app_limited: Some(app_limited), ..at }
            }
            From::Drained => Self { kind: "drained", ..at },
            From::Measured { round_trip } => {
                Self { kind: "measured", rtt: Some(round_trip.as_secs_f64()), ..at }
            }
        }
    }
}

#[pymethods]
impl CongestionEvent {
    fn __repr__(&self) -> String {
        format!("CongestionEvent(kind='{}', now={})", self.kind, self.now)
    }
}
