//! Choosing the next packet: retransmissions, copies, then new data, lowest segment first.

use super::schedule::AtOnce;
use super::transmission::{Transmission, TransmissionId};
use super::{Core, NEVER, PathSender, SegmentState, WindowRule};
use crate::congestion::{CongestionController, CongestionEvent};
use crate::observer::{Observer, SendReason, Sent};
use crate::packet::Data;
use plait_sched::{Event, PathId, Scheduler, Time};

/// A segment that a path took. It leaves now, or waits in the path's write queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) path: PathId,
    pub(crate) data: Data,
    /// Offset of the segment in the stream, in bytes.
    pub(crate) offset: u64,
    /// The transmission's number on its path.
    pub(crate) number: u64,
    /// The transmission's number in the connection, once it has left.
    pub(crate) transmission: u64,
    /// Why it leaves.
    pub(crate) reason: SendReason,
    /// It carries PSH: it was the last packet of its burst.
    pub(crate) push: bool,
    /// It waited in the path's write queue.
    pub(crate) waited: bool,
    /// True if the segment was never sent on any path.
    pub(super) first_time: bool,
    /// It was never sent before on this path.
    clear: bool,
    /// The earlier transmission of the segment that is in flight elsewhere.
    earlier: Option<TransmissionId>,
}

