//! OLIA, the opportunistic linked increases algorithm (Khalili, Gast, Popovic, Le Boudec: "MPTCP is
//! not Pareto-optimal", IEEE/ACM ToN 2013; draft-khalili-mptcp-congestion-control-05).
//!
//! Each acknowledgement on path r adds to its window, per acknowledged segment,
//!
//! ```text
//!    w_r / rtt_r²       alpha_r
//! ————————————————— + ———————,
//! (Σ w_p / rtt_p)²        w_r
//! ```
//!
//! where alpha moves window from the largest windows M to the best paths B that are not in M, if
//! there are any:
//!
//! - 1 / (n · |B \ M|) for a path in B \ M,
//! - −1 / (n · |M|) for a path in M,
//! - 0 for all others, and for all if B \ M is empty.
//!
//! B are the paths with the largest l / rtt², the square of √(2 l) / rtt that TCP would reach with
//! a loss every l bytes. l is the number of bytes acknowledged between the last two losses or since
//! the last, whichever are more.
//!
//! As in the Linux implementation, rtt is squared, windows are compared in whole segments (so that
//! M does not change with each byte), and a loss with nothing acknowledged since the one before it
//! is the same loss.

use super::{ControllerInfo, Coupled, Coupling, Family, Share};

/// See the module.
pub type Olia = Coupled<OliaCoupling>;

/// OLIA's increase.
#[derive(Clone, Copy, Debug, Default)]
pub struct OliaCoupling {
    /// Bytes acknowledged between the last two losses.
    between_losses: u64,
    /// Bytes acknowledged since the last loss.
    since_loss: u64,
}

/// Square of TCP's rate on the path, up to a constant factor.
fn quality(share: &Share) -> f64 {
    share.loss_interval as f64 / (share.seconds() * share.seconds())
}

/// alpha of path `own`.
fn alpha(own: &Share, shares: &[Share], segment: u64) -> f64 {
    let counted = || shares.iter().filter(|share| share.counts());
    let best = counted().map(quality).fold(0.0, f64::max);
    let largest = counted().map(|share| share.window / segment).max().unwrap_or(0);
    let is_largest = |share: &Share| share.window / segment == largest;
    let is_collected = |share: &Share| quality(share) == best && !is_largest(share);
    let paths = counted().count() as f64;
    let collected = counted().filter(|share| is_collected(share)).count();
    if collected == 0 {
        0.0
    } else if is_collected(own) {
        1.0 / (paths * collected as f64)
    } else if is_largest(own) {
        -1.0 / (paths * counted().filter(|share| is_largest(share)).count() as f64)
    } else {
        0.0
    }
}

impl Olia {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "olia", family: Family::Tcp, coupled: true, source: "" };
}

impl Coupling for OliaCoupling {
    fn gain(&mut self, own: &Share, shares: &[Share], segment: u64) -> f64 {
        let rates: f64 = shares.iter().filter(|share| share.counts()).map(Share::rate).sum();
        let part = own.rate() / rates;
        part * part + alpha(own, shares, segment)
    }

    fn note_acknowledged(&mut self, bytes: u64) {
        self.since_loss += bytes;
    }

    fn note_loss(&mut self) {
        if self.since_loss > 0 {
            self.between_losses = self.since_loss;
            self.since_loss = 0;
        }
    }

    fn loss_interval(&self) -> u64 {
        self.between_losses.max(self.since_loss)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments, share};
    use super::*;
    use crate::congestion::{Acknowledged, CongestionEvent};
    use crate::congestion::{Algorithm, CongestionController};
    use plait_sched::Time;

    fn lossy(window: u64, millis: u64, loss_interval: u64) -> Share {
        Share { loss_interval, ..share(window, millis) }
    }

    fn gains(shares: &[Share]) -> Vec<f64> {
        shares.iter().map(|own| OliaCoupling::default().gain(own, shares, SEGMENT)).collect()
    }

