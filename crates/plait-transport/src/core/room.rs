//! How much of a path's congestion window, and of its memory, is open.

use super::pacer;
use super::send_buffer::PACKET_MEMORY;
use super::{Core, PathSender};
use crate::congestion::CongestionController;
use plait_sched::{Scheduler, Time};

/// When a packet fits into a congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fit {
    /// While one byte is left (RFC 9260 §6.1 B).
    Overshoots,
    /// A packet fits as long as fewer packets are in flight than the window has, of any size
    /// (Linux).
    InPackets,
    /// If all of its bytes fit (RFC 5681 §3.1, RFC 9002 §7).
    InBytes,
}

impl<R> PathSender<R> {
    /// Bytes that the window must have left for a packet that counts `bytes`.
    #[inline]
    pub(super) fn wants(&self, bytes: u64) -> u64 {
        match self.fit {
            Fit::Overshoots => 1,
            Fit::InPackets => self.segment,
            Fit::InBytes => bytes,
        }
    }

    /// True if the congestion window lets a packet out that counts `bytes`.
    pub(crate) fn has_window(&self, bytes: u64) -> bool {
        self.used() + self.wants(bytes) <= self.open_window()
    }

    /// True if the congestion window lets a full segment out.
    pub(crate) fn has_full_window(&self) -> bool {
        self.used() + self.headroom <= self.open_window()
    }

