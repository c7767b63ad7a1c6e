//! A set of numbers above a moving base, stored as maximal runs: segments received out of order, or
//! acknowledged segments.

use crate::effort::Effort;
use crate::ring::prefetch;

/// Distance at which numbers are prefetched before they are read: two cache lines.
const AHEAD: u64 = 16;

/// Marks an empty slot.
const ABSENT: u64 = u64::MAX;

/// Numbers `>= base` that are present, in a ring of slots.
///
/// A slot at the end of a run holds the other end. Insertion, merging and finding a run's extent
/// from its end therefore take constant time for runs of any length. From inside a run, a search
/// for its end leaps and remembers the leaps (path compression, as in a union-find structure): over
/// many searches, each reads a few slots. No operation slows down as windows grow.
#[derive(Clone, Debug)]
pub struct RunSet {
    base: u64,
    /// `other_end[n & mask]`: for the first number of a run its last, for the last its first. For
    /// other numbers, an earlier end of the run or a later number of it, along which
    /// [`RunSet::first_absent`] leaps.
    other_end: Vec<u64>,
    mask: u64,
    runs: usize,
    present: u64,
    effort: Effort,
}

impl RunSet {
    /// Creates an empty set with base 0.
    pub fn new() -> Self {
        let capacity = 64;
        Self {
            base: 0,
            other_end: vec![ABSENT; capacity],
            mask: capacity as u64 - 1,
            runs: 0,
            present: 0,
            effort: Effort::default(),
        }
    }

    /// Returns the lowest number that can be in the set.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns the number of maximal runs.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the number of elements.
    pub fn len(&self) -> u64 {
        self.present
    }

    /// True if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    fn slot(&self, number: u64) -> usize {
        (number & self.mask) as usize
    }

    /// Returns how often a slot was read. Counted only in builds with debug assertions, for tests.
    pub fn looks(&self) -> u64 {
        self.effort.looks()
    }

    /// True if `number` is in the set.
    #[inline]
    pub fn contains(&self, number: u64) -> bool {
        self.effort.look();
        number.wrapping_sub(self.base) <= self.mask && self.other_end[self.slot(number)] != ABSENT
    }

    /// Adds `number`. Returns its run as `(first, last)`, or `None` if the number was present or is
    /// below the base.
    pub fn insert(&mut self, number: u64) -> Option<(u64, u64)> {
        if number < self.base || self.contains(number) {
            return None;
        }
        if number - self.base > self.mask {
            self.grow(number);
        }
        let mut first = number;
        let mut last = number;
        self.runs += 1;
        if number > self.base && self.contains(number - 1) {
            first = self.other_end[self.slot(number - 1)];
            self.runs -= 1;
        }
        if self.contains(number + 1) {
            last = self.other_end[self.slot(number + 1)];
            self.runs -= 1;
        }
        let slot = self.slot(number);
        self.other_end[slot] = last;
        let slot = self.slot(first);
        self.other_end[slot] = last;
        let slot = self.slot(last);
        self.other_end[slot] = first;
        self.present += 1;
        // Over a window, accesses to a long set pass all slots once. The numbers after this one
        // were last read a window ago.
        prefetch(self.other_end.as_ptr().wrapping_add(self.slot(number + AHEAD)));
        Some((first, last))
    }

    /// Returns the lowest number `>= from` that is absent. `from` must not be below the base.
    #[inline]
    pub fn first_absent(&mut self, from: u64) -> u64 {
        if !self.contains(from) {
            return from;
        }
        // Most often an end of the run is stored here.
        let end = self.other_end[self.slot(from)];
        if end >= from && !self.contains(end + 1) {
            return end + 1;
        }
        self.search_absent(from)
    }

    /// Like [`RunSet::first_absent`], for a number that is present.
    #[inline(never)]
    fn search_absent(&mut self, from: u64) -> u64 {
        let mut last = from;
        while let Some(further) = self.leap(last) {
            last = further;
        }
        // Path compression: later searches leap at once.
        let mut number = from;
        while let Some(further) = self.leap(number).filter(|_| number < last) {
            let slot = self.slot(number);
            self.other_end[slot] = last;
            number = further;
        }
        last + 1
    }

    /// Returns a later number of the run of `number`, or `None` if that is the run's last.
    fn leap(&self, number: u64) -> Option<u64> {
        self.effort.look();
        let end = self.other_end[self.slot(number)];
        if end > number {
            return Some(end);
        }
        // The slot holds an earlier first number of the run, whose slot holds an end of the run,
        // unless the base has passed it.
        if end >= self.base {
            let last = self.other_end[self.slot(end)];
            if last > number {
                return Some(last);
            }
        }
        self.contains(number + 1).then_some(number + 1)
    }

    /// Returns the lowest number present among the `count` numbers from `from` on. `from` must not
    /// be below the base.
    pub(crate) fn next_present(&self, from: u64, count: u64) -> Option<u64> {
        let end = (from + count).min(self.base + self.mask + 1);
        (from..end).find(|&number| {
            self.effort.look();
            self.other_end[self.slot(number)] != ABSENT
        })
    }

    /// Returns the runs as `(first, last)`, ascending. Reads the slots of all numbers up to the
    /// last one present.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut number = self.base;
        (0..self.runs).map(move |_| {
            while !self.contains(number) {
                number += 1;
            }
            let (first, last) = (number, self.other_end[self.slot(number)]);
            number = last + 1;
            (first, last)
        })
    }

    /// Moves the base up to `base`, and removes the numbers below it.
    #[inline]
    pub fn advance(&mut self, base: u64) {
        if self.present > 0 {
            self.forget_below(base);
        }
        self.base = self.base.max(base);
    }

    /// Removes the numbers below `base` from a set that is not empty.
    fn forget_below(&mut self, base: u64) {
        if base <= self.base {
            return;
        }
        // Most often the removed numbers are one run. It begins at the base, or behind it.
        let first = self.base + u64::from(!self.contains(self.base));
        if self.contains(first) && self.other_end[self.slot(first)] + 1 == base {
            for number in first..base {
                let slot = self.slot(number);
                self.other_end[slot] = ABSENT;
            }
            self.present -= base - first;
            self.runs -= 1;
            return;
        }
        // A run that the new base cuts keeps its upper part: its last number must name the new
        // first one.
        if self.contains(base) && self.contains(base - 1) {
            let last = self.first_absent(base) - 1;
            let slot = self.slot(last);
            self.other_end[slot] = base;
            let slot = self.slot(base);
            self.other_end[slot] = last;
            self.runs += 1;
        }
        let top = base.min(self.base + self.mask + 1);
        let mut inside = false;
        for number in self.base..top {
            let slot = self.slot(number);
            let here = self.other_end[slot] != ABSENT;
            if here {
                self.other_end[slot] = ABSENT;
                self.present -= 1;
                self.runs -= usize::from(!inside);
            }
            inside = here;
        }
    }

    fn grow(&mut self, number: u64) {
        let capacity = (number - self.base + 1).next_power_of_two().max(2 * (self.mask + 1));
        let mask = capacity - 1;
        let mut other_end = vec![ABSENT; capacity as usize];
        for old in self.base..=self.base + self.mask {
            other_end[(old & mask) as usize] = self.other_end[self.slot(old)];
        }
        self.other_end = other_end;
        self.mask = mask;
    }
}

