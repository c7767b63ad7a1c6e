//! The packets inside a link, in the order of their exit.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use plait_sched::Time;
use plait_transport::ring::Ring;

use super::MAX_PACKET_BYTES;
use crate::agenda::{EventKey, MAX_ORDER};

/// A packet between its acceptance and its exit. It is small because long links have many of them.
/// With a `Flying` it is a cache line: without the alignment, each would lie in two.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Inside<P> {
    pub(super) time: Time,
    /// When it was sent.
    since: Time,
    /// The order, then a bit for a loss on the wire, then the bytes.
    rest: u64,
    pub(super) payload: P,
}

const BYTES: u64 = MAX_PACKET_BYTES as u64;
const LOST: u64 = BYTES + 1;
const ORDER_BITS: u32 = LOST.ilog2() + 1;
const _: () = assert!(MAX_ORDER.ilog2() + ORDER_BITS <= u64::BITS, "an order has its bits");

impl<P> Inside<P> {
    #[inline]
    pub(super) fn new(EventKey { time, since, order }: EventKey, bytes: u32, lost: bool, payload: P) -> Self {
        Self {
            time,
            since,
            rest: order << ORDER_BITS | if lost { LOST } else { 0 } | u64::from(bytes),
            payload,
        }
    }

    #[inline]
    pub(super) fn key(&self) -> EventKey {
        EventKey { time: self.time, since: self.since, order: self.rest >> ORDER_BITS }
    }

    #[inline]
    pub(super) fn bytes(&self) -> u32 {
        (self.rest & BYTES) as u32
    }

    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.rest & LOST != 0
    }
}

/// The packets inside a link. Only a link that reorders pays for a heap.
#[derive(Clone, Debug)]
pub(super) enum Flight<P> {
    Fifo(Ring<Inside<P>>),
    Sorted(BinaryHeap<Reverse<Inside<P>>>),
}

/// Initial capacity in packets. Busier links grow a few times and then stay.
const ROOM: usize = 64;

impl<P: Copy> Flight<P> {
    pub(super) fn fifo() -> Self {
        Self::Fifo(Ring::default())
    }

    pub(super) fn sorted() -> Self {
        Self::Sorted(BinaryHeap::with_capacity(ROOM))
    }

    #[inline]
    pub(super) fn head(&self) -> Option<EventKey> {
        match self {
            Self::Fifo(packets) => packets.front().map(Inside::key),
            Self::Sorted(packets) => packets.peek().map(|packet| packet.0.key()),
        }
    }

    /// The packet that leaves next, if packets keep their order.
    #[inline]
    pub(super) fn next(&self) -> Option<&P> {
        match self {
            Self::Fifo(packets) => packets.front().map(|packet| &packet.payload),
            Self::Sorted(_) => None,
        }
    }

    /// The packet `number`. `None` if packets may be reordered.
    #[inline(always)]
    pub(super) fn numbered(&self, number: u64) -> Option<&Inside<P>> {
        match self {
            Self::Fifo(packets) => packets.get(number),
            Self::Sorted(_) => None,
        }
    }

    /// Removes the packet that leaves next, and borrows it in its place. `None` if packets may be
    /// reordered.
    #[inline(always)]
    pub(super) fn pass(&mut self) -> Option<&Inside<P>> {
        match self {
            Self::Fifo(packets) => packets.pass(),
            Self::Sorted(_) => None,
        }
    }

    /// The number of the packet that leaves next; 0 if packets may be reordered.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Fifo(packets) => packets.first(),
            Self::Sorted(_) => 0,
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Inside<P>> {
        match self {
            Self::Fifo(packets) => packets.pop_front(),
            Self::Sorted(packets) => packets.pop().map(|packet| packet.0),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(packets) => packets.len() as usize,
            Self::Sorted(packets) => packets.len(),
        }
    }
}

impl<P: Copy + Default> Flight<P> {
    /// Returns true if the packet is the first one now.
    #[inline(always)]
    pub(super) fn push(&mut self, packet: Inside<P>) -> bool {
        match self {
            Self::Fifo(packets) => {
                let first = packets.is_empty();
                packets.push(packet);
                first
            }
            // Only this copy has an address: the other arm writes its fields straight into a slot.
            Self::Sorted(packets) => insert(packets, &Inside { ..packet }),
        }
    }
}

/// Returns true if the packet is the first one now.
#[inline(never)]
fn insert<P: Copy>(packets: &mut BinaryHeap<Reverse<Inside<P>>>, packet: &Inside<P>) -> bool {
    let first = packets.peek().is_none_or(|other| *packet < other.0);
    packets.push(Reverse(*packet));
    first
}

impl<P> PartialEq for Inside<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Inside<P> {}

impl<P> PartialOrd for Inside<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Inside<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
