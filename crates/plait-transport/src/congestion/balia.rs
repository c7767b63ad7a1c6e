//! BALIA, balanced linked adaptation (Peng, Walid, Hwang, Low: "Multipath TCP: analysis, design,
//! and implementation", IEEE/ACM ToN 2016; draft-walid-mptcp-congestion-control-04).
//!
//! With x_r = w_r / rtt_r and alpha_r = max x_k / x_r, each acknowledgement on path r adds, per
//! acknowledged segment,
//!
//! ```text
//!   x_r / rtt_r      1 + alpha_r     4 + alpha_r
//! —————————————— · ————————————— · —————————————
//!    (Σ x_k)²             2               5
//! ```
//!
//! and a loss takes w_r / 2 · min(alpha_r, 1.5): less of the fastest path, more of slower ones.
//!
//! The decrease uses alpha of the last acknowledgement, as the Linux implementation does. With
//! several paths the gain is at most (4 + alpha) / (10 (1 + alpha)), so below TCP's.

use super::{ControllerInfo, Coupled, Coupling, Family, Share};

/// See the module.
pub type Balia = Coupled<BaliaCoupling>;

/// BALIA's increase and decrease.
#[derive(Clone, Copy, Debug)]
pub struct BaliaCoupling {
    alpha: f64,
}

impl Default for BaliaCoupling {
    /// As on a path that is alone.
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Balia {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "balia", family: Family::Tcp, coupled: true, source: "" };
}

impl Coupling for BaliaCoupling {
    fn gain(&mut self, own: &Share, shares: &[Share], _segment: u64) -> f64 {
        let (mut fastest, mut rates) = (0.0_f64, 0.0);
        for share in shares.iter().filter(|share| share.counts()) {
            fastest = fastest.max(share.rate());
            rates += share.rate();
        }
        self.alpha = fastest / own.rate();
        let part = own.rate() / rates;
        part * part * ((1.0 + self.alpha) / 2.0) * ((4.0 + self.alpha) / 5.0)
    }

    fn decrease(&self) -> f64 {
        self.alpha.min(1.5) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments, share};
    use super::*;
    use crate::congestion::CongestionEvent;
    use crate::congestion::{Algorithm, CongestionController};
    use plait_sched::Time;

    fn gain(own: Share, other: Share) -> f64 {
        BaliaCoupling::default().gain(&own, &[own, other], SEGMENT)
    }

    #[test]
    fn gains_worked_by_hand() {
        assert!((gain(share(10, 50), share(10, 50)) - 0.25).abs() < 1e-12, "equal paths: alpha is 1");
        // Rates 100 and 300: alpha 3, (1/4)² · 4/2 · 7/5 = 0.175; alpha 1, (3/4)² = 0.5625.
        assert!((gain(share(10, 100), share(30, 100)) - 0.175).abs() < 1e-12);
        assert!((gain(share(30, 100), share(10, 100)) - 0.5625).abs() < 1e-12);
    }

    #[test]
    fn a_loss_takes_half_of_the_fastest_path_and_up_to_three_quarters_of_others() {
        for (other, left) in [(10, 10), (24, 8), (30, 5), (200, 5)] {
            let mut control = Balia::new(&config(Algorithm::Balia));
            control.reno.window = segments(20);
            control.reno.threshold = segments(20);
            let shares = [share(20, 100), share(other, 100)];
            control.on_ack(&ack(SEGMENT, segments(20)), None, &shares);
            control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(20) });
            assert_eq!(control.window(), segments(left), "beside {other} segments");
        }
    }

    #[test]
    fn the_gain_is_never_more_than_tcps() {
        for window in 1..200 {
            for millis in [1, 10, 100, 1000] {
                let gain = gain(share(window, 100), share(50, millis));
                assert!(gain <= 1.0, "{gain}");
            }
        }
    }
}
