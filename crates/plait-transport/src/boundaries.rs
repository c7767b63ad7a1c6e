//! Context of a protocol's bytes: the path and the ECN mark of IP, and segment boundaries, which a
//! byte stream does not contain.

use crate::packet::SegmentEcn;
use core::num::NonZeroU32;
use plait_sched::PathId;
use std::collections::VecDeque;

/// A packet from the network.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'a> {
    /// The path, derived from addresses and ports.
    pub path: PathId,
    /// ECN state of the IP header.
    pub ecn: SegmentEcn,
    /// The bytes after the IP header.
    pub bytes: &'a [u8],
}

/// Number of acknowledged segments that are kept. Late copies and late reports refer to them.
const KEPT: u64 = 1 << 16;

/// Bytes of a segment; `bytes` is 0 for a segment that is not yet known.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// For an unknown segment: the start of the next known segment.
    start: u64,
    bytes: u32,
}

impl Piece {
    const fn end(&self) -> u64 {
        self.start + self.bytes as u64
    }
}

/// The numbers of consecutive segments, and their byte ranges.
#[derive(Clone, Debug, Default)]
pub struct Segmentation {
    pieces: VecDeque<Piece>,
    /// Number of the first piece.
    first: u64,
    /// Start of the first piece.
    base: u64,
    /// Size of all segments; only the last one may be smaller. With this value no segment needs to
    /// be noted.
    uniform: Option<NonZeroU32>,
}

impl Segmentation {
    /// Records the byte range of a segment. Ignores a segment that is forgotten or already known.
    pub(crate) fn note(&mut self, number: u64, start: u64, bytes: u32) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let place = place as usize;
        if place >= self.pieces.len() {
            self.pieces.resize(place + 1, Piece { start, bytes: 0 });
        }
        if self.pieces[place].bytes == 0 {
            self.pieces[place] = Piece { start, bytes };
            let unknown = self.pieces.range_mut(..place).rev().take_while(|piece| piece.bytes == 0);
            unknown.for_each(|piece| piece.start = start);
        }
    }

    /// Returns the start of a segment. The start of the next segment is the end of all known ones.
    /// Returns `None` for an unknown segment.
    pub(crate) fn start(&self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first)? as usize;
        match self.pieces.get(place) {
            Some(piece) if piece.bytes > 0 => Some(piece.start),
            _ if place == 0 => Some(self.base),
            _ => self.end_of(number - 1),
        }
    }

    /// Returns the end of a segment.
    pub(crate) fn end_of(&self, number: u64) -> Option<u64> {
        let piece = self.pieces.get(number.checked_sub(self.first)? as usize)?;
        (piece.bytes > 0).then(|| piece.end())
    }

    /// Returns the number after all known segments.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.pieces.len() as u64
    }

    /// Returns the end of the last segment.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.back().map_or(self.base, Piece::end)
    }

    /// Returns the segment that begins at a position. The end of all known segments is the start of
    /// the next one.
    pub(crate) fn number_at(&self, position: u64) -> Option<u64> {
        if let Some(bytes) = self.uniform {
            let bytes = u64::from(bytes.get());
            return position.is_multiple_of(bytes).then(|| position / bytes);
        }
        if position == self.base {
            return Some(self.first);
        }
        let place = self.pieces.partition_point(|piece| piece.start < position);
        let known = |(place, piece): (usize, &Piece)| (piece.bytes > 0).then_some((place, *piece));
        let after = self.pieces.iter().enumerate().skip(place).find_map(known);
        let exact = after.filter(|(_, piece)| piece.start == position).map(|(place, _)| place);
        let before = || {
            let before = self.pieces.range(..place).enumerate().rev().find_map(known);
            before.filter(|(_, piece)| piece.end() == position).map(|(place, _)| place + 1)
        };
        exact.or_else(before).map(|place| self.first + place as u64)
    }

    /// True if the position lies before the kept segments.
    pub(crate) fn is_forgotten(&self, position: u64) -> bool {
        (position.wrapping_sub(self.base) as i64) < 0
    }

    /// Like [`Segmentation::number_at`], but also accepts old acknowledgements and late copies. A
    /// forgotten position gives the oldest kept segment, which was also acknowledged.
    pub(crate) fn acknowledged_at(&self, position: u64) -> Option<u64> {
        if self.is_forgotten(position) && self.first > 0 {
            Some(self.first)
        } else {
            self.number_at(position)
        }
    }

    /// Forgets most segments before `position`, all of which are acknowledged.
    pub(crate) fn settle(&mut self, position: u64) {
        while self.pieces.len() as u64 > KEPT
            && self.pieces[KEPT as usize].end() <= position
            && let Some(piece) = self.pieces.pop_front()
        {
            self.first += 1;
            self.base = self.base.max(piece.end());
        }
    }
}

