//! Selection of the next packet where subflows have write queues, as in Linux: a burst of segments
//! goes to the write queue of one subflow, and its last packet is marked (`tcp_push` in
//! net/ipv4/tcp.c).

use super::sender::Sender;
use crate::core::Outgoing;
use crate::error::Error;
use crate::observer::{Observer, SendReason};
use crate::packet::tcp::Packet;
use crate::sink::SinkOf;
use plait_sched::{Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// Sends all packets that may leave now, and marks the end of each burst with PSH. A segment
    /// leaves once it is known whether another one follows.
    #[inline(never)]
    pub(super) fn transmit_bursts(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error> {
        let mut held_back: Option<Outgoing> = None;
        loop {
            let next = self.next_of_bursts(now, observer)?;
            if let Some(mut last) = held_back.take() {
                let ends = next.is_none_or(|next| !is_fresh(&next) || next.path != last.path);
                last.push = ends && !self.core.paths[last.path.index()].has_committed();
                self.leave(now, &last, sink);
                if next.is_none() && self.core.has_opportunity() {
                    continue;
                }
            }
            match next {
                Some(next) if is_fresh(&next) => held_back = Some(next),
                Some(other) => self.leave(now, &other, sink),
                None => return Ok(()),
            }
        }
    }

    /// Returns the next segment. Lets the application write if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_of_bursts(&mut self, now: Time, observer: &mut impl Observer) -> Result<Option<Outgoing>, Error> {
        loop {
            let next = self.next_of_written(now, observer)?;
            if next.is_some() || !self.core.write_on() {
                return Ok(next);
            }
        }
    }

    /// Returns the next segment of the data that the application has written.
    ///
    /// Linux' engine asks for a decision once no path's queue has a segment that may leave. Then it
    /// asks for the next decision (`plait_get_send` in linux/schedulers/engine.c). So a queue leaves by
    /// the previous limit.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next_of_written(
        &mut self,
        now: Time,
        observer: &mut impl Observer,
    ) -> Result<Option<Outgoing>, Error> {
        loop {
            self.note_asked(now);
            self.core.begin_asking(now);
            if let Some(outgoing) = self.next_retransmission(now, observer) {
                return Ok(Some(outgoing));
            }
            // Linux' default scheduler fills the write queues first; then packets leave.
            if self.core.hands_over() {
                if let Some((index, segment)) = self.core.next_to_commit(now) {
                    self.commit(index, segment, SendReason::New);
                    continue;
                }
                if self.core.ask(now, observer)? {
                    continue;
                }
                self.note_committing(None);
            }
            if let Some(outgoing) = self.core.send_committed(now, observer) {
                self.note_new(now, &outgoing);
                return Ok(Some(outgoing));
            }
            // The only new data of a subflow is in its write queue, which has sent all it may.
            if self.stop_preferring_new()
                && let Some(outgoing) = self.next_retransmission(now, observer)
            {
                return Ok(Some(outgoing));
            }
            if self.repeats.wait() && self.commit_timed_copies() {
                continue;
            }
            let Some((index, segment, reason)) = self.next_of_data(now) else {
                if self.core.ask(now, observer)? {
                    continue;
                }
                self.note_committing(None);
                self.note_all_left(now);
                return Ok(self.finish_sending(now, observer));
            };
            self.note_burst(index);
            if self.core.holds_back(index, segment) {
                self.commit(index, segment, reason);
                self.note_given(now);
                continue;
            }
            let outgoing = self.core.send(now, index, segment, reason, observer);
            self.share_window(index, outgoing.offset);
            self.note_new(now, &outgoing);
            self.note_given(now);
            return Ok(Some(outgoing));
        }
    }

    /// Returns the next segment for a subflow: data of a stale subflow, new data, or a copy that
    /// the scheduler wants.
    fn next_of_data(&mut self, now: Time) -> Option<(usize, u64, SendReason)> {
        let stale = if self.repeats.wait() { self.next_stale(now) } else { None };
        if let Some((index, segment)) = stale {
            return Some((index, segment, SendReason::Reinjection));
        }
        if let Some((index, segment)) = self.core.next_to_commit(now) {
            return Some((index, segment, SendReason::New));
        }
        let (index, segment) = self.next_wanted_copy()?;
        Some((index, segment, SendReason::Reinjection))
    }

    /// Puts the copies of the connection's own timer into write queues. A whole fragment enters at
    /// once, and its last packet has PSH (`__mptcp_retrans`). Retransmissions by that timer do not
    /// set it. Returns true if there were any.
    fn commit_timed_copies(&mut self) -> bool {
        let mut any = false;
        while let Some((index, segment)) = self.next_timed_copy() {
            if !any {
                self.note_burst(index);
            }
            any = true;
            self.commit(index, segment, SendReason::Reinjection);
        }
        any
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
}

/// True if the segment leaves for the first time on its subflow, and did not wait in a write queue.
fn is_fresh(outgoing: &Outgoing) -> bool {
    outgoing.reason != SendReason::Retransmission && !outgoing.waited
}