impl Default for RunSet {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn runs_of(set: &BTreeSet<u64>) -> usize {
        set.iter().filter(|&&n| n == 0 || !set.contains(&(n - 1))).count()
    }

    #[test]
    fn neighbours_merge_into_one_run() {
        let mut set = RunSet::new();
        assert_eq!(set.insert(5), Some((5, 5)));
        assert_eq!(set.insert(7), Some((7, 7)));
        assert_eq!(set.insert(6), Some((5, 7)));
        assert_eq!(set.insert(6), None);
        assert_eq!((set.runs(), set.len()), (1, 3));
    }

    /// Returns the slots read per search from all places in one long run, inserted in this order.
    fn looks_per_search(order: impl Iterator<Item = u64>, searched: impl Iterator<Item = u64>) -> u64 {
        let mut set = RunSet::new();
        order.for_each(|number| {
            set.insert(number);
        });
        let (before, end, mut searches) = (set.looks(), set.len(), 0);
        assert_eq!(set.runs(), 1);
        for from in searched {
            assert_eq!(set.first_absent(from), end);
            searches += 1;
        }
        (set.looks() - before) / searches
    }

    #[test]
    fn the_end_of_a_long_run_is_found_from_inside_in_a_few_looks() {
        const COUNT: u64 = 100_000;
        let orders: [Vec<u64>; 4] = [
            (0..COUNT).collect(),
            (0..COUNT).rev().collect(),
            (0..COUNT).step_by(2).chain((1..COUNT).step_by(2)).collect(),
            (0..COUNT).map(|number| number * 7_919 % COUNT).collect(),
        ];
        for order in orders {
            let looks =
                |searched: &mut dyn Iterator<Item = u64>| looks_per_search(order.iter().copied(), searched);
            assert!(looks(&mut (1..COUNT)) <= 12);
            assert!(looks(&mut (1..COUNT).rev()) <= 12);
            // The first search may be long, later ones are not.
            assert!(looks(&mut std::iter::repeat_n(1, 100_000)) <= 12);
            assert!(looks(&mut (0..COUNT).map(|number| 1 + number * 31_337 % (COUNT - 1))) <= 12);
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(operations in prop::collection::vec((0u64..300, 0u64..4), 1..400)) {
            let mut set = RunSet::new();
            let mut model = BTreeSet::new();
            let mut base = 0;
            for (value, kind) in operations {
                if kind == 0 {
                    base = base.max(value / 3);
                    set.advance(base);
                    model = model.split_off(&base);
                } else if value >= base {
                    let fresh = model.insert(value);
                    let run = set.insert(value);
                    prop_assert_eq!(run.is_some(), fresh);
                    if let Some((first, last)) = run {
                        prop_assert!((first..=last).all(|n| model.contains(&n)));
                        prop_assert!(!model.contains(&(last + 1)));
                        prop_assert!(first == base || !model.contains(&(first - 1)));
                    }
                }
                prop_assert_eq!(set.len(), model.len() as u64);
                let from_base: BTreeSet<u64> = model.clone();
                prop_assert_eq!(set.runs(), runs_of(&from_base));
                let listed: Vec<u64> = set.iter().flat_map(|(first, last)| first..=last).collect();
                prop_assert!(listed.iter().eq(&from_base), "{listed:?}");
                prop_assert!(set.iter().all(|(_, last)| !set.contains(last + 1)));
                for n in base..310 {
                    prop_assert_eq!(set.contains(n), model.contains(&n));
                    let absent = (n..).find(|m| !model.contains(m)).unwrap();
                    prop_assert_eq!(set.first_absent(n), absent);
                }
            }
        }
    }
}
