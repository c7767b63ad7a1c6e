//! The write queue of a path: segments that the path accepted and that its own window still holds
//! back.
//!
//! Linux' MPTCP hands a subflow as much data as its congestion window and the connection's window
//! admit (`sendable` in linux/schedulers/ranges.c, `mptcp_sendmsg_frag` in net/mptcp/protocol.c).
//! TCP checks the subflow's own window only when the packet is about to leave (`tcp_snd_wnd_test`
//! in net/ipv4/tcp_output.c). Until then the packet waits in the subflow's write queue. It counts
//! as sent and cannot be taken back. It leaves even if a copy was acknowledged meanwhile.

use super::{Core, Outgoing, PathSender};
use crate::observer::{Observer, SendReason};
use plait_sched::{Scheduler, Time};

impl<R> PathSender<R> {
    /// True if the write queue holds segments.
    pub(crate) fn has_committed(&self) -> bool {
        !self.committed.is_empty()
    }

    /// True if the path's own window admits the first segment of its write queue.
    pub(crate) fn admits_committed(&self) -> bool {
        let Some(taken) = self.committed.front() else { return false };
        let span = self.flight.span_bytes();
        span == 0 || span + u64::from(taken.data.bytes) + self.overhead <= self.own_window
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// Removes the next new segment for a write queue. The first path whose queue has a segment for
    /// it is served (`plait_send_queued` in linux/schedulers/ranges.c).
    pub(crate) fn next_to_commit(&mut self, now: Time) -> Option<(usize, u64)> {
        let index = self.path_to_commit(now)?;
        Some((index, self.dequeue(now, index)?))
    }

    /// Returns the path whose write queue takes the next assigned segment.
    #[inline]
    pub(crate) fn path_to_commit(&self, now: Time) -> Option<usize> {
        if self.queued_segments == 0 {
            return None;
        }
        self.paths.iter().position(|path| self.may_commit(now, path))
    }

    /// True if the path's write queue takes the first segment of its queue. A scheduler that hands
    /// over data has looked at windows and recovery itself. Otherwise a path whose losses are
    /// repaired gets nothing (`sendable` in linux/schedulers/ranges.c: TCP_CA_Loss).
    fn may_commit(&self, now: Time, path: &PathSender<R>) -> bool {
        let index = path.id().index();
        path.queue.front().is_some_and(|&segment| {
            (self.hands_over() || !path.recovering && self.has_room_for(index, segment))
                && !self.is_limited(index, path.committed.len() as u32)
                && path.takes(now, segment)
                && self.may_begin(segment)
        })
    }

    /// True if a segment that the path accepts now has to wait in its write queue for the
    /// receiver's window.
    pub(crate) fn holds_back(&self, index: usize, segment: u64) -> bool {
        let path = &self.paths[index];
        path.has_committed() || path.is_paced_out() || !self.admits_on(index, segment)
    }

    /// Accepts `segment` on the path; it leaves when the path's own window admits it. Returns its
    /// first byte's offset in the stream.
    pub(crate) fn commit(&mut self, index: usize, segment: u64, reason: SendReason) -> u64 {
        let mut taken = self.take(index, segment, reason);
        taken.waited = true;
        let path = &mut self.paths[index];
        path.committed.push_back(taken);
        path.committed_bytes += u64::from(taken.data.bytes);
        path.touch_amounts();
        self.tell_sent(&taken);
        taken.offset
    }

    /// Marks the last packet of a burst with PSH (`tcp_push` in net/ipv4/tcp.c).
    pub(crate) fn mark_last(&mut self, index: usize) {
        if let Some(taken) = self.paths[index].committed.back_mut() {
            taken.push = true;
        }
    }

    /// Sends the next segment of a write queue, as soon as both windows of its path admit it.
    pub(crate) fn send_committed(&mut self, now: Time, observer: &mut impl Observer) -> Option<Outgoing> {
        let admitted = |path: &PathSender<R>| path.admits_committed() && path.has_full_window();
        let index = self.paths.iter().position(admitted)?;
        let path = &mut self.paths[index];
        let taken = path.committed.pop_front()?;
        path.committed_bytes -= u64::from(taken.data.bytes);
        Some(self.launch(now, taken, observer))
    }
}
