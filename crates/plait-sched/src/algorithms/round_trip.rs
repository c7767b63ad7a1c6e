//! The choice of the round-trip times r_s and r_f from which delay-aware schedules are made.
//!
//! # Readings
//! The DAPS papers say "round-trip time of each path" and not how it is measured.
//! * "smoothed" is the transport's estimate (RFC 6298), from which its timeout follows. Over
//!   CMT-SCTP a sample may be a packet on the slow path and its acknowledgement on the fast path.
//! * "own", the default, smooths the times of packets whose acknowledgement came back on the same
//!   path. Over MPTCP both are the same, because each subflow acknowledges its own data.
//! * "shortest" is the smallest time of "own": without queues.
//!
//! A path that has no time of its own yet counts with the transport's estimate.

use crate::params::{Domain, ParameterInfo, Parameters, Value};
use crate::view::Path;

/// The measurement that counts as the round-trip time of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoundTrip {
    /// The transport's estimate.
    Smoothed,
    /// The smoothed time of packets acknowledged on the path itself.
    Own,
    /// The smallest time of packets acknowledged on the path itself.
    Shortest,
}

/// The parameter of the schedulers that offer this choice.
pub(crate) const ROUND_TRIP: ParameterInfo = ParameterInfo {
    name: "round_trip",
    doc: "The round-trip times in use: of packets acknowledged on their own path (own), the smallest of these (shortest), or the transport's estimate (smoothed).",
    default: Value::Text("own"),
    domain: Domain::Choice(&["own", "shortest", "smoothed"]),
};

impl RoundTrip {
    /// Reads the choice from checked parameters.
    pub(crate) fn from_parameters(parameters: &Parameters<'_>) -> Self {
        match parameters.text(ROUND_TRIP.name) {
            "smoothed" => Self::Smoothed,
            "shortest" => Self::Shortest,
            _ => Self::Own,
        }
    }

    /// The round-trip time of the path in nanoseconds; 0 while there is none.
    pub(crate) const fn of(self, path: &Path) -> u64 {
        let own = match self {
            Self::Smoothed => path.srtt,
            Self::Own => path.own_rtt,
            Self::Shortest => path.min_rtt,
        };
        if own.is_zero() { path.srtt.as_nanos() } else { own.as_nanos() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
    use crate::view::PathId;

    #[test]
    fn what_is_not_measured_yet_is_the_transports_estimate() {
        let millis = Duration::from_millis;
        let mut path = Path { srtt: millis(72), ..Path::new(PathId(0), 1000) };
        let readings = [RoundTrip::Smoothed, RoundTrip::Own, RoundTrip::Shortest];
        assert_eq!(readings.map(|reading| reading.of(&path)), [72_000_000; 3]);
        (path.own_rtt, path.min_rtt) = (millis(110), millis(106));
        assert_eq!(readings.map(|reading| reading.of(&path)), [72_000_000, 110_000_000, 106_000_000]);
    }
}
