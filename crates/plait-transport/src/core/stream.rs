//! The stream of the application, cut into numbered segments: the data queue, and the state of the
//! segments.

mod spread;

use super::messages::{ENDLESS, Messages, Order, WriteOptions};
use super::segment::{SegmentState, Spread, StreamSegment};
use super::transmission::TransmissionId;
use crate::effort::Effort;
use crate::ring::Ring;
use plait_sched::{Message, Time};
use std::collections::VecDeque;

/// The data queue and the segments in use.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Payload bytes of a full segment.
    segment_bytes: u32,
    /// Segments from the first one that is not cumulatively acknowledged on.
    segments: Ring<StreamSegment>,
    /// The paths involved with a segment, for segments that are marked as spread.
    spread: Ring<Spread>,
    /// The written messages. A segment spans two messages only with `may_span`.
    messages: Messages,
    may_span: bool,
    /// Bytes of the header of each further message in a segment.
    header: u32,
    /// Number of full and partial segments in the uncut data, if a segment never spans two
    /// messages; [`ENDLESS`] for a stream without end.
    uncut_segments: u64,
    /// Segments taken back from path queues, ascending.
    recalled: VecDeque<u64>,
    finished: bool,
    /// Payload bytes that were cut into segments.
    frontier_offset: u64,
    /// Payload bytes that the application has to write so far.
    end: u64,
    /// Stream offset, in payload bytes, at which a segment must end.
    limit: u64,
    effort: Effort,
}

impl Stream {
    /// Creates an empty stream. With `may_span`, a write joins waiting data, so that a segment may
    /// hold the end of one message and the beginning of the next. With a `header` of more than zero
    /// bytes for each further message, a segment takes further messages only as a whole.
    pub(crate) fn new(segment_bytes: u32, may_span: bool, header: u32) -> Self {
        Self {
            may_span,
            header,
            segment_bytes,
            segments: Ring::default(),
            spread: Ring::default(),
            messages: Messages::new(),
            uncut_segments: 0,
            recalled: VecDeque::new(),
            finished: false,
            frontier_offset: 0,
            end: 0,
            limit: u64::MAX,
            effort: Effort::default(),
        }
    }

    /// True if the application always has more data to write.
    pub(crate) fn is_endless(&self) -> bool {
        self.uncut_segments == ENDLESS
    }

    /// Sets the order in which messages of several streams are cut. Must be called before the first
    /// message is written.
    pub(crate) fn set_order(&mut self, order: Order) {
        self.messages.set_order(order);
    }

    /// Changes the order of further segments, if there are several streams.
    pub(crate) fn reorder(&mut self, order: Order) {
        self.messages.reorder(order);
    }

    /// Appends a message, and returns its number.
    pub(crate) fn write(&mut self, bytes: u64, options: &WriteOptions) -> Option<u64> {
        if bytes == 0 || self.uncut_segments == ENDLESS {
            return None;
        }
        if self.messages.will_interleave(options) {
            self.note_messages();
        }
        self.end += bytes;
        self.uncut_segments += bytes.div_ceil(u64::from(self.segment_bytes));
        Some(self.messages.write(bytes, options))
    }

    /// Records the message of each segment before messages alternate. Afterwards the offset of a
    /// segment no longer identifies its message.
    #[cold]
    fn note_messages(&mut self) {
        for segment in self.segments.first()..self.segments.next() {
            if let Some(entry) = self.segments.get(segment) {
                let message = self.messages.of(segment, entry.offset);
                self.messages.note(segment, message);
            }
        }
        self.messages.interleave();
    }

    /// Makes the stream endless: there is always more data to send.
    pub(crate) fn write_endlessly(&mut self) {
        let options = WriteOptions::default();
        if self.messages.will_interleave(&options) {
            self.note_messages();
        }
        self.uncut_segments = ENDLESS;
        self.end = ENDLESS;
        self.messages.write(ENDLESS, &options);
    }

    /// Moves the stream that is cut next behind the others of its priority.
    pub(crate) fn defer(&mut self) {
        if self.recalled.is_empty() {
            self.messages.defer();
        }
    }

    /// Returns the number of streams with uncut data and the highest priority.
    pub(crate) fn rivals(&self) -> usize {
        self.messages.rivals()
    }

    /// Returns the earliest deadline of the messages that are not wholly acknowledged.
    pub(crate) fn due(&self) -> Option<Time> {
        self.messages.due()
    }

