//! The window: bandwidth-delay products with room for bursts, and fewer packets while losses are
//! repaired.

use super::parameters::{INITIAL_WINDOW, LEAST_WINDOW, UNIT};
use super::{Bbr, Mode};
use crate::congestion::{Acknowledged, RateSample, Repairing, burst_packets};
use plait_sched::Time;

impl Bbr {
    /// Packets of a burst (`bbr_tso_segs_goal`).
    pub(super) fn burst(&self) -> u64 {
        burst_packets(self.pacing_rate, self.paced_packet)
    }

    /// The bandwidth-delay product of a rate, times a gain, in packets (`bbr_bdp`).
    fn product(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(shortest) = self.shortest else { return INITIAL_WINDOW };
        let bytes = u128::from(bandwidth) * u128::from(shortest.as_nanos()) * u128::from(gain)
            / u128::from(UNIT)
            / 1_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(self.packet)
    }

    /// Adds room for bursts, and more while probing for bandwidth (`bbr_quantization_budget`).
    fn with_bursts(&self, packets: u64) -> u64 {
        let even = (packets + 3 * self.burst()).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBandwidth && self.phase == 0 { 2 } else { 0 }
    }

    /// Packets in flight that a gain aims at (`bbr_inflight`).
    pub(super) fn target(&self, gain: u64) -> u64 {
        self.with_bursts(self.product(self.rate.get(), gain))
    }

    /// Packets in the network when the next burst leaves (`bbr_packets_in_net_at_edt`).
    pub(super) fn in_network(&self, now: Time, in_flight: u64, departure: Time) -> u64 {
        let ahead = departure.since(now);
        let delivered = u128::from(self.bandwidth()) * u128::from(ahead.as_nanos()) / 1_000_000_000;
        let delivered = u64::try_from(delivered).unwrap_or(u64::MAX) / self.packet;
        let growing = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        (in_flight + growing).saturating_sub(delivered)
    }

    /// Remembers the window before losses or PROBE_RTT cut it (`bbr_save_cwnd`).
    pub(super) fn save_window(&mut self) {
        let whole = self.repairing == Repairing::Nothing && self.mode != Mode::ProbeRoundTrip;
        self.prior_window = if whole { self.window } else { self.prior_window.max(self.window) };
    }

    /// `bbr_set_cwnd`
    pub(super) fn set_window(&mut self, ack: &Acknowledged, sample: &RateSample) {
        let acked = sample.acked / self.packet;
        if acked > 0 && !self.repair_window(ack.repairing, acked, sample) {
            let extra = self.aggregation.extra(self.full, self.bandwidth(), self.packet);
            let target = self.with_bursts(self.product(self.bandwidth(), self.window_gain) + extra);
            if self.full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || sample.total / self.packet < INITIAL_WINDOW {
                self.window += acked;
            }
            self.window = self.window.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRoundTrip {
            self.window = self.window.min(LEAST_WINDOW);
        }
    }

    /// Subtracts losses from the window. In the first round of a recovery, sends as many packets as
    /// arrive. True in that round (`bbr_set_cwnd_to_recover_or_restore`).
    fn repair_window(&mut self, repairing: Repairing, acked: u64, sample: &RateSample) -> bool {
        let lost = sample.lost / self.packet;
        if lost > 0 {
            self.window = self.window.saturating_sub(lost).max(1);
        }
        let in_flight = sample.in_flight / self.packet;
        let before = core::mem::replace(&mut self.repairing, repairing);
        if repairing == Repairing::Losses && before != Repairing::Losses {
            self.conserves = true;
            self.round_end = sample.total;
            self.window = in_flight + acked;
        } else if before != Repairing::Nothing && repairing == Repairing::Nothing {
            self.window = self.window.max(self.prior_window);
            self.conserves = false;
        }
        if self.conserves {
            self.window = self.window.max(in_flight + acked);
        }
        self.conserves
    }
}
