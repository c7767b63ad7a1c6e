//! Segments of the stream: their transmissions, arrivals and deliveries.
//!
//! A segment is a DATA chunk with a message of its own. Its number is its TSN, counted from the
//! first one.

use crate::packet::DataChunk;
use plait_sched::PathId;
use plait_sim::simulation::StackEvent;
use plait_transport::{SendReason, Sent};
use std::collections::VecDeque;

/// A transmission of a segment, in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transmission {
    number: u64,
    segment: u64,
    bytes: u32,
}

/// The segments of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Segments {
    initial_tsn: u32,
    /// Payload bytes of each segment; 0 before its first transmission.
    sizes: Vec<u32>,
    /// Whether each segment has arrived.
    arrived: Vec<bool>,
    transmissions: u64,
    /// The first segment that was not delivered, and the bytes of those before it.
    delivered: (u64, u64),
    pub(crate) events: VecDeque<StackEvent>,
}

impl Segments {
    /// The segments of a stream whose first TSN is `initial_tsn`.
    pub(crate) fn new(initial_tsn: u32) -> Self {
        Self { initial_tsn, ..Self::default() }
    }

    /// The near end sends these chunks. Returns their transmissions.
    pub(crate) fn sent(&mut self, path: PathId, chunks: &[DataChunk]) -> Vec<Transmission> {
        chunks.iter().map(|&chunk| self.sent_one(path, chunk)).collect()
    }

    fn sent_one(&mut self, path: PathId, (tsn, bytes): DataChunk) -> Transmission {
        let segment = u64::from(tsn.wrapping_sub(self.initial_tsn));
        let at = segment as usize;
        if self.sizes.len() <= at {
            self.sizes.resize(at + 1, 0);
            self.arrived.resize(at + 1, false);
        }
        let reason = if self.sizes[at] == 0 { SendReason::New } else { SendReason::Retransmission };
        self.sizes[at] = bytes;
        let number = self.transmissions;
        self.transmissions += 1;
        self.events.push_back(StackEvent::Sent(Sent {
            path,
            transmission: number,
            number,
            segment,
            bytes,
            reason,
        }));
        Transmission { number, segment, bytes }
    }

    /// Transmissions reach the far end.
    pub(crate) fn arrive(&mut self, path: PathId, transmissions: &[Transmission]) {
        for &Transmission { number, segment, bytes } in transmissions {
            let again = std::mem::replace(&mut self.arrived[segment as usize], true);
            self.events.push_back(if again {
                StackEvent::Duplicate { path, transmission: number, segment }
            } else {
                StackEvent::Arrived { path, transmission: number, segment, bytes }
            });
        }
    }

    /// The far end's application has read this number of bytes since the start.
    pub(crate) fn deliver(&mut self, total: u64) {
        let (mut segment, mut bytes) = self.delivered;
        while bytes < total
            && let Some(&size) = self.sizes.get(segment as usize)
        {
            self.events.push_back(StackEvent::Delivered { segment, bytes: size });
            segment += 1;
            bytes += u64::from(size);
        }
        debug_assert_eq!(bytes, total, "the application reads whole messages");
        self.delivered = (segment, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_counted_from_the_first_tsn_and_delivered_in_order() {
        let mut segments = Segments::new(u32::MAX);
        let first = segments.sent(PathId(0), &[(u32::MAX, 10)]);
        let second = segments.sent(PathId(1), &[(0, 4)]);
        let again = segments.sent(PathId(1), &[(u32::MAX, 10)]);
        segments.arrive(PathId(1), &second);
        segments.arrive(PathId(1), &again);
        segments.deliver(14);
        segments.arrive(PathId(0), &first);
        let said: Vec<String> = segments
            .events
            .iter()
            .map(|event| match event {
                StackEvent::Sent(sent) => {
                    format!("sent {} {} {:?}", sent.transmission, sent.segment, sent.reason)
                }
                StackEvent::Arrived { transmission, segment, .. } => {
                    format!("arrived {transmission} {segment}")
                }
                StackEvent::Duplicate { segment, .. } => format!("duplicate {segment}"),
                StackEvent::Delivered { segment, bytes } => format!("delivered {segment} {bytes}"),
            })
            .collect();
        assert_eq!(
            said,
            [
                "sent 0 0 New",
                "sent 1 1 New",
                "sent 2 0 Retransmission",
                "arrived 1 1",
                "arrived 2 0",
                "delivered 0 10",
                "delivered 1 4",
                "duplicate 0",
            ]
        );
    }
}
