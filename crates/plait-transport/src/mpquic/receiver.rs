//! The receiving half: tracks each path's packets, and decides when to acknowledge them and how
//! much the peer may send.

use super::Config;
use crate::core::moment;
use crate::observer::Observer;
use crate::packet::quic::{EcnCounts, MAX_ACK_RANGES, OneRtt, PathAck};
use crate::reassembly::{Arrival, Reassembly};
use plait_sched::{Duration, PathId, Time};
use std::collections::VecDeque;

/// Number of remembered ranges per path. Lower ranges were reported often enough (RFC 9000
/// §13.2.3).
const REMEMBERED: usize = 32;

/// Silence on a path, while another one carries packets, after which its packets are also
/// acknowledged on the other path.
const SILENCE: Duration = Duration::from_millis(50);

/// Number of acknowledgements that carry a new limit, because some are lost.
const REPEATED: u8 = 3;

/// Received packets of one path.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    /// Ranges of packet numbers, the highest first.
    ranges: VecDeque<(u64, u64)>,
    /// Arrival time of the packet with the highest number.
    newest_at: Time,
    /// Number of ack-eliciting packets since the last acknowledgement.
    unacknowledged: u8,
    /// Latest time for a delayed acknowledgement.
    deadline: Option<Time>,
    /// True if an acknowledgement leaves now.
    due: bool,
    /// True if packets arrived since acknowledgements of this path last left on another path.
    untold: bool,
    /// The other path on which an acknowledgement leaves now.
    elsewhere: Option<PathId>,
    /// Packets by ECN mark, without duplicates.
    marks: EcnCounts,
}

impl Arrivals {
    /// Records a packet number. Returns its place among the others.
    fn note(&mut self, number: u64) -> Place {
        let newest = self.ranges.front().map(|range| range.1);
        if newest.is_none_or(|newest| number > newest) {
            let next = newest.map_or(0, |newest| newest + 1);
            match self.ranges.front_mut().filter(|_| number == next) {
                Some(range) => range.1 = number,
                None => self.ranges.push_front((number, number)),
            }
            self.ranges.truncate(REMEMBERED);
            return if number == next { Place::Next } else { Place::OutOfOrder };
        }
        // The first range that begins at or before the number.
        let at = self.ranges.iter().position(|range| range.0 <= number);
        match at {
            Some(at) if number <= self.ranges[at].1 => return Place::Known,
            // The number is below all remembered ranges. Its range was removed after being
            // reported, or the packet was overtaken by very many others.
            None if self.ranges.len() == REMEMBERED => return Place::Known,
            Some(_) | None => {}
        }
        let at = at.unwrap_or(self.ranges.len());
        self.ranges.insert(at, (number, number));
        if at > 0 && self.ranges[at - 1].0 == number + 1 {
            self.ranges[at - 1].0 = number;
            self.ranges.remove(at);
            if at < self.ranges.len() && self.ranges[at].1 + 1 == number {
                self.ranges[at - 1].0 = self.ranges[at].0;
                self.ranges.remove(at);
            }
        } else if at + 1 < self.ranges.len() && self.ranges[at + 1].1 + 1 == number {
            self.ranges[at].0 = self.ranges[at + 1].0;
            self.ranges.remove(at + 1);
        }
        self.ranges.truncate(REMEMBERED);
        Place::OutOfOrder
    }
}

impl Arrivals {
    /// Writes the acknowledgement frame for the received packets.
    #[inline]
    fn report(&self, now: Time, path: PathId, frame: &mut Option<PathAck>) {
        // The frame has units of microseconds. Rounding down never makes a round-trip time shorter
        // than it was.
        let waited = Duration::from_micros(now.since(self.newest_at).as_nanos() / 1_000);
        let ack = frame.insert(PathAck::new(path, waited));
        ack.marks = Some(self.marks).filter(|&marks| marks != EcnCounts::default());
        for &(first, last) in self.ranges.iter().take(MAX_ACK_RANGES) {
            ack.push_range(first, last);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Next,
    OutOfOrder,
    Known,
}

/// The receiving half of an endpoint.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    reassembly: Reassembly,
    spaces: Vec<Arrivals>,
    ack_every: u8,
    ack_delay: Duration,
    /// Whether packets of a silent path are acknowledged on another path.
    tells_elsewhere: bool,
    /// The last announced limit, and the number of its remaining repetitions.
    announced: (u64, u8),
}

impl Receiver {
    pub(super) fn new(config: &Config, paths: usize) -> Self {
        let window = config.connection.receive_window;
        Self {
            reassembly: Reassembly::new(window, 0, true),
            spaces: vec![Arrivals::default(); paths],
            ack_every: config.ack_every.max(1),
            ack_delay: config.ack_delay,
            tells_elsewhere: config.watchful,
            announced: (window, 0),
        }
    }

    /// Adds a path.
    pub(super) fn add_path(&mut self) {
        self.spaces.push(Arrivals::default());
    }

    pub(super) fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    /// Records a packet that is not ack-eliciting, so that the next packet is in order. Only the
    /// number after the newest packet is recorded, because each range takes space in every
    /// acknowledgement.
    pub(super) fn note(&mut self, now: Time, path: PathId, number: u64) {
        let Some(space) = self.spaces.get_mut(path.index()) else { return };
        if let Some(newest) = space.ranges.front_mut().filter(|newest| newest.1 + 1 == number) {
            newest.1 = number;
            space.newest_at = now;
        }
    }