    /// True if the congestion window has room for a packet of `bytes` behind the path's write
    /// queue.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.used() + self.waiting_segments() * self.segment + self.wants(bytes) <= self.window_for_data()
    }

    /// True if the scheduler would be shown room on the path (`plait_sched::Path::room`).
    #[inline]
    pub(super) fn shows_room(&self) -> bool {
        let (taken, window) = (self.used() + self.wants(self.next_packet), self.window_for_data());
        taken <= window && taken + u64::from(self.unsent()) * self.segment <= window
    }

    /// Another new packet is the next one, which counts `bytes`.
    pub(super) fn set_next_packet(&mut self, bytes: u64) {
        self.next_packet = bytes;
    }

    /// Data waits: notes whether the window has no room for it.
    #[inline]
    pub(super) fn note_limit(&mut self) {
        let next = self.flight.next();
        if self.limited_before != next && self.used() + self.wants(self.next_packet) > self.window() {
            self.limited_before = next;
        }
    }

    /// Called when no more packets can leave. If the window has room for another one, then the
    /// application, the scheduler or the receiver limits the flight. Delivery-rate samples then do
    /// not show the path's capacity.
    pub(super) fn note_limited_flight(&mut self) {
        if !self.is_paced_out() && self.has_full_window() {
            let used = self.used();
            self.flight.mark_limited(used);
        }
    }

    /// Called before data is written, if less than a full segment waits. If the window has room and
    /// all losses are retransmitted, then the application limits the flight
    /// (`tcp_rate_check_app_limited`). Departure: packets that wait in the sender's own interface
    /// do not count.
    pub(super) fn note_limited_write(&mut self) {
        let used = self.used();
        if self.limited_at_writes && used + self.segment <= self.window() && !self.has_something_waiting() {
            self.flight.mark_limited(used);
        }
    }

    /// True if the path has a retransmission or new data to send.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn has_something_waiting(&self) -> bool {
        self.unsent() > 0
    }

    /// Segments that wait, lost ones too.
    #[inline]
    pub(super) fn unsent(&self) -> u32 {
        self.flight.lost() + self.waiting + self.queued()
    }

    /// Segments that wait to leave, for any reason.
    #[inline]
    pub(super) fn queued(&self) -> u32 {
        (self.queue.len() + self.committed.len() + self.reinjections.len()) as u32
    }

    /// Packets that the path's own window holds back.
    pub(super) fn waiting_segments(&self) -> u64 {
        self.committed.len() as u64
    }

    /// The number of the next transmission that the path accepts.
    pub(crate) fn next_number(&self) -> u64 {
        self.flight.next() + self.waiting_segments()
    }

    /// True if the path's data that is not cumulatively acknowledged fills its send memory
    /// (`sk_stream_memory_free` in include/net/sock.h). Selectively acknowledged packets and lost
    /// packets stay in memory. Retransmissions take none.
    fn is_memory_full(&self) -> bool {
        self.send_memory != u64::MAX && self.memory() >= self.send_memory
    }

    pub(super) fn memory(&self) -> u64 {
        let packets = self.next_number() - self.flight.first();
        self.flight.span_bytes() + self.committed_bytes + packets * PACKET_MEMORY
    }

    /// True if schedulers shall see the path as in recovery, which admits no new data; a full send
    /// buffer counts as that. Assigned data that the window lets out counts as sent, since each
    /// decision is executed before the next one.
    #[inline]
    pub(crate) fn admits_nothing_new(&self) -> bool {
        let segments = || u64::from(self.open_segments(self.window(), self.used()));
        let open = || segments().saturating_sub(self.waiting_segments());
        let leaving = || (self.queue.len() as u64).min(open());
        self.recovering
            || self.send_memory != u64::MAX
                && self.memory() + leaving() * (self.segment + PACKET_MEMORY) >= self.send_memory
    }

    /// True if the path has memory for a new segment. Memory is checked when a run of segments
    /// begins to leave, not per segment: the scheduler's answer gives their number
    /// (`mptcp_sendmsg_frag` in net/mptcp/protocol.c does not check).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn takes(&self, now: Time, segment: u64) -> bool {
        !self.is_memory_full() || self.last_new == (now, segment)
    }

    /// A new segment leaves.
    pub(crate) fn note_new(&mut self, now: Time, segment: u64) {
        self.last_new = (now, segment + 1);
    }

    /// Bytes of the congestion window in use, for any scheduler: the bytes in flight (RFC 5681, RFC
    /// 9260). If windows count packets, as in Linux, each packet uses a full segment.
    pub(crate) fn used(&self) -> u64 {
        match self.fit {
            Fit::InPackets => u64::from(self.flight.segments()) * self.segment,
            Fit::Overshoots | Fit::InBytes => self.flight.bytes(),
        }
    }

    /// Full segments that may leave until the window is full, of which `used` bytes are in use.
    #[inline]
    pub(super) fn open_segments(&self, window: u64, used: u64) -> u32 {
        let left = (window + self.segment - self.headroom).saturating_sub(used);
        // Usually none or one: no division.
        if left < 2 * self.segment {
            return u32::from(left >= self.segment);
        }
        u32::try_from(left / self.segment).unwrap_or(u32::MAX)
    }

    /// The congestion window, cut by the burst limit.
    pub(crate) fn window(&self) -> u64 {
        let window = self.reduced_window.unwrap_or(self.control.window()).min(self.burst_limit);
        window.max(self.probe_room)
    }

    /// True if packets are paced.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.pacer.is_some()
    }

    /// True if pacing holds packets back now.
    #[inline]
    pub(super) fn is_paced_out(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| !pacer.is_open())
    }

    /// The window that packets may fill now: none of it is open while pacing holds them back.
    #[inline]
    pub(super) fn open_window(&self) -> u64 {
        self.open_part(self.window())
    }

    #[inline]
    fn open_part(&self, window: u64) -> u64 {
        if self.is_paced_out() { self.used().min(window) } else { window }
    }

    /// The part of the window for segments that the path takes now. A path with a write queue takes
    /// them while pacing holds packets back.
    #[inline]
    pub(super) fn part_for_data(&self, window: u64) -> u64 {
        if self.has_write_queue { window } else { self.open_part(window) }
    }

    #[inline]
    fn window_for_data(&self) -> u64 {
        self.part_for_data(self.window())
    }

    /// Looks whether pacing lets packets out.
    #[inline]
    pub(super) fn look_at_pacer(&mut self, now: Time) -> bool {
        let changed = self.pacer.as_mut().is_some_and(|pacer| pacer.look(now));
        if changed {
            self.touch_amounts();
        }
        changed
    }

    /// A packet with data has left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pace(&mut self, now: Time, bytes: u32) {
        if self.pacer.is_some() {
            self.pace_packet(now, bytes);
        }
    }

    #[inline(never)]
    fn pace_packet(&mut self, now: Time, bytes: u32) {
        let rate = self.pacing_rate().unwrap_or(0);
        self.pacer.iter_mut().for_each(|pacer| pacer.note_sent(now, bytes, rate, self.segment));
    }

    /// The rate in bytes per second at which packets leave, if they are paced: that of congestion
    /// control, or 5/4 of a window per round trip (RFC 9002 §7.7). 0 if no round trip is known.
    #[inline]
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        self.pacer.as_ref()?;
        self.control.pacing_rate().or_else(|| Some(pacer::window_rate(self.window(), self.rtt.smoothed())))
    }

    /// Congestion window and slow-start threshold in bytes, without limits on single bursts.
    pub(super) fn congestion_window(&self) -> (u64, u64) {
        (self.reduced_window.unwrap_or(self.control.window()), self.control.slow_start_threshold())
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// True if the scheduler would be shown room on some path. Facts that are up to date say it. If
    /// the paths are known to be `full`, only a shorter packet might fit.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn any_room(&self, full: bool) -> bool {
        if full && self.next_packet == self.config.counted_segment() {
            debug_assert!(!self.paths.iter().any(PathSender::shows_room), "the paths are not full");
            return false;
        }
        self.paths.iter().zip(&self.facts).any(|(path, facts)| {
            let shown = path.is_shown().then(|| facts.room() > 0);
            debug_assert!(shown.is_none_or(|shown| shown == path.shows_room()), "facts show another room");
            shown.unwrap_or_else(|| path.shows_room())
        })
    }

    /// Segments that the paths have room for, by the scheduler's facts.
    #[inline]
    pub(super) fn room(&self) -> u64 {
        self.facts.iter().map(|path| u64::from(path.room())).sum()
    }

    /// Notes the windows that have no room for waiting data. Call it when no more packets can
    /// leave.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn note_limits(&mut self) {
        let unassigned = self.stream.uncut() > 0 || self.stream.recalled() > 0;
        for path in &mut self.paths {
            if unassigned || path.has_something_waiting() {
                path.note_limit();
            }
            if path.pacer.is_some() {
                path.note_limited_flight();
            }
        }
    }

    /// True if the congestion window of a path lets the segment out.
    pub(crate) fn has_window_for(&self, index: usize, segment: u64) -> bool {
        self.fits(segment, |bytes| self.paths[index].has_window(bytes))
    }

    /// True if the path has room for the segment behind its write queue.
    pub(crate) fn has_room_for(&self, index: usize, segment: u64) -> bool {
        self.fits(segment, |bytes| self.paths[index].has_room(bytes))
    }

    /// Whether a full segment has room, or the segment itself, if it is smaller.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fits(&self, segment: u64, has_room: impl Fn(u64) -> bool) -> bool {
        let own = || self.stream.get(segment).map(|entry| self.counted(entry.bytes()));
        has_room(self.config.counted_segment()) || own().is_some_and(has_room)
    }
}
