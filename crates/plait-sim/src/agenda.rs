//! The event queue.
//!
//! Every *source* of events (a link, a timer, a workload) has at most one pending moment. The queue
//! is therefore not a list of events but has one slot per source. A tournament finds the earliest
//! slot: two sources play, and the winners of two matches play in the match above them. A change of
//! one slot replays only the matches on its way up.
//!
//! Events at equal times run in the order in which they were scheduled.

use plait_sched::Time;

/// The time of an event, and its order among events at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EventKey {
    /// The moment. [`Time::MAX`] is "never".
    pub time: Time,
    /// The time at which the event was scheduled: the one scheduled earlier goes first.
    pub since: Time,
    /// First-in-first-out number of events that were scheduled at the same time.
    pub order: u64,
}

impl EventKey {
    /// The key of an idle source, which loses every match.
    const NEVER: Self = Self { time: Time::MAX, since: Time::MAX, order: u64::MAX };
}

/// Orders are below this, 2³⁹, about 5.5 · 10¹¹.
pub const MAX_ORDER: u64 = 1 << 39;

/// The pending moments of a fixed number of sources, numbered from zero.
///
/// Setting and cancelling take O(log sources), reading the earliest takes O(1), and nothing
/// allocates after [`Agenda::new`].
///
/// ```
/// use plait_sched::Time;
/// use plait_sim::agenda::{Agenda, EventKey};
///
/// let mut agenda = Agenda::new(3);
/// let key = |order| EventKey { time: Time::from_nanos(5), since: Time::ZERO, order };
/// agenda.set(0, key(1));
/// agenda.set(2, key(0));
/// assert_eq!(agenda.peek().map(|(_, source)| source), Some(2)); // equal times: first in, first out
/// agenda.cancel(2);
/// assert_eq!(agenda.peek().map(|(key, source)| (key.order, source)), Some((1, 0)));
/// ```
#[derive(Clone, Debug)]
pub struct Agenda {
    /// A key for every source, and idle ones up to a power of two.
    keys: Box<[EventKey]>,
    /// The winner of each match. Match 1 is the final. The winners of matches `2 * n` and
    /// `2 * n + 1` play in match `n`.
    winners: Box<[u32]>,
    sources: usize,
}

impl Agenda {
    /// Creates an agenda for the sources `0..sources`, all idle.
    ///
    /// # Panics
    /// With more than 2³¹ sources.
    pub fn new(sources: usize) -> Self {
        assert!(sources <= 1 << 31, "an agenda of {sources} sources");
        let slots = sources.next_power_of_two().max(2);
        let mut winners = vec![0; slots].into_boxed_slice();
        for played in (1..slots).rev() {
            let first = 2 * played;
            winners[played] = if first < slots { winners[first] } else { (first - slots) as u32 };
        }
        Self { keys: vec![EventKey::NEVER; slots].into_boxed_slice(), winners, sources }
    }

    /// Number of sources.
    pub const fn sources(&self) -> usize {
        self.sources
    }

    /// Sets the pending moment of `source` and replaces its previous one. A key at [`Time::MAX`]
    /// cancels.
    ///
    /// # Panics
    /// If there is no such source.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn set(&mut self, source: usize, key: EventKey) {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        self.keys[source] = key;
        // The match of a source and its neighbour, then the matches above it.
        let mut best = self.earlier(source, source ^ 1);
        let mut played = (self.keys.len() + source) / 2;
        while played > 1 {
            self.winners[played] = best as u32;
            best = self.earlier(best, self.winners[played ^ 1] as usize);
            played /= 2;
        }
        self.winners[1] = best as u32;
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn cancel(&mut self, source: usize) {
        self.set(source, EventKey::NEVER);
    }

    /// Returns the pending moment of `source`.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn get(&self, source: usize) -> Option<EventKey> {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        Some(self.keys[source]).filter(|key| key.time < Time::MAX)
    }

    /// Returns the earliest pending moment and its source, or `None` if all sources are idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn peek(&self) -> Option<(EventKey, usize)> {
        let source = self.winners[1] as usize;
        Some((self.keys[source], source)).filter(|(key, _)| key.time < Time::MAX)
    }

    #[inline]
    fn earlier(&self, one: usize, other: usize) -> usize {
        if self.keys[other] < self.keys[one] { other } else { one }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(time: u64, order: u64) -> EventKey {
        EventKey { time: Time::from_nanos(time), since: Time::ZERO, order }
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
        for (source, order) in [3, 0, 4, 1, 2].into_iter().zip(0..) {
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
        agenda.set(0, EventKey { time: Time::MAX, ..EventKey::default() });
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
