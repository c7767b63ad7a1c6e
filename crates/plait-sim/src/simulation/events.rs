//! The pending events of a run: an agenda for each end of the connections, and one for the clocks.
//!
//! An event of one end cannot reach the other end sooner than the shortest delay of the links, the
//! *lookahead*. So each end may handle its events of that time in a row, before the other end
//! handles its own. Its code and its data then stay in the processor's caches.

use crate::agenda::{Agenda, EventKey};
use plait_sched::Time;

/// The agenda of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// Packets that arrive at the near end, its timers, and applications.
    Near,
    /// Packets that arrive at the far end, and its timers.
    Far,
    /// Events of the whole run, and those of carriers, which know no end.
    Clocks,
}

/// The agenda of a source, and its number there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    side: At,
    slot: u32,
}

/// The pending moments of all sources, which have consecutive numbers.
pub(super) struct Events {
    agendas: [Agenda; 3],
    places: Vec<Place>,
    /// The sources of each agenda.
    sources: [Vec<u32>; 3],
    order: u64,
}

impl Events {
    /// Creates the events of sources at these sides, all idle.
    pub(super) fn new(sides: &[At]) -> Self {
        let mut sources = [const { Vec::new() }; 3];
        let places = sides.iter().zip(0..).map(|(&side, source)| {
            let there: &mut Vec<u32> = &mut sources[side as usize];
            there.push(source);
            Place { side, slot: there.len() as u32 - 1 }
        });
        let places = places.collect();
        Self { agendas: sources.each_ref().map(|there| Agenda::new(there.len())), places, sources, order: 0 }
    }

    /// The place of a source.
    #[inline]
    pub(super) fn place(&self, source: usize) -> Place {
        self.places[source]
    }

    /// Returns the next first-in-first-out number: 0, 1, 2, …
    #[inline]
    pub(super) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order - 1
    }

    /// Sets the pending moment of the source at this place; [`EventKey::NEVER`] makes it idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set(&mut self, Place { side, slot }: Place, key: EventKey) {
        self.agendas[side as usize].set(slot as usize, key);
    }

    /// The pending moment of the source at this place; [`EventKey::NEVER`] if it is idle.
    #[inline(always)]
    pub(super) fn key(&self, Place { side, slot }: Place) -> EventKey {
        self.agendas[side as usize].get(slot as usize)
    }

    /// The time and the source's place of the earliest event of one side; [`Time::MAX`] for never.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn first_at(&self, side: At) -> (Time, Place) {
        let (time, slot) = self.agendas[side as usize].first();
        (time, Place { side, slot: slot as u32 })
    }

    /// The source at a place.
    #[inline(always)]
    pub(super) fn source(&self, Place { side, slot }: Place) -> usize {
        self.sources[side as usize][slot as usize] as usize
    }

    /// The earliest event of all, and its source.
    #[inline]
    pub(super) fn peek(&self) -> Option<(EventKey, usize)> {
        let sides = [At::Near, At::Far, At::Clocks].map(|side| {
            let (time, place) = self.first_at(side);
            (time < Time::MAX).then(|| (self.key(place), self.source(place)))
        });
        sides.into_iter().flatten().min()
    }

    /// The time of the next event of the whole run; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn next_clock(&self) -> Time {
        self.first_at(At::Clocks).0
    }
}
