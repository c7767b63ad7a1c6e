//! HyStart++ (RFC 9406): leaves the initial slow start once round-trip times grow, before packets
//! are lost.
//!
//! A round of round-trip samples is compared with the round before it. If its minimum grew by an
//! eighth (at least 4 ms, at most 16 ms), slow start continues at a quarter of its speed
//! ("conservative slow start"). If that lasts for five rounds, congestion avoidance begins. If the
//! round trips become shorter again, the growth was noise and slow start resumes.
//!
//! A round ends with the acknowledgement of as many bytes as were in flight at its beginning.
//! Without losses, this is when SND.NXT of its beginning is acknowledged. Eight samples per round
//! are needed: an endpoint that takes one sample per round trip never leaves slow start by it.

use super::Acknowledged;
use plait_sched::Duration;

/// RFC 9406 §4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L for a sender that does not pace.
const LIMIT: u64 = 8;

/// Effect of an acknowledgement in slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// Grow by the acknowledged bytes, `limit` segments at most, divided by `divisor`.
    Grow { limit: u64, divisor: u64 },
    /// Begin congestion avoidance.
    Leave,
}

/// The state of one path in its initial slow start.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// Bytes to be acknowledged until the round ends.
    remaining: u64,
    /// The shortest round trip of the last round; [`Duration::MAX`] if there was none.
    last_round: Duration,
    /// That of this round.
    this_round: Duration,
    samples: u32,
    /// Present in conservative slow start.
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The shortest round trip of the round in which it began.
    baseline: Duration,
    /// Rounds that ended since; the one in which it began counts.
    rounds: u32,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            remaining: 0,
            last_round: Duration::MAX,
            this_round: Duration::MAX,
            samples: 0,
            conservative: None,
        }
    }

    /// §4.2. Call for each acknowledgement of the initial slow start.
    pub(super) fn on_acknowledged(&mut self, acknowledged: &Acknowledged) -> Growth {
        if let Some(rtt) = acknowledged.rtt {
            self.this_round = self.this_round.min(rtt);
            self.samples += 1;
        }
        if self.samples >= N_RTT_SAMPLE {
            self.compare();
        }
        let divisor = if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        if acknowledged.bytes > self.remaining {
            self.remaining = acknowledged.in_flight_before.saturating_sub(acknowledged.bytes);
            self.last_round = self.this_round;
            self.this_round = Duration::MAX;
            self.samples = 0;
            if let Some(conservative) = &mut self.conservative {
                conservative.rounds += 1;
                if conservative.rounds >= CSS_ROUNDS {
                    return Growth::Leave;
                }
            }
        } else {
            self.remaining -= acknowledged.bytes;
        }
        Growth::Grow { limit: LIMIT, divisor }
    }

    fn compare(&mut self) {
        match self.conservative {
            Some(conservative) if self.this_round < conservative.baseline => self.conservative = None,
            None if self.last_round < Duration::MAX => {
                let threshold = (self.last_round / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.this_round >= self.last_round + threshold {
                    self.conservative = Some(Conservative { baseline: self.this_round, rounds: 0 });
                }
            }
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments};
    use super::*;
    use crate::congestion::{Algorithm, CongestionConfig, CongestionController, Reno};

    const FULL: Growth = Growth::Grow { limit: 8, divisor: 1 };
    const QUARTER: Growth = Growth::Grow { limit: 8, divisor: 4 };

    /// `count` acknowledgements of one segment with this round trip, out of ten segments in flight:
    /// one round if ten.
    fn feed(hystart: &mut HyStart, count: u32, millis: u64) -> Growth {
        let sample = Acknowledged { rtt: Some(Duration::from_millis(millis)), ..ack(SEGMENT, segments(10)) };
        (0..count).fold(FULL, |_, _| hystart.on_acknowledged(&sample))
    }

    /// After one round of 40 ms, at the beginning of the next.
    fn after_a_round() -> HyStart {
        let mut hystart = HyStart::new();
        assert_eq!(feed(&mut hystart, 1, 40), FULL);
        assert_eq!(hystart.remaining, segments(9), "the first acknowledgement opens a round");
        assert_eq!(feed(&mut hystart, 9, 40), FULL);
        assert_eq!(hystart.remaining, 0);
        assert_eq!(feed(&mut hystart, 1, 40), FULL);
        assert_eq!((hystart.last_round, hystart.samples), (Duration::from_millis(40), 0));
        hystart
    }

    #[test]
    fn eight_samples_that_grew_by_an_eighth_begin_conservative_slow_start() {
        let mut hystart = after_a_round();
        assert_eq!(feed(&mut hystart, 7, 45), FULL);
        assert_eq!(feed(&mut hystart, 1, 45), QUARTER);
        let mut hystart = after_a_round();
        assert_eq!(feed(&mut hystart, 9, 44), FULL, "40 ms / 8 is 5 ms");
    }

    #[test]
    fn the_threshold_lies_between_4_and_16_milliseconds() {
        for (last, slow, slower) in [(8, 11, 12), (400, 415, 416)] {
            let mut hystart = after_a_round();
            hystart.last_round = Duration::from_millis(last);
            assert_eq!(feed(&mut hystart.clone(), 8, slow), FULL);
            assert_eq!(feed(&mut hystart, 8, slower), QUARTER);
        }
    }

    #[test]
    fn the_minimum_of_the_round_counts() {
        let mut hystart = after_a_round();
        feed(&mut hystart, 1, 41);
        assert_eq!(feed(&mut hystart, 8, 90), FULL);
    }

    #[test]
    fn five_rounds_of_conservative_slow_start_end_in_avoidance() {
        let mut hystart = after_a_round();
        assert_eq!(feed(&mut hystart, 9, 50), QUARTER);
        for round in 0..4 {
            assert_eq!(feed(&mut hystart, 10, 50), QUARTER, "round {round}");
        }
        assert_eq!(feed(&mut hystart, 1, 50), Growth::Leave);
    }

    #[test]
    fn slow_start_resumes_if_round_trips_become_shorter_again() {
        let mut hystart = after_a_round();
        assert_eq!(feed(&mut hystart, 9, 50), QUARTER);
        assert_eq!(feed(&mut hystart, 1, 50), QUARTER, "the last of its round");
        assert_eq!(feed(&mut hystart, 7, 49), QUARTER);
        assert_eq!(feed(&mut hystart, 1, 49), FULL);
    }

    #[test]
    fn a_controller_grows_by_eight_segments_then_by_a_quarter_then_avoids() {
        let mut control = Reno::new(&CongestionConfig { hystart: true, ..config(Algorithm::Reno) });
        control.on_ack(&ack(segments(9), segments(10)), None, &[]);
        assert_eq!(control.window(), segments(18));
        let flight = |control: &Reno, millis| Acknowledged {
            rtt: Some(Duration::from_millis(millis)),
            ..ack(SEGMENT, control.window())
        };
        let mut rounds = 0;
        while control.slow_start_threshold() == u64::MAX {
            let before = control.window();
            let millis = if rounds < 2 { 40 } else { 60 };
            for _ in 0..before / SEGMENT {
                control.on_ack(&flight(&control, millis), None, &[]);
            }
            rounds += 1;
        }
        // Two rounds of doubling, one until the eighth sample, five of a quarter, at the end of
        // which avoidance begins.
        assert!((7..=9).contains(&rounds), "{rounds}");
        assert_eq!(control.slow_start_threshold() / SEGMENT, control.window() / SEGMENT);
        assert!(control.window() < segments(18 * 4 * 4), "{}", control.window() / SEGMENT);
    }
}
