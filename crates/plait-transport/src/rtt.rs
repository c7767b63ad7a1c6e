//! Round-trip time and retransmission timeout (RFC 6298, as RFC 9260 §6.3.1 uses it).

use plait_sched::Duration;

/// G, the granularity of the timers' clock, and the minimum of four times the variation. Without it
/// a steady path's variation decays to zero, and its timer expires as the acknowledgement arrives
/// (RFC 6298 §2.3, RFC 9260 §6.3.1 C7, kGranularity of RFC 9002).
pub const GRANULARITY: Duration = Duration::from_millis(1);

/// Bounds and start of the retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoConfig {
    /// Before the first sample (RTO.Initial; default 1 s).
    pub initial: Duration,
    /// Never less (RTO.Min; default 1 s).
    pub min: Duration,
    /// Never more, back-off included (RTO.Max; default 60 s).
    pub max: Duration,
    /// How it follows from the samples (default RFC 6298).
    pub rule: RtoRule,
}

/// How the retransmission timeout follows from round-trip samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RtoRule {
    /// SRTT + max(G, 4 RTTVAR), and at least the minimum (RFC 6298).
    #[default]
    Rfc6298,
    /// SRTT and the variation, which itself is never below the minimum: Linux' tcp_rtt_estimator
    /// (net/ipv4/tcp_input.c). The variation grows at once, with the largest deviation of a round
    /// trip, and shrinks by a quarter of the difference per round trip; samples below the average
    /// move the deviation little.
    Linux,
    /// The probe timeout: SRTT + max(G, 4 RTTVAR), and the peer's maximum acknowledgement delay
    /// (RFC 9002 §6.2.1). It has no other minimum.
    Probe {
        /// The peer's max_ack_delay.
        ack_delay: Duration,
    },
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            rule: RtoRule::Rfc6298,
        }
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
    own: Duration,
    rto: Duration,
    spread: Spread,
}

/// State of Linux' rule, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    deviation: u64,
    /// Four times the largest deviation of the round trip at hand.
    largest: u64,
    variation: u64,
    /// The round trip ends when this is acknowledged.
    end: u64,
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
            own: Duration::ZERO,
            rto: config.initial,
            spread: Spread::default(),
        }
    }

    /// Bounds and start of the timeout.
    pub fn config(&self) -> &RtoConfig {
        &self.config
    }

    /// Takes a sample whose packet and answer both took this path.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn sample(&mut self, rtt: Duration) {
        self.sample_there(rtt);
        self.sample_own(rtt);
    }

    /// Takes a sample whose answer may have taken another path back: α = 1/8, β = 1/4. Ends the
    /// back-off.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn sample_there(&mut self, rtt: Duration) {
        // A sample of zero would read as "not measured yet".
        let rtt = rtt.max(Duration::from_nanos(1));
        if self.config.rule == RtoRule::Linux {
            self.spread_by(rtt);
        }
        if self.smoothed.is_zero() {
            self.smoothed = rtt;
            self.variation = rtt / 2;
        } else {
            let error = self.smoothed.abs_diff(rtt);
            self.variation = Duration::from_nanos((3 * self.variation.as_nanos() + error.as_nanos()) / 4);
            self.smoothed = smoothed(self.smoothed, rtt);
        }
        self.latest = rtt;
        self.end_back_off();
    }

    /// Ends the back-off: the timeout follows from the samples alone.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn end_back_off(&mut self) {
        if self.smoothed.is_zero() {
            self.rto = self.config.initial;
            return;
        }
        let spread = (self.variation * 4).max(GRANULARITY);
        self.rto = match self.config.rule {
            RtoRule::Rfc6298 => (self.smoothed + spread).clamp(self.config.min, self.config.max),
            // Without the bound, probes would repeatedly leave before an answer can have come, and
            // be unnecessary.
            RtoRule::Probe { ack_delay } => self.smoothed + spread + ack_delay,
            RtoRule::Linux => {
                (self.smoothed + Duration::from_nanos(self.spread.variation)).min(self.config.max)
            }
        };
    }

    /// Takes a round trip with the peer's acknowledgement delay, `waited` (RFC 9002 §5.2, §5.3).
    /// The shortest and the latest round trip include the delay. The average does not, unless it
    /// would fall below the shortest.
    pub fn sample_delayed(&mut self, rtt: Duration, waited: Duration) {
        let shortest = if self.own.is_zero() { rtt } else { self.min.min(rtt) };
        let adjusted = if rtt >= shortest + waited { rtt - waited } else { rtt };
        self.sample(adjusted);
        (self.latest, self.min) = (rtt.max(Duration::from_nanos(1)), shortest.max(Duration::from_nanos(1)));
    }

    /// Takes the round trip of a packet and its answer, both on this path, if another path had
    /// acknowledged the packet before. The timeout does not depend on such samples.
    #[inline]
    pub fn sample_own(&mut self, rtt: Duration) {
        let rtt = rtt.max(Duration::from_nanos(1));
        if self.own.is_zero() {
            (self.own, self.min) = (rtt, rtt);
        } else {
            self.own = smoothed(self.own, rtt);
            self.min = self.min.min(rtt);
        }
    }

    /// Smoothed round-trip time of the samples with both directions on this path; zero before the
    /// first.
    pub fn own(&self) -> Duration {
        self.own
    }

    /// The deviation after a sample, before the average takes it.
    fn spread_by(&mut self, rtt: Duration) {
        let spread = &mut self.spread;
        let (rtt, smoothed) = (rtt.as_nanos(), self.smoothed.as_nanos());
        if smoothed == 0 {
            spread.deviation = rtt / 2;
            spread.variation = (2 * rtt).max(self.config.min.as_nanos());
            spread.largest = spread.variation;
            return;
        }
        let error = smoothed.abs_diff(rtt);
        if error < spread.deviation {
            spread.deviation -= (spread.deviation - error) / 4;
        } else {
            spread.deviation += (error - spread.deviation) / if rtt < smoothed { 32 } else { 4 };
        }
        spread.largest = spread.largest.max(4 * spread.deviation);
        spread.variation = spread.variation.max(spread.largest);
    }

    /// A round trip that is not a sample of the average, as that of the newest of several segments.
    pub fn note_shortest(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt.max(Duration::from_nanos(1)));
    }

    /// Counts round trips for Linux' rule: all data below `cumulative` is acknowledged, `next` is
    /// sent next. Call after a sample.
    #[inline]
    pub fn note_progress(&mut self, cumulative: u64, next: u64) {
        let spread = &mut self.spread;
        if cumulative <= spread.end {
            return;
        }
        spread.variation -= spread.variation.saturating_sub(spread.largest) / 4;
        spread.end = next;
        spread.largest = self.config.min.as_nanos();
    }

    /// Doubles the timeout after it ran out.
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.config.max.max(self.rto));
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

    /// The smallest sample with both directions on this path; zero before the first.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The retransmission timeout with its back-off.
    pub fn rto(&self) -> Duration {
        self.rto
    }
}

