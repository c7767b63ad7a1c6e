//! Token buckets that drop packets above a rate (Flach et al., "An Internet-wide analysis of
//! traffic policing", SIGCOMM 2016). Two intervals with much loss and about the same rate indicate
//! one (`bbr_lt_bw_sampling`).

use super::per_second;
use crate::congestion::RateSample;
use plait_sched::{Duration, Time};

/// Minimum rounds of an interval, and a fourth of the maximum (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;

/// Losses of an interval in 256ths of the delivered data (`bbr_lt_loss_thresh`).
const LOSSES: u64 = 50;

/// Maximum difference of two intervals' rates, in bytes per second; an eighth is also allowed
/// (`bbr_lt_bw_diff`, `bbr_lt_bw_ratio`).
const DIFFERENCE: u64 = 4000 / 8;

/// Rounds for which the rate is kept (`bbr_lt_bw_max_rtts`).
const KEPT_ROUNDS: u32 = 48;

/// The search for a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    samples: bool,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
    /// The rate of the last interval; 0 for none.
    last: u64,
    found: bool,
    /// A timeout came since the last acknowledgement: it counts as a loss.
    timed_out: bool,
}

impl Policer {
    /// The rate of the policer, if one was found.
    pub(super) fn rate(&self) -> Option<u64> {
        self.found.then_some(self.last)
    }

    /// The retransmission timer ran out.
    pub(super) fn note_timeout(&mut self) {
        self.timed_out = true;
    }

    /// Forgets the intervals, and the policer.
    pub(super) fn begin_anew(&mut self) {
        *self = Self { delivered: self.delivered, lost: self.lost, ..Self::default() };
    }

    fn begin_interval(&mut self, now: Time, sample: &RateSample) {
        (self.since, self.delivered, self.lost, self.rounds) = (now, sample.total, sample.lost_total, 0);
    }

    /// Processes an acknowledgement. True if the policer is forgotten and the search for bandwidth
    /// must restart.
    pub(super) fn take(
        &mut self,
        now: Time,
        sample: &RateSample,
        round_begins: bool,
        cruising: bool,
    ) -> bool {
        if self.found {
            if cruising && round_begins {
                self.rounds += 1;
                if self.rounds >= KEPT_ROUNDS {
                    self.begin_anew();
                    self.begin_interval(now, sample);
                    return true;
                }
            }
            return false;
        }
        let losses = sample.lost > 0 || core::mem::take(&mut self.timed_out);
        if !self.samples {
            if !losses {
                return false;
            }
            self.begin_interval(now, sample);
            self.samples = true;
        }
        if sample.app_limited {
            self.begin_anew();
            self.begin_interval(now, sample);
            return false;
        }
        self.rounds += u32::from(round_begins);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.begin_anew();
            self.begin_interval(now, sample);
            return false;
        }
        let (delivered, lost) = (sample.total - self.delivered, sample.lost_total - self.lost);
        let time = now.since(self.since);
        if losses && delivered > 0 && lost * 256 >= LOSSES * delivered && time >= Duration::from_millis(1) {
            self.end_interval(now, sample, per_second(delivered, time));
        }
        false
    }

    /// `bbr_lt_bw_interval_done`
    fn end_interval(&mut self, now: Time, sample: &RateSample, rate: u64) {
        let difference = rate.abs_diff(self.last);
        if self.last > 0 && (difference <= self.last / 8 || difference <= DIFFERENCE) {
            self.last = rate.midpoint(self.last);
            self.found = true;
            self.rounds = 0;
            return;
        }
        self.last = rate;
        self.begin_interval(now, sample);
    }
}
