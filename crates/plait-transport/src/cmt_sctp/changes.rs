//! Recent changes at the receiver, and the part of them that an acknowledgement reports.

use crate::packet::sctp::{MAX_GAP_BLOCKS, Sack};
use crate::reassembly::Reassembly;
use plait_sched::{MAX_PATHS, PathId};

/// Changes of runs that are remembered for the next acknowledgements; one block is kept for an
/// older run.
const REMEMBERED: u64 = MAX_GAP_BLOCKS as u64 - 1;

/// Minimum number of reports of a change. Also, three acknowledgements of every path report it,
/// since some get lost.
const REPEATED: u64 = 6;

/// Gap blocks that fit a packet of 1500 bytes: (1500 − 48) / 4.
const MAX_WIRE_BLOCKS: usize = 363;

/// Slots that one acknowledgement looks through for an older run to repeat.
const REPEAT_SEARCH: u64 = 64;

/// The runs that changed, in the receiver's count.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// The newest; the change with number n is at `n % MAX_GAP_BLOCKS`.
    runs: [(u64, u64); MAX_GAP_BLOCKS],
    /// Places of runs that were delivered or have grown: they never become a run again.
    gone: u32,
    /// How many there were.
    count: u64,
    /// Numbers of changes when the last three acknowledgements left on each path, newest first.
    reported: [[u64; 3]; MAX_PATHS],
    /// Position at which the search for an older run to repeat continues.
    repeat_from: u64,
}

impl Changes {
    pub(super) const NONE: Self = Self {
        runs: [(0, 0); MAX_GAP_BLOCKS],
        gone: 0,
        count: 0,
        reported: [[0; 3]; MAX_PATHS],
        repeat_from: 0,
    };

    /// A run begins, or has grown.
    pub(super) fn note(&mut self, first: u64, last: u64) {
        let place = self.count as usize % MAX_GAP_BLOCKS;
        self.runs[place] = (first, last);
        self.gone &= !(1 << place);
        self.count += 1;
    }

    /// Writes gap blocks into an acknowledgement that leaves on `path`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn report(&mut self, path: PathId, reassembly: &mut Reassembly, sack: &mut Sack) {
        let waiting = reassembly.waiting();
        let reported = &mut self.reported[path.index()];
        let news = (self.count - reported[2]).clamp(REPEATED, REMEMBERED).min(self.count);
        *reported = [self.count, reported[0], reported[1]];
        sack.changes_end = self.count;
        if waiting.is_empty() {
            return;
        }
        sack.gap_blocks = waiting.runs().min(MAX_WIRE_BLOCKS) as u16;
        for change in (self.count - news..self.count).rev() {
            let place = change as usize % MAX_GAP_BLOCKS;
            if self.gone & 1 << place != 0 {
                continue;
            }
            let (first, last) = self.runs[place];
            // A run that was delivered or has grown since is no longer a run; the newer change
            // reports it.
            if first > sack.cumulative && waiting.is_run(first, last) {
                sack.push_block(first, last);
            } else {
                self.gone |= 1 << place;
            }
        }
        if waiting.runs() > sack.blocks().len() {
            sack.changes_from = self.count - news;
            self.push_older_run(reassembly, sack);
        }
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
