//! Selection of the next packet: retransmissions and probes of a subflow, copies, then new data.
//! Subflows with write queues have an order of their own (`bursts.rs`).

use super::rules::Losses;
use super::sender::Sender;
use super::subflow::{Resent, Subflow};
use crate::core::{Outgoing, PathSender, TransmissionState};
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::SegmentEcn;
use crate::packet::tcp::{Packet, TcpSegment};
use crate::sink::{Origin, SinkOf, Transmit};
use plait_sched::{Scheduler, Time};

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
        if !self.control.is_empty() {
            self.transmit_control(sink);
        }
        self.repairs = self.core.paths.iter().any(|path| path.recovery.wants_repair());
        if self.config.has_write_queues() {
            return self.transmit_bursts(now, sink, observer);
        }
        loop {
            if !self.send_next(now, sink, observer)? && !self.core.write_on() {
                return Ok(());
            }
        }
    }

    /// Sends the packets of handshakes.
    #[inline(never)]
    fn transmit_control(&mut self, sink: &mut impl SinkOf<Packet>) {
        for (path, packet) in self.control.drain(..) {
            let origin = Origin::Sender { offset: None };
            sink.send(&Transmit { path, packet: &packet, transmission: 0, origin });
        }
    }

    /// Sends a segment, without a piggybacked acknowledgement.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn leave(&mut self, now: Time, outgoing: &Outgoing, sink: &mut impl SinkOf<Packet>) {
        let &Outgoing { path, data, number, offset, transmission, push, reason, .. } = outgoing;
        let ecn = match reason {
            SendReason::Retransmission => SegmentEcn::default(),
            SendReason::New | SendReason::Reinjection => self.core.paths[path.index()].recovery.ecn.of_new(),
        };
        let (timestamp, echo) = (self.config.clock.at_sender(now), self.seen[path.index()].echo);
        let segment = TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn };
        let (packet, origin) = (&Packet::Segment(segment), Origin::Sender { offset: Some(offset) });
        sink.send(&Transmit { path, packet, transmission, origin });
    }

    /// Sends the next segment of the written data, for subflows without write queues. Returns false
    /// if there is none. The usual segment leaves without a call, and without a copy of its record.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send_next(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<bool, Error> {
        let may_copy = self.may_copy();
        self.core.may_copy = may_copy;
        self.core.run_scheduler(now, observer)?;
        if !self.repairs && !may_copy {
            // It takes no part of a subflow's own window: such subflows send nothing at once.
            if let Some(outgoing) = self.core.send_at_once(now, observer) {
                self.leave_new(now, outgoing, sink);
                return Ok(true);
            }
            if self.config.rules.losses == Losses::ByOrder && !self.core.has_other_data() {
                self.core.note_limits();
                return Ok(false);
            }
        }
        Ok(self.send_other(now, may_copy, sink, observer))
    }

    /// Sends the next segment, after the scheduler's decisions. Returns false if there is none.
    #[inline(never)]
    fn send_other(
        &mut self,
        now: Time,
        may_copy: bool,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> bool {
        if let Some(again) = self.next_retransmission(now, observer) {
            self.leave(now, &again, sink);
            return true;
        }
        let copy = if may_copy { self.next_copy() } else { None };
        let outgoing = if let Some((index, segment)) = copy {
            self.core.send(now, index, segment, SendReason::Reinjection, observer)
        } else if let Some(outgoing) = self.core.send_at_once(now, observer) {
            outgoing
        } else if let Some((index, segment)) = self.core.next_new(now) {
            self.core.send(now, index, segment, SendReason::New, observer)
        } else {
            let again = self.finish_sending(now, observer);
            return again.inspect(|again| self.leave(now, again, sink)).is_some();
        };
        self.share_window(outgoing.path.index(), outgoing.offset);
        self.leave_new(now, outgoing, sink);
        true
    }

    /// Sends new data or a copy.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave_new(&mut self, now: Time, mut outgoing: Outgoing, sink: &mut impl SinkOf<Packet>) {
        self.note_new(now, &outgoing);
        if self.config.rules.pushes {
            outgoing.push = self.marks(outgoing.offset, outgoing.data.bytes);
        }
        self.leave(now, &outgoing, sink);
    }

    /// Handles the end of new data and copies. Returns a retransmission that new data went before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish_sending(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
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

    /// Sets the timers for a segment that leaves for the first time on its subflow.
    #[inline]
    pub(super) fn note_new(&mut self, now: Time, outgoing: &Outgoing) {
        let path = &mut self.core.paths[outgoing.path.index()];
        if self.config.rules.losses == Losses::ByTime {
            path.note_sent_as_linux(now, outgoing.number);
            return;
        }
        if path.recovery.probe_due {
            path.note_probe(now, false);
        }
        path.arm_timers(now, false);
    }

    /// Returns the next retransmission: first lost segments, on their own subflow; then a probe, if
    /// one is due and no new data can serve as the probe.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_retransmission(
        &mut self,
        now: Time,
        observer: &mut impl Observer,
    ) -> Option<Outgoing> {
        if self.repairs { self.find_retransmission(now, observer) } else { None }
    }

    #[inline(never)]
    fn find_retransmission(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        for index in 0..self.core.paths.len() {
            if !self.core.paths[index].recovery.wants_repair() {
                continue;
            }
            self.core.paths[index].skip_settled();
            let path = &mut self.core.paths[index];
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
                && let Some(outgoing) = self.send_probe(now, index, observer)
            {
                return Some(outgoing);
            }
        }
        None
    }

    /// RFC 8985 §7.3: a probe is the next new segment, if the path has one and the receiver's
    /// window admits it. Otherwise it is the last segment sent.
    fn send_probe(&mut self, now: Time, index: usize, observer: &mut impl Observer) -> Option<Outgoing> {
        if self.core.has_new_for(index) {
            // The new segment leaves without this function, and will be recorded as the probe.
            return None;
        }
        if self.config.rules.losses == Losses::ByTime {
            let (number, sent) = self.core.paths[index].repeat_last(now)?;
            return Some(self.core.send_again(now, (index, number), &sent, observer));
        }
        let path = &mut self.core.paths[index];
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
    ) -> Option<Outgoing> {
        let order = self.core.paths[index].sent;
        let sent = self.core.paths[index].flight.resend(now, order, number)?;
        let outgoing = self.core.send_again(now, (index, number), &sent, observer);
        let path = &mut self.core.paths[index];
        if self.config.rules.losses == Losses::ByTime {
            path.note_resent_as_linux(now, number);
        } else {
            path.recovery.resent.push_back(Resent { number, order });
            path.note_repetition(now);
            path.arm_timers(now, false);
        }
        Some(outgoing)
    }

    /// Ends the preference for new data on all subflows, once no more of it leaves. Returns true if
    /// there were such subflows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn stop_preferring_new(&mut self) -> bool {
        let mut any = false;
        for path in self.core.paths.iter_mut().filter(|path| path.recovery.linux.prefers_new) {
            path.judge_preference();
            any = true;
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
