//! Segments that the peer has declared void.

use std::collections::BTreeSet;

/// Number of remembered segments, the newest ones. A segment with an older number is dropped.
const REMEMBERED: usize = 1_024;

/// Numbers of void segments. If such a segment arrives later with its payload, because it was
/// overtaken, it is read as usual.
#[derive(Debug, Default)]
pub(super) struct VoidSegments {
    numbers: BTreeSet<u64>,
}

impl VoidSegments {
    pub(super) fn insert(&mut self, number: u64) {
        self.numbers.insert(number);
        if self.numbers.len() > REMEMBERED {
            self.numbers.pop_first();
        }
    }

    /// Removes a number. Returns true if it was remembered.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        self.numbers.remove(&number)
    }
}
