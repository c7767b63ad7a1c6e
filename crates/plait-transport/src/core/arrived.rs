//! Arrival of segments with several copies in flight: the copy that an acknowledgement reports.

use super::transmission::TransmissionId;
use super::{Core, Via};
use plait_sched::{Scheduler, Time};

impl<S: Scheduler, R> Core<S, R> {
    /// Handles [`Core::acknowledge`] for a segment with several copies in flight.
    #[inline(never)]
    pub(super) fn credit_one_of_several(
        &mut self,
        now: Time,
        segment: u64,
        newest: TransmissionId,
        via: Via,
    ) {
        let (arrived, certain) = self.arrived_copy(newest, via);
        let mut at = Some(newest);
        while let Some(copy) = at {
            at = self.earlier(copy);
            let (path, number) = (&mut self.paths[usize::from(copy.path())], copy.number());
            if copy == arrived {
                path.credit(now, number, certain);
            } else if number < path.due_below {
                path.credit(now, number, false);
            } else {
                path.supersede(segment, number);
            }
        }
    }

    /// Keeps all copies of the segment in flight until acknowledgements on their own paths report
    /// them.
    ///
    /// With copies of all data, each path is clocked by its own acknowledgements, as if alone.
    /// Acknowledgements of another path report several packets of this path at once: its window
    /// would grow less and release bursts.
    #[inline(never)]
    pub(super) fn supersede_all(&mut self, segment: u64, newest: TransmissionId, via: Via) {
        let mut at = Some(newest);
        while let Some(copy) = at {
            at = self.earlier(copy);
            let path = &mut self.paths[usize::from(copy.path())];
            path.supersede(segment, copy.number());
            if via.fresh && usize::from(copy.path()) == via.path {
                path.may_have_arrived(segment, copy.number());
            }
        }
    }

    /// Handles an acknowledgement that came back on the path; a number of packets caused it, and it
    /// `covers` them.
    ///
    /// A path delivers in order: the packets are the oldest copies behind those of its earlier
    /// acknowledgements. This is certain for the first one if `certain`. The others may be packets
    /// of other paths.
    pub(crate) fn copies_told(
        &mut self,
        now: Time,
        index: usize,
        (packets, certain): (u8, bool),
        covers: impl Fn(u64) -> bool,
    ) {
        for nth in 0..packets {
            let path = &self.paths[index];
            let from = path.candidate.map_or(path.told_below, |(number, ..)| number).max(path.flight.first());
            let told = (from..path.flight.next())
                .filter_map(|number| Some((number, path.flight.get(number)?)))
                .find(|(_, sent)| sent.is_in_flight() && covers(sent.segment))
                .map(|(_, sent)| sent.segment);
            let Some(transmission) = told.and_then(|segment| self.paths[index].take_superseded(segment))
            else {
                return;
            };
            self.paths[index].credit(now, transmission, certain && nth == 0);
        }
    }

    /// Call once an acknowledgement is read that came back on the path. Its cause left no earlier
    /// than the first transmission that may have arrived.
    /// Transmissions before that one were overtaken.
    pub(crate) fn settle_evidence(&mut self, index: usize) {
        let path = &mut self.paths[index];
        if let Some((number, segment, lowest)) = path.candidate.take() {
            let news = path.news_begun();
            if news.newest_end <= number {
                (news.newest_end, news.highest_end) = (number + 1, news.highest_end.max(segment + 1));
            }
            news.lowest = news.lowest.min(lowest);
        }
        let path = &mut self.paths[index];
        path.told_below = path.told_below.max(path.news.newest_end);
    }

    /// Finds the copy that arrived, and whether this is certain. An acknowledgement returns on the
    /// path of the packet that caused it. So the copy of that path arrived, if no other packet can
    /// have caused the acknowledgement. Otherwise the copy that was due first is assumed.
    fn arrived_copy(&self, newest: TransmissionId, via: Via) -> (TransmissionId, bool) {
        let sent = |copy: TransmissionId| self.paths[usize::from(copy.path())].flight.get(copy.number());
        // Nothing is known of a path that was not measured yet.
        let due = |copy: TransmissionId| {
            let round_trip = self.paths[usize::from(copy.path())].rtt.smoothed();
            let measured = sent(copy).filter(|_| !round_trip.is_zero());
            measured.map_or(Time::MAX, |sent| sent.sent_at.saturating_add(round_trip))
        };
        let (mut best, mut next) = (newest, self.earlier(newest));
        loop {
            if via.alone && usize::from(best.path()) == via.path {
                return (best, true);
            }
            let Some(copy) = next else { return (best, false) };
            next = self.earlier(copy);
            if via.alone && usize::from(copy.path()) == via.path || due(copy) < due(best) {
                best = copy;
            }
        }
    }

    /// Handles a duplicate report for `segment`; `certain` if the duplicate arrived on this path. A
    /// copy still in flight there has arrived. Without one, this path's copy was acknowledged
    /// before, and the report concerns an earlier arrival of another copy.
    pub(crate) fn copy_arrived(&mut self, now: Time, index: usize, segment: u64, certain: bool) {
        let others = (0..self.paths.len()).filter(|&other| other != index);
        for (other, certain) in core::iter::once((index, certain)).chain(others.map(|other| (other, false))) {
            if let Some(transmission) = self.paths[other].take_superseded(segment) {
                self.paths[other].credit(now, transmission, certain);
                return;
            }
        }
    }

    /// Handles an acknowledgement for a packet of this path that another path's acknowledgement
    /// reported first. A path delivers in order, so the packet is the oldest copy there that the
    /// acknowledgement `covers`.
    pub(crate) fn copy_told(&mut self, now: Time, index: usize, covers: impl Fn(u64) -> bool) {
        let path = &self.paths[index];
        if path.superseded.is_empty() {
            return;
        }
        let oldest = (path.flight.first()..path.flight.next())
            .filter_map(|number| path.flight.get(number))
            .find(|sent| sent.is_in_flight() && covers(sent.segment));
        if let Some(segment) = oldest.map(|sent| sent.segment) {
            self.take_copy(now, index, segment);
        }
    }

    /// Removes copies of arrived segments from their flights once they are due, even without a
    /// report.
    pub(crate) fn settle_due(&mut self, now: Time) {
        for index in 0..self.paths.len() {
            loop {
                let path = &mut self.paths[index];
                // Uses round trips with both directions on this path: acknowledgements of copies
                // may return on other paths.
                let round_trip = path.rtt.own();
                path.due_below = path.due_below.max(path.flight.first());
                let Some(sent) = path.flight.get(path.due_below).copied() else { break };
                // A queue may have grown meanwhile, and loss detection must come first.
                if round_trip.is_zero() || sent.sent_at.saturating_add(round_trip * 2) > now {
                    break;
                }
                path.due_below += 1;
                if sent.is_in_flight() {
                    self.take_copy(now, index, sent.segment);
                }
            }
        }
    }

    /// If a copy of a segment that has arrived is in flight on the path, it counts as arrived, too.
    fn take_copy(&mut self, now: Time, index: usize, segment: u64) {
        if let Some(transmission) = self.paths[index].take_superseded(segment) {
            self.paths[index].credit(now, transmission, false);
        }
    }
}
