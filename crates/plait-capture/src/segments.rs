//! The stream's segments: what was sent for the first time in one piece.

use crate::ranges::Ranges;

/// The segments of a stream in its order. Their numbers are their places, as the simulator counts them.
///
/// They are known only after a look at everything that was sent: packets leave out of the stream's order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    /// Start and length, ascending once the collection is over.
    pieces: Vec<(u64, u32)>,
    sent: Ranges,
}

impl Segments {
    /// Bytes of the stream were sent.
    pub(crate) fn collect(&mut self, start: u64, end: u64) {
        let pieces = &mut self.pieces;
        self.sent.insert(start, end, |from, to| pieces.push((from, (to - from) as u32)));
    }

    /// To be called when everything that was sent is collected.
    pub(crate) fn finish(&mut self) {
        self.sent = Ranges::default();
        self.pieces.sort();
    }

    /// The number of the segment that contains the byte `offset`, or of the first one beyond it.
    pub(crate) fn find(&self, offset: u64) -> usize {
        self.pieces.partition_point(|&(start, length)| start + u64::from(length) <= offset)
    }

    /// The first byte of segment `number` and the one after its last.
    pub(crate) fn get(&self, number: usize) -> Option<(u64, u64)> {
        self.pieces.get(number).map(|&(start, length)| (start, start + u64::from(length)))
    }
}
