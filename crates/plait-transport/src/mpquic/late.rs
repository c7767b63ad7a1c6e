//! Packets that were taken for lost and may have arrived all the same.

use crate::core::Flight;
use std::collections::VecDeque;

/// How many are remembered per path. Round trips that grow far beyond the longest timeout make every packet look lost: then it is only by
/// late acknowledgements that anything is known to have arrived.
const REMEMBERED: usize = 1 << 12;

/// What the packets carried that were taken for lost, until somebody says that it arrived (RFC 9002 §6 lets late
/// acknowledgements count: what was lost is a guess).
#[derive(Clone, Debug, Default)]
pub(super) struct BelievedLost {
    /// Numbers, ascending, and the segment of each.
    packets: VecDeque<(u64, u64)>,
}

impl BelievedLost {
    /// Remembers packets of a flight, ascending and later than those before.
    pub(super) fn note(&mut self, numbers: &[u64], flight: &Flight) {
        let segments = numbers.iter().filter_map(|&number| Some((number, flight.get(number)?.segment)));
        for packet in segments {
            // Time finds losses out of order where packets left at once with others.
            match self.packets.back().is_none_or(|last| last.0 < packet.0) {
                true => self.packets.push_back(packet),
                false => {
                    let place = self.packets.partition_point(|earlier| earlier.0 < packet.0);
                    self.packets.insert(place, packet);
                }
            }
        }
        let beyond = self.packets.len().saturating_sub(REMEMBERED);
        self.packets.drain(..beyond);
    }

    /// Forgets the oldest, as long as nobody needs what they carried.
    pub(super) fn forget(&mut self, is_settled: impl Fn(u64) -> bool) {
        while self.packets.front().is_some_and(|&(_, segment)| is_settled(segment)) {
            self.packets.pop_front();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Those with numbers `from..=to` and their segments, which are remembered no longer.
    pub(super) fn take(&mut self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.packets.partition_point(|packet| packet.0 < from);
        let end = self.packets.partition_point(|packet| packet.0 <= to);
        self.packets.drain(first..end.max(first))
    }
}
