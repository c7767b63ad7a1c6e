//! Aggregated acknowledgements, as over Wi-Fi: the window has room for the data that they report
//! beyond the rate (`bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`).

use crate::congestion::RateSample;
use plait_sched::{Duration, Time};

/// Rounds after which the older of two largest excesses is forgotten (`bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;

/// The excess is no more than the rate delivers in this time (`bbr_extra_acked_max_us`).
const LONGEST: Duration = Duration::from_millis(100);

/// Packets after which counting restarts (`bbr_ack_epoch_acked_reset_thresh`).
const LARGEST_EPOCH: u64 = 1 << 20;

/// The excess of acknowledged data. Amounts are bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: u64,
    /// The largest excess of the current and of the previous rounds.
    largest: [u64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// Restarts counting.
    pub(super) fn begin_anew(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// Takes an acknowledgement. `window` and `packet` are bytes.
    pub(super) fn take(
        &mut self,
        now: Time,
        sample: &RateSample,
        round_begins: bool,
        bandwidth: u64,
        (window, packet): (u64, u64),
    ) {
        if sample.acked == 0 || sample.interval.is_zero() {
            return;
        }
        if round_begins {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.largest[self.current] = 0;
            }
        }
        // Whole packets, as Linux counts.
        let mut expected = delivered(bandwidth, now.since(self.since)) / packet * packet;
        if self.acked <= expected || self.acked + sample.acked >= LARGEST_EPOCH * packet {
            self.begin_anew(now);
            expected = 0;
        }
        self.acked += sample.acked;
        let extra = (self.acked - expected).min(window);
        self.largest[self.current] = self.largest[self.current].max(extra);
    }

    /// Packets that the window has room for beside its target. `full`: the pipe is full.
    pub(super) fn extra(&self, full: bool, bandwidth: u64, packet: u64) -> u64 {
        if !full {
            return 0;
        }
        let largest = self.largest[0].max(self.largest[1]);
        largest.min(delivered(bandwidth, LONGEST)) / packet
    }
}

/// Bytes that a rate delivers in a time.
fn delivered(bandwidth: u64, time: Duration) -> u64 {
    let bytes = u128::from(bandwidth) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The rate in bytes per second that delivers so many bytes in a time.
pub(super) fn per_second(bytes: u64, time: Duration) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}
