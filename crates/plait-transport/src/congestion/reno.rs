//! TCP's standard congestion control: the window part of NewReno, for a sender that recovers with
//! SACK.
//!
//! - Slow start with byte counting, at most L = 2 segments per acknowledgement, one after a timeout
//!   (RFC 5681 §3.1, RFC 3465 §2.2 and §2.3).
//! - Congestion avoidance: one segment per window of acknowledged bytes (RFC 3465 §2.1).
//! - A loss sets the window to half of the data in flight. The flight is the pipe of RFC 6675, so
//!   nothing is inflated during recovery and nothing deflated after it.
//! - HyStart++ may end the initial slow start (RFC 9406), if the configuration enables it.
//! - A timeout leaves one segment (RFC 5681 §3.1, equation 4).
//! - After idleness the window is the restart window, min(IW, cwnd) (RFC 5681 §4.1).
//! - Only a window that is used may grow (the idea of RFC 7661): if data waited for room in it. In
//!   slow start it may grow also if half of it was in flight, as in Linux, since its doubling is
//!   then one round ahead. In avoidance it may grow also if no full segment fitted any more.
//!
//! [`Cubic`](super::Cubic) and the coupled controllers consist of this one and of their own rule.

use super::hystart::{Growth, HyStart};
use super::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Share,
};
use plait_sched::Time;

/// L of RFC 3465: segments by which one acknowledgement may grow the window in slow start.
const LIMIT: u64 = 2;

/// L in the slow start after a timeout: one acknowledgement may cover much earlier data (RFC 3465
/// §2.3).
const LIMIT_AFTER_TIMEOUT: u64 = 1;

/// The state of one path.
#[derive(Clone, Debug)]
pub struct Reno {
    pub(super) window: u64,
    pub(super) threshold: u64,
    pub(super) segment: u64,
    initial_window: u64,
    /// Acknowledged bytes that have not yet grown the window in congestion avoidance, times the
    /// gain of a coupled controller; whole numbers, and so exact, for Reno itself. Negative if OLIA
    /// moves window to another path.
    credit: f64,
    /// Present during the initial slow start, if wanted.
    hystart: Option<HyStart>,
    /// A timeout was the last that happened: nothing was acknowledged since.
    timed_out: bool,
    /// The slow start at hand follows a timeout.
    after_timeout: bool,
}

impl Reno {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "newreno", family: Family::Tcp, coupled: false, source: "RFC 5681 and 6582" };

    /// At the start: `initial_window`, and slow start up to `initial_threshold`.
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            window: config.initial_window,
            threshold: config.initial_threshold,
            segment: config.segment,
            initial_window: config.initial_window,
            credit: 0.0,
            hystart: config.hystart.then(HyStart::new),
            timed_out: false,
            after_timeout: false,
        }
    }

    /// Grows the window, in congestion avoidance `gain` times as fast as TCP alone would. A gain is
    /// at most 1 (RFC 6356 §2, goal 2: no harm to others); a negative one shrinks the window.
    pub(super) fn grow(&mut self, acknowledged: &Acknowledged, gain: f64) {
        let rest = self.slow_start(acknowledged);
        if rest > 0 && self.is_used(acknowledged) {
            self.avoid_congestion(rest, gain);
        }
    }

    /// The slow-start part of an acknowledgement. Returns the bytes that are left to congestion
    /// avoidance.
    pub(super) fn slow_start(&mut self, acknowledged: &Acknowledged) -> u64 {
        self.timed_out = false;
        if self.window >= self.threshold {
            self.hystart = None;
            self.after_timeout = false;
            return acknowledged.bytes;
        }
        let growth = match &mut self.hystart {
            Some(hystart) => hystart.on_acknowledged(acknowledged),
            None if self.after_timeout => Growth::Grow { limit: LIMIT_AFTER_TIMEOUT, divisor: 1 },
            None => Growth::Grow { limit: LIMIT, divisor: 1 },
        };
        let Growth::Grow { limit, divisor } = growth else {
            self.hystart = None;
            self.threshold = self.window;
            return acknowledged.bytes;
        };
        if acknowledged.used_before < self.window / 2 && !acknowledged.limited {
            return 0;
        }
        let step = acknowledged.bytes.min(limit * self.segment) / divisor;
        let grown = step.min(self.threshold - self.window);
        self.window += grown;
        step - grown
    }

    /// True if the window kept the sender from sending more before the acknowledgement.
    pub(super) fn is_used(&self, acknowledged: &Acknowledged) -> bool {
        acknowledged.limited || acknowledged.used_before + self.segment > self.window
    }

    fn avoid_congestion(&mut self, bytes: u64, gain: f64) {
        // The processor converts signed numbers in one step, unsigned ones in several.
        let (window, bytes) = (self.window as i64 as f64, bytes.min(self.window) as i64 as f64);
        // One acknowledgement counts for one window at most, so that it grows the window by one
        // segment at most.
        self.credit += gain.min(1.0) * bytes;
        if self.credit >= window {
            self.credit -= window;
            self.window += self.segment;
        } else if self.credit <= -window {
            self.credit += window;
            self.window = self.window.saturating_sub(self.segment).max(self.segment);
        }
    }

    /// The amount that a loss reduces: FlightSize without the segments that limited transmit sent
    /// beyond the window (RFC 5681 §3.2, step 2). So a loss after a penalty cannot raise the
    /// window.
    pub(super) fn used_window(&self, outstanding: u64) -> u64 {
        outstanding.min(self.window)
    }

    /// A loss: `remaining` bytes are left, two segments at least (RFC 5681 §3.1, equation 4).
    pub(super) fn reduce(&mut self, remaining: u64) {
        self.threshold = remaining.max(2 * self.segment);
        self.window = self.threshold;
        self.credit = 0.0;
        self.hystart = None;
        self.timed_out = false;
        self.after_timeout = false;
    }

    /// Handles a timeout: slow start from one segment up to `remaining`. True if the threshold was
    /// set: it is held if the retransmission after a timeout is lost as well (RFC 5681 §3.1).
    pub(super) fn restart(&mut self, remaining: u64) -> bool {
        let first = !self.timed_out;
        if first {
            self.threshold = remaining.max(2 * self.segment);
        }
        self.window = self.segment;
        self.credit = 0.0;
        self.hystart = None;
        self.timed_out = true;
        self.after_timeout = true;
        first
    }

    /// Penalizes as Linux' opportunistic retransmission and penalization: a path in slow start
    /// keeps its threshold.
    fn penalize(&mut self) {
        if self.window >= self.threshold {
            self.threshold = (self.threshold / 2).max(2 * self.segment);
        }
        self.window = (self.window / 2).max(self.segment);
        self.credit = 0.0;
    }
}

