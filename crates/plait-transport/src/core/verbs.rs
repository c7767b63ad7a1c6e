//! What protocols may ask of a path, and do to it.

use super::path::PathSender;
use super::segment::StreamSegment;
use super::stream::Stream;
use super::{Core, Counters, PathNews, SegmentState, SendWindow, full_fragment_end};
use plait_sched::{Event, PathId, PathSet, Scheduler, Time};

impl<S: Scheduler, R> Core<S, R> {
    /// All paths, by their indices.
    #[inline]
    pub(crate) fn paths(&self) -> &[PathSender<R>] {
        &self.paths
    }

    /// One of them.
    #[inline]
    pub(crate) fn path(&self, index: usize) -> &PathSender<R> {
        &self.paths[index]
    }

    /// One of them, to change it. What schedulers see of it is brought up to date by [`Core::touch`].
    #[inline]
    pub(crate) fn path_mut(&mut self, index: usize) -> &mut PathSender<R> {
        &mut self.paths[index]
    }

    /// All paths, to change them.
    #[inline]
    pub(crate) fn paths_mut(&mut self) -> &mut [PathSender<R>] {
        &mut self.paths
    }

    /// What the receiver admits.
    #[inline]
    pub(crate) fn window(&self) -> &SendWindow {
        &self.window
    }

    /// Likewise, for telling what it says.
    #[inline]
    pub(crate) fn window_mut(&mut self) -> &mut SendWindow {
        &mut self.window
    }

    /// Paths take what their congestion windows have room for, whatever windows of their own say.
    #[inline]
    pub(crate) fn commits(&self) -> bool {
        self.commits
    }

    /// What happened, for counting.
    #[inline]
    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// The first segment that is not acknowledged.
    #[inline]
    pub(crate) fn first_unacknowledged(&self) -> u64 {
        self.stream.first()
    }

    /// The first segment beyond all that were ever sent.
    #[inline]
    pub(crate) fn sent_end(&self) -> u64 {
        self.sent_end
    }

    /// Bytes that the application has written.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.stream.end()
    }

    /// Bytes of the headers of all but the first message in so many bytes of the stream.
    #[inline]
    pub(crate) fn message_headers(&self, offset: u64, bytes: u32) -> u32 {
        self.stream.further_headers(offset, bytes)
    }

    /// True if the congestion window of a path lets the segment out.
    pub(crate) fn has_window_for(&self, index: usize, segment: u64) -> bool {
        self.fits(segment, |bytes| self.paths[index].has_window(bytes))
    }

    /// True if it has room for the segment behind the packets that the path's own window holds back.
    pub(crate) fn has_room_for(&self, index: usize, segment: u64) -> bool {
        self.fits(segment, |bytes| self.paths[index].has_room(bytes))
    }

    /// Whether a full segment has room, or the segment itself, if it is smaller.
    #[inline]
    fn fits(&self, segment: u64, has_room: impl Fn(u64) -> bool) -> bool {
        let own = || self.stream.get(segment).map(|entry| self.counted(entry.bytes()));
        has_room(self.config.counted_segment()) || own().is_some_and(has_room)
    }

    /// Where a segment begins in the stream, if it was cut off and is not acknowledged.
    #[inline]
    pub(crate) fn offset_of(&self, segment: u64) -> Option<u64> {
        self.stream.get(segment).map(|entry| entry.offset)
    }

    /// Where the fragment ends, in the stream, that holds the byte at `offset`.
    pub(crate) fn fragment_end(&self, offset: u64) -> u64 {
        self.buffer.fragment_end(offset).unwrap_or_else(|| full_fragment_end(offset))
    }

    /// The scheduler hears of losses on a path.
    pub(crate) fn tell_lost(&mut self, index: usize, segments: u32) {
        self.touch(index);
        self.notify(&Event::Lost { path: PathId(index as u8), segments });
        self.note_opportunity();
    }

    /// The scheduler hears of the news of a path's acknowledgement.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell_acknowledged(&mut self, index: usize) {
        let PathNews { segments, rtt, .. } = self.paths[index].news;
        self.notify(&Event::Acked { path: PathId(index as u8), segments, rtt });
    }

    /// True if a segment left at least once.
    pub(crate) fn was_sent(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(StreamSegment::ever_sent)
    }

    /// The paths on which a segment is on its way, if it is.
    pub(crate) fn carriers(&self, segment: u64) -> Option<PathSet> {
        self.is_in_flight(segment).then(|| self.stream.spread(segment).carried)
    }

    /// A segment was sent again for what later ones told; that is done once.
    pub(crate) fn mark_fast_retransmitted(&mut self, segment: u64, path: PathId) {
        self.stream.mark_fast_retransmitted(segment, path);
    }

    /// A path, to change it, beside the segments of the stream.
    #[inline]
    pub(crate) fn path_and_stream(&mut self, index: usize) -> (&mut PathSender<R>, &Stream) {
        (&mut self.paths[index], &self.stream)
    }

    /// Where the write ends that fills the send buffer for the first time.
    pub(crate) fn first_filling(&self, segment_bytes: u64) -> u64 {
        self.buffer.first_filling(segment_bytes)
    }

    /// True if a segment is on its way.
    #[inline]
    pub(crate) fn is_in_flight(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(|entry| entry.state() == SegmentState::InFlight)
    }
}

