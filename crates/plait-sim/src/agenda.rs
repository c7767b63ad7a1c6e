//! The event queue.
//!
//! Every *source* of events (a link, a timer, a workload) has at most one pending moment. The queue
//! is therefore not a list of events but has one slot per source. The earliest of up to eight
//! sources is found by comparing them all: most runs have no more. Eight sources of a larger agenda
//! form a group. The groups are the sources of another agenda.
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
    groups: Box<[Group]>,
    sources: usize,
    /// The earliest moment of each group, if there are several groups.
    above: Option<Box<Self>>,
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

    fn key(&self, place: usize) -> EventKey {
        let (since, order) = self.ranks[place];
        EventKey { time: self.times[place], since, order }
    }

    /// The place of the earliest moment among the first `SOURCES`. Comparisons have no branches,
    /// because nobody can predict them.
    #[inline(always)]
    fn first<const SOURCES: usize>(&self) -> usize {
        let (mut earliest, mut place) = (self.times[0], 0);
        for other in 1..SOURCES {
            let is_earlier = self.times[other] < earliest;
            earliest = if is_earlier { self.times[other] } else { earliest };
            place = if is_earlier { other } else { place };
        }
        let same: usize = self.times[..SOURCES].iter().map(|&time| usize::from(time == earliest)).sum();
        if same > 1 { self.first_of_equal() } else { place }
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
        let groups = sources.div_ceil(GROUP).max(1);
        Self {
            groups: vec![Group::IDLE; groups].into_boxed_slice(),
            sources,
            above: (groups > 1).then(|| Box::new(Self::new(groups))),
        }
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
    pub fn set(&mut self, source: usize, EventKey { time, since, order }: EventKey) {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        let group = &mut self.groups[source / GROUP];
        group.times[source % GROUP] = time;
        group.ranks[source % GROUP] = (since, order);
        if self.above.is_some() {
            self.renew(source / GROUP);
        }
    }

    /// Tells the agenda of the groups about a change.
    #[inline(never)]
    fn renew(&mut self, group: usize) {
        let changed = &self.groups[group];
        let earliest = changed.key(changed.first::<GROUP>());
        if let Some(above) = &mut self.above {
            above.set(group, earliest);
        }
    }

    /// Makes `source` idle.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn cancel(&mut self, source: usize) {
        self.set(source, EventKey { time: Time::MAX, ..EventKey::default() });
    }

    /// Returns the pending moment of `source`.
    ///
    /// # Panics
    /// If there is no such source.
    #[inline]
    pub fn get(&self, source: usize) -> Option<EventKey> {
        assert!(source < self.sources, "source {source} of {}", self.sources);
        Some(self.groups[source / GROUP].key(source % GROUP)).filter(|key| key.time < Time::MAX)
    }

    /// Returns the earliest pending moment and its source, or `None` if all sources are idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn peek(&self) -> Option<(EventKey, usize)> {
        let number = if self.above.is_some() { self.first_group()? } else { 0 };
        let group = self.groups.get(number)?;
        let place =
            if self.sources > GROUP / 2 { group.first::<GROUP>() } else { group.first::<{ GROUP / 2 }>() };
        Some((group.key(place), number * GROUP + place)).filter(|(key, _)| key.time < Time::MAX)
    }

    /// The group of the earliest moment.
    #[inline(never)]
    fn first_group(&self) -> Option<usize> {
        Some(self.above.as_ref()?.peek()?.1)
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
        assert_eq!((agenda.peek(), agenda.get(0)), (None, None));
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
                prop_assert_eq!(agenda.get(source), model[source]);
            }
        }
    }
}
