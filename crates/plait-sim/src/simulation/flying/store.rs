//! The headers of data packets in links that need more than one number.

use super::{COUNTER, MOST};

/// The header of a data packet that needs more than one number beside the payload's size.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    pub(super) timestamp: u32,
    pub(super) echo: u32,
    /// Its segment (40 bits), and the lowest 24 bits of its offset in the stream.
    pub(super) segment: u64,
    /// Its number in its packet number space or on its subflow (40 bits), and the other bits of its
    /// offset.
    pub(super) number: u64,
}

impl Numbers {
    #[inline]
    pub(super) fn new(segment: u64, number: u64, offset: u64) -> Self {
        debug_assert!(segment <= MOST && number <= MOST && offset >> 48 == 0, "{segment} {number} {offset}");
        let (segment, number) = (segment | offset << COUNTER, number | offset >> 24 << COUNTER);
        Self { timestamp: 0, echo: 0, segment, number }
    }

    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.segment >> COUNTER | self.number >> COUNTER << 24
    }
}

/// The numbers of packets in links. Free places are reused, the most recently freed one first.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) places: Vec<Numbers>,
    /// The first free place. Every free place holds the next one in its `timestamp`.
    free: u32,
}

/// No place is free.
const NONE: u32 = u32::MAX;

impl Default for Store {
    fn default() -> Self {
        Self { places: Vec::new(), free: NONE }
    }
}

impl Store {
    #[inline]
    pub(super) fn put(&mut self, numbers: Numbers) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let place = self.free;
        let kept = &mut self.places[place as usize];
        self.free = kept.timestamp;
        *kept = numbers;
        place
    }

    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Numbers {
        let numbers = self.places[place as usize];
        self.places[place as usize].timestamp = self.free;
        self.free = place;
        numbers
    }

    /// Adds a free place.
    #[inline(never)]
    fn grow(&mut self) {
        if self.places.len() == self.places.capacity() {
            // Grows by an eighth instead of doubling: long links have many packets.
            self.places.reserve_exact((self.places.len() / 8).max(64));
        }
        self.free = self.places.len() as u32;
        self.places.push(Numbers { timestamp: NONE, ..Numbers::default() });
    }
}
