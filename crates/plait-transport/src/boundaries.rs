//! What comes from the network beside a protocol's bytes: the path and IP's mark, and where segments begin, which a byte stream does not tell.

use crate::packet::SegmentEcn;
use core::num::NonZeroU32;
use plait_sched::PathId;
use std::collections::VecDeque;

/// A packet that comes from the network.
#[derive(Clone, Copy, Debug)]
pub struct Arriving<'a> {
    /// The path, which addresses and ports tell.
    pub path: PathId,
    /// What the header of IP says of congestion.
    pub ecn: SegmentEcn,
    /// What follows that header.
    pub bytes: &'a [u8],
}

/// Segments that are remembered below the acknowledged. Late copies of them still come, and late reports.
const KEPT: u64 = 1 << 16;

/// A segment's bytes; none as long as nobody has said.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    /// Of one that nobody has told of: as the next that is known.
    start: u64,
    bytes: u32,
}

impl Piece {
    const fn end(&self) -> u64 {
        self.start + self.bytes as u64
    }
}

/// The numbers of consecutive segments, and their places in bytes.
#[derive(Clone, Debug, Default)]
pub struct Segmentation {
    pieces: VecDeque<Piece>,
    /// The number of the first piece.
    first: u64,
    /// Where that begins.
    base: u64,
    /// All have this many bytes, and only the last one may have fewer: then nobody has to tell of any.
    uniform: Option<NonZeroU32>,
}

impl Segmentation {
    /// A segment has these bytes; of one that is forgotten, or was told of before, it says nothing new.
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

    /// Where a segment begins: of the next one, where everything ends. `None` of one that nobody has told of.
    pub(crate) fn start(&self, number: u64) -> Option<u64> {
        let place = number.checked_sub(self.first)? as usize;
        match self.pieces.get(place) {
            Some(piece) if piece.bytes > 0 => Some(piece.start),
            _ if place == 0 => Some(self.base),
            _ => self.end_of(number - 1),
        }
    }

    /// Where a segment ends.
    pub(crate) fn end_of(&self, number: u64) -> Option<u64> {
        let piece = self.pieces.get(number.checked_sub(self.first)? as usize)?;
        (piece.bytes > 0).then(|| piece.end())
    }

    /// The number after all that are known.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.pieces.len() as u64
    }

    /// Where the last one ends.
    pub(crate) fn end(&self) -> u64 {
        self.pieces.back().map_or(self.base, Piece::end)
    }

    /// The segment that begins at a position: behind everything, the next one.
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

    /// It lies before what is remembered.
    pub(crate) fn is_forgotten(&self, position: u64) -> bool {
        (position.wrapping_sub(self.base) as i64) < 0
    }

    /// As [`Segmentation::number_at`], also for old acknowledgements and late copies: a forgotten
    /// position gives the oldest remembered segment, which was acknowledged, too.
    pub(crate) fn acknowledged_at(&self, position: u64) -> Option<u64> {
        if self.is_forgotten(position) && self.first > 0 {
            Some(self.first)
        } else {
            self.number_at(position)
        }
    }

    /// Everything before `position` was acknowledged: most of it is forgotten.
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

/// A subflow's own numbers, and what of the stream is at each: what a late copy carries may have been forgotten of the stream long since.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubflowSegments {
    pub(crate) numbers: Segmentation,
    mapped: VecDeque<Mapped>,
}

/// A segment of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped {
    pub(crate) segment: u64,
    /// Where it begins.
    pub(crate) offset: u64,
}

impl SubflowSegments {
    /// The next number leaves with so many bytes.
    pub(crate) fn push(&mut self, bytes: u32, mapped: Mapped) {
        self.numbers.note(self.numbers.next(), self.numbers.end(), bytes);
        self.mapped.push_back(mapped);
    }

    pub(crate) fn mapped(&self, number: u64) -> Option<Mapped> {
        self.mapped.get(number.checked_sub(self.numbers.first)? as usize).copied()
    }

    /// Everything before `position` was acknowledged.
    pub(crate) fn settle(&mut self, position: u64) {
        self.numbers.settle(position);
        self.mapped.drain(..self.mapped.len() - self.numbers.pieces.len());
    }
}

/// Where the segments begin that an end has sent.
#[derive(Clone, Debug, Default)]
pub struct Boundaries {
    pub(crate) stream: Segmentation,
    /// Of each subflow's own numbers, where a protocol has such.
    pub(crate) subflows: Vec<SubflowSegments>,
}

impl Boundaries {
    /// Of a protocol that names segments by their numbers.
    pub(crate) const NONE: Self = Self {
        stream: Segmentation { pieces: VecDeque::new(), first: 0, base: 0, uniform: None },
        subflows: Vec::new(),
    };

    /// Of a QUIC stream that is written in one piece, so that all segments but the last have `bytes` bytes: what a receiver needs to know that
    /// sees nothing of its peer but packets.
    pub fn uniform(bytes: NonZeroU32) -> Self {
        Self { stream: Segmentation { uniform: Some(bytes), ..Segmentation::default() }, ..Self::default() }
    }

    /// Of a QUIC stream whose frames say segments' numbers in the place of bytes: see [`crate::mpquic::Image::numbered`].
    pub fn numbered() -> Self {
        Self::uniform(NonZeroU32::MIN)
    }

    /// For a protocol whose paths have numbers of their own.
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
