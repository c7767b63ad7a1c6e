//! Delay of acknowledgements.

use super::Rules;
use crate::rtt::{RtoConfig, RttEstimator};
use plait_sched::{Duration, Time};

/// State of the delay; see [`Rules`].
#[derive(Clone, Copy, Debug)]
pub(super) struct AckDelay {
    /// Number of further acknowledgements that are not delayed.
    pub(super) quick: u8,
    /// Smallest delay, and the constant delay without Linux' rules (TCP_ATO_MIN, TCP_DELACK_MIN).
    least: Duration,
    /// Current delay (`icsk_ack.ato`).
    wait: Duration,
    /// Arrival time of the last segment in order.
    last: Option<Time>,
    /// Time of the SYN/ACK, until it is confirmed.
    answered: Option<Time>,
    /// Time from the SYN/ACK to its confirmation: the only round-trip time that the receiver of a
    /// stream knows (`tcp_synack_rtt_meas`).
    round_trip: Option<Duration>,
    /// The retransmission timeout that this end would have as a sender.
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

    /// Records that a SYN is answered.
    pub(super) fn note_answer(&mut self, now: Time) {
        if self.round_trip.is_none() {
            self.answered = Some(now);
        }
    }

    /// Records a packet that only an end with the SYN/ACK sends.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_confirmed(&mut self, now: Time, rto: &RtoConfig) {
        if let Some(answered) = self.answered {
            self.confirm(now, answered, rto);
        }
    }

    #[inline(never)]
    fn confirm(&mut self, now: Time, answered: Time, rto: &RtoConfig) {
        self.answered = None;
        let round_trip = now.since(answered);
        let mut estimator = RttEstimator::new(*rto);
        estimator.sample(round_trip);
        self.round_trip = Some(round_trip);
        self.timeout = estimator.rto();
    }
}

impl Rules {
    /// Records a segment in order. The delay follows the interval between such segments, if this is
    /// shorter than the delay. After a pause longer than the timeout the sender restarts
    /// (`tcp_event_data_recv` in net/ipv4/tcp_input.c). `tcp_data_queue` calls that function only
    /// for segments in order, so the time to fill a gap counts as a pause.
    #[cfg_attr(not(debug_assertions), inline(always))]
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

    /// Stops delaying the next acknowledgements, after a packet that shows that the sender waits in
    /// vain (tcp_enter_quickack_mode).
    pub(super) const fn hurry(&self, delay: &mut AckDelay) {
        (delay.quick, delay.wait) = (self.quick_acks, delay.least);
    }

    /// Leaves at least `count` acknowledgements without delay (tcp_enter_quickack_mode with this
    /// count).
    pub(super) fn hurry_for(&self, delay: &mut AckDelay, count: u8) {
        (delay.quick, delay.wait) = (delay.quick.max(count), delay.least);
    }

    /// Returns the delay of an acknowledgement: at most a round-trip time, but at least the
    /// smallest delay (tcp_send_delayed_ack in net/ipv4/tcp_output.c).
    pub(super) fn ack_delay(&self, delay: &AckDelay) -> Duration {
        let Some(longest) = self.longest_ack_delay.filter(|_| delay.wait > delay.least) else {
            return delay.wait;
        };
        let round_trip = delay.round_trip.unwrap_or(longest);
        delay.wait.min(round_trip.max(delay.least)).min(longest)
    }

    /// Doubles the delay after an acknowledgement waited in vain for another segment
    /// (tcp_delack_timer_handler in net/ipv4/tcp_timer.c).
    pub(super) fn note_waited(&self, delay: &mut AckDelay) {
        if let Some(longest) = self.longest_ack_delay {
            delay.wait = (delay.wait * 2).min(delay.timeout).min(longest);
        }
    }
}