impl<S: Scheduler, R> Core<S, R> {
    /// The next data packet that windows allow, if any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_data(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        if self.at_once.is_some() || self.has_other_data() { self.find_data(now, observer) } else { None }
    }

    /// True if there may be data that does not leave [at once](Core::send_at_once).
    #[inline]
    pub(crate) fn has_other_data(&self) -> bool {
        self.queued_segments > 0 || self.retransmits || self.wants_copies()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn find_data(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        if let Some(outgoing) = self.send_at_once(now, observer) {
            return Some(outgoing);
        }
        if let Some((index, segment)) = self.next_retransmission() {
            return Some(self.send(now, index, segment, SendReason::Retransmission, observer));
        }
        if self.wants_copies()
            && let Some((index, segment)) = self.next_reinjection()
        {
            return Some(self.send(now, index, segment, SendReason::Reinjection, observer));
        }
        let (index, segment) = self.next_new(now)?;
        Some(self.send(now, index, segment, SendReason::New, observer))
    }

    /// True if the scheduler's limit admits no new data on the path. `waiting` segments count
    /// beside those in flight.
    #[inline]
    pub(super) fn is_limited(&self, index: usize, waiting: u32) -> bool {
        let limit = self.facts[index].limit;
        limit < u32::MAX && self.paths[index].shown_in_flight().saturating_add(waiting) >= limit
    }

    /// True if the receiver's window admits a new segment. As a window probe, one segment may be in
    /// flight with any window (RFC 9260 §6.1 A). The segment that the receiver waits for takes no
    /// room there. If later segments that it refused are in flight, only this segment opens the
    /// window.
    pub(super) fn may_begin(&self, segment: u64) -> bool {
        self.admits(segment) || self.window.is_probed() || self.is_awaited(segment)
    }

    /// The receiver waits for this segment, which takes no room there.
    #[inline]
    fn is_awaited(&self, segment: u64) -> bool {
        segment == self.stream.first() && self.window.rule != WindowRule::Limit
    }

    /// Removes the next new segment that may leave: the lowest one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_new(&mut self, now: Time) -> Option<(usize, u64)> {
        if self.queued_segments == 0 { None } else { self.find_new(now) }
    }

    #[inline(never)]
    fn find_new(&mut self, now: Time) -> Option<(usize, u64)> {
        let mut best: Option<(usize, u64)> = None;
        for (index, path) in self.paths.iter().enumerate() {
            let Some(&segment) = path.queue.front() else { continue };
            if best.is_none_or(|(_, lowest)| segment < lowest)
                && !self.is_limited(index, 0)
                && self.has_room_for(index, segment)
                && path.takes(now, segment)
                && self.admits_on(index, segment)
            {
                best = Some((index, segment));
            }
        }
        let (index, segment) = best?;
        if !self.may_begin(segment) {
            return None;
        }
        Some((index, self.dequeue(now, index)?))
    }

    /// Removes the first segment of a path's queue.
    pub(super) fn dequeue(&mut self, now: Time, index: usize) -> Option<u64> {
        let path = &mut self.paths[index];
        let segment = path.queue.pop_front()?;
        path.note_new(now, segment);
        self.queued_segments -= 1;
        Some(segment)
    }

    /// True if the path's next new segment may leave now.
    pub(crate) fn has_new_for(&self, index: usize) -> bool {
        let path = &self.paths[index];
        if path.has_write_queue {
            return path.admits_committed() && path.has_full_window();
        }
        let next = path.queue.front();
        next.is_some_and(|&segment| self.admits(segment) && self.has_window_for(index, segment))
    }

    pub(crate) fn send(
        &mut self,
        now: Time,
        index: usize,
        segment: u64,
        reason: SendReason,
        observer: &mut impl Observer,
    ) -> Outgoing {
        let taken = self.take(index, segment, reason);
        let outgoing = self.launch(now, taken, observer);
        self.tell_sent(&outgoing);
        outgoing
    }

    /// Sends the next segment of the last assignment, if it may leave. This is a shortcut past the
    /// path's queue with the same result. If it may not leave, the assigned segments go into the
    /// queue.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send_at_once(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        let AtOnce { index, segments } = self.at_once?;
        let bytes = self.stream.next_bytes()?;
        let (segment, offset, counted) =
            (self.stream.frontier(), self.stream.frontier_offset(), self.counted(bytes));
        let begins =
            self.window.admits(offset, bytes, counted) || self.window.is_probed() || self.is_awaited(segment);
        let (path, sender) = (PathId(index as u8), &mut self.paths[index]);
        let open = sender.has_room(counted) && sender.takes(now, segment) && sender.own_window == u64::MAX;
        self.at_once = None;
        if !open || !begins || self.facts[index].limit < u32::MAX {
            self.assign(path, segments);
            return None;
        }
        if segments > 1 {
            self.at_once = Some(AtOnce { index, segments: segments - 1 });
        }
        let number = sender.next_number();
        sender.note_new(now, segment);
        self.stream.cut_and_send(TransmissionId::new(path.0, number), bytes);
        self.held += u64::from(bytes);
        self.window.sent(counted);
        self.sent_end = segment + 1;
        let taken = Outgoing {
            path,
            data: Data { segment, bytes },
            offset,
            number,
            transmission: 0,
            reason: SendReason::New,
            push: false,
            waited: false,
            first_time: true,
            clear: true,
            earlier: None,
        };
        let outgoing = self.launch(now, taken, observer);
        self.tell_sent(&outgoing);
        Some(outgoing)
    }

    /// Gives a segment to the path; it then counts as sent.
    pub(super) fn take(&mut self, index: usize, segment: u64, reason: SendReason) -> Outgoing {
        let path = PathId(index as u8);
        let number = self.paths[index].next_number();
        let (mut bytes, mut offset) = (0, 0);
        let (mut first_time, mut clear, mut earlier, mut counts) = (true, true, None, true);
        if let Some(entry) = self.stream.get_mut(segment) {
            (bytes, offset) = (entry.bytes(), entry.offset);
            first_time = !entry.ever_sent();
            // Lost data does not use the receiver's window until it is retransmitted (RFC 9260
            // §6.2.1 C).
            counts = first_time || entry.state() == SegmentState::Lost;
            let last = (!first_time).then_some(entry.newest);
            earlier = last.filter(|_| entry.state() == SegmentState::InFlight);
            entry.set_state(SegmentState::InFlight);
            if let Some(last) = last {
                self.paths[usize::from(last.path())].repeats(last.number(), earlier.is_none());
            }
            let tried = self.stream.note_sending(segment, TransmissionId::new(path.0, number));
            clear = reason != SendReason::Retransmission && !tried;
            if self.needs.uncarried {
                self.uncarried.look_again(segment, self.stream.spread(segment).carried);
            }
        }
        if counts {
            self.window.sent(self.counted(bytes));
        }
        if first_time {
            self.sent_end = self.sent_end.max(segment + 1);
        }
        Outgoing {
            path,
            data: Data { segment, bytes },
            offset,
            number,
            transmission: 0,
            reason,
            push: false,
            waited: false,
            first_time,
            clear,
            earlier,
        }
    }

    /// Sends an accepted segment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn launch(&mut self, now: Time, taken: Outgoing, observer: &mut impl Observer) -> Outgoing {
        let Outgoing { path, data, number, reason, clear, earlier, .. } = taken;
        if self.config.restarts_by_packet {
            self.restart_after_pause(now, path.index());
        }
        let overhead = self.config.counted_overhead;
        debug_assert!(self.timing_ends(path.index()), "a path whose timing never ends takes no sample");
        let sender = &mut self.paths[path.index()];
        let transmission = Transmission::new(now, data.segment, data.bytes + overhead, clear);
        let pushed = sender.flight.push(transmission, sender.sent, earlier);
        debug_assert_eq!(pushed, number, "write queues leave in order");
        if clear && sender.flight.remembers_settled() && !sender.times() {
            sender.timed = Some(number);
        }
        sender.note_leaving(now, data.bytes + overhead);
        let transmission = self.count_leaving(now, (path, number), data, reason, observer);
        Outgoing { transmission, ..taken }
    }

    /// Whether the timed transmission of a path can still give a sample: it is in flight, or its lost
    /// segment was not retransmitted. A forgotten one is replaced.
    fn timing_ends(&self, index: usize) -> bool {
        let Some(number) = self.paths[index].timed else { return true };
        let Some(sent) = self.paths[index].flight.remembered(number) else { return true };
        let newest = TransmissionId::new(index as u8, number);
        let segment = self.stream.get(sent.segment);
        sent.is_in_flight()
            || segment.is_some_and(|one| one.state() == SegmentState::Lost && one.newest == newest)
    }

    /// Called before a packet leaves: cuts the window if its burst is the first after a pause
    /// (`tcp_cwnd_restart`).
    fn restart_after_pause(&mut self, now: Time, index: usize) {
        let path = &mut self.paths[index];
        if path.flight.next() == path.flight.first() && path.sent > 0 {
            let (pause, timeout) = (now.since(path.last_sent).as_nanos(), path.rtt.rto().as_nanos().max(1));
            path.restart = (pause > timeout).then(|| (now, ((pause - 1) / timeout).min(32) as u32));
        }
        if let Some((moment, times)) = path.restart
            && moment == now
        {
            (0..times).for_each(|_| path.control.on_event(now, CongestionEvent::Idle));
            self.paths[index].touch();
        }
    }

    /// Retransmits a segment under its earlier number on the path.
    pub(crate) fn send_again(
        &mut self,
        now: Time,
        (index, number): (usize, u64),
        sent: &Transmission,
        observer: &mut impl Observer,
    ) -> Outgoing {
        let (path, reason) = (PathId(index as u8), SendReason::Retransmission);
        let bytes = sent.bytes() - self.config.counted_overhead;
        let data = Data { segment: sent.segment, bytes };
        self.paths[index].note_leaving(now, sent.bytes());
        let transmission = self.count_leaving(now, (path, number), data, reason, observer);
        let again = Outgoing {
            path,
            data,
            offset: self.stream.get(sent.segment).map_or(0, |entry| entry.offset),
            number,
            transmission,
            reason,
            push: false,
            waited: false,
            first_time: false,
            clear: false,
            earlier: None,
        };
        self.tell_sent(&again);
        again
    }

    /// Counts data that leaves under this number of the path, and tells the observer. Returns the
    /// transmission's number in the connection.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn count_leaving(
        &mut self,
        now: Time,
        (path, number): (PathId, u64),
        data: Data,
        reason: SendReason,
        observer: &mut impl Observer,
    ) -> u64 {
        match reason {
            SendReason::New => {}
            SendReason::Retransmission => self.counters.retransmissions += 1,
            SendReason::Reinjection => self.counters.reinjections += 1,
        }
        self.left_while_blocked |= self.autotuned && self.buffer.blocks();
        let transmission = self.next_transmission;
        self.next_transmission += 1;
        let Data { segment, bytes } = data;
        observer.sent(now, &Sent { path, transmission, number, segment, bytes, reason });
        transmission
    }

    /// Reports sent data to the scheduler; the facts are up to date.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn tell_sent(&mut self, sent: &Outgoing) {
        let &Outgoing { path, data: Data { segment, bytes }, first_time, .. } = sent;
        if sent.reason == SendReason::New {
            // Windows count bytes, schedulers full segments: a small one leaves room that they did
            // not see.
            self.ask_again = self.needs.reinject || bytes < self.config.segment_bytes;
        }
        self.notify(&Event::Sent { path, segment, retransmission: !first_time });
    }
}

impl<R> PathSender<R> {
    /// Notes that a packet of `counted` bytes leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note_leaving(&mut self, now: Time, counted: u32) {
        self.sent += 1;
        if self.flight.segments() == 1 {
            let (idle, app_limited) = (now.since(self.last_sent), self.flight.is_limited());
            self.control.on_event(now, CongestionEvent::Resumed { idle, app_limited });
        }
        self.last_sent = now;
        self.pace(now, counted);
        if self.retransmission_timer == NEVER {
            self.restart_timer(now);
        }
        self.idle_from = now;
        self.touch_amounts();
    }
}
