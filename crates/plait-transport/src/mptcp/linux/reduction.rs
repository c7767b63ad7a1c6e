//! Proportional rate reduction (RFC 6937, with Linux' bound for the part below the threshold:
//! tcp_cwnd_reduction). During loss recovery, the number of sent packets is proportional to the
//! number of delivered packets, so the window has shrunk to the threshold at the end.

use crate::congestion::CongestionController;
use crate::core::PathSender;
use crate::mptcp::subflow::Subflow;

/// One recovery. Amounts are packets.
#[derive(Clone, Copy, Debug)]
pub(in crate::mptcp) struct ProportionalReduction {
    /// The window when the loss was found.
    prior: u64,
    threshold: u64,
    delivered: u64,
    /// Number of packets that the path had sent when the loss was found.
    sent_before: u64,
}

impl ProportionalReduction {
    pub(super) fn new(prior: u64, threshold: u64, sent_before: u64) -> Self {
        Self { prior: prior.max(1), threshold, delivered: 0, sent_before }
    }

    /// Returns the window after an acknowledgement that reported `delivered` packets. `in_flight`
    /// packets remain in flight, and the path has sent `sent` packets so far. `advanced` is true if
    /// the cumulative acknowledgement advanced and showed no new loss, a sign that the recovery
    /// works.
    pub(super) fn window(&mut self, delivered: u64, in_flight: u64, sent: u64, advanced: bool) -> u64 {
        self.delivered += delivered;
        let sent = sent - self.sent_before;
        let allowed = if in_flight > self.threshold {
            (self.threshold * self.delivered).div_ceil(self.prior).saturating_sub(sent)
        } else {
            let bound = self.delivered.saturating_sub(sent).max(delivered) + u64::from(advanced);
            bound.min(self.threshold - in_flight)
        };
        // The first retransmission leaves with any window.
        in_flight + allowed.max(u64::from(sent == 0))
    }
}

impl PathSender<Subflow> {
    /// Begins to shrink the window from `prior` bytes to the threshold, step by step.
    ///
    /// A controller that paces keeps its window itself (`tcp_cong_control`).
    pub(super) fn begin_reduction(&mut self, prior: u64) {
        if self.paces() {
            return;
        }
        let (prior, threshold) = (prior / self.segment, self.control.window() / self.segment);
        self.recovery.reduction = Some(ProportionalReduction::new(prior, threshold, self.sent));
    }

    /// Updates the window after an acknowledgement during a stepwise reduction.
    pub(super) fn reduce_further(&mut self, delivered: u32, advanced: bool) {
        let Some(reduction) = &mut self.recovery.reduction else { return };
        let in_flight = u64::from(self.flight.segments());
        let window = reduction.window(u64::from(delivered), in_flight, self.sent, advanced);
        self.reduced_window = Some(window * self.segment);
    }

    pub(super) fn end_reduction(&mut self) {
        self.recovery.reduction = None;
        self.reduced_window = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty packets in flight, the window halved, one packet lost. Each arrival allows as many
    /// packets as the window has room for.
    #[test]
    fn every_second_arrival_lets_a_packet_out() {
        let mut reduction = ProportionalReduction::new(20, 10, 100);
        let (mut in_flight, mut sent) = (16, 100);
        let mut outs = Vec::new();
        for _ in 0..16 {
            in_flight -= 1;
            let window = reduction.window(1, in_flight, sent, false);
            let out = window - in_flight;
            outs.push(out);
            (in_flight, sent) = (window, sent + out);
        }
        assert_eq!(in_flight, 10, "the threshold");
        assert_eq!(outs[0], 1, "the retransmission leaves at once");
        assert!(outs.iter().all(|&out| out <= 1));
    }

    #[test]
    fn below_the_threshold_what_arrives_is_replaced_and_once_it_works_one_more() {
        let mut reduction = ProportionalReduction::new(20, 10, 0);
        assert_eq!(reduction.window(1, 4, 0, false), 5);
        assert_eq!(reduction.window(2, 3, 1, true), 6);
        assert_eq!(reduction.window(5, 9, 4, true), 10, "never above the threshold");
    }
}
