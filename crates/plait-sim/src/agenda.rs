//! The event queue.
//!
//! Every *source* of events (a link, a timer, a workload) has at most one pending moment. The queue
//! is therefore not a list of events but has one slot per source. A tournament finds the earliest
//! slot: slots play in groups of four, and the winners of groups play in groups above them. A
//! change of one slot replays only the matches on its way up. The lowest bits of a slot name its
//! source, so that the final winner identifies the source.
//!
//! Events at equal times run in the order in which they were scheduled.

use plait_sched::Time;

/// The time of an event, and its order among events at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Key {
    /// The moment. [`Time::MAX`] is "never".
    pub time: Time,
    /// First-in-first-out number from [`Agenda::next_order`]: the smaller one goes first.
    pub order: u64,
}

impl Key {
    /// Packs the key and a source that has it into one number, which sorts as the key does.
    const fn packed(self, source: usize) -> u128 {
        ((self.time.as_nanos() as u128) << 64) | ((self.order << SOURCE_BITS) | source as u64) as u128
    }

    const fn unpacked(packed: u128) -> (Self, usize) {
        let key = Self { time: Time::from_nanos((packed >> 64) as u64), order: packed as u64 >> SOURCE_BITS };
        (key, packed as usize & (MAX_SOURCES - 1))
    }
}

/// Bits that name a source. The other bits of the word hold the order.
const SOURCE_BITS: u32 = 24;

/// Largest number of sources in an agenda.
const MAX_SOURCES: usize = 1 << SOURCE_BITS;

/// Orders are below this, 2³⁹, about 5.5 · 10¹¹.
pub const MAX_ORDER: u64 = 1 << 39;
const _: () = assert!(MAX_ORDER.ilog2() + SOURCE_BITS <= u64::BITS, "a key and its source are packed");

/// The slot of an idle source, which loses every match.
const NEVER: u128 = u128::MAX;

/// Number of slots in a group.
const WIDTH: usize = 4;

/// The pending moments of a fixed number of sources, numbered from zero.
///
/// Setting and cancelling take O(log sources), reading the earliest takes O(1), and nothing
/// allocates after [`Agenda::new`].
///
/// ```
/// use plait_sched::Time;
/// use plait_sim::agenda::{Agenda, Key};
///
/// let mut agenda = Agenda::new(3);
/// let (first, second) = (agenda.next_order(), agenda.next_order());
/// agenda.set(0, Key { time: Time::from_nanos(5), order: second });
/// agenda.set(2, Key { time: Time::from_nanos(5), order: first });
/// assert_eq!(agenda.peek().map(|(_, source)| source), Some(2)); // equal times: first in, first out
/// agenda.cancel(2);
/// assert_eq!(agenda.peek().map(|(key, source)| (key.order, source)), Some((second, 0)));
/// ```
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The first group is the final match. The winners of `groups[4 * n + 1]` and of the three
    /// groups after it play in `groups[n]`.
    groups: Box<[[u128; WIDTH]]>,
    /// The groups before this index hold winners, the others hold the slots of the sources in their
    /// order.
    inner: usize,
    earliest: u128,
    sources: usize,
    order: u64,
}

impl Agenda {
    /// Creates an agenda for the sources `0..sources`, all idle.
    ///
    /// # Panics
    /// With more than 2²⁴ sources.
    pub fn new(sources: usize) -> Self {
        assert!(sources <= MAX_SOURCES, "an agenda of {sources} sources");
        let outer = sources.div_ceil(WIDTH).max(1);
        let inner = (outer - 1).div_ceil(WIDTH - 1);
        let groups = vec![[NEVER; WIDTH]; inner + outer].into_boxed_slice();
        Self { groups, inner, earliest: NEVER, sources, order: 0 }
    }

    /// Number of sources.
    pub const fn sources(&self) -> usize {
        self.sources
    }

    /// Returns the next first-in-first-out number: 0, 1, 2, …
    #[inline]
    pub const fn next_order(&mut self) -> u64 {
        let order = self.order;
        self.order += 1;
        order
    }

    /// Sets the pending moment of `source` and replaces its previous one. A key at [`Time::MAX`]
    /// cancels.
    ///
    /// # Panics
    /// If there is no such source, or with an order of [`MAX_ORDER`] or more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn set(&mut self, source: usize, key: Key) {
        assert!(key.order < MAX_ORDER, "more than {MAX_ORDER} events");
        let packed = if key.time == Time::MAX { NEVER } else { key.packed(source) };
        self.place(source, packed);
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn cancel(&mut self, source: usize) {
        self.place(source, NEVER);
    }

    /// Returns the pending moment of `source`.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn get(&self, source: usize) -> Option<Key> {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        let packed = self.groups[self.inner + source / WIDTH][source % WIDTH];
        (packed != NEVER).then(|| Key::unpacked(packed).0)
    }

    /// Returns the earliest pending moment and its source, or `None` if all sources are idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn peek(&self) -> Option<(Key, usize)> {
        (self.earliest != NEVER).then(|| Key::unpacked(self.earliest))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(&mut self, source: usize, packed: u128) {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        let (mut group, mut place, mut best) = (self.inner + source / WIDTH, source % WIDTH, packed);
        loop {
            let slots = &mut self.groups[group];
            slots[place] = best;
            let &mut [a, b, c, d] = slots;
            best = a.min(b).min(c.min(d));
            if group == 0 {
                break;
            }
            (group, place) = ((group - 1) / WIDTH, (group - 1) % WIDTH);
        }
        self.earliest = best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(time: u64, order: u64) -> Key {
        Key { time: Time::from_nanos(time), order }
    }

    #[test]
    fn an_idle_agenda_has_nothing_next() {
        for sources in [0, 1, 2, 3, 16, 17] {
            assert_eq!(Agenda::new(sources).peek(), None);
        }
    }

    #[test]
    fn equal_times_run_first_in_first_out() {
        let mut agenda = Agenda::new(5);
        for source in [3, 0, 4, 1, 2] {
            let order = agenda.next_order();
            agenda.set(source, key(7, order));
        }
        let mut seen = Vec::new();
        while let Some((_, source)) = agenda.peek() {
            seen.push(source);
            agenda.cancel(source);
        }
        assert_eq!(seen, [3, 0, 4, 1, 2]);
    }

    #[test]
    fn never_is_no_moment() {
        let mut agenda = Agenda::new(1);
        agenda.set(0, Key { time: Time::MAX, order: 0 });
        assert_eq!((agenda.peek(), agenda.get(0)), (None, None));
    }

    #[test]
    #[should_panic(expected = "source 3 of 3")]
    fn a_source_beyond_the_last_is_a_broken_invariant() {
        Agenda::new(3).set(3, key(0, 0));
    }

    proptest! {
        /// Compares the tournament with a linear search over the slots.
        #[test]
        fn agrees_with_a_linear_search(
            sources in 1_usize..40,
            operations in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of((0_u64..20, 0_u64..4))), 1..400),
        ) {
            let mut agenda = Agenda::new(sources);
            let mut model = vec![None; sources];
            for (index, change) in operations {
                let source = index.index(sources);
                match change {
                    Some((time, order)) => agenda.set(source, key(time, order)),
                    None => agenda.cancel(source),
                }
                model[source] = change.map(|(time, order)| key(time, order));
                let earliest = model.iter().flatten().min().copied();
                prop_assert_eq!(agenda.peek().map(|(key, _)| key), earliest);
                prop_assert_eq!(agenda.peek().and_then(|(_, source)| model[source]), earliest);
                prop_assert_eq!(agenda.get(source), model[source]);
            }
        }
    }
}
