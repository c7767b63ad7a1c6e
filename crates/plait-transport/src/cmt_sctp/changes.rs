//! Recent changes at the receiver, and the part of them that an acknowledgement reports.

use crate::packet::sctp::{MAX_GAP_BLOCKS, Sack};
use crate::reassembly::Reassembly;
use plait_sched::{MAX_PATHS, PathId};

/// Changed runs that one acknowledgement reports at most; one block is kept for an older run.
const REMEMBERED: u64 = MAX_GAP_BLOCKS as u64 - 1;

/// Changed runs that one acknowledgement reports at least. Also, three acknowledgements of every path
/// report each change, since some get lost.
const REPEATED: u64 = 6;

/// Gap blocks that fit a packet of 1500 bytes: (1500 − 48) / 4.
const MAX_WIRE_BLOCKS: usize = 363;

/// Slots that one acknowledgement looks through for an older run to repeat.
const REPEAT_SEARCH: u64 = 64;

/// The bit of the first place in [`Changes::gone`].
const FIRST: u32 = 1 << 31;

/// The runs that changed, in the receiver's count. Consecutive changes of one run are one entry.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// The newest; the entry with number n is at `n % MAX_GAP_BLOCKS`.
    runs: [(u64, u64); MAX_GAP_BLOCKS],
    /// The count of changes after the last change of each entry.
    ends: [u64; MAX_GAP_BLOCKS],
    /// Places of runs that were delivered or have grown, from the highest bit on: they never become a
    /// run again. A newer change reports a run that has grown.
    gone: u32,
    /// Number of entries.
    entries: u64,
    /// Number of changes.
    count: u64,
    /// Numbers of finished entries when the last three acknowledgements left on each path, newest
    /// first.
    reported: [[u64; 3]; MAX_PATHS],
    /// Position at which the search for an older run to repeat continues.
    repeat_from: u64,
}

impl Changes {
    pub(super) const NONE: Self = Self {
        runs: [(0, 0); MAX_GAP_BLOCKS],
        ends: [0; MAX_GAP_BLOCKS],
        gone: 0,
        entries: 0,
        count: 0,
        reported: [[0; 3]; MAX_PATHS],
        repeat_from: 0,
    };

    /// The run of `segment` begins, or has grown.
    pub(super) fn note(&mut self, segment: u64, (first, last): (u64, u64)) {
        // The runs that it joins are no runs any more. Most often the newest entry is one of them.
        let mut joined = u8::from(first < segment) + u8::from(last > segment);
        let mut left = self.since(self.entries);
        let newest = self.entries.wrapping_sub(1) as usize % MAX_GAP_BLOCKS;
        let mut grows = false;
        while joined > 0 && left != 0 {
            let place = self.take_newest(&mut left);
            if first <= self.runs[place].0 && self.runs[place].1 <= last {
                self.gone |= FIRST >> place;
                grows |= place == newest;
                joined -= 1;
            }
        }
        self.entries += u64::from(!grows);
        self.count += 1;
        let place = (self.entries - 1) as usize % MAX_GAP_BLOCKS;
        self.runs[place] = (first, last);
        self.ends[place] = self.count;
        self.gone &= !(FIRST >> place);
    }

    /// Writes gap blocks into an acknowledgement that leaves on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn report(&mut self, path: PathId, reassembly: &mut Reassembly, sack: &mut Sack) {
        let waiting = reassembly.waiting();
        let reported = &mut self.reported[path.index()];
        let news = (self.entries - reported[2]).clamp(REPEATED, REMEMBERED).min(self.entries);
        // The newest entry may change again.
        *reported = [self.entries.saturating_sub(1), reported[0], reported[1]];
        sack.changes_end = self.count;
        if waiting.is_empty() {
            return;
        }
        sack.gap_blocks = waiting.runs().min(MAX_WIRE_BLOCKS) as u16;
        let mut left = self.since(news);
        while left != 0 {
            let place = self.take_newest(&mut left);
            let (first, last) = self.runs[place];
            if first > sack.cumulative {
                sack.push_block(first, last);
            } else {
                self.gone |= FIRST >> place;
            }
        }
        if waiting.runs() > sack.blocks().len() {
            let before = self.entries - news;
            sack.changes_from =
                if before > 0 { self.ends[(before - 1) as usize % MAX_GAP_BLOCKS] } else { 0 };
            self.push_older_run(reassembly, sack);
        }
    }

    /// The newest `entries` whose runs are not known to be gone, as bits: the lowest is the newest.
    #[inline]
    fn since(&self, entries: u64) -> u32 {
        let known = (!self.gone).rotate_left(self.entries as u32 % MAX_GAP_BLOCKS as u32);
        known & !u32::MAX.checked_shl(entries.min(32) as u32).unwrap_or(0)
    }

    /// Removes the newest entry from such bits, and returns its place.
    #[inline]
    fn take_newest(&self, left: &mut u32) -> usize {
        let age = left.trailing_zeros() as usize;
        *left &= *left - 1;
        (self.entries as usize).wrapping_sub(1 + age) % MAX_GAP_BLOCKS
    }

    /// Repeats one older run per acknowledgement, in turn, to recover even from a long loss of
    /// acknowledgements.
    fn push_older_run(&mut self, reassembly: &mut Reassembly, sack: &mut Sack) {
        let waiting = reassembly.waiting_mut();
        let mut from = self.repeat_from.max(sack.cumulative + 1);
        if let Some(present) = waiting.next_present(from, REPEAT_SEARCH) {
            // Only a run's start is sure to be whole: one that follows an absent number.
            let end = waiting.first_absent(present);
            if !waiting.contains(present - 1) {
                sack.push_block(present, end - 1);
            }
            self.repeat_from = end + 1;
            return;
        }
        from += REPEAT_SEARCH;
        self.repeat_from = if from >= reassembly.end() { 0 } else { from };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_run_is_one_entry() {
        let mut changes = Changes::NONE;
        changes.note(2, (2, 2));
        for segment in 4..100 {
            changes.note(segment, (4, segment));
        }
        assert_eq!((changes.entries, changes.count), (2, 97));
        assert_eq!((changes.runs[1], changes.ends[..2].to_vec()), ((4, 99), vec![1, 97]));
        // The gap between both runs closes; then an older run grows.
        changes.note(3, (2, 99));
        changes.note(101, (101, 101));
        changes.note(100, (2, 101));
        assert_eq!((changes.entries, changes.since(3).count_ones()), (3, 1));
        assert_eq!((changes.runs[2], changes.ends[2]), ((2, 101), 100));
    }
}
