//! The interface of paths and the core for protocols.
//!
//! The fields of the core are private. A protocol uses a few functions:
//!
//! - acknowledgements: `acknowledge` of a path (by number) and of the core (by segment), and
//!   `settle` for data that was declared lost;
//! - cumulative acknowledgements: `advance`, `release`, `release_acknowledged`;
//! - losses: `lose`, `lose_all`, with the place where the segments wait;
//! - windows: `finish_acknowledgement`; or `tell_controller` of a path;
//! - transmission: `run_scheduler` asks the scheduler, `next_data` takes the next packet.
//!
//! `begins_recovery` of a path tells whether a loss starts a new recovery: each window of data is
//! cut once.

use super::path::PathSender;
use super::segment::StreamSegment;
use super::stream::Stream;
use super::{Core, Counters, PathNews, SegmentState, SendWindow, full_fragment_end};
use crate::congestion::{CongestionController, CongestionEvent};
use plait_sched::{Duration, Event, PathId, PathSet, Scheduler, Time};

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

    /// Mutable access to a path. [`Core::touch`] then updates the facts that schedulers see.
    #[inline]
    pub(crate) fn path_mut(&mut self, index: usize) -> &mut PathSender<R> {
        &mut self.paths[index]
    }

    /// All paths, to change them.
    #[inline]
    pub(crate) fn paths_mut(&mut self) -> &mut [PathSender<R>] {
        &mut self.paths
    }

    /// The receiver's window.
    #[inline]
    pub(crate) fn window(&self) -> &SendWindow {
        &self.window
    }

    /// Mutable access to the receiver's window.
    #[inline]
    pub(crate) fn window_mut(&mut self) -> &mut SendWindow {
        &mut self.window
    }

    /// Mutable access to the counters.
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

    /// Header bytes of all but the first message in `bytes` of the stream.
    #[inline]
    pub(crate) fn message_headers(&self, offset: u64, bytes: u32) -> u32 {
        self.stream.further_headers(offset, bytes)
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
    #[inline]
    fn fits(&self, segment: u64, has_room: impl Fn(u64) -> bool) -> bool {
        let own = || self.stream.get(segment).map(|entry| self.counted(entry.bytes()));
        has_room(self.config.counted_segment()) || own().is_some_and(has_room)
    }

    /// Offset of a segment in the stream, if the segment was cut and is not acknowledged.
    #[inline]
    pub(crate) fn offset_of(&self, segment: u64) -> Option<u64> {
        self.stream.get(segment).map(|entry| entry.offset)
    }

    /// End of the fragment that holds the byte at `offset` of the stream.
    pub(crate) fn fragment_end(&self, offset: u64) -> u64 {
        self.buffer.fragment_end(offset).unwrap_or_else(|| full_fragment_end(offset))
    }

    /// Reports losses on a path to the scheduler.
    pub(crate) fn tell_lost(&mut self, index: usize, segments: u32) {
        self.touch(index);
        self.notify(&Event::Lost { path: PathId(index as u8), segments });
        self.note_opportunity();
    }

    /// Reports the news of a path's acknowledgement to the scheduler.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn tell_acknowledged(&mut self, index: usize) {
        let PathNews { segments, rtt, .. } = self.paths[index].news;
        self.notify(&Event::Acked { path: PathId(index as u8), segments, rtt });
    }

    /// True if a segment left at least once.
    pub(crate) fn was_sent(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(StreamSegment::ever_sent)
    }

    /// The paths on which a segment is in flight, if it is.
    pub(crate) fn carriers(&self, segment: u64) -> Option<PathSet> {
        self.is_in_flight(segment).then(|| self.stream.spread(segment).carried)
    }

    /// Marks a segment as fast retransmitted, because later ones were acknowledged; this is done
    /// once.
    pub(crate) fn mark_fast_retransmitted(&mut self, segment: u64, path: PathId) {
        self.stream.mark_fast_retransmitted(segment, path);
    }

    /// A path, to change it, beside the segments of the stream.
    #[inline]
    pub(crate) fn path_and_stream(&mut self, index: usize) -> (&mut PathSender<R>, &Stream) {
        (&mut self.paths[index], &self.stream)
    }

    /// End of the write that fills the send buffer for the first time.
    pub(crate) fn first_filling(&self, segment_bytes: u64) -> u64 {
        self.buffer.first_filling(segment_bytes)
    }

    /// True if a segment is in flight.
    #[inline]
    pub(crate) fn is_in_flight(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(|entry| entry.state() == SegmentState::InFlight)
    }
}

impl<R> PathSender<R> {
    /// Reports the flight's progress to the estimator, which works once per round trip.
    #[inline]
    pub(crate) fn note_progress(&mut self) {
        self.rtt.note_progress(self.flight.first(), self.flight.next());
    }

    /// The first segment that waits in the path's queue.
    #[inline]
    pub(crate) fn next_queued(&self) -> Option<u64> {
        self.queue.front().copied()
    }

    /// Counts lost packets that [`Core::lose`] did not see.
    #[inline]
    pub(crate) fn note_lost(&mut self, packets: u64) {
        self.lost += packets;
    }

    /// Notes that a packet arrived that had been declared lost.
    #[inline]
    pub(crate) fn note_late(&mut self) {
        self.late += 1;
    }

    /// Timeouts in a row without anything newly acknowledged.
    #[inline]
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    /// Resets the count of errors, because data was acknowledged.
    #[inline]
    pub(crate) fn forgive(&mut self) {
        self.errors = 0;
    }

    /// Consecutive timeouts without any packet that came back.
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

    /// Notes a timeout: sent data was not acknowledged in time.
    pub(crate) fn note_timeout(&mut self) {
        self.errors += 1;
        self.note_silence();
    }

    /// Restarts the retransmission timer now.
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.retransmission_timer = Some(now.saturating_add(self.rtt.rto()));
    }

    /// Records the round trip of a handshake.
    pub(crate) fn note_handshake(&mut self, now: Time, round_trip: Duration) {
        self.rtt.sample(round_trip);
        self.control.on_event(now, CongestionEvent::Measured { round_trip });
    }

    /// From now on, the window is halved for idleness after a timeout without data.
    #[inline]
    pub(crate) fn note_opened(&mut self, now: Time) {
        self.idle_from = now;
    }

    /// Drops the round-trip measurement in progress.
    #[inline]
    pub(crate) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// Starts recovery: it includes all transmissions in flight now.
    #[inline]
    pub(crate) fn begin_recovery(&mut self) {
        self.recovery_end = self.flight.next();
    }

    /// Handles congestion that a transmission met. Returns true and starts recovery, unless the
    /// transmission belongs to a recovery that started before: each window of data is cut once.
    #[inline]
    pub(crate) fn begins_recovery(&mut self, transmission: u64) -> bool {
        let begins = transmission >= self.recovery_end;
        if begins {
            self.begin_recovery();
        }
        begins
    }

    /// Sets the number of retransmissions that may leave regardless of the window (RFC 9260 §7.2.4,
    /// rule 3).
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
