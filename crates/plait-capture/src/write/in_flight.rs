//! The headers of packets in flight, so that arriving packets have the headers with which they were
//! sent.

use plait_sched::PathId;
use plait_sim::scenario::Direction;
use plait_sim::simulation::PacketId;
use std::collections::VecDeque;

/// Position of a packet's headers in its queue.
#[derive(Clone, Copy, Debug)]
struct StoredHeaders {
    number: u64,
    /// Offset of the headers, counted over the whole run.
    start: u64,
    length: u32,
    /// Number of copies of the packet, itself included, that have neither arrived nor been lost.
    left: u32,
}

/// Packets with ascending numbers: those of one path and direction, with data or without.
#[derive(Clone, Debug, Default)]
struct HeaderQueue {
    entries: VecDeque<StoredHeaders>,
    bytes: VecDeque<u8>,
    /// Offset of the first byte in `bytes`, counted over the whole run.
    base: u64,
}

impl HeaderQueue {
    fn put(&mut self, number: u64, headers: &[u8]) {
        debug_assert!(self.entries.back().is_none_or(|last| last.number < number), "numbers ascend");
        let start = self.base + self.bytes.len() as u64;
        self.entries.push_back(StoredHeaders { number, start, length: headers.len() as u32, left: 1 });
        self.bytes.extend(headers);
    }

    /// Counts a copy as arrived or lost. Packets overtake each other on some links, so one from the
    /// middle may come first.
    fn release(&mut self, number: u64, headers: Option<&mut Vec<u8>>) {
        let Ok(index) = self.entries.binary_search_by_key(&number, |entry| entry.number) else { return };
        let entry = &mut self.entries[index];
        entry.left = entry.left.saturating_sub(1);
        if let Some(headers) = headers {
            let from = (entry.start - self.base) as usize;
            headers.extend(self.bytes.range(from..from + entry.length as usize));
        }
        while let Some(entry) = self.entries.front().copied().filter(|entry| entry.left == 0) {
            self.entries.pop_front();
            self.bytes.drain(..entry.length as usize);
            self.base += u64::from(entry.length);
        }
    }
}

/// Packets in flight on all paths.
#[derive(Clone, Debug)]
pub(super) struct InFlightHeaders {
    /// Per path: forward without data, forward with data, backward without data, backward with
    /// data.
    queues: Vec<[HeaderQueue; 4]>,
}

impl InFlightHeaders {
    pub(super) fn new(paths: usize) -> Self {
        Self { queues: vec![<[HeaderQueue; 4]>::default(); paths] }
    }

    fn queue(&mut self, id: PacketId) -> &mut HeaderQueue {
        let queue = 2 * usize::from(id.direction == Direction::Backward) + usize::from(id.data);
        let PathId(path) = id.path;
        &mut self.queues[usize::from(path)][queue]
    }

    /// Stores the headers of a packet that leaves.
    pub(super) fn put(&mut self, id: PacketId, headers: &[u8]) {
        self.queue(id).put(id.number, headers);
    }

    /// Appends the headers of a packet that arrives to `headers`.
    pub(super) fn take(&mut self, id: PacketId, headers: &mut Vec<u8>) {
        self.queue(id).release(id.number, Some(headers));
    }

    /// Adds a copy of a packet in flight.
    pub(super) fn copy(&mut self, id: PacketId) {
        let entries = &mut self.queue(id).entries;
        if let Ok(index) = entries.binary_search_by_key(&id.number, |entry| entry.number) {
            entries[index].left += 1;
        }
    }

    /// Removes a lost packet.
    pub(super) fn forget(&mut self, id: PacketId) {
        self.queue(id).release(id.number, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> PacketId {
        PacketId { path: PathId(0), direction: Direction::Forward, data: true, number }
    }

    #[test]
    fn what_overtakes_and_what_is_lost_leaves_nothing_behind() {
        let mut in_flight = InFlightHeaders::new(1);
        for number in [3, 4, 7, 8] {
            in_flight.put(id(number), &[number as u8; 3]);
        }
        let mut headers = Vec::new();
        in_flight.take(id(7), &mut headers);
        assert_eq!(headers, [7; 3]);
        in_flight.forget(id(3));
        headers.clear();
        in_flight.take(id(4), &mut headers);
        assert_eq!(headers, [4; 3]);
        assert_eq!((in_flight.queues[0][1].bytes.len(), in_flight.queues[0][1].entries.len()), (3, 1));
        in_flight.put(id(9), &[9, 9]);
        headers.clear();
        in_flight.copy(id(9));
        in_flight.take(id(9), &mut headers);
        assert_eq!(headers, [9, 9]);
        headers.clear();
        in_flight.take(id(9), &mut headers);
        in_flight.take(id(8), &mut headers);
        assert_eq!(headers, [9, 9, 8, 8, 8]);
        assert!(in_flight.queues[0][1].bytes.is_empty() && in_flight.queues[0][1].entries.is_empty());
    }
}