    /// Returns the header bytes of the messages that begin within a segment, behind its first byte.
    #[inline]
    pub(crate) fn further_headers(&self, offset: u64, bytes: u32) -> u32 {
        if !self.messages.ends_beyond(offset) {
            return 0;
        }
        let last = (offset + u64::from(bytes)).saturating_sub(1);
        self.header * self.messages.ended(offset, last).count() as u32
    }

    /// Returns the messages that end beyond `from` bytes of the stream and within the first `to`.
    pub(crate) fn ended(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        self.messages.ended(from, to)
    }

    /// Returns the message at the beginning of the next segment, as the scheduler sees it.
    pub(crate) fn next_message(&self) -> Option<Message> {
        let (number, options, left, recalled) = match self.recalled.front() {
            None => {
                self.messages.head().map(|head| (head.number, head.options, self.messages.head_left(), 0))?
            }
            Some(&segment) => {
                let message = |segment| self.get(segment).map(|one| self.messages.of(segment, one.offset));
                let number = message(segment)?;
                let (options, left) = self.messages.find(number)?;
                let same = |&&segment: &&u64| message(segment) == Some(number);
                (number, options, left, self.recalled.iter().filter(same).count() as u64)
            }
        };
        let uncut = if left == ENDLESS { ENDLESS } else { left.div_ceil(u64::from(self.segment_bytes)) };
        Some(Message {
            number,
            stream: options.stream,
            segments_left: uncut.saturating_add(recalled),
            priority: options.priority,
            deadline: options.deadline,
        })
    }

    /// Sets the stream offset at which a segment must end.
    pub(crate) fn set_limit(&mut self, offset: u64) {
        self.limit = offset;
    }

    /// Lowers the limit of segments to `offset`, unless it is already lower.
    pub(crate) fn lower_limit(&mut self, offset: u64) {
        self.limit = self.limit.min(offset);
    }

    /// Records that the application writes no more.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// True once all written data is cumulatively acknowledged.
    pub(crate) fn is_drained(&self) -> bool {
        self.uncut() == 0 && self.segments.is_empty()
    }

    /// Returns the number of segments in the data queue that were never assigned. If a segment may
    /// hold several messages, this is the smallest possible number.
    pub(crate) fn uncut(&self) -> u64 {
        if self.may_span && !self.is_endless() {
            (self.end - self.frontier_offset).div_ceil(u64::from(self.segment_bytes))
        } else {
            self.uncut_segments
        }
    }

    /// Returns the number of segments in the data queue that were taken back from path queues.
    pub(crate) fn recalled(&self) -> u64 {
        self.recalled.len() as u64
    }

    /// Returns the number of the next segment to be assigned.
    pub(crate) fn next_segment(&self) -> u64 {
        self.recalled.front().copied().unwrap_or_else(|| self.frontier())
    }

    /// Returns the stream offset, in payload bytes, of the next segment to be assigned.
    pub(crate) fn next_offset(&self) -> u64 {
        if self.recalled.is_empty() { self.frontier_offset } else { self.recalled_offset() }
    }

    /// Returns the stream offset of the first recalled segment.
    #[cold]
    fn recalled_offset(&self) -> u64 {
        let recalled = self.recalled.front().and_then(|&segment| self.segments.get(segment));
        recalled.map_or(self.frontier_offset, |segment| segment.offset)
    }

    /// Returns the number of the first uncut segment.
    pub(crate) fn frontier(&self) -> u64 {
        self.segments.next()
    }

    /// Returns the stream offset of the first uncut segment.
    pub(crate) fn frontier_offset(&self) -> u64 {
        self.frontier_offset
    }

    /// Returns the number of payload bytes that the application has to write so far; `u64::MAX`
    /// without end.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of recalled segments that end at `offset` or before.
    #[inline]
    pub(crate) fn recalled_up_to(&self, offset: u64) -> u64 {
        if self.recalled.is_empty() {
            return 0;
        }
        let fits =
            |&segment: &u64| self.get(segment).is_some_and(|s| s.offset + u64::from(s.bytes()) <= offset);
        self.recalled.partition_point(fits) as u64
    }

    /// Returns the first segment that is not cumulatively acknowledged.
    pub(crate) fn first(&self) -> u64 {
        self.segments.first()
    }

    pub(crate) fn get(&self, segment: u64) -> Option<&StreamSegment> {
        self.effort.look();
        self.segments.get(segment)
    }

    pub(crate) fn get_mut(&mut self, segment: u64) -> Option<&mut StreamSegment> {
        self.effort.look();
        self.segments.get_mut(segment)
    }

    /// Returns how often a segment was read; see [`Effort`].
    pub(crate) fn looks(&self) -> u64 {
        self.effort.looks()
    }

