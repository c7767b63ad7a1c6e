//! Round trips of which both ways are the same path.
//!
//! A SACK returns on the path of the packet that triggered it and acknowledges what arrived on all of them. So a segment of
//! a long path is acknowledged over a short one first, and that is the sample of RFC 9260 §6.3.1: the way there by one path,
//! the way back by another. Here transmissions are remembered until a SACK that came in *on their own path* reports them.
//! As a path keeps the order, the newest one that it reports is the one that triggered it.

use crate::packet::Sack;
use crate::ring::Ring;
use plait_sched::{Duration, PathId, Time};

/// A transmission whose acknowledgement has not come back on its own path.
#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    segment: u64,
    sent_at: Time,
    /// The segment was sent this once only, so its arrival is this one's (Karn).
    certain: bool,
}

/// The departures of all paths.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    /// Each path's are numbered as its transmissions.
    paths: Vec<Ring<Departure>>,
    /// What came back on its own path in no longer time than this.
    longest: Duration,
}

impl RoundTrips {
    /// A round trip takes `longest` at most (RTO.Max): if a path brings nothing back, no more is remembered.
    pub(super) fn new(paths: usize, longest: Duration) -> Self {
        Self { paths: vec![Ring::default(); paths], longest }
    }

    /// Transmission `number` leaves on `path`. `certain`: its segment was not sent before.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn sent(&mut self, now: Time, path: PathId, number: u64, segment: u64, certain: bool) {
        let departures = &mut self.paths[path.index()];
        while departures.front().is_some_and(|front| now.since(front.sent_at) > self.longest) {
            departures.pop_front();
        }
        if departures.is_empty() {
            departures.forget_below(number);
        }
        departures.push(Departure { segment, sent_at: now, certain });
    }

    /// The segment of transmission `number` on `path` is sent again, there or elsewhere.
    pub(super) fn sent_again(&mut self, path: PathId, number: u64) {
        let departures = &mut self.paths[path.index()];
        if let Some(departure) = departures.get_mut(number) {
            departure.certain = false;
        }
    }

    /// A SACK came in on `path`: the round trip of what triggered it, if that is certain.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn came_back(&mut self, now: Time, path: PathId, sack: &Sack) -> Option<Duration> {
        let departures = self.paths.get_mut(path.index())?;
        let mut newest = None;
        // What was sent again may never arrive as this transmission: nothing waits for it.
        while let Some(front) = departures.front() {
            if sack.covers(front.segment) {
                newest = Some(*front);
            } else if front.certain {
                break;
            }
            departures.pop_front();
        }
        newest.filter(|newest| newest.certain).map(|newest| now.since(newest.sent_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: PathId = PathId(1);

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn round_trips(sent: &[(u64, u64)]) -> RoundTrips {
        let mut round_trips = RoundTrips::new(2, Duration::from_secs(60));
        for (number, &(millis, segment)) in (0..).zip(sent) {
            round_trips.sent(at(millis), SLOW, number, segment, true);
        }
        round_trips
    }

    fn sack(cumulative: u64, blocks: &[(u64, u64)]) -> Sack {
        let mut sack = Sack::new(cumulative, 0, 1);
        for &(first, last) in blocks {
            sack.push_block(first, last);
        }
        sack
    }

    #[test]
    fn only_the_own_path_ends_a_round_trip() {
        let mut round_trips = round_trips(&[(0, 7)]);
        assert_eq!(round_trips.came_back(at(60), PathId(0), &sack(3, &[(7, 7)])), None);
        assert_eq!(round_trips.came_back(at(100), SLOW, &sack(7, &[])), None, "an earlier one triggered it");
        assert_eq!(round_trips.came_back(at(106), SLOW, &sack(8, &[])), Some(Duration::from_millis(106)));
        assert_eq!(round_trips.came_back(at(107), SLOW, &sack(9, &[])), None);
    }

    /// The acknowledgement of segment 7 went back on another path; five seconds later the path is used again.
    #[test]
    fn the_newest_that_is_reported_is_timed() {
        let mut round_trips = round_trips(&[(0, 7), (5_000, 9), (5_001, 12)]);
        let back = round_trips.came_back(at(5_106), SLOW, &sack(3, &[(5, 9)]));
        assert_eq!(back, Some(Duration::from_millis(106)));
        assert_eq!(round_trips.came_back(at(5_110), SLOW, &sack(13, &[])), Some(Duration::from_millis(109)));
    }

    #[test]
    fn what_was_sent_again_tells_nothing_and_holds_up_nothing() {
        let mut round_trips = round_trips(&[(0, 7), (1, 8), (2, 9)]);
        round_trips.sent_again(SLOW, 1);
        assert_eq!(
            round_trips.came_back(at(100), SLOW, &sack(9, &[])),
            None,
            "a copy may have been there before"
        );
        assert_eq!(round_trips.came_back(at(102), SLOW, &sack(10, &[])), Some(Duration::from_millis(100)));
        round_trips.sent(at(200), SLOW, 3, 8, false);
        round_trips.sent(at(201), SLOW, 4, 20, true);
        round_trips.sent_again(SLOW, 3);
        assert_eq!(
            round_trips.came_back(at(301), SLOW, &sack(3, &[(20, 20)])),
            Some(Duration::from_millis(100))
        );
    }

    #[test]
    fn a_path_that_brings_nothing_back_is_not_remembered_for_ever() {
        let mut round_trips = RoundTrips::new(2, Duration::from_millis(100));
        for number in 0..10_000 {
            round_trips.sent(at(number), SLOW, number, number, true);
        }
        assert_eq!(round_trips.paths[1].len(), 101);
        assert_eq!(
            round_trips.came_back(at(10_000), SLOW, &sack(9_990, &[])),
            Some(Duration::from_millis(11))
        );
        round_trips.sent_again(SLOW, 9_000);
    }
}
