//! How long an acknowledgement waits for another segment.

use super::Rules;
use crate::rtt::{RtoConfig, RttEstimator};
use plait_sched::{Duration, Time};

/// What decides it, see [`Rules`].
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    /// So many more are not delayed.
    pub(super) quick: u8,
    /// How long one waits at least, and without Linux' rules (TCP_ATO_MIN, TCP_DELACK_MIN).
    least: Duration,
    /// How long one would wait (`icsk_ack.ato`).
    wait: Duration,
    /// When the last segment arrived in order.
    last: Option<Time>,
    /// When the SYN was answered, until that is confirmed.
    answered: Option<Time>,
    /// How long the confirmation took: all that the receiver of a stream knows of the round trip (`tcp_synack_rtt_meas`).
    round_trip: Option<Duration>,
    /// What would be the retransmission timeout if this end sent data.
    timeout: Duration,
}

impl AckDelay {
    pub(super) fn new(least: Duration, rto: &RtoConfig) -> Self {
        Self {
            quick: 0,
            least,
            wait: least,
            last: None,
            answered: None,
            round_trip: None,
            timeout: RttEstimator::new(*rto).rto(),
        }
    }

    /// A SYN is answered.
    pub(super) fn note_answer(&mut self, now: Time) {
        if self.round_trip.is_none() {
            self.answered = Some(now);
        }
    }

    /// Something came that only who got the answer sends.
    pub(super) fn note_confirmed(&mut self, now: Time, rto: &RtoConfig) {
        let Some(answered) = self.answered.take() else { return };
        let round_trip = now.since(answered);
        let mut estimator = RttEstimator::new(*rto);
        estimator.sample(round_trip);
        self.round_trip = Some(round_trip);
        self.timeout = estimator.rto();
    }
}

impl Rules {
    /// A segment arrived in order. How long acknowledgements wait follows the spacing of such segments, as far as they come
    /// closer together than that; after a longer pause than the timeout the sender starts anew (`tcp_event_data_recv` in
    /// net/ipv4/tcp_input.c, which `tcp_data_queue` calls for what is in order alone: a gap that is long in being filled is a pause).
    pub(super) fn adapt(&self, delay: &mut AckDelay, now: Time) {
        let (gap, least) = (delay.last.map(|last| now.since(last)), delay.least);
        delay.last = Some(now);
        match (gap, self.longest_ack_delay) {
            (Some(gap), Some(_)) if gap <= least / 2 => delay.wait = delay.wait / 2 + least / 2,
            (Some(gap), Some(longest)) if gap < delay.wait => {
                delay.wait = (delay.wait / 2 + gap).min(longest).min(delay.timeout);
            }
            (Some(gap), _) if gap <= delay.timeout => {}
            (Some(_), _) => delay.quick = self.quick_acks,
            (None, _) => (delay.quick, delay.wait) = (self.quick_acks, least),
        }
    }

    /// What came shows that the sender waits in vain: the next acknowledgements are not delayed (tcp_enter_quickack_mode).
    pub(super) const fn hurry(&self, delay: &mut AckDelay) {
        (delay.quick, delay.wait) = (self.quick_acks, delay.least);
    }

    /// So many acknowledgements are not delayed at least (tcp_enter_quickack_mode with that number).
    pub(super) fn hurry_for(&self, delay: &mut AckDelay, count: u8) {
        (delay.quick, delay.wait) = (delay.quick.max(count), delay.least);
    }

    /// How long an acknowledgement waits that is put off now: not longer than a round trip, or what is least (tcp_send_delayed_ack in
    /// net/ipv4/tcp_output.c).
    pub(super) fn ack_delay(&self, delay: &AckDelay) -> Duration {
        let Some(longest) = self.longest_ack_delay.filter(|_| delay.wait > delay.least) else {
            return delay.wait;
        };
        let round_trip = delay.round_trip.unwrap_or(longest);
        delay.wait.min(round_trip.max(delay.least)).min(longest)
    }

    /// An acknowledgement waited in vain: others wait twice as long (tcp_delack_timer_handler in net/ipv4/tcp_timer.c).
    pub(super) fn note_waited(&self, delay: &mut AckDelay) {
        if let Some(longest) = self.longest_ack_delay {
            delay.wait = (delay.wait * 2).min(delay.timeout).min(longest);
        }
    }
}
