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

/// The pending moments of all sources, which have consecutive numbers.
pub(super) struct Events {
    agendas: [Agenda; 3],
    /// The agenda of each source, and its number there.
    slots: Vec<(At, u32)>,
    /// The sources of each agenda.
    sources: [Vec<u32>; 3],
    order: u64,
}

impl Events {
    /// Creates the events of sources at these sides, all idle.
    pub(super) fn new(sides: &[At]) -> Self {
        let mut sources = [const { Vec::new() }; 3];
        let slots = sides.iter().zip(0..).map(|(&side, source)| {
            let there: &mut Vec<u32> = &mut sources[side as usize];
            there.push(source);
            (side, there.len() as u32 - 1)
        });
        let slots = slots.collect();
        Self { agendas: sources.each_ref().map(|there| Agenda::new(there.len())), slots, sources, order: 0 }
    }

    /// Returns the next first-in-first-out number: 0, 1, 2, …
    #[inline]
    pub(super) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order - 1
    }

    /// Sets the pending moment of a source, or makes it idle.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set(&mut self, source: usize, key: Option<EventKey>) {
        let (side, slot) = self.slots[source];
        let agenda = &mut self.agendas[side as usize];
        match key {
            Some(key) => agenda.set(slot as usize, key),
            None => agenda.cancel(slot as usize),
        }
    }

    /// The pending moment of a source.
    #[inline]
    pub(super) fn get(&self, source: usize) -> Option<EventKey> {
        let (side, slot) = self.slots[source];
        self.agendas[side as usize].get(slot as usize)
    }

    /// The earliest event of one side, and its source.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn peek_at(&self, side: At) -> Option<(EventKey, usize)> {
        let (key, slot) = self.agendas[side as usize].peek()?;
        Some((key, self.sources[side as usize][slot] as usize))
    }

    /// The earliest event of all, and its source.
    #[inline]
    pub(super) fn peek(&self) -> Option<(EventKey, usize)> {
        [At::Near, At::Far, At::Clocks].into_iter().filter_map(|side| self.peek_at(side)).min()
    }

    /// The time of the next event of the whole run; [`Time::MAX`] for never.
    #[inline]
    pub(super) fn next_clock(&self) -> Time {
        self.peek_at(At::Clocks).map_or(Time::MAX, |(key, _)| key.time)
    }
}
