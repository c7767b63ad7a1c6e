//! The headers of packets between the ends: those that arrive are those that were sent.

use plait_sched::PathId;
use plait_sim::scenario::Way;
use plait_sim::simulation::PacketId;
use std::collections::VecDeque;

/// A packet's headers in their lane.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    /// Counted over the whole run.
    start: u64,
    length: u32,
    /// How many of it and its copies have neither arrived nor got lost.
    left: u32,
}

/// Packets whose numbers ascend: those of one path and direction, with data or without.
#[derive(Clone, Debug, Default)]
struct Lane {
    places: VecDeque<Place>,
    bytes: VecDeque<u8>,
    /// Where `bytes` begins, counted over the whole run.
    base: u64,
}

impl Lane {
    fn put(&mut self, number: u64, headers: &[u8]) {
        debug_assert!(self.places.back().is_none_or(|last| last.number < number), "numbers ascend");
        let start = self.base + self.bytes.len() as u64;
        self.places.push_back(Place { number, start, length: headers.len() as u32, left: 1 });
        self.bytes.extend(headers);
    }

    /// Packets overtake each other where links let them, so that one from the middle may leave first.
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

/// The packets of all paths.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    /// Per path: forward without data and with it, backward without and with it.
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

    /// A packet leaves.
    pub(super) fn put(&mut self, id: PacketId, headers: &[u8]) {
        self.lane(id).put(id.number, headers);
    }

    /// A packet arrives: appends its headers to `headers`.
    pub(super) fn take(&mut self, id: PacketId, headers: &mut Vec<u8>) {
        self.lane(id).settle(id.number, Some(headers));
    }

    /// One more of a packet that is under way.
    pub(super) fn copy(&mut self, id: PacketId) {
        let places = &mut self.lane(id).places;
        if let Ok(index) = places.binary_search_by_key(&id.number, |place| place.number) {
            places[index].left += 1;
        }
    }

    /// A packet got lost.
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
