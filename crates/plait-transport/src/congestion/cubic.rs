//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss. The function
//! is flat at the window where the loss happened.
//!
//! - §4.2: W_cubic(t) = C (t − K)³ + W_max with K = ∛((W_max − cwnd_epoch) / C), in segments and
//!   seconds; t counts from the first acknowledgement in congestion avoidance.
//! - §4.3: where CUBIC would be slower than Reno, the window is W_est. It grows by α_cubic = 3 (1 −
//!   β) / (1 + β) per window, and by 1 once it has reached the window before the loss.
//! - §4.4, §4.5: otherwise each acknowledged segment adds (target − cwnd) / cwnd. The target is
//!   W_cubic one round trip ahead, not below cwnd and not above 1.5 cwnd.
//! - §4.6: a loss leaves β = 0.7 of the data in flight.
//! - §4.7: fast convergence: a flow with a loss below W_max lowers W_max further, to make room for
//!   others.
//! - §4.8: a timeout leaves one segment. The avoidance that follows begins with K = 0 and W_max =
//!   cwnd.
//! - §4.9: if a loss turns out to be spurious, the function continues from its earlier state.
//! - §4.10: avoidance that begins without a loss (HyStart++, an initial threshold) also has K = 0
//!   and W_max = cwnd.
//! - §5.8: while the application or the receiver limits the flow, t stands still. Idleness (and a
//!   penalty) end the epoch: the next one starts from the window of its time.
//!
//! Slow start, idleness and the accounting of windows are those of [`Reno`]. Results are the same
//! on all machines, because only operations that IEEE 754 specifies exactly are used (also for the
//! cube root).

use super::cube_root::cube_root;
use super::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Reno, Share,
};
use plait_sched::Time;

/// C of §4.1, in segments per cubic second (§5).
const C: f64 = 0.4;
/// β of §4.6.
const BETA: f64 = 0.7;
/// α_cubic of §4.3, with which Reno with β has the average window of Reno with 1/2.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of one path.
#[derive(Clone, Debug)]
pub struct Cubic {
    reno: Reno,
    /// W_max in segments; 0 before the first loss.
    maximum: f64,
    /// cwnd_prior in segments: the window when the threshold was last set; 0 before the first loss.
    prior: f64,
    /// A timeout was the last loss.
    after_timeout: bool,
    /// Present in congestion avoidance.
    epoch: Option<Epoch>,
    /// W_max, cwnd_prior and the stage before the last loss, in case the loss is spurious.
    before: Option<(f64, f64, Option<Epoch>)>,
}

/// A stage of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// The last acknowledgement.
    last: Time,
    /// The window at which the cubic function is flat.
    plateau: f64,
    /// K in seconds.
    climb: f64,
    /// W_est.
    estimate: f64,
    /// cwnd with its fraction.
    window: f64,
}

impl Epoch {
    /// W_cubic after `seconds`.
    fn cubic(&self, seconds: f64) -> f64 {
        let distance = seconds - self.climb;
        C * distance * distance * distance + self.plateau
    }
}

impl Cubic {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "cubic", family: Family::Tcp, coupled: false, source: "RFC 9438" };

    /// Creates the initial state, as [`Reno::new`] does.
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            reno: Reno::new(config),
            maximum: 0.0,
            prior: 0.0,
            after_timeout: false,
            epoch: None,
            before: None,
        }
    }

    fn in_segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.reno.segment as f64
    }

    fn begin_epoch(&mut self, now: Time) -> Epoch {
        let window = self.in_segments(self.reno.window);
        if self.after_timeout || self.maximum <= window {
            self.maximum = window;
        }
        self.after_timeout = false;
        let climb = cube_root((self.maximum - window) / C);
        Epoch { start: now, last: now, plateau: self.maximum, climb, estimate: window, window }
    }

    /// Returns β times the data in flight; remembers the window for the next epoch.
    fn remember_loss(&mut self, outstanding: u64) -> u64 {
        let window = self.in_segments(self.reno.window);
        self.before = Some((self.maximum, self.prior, self.epoch));
        self.epoch = None;
        self.prior = window;
        self.maximum = if window < self.maximum { window * (1.0 + BETA) / 2.0 } else { window };
        // In whole numbers: a product with 0.7 may lie just below the byte.
        self.reno.used_window(outstanding) * 7 / 10
    }
}

