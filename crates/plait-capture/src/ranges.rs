//! A set of the bytes of a stream: everything below a floor, and disjoint ranges above it.

use std::collections::BTreeMap;

/// A set of numbers from 0 on, as ranges. Growth in order takes constant time and memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    floor: u64,
    /// Start → end, all above the floor, none adjacent.
    above: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Returns the first number that is not in the set.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// Whether all of `start..end` is in the set.
    pub(crate) fn contains(&self, start: u64, end: u64) -> bool {
        end <= self.floor
            || self.above.range(..=start.max(self.floor)).next_back().is_some_and(|(_, &last)| end <= last)
    }

    /// Adds `start..end`. Calls `fresh` for each part that was not in the set, in order.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        let start = start.max(self.floor);
        if start >= end {
            return;
        }
        if self.above.is_empty() && start == self.floor {
            fresh(start, end);
            self.floor = end;
            return;
        }
        let (mut first, mut last, mut position) = (start, end, start);
        // The range that begins before the new one and touches it, if any; then all ranges that
        // begin within the new one.
        let before = self.above.range(..start).next_back().filter(|(_, other)| **other >= start);
        let mut next = before.or_else(|| self.above.range(start..=end).next()).map(|(&from, &to)| (from, to));
        while let Some((from, to)) = next {
            if from > position {
                fresh(position, from.min(end));
            }
            position = position.max(to);
            first = first.min(from);
            last = last.max(to);
            self.above.remove(&from);
            next = self.above.range(from..=end).next().map(|(&from, &to)| (from, to));
        }
        if position < end {
            fresh(position, end);
        }
        if first == self.floor {
            self.floor = last;
        } else {
            self.above.insert(first, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(operations in prop::collection::vec((0u64..30, 1u64..8), 1..30)) {
            let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
            for (start, length) in operations {
                let end = start + length;
                let mut found = Vec::new();
                ranges.insert(start, end, |from, to| found.extend(from..to));
                let expected: Vec<u64> = (start..end).filter(|number| model.insert(*number)).collect();
                prop_assert_eq!(found, expected);
                prop_assert_eq!(Some(ranges.floor()), (0..).find(|number| !model.contains(number)));
                for from in 0..38 {
                    for to in from + 1..39 {
                        let all = (from..to).all(|number| model.contains(&number));
                        prop_assert_eq!(ranges.contains(from, to), all, "{}..{}", from, to);
                    }
                }
            }
        }
    }
}
