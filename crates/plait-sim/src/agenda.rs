//! The event queue: what happens next.
//!
//! Every *source* of events (a link, a timer, a workload) has at most one pending moment, so the queue is not a list
//! of events but one slot per source. A tournament decides which slot is the earliest: the slots are the leaves of a
//! binary tree whose inner nodes each remember the winner of the two below. Changing one slot replays only the matches on
//! its way to the root.

use std::hint::select_unpredictable;

use plait_sched::Time;

/// When something happens, and in which order among the things that happen at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The moment. [`Time::MAX`] is "never".
    pub time: Time,
    /// First-in-first-out number from [`Agenda::next_order`]: the smaller one goes first.
    pub order: u64,
}

impl Key {
    /// One number that sorts as the key does: one comparison instead of two.
    const fn packed(self) -> u128 {
        ((self.time.as_nanos() as u128) << 64) | self.order as u128
    }

    const fn unpacked(packed: u128) -> Self {
        Self { time: Time::from_nanos((packed >> 64) as u64), order: packed as u64 }
    }
}

/// What an idle source's slot holds; loses against everything.
const NEVER: u128 = u128::MAX;

/// The pending moments of a fixed number of sources, numbered from zero.
///
/// Setting and cancelling take O(log sources), looking at the earliest O(1), and nothing allocates after
/// [`Agenda::new`].
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
    /// One per source, and at least two.
    slots: Box<[u128]>,
    /// `winners[1]` is the root; node `n` plays the winners of `2n` and `2n + 1`, nodes from `slots.len()` up being
    /// the slots themselves, however many there are. `winners[0]` is unused.
    winners: Box<[u32]>,
    sources: usize,
    order: u64,
}

impl Agenda {
    /// An agenda for the sources `0..sources`, all idle.
    ///
    /// # Panics
    /// With more than 2³¹ sources.
    pub fn new(sources: usize) -> Self {
        assert!(sources <= 1 << 31, "an agenda of {sources} sources");
        let width = sources.max(2);
        let mut winners = vec![0_u32; 2 * width].into_boxed_slice();
        (0..width).for_each(|slot| winners[width + slot] = slot as u32);
        // All slots are equal: the lowest one below each node wins.
        for node in (1..width).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        Self { slots: vec![NEVER; width].into_boxed_slice(), winners, sources, order: 0 }
    }

    /// The number of sources.
    pub const fn sources(&self) -> usize {
        self.sources
    }

    /// The next first-in-first-out number: 0, 1, 2, …
    pub const fn next_order(&mut self) -> u64 {
        let order = self.order;
        self.order += 1;
        order
    }

    /// Sets the pending moment of `source`, replacing the one it had. A key at [`Time::MAX`] cancels.
    ///
    /// # Panics
    /// If there is no such source.
    pub fn set(&mut self, source: usize, key: Key) {
        let packed = if key.time == Time::MAX { NEVER } else { key.packed() };
        self.place(source, packed);
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    pub fn cancel(&mut self, source: usize) {
        self.place(source, NEVER);
    }

    /// The pending moment of `source`.
    ///
    /// # Panics
    /// If there is no such source.
    pub fn get(&self, source: usize) -> Option<Key> {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        let packed = self.slots[source];
        (packed != NEVER).then(|| Key::unpacked(packed))
    }

    /// The earliest pending moment and its source; `None` if all sources are idle.
    pub fn peek(&self) -> Option<(Key, usize)> {
        let source = self.winners[1] as usize;
        let packed = self.slots[source];
        (packed != NEVER).then(|| (Key::unpacked(packed), source))
    }

    fn place(&mut self, source: usize, packed: u128) {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        self.slots[source] = packed;
        // The source's slot climbs as far as it wins, then whoever beat it does. The opponents on the way are known
        // beforehand, so only comparisons wait for each other. Who wins is as good as random: select, don't branch.
        let (mut best, mut winner) = (packed, source as u32);
        let slots = &*self.slots;
        let mut node = source + slots.len();
        let winners = &mut *self.winners;
        while node > 1 {
            let opponent = winners[node ^ 1];
            let other = slots[opponent as usize];
            let beaten = other < best;
            best = select_unpredictable(beaten, other, best);
            winner = select_unpredictable(beaten, opponent, winner);
            node /= 2;
            winners[node] = winner;
        }
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
        /// The tournament against the obvious: look at every slot.
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
