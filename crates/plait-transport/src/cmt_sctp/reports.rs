//! Tracks the receiver's reports, so that no segment counts as missing whose report is still on the
//! way.
//!
//! On the wire every SACK reports all gap blocks. In memory each SACK carries the runs that changed
//! lately, as a range of changes in the receiver's count. SACKs of different paths overtake each
//! other, and some lack space for all changes. The ranges therefore come in any order and with
//! holes. A SACK shows missing segments only if there is no hole.

use crate::packet::GapBlock;
use crate::packet::sctp::{MAX_GAP_BLOCKS, Sack};
use crate::run_set::RunSet;

/// Number of remembered changes beyond a hole. A hole that lasts longer ends with the cumulative
/// acknowledgement.
const REMEMBERED: u64 = 1 << 16;

/// The sender's knowledge of the receiver's changes of runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports {
    /// All changes below this number are known.
    known: u64,
    /// Known changes beyond a hole.
    beyond: RunSet,
    /// The receiver's count of changes in the newest SACK received.
    newest: u64,
    /// The hole concerns segments below the first number, and ends before the change of the second
    /// number.
    doubt: Option<(u64, u64)>,
}

impl Reports {
    /// Processes a SACK's range, after its blocks. `cumulative`: the first segment that is not
    /// cumulatively acknowledged. `sent_end`: the first segment that was never sent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take(&mut self, sack: &Sack, cumulative: u64, sent_end: u64) {
        self.newest = self.newest.max(sack.changes_end);
        if sack.changes_from <= self.known {
            self.know(sack.changes_end);
        } else if sack.changes_end - self.known < REMEMBERED {
            self.beyond.advance(self.known);
            let from = sack.changes_from.max(sack.changes_end.saturating_sub(MAX_GAP_BLOCKS as u64));
            for change in from..sack.changes_end {
                self.beyond.insert(change);
            }
        }
        // All segments that the hole concerned have arrived.
        if let Some((until, end)) = self.doubt
            && until <= cumulative
        {
            self.know(end);
        }
        if self.is_complete() {
            self.doubt = None;
        } else if self.doubt.is_none_or(|(_, end)| end <= self.known) {
            self.doubt = Some((sent_end, self.newest));
        }
    }

    /// Returns the blocks of a SACK that may be new: the first ones, which report unknown changes,
    /// and the last one, which may be an older run. A SACK without a count of changes reports all
    /// its runs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn news<'a>(&self, sack: &'a Sack) -> impl Iterator<Item = &'a GapBlock> + use<'a> {
        let blocks = sack.blocks();
        let unknown =
            if sack.changes_end == 0 { u64::MAX } else { sack.changes_end.saturating_sub(self.known) };
        let first = blocks.len().min(usize::try_from(unknown).unwrap_or(usize::MAX));
        blocks[..first].iter().chain(blocks[first..].last())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn know(&mut self, end: u64) {
        if end > self.known {
            if self.beyond.is_empty() {
                self.known = end;
                return;
            }
            self.known = self.beyond.first_absent(end.max(self.beyond.base()));
            self.beyond.advance(self.known);
        }
    }

    /// True if no received SACK left later than this one, according to the changes of runs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_newest(&self, sack: &Sack) -> bool {
        sack.changes_end >= self.newest
    }

    /// True if all segments are known that had arrived when the newest SACK left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_complete(&self) -> bool {
        self.known >= self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes a report of the changes `from..end`, after `sent` segments were sent.
    fn take(reports: &mut Reports, (from, end): (u64, u64), cumulative: u64, sent: u64) -> bool {
        let mut sack = Sack::new(cumulative, 0, 1);
        (sack.changes_from, sack.changes_end) = (from, end);
        reports.take(&sack, cumulative, sent);
        reports.is_complete()
    }

    #[test]
    fn overtaken_reports_fill_the_hole() {
        let mut reports = Reports::default();
        assert!(take(&mut reports, (0, 4), 0, 50));
        assert!(!take(&mut reports, (20, 40), 0, 50));
        assert!(!take(&mut reports, (12, 20), 0, 50));
        assert!(!take(&mut reports, (40, 41), 0, 50), "later ones do not");
        assert!(take(&mut reports, (2, 12), 0, 50));
        assert_eq!(reports.known, 41);
    }

    #[test]
    fn a_hole_ends_with_the_segments_that_it_can_be_about() {
        let mut reports = Reports::default();
        assert!(!take(&mut reports, (10, 20), 0, 50));
        assert!(!take(&mut reports, (30, 40), 49, 80));
        assert!(!take(&mut reports, (40, 41), 50, 90), "the second hole is left");
        assert!(!take(&mut reports, (41, 42), 89, 99));
        assert!(take(&mut reports, (42, 43), 90, 99));
    }

    #[test]
    fn a_report_of_all_runs_leaves_no_hole() {
        let mut reports = Reports::default();
        assert!(!take(&mut reports, (10, 20), 0, 50));
        assert!(take(&mut reports, (0, 30), 0, 50));
    }

    #[test]
    fn absurd_numbers_cost_nothing() {
        let mut reports = Reports::default();
        assert!(!take(&mut reports, (u64::MAX - 2, u64::MAX), 0, 50));
        assert!(!take(&mut reports, (3, 7), 0, 50));
        assert!(take(&mut reports, (7, 9), 50, 60));
    }
}
