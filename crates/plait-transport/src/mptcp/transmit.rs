//! Selection of the next packet: retransmissions and probes of a subflow, its write queue, copies,
//! then new data.

use super::rules::Losses;
use super::sender::Sender;
use super::subflow::{Resent, Subflow};
use crate::core::{Outgoing, PathSender, Transmission, TransmissionState, merge_ascending};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::tcp::{Packet, TcpSegment};
use crate::packet::{Data, SegmentEcn};
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{Path, PathId, PathSet, Scheduler, Time};

/// A segment that leaves on a subflow, without a piggybacked acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    path: PathId,
    data: Data,
    /// Number of the segment on the subflow.
    number: u64,
    offset: u64,
    timestamp: u32,
    echo: u32,
    push: bool,
    ecn: SegmentEcn,
    transmission: u64,
    /// True for the first transmission on this subflow.
    fresh: bool,
}

impl Leaving {
    fn leave(&self, sink: &mut impl SinkOf<Packet>) {
        let &Self { path, data, number, offset, timestamp, echo, push, ecn, transmission, .. } = self;
        let packet =
            &Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn });
        sink.send(&Transmit { path, packet, transmission, origin: Origin::Sender { offset: Some(offset) } });
    }
}

impl<S: Scheduler> Sender<S> {
    /// Sends all packets that may leave now.
    ///
    /// # Errors
    /// [`Error::Scheduler`] if the scheduler broke its contract.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        self.core.look_at_pacers(now);
        if !self.started {
            self.started = true;
            self.open_subflows(now);
        }
        while let Some((path, packet)) = self.control.pop_front() {
            let origin = Origin::Sender { offset: None };
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
        if self.config.rules.pushes && self.config.multipath {
            return self.transmit_bursts(now, sink, observer);
        }
        while let Some(mut leaving) = self.next_segment(now, observer)? {
            if self.config.rules.pushes && leaving.fresh {
                leaving.push = self.marks(leaving.offset, leaving.data.bytes);
            }
            leaving.leave(sink);
        }
        Ok(())
    }

