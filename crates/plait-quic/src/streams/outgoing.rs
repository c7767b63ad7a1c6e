//! Content of segments, chosen as they leave.

use super::flows::PATIENCE;
use super::record::{CREDIT, DATA, FINISH, Record};
use super::send_queue::{BuiltSegment, ControlRecord, MIN_WRITE};
use super::stream::Stream;
use super::{Class, Streams};
use crate::source::Source;
use bytes::Buf;
use std::collections::VecDeque;
use std::io;

/// Most bytes of segments in memory, for any window of the peer. A peer that acknowledges all
/// segments but the oldest takes no more.
const MAX_UNACKED: u64 = 64 << 20;

/// Most bytes that are reserved for datagrams. A reservation is not withdrawn.
const MAX_DATAGRAM_RESERVE: usize = 64 << 10;

impl Streams {
    /// Queues a stream or a flow that has something for a segment.
    pub(super) fn queue(&mut self, stream: u32) {
        if let Some(one) = self.flows.all.get_mut(&stream).filter(|one| !one.queued && one.has_turn()) {
            one.queued = true;
            self.out.turns[one.class as usize].push_back(stream);
        }
        if let Some(one) = self.streams.get_mut(&stream).filter(|one| !one.queued && one.has_turn()) {
            one.queued = true;
            self.out.turns[one.class as usize].push_back(stream);
        }
    }

    /// Bytes of records that could leave now in full segments: of streams, and of planned
    /// datagrams.
    fn needed(&self) -> [usize; 2] {
        let most = self.out.full - DATA;
        let of = |one: &Stream| {
            let bytes = one.sendable();
            bytes + DATA * bytes.div_ceil(most) + if one.finishing { FINISH } else { 0 }
        };
        let (mut streams, mut flows) = (0, 0);
        for stream in self.out.turns.iter().flatten() {
            streams += self.streams.get(stream).map_or(0, of);
            flows += self.flows.all.get(stream).map_or(0, |one| one.reserved);
        }
        [self.out.control_bytes + CREDIT * self.credits.len() + streams, flows]
    }

    /// Returns the bytes by which the transport must be extended, in pieces
    /// ([`Session::extend`](crate::session::Session::extend)).
    pub fn reserve(&mut self) -> Option<u64> {
        if self.out.unacked + self.out.reserved > MAX_UNACKED {
            return None;
        }
        if let Some(piece) = self.out.pieces.pop_front() {
            return Some(self.out.reserve(piece));
        }
        let [streams, mut flows] = self.needed();
        let mut spare = self.out.reserved.saturating_sub((streams + flows) as u64);
        while flows < MAX_DATAGRAM_RESERVE {
            let turns = self.out.turns.iter().rev().flatten().copied();
            let segment = self.flows.plan(turns, self.out.full);
            if segment == 0 {
                break;
            }
            flows += segment;
            // Datagrams that were dropped, or left elsewhere, leave their reservation to others.
            let Some(less) = spare.checked_sub(segment as u64) else {
                return Some(self.out.reserve(segment as u64));
            };
            spare = less;
        }
        let more = ((streams + flows) as u64).checked_sub(self.out.reserved).filter(|more| *more > 0)?;
        Some(self.out.reserve(more.max(MIN_WRITE as u64)))
    }

    /// Discards the segments before this one, which are acknowledged.
    pub fn discard_acknowledged(&mut self, next: u64) {
        while self.out.first < next
            && let Some(segment) = self.out.segments.pop_front()
        {
            self.out.first += 1;
            self.out.unacked -= segment.bytes.len() as u64;
        }
    }

    /// Chooses the content of the next segment when the segment at `leaving` leaves. Returns false
    /// if there is none.
    fn build(&mut self, leaving: u64) -> bool {
        let Some(size) = self.out.next() else { return false };
        let (offset, since) = (self.out.end, self.flows.now);
        let mut segment =
            BuiltSegment { offset, size, since, waiting: offset != leaving, ..BuiltSegment::default() };
        let BuiltSegment { bytes, redundant, .. } = &mut segment;
        while let Some(ControlRecord { encoded, .. }) = self.out.control.front()
            && bytes.len() + encoded.len() <= size
            && let Some(ControlRecord { encoded, opens, class }) = self.out.control.pop_front()
        {
            bytes.extend_from_slice(&encoded);
            self.out.control_bytes -= encoded.len();
            *redundant |= class == Class::Redundant;
            if let Some(one) = opens.and_then(|stream| self.streams.get_mut(&stream)) {
                one.announced = true;
            }
            if let Some(one) = opens.and_then(|flow| self.flows.all.get_mut(&flow)) {
                one.announced = true;
            }
            opens.into_iter().for_each(|stream| self.queue(stream));
        }
        while bytes.len() + CREDIT <= size
            && let Some(stream) = self.credits.pop_first()
        {
            if let Some(one) = self.streams.get(&stream) {
                Record::Credit { stream, limit: one.granted }.encode(bytes);
                *redundant |= one.class == Class::Redundant;
            }
        }
        self.fill(&mut segment);
        self.out.unacked += segment.bytes.len() as u64;
        self.out.segments.push_back(segment);
        self.out.end += size as u64;
        true
    }

