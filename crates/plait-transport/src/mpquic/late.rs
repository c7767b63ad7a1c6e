//! Packets that were declared lost and may have arrived nevertheless.

use crate::core::Flight;
use plait_sched::Time;
use std::collections::VecDeque;

/// Maximum number of remembered packets per path. If round trips grow far beyond the longest
/// timeout, every packet looks lost: then only late acknowledgements show which data arrived.
const REMEMBERED: usize = 1 << 12;

/// Contents of packets that were declared lost, until the data is known to have arrived. RFC 9002
/// §6 lets late acknowledgements count: a declared loss is a guess.
#[derive(Clone, Debug, Default)]
pub(super) struct BelievedLost {
    /// In the order of their numbers.
    packets: VecDeque<Late>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) number: u64,
    pub(super) segment: u64,
    pub(super) sent_at: Time,
}

impl BelievedLost {
    /// Remembers packets of a flight, ascending and later than those before.
    pub(super) fn note(&mut self, numbers: &[u64], flight: &Flight) {
        let late = |&number: &u64| {
            let sent = flight.get(number)?;
            Some(Late { number, segment: sent.segment, sent_at: sent.sent_at })
        };
        for packet in numbers.iter().filter_map(late) {
            // Time finds losses out of order where packets left at once with others.
            match self.packets.back().is_none_or(|last| last.number < packet.number) {
                true => self.packets.push_back(packet),
                false => {
                    let place = self.packets.partition_point(|earlier| earlier.number < packet.number);
                    self.packets.insert(place, packet);
                }
            }
        }
        let beyond = self.packets.len().saturating_sub(REMEMBERED);
        self.packets.drain(..beyond);
    }

    /// Forgets the oldest packets whose data is settled. Numbers above the `largest` acknowledged
    /// one stay: they can still give a round-trip sample.
    pub(super) fn forget(&mut self, largest: Option<u64>, is_settled: impl Fn(u64) -> bool) {
        let is_useless = |late: &Late| Some(late.number) <= largest && is_settled(late.segment);
        while self.packets.front().is_some_and(is_useless) {
            self.packets.pop_front();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Those with numbers `from..=to`, which are remembered no longer.
    pub(super) fn take(&mut self, from: u64, to: u64) -> impl Iterator<Item = Late> + '_ {
        let first = self.packets.partition_point(|packet| packet.number < from);
        let end = self.packets.partition_point(|packet| packet.number <= to);
        self.packets.drain(first..end.max(first))
    }
}
