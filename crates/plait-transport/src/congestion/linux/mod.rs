//! Congestion control as in Linux (6.12), where it differs from the RFCs: windows of whole packets,
//! and the conditions of growth.
//!
//! A new implementation of the rules of net/ipv4/tcp_cong.c, tcp_output.c and tcp_cubic.c:
//! - a window counts packets, however small;
//! - slow start adds every acknowledged packet, without a limit per acknowledgement (no RFC 3465);
//! - a window grows only while it limits the sender: it was full at some time within the last
//!   window of data, or in slow start more than half of it was;
//! - a loss takes its share of the window, not of the data in flight;
//! - a window that the sender does not fill loses half of its unused part (RFC 2861): when data
//!   leaves and nothing was acknowledged for a retransmission timeout, unless the writer waits for
//!   room in the send buffer;
//! - an idle window is halved per timeout, down to the initial window. Both reductions raise the
//!   threshold to three quarters of the old window.

mod cubic;
mod hystart;
mod reno;

pub use cubic::LinuxCubic;
pub use reno::LinuxReno;

use super::{CongestionConfig, CongestionEvent, WindowUse};
use plait_sched::Time;

/// A congestion window in packets, and how it is used.
#[derive(Clone, Debug)]
struct PacketWindow {
    segment: u64,
    initial: u64,
    window: u64,
    /// `u64::MAX` while unset.
    threshold: u64,
    /// Acknowledged packets that have not yet grown the window.
    credit: u64,
    usage: Usage,
}

/// How much of the window was used.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// The window was full at some time in the stretch at hand.
    limited: bool,
    /// The most packets in flight in the stretch.
    most: u64,
    /// The stretch ends when this transmission is acknowledged.
    end: u64,
    /// The most packets in flight since the window was last judged.
    since_judged: u64,
    /// When the window last limited the sender, or was judged (`snd_cwnd_stamp`); `None` at the
    /// beginning, and after a pause.
    judged: Option<Time>,
}