    /// Fills the rest of a segment, in turns. A waiting segment gets no datagrams yet.
    fn fill(&mut self, segment: &mut BuiltSegment) {
        let &mut BuiltSegment { size, waiting, .. } = segment;
        let BuiltSegment { bytes, datagrams, since, .. } = segment;
        let (mut passed, mut redundant) = (Vec::new(), false);
        while size - bytes.len() > DATA
            && let Some(stream) = self.next_turn()
        {
            let class = match self.flows.all.get(&stream).map(|one| one.class) {
                None => self.pack(stream, size, bytes),
                Some(class) if waiting => {
                    passed.push((stream, class, None));
                    continue;
                }
                Some(class) => match self.flows.pack(stream, [size, self.out.full], bytes) {
                    Err(needs) => {
                        passed.push((stream, class, needs));
                        continue;
                    }
                    Ok(packed) => {
                        self.end_turn(stream, packed.is_begun);
                        *since = packed.since.min(*since);
                        datagrams.push(packed.range);
                        class
                    }
                },
            };
            redundant |= class == Class::Redundant;
        }
        // The next datagram of these flows is the first in a segment that is large enough.
        for (flow, class, needs) in passed.into_iter().rev() {
            self.out.turns[class as usize].push_front(flow);
            needs.into_iter().for_each(|needs| self.out.reserve_piece(needs));
        }
        if !bytes.is_empty() && !waiting {
            bytes.resize(size, 0);
        }
        segment.redundant |= redundant;
    }

    /// Completes the segment at this offset, which leaves now.
    fn leave(&mut self, offset: u64) {
        let Some(at) = self.at(offset).filter(|at| self.out.segments[*at].waiting) else { return };
        let mut segment = std::mem::take(&mut self.out.segments[at]);
        (segment.waiting, segment.since) = (false, self.flows.now);
        let before = segment.bytes.len();
        self.fill(&mut segment);
        self.out.unacked += (segment.bytes.len() - before) as u64;
        self.out.segments[at] = segment;
    }

    /// Ends the turn of a flow. A flow with more goes behind the others, or stays first to complete
    /// a datagram.
    fn end_turn(&mut self, flow: u32, is_begun: bool) {
        let Some(one) = self.flows.all.get_mut(&flow) else { return };
        if is_begun {
            return self.out.turns[one.class as usize].push_front(flow);
        }
        one.queued = false;
        self.queue(flow);
    }

    /// Returns the stream or flow whose turn it is.
    fn next_turn(&mut self) -> Option<u32> {
        self.out.turns.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    /// Fills a segment with a stream's data. A stream with more data goes behind the others.
    /// Returns the stream's class.
    fn pack(&mut self, stream: u32, size: usize, bytes: &mut Vec<u8>) -> Class {
        let Some(one) = self.streams.get_mut(&stream) else { return Class::Bulk };
        let class = one.class;
        one.queued = false;
        let count = one.sendable().min(size - bytes.len() - DATA);
        if count > 0 {
            Record::Data { stream, offset: one.sent, bytes: &one.send_buffer[..count] }.encode(bytes);
            one.send_buffer.advance(count);
            one.sent += count as u64;
            self.out.carried += count as u64;
            self.ready.insert(stream);
        }
        if one.finishing && !one.finished && one.send_buffer.is_empty() && bytes.len() + FINISH <= size {
            Record::Finish { stream, size: one.sent }.encode(bytes);
            one.finished = true;
            self.clean(stream);
        }
        self.queue(stream);
        class
    }

    /// Removes the datagrams from the segment at this offset.
    fn cut(&mut self, offset: u64) {
        let segment = self.at(offset).and_then(|at| self.out.segments.get_mut(at));
        if let Some(segment) = segment.filter(|segment| !segment.datagrams.is_empty()) {
            let before = segment.bytes.len();
            segment.cut();
            self.out.unacked -= (before - segment.bytes.len()) as u64;
        }
    }

    /// Returns the index of the segment at this offset.
    fn at(&self, offset: u64) -> Option<usize> {
        self.out.segments.binary_search_by_key(&offset, |segment| segment.offset).ok()
    }

    /// Returns the segment at this offset.
    fn segment(&self, offset: u64) -> Option<&BuiltSegment> {
        self.at(offset).and_then(|at| self.out.segments.get(at))
    }
}

/// Segments by their offsets among all reserved bytes.
impl Source for Streams {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        const NONE: io::ErrorKind = io::ErrorKind::UnexpectedEof;
        while self.out.end < offset + buffer.len() as u64 {
            if !self.build(offset) {
                return Err(NONE.into());
            }
        }
        self.leave(offset);
        if self.segment(offset).is_some_and(|segment| self.flows.now.since(segment.since) > PATIENCE) {
            self.cut(offset);
        }
        let BuiltSegment { bytes, size, .. } = self.segment(offset).ok_or(NONE)?;
        if *size != buffer.len() {
            return Err(NONE.into());
        }
        if !bytes.is_empty() {
            buffer.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read_again(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.cut(offset);
        self.read_at(offset, buffer)
    }

    fn is_void(&self, offset: u64) -> bool {
        self.segment(offset).is_some_and(|segment| segment.bytes.is_empty())
    }

    fn is_redundant(&self, offset: u64) -> bool {
        self.segment(offset).is_some_and(|segment| segment.redundant)
    }
}
