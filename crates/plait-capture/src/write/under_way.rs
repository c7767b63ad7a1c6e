//! The headers of packets in flight, so that arriving packets have the headers with which they were
//! sent.

use plait_sched::PathId;
use plait_sim::scenario::Way;
use plait_sim::simulation::PacketId;
use std::collections::VecDeque;

/// Position of a packet's headers in its lane.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    /// Offset of the headers, counted over the whole run.
    start: u64,
    length: u32,
    /// Number of copies of the packet, itself included, that have neither arrived nor been lost.
    left: u32,
}

/// Packets with ascending numbers: those of one path and direction, with data or without.
#[derive(Clone, Debug, Default)]
struct Lane {
    places: VecDeque<Place>,
    bytes: VecDeque<u8>,
    /// Offset of the first byte in `bytes`, counted over the whole run.
    base: u64,
}

impl Lane {
    fn put(&mut self, number: u64, headers: &[u8]) {
        debug_assert!(self.places.back().is_none_or(|last| last.number < number), "numbers ascend");
        let start = self.base + self.bytes.len() as u64;
        self.places.push_back(Place { number, start, length: headers.len() as u32, left: 1 });
        self.bytes.extend(headers);
    }

    /// Counts a copy as arrived or lost. Packets overtake each other on some links, so one from the
    /// middle may come first.
    fn settle(&mut self, number: u64, headers: Option<&mut Vec<u8>>) {
        let Ok(index) = self.places.binary_search_by_key(&number, |place| place.number) else { return };
        let place = &mut self.places[index];
        place.left = place.left.saturating_sub(1);
        if let Some(headers) = headers {
            let from = (place.start - self.base) as usize;
            headers.extend(self.bytes.range(from..from + place.length as usize));
        }
        while let Some(place) = self.places.front().copied().filter(|place| place.left == 0) {
            self.places.pop_front();
            self.bytes.drain(..place.length as usize);
            self.base += u64::from(place.length);
        }
    }
}

/// Packets in flight on all paths.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    /// Per path: forward without data, forward with data, backward without data, backward with
    /// data.
    lanes: Vec<[Lane; 4]>,
}

impl UnderWay {
    pub(super) fn new(paths: usize) -> Self {
        Self { lanes: vec![<[Lane; 4]>::default(); paths] }
    }

    fn lane(&mut self, id: PacketId) -> &mut Lane {
        let lane = 2 * usize::from(id.way == Way::Backward) + usize::from(id.data);
        let PathId(path) = id.path;
        &mut self.lanes[usize::from(path)][lane]
    }

    /// Stores the headers of a packet that leaves.
    pub(super) fn put(&mut self, id: PacketId, headers: &[u8]) {
        self.lane(id).put(id.number, headers);
    }

    /// Appends the headers of a packet that arrives to `headers`.
    pub(super) fn take(&mut self, id: PacketId, headers: &mut Vec<u8>) {
        self.lane(id).settle(id.number, Some(headers));
    }

    /// Adds a copy of a packet in flight.
    pub(super) fn copy(&mut self, id: PacketId) {
        let places = &mut self.lane(id).places;
        if let Ok(index) = places.binary_search_by_key(&id.number, |place| place.number) {
            places[index].left += 1;
        }
    }

    /// Removes a lost packet.
    pub(super) fn forget(&mut self, id: PacketId) {
        self.lane(id).settle(id.number, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> PacketId {
        PacketId { path: PathId(0), way: Way::Forward, data: true, number }
    }

    #[test]
    fn what_overtakes_and_what_is_lost_leaves_nothing_behind() {
        let mut under_way = UnderWay::new(1);
        for number in [3, 4, 7, 8] {
            under_way.put(id(number), &[number as u8; 3]);
        }
        let mut headers = Vec::new();
        under_way.take(id(7), &mut headers);
        assert_eq!(headers, [7; 3]);
        under_way.forget(id(3));
        headers.clear();
        under_way.take(id(4), &mut headers);
        assert_eq!(headers, [4; 3]);
        assert_eq!((under_way.lanes[0][1].bytes.len(), under_way.lanes[0][1].places.len()), (3, 1));
        under_way.put(id(9), &[9, 9]);
        headers.clear();
        under_way.copy(id(9));
        under_way.take(id(9), &mut headers);
        assert_eq!(headers, [9, 9]);
        headers.clear();
        under_way.take(id(9), &mut headers);
        under_way.take(id(8), &mut headers);
        assert_eq!(headers, [9, 9, 8, 8, 8]);
        assert!(under_way.lanes[0][1].bytes.is_empty() && under_way.lanes[0][1].places.is_empty());
    }
}