impl CongestionController for Cubic {
    fn on_ack(&mut self, acknowledged: &Acknowledged, _rate: Option<&RateSample>, _shares: &[Share]) {
        if !acknowledged.may_grow {
            return;
        }
        let now = acknowledged.now;
        let bytes = self.reno.slow_start(acknowledged);
        if bytes == 0 {
            return;
        }
        if !self.reno.is_used(acknowledged) {
            if let Some(epoch) = &mut self.epoch {
                epoch.start += now.since(epoch.last);
                epoch.last = now;
            }
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now),
        };
        epoch.last = now;
        let segments = self.in_segments(bytes);
        let elapsed = now.since(epoch.start);
        let alpha = if epoch.estimate >= self.prior { 1.0 } else { ALPHA };
        epoch.estimate += alpha * segments / epoch.window;
        if epoch.cubic(elapsed.as_secs_f64()) < epoch.estimate {
            epoch.window = epoch.window.max(epoch.estimate);
        } else {
            let ahead = epoch.cubic((elapsed + acknowledged.srtt).as_secs_f64());
            let target = ahead.clamp(epoch.window, 1.5 * epoch.window);
            epoch.window += segments * (target - epoch.window) / epoch.window;
        }
        self.reno.window = self.reno.window.max((epoch.window * self.reno.segment as f64) as u64);
        self.epoch = Some(epoch);
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { outstanding } | CongestionEvent::Mark { outstanding } => {
                let remaining = self.remember_loss(outstanding);
                self.reno.reduce(remaining);
                self.after_timeout = false;
            }
            CongestionEvent::Timeout { outstanding, .. } => {
                let (prior, before) = (self.prior, self.before);
                let remaining = self.remember_loss(outstanding);
                if !self.reno.restart(remaining) {
                    (self.prior, self.before) = (prior, before);
                }
                self.after_timeout = true;
            }
            CongestionEvent::Undone { .. } => {
                self.reno.on_event(now, event);
                if let Some(before) = self.before.take() {
                    (self.maximum, self.prior, self.epoch) = before;
                    self.after_timeout = false;
                }
            }
            CongestionEvent::Penalty | CongestionEvent::Idle => {
                self.epoch = None;
                self.reno.on_event(now, event);
            }
            CongestionEvent::Collapse { .. }
            | CongestionEvent::Resumed { .. }
            | CongestionEvent::Drained
            | CongestionEvent::Measured { .. } => {
                self.reno.on_event(now, event);
            }
        }
    }

    fn window(&self) -> u64 {
        self.reno.window()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.reno.slow_start_threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments};
    use super::*;
    use crate::congestion::Algorithm;
    use plait_sched::Duration;

    /// After a loss at `peak` segments, all of them in flight.
    fn after_loss(peak: u64) -> Cubic {
        let mut control = Cubic::new(&config(Algorithm::Cubic));
        control.reno.window = segments(peak);
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(peak) });
        control
    }

    fn at(millis: u64, window: u64) -> Acknowledged {
        Acknowledged {
            now: Time::ZERO + Duration::from_millis(millis),
            srtt: Duration::from_millis(100),
            ..ack(SEGMENT, window)
        }
    }

    /// Acknowledges segment by segment with 100 ms per window, from `from` to `to`.
    fn run(control: &mut Cubic, from: u64, to: u64) {
        let mut micros = from * 1000;
        while micros < to * 1000 {
            let window = control.window();
            control.on_ack(&at(micros / 1000, window), None, &[]);
            micros += 100_000 * SEGMENT / window;
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        let control = after_loss(100);
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(70), segments(70)));
        assert_eq!((control.maximum, control.prior), (100.0, 100.0));
    }

    #[test]
    fn fast_convergence_lowers_the_maximum_of_a_flow_that_did_not_get_back() {
        let mut control = after_loss(100);
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(70) });
        assert!((control.maximum - 59.5).abs() < 1e-9, "70 · 1.7 / 2");
        assert_eq!(control.window(), segments(49));
    }

    #[test]
    fn the_window_is_back_at_the_maximum_after_k_seconds() {
        let mut control = after_loss(1000);
        control.on_ack(&at(0, segments(700)), None, &[]);
        let epoch = control.epoch.unwrap();
        // K = ∛(1000 · 0.3 / 0.4) = ∛750 = 9.0856 s.
        assert!((epoch.climb - 9.085_602_964_160_698).abs() < 1e-9);
        assert!((epoch.cubic(0.0) - 700.0).abs() < 1e-9 && (epoch.cubic(epoch.climb) - 1000.0).abs() < 1e-9);
        run(&mut control, 0, 9086);
        let window = control.window() as f64 / SEGMENT as f64;
        assert!((window - 1000.0).abs() < 3.0, "{window}");
        // Concave before, convex after: C · 3³ = 10.8 above.
        run(&mut control, 9086, 12_086);
        let window = control.window() as f64 / SEGMENT as f64;
        assert!((window - 1010.8).abs() < 3.0, "{window}");
    }

    #[test]
    fn the_target_is_one_round_trip_ahead() {
        let mut control = after_loss(1000);
        control.on_ack(&at(0, segments(700)), None, &[]);
        let before = control.epoch.unwrap().window;
        control.on_ack(&at(1000, segments(701)), None, &[]);
        // W_cubic(1.1 s) = 0.4 · (1.1 − 9.0856)³ + 1000 = 796.3: (796.3 − 700) / 700 = 0.1376
        // segments.
        let grown = control.epoch.unwrap().window - before;
        assert!((grown - 0.1376).abs() < 1e-4, "{grown}");
    }

    #[test]
    fn timeouts_that_follow_each_other_keep_the_window_before_the_first() {
        let mut control = after_loss(100);
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(70), repairing: false });
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: SEGMENT, repairing: false });
        assert_eq!((control.prior, control.slow_start_threshold()), (70.0, segments(49)));
    }

    #[test]
    fn growth_per_round_is_at_most_one_half_of_the_window() {
        let mut control = after_loss(20);
        control.on_ack(&at(0, segments(14)), None, &[]);
        let before = control.window();
        // W_cubic after 100 s is some 380 000 segments: one segment acknowledged adds half a
        // segment.
        control.on_ack(&at(100_000, before), None, &[]);
        assert_eq!(control.window() - before, SEGMENT / 2);
    }

    #[test]
    fn reno_is_followed_where_it_is_faster() {
        // A loss at 10 segments with 10 ms round trips: K = ∛(3 / 0.4) = 1.96 s, where Reno needs
        // 5.7 rounds of α to be back.
        let mut control = after_loss(10);
        let mut now = 0;
        for round in 1..=5 {
            for _ in 0..7 {
                let window = control.window();
                let sample = Acknowledged { srtt: Duration::from_millis(10), ..at(now, window) };
                control.on_ack(&sample, None, &[]);
            }
            now += 10;
            let window = control.window() as f64 / SEGMENT as f64;
            let bound = 7.0 + ALPHA * f64::from(round);
            assert!(window <= bound && window > bound - 0.5, "round {round}: {window}");
        }
        // Once W_est has reached the window before the loss, one segment per window.
        control.epoch.as_mut().unwrap().estimate = 10.0;
        let window = control.window();
        control.on_ack(&at(now, window), None, &[]);
        let epoch = control.epoch.unwrap();
        assert!(epoch.estimate > 10.09 && epoch.window == epoch.estimate, "{epoch:?}");
    }

    #[test]
    fn avoidance_without_a_loss_begins_flat_at_the_window() {
        let mut control = Cubic::new(&config(Algorithm::Cubic));
        control.reno.threshold = segments(10);
        control.on_ack(&at(500, segments(10)), None, &[]);
        let epoch = control.epoch.unwrap();
        assert_eq!((epoch.climb, epoch.plateau), (0.0, 10.0));
    }

    #[test]
    fn after_a_timeout_avoidance_begins_flat_at_the_threshold() {
        let mut control = after_loss(100);
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(70), repairing: false });
        assert_eq!((control.window(), control.slow_start_threshold()), (SEGMENT, segments(49)));
        for _ in 0..48 {
            let window = control.window();
            control.on_ack(&at(10, window), None, &[]);
        }
        assert!(control.epoch.is_none(), "still slow start");
        control.on_ack(&at(20, segments(49)), None, &[]);
        let epoch = control.epoch.unwrap();
        assert_eq!((epoch.climb, epoch.plateau), (0.0, 49.0));
    }

    #[test]
    fn time_stands_still_while_the_window_is_not_used() {
        let mut control = after_loss(100);
        control.on_ack(&at(0, segments(70)), None, &[]);
        let (window, start) = (control.window(), control.epoch.unwrap().start);
        control.on_ack(&at(100, SEGMENT), None, &[]);
        control.on_ack(&at(900, SEGMENT), None, &[]);
        assert_eq!(control.window(), window);
        assert_eq!(control.epoch.unwrap().start, start + Duration::from_millis(900));
    }

    #[test]
    fn idleness_and_penalties_end_the_epoch() {
        let mut control = after_loss(100);
        control.on_ack(&at(0, segments(70)), None, &[]);
        let mut penalized = control.clone();
        control.on_event(Time::ZERO, CongestionEvent::Idle);
        assert!(control.epoch.is_none());
        assert_eq!(control.window(), segments(10));
        penalized.on_event(Time::ZERO, CongestionEvent::Penalty);
        penalized.on_ack(&at(1000, segments(50)), None, &[]);
        // From 35 segments back to 100: K = ∛(65 / 0.4), not from 70.
        let epoch = penalized.epoch.unwrap();
        assert!((epoch.climb - cube_root(65.0 / 0.4)).abs() < 1e-2, "{epoch:?}");
    }
}
