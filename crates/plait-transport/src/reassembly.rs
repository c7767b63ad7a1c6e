//! The protocol-independent receiver: restores the stream's order, and accounts the receive buffer.

use crate::observer::Observer;
use crate::packet::Data;
use crate::ring::Ring;
use crate::run_set::RunSet;
use plait_sched::{PathId, Time};

/// Result of an arriving segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// The next segment of the stream. It was delivered with the segments that waited for it.
    InOrder,
    /// A segment beyond a gap. It waits in the run `first..=last`.
    OutOfOrder {
        /// The run's first segment.
        first: u64,
        /// The run's last segment.
        last: u64,
    },
    /// The segment had already arrived.
    Duplicate,
    /// The buffer has no space for the segment.
    Refused,
}

/// Segments between their arrival and their in-order delivery.
#[derive(Clone, Debug)]
pub struct Reassembly {
    waiting: RunSet,
    /// Payload bytes of the segments from the next expected one on; zero for missing segments.
    bytes: Ring<u32>,
    counted_overhead: u32,
    capacity: u64,
    buffered: u64,
    delivered: u64,
    enforce_capacity: bool,
}

impl Reassembly {
    /// Creates an empty buffer for `capacity` counted bytes (payload and `counted_overhead` per
    /// segment). Without `enforce_capacity` the buffer accepts every segment.
    pub fn new(capacity: u64, counted_overhead: u32, enforce_capacity: bool) -> Self {
        Self {
            waiting: RunSet::new(),
            bytes: Ring::default(),
            counted_overhead,
            capacity,
            buffered: 0,
            delivered: 0,
            enforce_capacity,
        }
    }

    /// Returns the first segment that has not arrived.
    pub fn next_expected(&self) -> u64 {
        self.waiting.base()
    }

    /// Returns the segments that have arrived beyond the first missing one.
    pub fn waiting(&self) -> &RunSet {
        &self.waiting
    }

    /// Mutable access to the waiting segments, because searches in the set shorten later searches.
    pub(crate) fn waiting_mut(&mut self) -> &mut RunSet {
        &mut self.waiting
    }

    /// Returns the first segment beyond all that have arrived.
    pub fn end(&self) -> u64 {
        self.bytes.next().max(self.waiting.base())
    }

    /// Returns the number of counted bytes that wait for delivery.
    pub fn buffered(&self) -> u64 {
        self.buffered
    }

    /// Returns the number of payload bytes delivered in order.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered
    }

    /// Returns the free space of the buffer in counted bytes.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.buffered)
    }

    /// Returns the capacity of the buffer in counted bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    fn counted(&self, bytes: u32) -> u64 {
        u64::from(bytes) + u64::from(self.counted_overhead)
    }

    /// Accepts a segment, and delivers all segments in order.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn accept(&mut self, now: Time, path: PathId, data: &Data, observer: &mut impl Observer) -> Arrival {
        let next = self.waiting.base();
        if data.segment == next {
            observer.arrived(now, path, data.segment, data.bytes);
            let end = if self.waiting.is_empty() { next + 1 } else { self.waiting.first_absent(next + 1) };
            let (mut segment, mut bytes) = (next, data.bytes);
            loop {
                self.delivered += u64::from(bytes);
                observer.delivered(now, segment, bytes);
                segment += 1;
                if segment == end {
                    break;
                }
                bytes = self.bytes.get(segment).copied().unwrap_or(0);
                self.buffered -= self.counted(bytes);
            }
            self.waiting.advance(end);
            self.bytes.forget_below(end);
            debug_assert!(
                self.bytes.front().is_none_or(|&bytes| bytes == 0),
                "the next segment has not arrived"
            );
            return Arrival::InOrder;
        }
        if data.segment < next || self.waiting.contains(data.segment) {
            observer.duplicate(now, path, data.segment);
            return Arrival::Duplicate;
        }
        let counted = self.counted(data.bytes);
        // A segment very far ahead can only come from a broken peer; it must not make the buffer
        // huge.
        let too_far = data.segment - next > crate::MAX_QUEUED as u64 * 4;
        if too_far || (self.enforce_capacity && counted > self.free()) {
            observer.refused(now, path, data.segment);
            return Arrival::Refused;
        }
        observer.arrived(now, path, data.segment, data.bytes);
        self.bytes.set(data.segment, data.bytes, 0);
        self.buffered += counted;
        match self.waiting.insert(data.segment) {
            Some((first, last)) => Arrival::OutOfOrder { first, last },
            None => Arrival::Duplicate,
        }
    }
}
