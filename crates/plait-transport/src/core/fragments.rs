//! Storage of written data in a connection of Linux' MPTCP.
//!
//! Sources: `mptcp_sendmsg`, `mptcp_carve_data_frag`, `mptcp_frag_can_collapse_to` and
//! `__mptcp_clean_una` in net/mptcp/protocol.c; `skb_page_frag_refill` in net/core/sock.c.
//!
//! Data goes into pages of 32 KiB, each fragment of it behind a descriptor. A write while other
//! data waits for a subflow extends the last fragment. A write while no data waits begins another
//! fragment. A fragment ends at the end of its page at the latest. A page without kept data is
//! refilled.

use std::collections::VecDeque;

/// Bytes of a page (`SKB_FRAG_PAGE_ORDER`).
const PAGE: u64 = 32_768;
/// Bytes of a descriptor: `struct mptcp_data_frag` on 64 bits.
const DESCRIPTION: u64 = 40;
/// A descriptor begins at a multiple of this number of bytes.
const ALIGNMENT: u64 = 8;
/// Bytes that a page must have left for a new fragment (`mptcp_page_frag_refill`).
const LEAST: u64 = 32 + DESCRIPTION;
/// Payload of a fragment that has a page to itself.
const FULL: u64 = PAGE - DESCRIPTION;

/// Returns the stream offset at which the fragment of the byte at `offset` ends, if each fragment
/// has a page to itself.
pub(crate) const fn full_fragment_end(offset: u64) -> u64 {
    (offset / FULL).saturating_add(1).saturating_mul(FULL)
}

#[derive(Clone, Copy, Debug)]
struct Fragment {
    /// Offset of its end in the stream.
    end: u64,
    /// Memory of the fragment in addition to its payload.
    overhead: u64,
}

/// Fragments that are not wholly acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fragments {
    /// Oldest first.
    kept: VecDeque<Fragment>,
    /// Memory of these fragments in addition to their payload.
    overhead: u64,
    /// Used bytes of the last page.
    taken: u64,
    written: u64,
    acknowledged: u64,
}

impl Fragments {
    /// Appends a write of `most` bytes, or less if the page ends before. `pending`: true if data
    /// waits that no subflow has been given.
    pub(crate) fn append(&mut self, most: u64, pending: bool) {
        if !pending || self.taken == PAGE || self.kept.is_empty() {
            self.begin();
        }
        let bytes = most.min(PAGE - self.taken);
        self.taken += bytes;
        self.written += bytes;
        if let Some(last) = self.kept.back_mut() {
            last.end = self.written;
        }
    }

    fn begin(&mut self) {
        if self.kept.is_empty() || self.taken + LEAST > PAGE {
            self.taken = 0;
        }
        let overhead = self.taken.next_multiple_of(ALIGNMENT) - self.taken + DESCRIPTION;
        self.taken += overhead;
        self.overhead += overhead;
        self.kept.push_back(Fragment { end: self.written, overhead });
    }

    /// Releases the fragments below `acknowledged`.
    pub(crate) fn release(&mut self, acknowledged: u64) {
        self.acknowledged = acknowledged.min(self.written);
        while let Some(first) = self.kept.front().filter(|first| first.end <= acknowledged) {
            self.overhead -= first.overhead;
            self.kept.pop_front();
        }
    }

    /// Returns the memory of the fragments. A partly acknowledged fragment counts with its rest.
    pub(crate) const fn held(&self) -> u64 {
        self.written - self.acknowledged + self.overhead
    }

    /// Returns the stream offset at which the last fragment ends.
    pub(crate) const fn end(&self) -> u64 {
        self.written
    }

    /// Returns the end of the fragment with the byte at `offset`, or `None` if there is no such
    /// fragment.
    pub(crate) fn end_behind(&self, offset: u64) -> Option<u64> {
        let index = self.kept.partition_point(|fragment| fragment.end <= offset);
        self.kept.get(index).map(|fragment| fragment.end)
    }

    /// Returns the stream offset up to which a single write fills `size` bytes of memory.
    pub(crate) fn filling(size: u64) -> u64 {
        size.div_ceil(PAGE) * FULL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(fragments: &Fragments) -> Vec<u64> {
        fragments.kept.iter().map(|fragment| fragment.end).collect()
    }

    /// Writes data that goes to a subflow at once, or with `pending`, data behind waiting data.
    fn write(fragments: &mut Fragments, bytes: u64, mut pending: bool) {
        let end = fragments.end() + bytes;
        while fragments.end() < end {
            fragments.append(end - fragments.end(), pending);
            pending = true;
        }
    }

    #[test]
    fn a_write_begins_a_fragment_if_nothing_waits() {
        let mut fragments = Fragments::default();
        // As in the kernel: three writes and their descriptors fill a page, and the third continues
        // in another.
        (0..3).for_each(|_| write(&mut fragments, 11_000, false));
        assert_eq!(ends(&fragments), [11_000, 22_000, 32_648, 33_000]);
        write(&mut fragments, 11_000, false);
        (0..3).for_each(|_| write(&mut fragments, 11_000, true));
        assert_eq!(ends(&fragments), [11_000, 22_000, 32_648, 33_000, 65_336, 77_000]);
        assert_eq!(fragments.held(), 77_000 + 6 * 40);
    }

    #[test]
    fn what_is_acknowledged_takes_no_memory_and_a_description_as_long_as_a_byte_is_not() {
        let mut fragments = Fragments::default();
        write(&mut fragments, 40_000, false);
        assert_eq!(fragments.held(), 40_080);
        fragments.release(32_727);
        assert_eq!((fragments.held(), fragments.end_behind(32_727)), (7_353, Some(32_728)));
        fragments.release(32_728);
        assert_eq!((fragments.held(), fragments.end_behind(32_728)), (7_312, Some(40_000)));
        assert_eq!(fragments.end_behind(40_000), None);
    }

    #[test]
    fn a_page_is_filled_anew_once_nothing_of_it_is_kept() {
        let mut fragments = Fragments::default();
        write(&mut fragments, 20_000, false);
        fragments.release(20_000);
        write(&mut fragments, 20_000, false);
        assert_eq!(ends(&fragments), [40_000]);
    }

    #[test]
    fn descriptions_are_aligned_and_begin_no_fragment_at_the_very_end_of_a_page() {
        let mut fragments = Fragments::default();
        write(&mut fragments, 1, false);
        write(&mut fragments, 32_768 - 41 - 47 - 71, false);
        assert_eq!(fragments.overhead, 40 + 47);
        // 71 bytes are left, too few for another fragment.
        write(&mut fragments, 100, false);
        assert_eq!((ends(&fragments).len(), fragments.taken), (3, 140));
        assert_eq!(full_fragment_end(32_727), 32_728);
        assert_eq!(full_fragment_end(32_728), 65_456);
        assert_eq!(Fragments::filling(32_769), 65_456);
    }
}
