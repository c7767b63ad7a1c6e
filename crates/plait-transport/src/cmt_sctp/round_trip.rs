//! Round trips whose both directions use the same path.
//!
//! A SACK returns on the path of the packet that triggered it and acknowledges arrivals on all
//! paths. So a segment of a long path is acknowledged over a short one first. The sample of RFC
//! 9260 §6.3.1 is then one path forward and the other path back. Here transmissions are remembered
//! until a SACK that came in *on their own path* reports them. A path delivers in order, so the
//! newest reported transmission triggered the SACK.

use crate::core::{Flight, Transmission};
use crate::packet::sctp::Sack;
use plait_sched::{Duration, Time};

/// The oldest transmission of a path whose acknowledgement has not come back on that path. The
/// flight remembers it and all later ones.
#[derive(Clone, Debug)]
pub(super) struct RoundTrips {
    first: u64,
    /// A round trip takes no longer than this.
    longest: Duration,
}

impl RoundTrips {
    /// Creates the state. Round trips last at most `longest` (RTO.Max): older transmissions are not
    /// remembered.
    pub(super) fn new(longest: Duration) -> Self {
        Self { first: 0, longest }
    }

    /// Called when a packet leaves on a path: forgets transmissions older than the longest round
    /// trip.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn sent(&mut self, now: Time, flight: &mut Flight) {
        let before = self.first;
        while flight.remembered(self.first).is_some_and(|sent| now.since(sent.sent_at) > self.longest) {
            self.first += 1;
        }
        if self.first > before {
            flight.forget_below(self.first);
        }
    }

    /// Handles a SACK that came in on a path. Returns the round trip of the packet that triggered
    /// it, if that is certain.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn came_back(&mut self, now: Time, flight: &mut Flight, sack: &Sack) -> Option<Duration> {
        let mut newest = None;
        // A retransmitted segment may never arrive as this transmission: nothing waits for it.
        while let Some(&sent) = flight.remembered(self.first) {
            if sack.covers(sent.segment) {
                newest = Some(sent);
            } else if is_certain(&sent) {
                break;
            }
            self.first += 1;
        }
        flight.forget_below(self.first);
        newest.filter(is_certain).map(|newest| now.since(newest.sent_at))
    }
}

/// The segment was sent this once only, so its arrival is this one's (Karn).
fn is_certain(sent: &Transmission) -> bool {
    sent.first_time() && !sent.is_doubtful()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmt_sctp::CORE_RULES;
    use crate::core::TransmissionState;

    const SLOW: usize = 1;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// The round trips of two paths, of which one is used.
    struct Paths {
        round_trips: [RoundTrips; 2],
        flights: [Flight; 2],
    }

    impl Paths {
        fn new(longest: Duration, sent: impl IntoIterator<Item = (u64, u64)>) -> Self {
            let flights = [(); 2].map(|()| Flight::new(&CORE_RULES));
            let round_trips = [(); 2].map(|()| RoundTrips::new(longest));
            let mut paths = Self { round_trips, flights };
            for (millis, segment) in sent {
                paths.send(millis, segment, true);
            }
            paths
        }

        fn send(&mut self, millis: u64, segment: u64, first_time: bool) {
            let flight = &mut self.flights[SLOW];
            let number = flight.next();
            flight.push(Transmission::new(at(millis), segment, 1000, first_time), number, None);
            self.round_trips[SLOW].sent(at(millis), flight);
        }

        fn came_back(&mut self, millis: u64, index: usize, sack: &Sack) -> Option<u64> {
            let back = self.round_trips[index].came_back(at(millis), &mut self.flights[index], sack);
            back.map(|back| back.as_nanos() / 1_000_000)
        }
    }

    fn paths(sent: &[(u64, u64)]) -> Paths {
        Paths::new(Duration::from_secs(60), sent.iter().copied())
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
        let mut paths = paths(&[(0, 7)]);
        assert_eq!(paths.came_back(60, 0, &sack(3, &[(7, 7)])), None);
        paths.flights[SLOW].leave(0, TransmissionState::Acknowledged);
        assert_eq!(paths.came_back(100, SLOW, &sack(7, &[])), None, "an earlier one triggered it");
        assert_eq!(paths.came_back(106, SLOW, &sack(8, &[])), Some(106));
        assert_eq!(paths.came_back(107, SLOW, &sack(9, &[])), None);
    }

    /// The acknowledgement of segment 7 went back on another path; five seconds later the path is
    /// used again.
    #[test]
    fn the_newest_that_is_reported_is_timed() {
        let mut paths = paths(&[(0, 7), (5_000, 9), (5_001, 12)]);
        assert_eq!(paths.came_back(5_106, SLOW, &sack(3, &[(5, 9)])), Some(106));
        assert_eq!(paths.came_back(5_110, SLOW, &sack(13, &[])), Some(109));
    }

    #[test]
    fn what_was_sent_again_tells_nothing_and_holds_up_nothing() {
        let mut paths = paths(&[(0, 7), (1, 8), (2, 9)]);
        paths.flights[SLOW].doubt(1);
        assert_eq!(paths.came_back(100, SLOW, &sack(9, &[])), None, "a copy may have been there before");
        assert_eq!(paths.came_back(102, SLOW, &sack(10, &[])), Some(100));
        paths.send(200, 8, false);
        paths.send(201, 20, true);
        assert_eq!(paths.came_back(301, SLOW, &sack(3, &[(20, 20)])), Some(100));
    }

    #[test]
    fn a_path_that_brings_nothing_back_is_not_remembered_for_ever() {
        let mut paths = Paths::new(Duration::from_millis(100), (0..10_000).map(|number| (number, number)));
        assert_eq!(paths.flights[SLOW].first(), 0, "that is another question");
        for number in 0..10_000 {
            paths.flights[SLOW].leave(number, TransmissionState::Acknowledged);
        }
        paths.send(10_000, 10_000, true);
        assert!(paths.flights[SLOW].remembered(9_899).is_none());
        assert!(paths.flights[SLOW].remembered(9_900).is_some());
        assert_eq!(paths.came_back(10_000, SLOW, &sack(9_990, &[])), Some(11));
        paths.flights[SLOW].doubt(9_000);
    }
}