    /// Processes an ack-eliciting packet.
    pub(super) fn handle(&mut self, now: Time, path: PathId, packet: &OneRtt, observer: &mut impl Observer) {
        let Some(space) = self.spaces.get_mut(path.index()) else { return };
        if let Some(stream) = &packet.stream {
            // A segment without buffer space has not arrived, so its packet is not acknowledged.
            // Within the announced limit there is space.
            if self.reassembly.accept(now, path, &stream.data, observer) == Arrival::Refused {
                return;
            }
        }
        let place = space.note(packet.number);
        if space.ranges.front().is_some_and(|range| range.1 == packet.number) {
            space.newest_at = now;
        }
        space.unacknowledged = space.unacknowledged.saturating_add(1);
        space.untold = self.tells_elsewhere;
        if place != Place::Known {
            space.marks.congested += u64::from(packet.ecn.congested);
            space.marks.capable += u64::from(packet.ecn.capable && !packet.ecn.congested);
        }
        if let Some(known) = packet.blocked {
            let (limit, repeats) = &mut self.announced;
            *repeats = (*repeats).max(u8::from(known < *limit));
        }
        // RFC 9000 §13.2.1: reordered and marked packets are acknowledged at once.
        let urgent = place != Place::Next
            || packet.ecn.congested
            || packet.challenge.is_some()
            || packet.blocked.is_some();
        if urgent || space.unacknowledged >= self.ack_every {
            space.due = true;
        } else if space.deadline.is_none() {
            space.deadline = Some(now.saturating_add(self.ack_delay));
        }
        self.find_silent(now, path);
    }

    /// Finds paths that are silent while a packet arrives on `path`. Acknowledgements may have been
    /// lost with such a path. The peer would then declare received data lost and retransmit it.
    fn find_silent(&mut self, now: Time, path: PathId) {
        if !self.tells_elsewhere {
            return;
        }
        for space in self.spaces.iter_mut().filter(|space| space.untold) {
            if now.since(space.newest_at) >= SILENCE {
                (space.untold, space.elsewhere) = (false, Some(path));
            }
        }
    }

    /// Returns a path whose packets must be acknowledged again now, and the path for this
    /// acknowledgement.
    #[inline]
    pub(super) fn silent(&self) -> Option<(PathId, PathId)> {
        if !self.tells_elsewhere {
            return None;
        }
        let mut spaces = self.spaces.iter().enumerate();
        spaces.find_map(|(index, space)| Some((PathId(index as u8), space.elsewhere?)))
    }

    /// Returns the acknowledgement of the packets of `path` again.
    pub(super) fn repeat(&mut self, now: Time, path: PathId) -> Option<PathAck> {
        let space = self.spaces.get_mut(path.index())?;
        space.elsewhere = None;
        let mut ack = None;
        space.report(now, path, &mut ack);
        ack
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        for space in &mut self.spaces {
            space.due |= space.deadline.is_some_and(|deadline| deadline <= now);
        }
    }

    /// Returns the time of the first delayed acknowledgement, or [`Time::MAX`] for never.
    pub(super) fn next_timer(&self) -> Time {
        self.spaces.iter().fold(Time::MAX, |next, space| next.min(moment(space.deadline)))
    }

    /// Returns a path whose packets must be acknowledged now.
    pub(super) fn due(&self) -> Option<PathId> {
        self.spaces.iter().position(|space| space.due).map(|index| PathId(index as u8))
    }

    /// Adds the acknowledgement of the packets of `path` to a packet that leaves on it, if there are
    /// new ones. Data carries it, too (RFC 9000 §13.2.1).
    #[inline]
    pub(super) fn acknowledge(&mut self, now: Time, path: PathId, packet: &mut OneRtt) {
        let space = self.spaces.get_mut(path.index()).filter(|space| space.unacknowledged > 0);
        let Some(space) = space else { return };
        space.unacknowledged = 0;
        space.deadline = None;
        space.due = false;
        space.report(now, path, &mut packet.ack);
        packet.max_data = self.limit();
    }

    /// Returns a new limit of flow control, to be sent with an acknowledgement. RFC 9000 §4.2
    /// leaves the frequency open. Here every acknowledgement with new data has a limit, as in TCP.
    /// Otherwise limits would grow in large steps, and the scheduler would assign each step at
    /// once, by the state of the paths at that time.
    fn limit(&mut self) -> Option<u64> {
        let limit = self.reassembly.delivered_bytes().saturating_add(self.reassembly.capacity());
        if limit > self.announced.0 {
            self.announced = (limit, REPEATED);
        }
        let (limit, repeats) = &mut self.announced;
        *repeats = repeats.checked_sub(1)?;
        Some(*limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_maximal_and_the_highest_come_first() {
        let mut arrivals = Arrivals::default();
        let places: Vec<Place> = [0, 1, 4, 3, 7, 2, 7, 6, 0].map(|number| arrivals.note(number)).into();
        use Place::{Known, Next, OutOfOrder};
        let expected = [Next, Next, OutOfOrder, OutOfOrder, OutOfOrder, OutOfOrder, Known, OutOfOrder, Known];
        assert_eq!(places, expected);
        assert_eq!(arrivals.ranges, [(6, 7), (0, 4)]);
    }

    #[test]
    fn what_lies_before_everything_remembered_counts_as_known() {
        let mut arrivals = Arrivals::default();
        (0..100).for_each(|number| assert_ne!(arrivals.note(2 * number + 1), Place::Known));
        assert_eq!(arrivals.ranges.len(), REMEMBERED);
        assert_eq!(arrivals.note(0), Place::Known);
        assert_eq!(arrivals.ranges.front(), Some(&(199, 199)));
    }
}
