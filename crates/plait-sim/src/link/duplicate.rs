//! Copies that the wire makes, drawn once per accepted packet, in order, from the link's own
//! stream.

use crate::random::{CorrelatedStream, PARTS_PER_BILLION, RandomStream};

/// The packets that the wire delivers twice. Probabilities are in parts per billion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Duplicate {
    /// The probability of a copy.
    pub share: u32,
    /// The probability that a packet repeats the draw of its predecessor, less than 10⁹.
    pub correlation: u32,
}

/// The copies of one link, packet by packet.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    share: u32,
    numbers: CorrelatedStream,
}

impl Copies {
    pub(super) fn new(duplicate: Duplicate, seed: u64, link: &str) -> Self {
        let stream = RandomStream::new(seed, &format!("{link}/duplicate"));
        Self { share: duplicate.share, numbers: CorrelatedStream::new(stream, duplicate.correlation) }
    }

    /// Whether the next packet is copied.
    pub(super) fn next(&mut self) -> bool {
        let parts = (u128::from(self.numbers.bits()) * u128::from(PARTS_PER_BILLION)) >> 64;
        parts < u128::from(self.share)
    }
}
