//! The write queue of a path: segments that the path accepted and that its own window still holds
//! back.
//!
//! Linux' MPTCP hands a subflow as much data as its congestion window and the connection's window
//! admit (`sendable` in linux/schedulers/engine.c, `mptcp_sendmsg_frag` in net/mptcp/protocol.c).
//! TCP checks the subflow's own window only when the packet is about to leave (`tcp_snd_wnd_test`
//! in net/ipv4/tcp_output.c). Until then the packet waits in the subflow's write queue. It counts
//! as sent and cannot be taken back. It leaves even if a copy was acknowledged meanwhile.

use super::transmission::TransmissionId;
use super::{Core, Outgoing, PathSender};
use crate::observer::{Observer, SendReason};
use crate::packet::Data;
use plait_sched::{PathId, Scheduler, Time};

/// A segment that a path took, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(super) data: Data,
    /// Offset of the segment in the stream, in bytes.
    pub(super) offset: u64,
    pub(super) reason: SendReason,
    /// True if the segment was never sent on any path.
    pub(super) first_time: bool,
    /// It was never sent before on this path.
    pub(super) clear: bool,
    /// The earlier transmission of the segment that is in flight elsewhere.
    pub(super) earlier: Option<TransmissionId>,
    /// It carries PSH: it was the last packet of its burst.
    pub(super) push: bool,
}

impl<R> PathSender<R> {
    /// True if the write queue holds segments.
    pub(crate) fn has_committed(&self) -> bool {
        !self.committed.is_empty()
    }

    /// True if the path's own window admits the first segment of its write queue.
    pub(crate) fn admits_committed(&self) -> bool {
        let span = self.flight.span_bytes();
        let counted = |taken: &Taken| u64::from(taken.data.bytes) + self.overhead;
        let fits = |taken: &Taken| span == 0 || span + counted(taken) <= self.own_window;
        self.committed.front().is_some_and(fits)
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// True if the path may take `segment`.
    pub(crate) fn lets_in(&self, index: usize, segment: u64) -> bool {
        self.commits || self.admits_on(index, segment)
    }

    /// True if a segment that the path accepts now has to wait in its write queue for the
    /// receiver's window.
    pub(crate) fn holds_back(&self, index: usize, segment: u64) -> bool {
        let path = &self.paths[index];
        self.commits && (path.has_committed() || path.is_paced_out() || !self.admits_on(index, segment))
    }

    /// Accepts `segment` on the path; it leaves when the path's own window admits it. Returns its
    /// first byte's offset in the stream.
    pub(crate) fn commit(&mut self, index: usize, segment: u64, reason: SendReason) -> u64 {
        let taken = self.take(index, segment, reason);
        let sender = &mut self.paths[index];
        sender.committed.push_back(taken);
        sender.committed_bytes += u64::from(taken.data.bytes);
        self.touch_amounts(index);
        self.tell_sent(PathId(index as u8), taken.data, reason, taken.first_time);
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
        let admitted =
            |&index: &usize| self.paths[index].admits_committed() && self.paths[index].has_full_window();
        let index = (0..self.paths.len()).find(admitted)?;
        let sender = &mut self.paths[index];
        let taken = sender.committed.pop_front()?;
        sender.committed_bytes -= u64::from(taken.data.bytes);
        Some(self.launch(now, index, &taken, observer))
    }
}
