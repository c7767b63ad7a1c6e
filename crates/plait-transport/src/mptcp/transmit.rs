//! Selection of the next packet: retransmissions and probes of a subflow, copies, then new data.
//! Subflows with write queues have an order of their own (`bursts.rs`).

use super::rules::Losses;
use super::sender::Sender;
use super::subflow::{Resent, Subflow};
use crate::core::{Outgoing, PathSender, Transmission, TransmissionState};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::{Data, Packet, SegmentEcn, TcpSegment};
use crate::sink::{Origin, Sink, Transmit};
use plait_sched::{PathId, Scheduler, Time};

/// A segment that leaves on a subflow, without a piggybacked acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) path: PathId,
    pub(super) segment: TcpSegment,
    pub(super) transmission: u64,
    /// True for the first transmission on this subflow, unless it waited in a write queue.
    pub(super) fresh: bool,
}

impl Leaving {
    pub(super) fn leave(&self, sink: &mut impl Sink) {
        let &Self { path, segment, transmission, .. } = self;
        let origin = Origin::Sender { offset: Some(segment.offset) };
        sink.send(&Transmit { path, packet: &Packet::Segment(segment), transmission, origin });
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
        sink: &mut impl Sink,
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
        if self.config.has_write_queues() {
            return self.transmit_bursts(now, sink, observer);
        }
        loop {
            if let Some(mut leaving) = self.next_segment(now, observer)? {
                if self.config.rules.pushes && leaving.fresh {
                    leaving.segment.push = self.marks(leaving.segment.offset, leaving.segment.data.bytes);
                }
                leaving.leave(sink);
            } else if !self.core.write_on() {
                return Ok(());
            }
        }
    }

    /// Returns the next segment of the written data, for subflows without write queues.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_segment(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Leaving>, Error> {
        self.core.may_copy = self.may_copy();
        self.core.run_scheduler(now, observer)?;
        if let Some(leaving) = self.next_retransmission(now, observer) {
            return Ok(Some(leaving));
        }
        let copy = if self.may_copy() { self.next_copy() } else { None };
        let outgoing = if let Some((index, segment)) = copy {
            self.core.send(now, index, segment, SendReason::Reinjection, observer)
        } else if let Some(outgoing) = self.core.send_at_once(now, observer) {
            outgoing
        } else if let Some((index, segment)) = self.core.next_new(now) {
            self.core.send(now, index, segment, SendReason::New, observer)
        } else {
            return Ok(self.finish_sending(now, observer));
        };
        self.share_window(outgoing.path.index(), outgoing.offset);
        Ok(Some(self.wrap(now, &outgoing)))
    }

    /// Handles the end of new data and copies. Returns a retransmission that new data went before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish_sending(&mut self, now: Time, observer: &mut impl Observer) -> Option<Leaving> {
        if self.config.rules.losses == Losses::ByOrder {
            self.core.note_limits();
            return None;
        }
        if self.stop_preferring_new() {
            return self.next_retransmission(now, observer);
        }
        self.tell_use(now);
        None
    }

    /// Prepares a segment that leaves for the first time on its subflow.
    #[inline]
    pub(super) fn wrap(&mut self, now: Time, outgoing: &Outgoing) -> Leaving {
        let &Outgoing { path: id, data, offset, number, transmission, push, .. } = outgoing;
        let path = self.core.path_mut(id.index());
        match self.config.rules.losses {
            Losses::ByTime => path.note_sent_as_linux(now, number),
            Losses::ByOrder => {
                if path.recovery.probe_due {
                    path.note_probe(now, false);
                }
                path.arm_timers(now, false);
            }
        }
        let ecn = path.recovery.ecn.of_new();
        let timestamp = self.config.clock.at_sender(now);
        let echo = self.seen[id.index()].echo;
        let segment = TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn };
        Leaving { path: id, segment, transmission, fresh: true }
    }

    /// Returns the next retransmission: first lost segments, on their own subflow; then a probe, if
    /// one is due and no new data can serve as the probe.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Leaving> {
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
        if self.core.has_new_for(index) {
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
        let (echo, ecn) = (self.seen[index].echo, SegmentEcn::default());
        let segment = TcpSegment { data, number, offset, timestamp, echo, push: false, ack: None, ecn };
        Leaving { path, segment, transmission, fresh: false }
    }

    /// Ends the preference for new data on all subflows, once no more of it leaves. Returns true if
    /// there were such subflows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn stop_preferring_new(&mut self) -> bool {
        let mut any = false;
        for index in 0..self.core.paths().len() {
            if self.core.path(index).recovery.linux.prefers_new {
                self.core.path_mut(index).judge_preference();
                any = true;
            }
        }
        any
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
