//! The event queue.
//!
//! Every *source* of events (a link, a timer, a workload) has at most one pending moment. The queue
//! is therefore not a list of events but has one slot per source. The earliest of up to eight
//! sources is found by comparing them all: most runs have no more. Eight sources of a larger agenda
//! form a group, eight groups a group of the next level, and so on.
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
    /// The key of an idle source.
    pub const NEVER: Self = Self { time: Time::MAX, since: Time::MAX, order: u64::MAX };
}

/// Orders are below this, 2³⁹, about 5.5 · 10¹¹.
pub const MAX_ORDER: u64 = 1 << 39;

/// The pending moments of a fixed number of sources, numbered from zero.
///
/// Setting, cancelling and reading the earliest take O(log sources), and nothing allocates after
/// [`Agenda::new`].
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
    sources: usize,
    /// The moments of at most eight sources, or the earliest ones of the groups of the last level.
    top: Group,
    /// The groups of sources, the groups of such groups, and so on.
    levels: Vec<Box<[Group]>>,
}

/// Number of sources in a group.
const GROUP: usize = 8;

/// The moments of some sources. The compared times are next to each other.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// [`Time::MAX`] for idle sources, and for those that the agenda does not have.
    times: [Time; GROUP],
    /// `since` and `order` of each source, which decide among equal times.
    ranks: [(Time, u64); GROUP],
}

impl Group {
    const IDLE: Self = Self { times: [Time::MAX; GROUP], ranks: [(Time::MAX, u64::MAX); GROUP] };

    #[inline(always)]
    fn set(&mut self, place: usize, EventKey { time, since, order }: EventKey) {
        self.times[place % GROUP] = time;
        self.ranks[place % GROUP] = (since, order);
    }

    #[inline(always)]
    fn key(&self, place: usize) -> EventKey {
        let (since, order) = self.ranks[place % GROUP];
        EventKey { time: self.times[place % GROUP], since, order }
    }

    /// The place of the earliest moment among the first four sources, or among all. Comparisons have
    /// no branches, because nobody can predict them.
    #[inline(always)]
    fn first(&self, of_four: bool) -> usize {
        let earlier = |one: (Time, usize, bool), other: (Time, usize, bool)| {
            let first = if other.0 < one.0 { other } else { one };
            (first.0, first.1, first.2 | (one.0 == other.0))
        };
        let pair = |place: usize| {
            let [one, other] = [place, place + 1].map(|place| (self.times[place], place, false));
            earlier(one, other)
        };
        let mut first = earlier(pair(0), pair(2));
        if !of_four {
            first = earlier(first, earlier(pair(4), pair(6)));
        }
        if first.2 { self.first_of_equal() } else { first.1 }
    }

    #[cold]
    #[inline(never)]
    fn first_of_equal(&self) -> usize {
        (0..GROUP).min_by_key(|&place| self.key(place)).unwrap_or(0)
    }
}

impl Agenda {
    /// Creates an agenda for the sources `0..sources`, all idle.
    pub fn new(sources: usize) -> Self {
        let (mut levels, mut places) = (Vec::new(), sources);
        while places > GROUP {
            places = places.div_ceil(GROUP);
            levels.push(vec![Group::IDLE; places].into_boxed_slice());
        }
        Self { sources, top: Group::IDLE, levels }
    }

    /// Number of sources.
    pub const fn sources(&self) -> usize {
        self.sources
    }

    /// Sets the pending moment of `source` and replaces its previous one. A key at [`Time::MAX`]
    /// makes the source idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn set(&mut self, source: usize, key: EventKey) {
        self.check(source);
        if self.levels.is_empty() {
            self.top.set(source, key);
        } else {
            self.set_below(source, key.time, (key.since, key.order));
        }
    }

    #[inline(always)]
    fn check(&self, source: usize) {
        if source >= self.sources {
            no_such_source(source, self.sources);
        }
    }

    /// Sets a source's moment in the levels, and the earliest one of its group at the top. The moment
    /// comes in parts: a whole one would be written to memory and read back with other widths, which
    /// stalls, where it is set without this function.
    #[inline(never)]
    fn set_below(&mut self, mut place: usize, time: Time, (since, order): (Time, u64)) {
        let mut key = EventKey { time, since, order };
        for level in &mut self.levels {
            let group = &mut level[place / GROUP];
            group.set(place, key);
            (place, key) = (place / GROUP, group.key(group.first(false)));
        }
        self.top.set(place, key);
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn cancel(&mut self, source: usize) {
        self.set(source, EventKey::NEVER);
    }

    /// Returns the pending moment of `source`, at [`Time::MAX`] if it is idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn get(&self, source: usize) -> EventKey {
        self.check(source);
        self.levels.first().map_or(&self.top, |groups| &groups[source / GROUP]).key(source)
    }

    /// Returns the earliest pending moment and its source, or `None` if all sources are idle.
    pub fn peek(&self) -> Option<(EventKey, usize)> {
        let (time, source) = self.first();
        (time < Time::MAX).then(|| (self.get(source), source))
    }

    /// Returns the earliest pending time and its source, or [`Time::MAX`] if all sources are idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn first(&self) -> (Time, usize) {
        let place = self.top.first(self.sources <= GROUP / 2);
        let time = self.top.times[place % GROUP];
        (time, if self.levels.is_empty() { place } else { self.source_below(place) })
    }

    /// The earliest source below a place at the top.
    #[inline(never)]
    fn source_below(&self, place: usize) -> usize {
        self.levels.iter().rev().fold(place, |place, level| place * GROUP + level[place].first(false))
    }
}

/// Not in place, where the message would keep its numbers in memory for every packet.
#[cold]
#[inline(never)]
fn no_such_source(source: usize, sources: usize) -> ! {
    panic!("source {source} of {sources}")
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
        for sources in [0, 1, 4, 5, 8, 9, 65] {
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
        assert_eq!((agenda.peek(), agenda.get(0).time), (None, Time::MAX));
    }

    #[test]
    #[should_panic(expected = "source 3 of 3")]
    fn a_source_beyond_the_last_is_a_broken_invariant() {
        Agenda::new(3).set(3, key(0, 0));
    }

    proptest! {
        /// Compares the agenda with a linear search over the slots.
        #[test]
        fn agrees_with_a_linear_search(
            sources in 1_usize..80,
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
                prop_assert_eq!(agenda.get(source), model[source].unwrap_or(EventKey::NEVER));
            }
        }
    }
}
