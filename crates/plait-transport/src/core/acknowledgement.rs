//! Reading acknowledgements: what leaves the flights, what is forgotten, how windows grow.

use super::{Core, PathNews, SegmentState, TransmissionState};
use crate::congestion::{Acknowledged, CongestionControl, Share};
use plait_sched::{Event, PathId, Scheduler, Time};

impl<S: Scheduler> Core<S> {
    /// Starts reading an acknowledgement.
    pub(crate) fn begin_acknowledgement(&mut self) {
        for (news, path) in self.news.iter_mut().zip(&self.paths) {
            *news = PathNews { lowest: u64::MAX, ..PathNews::before(path) };
        }
    }

    /// The receiver has `segment`: it leaves the flight of its path, and its round trip may be a sample. False if it was
    /// never sent, so that the receiver cannot have it.
    pub(crate) fn acknowledge(&mut self, now: Time, segment: u64) -> bool {
        let Some(entry) = self.stream.get_mut(segment) else { return false };
        let (state, path, transmission, bytes) = (entry.state, entry.path, entry.transmission, entry.bytes);
        if !entry.ever_sent || state == SegmentState::Acknowledged {
            return entry.ever_sent;
        }
        entry.state = SegmentState::Acknowledged;
        let carried = entry.carried;
        let counted = self.counted(bytes);
        self.window.acknowledged(counted);
        let newest = (usize::from(path), transmission);
        // Of copies on several paths nobody knows which one arrived: none overtook anything for sure.
        let certain = carried.0.count_ones() <= 1;
        let mut at = Some(newest);
        while let Some((index, number)) = at.take() {
            let sender = &mut self.paths[index];
            let Some((sent, was_oldest)) = sender.flight.leave(number, TransmissionState::Acknowledged)
            else {
                continue;
            };
            let news = &mut self.news[index];
            news.bytes += u64::from(sent.bytes);
            news.segments += 1;
            if certain {
                news.newest_end = news.newest_end.max(number + 1);
                news.highest_end = news.highest_end.max(segment + 1);
                news.lowest = news.lowest.min(segment);
            }
            news.oldest_acknowledged |= was_oldest;
            if sender.timed == Some(number) {
                sender.timed = None;
                // Karn: only a segment that was never sent again tells a round trip.
                if sent.first_time && (index, number) == newest {
                    let rtt = now.since(sent.sent_at);
                    sender.rtt.sample(rtt);
                    news.rtt = Some(rtt);
                }
            }
            at = sent.earlier.map(|copy| (usize::from(copy.path), copy.transmission));
        }
        true
    }

    /// Forgets what lies below the cumulative acknowledgement, acknowledging what had not been before. Returns how far
    /// that is: an acknowledgement of what was never sent is nonsense from the peer and cut to what was.
    pub(crate) fn advance(&mut self, now: Time, cumulative: u64) -> u64 {
        let first = self.stream.first();
        let cumulative =
            (first..cumulative).find(|&segment| !self.acknowledge(now, segment)).unwrap_or(cumulative);
        while let Some(segment) = self.stream.pop_below(cumulative) {
            self.held -= u64::from(segment.bytes);
        }
        cumulative
    }

    /// As [`Core::advance`], where acknowledgements of a path's own numbers say what left its flight. What was never sent is
    /// kept likewise, also where later segments were sent before it.
    pub(crate) fn release(&mut self, cumulative: u64) {
        while self.stream.get(self.stream.first()).is_some_and(|segment| segment.ever_sent)
            && let Some(segment) = self.stream.pop_below(cumulative)
        {
            self.held -= u64::from(segment.bytes);
            self.window.acknowledged(self.counted(segment.bytes));
        }
    }

    /// Lets the window of a path grow for what was acknowledged on it.
    pub(crate) fn grow_window(&mut self, now: Time, index: usize, news: &PathNews) {
        self.update_shares();
        let writer_blocked = self.stream.is_endless() || self.held >= self.config.send_buffer;
        let path = &mut self.paths[index];
        let acknowledged = Acknowledged {
            now,
            bytes: news.bytes,
            in_flight_before: news.in_flight_before,
            used_before: news.used_before,
            srtt: path.rtt.smoothed(),
            rtt: news.rtt,
            path: index,
            segments: news.segments,
            newest_rtt: news.newest_rtt,
            rto: path.rtt.rto(),
            cumulative: path.flight.first(),
            next: path.flight.next(),
            writer_blocked,
        };
        path.control.on_acknowledged(&acknowledged, &self.shares);
    }

    /// Grows windows and tells the scheduler what an acknowledgement brought. `grow` says of a path's news whether its
    /// window may grow.
    pub(crate) fn finish_acknowledgement(&mut self, now: Time, grow: impl Fn(&PathNews) -> bool) {
        for index in 0..self.paths.len() {
            let news = self.news[index];
            if news.segments == 0 {
                continue;
            }
            self.association_errors = 0;
            let rto = self.paths[index].rtt.rto();
            let path = &mut self.paths[index];
            path.errors = 0;
            path.note_delivery(now, news.bytes);
            let recovering = path.flight.first() < path.recovery_end;
            if grow(&news) && (!recovering || self.config.grow_in_recovery) {
                self.grow_window(now, index, &news);
            }
            let path = &mut self.paths[index];
            if path.flight.segments() == 0 {
                path.control.on_drained();
                path.retransmission_timer = None;
            } else if news.oldest_acknowledged {
                path.retransmission_timer = Some(now.saturating_add(rto));
            }
            self.refresh(index);
        }
        for index in 0..self.paths.len() {
            let news = self.news[index];
            if news.segments > 0 {
                let path = PathId(index as u8);
                self.notify(&Event::Acked { path, segments: news.segments, rtt: news.rtt });
            }
        }
        self.note_opportunity();
    }

    fn update_shares(&mut self) {
        if !self.config.congestion.algorithm.is_coupled() {
            return;
        }
        self.shares.clear();
        self.shares.extend(self.paths.iter().zip(&self.facts).map(|(path, facts)| Share {
            window: path.control.window(),
            srtt: path.rtt.smoothed(),
            loss_interval: path.control.loss_interval(),
            usable: facts.is_usable(),
        }));
    }
}
