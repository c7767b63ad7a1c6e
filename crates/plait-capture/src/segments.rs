//! The stream's segments: ranges of bytes that were first sent in one piece.

use crate::ranges::Ranges;

/// The segments of a stream in its order. A segment's number is its index, as in the simulator.
///
/// Segments are known only after a first pass over all transmissions, because packets leave out of
/// the stream's order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    /// Start and length, ascending once the collection is over.
    pieces: Vec<(u64, u32)>,
    sent: Ranges,
}

impl Segments {
    /// Records that bytes of the stream were sent.
    pub(crate) fn collect(&mut self, start: u64, end: u64) {
        let pieces = &mut self.pieces;
        self.sent.insert(start, end, |from, to| pieces.push((from, (to - from) as u32)));
    }

    /// Must be called once all transmissions are collected.
    pub(crate) fn finish(&mut self) {
        self.sent = Ranges::default();
        self.pieces.sort();
    }

    /// Returns the number of the segment that contains the byte `offset`, or of the first one
    /// beyond it.
    pub(crate) fn find(&self, offset: u64) -> usize {
        self.pieces.partition_point(|&(start, length)| start + u64::from(length) <= offset)
    }

    /// Returns the first byte of segment `number` and the one after its last.
    pub(crate) fn get(&self, number: usize) -> Option<(u64, u64)> {
        self.pieces.get(number).map(|&(start, length)| (start, start + u64::from(length)))
    }
}