/// An average with the weight α = 1/8 for the newest sample (RFC 6298).
fn smoothed(average: Duration, sample: Duration) -> Duration {
    Duration::from_nanos((7 * average.as_nanos() + sample.as_nanos()) / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_second_sample_follow_rfc_6298() {
        let ms = Duration::from_millis;
        let config = RtoConfig { initial: ms(1000), min: ms(1), max: ms(60_000), rule: RtoRule::Rfc6298 };
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

    #[test]
    fn linux_adds_the_minimum_to_the_round_trip() {
        let ms = Duration::from_millis;
        let config = RtoConfig { initial: ms(1000), min: ms(200), max: ms(60_000), rule: RtoRule::Linux };
        let mut rtt = RttEstimator::new(config);
        rtt.sample(ms(20));
        assert_eq!(rtt.rto(), ms(220));
        rtt.sample(ms(20));
        assert_eq!(rtt.rto(), ms(220));
        let mut rtt = RttEstimator::new(config);
        rtt.sample(ms(300));
        assert_eq!(rtt.rto(), ms(900));
    }

    #[test]
    fn a_probe_waits_for_a_round_trip_whatever_the_bound() {
        let ms = Duration::from_millis;
        let rule = RtoRule::Probe { ack_delay: ms(25) };
        let mut rtt = RttEstimator::new(RtoConfig { initial: ms(2), min: ms(1), max: ms(2), rule });
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(2));
        rtt.sample(ms(100));
        assert_eq!(rtt.rto(), ms(100 + 4 * 50 + 25));
        rtt.back_off();
        assert_eq!(rtt.rto(), ms(325));
    }

    #[test]
    fn linux_forgets_a_large_deviation_round_trip_by_round_trip() {
        let ms = Duration::from_millis;
        let config = RtoConfig { initial: ms(1000), min: ms(200), max: ms(60_000), rule: RtoRule::Linux };
        let mut rtt = RttEstimator::new(config);
        rtt.sample(ms(100));
        rtt.note_progress(1, 10);
        rtt.sample(ms(500));
        // The deviation of 50 ms moves a quarter of the way to 400 ms; times four is the variation.
        assert_eq!(rtt.rto(), ms(150) + Duration::from_micros(550_000));
        rtt.note_progress(11, 20);
        rtt.sample(ms(150));
        let before = rtt.rto();
        rtt.note_progress(21, 30);
        rtt.sample(ms(150));
        assert!(rtt.rto() < before);
    }
}
