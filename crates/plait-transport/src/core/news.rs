//! The news of an acknowledgement for one path, and its report to congestion control.

use super::TransmissionState;
use super::pacer::Pacer;
use super::transmission::Transmission;
use super::{Core, PathSender};
use crate::congestion::{Acknowledged, CongestionController, RateSample, Repairing, Share};
use plait_sched::{Duration, Event, PathId, Scheduler, Time};

/// Data of one path that one acknowledgement newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathNews {
    /// Counted bytes.
    pub(crate) bytes: u64,
    pub(crate) segments: u32,
    /// The newest transmission that became acknowledged, plus one; 0 for none.
    pub(crate) newest_end: u64,
    /// The highest segment that became acknowledged, plus one; 0 for none.
    pub(crate) highest_end: u64,
    /// The lowest segment that became acknowledged.
    pub(crate) lowest: u64,
    /// The oldest transmission in flight became acknowledged (CMT's pseudo cumulative
    /// acknowledgement).
    pub(crate) oldest_acknowledged: bool,
    pub(crate) in_flight_before: u64,
    /// See [`Acknowledged::used_before`].
    pub(crate) used_before: u64,
    /// See [`Acknowledged::limited`].
    pub(crate) limited: bool,
    pub(crate) rtt: Option<Duration>,
    /// The round trip of the newest segment, see [`Acknowledged::newest_rtt`].
    pub(crate) newest_rtt: Option<Duration>,
}

impl<R> PathSender<R> {
    /// Begins the news of an acknowledgement, before it is read.
    #[inline]
    pub(crate) fn begin_news(&mut self) {
        let (in_flight_before, used_before) = (self.flight.bytes(), self.used());
        let limited = self.flight.first() < self.limited_before;
        self.news =
            PathNews { in_flight_before, used_before, limited, lowest: u64::MAX, ..PathNews::default() };
    }

    /// News of the current acknowledgement. They begin with its first transmission; until then only
    /// their emptiness matters.
    #[inline]
    pub(super) fn news_begun(&mut self) -> &mut PathNews {
        if self.news.segments == 0 {
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
    pub(crate) fn acknowledge(&mut self, number: u64) -> Option<Transmission> {
        self.news_begun();
        let (sent, was_oldest) = self.flight.leave(number, TransmissionState::Acknowledged)?;
        let news = &mut self.news;
        news.bytes += u64::from(sent.bytes());
        news.segments += 1;
        news.oldest_acknowledged |= was_oldest;
        if self.timed == Some(number) {
            self.timed = None;
        }
        Some(sent)
    }

    /// An acknowledgement as congestion control sees it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn acknowledged(&self, now: Time, may_grow: bool, repairing: Repairing) -> Acknowledged {
        let news = &self.news;
        Acknowledged {
            now,
            bytes: news.bytes,
            may_grow,
            repairing,
            in_flight_before: news.in_flight_before,
            used_before: news.used_before,
            limited: news.limited,
            srtt: self.rtt.smoothed(),
            rtt: news.rtt,
            path: self.id().index(),
            segments: news.segments,
            newest_rtt: news.newest_rtt,
            cumulative: self.flight.first(),
            next: self.flight.next(),
        }
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
        let acknowledged = self.acknowledged(now, may_grow, repairing);
        if self.pacer.is_none() {
            self.control.on_ack(&acknowledged, None, shares);
        } else {
            self.tell_rate(&acknowledged, shares);
        }
        self.touch();
    }

    /// Does [`PathSender::tell_controller`] with a sample of the delivery rate.
    #[inline(never)]
    fn tell_rate(&mut self, acknowledged: &Acknowledged, shares: &[Share]) {
        let losses = self.lost - core::mem::replace(&mut self.lost_told, self.lost);
        let sample = RateSample {
            lost: losses * self.segment,
            lost_total: self.lost * self.segment,
            in_flight_before: acknowledged.used_before,
            in_flight: self.used(),
            departure: self.pacer.as_ref().map_or(Time::ZERO, Pacer::next),
            ..self.flight.take_sample(acknowledged.now)
        };
        self.control.on_ack(acknowledged, Some(&sample), shares);
        if self.control.limits_itself() {
            self.flight.mark_limited(sample.in_flight);
        }
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// Reports the news of a path's acknowledgement to the scheduler.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell_acknowledged(&mut self, index: usize) {
        let PathNews { segments, rtt, .. } = self.paths[index].news;
        self.notify(&Event::Acked { path: PathId(index as u8), segments, rtt });
    }
}
