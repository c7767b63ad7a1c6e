//! OTIAS: assigns each segment, ahead of the windows, to the path where it would arrive first if
//! path queues drain by a window per round trip.
//!
//! # Source
//! Yang, Wang, Amer, *Out-of-Order Transmission for In-Order Arrival Scheduling for Multipath TCP*
//! (IEEE WAINA 2014). The path with the least T = (wait + ½) r takes the segment. r is the smoothed
//! round-trip time. `wait` is the number of round trips until the segment leaves; it follows from
//! the window w, the segments in flight x, and the segments in the path's queue q. Assignments are
//! final.
//!
//! # Readings
//! The paper's text and three implementations differ in `wait` (`reading`):
//!
//! * "ceiling" (the default): 0 if q < w − x, otherwise ⌈(q − (w − x) + 1) / w⌉, with w − x not
//!   below 0 (mptcp_otias.c of Karlstad University's MPTCP). It counts the segment itself: where
//!   the window is exactly full, the segment leaves a round trip later;
//! * "floor": ⌊(q − (w − x)) / w⌋, and 0 where that is negative (sched_otias.c of Telekom's
//!   MP-DCCP): where the window is exactly full, the segment leaves at once;
//! * "real": (q − (w − x)) / w without rounding, with all unassigned segments for q (the
//!   implementation for ns-3). A negative value makes T smaller. Since every path has the same q,
//!   the fastest takes nearly everything.
//!
//! # Departures
//! * Nothing is assigned ahead while only one path is usable. The same holds while a usable path is
//!   unmeasured, in loss recovery, or a suspect: it timed out and has acknowledged nothing since,
//!   while another path has. Then each path takes the segments that its window admits. The paper
//!   has no rule for a path that joins later. Assignments are final, so the first path would get
//!   the receiver's whole window.
//! * An unmeasured path and a suspect go first. A path in loss recovery takes nothing.
//! * Segments that leave in the same round have the same T, and are assigned at once.
//!
//! # Progress
//! It waits only for data, for the receiver's window, or, where nothing is assigned ahead, for room
//! in a window.

use super::suspects::Suspects;
use super::{clip, room};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// The way of counting the round trips that a segment waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// Rounded up, the segment itself counted.
    #[default]
    Ceiling,
    /// Rounded down.
    Floor,
    /// Not rounded, with the unassigned segments of the whole connection.
    Real,
}

/// The state of OTIAS.
#[derive(Clone, Debug)]
pub struct Otias {
    reading: Reading,
    suspects: Suspects,
}

/// The place of a segment on a path: T, in nanoseconds, and the number of segments with the same T.
#[derive(Clone, Copy)]
struct Place {
    time: i64,
    segments: u64,
}

/// A bound for the number of waiting segments.
const MOST: u64 = 1 << 60;

fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

impl Otias {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "otias",
        title: "OTIAS",
        summary: "Each segment is assigned, ahead of the windows, to the path where it would arrive first if a window left per round trip.",
        source: "Yang, Wang, Amer, OTIAS, IEEE WAINA 2014",
        needs: Capabilities { assign_ahead: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "reading",
            doc: "Count of the round trips until a segment leaves: \"ceiling\" counts the segment itself, \"floor\" does not, \"real\" does not round and counts all unassigned segments of the connection.",
            default: Value::Text("ceiling"),
            domain: Domain::Choice(&["ceiling", "floor", "real"]),
        }],
    };

    /// Creates one of the readings.
    pub const fn new(reading: Reading) -> Self {
        Self { reading, suspects: Suspects::NONE }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(match parameters.text("reading") {
            "floor" => Reading::Floor,
            "real" => Reading::Real,
            _ => Reading::Ceiling,
        })
    }

    /// The place of the next segment; `None` if the path takes none. `ahead` tells whether the
    /// segment may exceed the window.
    fn place(&self, path: &Path, paths: &[Path], unassigned: u64, ahead: bool) -> Option<Place> {
        let room = if ahead { u64::MAX } else { u64::from(room(path)) };
        let place = if path.has_rtt() && !self.suspects.excludes(path, paths) {
            self.arrival(path, unassigned)
        } else {
            Place { time: i64::MIN, segments: room }
        };
        (room > 0).then_some(Place { segments: place.segments.min(room), ..place })
    }

    /// T of the next segment on a measured path.
    fn arrival(&self, path: &Path, unassigned: u64) -> Place {
        let window = u64::from(path.cwnd.max(1));
        let free = u64::from(path.cwnd.saturating_sub(path.in_flight));
        let queued = u64::from(path.queued) + u64::from(path.lost);
        let round = path.srtt.as_nanos();
        let (rounds, segments) = match self.reading {
            Reading::Ceiling if queued < free => (0, free - queued),
            Reading::Ceiling => {
                let rounds = (queued - free) / window + 1;
                (rounds, rounds * window - (queued - free))
            }
            Reading::Floor => {
                let taken = (queued + u64::from(path.in_flight)).saturating_sub(u64::from(path.cwnd));
                let before = u64::from(path.cwnd).saturating_sub(queued + u64::from(path.in_flight));
                (taken / window, before + window - taken % window)
            }
            Reading::Real => {
                let waits = signed(unassigned.min(MOST)) + i64::from(path.in_flight) - i64::from(path.cwnd);
                let (rounds, rest) =
                    (waits.div_euclid(signed(window)), waits.rem_euclid(signed(window)).unsigned_abs());
                let part = u128::from(round) * u128::from(rest) / u128::from(window);
                let part = signed(u64::try_from(part).unwrap_or(u64::MAX)).saturating_add(signed(round / 2));
                let time = rounds.saturating_mul(signed(round)).saturating_add(part);
                return Place { time, segments: 1 };
            }
        };
        // (rounds + ½) r
        Place { time: signed(round.saturating_mul(2 * rounds + 1) / 2), segments }
    }
}

impl Default for Otias {
    fn default() -> Self {
        Self::new(Reading::default())
    }
}

impl Scheduler for Otias {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let ahead = self.suspects.comparable(paths);
        let place = |path| self.place(path, paths, connection.unassigned, ahead);
        let places = usable(paths).filter_map(|path| Some((place(path)?, path.id)));
        match places.min_by_key(|(place, _)| place.time) {
            Some((Place { segments, .. }, path)) => {
                let segments = u32::try_from(segments).unwrap_or(u32::MAX);
                Decision::Assign { path, segments: clip(segments, sendable) }
            }
            None => Decision::WAIT,
        }
    }

    #[inline]
    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
