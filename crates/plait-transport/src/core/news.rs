//! The news of an acknowledgement for one path, and its report to congestion control.

use super::TransmissionState;
use super::pacer::Pacer;
use super::transmission::Transmission;
use super::{Core, PathSender};
use crate::congestion::{Acknowledged, CongestionController, RateSample, Repairing, Share};
use plait_sched::{Event, PathId, Scheduler, Time};

/// Data of one path that one acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathNews {
    /// As congestion control sees it; see [`PathSender::complete_news`]. It is read in its place: a
    /// copy would wait for the parts that were just written.
    pub(crate) ack: Acknowledged,
    /// The newest transmission that became acknowledged, plus one; 0 for none.
    pub(crate) newest_end: u64,
    /// The highest segment that became acknowledged, plus one; 0 for none.
    pub(crate) highest_end: u64,
    /// The lowest segment that became acknowledged.
    pub(crate) lowest: u64,
    /// The oldest transmission in flight became acknowledged (CMT's pseudo cumulative
    /// acknowledgement).
    pub(crate) oldest_acknowledged: bool,
}

impl<R> PathSender<R> {
    /// Begins the news of an acknowledgement, before it is read.
    #[inline]
    pub(crate) fn begin_news(&mut self) {
        let (in_flight_before, used_before) = (self.flight.bytes(), self.used());
        let limited = self.flight.first() < self.limited_before;
        let ack = Acknowledged { in_flight_before, used_before, limited, ..Acknowledged::default() };
        self.news = PathNews { ack, lowest: u64::MAX, ..PathNews::default() };
    }

    /// News of the current acknowledgement. They begin with its first transmission; until then only
    /// their emptiness matters.
    #[inline]
    pub(super) fn news_begun(&mut self) -> &mut PathNews {
        if self.news.ack.segments == 0 {
            self.begin_news();
        }
        &mut self.news
    }

    /// Reports the flight's progress to the estimator, which works once per round trip.
    #[inline]
    pub(crate) fn note_progress(&mut self) {
        self.rtt.note_progress(self.flight.first(), self.flight.next());
    }

    /// Removes an acknowledged transmission from the flight. Returns its record, if it was in
    /// flight.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Transmission> {
        self.news_begun();
        let (sent, was_oldest) = self.flight.leave(number, TransmissionState::Acknowledged)?;
        let news = &mut self.news;
        news.ack.bytes += u64::from(sent.bytes());
        news.ack.segments += 1;
        news.oldest_acknowledged |= was_oldest;
        Some(sent)
    }

    /// Completes the news for congestion control.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn complete_news(&mut self, now: Time, may_grow: bool, repairing: Repairing) {
        let (path, srtt) = (self.id().index(), self.rtt.smoothed());
        let (cumulative, next) = (self.flight.first(), self.flight.next());
        let ack = &mut self.news.ack;
        (ack.now, ack.may_grow, ack.repairing) = (now, may_grow, repairing);
        (ack.path, ack.srtt, ack.cumulative, ack.next) = (path, srtt, cumulative, next);
    }

    /// Reports the acknowledgement to congestion control; `may_grow` says whether the window may
    /// grow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell_controller(
        &mut self,
        now: Time,
        may_grow: bool,
        repairing: Repairing,
        shares: &[Share],
    ) {
        self.complete_news(now, may_grow, repairing);
        if self.pacer.is_none() || self.control.pacing_rate().is_none() {
            self.control.on_ack(&self.news.ack, None, shares);
        } else {
            self.tell_rate(shares);
        }
        self.touch();
    }

    /// Does [`PathSender::tell_controller`] with a sample of the delivery rate.
    #[inline(never)]
    fn tell_rate(&mut self, shares: &[Share]) {
        let sample = self.rate_sample();
        self.control.on_ack(&self.news.ack, Some(&sample), shares);
        if self.control.limits_itself() {
            self.flight.mark_limited(sample.in_flight);
        }
    }

    /// The delivery-rate sample of an acknowledgement. It reports each loss once.
    fn rate_sample(&mut self) -> RateSample {
        let losses = self.lost - core::mem::replace(&mut self.lost_told, self.lost);
        RateSample {
            lost: losses * self.segment,
            lost_total: self.lost * self.segment,
            in_flight_before: self.news.ack.used_before,
            in_flight: self.used(),
            departure: self.pacer.as_ref().map_or(Time::ZERO, Pacer::next),
            ..self.flight.take_sample(self.news.ack.now)
        }
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// Reports the news of a path's acknowledgement to the scheduler.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell_acknowledged(&mut self, index: usize) {
        let Acknowledged { segments, rtt, .. } = self.paths[index].news.ack;
        self.notify(&Event::Acked { path: PathId(index as u8), segments, rtt });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Algorithm, CongestionConfig};
    use crate::core::{BufferRule, ConnectionConfig, CoreRules, PathConfig, WindowRule};
    use crate::rtt::RtoConfig;
    use plait_sched::PathId;

    /// A path with BBR.
    fn path() -> PathSender<()> {
        let config = ConnectionConfig {
            segment_bytes: 1000,
            counted_overhead: 0,
            receive_window: u64::MAX,
            send_buffer: u64::MAX,
            congestion: CongestionConfig {
                algorithm: Algorithm::Bbr,
                own: None,
                initial_window: 10_000,
                initial_threshold: u64::MAX,
                segment: 1000,
                paced_options: 0,
                hystart: false,
                seed: 0,
            },
            rto: RtoConfig::default(),
            path_max_retransmissions: 5,
            association_max_retransmissions: 10,
            potentially_failed: false,
            grow_in_recovery: false,
            max_burst: 0,
            window_in_packets: true,
            restarts_by_packet: false,
            joined_writes: true,
        };
        let rules = CoreRules {
            window: WindowRule::Offset,
            overshoots: false,
            lost_keep_numbers: true,
            settled_are_remembered: false,
            write_queues: false,
            penalties_wait: false,
            paces_windows: false,
            paces_single_packets: false,
            limited_at_writes: false,
            streams: false,
            message_header: 0,
            buffer: BufferRule::Payload,
        };
        PathSender::new(PathId(0), &config, &rules, &PathConfig::default(), ())
    }

    fn reported(path: &mut PathSender<()>) -> (u64, u64) {
        let sample = path.rate_sample();
        (sample.lost, sample.lost_total)
    }

    #[test]
    fn each_loss_is_reported_once() {
        let mut path = path();
        path.lost += 3;
        assert_eq!(reported(&mut path), (3000, 3000));
        assert_eq!(reported(&mut path), (0, 3000));
        path.lost += 1;
        assert_eq!(reported(&mut path), (1000, 4000));
    }

    #[test]
    fn losses_before_a_change_of_networks_are_not_reported_after_it() {
        let mut path = path();
        path.lost += 3;
        path.renew(self::path());
        assert_eq!(reported(&mut path).0, 0);
    }
}
