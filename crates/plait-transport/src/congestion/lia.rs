//! LIA, MPTCP's standard coupled congestion control (RFC 6356).
//!
//! §3: each acknowledgement adds min(alpha · bytes · MSS / cwnd_total, bytes · MSS / cwnd_i) to the
//! window, where
//!
//! ```text
//!                           max (cwnd_i / rtt_i²)
//! alpha = cwnd_total · ————————————————————————————
//!                        (Σ cwnd_i / rtt_i)²
//! ```
//!
//! so that all paths together get as much as TCP would get on the best of them. The total cancels
//! out of the first term. `rtt_i` is the smoothed one. alpha is computed for each acknowledgement;
//! §4.1 computes it less often to save work.

use super::{ControllerInfo, Coupled, Coupling, Family, Share};

/// See the module.
pub type Lia = Coupled<LiaCoupling>;

/// LIA's increase.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiaCoupling;

impl Lia {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "lia", family: Family::Tcp, coupled: true, source: "RFC 6356" };
}

impl Coupling for LiaCoupling {
    fn gain(&mut self, own: &Share, shares: &[Share], _segment: u64) -> f64 {
        let (mut best, mut rates) = (0.0_f64, 0.0);
        for share in shares.iter().filter(|share| share.counts()) {
            best = best.max(share.rate() / share.seconds());
            rates += share.rate();
        }
        (own.window as f64 * best / (rates * rates)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, share};
    use super::*;

    fn gain(own: Share, other: Share) -> f64 {
        LiaCoupling.gain(&own, &[own, other], SEGMENT)
    }

    #[test]
    fn two_equal_paths_grow_at_a_quarter_each() {
        // alpha = 20 · (10 / r²) / (20 / r)² = 1/2; alpha · cwnd_i / cwnd_total = 1/4.
        assert!((gain(share(10, 50), share(10, 50)) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_increase_per_byte_is_the_same_on_all_paths() {
        // 30 segments with 100 ms and 10 with 20 ms: rates 300 and 500 per second, best 10 / 0.02²
        // = 25000. alpha / cwnd_total = 25000 / 800² = 0.0390625.
        assert!((gain(share(10, 20), share(30, 100)) - 0.390_625).abs() < 1e-12);
        // The larger window would grow by 30 · 0.039 = 1.17 times TCP's increase: cut.
        assert_eq!(gain(share(30, 100), share(10, 20)), 1.0);
    }
}