impl PacketWindow {
    fn new(config: &CongestionConfig) -> Self {
        let packets = |bytes: u64| (bytes / config.segment).max(1);
        let threshold = config.initial_threshold;
        Self {
            segment: config.segment,
            initial: packets(config.initial_window),
            window: packets(config.initial_window),
            threshold: if threshold == u64::MAX { threshold } else { packets(threshold) },
            credit: 0,
            usage: Usage { limited: false, most: 0, end: 0, since_judged: 0, judged: None },
        }
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    fn bytes(&self) -> u64 {
        self.window * self.segment
    }

    fn threshold_bytes(&self) -> u64 {
        self.threshold.saturating_mul(self.segment)
    }

    /// Notes the data in flight once data has left (`tcp_cwnd_validate`). Acknowledgements while
    /// the receiver's window is shut do not change the judgement: the window continues to grow.
    fn note_use(&mut self, used: &WindowUse) {
        let usage = &mut self.usage;
        let more = !usage.limited && used.outstanding > usage.most;
        if used.cumulative >= usage.end || used.full || more {
            (usage.limited, usage.most, usage.end) = (used.full, used.outstanding, used.next);
        }
        if self.is_limited() {
            self.judge(used.now);
            return;
        }
        let usage = &mut self.usage;
        usage.since_judged = usage.since_judged.max(used.outstanding);
        if used.now.since(*usage.judged.get_or_insert(used.now)) < used.rto {
            return;
        }
        // tcp_cwnd_application_limited
        if used.starved {
            let most = usage.since_judged.max(self.initial);
            self.judge(used.now);
            if most < self.window {
                self.remember_threshold();
                self.window = self.window.midpoint(most);
            }
        } else {
            usage.judged = Some(used.now);
        }
    }

    fn judge(&mut self, now: Time) {
        (self.usage.since_judged, self.usage.judged) = (0, Some(now));
    }

    /// Notes that the controller was asked whether the window may grow. The window counts as judged
    /// in either case (the end of `tcp_cong_avoid`). So an unused window shrinks after a pause, not
    /// while acknowledgements arrive.
    fn note_progress(&mut self, now: Time) {
        self.usage.judged = Some(now);
    }

    /// Whether the window limits the sender.
    fn is_limited(&self) -> bool {
        self.usage.limited || (self.in_slow_start() && self.window < 2 * self.usage.most)
    }

    /// Grows the window up to the threshold; returns the packets that are left to congestion
    /// avoidance.
    fn slow_start(&mut self, packets: u64) -> u64 {
        let before = self.window;
        self.window = (self.window + packets).min(self.threshold);
        packets - (self.window - before)
    }

    /// Grows the window by one packet for every `per_packet` acknowledged ones.
    fn avoid_congestion(&mut self, per_packet: u64, packets: u64) {
        // Credit that was collected while more was needed is worth one packet only.
        if self.credit >= per_packet {
            self.credit = 0;
            self.window += 1;
        }
        self.credit += packets;
        self.window += self.credit / per_packet;
        self.credit %= per_packet;
    }

    /// Reduces the window after a loss to `remaining` packets, but at least two.
    fn reduce(&mut self, remaining: u64) {
        self.threshold = remaining.max(2);
        self.window = self.threshold;
        self.credit = 0;
    }

    /// Events that all of Linux' controllers answer alike.
    fn on_event(&mut self, event: CongestionEvent) {
        match event {
            CongestionEvent::Collapse { window } => self.set(window),
            CongestionEvent::Undone { window, threshold } => self.undo(window, threshold),
            CongestionEvent::Penalty => self.penalize(),
            CongestionEvent::Idle => self.decay(),
            // Each controller answers the first three itself.
            CongestionEvent::Loss { .. }
            | CongestionEvent::Mark { .. }
            | CongestionEvent::Timeout { .. }
            | CongestionEvent::Resumed { .. }
            | CongestionEvent::Drained
            | CongestionEvent::Measured { .. } => {}
        }
    }

    /// Undoes an unnecessary reduction (tcp_undo_cwnd_reduction, tcp_reno_undo_cwnd).
    fn undo(&mut self, window: u64, threshold: u64) {
        self.window = self.window.max(window / self.segment);
        let threshold = if threshold == u64::MAX { threshold } else { threshold / self.segment };
        self.threshold = self.threshold.max(threshold);
    }

    fn set(&mut self, window: u64) {
        self.window = (window / self.segment).max(1);
        self.credit = 0;
    }

    /// A timeout leaves one packet.
    fn restart(&mut self) {
        self.window = 1;
        self.credit = 0;
    }

    fn remember_threshold(&mut self) {
        if self.threshold != u64::MAX {
            self.threshold = self.threshold.max(self.window / 2 + self.window / 4);
        }
    }

    /// Nothing was sent for one retransmission timeout.
    fn decay(&mut self) {
        self.remember_threshold();
        self.window = (self.window / 2).max(self.initial.min(self.window));
        (self.usage.since_judged, self.usage.judged) = (0, None);
    }

    fn penalize(&mut self) {
        if !self.in_slow_start() {
            self.threshold = (self.threshold / 2).max(2);
        }
        self.window = (self.window / 2).max(1);
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{config, used};
    use super::*;
    use crate::congestion::Algorithm;

    fn window(packets: u64, threshold: u64) -> PacketWindow {
        PacketWindow { window: packets, threshold, ..PacketWindow::new(&config(Algorithm::LinuxReno)) }
    }

    #[test]
    fn slow_start_counts_every_packet_and_leaves_the_rest() {
        let mut window = window(10, 15);
        assert_eq!(window.slow_start(4), 0);
        assert_eq!((window.slow_start(4), window.window), (3, 15));
    }

    #[test]
    fn avoidance_pays_old_credit_with_one_packet() {
        let mut window = window(10, 5);
        window.avoid_congestion(10, 9);
        assert_eq!((window.window, window.credit), (10, 9));
        window.avoid_congestion(4, 1);
        assert_eq!((window.window, window.credit), (11, 1));
    }

    #[test]
    fn a_window_that_was_full_limits_until_its_data_is_acknowledged() {
        let mut window = window(10, 5);
        window.note_use(&WindowUse { full: true, next: 20, ..used(10, 0) });
        assert!(window.is_limited());
        window.note_use(&WindowUse { cumulative: 19, next: 30, ..used(4, 1) });
        assert!(window.is_limited());
        window.note_use(&WindowUse { cumulative: 20, next: 30, ..used(4, 2) });
        assert!(!window.is_limited());
    }

    #[test]
    fn in_slow_start_half_a_window_is_enough() {
        let mut window = window(10, u64::MAX);
        window.note_use(&used(5, 0));
        assert!(!window.is_limited());
        window.note_use(&used(6, 0));
        assert!(window.is_limited());
    }

    #[test]
    fn half_of_what_was_unused_for_a_timeout_is_lost() {
        let mut window = window(40, 20);
        window.note_use(&used(12, 100));
        assert_eq!(window.window, 40);
        window.note_use(&used(8, 300));
        assert_eq!((window.window, window.threshold), (26, 30));
        window.note_use(&used(3, 500));
        assert_eq!(window.window, 18, "no less than the initial window counts as used");
    }

    #[test]
    fn a_writer_that_waits_keeps_the_window() {
        let mut window = window(40, 20);
        for millis in [100, 200, 400, 800] {
            window.note_use(&WindowUse { starved: false, ..used(3, millis) });
        }
        assert_eq!(window.window, 40);
    }

    #[test]
    fn idleness_halves_down_to_the_initial_window() {
        let mut idle = window(30, 10);
        idle.decay();
        assert_eq!((idle.window, idle.threshold), (15, 22));
        idle.decay();
        assert_eq!(idle.window, 10);
        let mut small = window(4, 10);
        small.decay();
        assert_eq!(small.window, 4);
    }
}
