//! HyStart as in Linux' CUBIC (net/ipv4/tcp_cubic.c), older than RFC 9406 and abrupt: either of two
//! signs ends slow start.
//!
//! - *Train*: acknowledgements that follow each other within 2 ms last longer than half the
//!   shortest round trip (and half a millisecond) since the round began: the data of one burst
//!   fills the path.
//! - *Delay*: the shortest of a round's first nine round trips exceeds the shortest of all by an
//!   eighth, at least 4 ms and at most 16 ms.
//!
//! Neither counts below sixteen packets.

use crate::congestion::Acknowledged;
use plait_sched::{Duration, Time};

const LOW_WINDOW: u64 = 16;
const SAMPLES: u32 = 8;
const SPACING: Duration = Duration::from_millis(2);
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
/// Additional length of a train, for offloads that bundle packets. Linux allows four bundles at the
/// pacing rate, which is longer than this cap below 2 Gbit/s.
const BUNDLING: Duration = Duration::from_millis(1);

/// The state of one slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The round ends when something beyond this transmission is acknowledged.
    end: u64,
    start: Time,
    /// The last acknowledgement of the train.
    last: Time,
    /// The shortest round trip of the round.
    shortest: Duration,
    samples: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self { end: 0, start: Time::ZERO, last: Time::ZERO, shortest: Duration::MAX, samples: 0 }
    }

    fn begin_round(&mut self, now: Time, next: u64) {
        *self = Self { end: next, start: now, last: now, shortest: Duration::MAX, samples: 0 };
    }

    /// True if slow start must end. `shortest` is the shortest round trip of all, `rtt` that of the
    /// newest packet.
    pub(super) fn is_over(
        &mut self,
        acknowledged: &Acknowledged,
        window: u64,
        rtt: Duration,
        shortest: Duration,
    ) -> bool {
        let now = acknowledged.now;
        if acknowledged.cumulative > self.end {
            self.begin_round(now, acknowledged.next);
        }
        if window < LOW_WINDOW {
            return false;
        }
        let mut over = false;
        if now.since(self.last) <= SPACING {
            self.last = now;
            over = now.since(self.start) > (shortest + BUNDLING) / 2;
        }
        self.shortest = self.shortest.min(rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            over |= self.shortest > shortest + (shortest / 8).clamp(LEAST_GROWTH, MOST_GROWTH);
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixtures::ack;
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// One acknowledgement after `millis`, in a round that does not end soon.
    fn see(hystart: &mut HyStart, millis: u64, rtt: u64) -> bool {
        let acknowledged =
            Acknowledged { now: Time::ZERO + MS(millis), cumulative: 1, next: 1000, ..ack(0, 0) };
        hystart.is_over(&acknowledged, 16, MS(rtt), MS(40))
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let mut hystart = HyStart::new();
        for millis in (100..=120).step_by(2) {
            assert!(!see(&mut hystart, millis, 40), "{millis}");
        }
        assert!(see(&mut hystart, 122, 40), "20.5 ms and more");
        let mut broken = HyStart::new();
        assert!(!(100..140).step_by(3).any(|millis| see(&mut broken, millis, 40)));
    }

    #[test]
    fn a_growth_by_an_eighth_ends_slow_start_at_the_ninth_sample() {
        let mut hystart = HyStart::new();
        for sample in 0..8 {
            assert!(!see(&mut hystart, 100 + 10 * sample, 46));
        }
        assert!(see(&mut hystart, 200, 60));
        let mut hystart = HyStart::new();
        assert!(!(0..20).any(|sample| see(&mut hystart, 100 + 10 * sample, 45)), "40 / 8 is 5 ms");
    }

    #[test]
    fn a_window_below_sixteen_packets_is_left_alone() {
        let mut hystart = HyStart::new();
        for millis in 0..100 {
            let acknowledged = Acknowledged { now: Time::ZERO + MS(millis), next: 1000, ..ack(0, 0) };
            assert!(!hystart.is_over(&acknowledged, 15, MS(90), MS(40)));
        }
    }
}
