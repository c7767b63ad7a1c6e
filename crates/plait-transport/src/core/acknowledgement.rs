//! Reading acknowledgements: they remove transmissions from flights, release acknowledged segments
//! and grow windows.

use super::path::PathSender;
use super::segment::StreamSegment;
use super::transmission::TransmissionId;
use super::{Core, NEVER, PathNews, SegmentState};
use crate::congestion::{Acknowledged, CongestionController, CongestionEvent, Repairing, Share};
use crate::ring::fetch_beyond;
use plait_sched::{Duration, Event, PathId, Scheduler, Time};

/// How an acknowledgement came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Via {
    /// On which path.
    pub(crate) path: usize,
    /// One packet alone caused it, so that one arrived on this path.
    pub(crate) alone: bool,
    /// It reports the last arrival on this path for the first time.
    pub(crate) fresh: bool,
}

impl<S: Scheduler, R> Core<S, R> {
    /// Starts reading an acknowledgement.
    pub(crate) fn begin_acknowledgement(&mut self) {
        for path in &mut self.paths {
            (path.news.ack.segments, path.news.newest_end) = (0, 0);
        }
    }

    /// Marks `segment` as received: removes it from its path's flight, and may take a round-trip
    /// sample. Returns false if it was never sent, so that the receiver cannot have it.
    ///
    /// Of several copies in flight, one has arrived. The others stay in flight: otherwise more and
    /// more copies could enter a path that delivers them late. A copy leaves the flight when it is
    /// reported as a duplicate ([`Core::copy_arrived`]) or declared lost.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn acknowledge(&mut self, now: Time, segment: u64, via: Via) -> bool {
        let Some(entry) = self.stream.get_mut(segment) else { return false };
        fetch_beyond(entry);
        let (state, newest) = (entry.state(), entry.newest);
        if !entry.ever_sent() || state == SegmentState::Acknowledged {
            return entry.ever_sent();
        }
        entry.set_state(SegmentState::Acknowledged);
        let sender = &mut self.paths[usize::from(newest.path())];
        // RFC 9260 §8.2: whichever sending of it this answers.
        sender.errors = 0;
        if state != SegmentState::InFlight {
            sender.arrived_late(now, newest.number());
            self.waits_no_more(segment);
            return true;
        }
        let counted = u64::from(entry.bytes()) + u64::from(self.config.counted_overhead);
        self.window.acknowledged(counted);
        let one_of_several = sender.flight.earlier(newest.number()).is_some();
        if !via.alone && self.copies_everything() {
            self.supersede_all(segment, newest, via);
        } else if one_of_several {
            self.credit_one_of_several(now, segment, newest, via);
        } else {
            self.paths[usize::from(newest.path())].credit(now, newest.number(), true);
        }
        true
    }

    /// The earlier transmission of the same segment that is still in flight elsewhere.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn earlier(&self, copy: TransmissionId) -> Option<TransmissionId> {
        self.paths[usize::from(copy.path())].flight.earlier(copy.number())
    }

    /// Settles the segment after the path's transmission of it was
    /// [acknowledged](PathSender::acknowledge). Other copies of the segment stay in flight until
    /// their own numbers are reported or lost.
    pub(crate) fn settle_on(&mut self, index: usize, segment: u64) {
        self.stream.note_gone(segment, PathId(index as u8));
        self.settle(segment);
    }

    /// Marks a sent segment as no longer needed.
    pub(crate) fn settle(&mut self, segment: u64) {
        let Some(entry) = self.stream.get_mut(segment).filter(|entry| entry.ever_sent()) else { return };
        let (before, newest) = (entry.state(), entry.newest);
        entry.set_state(SegmentState::Acknowledged);
        if before != SegmentState::InFlight {
            self.paths[usize::from(newest.path())].timed.take_if(|timed| *timed == newest.number());
        }
        match before {
            SegmentState::InFlight => {
                let counted = u64::from(entry.bytes()) + u64::from(self.config.counted_overhead);
                self.window.acknowledged(counted);
            }
            SegmentState::Lost => self.waits_no_more(segment),
            SegmentState::Recalled | SegmentState::Queued | SegmentState::Acknowledged => {}
        }
    }

    /// Releases acknowledged segments at the beginning of the stream.
    pub(crate) fn release_acknowledged(&mut self) {
        let done = |segment: &StreamSegment| segment.state() == SegmentState::Acknowledged;
        while self.stream.get(self.stream.first()).is_some_and(done)
            && let Some(segment) = self.stream.pop_below(u64::MAX)
        {
            self.held -= u64::from(segment.bytes());
        }
        self.release_buffer();
    }

    /// Releases all segments below the cumulative acknowledgement, and acknowledges those that were
    /// not yet. Returns the end of the released data. An acknowledgement of unsent data is an error
    /// of the peer and is cut to the sent data.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn advance(&mut self, now: Time, cumulative: u64, via: Via) -> u64 {
        let mut reached = self.stream.first();
        while reached < cumulative && self.acknowledge(now, reached, via) {
            reached += 1;
        }
        while let Some(segment) = self.stream.pop_below(reached) {
            self.held -= u64::from(segment.bytes());
        }
        self.release_buffer();
        reached
    }

    /// Releases segments as [`Core::advance`] does, for protocols whose acknowledgements of path
    /// numbers remove data from flights. Segments that were never sent are kept, even if later ones
    /// were sent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn release(&mut self, cumulative: u64) {
        let before = self.stream.first();
        while self.stream.first() < cumulative
            && self.stream.get(self.stream.first()).is_some_and(StreamSegment::ever_sent)
            && let Some(segment) = self.stream.pop_below(cumulative)
        {
            self.held -= u64::from(segment.bytes());
            self.window.acknowledged(self.counted(segment.bytes()));
        }
        // A buffer of memory may have another size by now.
        if self.stream.first() > before || self.hands_down || self.buffer.memory().is_some() {
            self.release_buffer();
        }
    }

    /// Frees the send-buffer space of acknowledged data and forgets its messages.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn release_buffer(&mut self) {
        self.stream.forget_released();
        let acknowledged = self.resize_buffer();
        self.buffer.release(acknowledged);
    }

    /// Resizes the send buffer to the size that the scheduler asks for. Returns the end of the data
    /// that the buffer no longer holds.
    fn resize_buffer(&mut self) -> u64 {
        if self.autotuned
            && let Some(size) = self.scheduler.send_memory()
        {
            self.buffer.resize(size);
        }
        let kept = if self.hands_down { 0 } else { self.held };
        self.stream.frontier_offset() - kept
    }

    /// Handles the answer to a path's SYN; the path may not carry data yet. Its socket has a send
    /// buffer of its own (`subflow_finish_connect` in net/mptcp/subflow.c). A waiting application
    /// is woken (`subflow_state_change`).
    pub(crate) fn note_answer(&mut self, rtt: Duration, index: usize) {
        if self.autotuned {
            self.paths[index].touch();
            self.notify(&Event::Acked { path: PathId(index as u8), segments: 0, rtt: Some(rtt) });
            let acknowledged = self.resize_buffer();
            self.buffer.wake(acknowledged);
            self.note_opportunity();
        }
    }

    /// A path, and the windows of all paths if congestion control is coupled.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn path_and_shares(&mut self, index: usize) -> (&mut PathSender<R>, &[Share]) {
        if self.config.congestion.is_coupled() {
            self.update_shares();
        }
        (&mut self.paths[index], &self.shares)
    }

    /// True if the application has more data than the send buffer takes, so the application does
    /// not limit the sender.
    pub(crate) fn writer_waits(&self) -> bool {
        self.stream.is_endless()
            || match self.buffer.memory() {
                Some(_) => self.buffer.blocks(),
                // In Linux a write returns once all its data is in the subflows' send buffers
                // (SOCK_NOSPACE until then).
                None => self.stream.uncut() > 0 || self.stream.recalled() > 0,
            }
    }

    /// Grows windows and reports an acknowledgement to the scheduler. `grow` decides from a path's
    /// news whether its window may grow.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn finish_acknowledgement(&mut self, now: Time, grow: impl Fn(&PathNews) -> bool) {
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            if path.news.ack.segments == 0 {
                continue;
            }
            let news = path.news;
            path.errors = 0;
            path.note_delivery(now, news.ack.bytes);
            let recovering = path.flight.first() < path.recovery_end;
            let may_grow = grow(&news) && (!recovering || self.config.grow_in_recovery);
            let (path, shares) = self.path_and_shares(index);
            let repairing = if recovering { Repairing::Losses } else { Repairing::Nothing };
            path.tell_controller(now, may_grow, repairing, shares);
            let path = &mut self.paths[index];
            if path.flight.segments() == 0 {
                path.control.on_event(now, CongestionEvent::Drained);
                path.retransmission_timer = NEVER;
            } else if news.oldest_acknowledged {
                path.restart_timer(now);
            }
            self.paths[index].touch();
        }
        if self.interest.acked {
            for index in 0..self.paths.len() {
                let Acknowledged { segments, rtt, .. } = self.paths[index].news.ack;
                if segments > 0 {
                    self.notify(&Event::Acked { path: PathId(index as u8), segments, rtt });
                }
            }
        }
        self.note_opportunity();
    }

    #[inline(never)]
    fn update_shares(&mut self) {
        self.shares.clear();
        self.shares.extend(self.paths.iter().zip(&self.facts).map(|(path, facts)| Share {
            window: path.control.window(),
            srtt: path.rtt.smoothed(),
            loss_interval: path.control.loss_interval(),
            usable: facts.is_usable(),
        }));
    }
}

impl<R> PathSender<R> {
    /// A transmission has arrived. `certain`: it was this one, and no copy of it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn credit(&mut self, now: Time, transmission: u64, certain: bool) {
        let Some(sent) = self.acknowledge(transmission) else { return };
        let news = &mut self.news;
        if certain {
            news.newest_end = news.newest_end.max(transmission + 1);
            news.highest_end = news.highest_end.max(sent.segment + 1);
            news.lowest = news.lowest.min(sent.segment);
        }
        if self.timed == Some(transmission) {
            self.timed = None;
            if certain && sent.first_time() {
                let rtt = now.since(sent.sent_at);
                self.rtt.sample_there(rtt);
                news.ack.rtt = Some(rtt);
            }
        }
    }
}