    /// Sends all packets that may leave now, and marks the end of each burst with PSH. A segment
    /// leaves once it is known whether another one follows.
    #[inline(never)]
    fn transmit_bursts(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        let mut held_back: Option<Leaving> = None;
        loop {
            let next = self.next_segment(now, observer)?;
            if let Some(mut last) = held_back.take() {
                let ends = next.is_none_or(|next| !next.fresh || next.path != last.path);
                last.push = last.fresh && ends && !self.core.path(last.path.index()).has_committed();
                last.leave(sink);
                if next.is_none() && self.core.has_opportunity() {
                    continue;
                }
            }
            match next {
                Some(next) if next.fresh => held_back = Some(next),
                Some(other) => other.leave(sink),
                None => break,
            }
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_segment(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Leaving>, Error> {
        loop {
            let next = self.next_of_written(now, observer)?;
            if next.is_some() || !self.core.write_on() {
                return Ok(next);
            }
        }
    }

    /// Returns the next segment of the data that the application has written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_of_written(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Leaving>, Error> {
        // Linux' engine asks for a decision once no path's queue has a segment that may leave. Then
        // it asks for the next decision (`get_send` in linux/schedulers/engine.c). So a queue
        // leaves by the previous limit.
        loop {
            self.note_asked(now);
            if self.core.commits() {
                self.core.begin_asking(now);
            } else {
                self.core.may_copy = self.may_copy();
                self.core.run_scheduler(now, observer)?;
            }
            if let Some(leaving) = self.next_retransmission(now, observer) {
                return Ok(Some(leaving));
            }
            // Linux' default scheduler fills the write queues first; then packets leave
            // (`tcp_push`).
            if self.core.hands_over() {
                if let Some((index, segment)) = self.core.next_new(now) {
                    self.commit(index, segment, SendReason::New);
                    continue;
                }
                if self.core.ask(now, observer)? {
                    continue;
                }
                self.note_committing(None);
            }
            if self.core.commits()
                && let Some(outgoing) = self.core.send_committed(now, observer)
            {
                return Ok(Some(Leaving { fresh: false, ..self.wrap(now, &outgoing) }));
            }
            // The only new data of a subflow is in its write queue, which has sent all it may.
            if self.core.commits()
                && self.stop_preferring_new()
                && let Some(leaving) = self.next_retransmission(now, observer)
            {
                return Ok(Some(leaving));
            }
            let (mut timed, mut copy) = (None, None);
            if self.may_copy() {
                // Retransmissions by the connection's own timer do not set that timer.
                timed = self.next_timed_copy();
                copy = timed.or_else(|| self.next_copy()).map(|next| (next, SendReason::Reinjection));
            }
            if copy.is_none()
                && let Some(outgoing) = self.core.send_at_once(now, observer)
            {
                self.note_burst(outgoing.path.index());
                self.share_window(outgoing.path.index(), outgoing.offset);
                self.note_given(now);
                return Ok(Some(self.wrap(now, &outgoing)));
            }
            let next = copy.or_else(|| self.core.next_new(now).map(|next| (next, SendReason::New)));
            let wanted = || self.next_wanted_copy().map(|next| (next, SendReason::Reinjection));
            let Some(((index, segment), reason)) = next.or_else(wanted) else {
                if self.core.commits() && self.core.ask(now, observer)? {
                    continue;
                }
                break;
            };
            self.note_burst(index);
            let whole = timed.is_some() && self.core.commits();
            let outgoing = if whole || self.core.holds_back(index, segment) {
                self.commit(index, segment, reason);
                // A whole fragment goes into the write queue at once, and its last packet has PSH
                // (`__mptcp_retrans`).
                while whole && let Some((index, segment)) = self.next_timed_copy() {
                    self.commit(index, segment, reason);
                }
                None
            } else {
                let outgoing = self.core.send(now, index, segment, reason, observer);
                self.share_window(index, outgoing.offset);
                Some(self.wrap(now, &outgoing))
            };
            if timed.is_none() {
                self.note_given(now);
            }
            if outgoing.is_some() {
                return Ok(outgoing);
            }
        }
        if self.stop_preferring_new() {
            return Ok(self.next_retransmission(now, observer));
        }
        self.note_committing(None);
        self.note_all_left(now);
        if self.config.rules.losses == Losses::ByTime {
            self.tell_use(now);
        } else {
            self.core.note_limits();
        }
        Ok(None)
    }

    /// Puts a segment into the write queue of a subflow.
    fn commit(&mut self, index: usize, segment: u64, reason: SendReason) {
        self.note_committing(Some(index));
        let offset = self.core.commit(index, segment, reason);
        self.share_window(index, offset);
    }

    /// Records the subflow whose write queue is being filled, if any. The burst of another subflow
    /// has ended.
    fn note_committing(&mut self, index: Option<usize>) {
        if let Some(other) = core::mem::replace(&mut self.committing, index)
            && index != Some(other)
        {
            self.core.mark_last(other);
        }
    }

    /// Prepares a segment that leaves for the first time on its subflow.
    #[inline]
    fn wrap(&mut self, now: Time, outgoing: &Outgoing) -> Leaving {
        let index = outgoing.path.index();
        let path = self.core.path_mut(index);
        if self.config.rules.losses == Losses::ByTime {
            path.note_sent_as_linux(now, outgoing.number);
        } else {
            if path.recovery.probe_due {
                path.note_probe(now, false);
            }
            path.arm_timers(now, false);
        }
        let timestamp = self.config.clock.at_sender(now);
        let echo = self.seen[index].echo;
        let ecn = path.recovery.ecn.of_new();
        let &Outgoing { path, data, offset, number, transmission, push, .. } = outgoing;
        Leaving { path, data, number, offset, timestamp, echo, push, ecn, transmission, fresh: true }
    }

    /// Returns the next retransmission: first lost segments, on their own subflow; then a probe, if
    /// one is due and no new data can serve as the probe.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Leaving> {
        if self.core.paths().iter().any(|path| path.recovery.wants_repair()) {
            self.find_retransmission(now, observer)
        } else {
            None
        }
    }

    #[inline(never)]
    fn find_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Leaving> {
        for index in 0..self.core.paths().len() {
            if !self.core.path(index).recovery.wants_repair() {
                continue;
            }
            self.core.path_mut(index).skip_settled();
            let path = self.core.path_mut(index);
            let subflow = &path.recovery;
            if let Some(&number) = subflow.lost.front()
                && !subflow.linux.withheld
                && !subflow.linux.prefers_new
                && (subflow.exempt > 0
                    || path.flight.get(number).is_some_and(|sent| path.has_window(u64::from(sent.bytes()))))
            {
                path.recovery.lost.pop_front();
                path.recovery.exempt = path.recovery.exempt.saturating_sub(1);
                return self.resend(now, index, number, observer);
            }
            if path.recovery.probe_due
                && let Some(leaving) = self.send_probe(now, index, observer)
            {
                return Some(leaving);
            }
        }
        None
    }

    /// RFC 8985 §7.3: a probe is the next new segment, if the path has one and the receiver's
    /// window admits it. Otherwise it is the last segment sent.
    fn send_probe(&mut self, now: Time, index: usize, observer: &mut impl Observer) -> Option<Leaving> {
        let path = self.core.path(index);
        let fresh = match self.core.commits() {
            true => path.admits_committed() && path.has_full_window(),
            false => path
                .next_queued()
                .is_some_and(|segment| self.core.admits(segment) && self.core.has_window_for(index, segment)),
        };
        if fresh {
            // The new segment leaves without this function, and will be recorded as the probe.
            return None;
        }
        if self.config.rules.losses == Losses::ByTime {
            let (number, sent) = self.core.path_mut(index).repeat_last(now)?;
            return Some(self.transmit_again(now, index, number, &sent, observer));
        }
        let path = self.core.path_mut(index);
        let flight = &mut path.flight;
        let last = (flight.first()..flight.next()).rev().find(|&number| {
            flight.get(number).is_some_and(|sent| sent.state() == TransmissionState::InFlight)
        });
        let Some(last) = last else {
            path.recovery.probe_due = false;
            return None;
        };
        flight.leave(last, TransmissionState::Lost);
        path.note_probe(now, true);
        self.resend(now, index, last, observer)
    }

    fn resend(
        &mut self,
        now: Time,
        index: usize,
        number: u64,
        observer: &mut impl Observer,
    ) -> Option<Leaving> {
        let order = self.core.path(index).sent;
        let sent = self.core.path_mut(index).flight.resend(now, order, number)?;
        let leaving = self.transmit_again(now, index, number, &sent, observer);
        let path = self.core.path_mut(index);
        if self.config.rules.losses == Losses::ByTime {
            path.note_resent_as_linux(now, number);
        } else {
            path.recovery.resent.push_back(Resent { number, order });
            path.note_repetition(now);
            path.arm_timers(now, false);
        }
        Some(leaving)
    }

    /// Retransmits a segment under its number on the subflow.
    fn transmit_again(
        &mut self,
        now: Time,
        index: usize,
        number: u64,
        sent: &Transmission,
        observer: &mut impl Observer,
    ) -> Leaving {
        let path = PathId(index as u8);
        let data = Data { segment: sent.segment, bytes: sent.bytes() };
        let transmission = self.core.note_sent_again(now, (path, number), data, observer);
        let timestamp = self.config.clock.at_sender(now);
        let offset = self.core.offset_of(data.segment).unwrap_or(0);
        let echo = self.seen[index].echo;
        let ecn = SegmentEcn::default();
        Leaving { path, data, number, offset, timestamp, echo, push: false, ecn, transmission, fresh: false }
    }

    /// Ends the preference for new data on all subflows, once no more of it leaves. Returns true if
    /// there were such subflows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stop_preferring_new(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.core.paths().len() {
            if self.core.path(index).recovery.linux.prefers_new {
                self.core.path_mut(index).judge_preference();
                any = true;
            }
        }
        any
    }

    /// True if data in flight may be copied to another subflow.
    #[inline]
    fn may_copy(&self) -> bool {
        self.core.wants_copies()
            || !self.reinjections.is_empty()
            || !self.parked.is_empty()
            || self.repeats.wait()
    }

    /// Returns a copy that may leave now: first data of a stale or silent subflow, then copies that
    /// the scheduler wants.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_copy(&mut self) -> Option<(usize, u64)> {
        self.unpark();
        if let Some(repeat) = self.next_stale() {
            return Some(repeat);
        }
        if !self.reinjections.is_empty() {
            self.core.update_facts();
        }
        while let Some(&segment) = self.reinjections.front() {
            let Some(carried) = self.core.carriers(segment) else {
                self.reinjections.pop_front();
                continue;
            };
            let fresh = |path: &&Path| !carried.contains(path.id);
            // No usable subflow takes the segment now. It waits for another one, unless all
            // subflows carry it already and deliver it themselves.
            if !plait_sched::usable(self.core.facts()).any(|path| fresh(&path)) {
                self.reinjections.pop_front();
                if self.core.facts().iter().any(|path| fresh(&path)) {
                    self.parked.push_back(segment);
                    self.parked_without = self.usable();
                }
                continue;
            }
            let open = plait_sched::usable(self.core.facts()).filter(fresh).filter(|path| {
                let index = path.id.index();
                self.core.has_window_for(index, segment)
                    && self.core.admits_on(index, segment)
                    && !self.core.has_awaited(index)
            });
            let Some(path) = open.min_by_key(|path| path.srtt) else { break };
            let index = path.id.index();
            self.reinjections.pop_front();
            return Some((index, segment));
        }
        // Linux' engine asks for a decision once no path's queue has a segment that may leave
        // (`get_send` in linux/schedulers/engine.c), so a copy never goes earlier.
        if self.core.commits() { None } else { self.next_wanted_copy() }
    }

    /// Returns a copy that the scheduler wants.
    fn next_wanted_copy(&mut self) -> Option<(usize, u64)> {
        if self.core.wants_copies() { self.core.next_reinjection() } else { None }
    }

    /// Returns the parked segments to the reinjection queue once the set of usable subflows has
    /// changed.
    fn unpark(&mut self) {
        if !self.parked.is_empty() && self.parked_without != self.usable() {
            merge_ascending(&mut self.reinjections, self.parked.drain(..));
        }
    }

    fn usable(&self) -> PathSet {
        let mut usable = PathSet::EMPTY;
        plait_sched::usable(self.core.facts()).for_each(|path| usable.insert(path.id));
        usable
    }
}

impl PathSender<Subflow> {
    /// Drops from the head of the retransmission queue segments that have arrived or are in flight
    /// again.
    fn skip_settled(&mut self) {
        let (flight, lost) = (&self.flight, &mut self.recovery.lost);
        while lost.front().is_some_and(|&number| {
            flight.get(number).is_none_or(|sent| sent.state() != TransmissionState::Lost)
        }) {
            lost.pop_front();
        }
    }
}