impl<R> PathSender<R> {
    /// Tells the estimator how far the flight is, for what it reckons once per round trip.
    #[inline]
    pub(crate) fn note_progress(&mut self) {
        self.rtt.note_progress(self.flight.first(), self.flight.next());
    }

    /// The first segment that waits in the path's queue.
    #[inline]
    pub(crate) fn next_queued(&self) -> Option<u64> {
        self.queue.front().copied()
    }

    /// So many packets were lost, beside those that [`Core::lose`] was told of.
    #[inline]
    pub(crate) fn note_lost(&mut self, packets: u64) {
        self.lost += packets;
    }

    /// A packet that was taken for lost has arrived.
    #[inline]
    pub(crate) fn note_late(&mut self) {
        self.late += 1;
    }

    /// Timeouts in a row without anything newly acknowledged.
    #[inline]
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    /// Something was acknowledged: the count of errors begins anew.
    #[inline]
    pub(crate) fn forgive(&mut self) {
        self.errors = 0;
    }

    /// Timeouts in a row without any packet that came back, whatever it said.
    #[inline]
    pub(crate) fn silence(&self) -> u32 {
        self.silence
    }

    /// A packet came back.
    #[inline]
    pub(crate) fn hear(&mut self) {
        self.silence = 0;
    }

    /// Nothing came back for so long.
    pub(crate) fn note_silence(&mut self) {
        self.silence += 1;
    }

    /// What was sent was not acknowledged in time.
    pub(crate) fn note_timeout(&mut self) {
        self.errors += 1;
        self.note_silence();
    }

    /// The retransmission timer runs from now on.
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.retransmission_timer = Some(now.saturating_add(self.rtt.rto()));
    }

    /// From now on, the window is halved for idleness after a timeout without data.
    #[inline]
    pub(crate) fn note_opened(&mut self, now: Time) {
        self.idle_from = now;
    }

    /// The round trip that is being timed will tell nothing.
    #[inline]
    pub(crate) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// What is in flight now belongs to one repair.
    #[inline]
    pub(crate) fn begin_recovery(&mut self) {
        self.recovery_end = self.flight.next();
    }

    /// A transmission met congestion: true, and a repair begins, unless it belongs to one that began already. One window is cut once.
    #[inline]
    pub(crate) fn begins_recovery(&mut self, transmission: u64) -> bool {
        let begins = transmission >= self.recovery_end;
        if begins {
            self.begin_recovery();
        }
        begins
    }

    /// Retransmissions that may leave whatever the window says (RFC 9260 §7.2.4, rule 3).
    #[inline]
    pub(crate) fn exempt(&mut self, retransmissions: u32) {
        self.exempt_retransmissions = retransmissions;
    }

    /// A penalty that waited for an acknowledgement; it waits no more.
    #[inline]
    pub(crate) fn take_penalty(&mut self) -> bool {
        core::mem::take(&mut self.penalty)
    }
}