    /// Moves the head of the data queue to the queue of `path`, and returns its number.
    pub(crate) fn assign(&mut self, path: u8) -> Option<u64> {
        if let Some(segment) = self.recalled.pop_front() {
            let entry = self.get_mut(segment)?;
            entry.set_state(SegmentState::Queued);
            entry.newest = TransmissionId::new(path, 0);
            return Some(segment);
        }
        Some(self.cut(TransmissionId::new(path, 0), self.next_bytes()?, false))
    }

    /// Returns the payload bytes of the next segment that was never assigned.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_bytes(&self) -> Option<u32> {
        let (left, most) = (self.messages.head_left(), u64::from(self.segment_bytes));
        if left == 0 {
            return None;
        }
        let bytes = if self.may_span && left < most {
            self.messages.bytes_up_to(most, self.header)
        } else {
            left.min(most)
        };
        match bytes.min(self.limit.saturating_sub(self.frontier_offset)) {
            0 => None,
            bytes => Some(bytes as u32),
        }
    }

    /// True if the next `segments` new segments are full. Such segments are the same whenever they
    /// are cut.
    #[inline]
    pub(crate) fn holds_full(&self, segments: u64) -> bool {
        let left = self.messages.head_left().min(self.limit.saturating_sub(self.frontier_offset));
        left >= segments.saturating_mul(u64::from(self.segment_bytes))
    }

    /// Returns the payload bytes of the next segment to be assigned.
    #[inline]
    pub(crate) fn next_packet(&self) -> Option<u32> {
        if self.recalled.is_empty() { self.next_bytes() } else { self.recalled_bytes() }
    }

    /// Returns the payload bytes of the first recalled segment.
    #[cold]
    fn recalled_bytes(&self) -> Option<u32> {
        let &segment = self.recalled.front()?;
        self.segments.get(segment).map(StreamSegment::bytes)
    }

    /// Cuts the next segment, of [`Stream::next_bytes`] bytes, which leaves at once as this
    /// transmission. Returns its number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn cut_and_send(&mut self, newest: TransmissionId, bytes: u32) -> u64 {
        self.cut(newest, bytes, true)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cut(&mut self, newest: TransmissionId, bytes: u32, sent: bool) -> u64 {
        if self.uncut_segments != ENDLESS && !self.may_span {
            self.uncut_segments -= 1;
        }
        self.messages.cut(bytes, self.frontier(), self.frontier_offset);
        let number = self.segments.push(StreamSegment::new(newest, self.frontier_offset, bytes, sent));
        self.frontier_offset += u64::from(bytes);
        number
    }

    /// Fills the last segment if it is `segment`, is unsent, and waits on one path only. Returns
    /// the number of added bytes.
    pub(crate) fn fill_last(&mut self, segment: u64) -> u32 {
        if segment + 1 != self.frontier() {
            return 0;
        }
        let (offset, most) = (self.frontier_offset, self.segment_bytes);
        let Some(bytes) = self.next_bytes() else { return 0 };
        let Some(last) = self.segments.get_mut(segment).filter(|last| last.lone().is_some()) else {
            return 0;
        };
        let bytes = bytes.min(most.saturating_sub(last.bytes()));
        if bytes > 0 {
            last.add(bytes);
            self.messages.cut(bytes, segment, offset);
            self.frontier_offset += u64::from(bytes);
        }
        bytes
    }

    /// Takes unsent segments, in ascending order, back into the data queue.
    pub(crate) fn recall(&mut self, queue: &mut VecDeque<u64>) {
        for &segment in queue.iter() {
            if let Some(entry) = self.get_mut(segment) {
                entry.set_state(SegmentState::Recalled);
            }
        }
        if self.recalled.back().is_none_or(|last| queue.front().is_some_and(|first| first > last)) {
            self.recalled.extend(queue.drain(..));
        } else {
            self.recalled.extend(queue.drain(..));
            self.recalled.make_contiguous().sort_unstable();
        }
    }

    /// Forgets the messages and paths of forgotten segments.
    #[inline]
    pub(crate) fn forget_released(&mut self) {
        if !self.spread.is_empty() {
            self.spread.forget_below(self.segments.first());
        }
        if self.messages.hear_of_acknowledgements() {
            self.messages.acknowledged(self.segments.first());
        }
    }

    /// Removes and returns the lowest segment below `cumulative`. Call until it returns `None`.
    pub(crate) fn pop_below(&mut self, cumulative: u64) -> Option<StreamSegment> {
        if self.segments.first() >= cumulative { None } else { self.segments.pop_front() }
    }
}

#[cfg(test)]
mod tests;
