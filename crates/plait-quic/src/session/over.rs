//! Segments of which the peer has said that they are over.

use std::collections::BTreeSet;

/// So many of them are remembered: the newest. What was on its way for longer is dropped when it comes.
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