    fn assert_close(values: &[f64], expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        for (value, wanted) in values.iter().zip(expected) {
            assert!((value - wanted).abs() < 1e-12, "{values:?} is not {expected:?}");
        }
    }

    #[test]
    fn without_a_better_path_each_grows_with_the_square_of_its_part() {
        assert_close(&gains(&[lossy(10, 50, 9000), lossy(10, 50, 9000)]), &[0.25, 0.25]);
        // The largest window is on the best path: nothing to move. Rates 300 and 100.
        assert_close(&gains(&[lossy(30, 100, 9000), lossy(10, 100, 1000)]), &[9.0 / 16.0, 1.0 / 16.0]);
    }

    #[test]
    fn window_moves_from_the_largest_to_the_best() {
        // B = {1}, M = {0}; n = 2: alpha = −1/2 and 1/2.
        assert_close(
            &gains(&[lossy(30, 100, 1000), lossy(10, 100, 9000)]),
            &[9.0 / 16.0 - 0.5, 1.0 / 16.0 + 0.5],
        );
        // n = 4, B \ M = {2}, M = {0, 1}, and one path that is neither; rates 100, 100, 50, 50.
        assert_close(
            &gains(&[lossy(10, 100, 10), lossy(10, 100, 10), lossy(5, 100, 90), lossy(5, 100, 10)]),
            &[1.0 / 9.0 - 0.125, 1.0 / 9.0 - 0.125, 1.0 / 36.0 + 0.25, 1.0 / 36.0],
        );
    }

    #[test]
    fn the_best_path_is_found_by_loss_interval_over_squared_round_trip() {
        // 9000 / 0.3² = 100 000 is less than 2000 / 0.1² = 200 000.
        let shares = [lossy(30, 300, 9000), lossy(10, 100, 2000)];
        assert!(alpha(&shares[1], &shares, SEGMENT) > 0.0);
        let shares = [lossy(30, 300, 9000), lossy(10, 100, 900)];
        assert_eq!(alpha(&shares[1], &shares, SEGMENT), 0.0);
    }

    #[test]
    fn windows_that_differ_by_less_than_a_segment_are_equal() {
        let mut shares = [lossy(10, 100, 1000), lossy(10, 100, 9000)];
        shares[0].window += SEGMENT - 1;
        assert_eq!(alpha(&shares[0], &shares, SEGMENT), 0.0);
        shares[0].window += 1;
        assert_eq!(alpha(&shares[0], &shares, SEGMENT), -0.5);
    }

    #[test]
    fn the_loss_interval_is_the_longer_of_the_last_two() {
        let mut control = Olia::new(&config(Algorithm::Olia));
        let acknowledge = |control: &mut Olia, count| {
            control.on_ack(&ack(segments(count), segments(10)), None, &[]);
        };
        acknowledge(&mut control, 8);
        assert_eq!(control.loss_interval(), segments(8), "no loss yet");
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(10) });
        acknowledge(&mut control, 5);
        assert_eq!(control.loss_interval(), segments(8));
        acknowledge(&mut control, 5);
        assert_eq!(control.loss_interval(), segments(10));
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(5), repairing: false });
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: SEGMENT, repairing: false });
        assert_eq!(control.loss_interval(), segments(10), "a timeout after a timeout is no new loss");
        acknowledge(&mut control, 3);
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(5) });
        assert_eq!(control.loss_interval(), segments(3));
    }

    /// A window of data is acknowledged during recovery. Without it the intervals would be too
    /// short, and the more so the shorter they are.
    #[test]
    fn what_arrives_during_a_repair_belongs_to_the_loss_interval() {
        let mut control = Olia::new(&config(Algorithm::Olia));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(10) });
        control.on_ack(&Acknowledged { may_grow: false, ..ack(segments(10), 0) }, None, &[]);
        assert_eq!(control.window(), segments(5), "the window does not grow");
        control.on_ack(&ack(segments(5), segments(5)), None, &[]);
        assert_eq!(control.loss_interval(), segments(15));
    }
}
