//! Segments that the peer has told to be over.

use std::collections::BTreeSet;

/// Numbers in memory, the newest ones. A segment with an older number is dropped.
const REMEMBERED: usize = 1_024;

/// Their numbers. One that comes after all, having been overtaken, is read as if nothing had been said.
#[derive(Debug, Default)]
pub(super) struct Over {
    numbers: BTreeSet<u64>,
}

impl Over {
    pub(super) fn insert(&mut self, number: u64) {
        self.numbers.insert(number);
        if self.numbers.len() > REMEMBERED {
            self.numbers.pop_first();
        }
    }

    /// Whether it was one of them: from now on it is none.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        self.numbers.remove(&number)
    }
}
