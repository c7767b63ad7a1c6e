//! Reno as in Linux (net/ipv4/tcp_cong.c): the packet window alone, halved by a loss.

use super::PacketWindow;
use crate::congestion::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Share, WindowUse,
};
use plait_sched::Time;

/// The state of one path.
#[derive(Clone, Debug)]
pub struct LinuxReno {
    window: PacketWindow,
}

impl LinuxReno {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "newreno", family: Family::Linux, coupled: false, source: "" };

    /// At the start.
    pub fn new(config: &CongestionConfig) -> Self {
        Self { window: PacketWindow::new(config) }
    }
}

impl CongestionController for LinuxReno {
    fn on_ack(&mut self, acknowledged: &Acknowledged, _rate: Option<&RateSample>, _shares: &[Share]) {
        if !acknowledged.may_grow {
            return;
        }
        self.window.note_progress(acknowledged.now);
        if !self.window.is_limited() {
            return;
        }
        let mut packets = u64::from(acknowledged.segments);
        if self.window.in_slow_start() {
            packets = self.window.slow_start(packets);
        }
        if packets > 0 {
            self.window.avoid_congestion(self.window.window, packets);
        }
    }

    fn on_event(&mut self, _now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } | CongestionEvent::Mark { .. } => {
                self.window.reduce(self.window.window / 2);
            }
            CongestionEvent::Timeout { repairing, .. } => {
                if !repairing {
                    self.window.reduce(self.window.window / 2);
                }
                self.window.restart();
            }
            _ => self.window.on_event(event),
        }
    }

    fn on_sent(&mut self, used: &WindowUse) {
        self.window.note_use(used);
    }

    fn window(&self) -> u64 {
        self.window.bytes()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.window.threshold_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixtures::{SEGMENT, ack, config, segments, used};
    use super::*;
    use crate::congestion::Algorithm;
    use plait_sched::Duration;

    fn acknowledge(control: &mut LinuxReno, packets: u32) {
        let full = control.window();
        control.on_sent(&WindowUse { full: true, ..used(full / SEGMENT, 0) });
        control.on_ack(
            &Acknowledged { segments: packets, ..ack(u64::from(packets) * SEGMENT, full) },
            None,
            &[],
        );
    }

    #[test]
    fn one_acknowledgement_may_double_the_window() {
        let mut control = LinuxReno::new(&config(Algorithm::LinuxReno));
        acknowledge(&mut control, 10);
        assert_eq!(control.window(), segments(20));
    }

    #[test]
    fn a_loss_halves_the_window_whatever_is_in_flight() {
        let mut control = LinuxReno::new(&config(Algorithm::LinuxReno));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(5), segments(5)));
        (0..4).for_each(|_| acknowledge(&mut control, 1));
        assert_eq!(control.window(), segments(5));
        acknowledge(&mut control, 1);
        assert_eq!(control.window(), segments(6));
    }

    /// Acknowledges five packets at `millis`.
    fn acknowledge_five(control: &mut LinuxReno, millis: u64) {
        let now = Time::ZERO + Duration::from_millis(millis);
        control.on_ack(&Acknowledged { now, segments: 5, ..ack(5 * SEGMENT, 5 * SEGMENT) }, None, &[]);
    }

    #[test]
    fn what_is_acknowledged_while_nothing_may_leave_grows_the_window() {
        let mut control = LinuxReno::new(&config(Algorithm::LinuxReno));
        control.on_sent(&WindowUse { full: true, next: 10, ..used(10, 0) });
        // The receiver's window is shut: the window was full when the last packet left.
        (0..4).for_each(|_| acknowledge_five(&mut control, 20));
        assert_eq!(control.window(), segments(30));
        control.on_sent(&WindowUse { cumulative: 20, next: 22, ..used(2, 40) });
        acknowledge_five(&mut control, 60);
        assert_eq!(control.window(), segments(30));
    }

    #[test]
    fn a_window_is_cut_after_a_pause_of_acknowledgements_only() {
        let mut control = LinuxReno::new(&config(Algorithm::LinuxReno));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        control.on_event(Time::ZERO, CongestionEvent::Collapse { window: segments(40) });
        for millis in (0..1_000).step_by(20) {
            control.on_sent(&used(12, millis));
            acknowledge_five(&mut control, millis + 10);
        }
        assert_eq!(control.window(), segments(40));
        control.on_sent(&used(12, 1_300));
        assert_eq!(control.window(), segments(26));
    }

    #[test]
    fn a_timeout_while_repairing_keeps_the_threshold() {
        let mut control = LinuxReno::new(&config(Algorithm::LinuxReno));
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: 0, repairing: true });
        assert_eq!((control.window(), control.slow_start_threshold()), (SEGMENT, segments(5)));
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: 0, repairing: false });
        assert_eq!(control.slow_start_threshold(), segments(2));
    }
}
