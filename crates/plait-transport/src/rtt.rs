//! Round-trip time and retransmission timeout (RFC 6298, as RFC 9260 §6.3.1 uses it).

use plait_sched::Duration;

/// Bounds and start of the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Before the first sample (RTO.Initial; default 1 s).
    pub initial: Duration,
    /// Never less (RTO.Min; default 1 s).
    pub min: Duration,
    /// Never more, back-off included (RTO.Max; default 60 s).
    pub max: Duration,
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self { initial: Duration::from_secs(1), min: Duration::from_secs(1), max: Duration::from_secs(60) }
    }
}

/// The estimator of one path.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    config: RtoConfig,
    smoothed: Duration,
    variation: Duration,
    latest: Duration,
    min: Duration,
    rto: Duration,
}

impl RttEstimator {
    /// No samples yet.
    pub fn new(config: RtoConfig) -> Self {
        Self {
            config,
            smoothed: Duration::ZERO,
            variation: Duration::ZERO,
            latest: Duration::ZERO,
            min: Duration::ZERO,
            rto: config.initial,
        }
    }

    /// Takes a sample: α = 1/8, β = 1/4. Ends the back-off.
    pub fn sample(&mut self, rtt: Duration) {
        // A sample of zero would read as "not measured yet".
        let rtt = rtt.max(Duration::from_nanos(1));
        if self.smoothed.is_zero() {
            self.smoothed = rtt;
            self.variation = rtt / 2;
            self.min = rtt;
        } else {
            let error = self.smoothed.abs_diff(rtt);
            self.variation = Duration::from_nanos((3 * self.variation.as_nanos() + error.as_nanos()) / 4);
            self.smoothed = Duration::from_nanos((7 * self.smoothed.as_nanos() + rtt.as_nanos()) / 8);
            self.min = self.min.min(rtt);
        }
        self.latest = rtt;
        self.rto = (self.smoothed + self.variation * 4).clamp(self.config.min, self.config.max);
    }

    /// Doubles the timeout after it ran out.
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.config.max);
    }

    /// Smoothed round-trip time; zero before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Round-trip time variation.
    pub fn variation(&self) -> Duration {
        self.variation
    }

    /// The newest sample.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// The smallest sample.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The retransmission timeout with its back-off.
    pub fn rto(&self) -> Duration {
        self.rto
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_second_sample_follow_rfc_6298() {
        let ms = Duration::from_millis;
        let config = RtoConfig { initial: ms(1000), min: ms(1), max: ms(60_000) };
        let mut rtt = RttEstimator::new(config);
        rtt.sample(ms(100));
        assert_eq!((rtt.smoothed(), rtt.variation(), rtt.rto()), (ms(100), ms(50), ms(300)));
        rtt.sample(ms(180));
        // RTTVAR = 3/4·50 + 1/4·80 = 57.5; SRTT = 7/8·100 + 1/8·180 = 110; RTO = 110 + 230.
        assert_eq!((rtt.smoothed(), rtt.rto()), (ms(110), ms(340)));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(680));
        rtt.sample(ms(110));
        assert!(rtt.rto() < ms(340));
    }
}