/// A subflow's own segment numbers, and the segment of the stream at each number. The stream may
/// have forgotten the data of a late copy long before.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowSegments {
    pub(crate) numbers: Segmentation,
    mapped: VecDeque<Mapped>,
}

/// A segment of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped {
    pub(crate) segment: u64,
    /// Offset of its first byte in the stream.
    pub(crate) offset: u64,
}

impl SubflowSegments {
    /// Adds a segment of `bytes` bytes under the next number.
    pub(crate) fn push(&mut self, bytes: u32, mapped: Mapped) {
        self.numbers.note(self.numbers.next(), self.numbers.end(), bytes);
        self.mapped.push_back(mapped);
    }

    pub(crate) fn mapped(&self, number: u64) -> Option<Mapped> {
        self.mapped.get(number.checked_sub(self.numbers.first)? as usize).copied()
    }

    /// Forgets most segments before `position`, all of which are acknowledged.
    pub(crate) fn settle(&mut self, position: u64) {
        self.numbers.settle(position);
        self.mapped.drain(..self.mapped.len() - self.numbers.pieces.len());
    }
}

/// Starts of the segments that an end has sent.
#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    pub(crate) stream: Segmentation,
    /// Segments of each subflow, for protocols with a number space per subflow.
    pub(crate) subflows: Vec<SubflowSegments>,
}

impl Boundaries {
    /// Boundaries of a protocol that identifies segments by their numbers.
    pub(crate) const NONE: Self = Self {
        stream: Segmentation { pieces: VecDeque::new(), first: 0, base: 0, uniform: None },
        subflows: Vec::new(),
    };

    /// Creates the boundaries of a QUIC stream that is written in one piece, so that all segments
    /// but the last have `bytes` bytes. A receiver uses them if it sees only the peer's packets.
    pub fn uniform(bytes: NonZeroU32) -> Self {
        Self { stream: Segmentation { uniform: Some(bytes), ..Segmentation::default() }, ..Self::default() }
    }

    /// Creates the boundaries of a QUIC stream whose frames contain segment numbers instead of byte
    /// offsets: see [`crate::mpquic::Image::numbered`].
    pub fn numbered() -> Self {
        Self::uniform(NonZeroU32::MIN)
    }

    /// Creates boundaries for a protocol with a number space per path.
    pub(crate) fn of_subflows(paths: usize) -> Self {
        Self { subflows: vec![SubflowSegments::default(); paths], ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_numbers_of_what_is_sent_out_of_order() {
        let mut segments = Segmentation::default();
        assert_eq!(segments.number_at(0), Some(0));
        for number in [0, 4, 2, 1, 5] {
            segments.note(number, number * 10, 10);
        }
        let numbers = [0, 10, 20, 30, 40, 50, 60, 70, 15].map(|position| segments.number_at(position));
        let known = [Some(0), Some(1), Some(2), Some(3), Some(4), Some(5), Some(6), None, None];
        assert_eq!(numbers, known);
        segments.note(3, 30, 10);
        assert_eq!(segments.number_at(30), Some(3));
    }

    #[test]
    fn where_all_are_alike_none_is_told_of() {
        let peer = Boundaries::uniform(NonZeroU32::new(7).expect("7 is not 0"));
        let numbers = [0, 7, 21, 7 << 40, 1, 20].map(|position| peer.stream.number_at(position));
        assert_eq!(numbers, [Some(0), Some(1), Some(3), Some(1 << 40), None, None]);
    }

    #[test]
    fn what_was_acknowledged_long_ago_is_forgotten() {
        let mut segments = Segmentation::default();
        for number in 0..3 * KEPT {
            segments.note(number, number * 7, 7);
            segments.settle(number.saturating_sub(10) * 7);
        }
        assert!(segments.pieces.len() as u64 <= KEPT + 12, "{}", segments.pieces.len());
        let last = 3 * KEPT - 1;
        for number in [last, last - KEPT / 2, segments.first] {
            assert_eq!(segments.number_at(number * 7), Some(number));
        }
        assert_eq!(segments.number_at(7), None);
        segments.note(1, 7, 7);
        assert_eq!(segments.number_at(7), None, "nor is it remembered again");
    }
}
