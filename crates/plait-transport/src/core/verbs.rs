//! What protocols may ask of a path, and do to it.

use super::path::{OneWayDelays, PathSender};
use super::segment::StreamSegment;
use super::stream::Stream;
use super::{Core, Counters, Flight, PathNews, SegmentState, SendWindow, full_fragment_end};
use crate::congestion::Controller;
use crate::rtt::RttEstimator;
use plait_sched::{PathId, PathSet, Scheduler, Time};

impl<S: Scheduler> Core<S> {
    /// All paths, by their indices.
    #[inline]
    pub(crate) fn paths(&self) -> &[PathSender] {
        &self.paths
    }

    /// One of them.
    #[inline]
    pub(crate) fn path(&self, index: usize) -> &PathSender {
        &self.paths[index]
    }

    /// One of them, to change it. What schedulers see of it is brought up to date by [`Core::touch`].
    #[inline]
    pub(crate) fn path_mut(&mut self, index: usize) -> &mut PathSender {
        &mut self.paths[index]
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

    /// What the acknowledgement that is being read brought on a path.
    #[inline]
    pub(crate) fn news(&self) -> &[PathNews] {
        &self.news
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

    /// A path's flight, to change it, beside what became of the segments.
    #[inline]
    pub(crate) fn flight_and_stream(&mut self, index: usize) -> (&mut Flight, &Stream) {
        (&mut self.paths[index].flight, &self.stream)
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

impl PathSender {
    /// Tells the estimator how far the flight is, for what it reckons once per round trip.
    #[inline]
    pub(crate) fn note_progress(&mut self) {
        self.rtt.note_progress(self.flight.first(), self.flight.next());
    }

    /// What is under way.
    #[inline]
    pub(crate) fn flight(&self) -> &Flight {
        &self.flight
    }

    /// Likewise, for what leaves it.
    #[inline]
    pub(crate) fn flight_mut(&mut self) -> &mut Flight {
        &mut self.flight
    }

    /// Round-trip times and the timeout that follows from them.
    #[inline]
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Likewise, for samples.
    #[inline]
    pub(crate) fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    /// What sets the congestion window.
    #[inline]
    pub(crate) fn control(&self) -> &Controller {
        &self.control
    }

    /// Likewise, for what it is told.
    #[inline]
    pub(crate) fn control_mut(&mut self) -> &mut Controller {
        &mut self.control
    }

    /// Data packets that ever left.
    #[inline]
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// When the last packet left.
    #[inline]
    pub(crate) fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// The first segment that waits in the path's queue.
    #[inline]
    pub(crate) fn next_queued(&self) -> Option<u64> {
        self.queue.front().copied()
    }

    /// One-way delays as the transport's timestamps tell them.
    #[inline]
    pub(crate) fn delays(&self) -> Option<OneWayDelays> {
        self.delays
    }

    /// Likewise, for telling them.
    #[inline]
    pub(crate) fn delays_mut(&mut self) -> &mut Option<OneWayDelays> {
        &mut self.delays
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

    /// When the retransmission timer runs out, if it runs.
    #[inline]
    pub(crate) fn retransmission_timer(&self) -> Option<Time> {
        self.retransmission_timer
    }

    /// Sets the retransmission timer, or stops it.
    #[inline]
    pub(crate) fn set_timer(&mut self, timer: Option<Time>) {
        self.retransmission_timer = timer;
    }

    /// The retransmission timer runs from now on.
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.retransmission_timer = Some(now.saturating_add(self.rtt.rto()));
    }

    /// No retransmission timer runs.
    #[inline]
    pub(crate) fn stop_timer(&mut self) {
        self.retransmission_timer = None;
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

    /// Losses among transmissions before this one belong to a repair that began already.
    #[inline]
    pub(crate) fn recovery_end(&self) -> u64 {
        self.recovery_end
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

    /// The repair ends with this transmission; with 0 it is over.
    #[inline]
    pub(crate) fn set_recovery_end(&mut self, transmission: u64) {
        self.recovery_end = transmission;
    }

    /// The window in bytes while it is reduced step by step, instead of the controller's.
    #[inline]
    pub(crate) fn reduced_window(&self) -> Option<u64> {
        self.reduced_window
    }

    /// Sets it, or ends that.
    #[inline]
    pub(crate) fn set_reduced_window(&mut self, window: Option<u64>) {
        self.reduced_window = window;
    }

    /// Bytes in flight that a probe of the tail may reach, whatever the window; 0 for no probe.
    #[inline]
    pub(crate) fn set_probe_room(&mut self, bytes: u64) {
        self.probe_room = bytes;
    }

    /// Retransmissions that may leave whatever the window says (RFC 9260 §7.2.4, rule 3).
    #[inline]
    pub(crate) fn exempt(&mut self, retransmissions: u32) {
        self.exempt_retransmissions = retransmissions;
    }

    /// The receiver's window as the path itself was told it; `u64::MAX` where there is none but the connection's.
    #[inline]
    pub(crate) fn own_window(&self) -> u64 {
        self.own_window
    }

    /// The path was told this window.
    #[inline]
    pub(crate) fn set_own_window(&mut self, bytes: u64) {
        self.own_window = bytes;
    }

    /// A penalty that waited for an acknowledgement; it waits no more.
    #[inline]
    pub(crate) fn take_penalty(&mut self) -> bool {
        core::mem::take(&mut self.penalty)
    }
}
