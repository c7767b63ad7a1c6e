//! Congestion control of one path, behind a small trait.
//!
//! A controller sees acknowledgements and congestion as arguments and answers with a window in bytes. Byte counts are
//! those of the protocol (for SCTP: DATA chunks with their headers).

mod newreno;

pub use newreno::NewReno;

use plait_sched::{Duration, Time};

/// Newly acknowledged data of one path, from one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When.
    pub now: Time,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Bytes in flight on the path before the acknowledgement.
    pub in_flight_before: u64,
    /// The path's smoothed round-trip time.
    pub srtt: Duration,
}

/// Decides how many bytes may be in flight on one path.
pub trait CongestionControl {
    /// New data was acknowledged and the window may grow.
    fn on_acknowledged(&mut self, acknowledged: &Acknowledged);

    /// A loss was found from later acknowledgements; called once per window of data.
    fn on_congestion(&mut self, now: Time);

    /// The retransmission timer ran out.
    fn on_timeout(&mut self, now: Time);

    /// Nothing was sent on the path for one retransmission timeout.
    fn on_idle(&mut self) {}

    /// Everything in flight was acknowledged.
    fn on_drained(&mut self) {}

    /// The congestion window in bytes.
    fn window(&self) -> u64;

    /// The slow-start threshold in bytes; `u64::MAX` while unset.
    fn slow_start_threshold(&self) -> u64;
}

/// Which controller a connection uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Algorithm {
    /// RFC 9260 §7.2 for SCTP.
    #[default]
    NewReno,
}

/// Start values of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionConfig {
    /// Which controller.
    pub algorithm: Algorithm,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; `u64::MAX` for none.
    pub initial_threshold: u64,
    /// The largest DATA chunk of the path (PMDCS of RFC 9260), the step in which windows grow.
    pub segment: u64,
}

/// The controllers that exist, dispatched without allocation.
#[derive(Clone, Debug)]
pub enum Controller {
    /// See [`NewReno`].
    NewReno(NewReno),
}

impl Controller {
    /// A controller at its start.
    pub fn new(config: &CongestionConfig) -> Self {
        match config.algorithm {
            Algorithm::NewReno => Self::NewReno(NewReno::new(config)),
        }
    }
}

macro_rules! dispatch {
    ($self:ident, $controller:ident => $call:expr) => {
        match $self {
            Controller::NewReno($controller) => $call,
        }
    };
}

impl CongestionControl for Controller {
    fn on_acknowledged(&mut self, acknowledged: &Acknowledged) {
        dispatch!(self, c => c.on_acknowledged(acknowledged));
    }

    fn on_congestion(&mut self, now: Time) {
        dispatch!(self, c => c.on_congestion(now));
    }

    fn on_timeout(&mut self, now: Time) {
        dispatch!(self, c => c.on_timeout(now));
    }

    fn on_idle(&mut self) {
        dispatch!(self, c => c.on_idle());
    }

    fn on_drained(&mut self) {
        dispatch!(self, c => c.on_drained());
    }

    fn window(&self) -> u64 {
        dispatch!(self, c => c.window())
    }

    fn slow_start_threshold(&self) -> u64 {
        dispatch!(self, c => c.slow_start_threshold())
    }
}
