//! Memory of out-of-order packets in a receive buffer that merges each packet with its predecessor.
//!
//! A packet that directly follows a waiting packet gives its pages to the latter, and its own
//! descriptor is freed. A descriptor holds at most 17 pages (`skb_try_coalesce` in
//! net/core/skbuff.c, `mptcp_try_coalesce` in net/mptcp/protocol.c). A packet that arrives before
//! its predecessor is never merged. Merging requires packets that the sender no longer holds;
//! packets forwarded by a router are copies.

use super::grant::PACKET_MEMORY;
use std::collections::VecDeque;

/// Pages of a descriptor (`MAX_SKB_FRAGS`).
const PAGES: u8 = 17;

/// Memory of packets in order that the application has not read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queued {
    pub(super) memory: u64,
    /// Pages of the last descriptor.
    pages: u8,
}

impl Queued {
    /// Queues a packet whose payload occupies `pages` pages.
    pub(super) const fn push(&mut self, bytes: u64, pages: u8) {
        if self.pages == 0 || self.pages + pages > PAGES {
            (self.memory, self.pages) = (self.memory + PACKET_MEMORY, 0);
        }
        (self.memory, self.pages) = (self.memory + bytes, self.pages + pages);
    }
}

/// A waiting packet.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    /// Pages of its descriptor up to this packet; 0 for a missing packet.
    pages: u8,
    /// Bytes of its descriptor up to this packet.
    merged: u64,
    bytes: u64,
    /// True for the first packet of its descriptor.
    begins: bool,
    /// True for the last packet of its descriptor so far.
    ends: bool,
}

/// Waiting packets, by number.
#[derive(Clone, Debug)]
pub(super) struct Merging {
    /// Number of the first place.
    first: u64,
    places: VecDeque<Waiting>,
    /// Largest number of bytes per descriptor.
    longest: u64,
    memory: u64,
}

impl Merging {
    /// Creates an empty state; a descriptor holds at most `longest` bytes.
    pub(super) const fn new(longest: u64) -> Self {
        Self { first: 0, places: VecDeque::new(), longest, memory: 0 }
    }

    /// Returns the memory in use.
    pub(super) const fn memory(&self) -> u64 {
        self.memory
    }

    /// Adds packet `number`, whose payload occupies `pages` pages.
    pub(super) fn insert(&mut self, number: u64, bytes: u64, pages: u8) {
        let Some(place) = number.checked_sub(self.first) else { return };
        let place = place as usize;
        if place >= self.places.len() {
            self.places.resize(place + 1, Waiting::default());
        }
        if self.places[place].pages > 0 {
            return;
        }
        let before = place.checked_sub(1).map(|before| self.places[before]).filter(|before| {
            before.pages > 0
                && before.ends
                && before.pages + pages <= PAGES
                && before.merged + bytes <= self.longest
        });
        let begins = before.is_none();
        let (merged, taken) = before.map_or((0, 0), |before| (before.merged, before.pages));
        if !begins {
            self.places[place - 1].ends = false;
        }
        self.places[place] =
            Waiting { pages: taken + pages, merged: merged + bytes, bytes, begins, ends: true };
        self.memory += bytes + if begins { PACKET_MEMORY } else { 0 };
    }

    /// Removes all packets below `number`. Returns their memory.
    pub(super) fn advance(&mut self, number: u64) -> u64 {
        let mut given_back = 0;
        while self.first < number {
            self.first += 1;
            let Some(gone) = self.places.pop_front() else {
                self.first = number;
                break;
            };
            if gone.pages > 0 {
                given_back += gone.bytes + if gone.begins { PACKET_MEMORY } else { 0 };
            }
        }
        self.memory -= given_back;
        given_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seventeen_pages_share_a_description() {
        let mut merging = Merging::new(u64::MAX);
        for number in 1..=35 {
            merging.insert(number, 1_424, 1);
        }
        assert_eq!(merging.memory(), 35 * 1_424 + 3 * 832);
        // A repeated packet changes nothing.
        merging.insert(7, 1_424, 1);
        assert_eq!(merging.advance(36), 35 * 1_424 + 3 * 832);
        assert_eq!(merging.memory(), 0);
    }

    #[test]
    fn what_comes_before_its_predecessor_stays_by_itself() {
        let mut merging = Merging::new(u64::MAX);
        for number in [5, 4, 3, 6] {
            merging.insert(number, 100, 1);
        }
        // 6 follows 5; 4 follows 3 but arrived first.
        assert_eq!(merging.memory(), 4 * 100 + 3 * 832);
    }

    #[test]
    fn pages_and_bytes_are_limited() {
        let mut merging = Merging::new(250);
        for number in 1..=4 {
            merging.insert(number, 100, 1);
        }
        assert_eq!(merging.memory(), 4 * 100 + 2 * 832);
        let mut merging = Merging::new(u64::MAX);
        merging.insert(1, 100, 16);
        merging.insert(2, 100, 2);
        assert_eq!(merging.memory(), 2 * 100 + 2 * 832);
    }
}