impl CongestionController for Reno {
    fn on_ack(&mut self, ack: &Acknowledged, _rate: Option<&RateSample>, _shares: &[Share]) {
        if ack.may_grow {
            self.grow(ack, 1.0);
        }
    }

    fn on_event(&mut self, _now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { outstanding } | CongestionEvent::Mark { outstanding } => {
                self.reduce(self.used_window(outstanding) / 2);
            }
            CongestionEvent::Timeout { outstanding, .. } => {
                self.restart(self.used_window(outstanding) / 2);
            }
            CongestionEvent::Collapse { window } => self.window = window.max(self.segment),
            CongestionEvent::Undone { window, threshold } => {
                self.window = self.window.max(window);
                self.threshold = self.threshold.max(threshold);
            }
            CongestionEvent::Penalty => self.penalize(),
            CongestionEvent::Idle => self.window = self.window.min(self.initial_window),
            CongestionEvent::Resumed { .. } | CongestionEvent::Drained | CongestionEvent::Measured { .. } => {
            }
        }
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments};
    use super::*;
    use crate::congestion::Algorithm;

    fn start() -> Reno {
        Reno::new(&config(Algorithm::Reno))
    }

    /// A controller in congestion avoidance with a window of `count` segments.
    fn avoiding(count: u64) -> Reno {
        let mut control = start();
        control.window = segments(count);
        control.threshold = segments(count);
        control
    }

    #[test]
    fn slow_start_adds_what_was_acknowledged_but_two_segments_at_most() {
        let mut control = start();
        control.on_ack(&ack(SEGMENT, segments(10)), None, &[]);
        assert_eq!(control.window(), segments(11));
        control.on_ack(&ack(SEGMENT / 2, segments(10)), None, &[]);
        assert_eq!(control.window(), segments(11) + SEGMENT / 2);
        control.on_ack(&ack(segments(5), segments(10)), None, &[]);
        assert_eq!(control.window(), segments(13) + SEGMENT / 2);
    }

    #[test]
    fn slow_start_needs_half_the_window_in_flight() {
        let mut control = start();
        control.on_ack(&ack(SEGMENT, segments(5) - 1), None, &[]);
        assert_eq!(control.window(), segments(10));
        control.on_ack(&ack(SEGMENT, segments(5)), None, &[]);
        assert_eq!(control.window(), segments(11));
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_gives_the_rest_to_avoidance() {
        let mut control = start();
        control.threshold = segments(11);
        control.on_ack(&ack(segments(2), segments(10)), None, &[]);
        assert_eq!(control.window(), segments(11));
        assert!(!control.is_used(&ack(SEGMENT, segments(10))));
        for _ in 0..11 {
            control.on_ack(&ack(SEGMENT, segments(11)), None, &[]);
        }
        assert_eq!(control.window(), segments(12));
        // Of two segments one reaches the threshold, the other is the first of the eleven.
        let mut control = start();
        control.threshold = segments(11);
        control.on_ack(&ack(segments(2), segments(11)), None, &[]);
        for _ in 0..10 {
            control.on_ack(&ack(SEGMENT, segments(11)), None, &[]);
        }
        assert_eq!(control.window(), segments(12));
    }

    #[test]
    fn avoidance_adds_one_segment_per_window_of_bytes() {
        let mut control = avoiding(10);
        // Acknowledgements of two segments count double: bytes are counted, not acknowledgements.
        for _ in 0..4 {
            control.on_ack(&ack(segments(2), segments(10)), None, &[]);
        }
        assert_eq!(control.window(), segments(10));
        control.on_ack(&ack(segments(2), segments(10)), None, &[]);
        assert_eq!(control.window(), segments(11));
    }

    #[test]
    fn avoidance_grows_only_a_window_without_room_for_a_segment() {
        let mut control = avoiding(10);
        for _ in 0..100 {
            control.on_ack(&ack(SEGMENT, segments(9)), None, &[]);
        }
        assert_eq!(control.window(), segments(10));
        for _ in 0..10 {
            control.on_ack(&ack(SEGMENT, segments(9) + 1), None, &[]);
        }
        assert_eq!(control.window(), segments(11));
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_but_leaves_two_segments() {
        let mut control = avoiding(20);
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(16) });
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(8), segments(8)));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: SEGMENT });
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(2), segments(2)));
    }

    #[test]
    fn a_loss_never_raises_a_window_of_more_than_two_segments() {
        let mut control = avoiding(20);
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        assert_eq!(control.window(), segments(5));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(20) });
        assert_eq!(control.window(), segments(5) / 2);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_slow_start_that_counts_one_per_acknowledgement() {
        let mut control = avoiding(20);
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(20), repairing: false });
        assert_eq!((control.window(), control.slow_start_threshold()), (SEGMENT, segments(10)));
        control.on_ack(&ack(segments(5), SEGMENT), None, &[]);
        assert_eq!(control.window(), segments(2), "L = 1 after a timeout");
    }

    #[test]
    fn the_threshold_is_held_while_timeouts_follow_each_other() {
        let mut control = avoiding(20);
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(20), repairing: false });
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: SEGMENT, repairing: false });
        assert_eq!(control.slow_start_threshold(), segments(10));
        control.on_ack(&ack(SEGMENT, SEGMENT), None, &[]);
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(2), repairing: false });
        assert_eq!(control.slow_start_threshold(), segments(2));
    }

    #[test]
    fn idleness_leaves_the_initial_window_and_never_raises_it() {
        let mut control = avoiding(40);
        control.on_event(Time::ZERO, CongestionEvent::Idle);
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(10), segments(40)));
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(10), repairing: false });
        control.on_event(Time::ZERO, CongestionEvent::Idle);
        assert_eq!(control.window(), SEGMENT);
    }

    #[test]
    fn a_penalty_halves_the_threshold_only_outside_slow_start() {
        let mut control = avoiding(20);
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(10), segments(10)));
        let mut control = avoiding(3);
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(3) / 2, segments(2)));
        let mut control = start();
        control.on_event(Time::ZERO, CongestionEvent::Penalty);
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(5), u64::MAX));
        (0..5).for_each(|_| control.on_event(Time::ZERO, CongestionEvent::Penalty));
        assert_eq!(control.window(), SEGMENT);
    }

    #[test]
    fn a_gain_scales_avoidance_and_is_never_more_than_one() {
        let mut quarter = avoiding(10);
        let mut excessive = avoiding(10);
        for _ in 0..10 {
            quarter.grow(&ack(SEGMENT, segments(10)), 0.25);
            excessive.grow(&ack(SEGMENT, segments(10)), 7.0);
        }
        assert_eq!((quarter.window(), excessive.window()), (segments(10), segments(11)));
        for _ in 0..30 {
            quarter.grow(&ack(SEGMENT, segments(10)), 0.25);
        }
        assert_eq!(quarter.window(), segments(11));
    }

    #[test]
    fn a_negative_gain_shrinks_the_window_to_one_segment_at_least() {
        let mut control = avoiding(2);
        control.threshold = 0;
        for _ in 0..4 {
            control.grow(&ack(SEGMENT, segments(2)), -0.5);
        }
        assert_eq!(control.window(), SEGMENT);
        for _ in 0..10 {
            control.grow(&ack(SEGMENT, segments(2)), -0.5);
        }
        assert_eq!(control.window(), SEGMENT);
    }
}
