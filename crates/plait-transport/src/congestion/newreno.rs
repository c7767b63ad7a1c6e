//! SCTP's congestion control (RFC 9260 §7.2): slow start, congestion avoidance with
//! `partial_bytes_acked`.

use super::{
    Acknowledged, CongestionConfig, CongestionController, CongestionEvent, ControllerInfo, Family,
    RateSample, Share,
};
use plait_sched::Time;

/// The state of one path.
#[derive(Clone, Debug)]
pub struct NewReno {
    window: u64,
    threshold: u64,
    partial_bytes_acked: u64,
    segment: u64,
}

impl NewReno {
    /// Description of the controller for users.
    pub const INFO: ControllerInfo =
        ControllerInfo { name: "newreno", family: Family::Sctp, coupled: false, source: "RFC 9260" };

    /// At the start: `initial_window`, and slow start up to `initial_threshold`.
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            window: config.initial_window,
            threshold: config.initial_threshold,
            partial_bytes_acked: 0,
            segment: config.segment,
        }
    }

    /// RFC 9260 §7.2.3: half the window, but at least four segments.
    fn halved(&self) -> u64 {
        (self.window / 2).max(4 * self.segment)
    }
}

impl CongestionController for NewReno {
    fn on_ack(&mut self, acknowledged: &Acknowledged, _rate: Option<&RateSample>, _shares: &[Share]) {
        if !acknowledged.may_grow {
            return;
        }
        let fully_used = acknowledged.used_before >= self.window;
        if self.window <= self.threshold {
            // §7.2.1: only a window that is fully used may grow, by at most one segment per
            // acknowledgement.
            if fully_used {
                self.window += acknowledged.bytes.min(self.segment);
            }
        } else {
            // §7.2.2: one segment per window of acknowledged data.
            self.partial_bytes_acked += acknowledged.bytes;
            if self.partial_bytes_acked >= self.window {
                if fully_used {
                    self.partial_bytes_acked -= self.window;
                    self.window += self.segment;
                } else {
                    self.partial_bytes_acked = self.window;
                }
            }
        }
    }

    fn on_event(&mut self, _now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { .. } | CongestionEvent::Mark { .. } => {
                self.threshold = self.halved();
                self.window = self.threshold;
                self.partial_bytes_acked = 0;
            }
            CongestionEvent::Timeout { .. } => {
                self.threshold = self.halved();
                self.window = self.segment;
                self.partial_bytes_acked = 0;
            }
            CongestionEvent::Penalty => {
                if self.window > self.threshold {
                    self.threshold = self.halved();
                }
                self.window = (self.window / 2).max(self.segment);
            }
            // §7.2.1: halve once per RTO without transmission. A window below four segments stays
            // as it is.
            CongestionEvent::Idle => self.window = self.window.min(self.halved()),
            CongestionEvent::Drained => self.partial_bytes_acked = 0,
            // SCTP takes no reduction back.
            CongestionEvent::Collapse { .. }
            | CongestionEvent::Undone { .. }
            | CongestionEvent::Resumed { .. }
            | CongestionEvent::Measured { .. } => {}
        }
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn slow_start_threshold(&self) -> u64 {
        self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Algorithm;

    const SEGMENT: u64 = 1468;

    fn start() -> NewReno {
        NewReno::new(&CongestionConfig {
            algorithm: Algorithm::NewReno,
            own: None,
            initial_window: 4380,
            initial_threshold: u64::MAX,
            segment: SEGMENT,
            paced_options: 0,
            hystart: false,
            seed: 0,
        })
    }

    fn ack(bytes: u64, in_flight_before: u64) -> Acknowledged {
        super::super::fixtures::ack(bytes, in_flight_before)
    }

    #[test]
    fn slow_start_grows_only_a_fully_used_window() {
        let mut control = start();
        control.on_ack(&ack(SEGMENT, 2 * SEGMENT), None, &[]);
        assert_eq!(control.window(), 4380);
        control.on_ack(&ack(3 * SEGMENT, 3 * SEGMENT), None, &[]);
        assert_eq!(control.window(), 4380 + SEGMENT, "at most one segment per acknowledgement");
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_per_window() {
        let mut control = start();
        control.window = 20 * SEGMENT;
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: 0 });
        assert_eq!(control.window(), 10 * SEGMENT);
        // Equality still counts as slow start: the window must exceed the threshold first.
        control.on_ack(&ack(SEGMENT, 10 * SEGMENT), None, &[]);
        assert_eq!(control.window(), 11 * SEGMENT);
        for _ in 0..10 {
            control.on_ack(&ack(SEGMENT, 11 * SEGMENT), None, &[]);
        }
        assert_eq!(control.window(), 11 * SEGMENT);
        control.on_ack(&ack(SEGMENT, 11 * SEGMENT), None, &[]);
        assert_eq!(control.window(), 12 * SEGMENT);
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_idleness_never_raises_the_window() {
        let mut control = start();
        control.on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: 0, repairing: false });
        assert_eq!((control.window(), control.slow_start_threshold()), (SEGMENT, 4 * SEGMENT));
        control.on_event(Time::ZERO, CongestionEvent::Idle);
        assert_eq!(control.window(), SEGMENT);
    }
}
