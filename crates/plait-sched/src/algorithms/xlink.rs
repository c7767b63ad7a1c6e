//! XLINK: lowest RTT, with copies of segments in flight where they help.
//!
//! # Source
//! * `idle` and `deadline`: reinjection control of XQUIC, the implementation that XLINK's authors
//!   published: its *default* and its *deadline*.
//! * `play-time`: Zheng et al., *XLINK: QoE-Driven Multi-Path QUIC Transport in Large-scale Video
//!   Services* (ACM SIGCOMM 2021), which copies while the player has little left to play. Its rule
//!   is known to us second-hand.
//!
//! # Rule
//! New data goes by lowest RTT. A copy goes to the open path with the lowest round-trip time that
//! does not carry the segment. The oldest segment comes first, and each is copied once:
//!
//! * `idle`: any segment in flight, while the data queue is empty;
//! * `play-time`: as `idle`, but with Δ left to play only if Δ < T₁, or if Δ ≤ T₂ and Δ is less
//!   than r + σ of some path with data in flight;
//! * `deadline`: before new data, segments assigned at least max(min(1.1 · r_min, 500 ms), 20 ms)
//!   ago, where r_min is the lowest round-trip time of the usable paths. Segments sent on a path of
//!   the class *low* (r > 2 s, two timeouts in a row, or more than 30 % lost) are copied at once.
//!
//! # Readings
//! * The time left to play is the time until the earliest deadline of the messages that are not
//!   fully acknowledged ([`Connection::due`]). Where the application gives none, `play-time` is
//!   `idle`.
//! * T₁ and T₂ are in milliseconds, and their defaults our own: those of the paper's study are
//!   known to us without their units. r + σ is the smoothed round-trip time and its variation.
//!
//! # Departures
//! * XLINK also puts copies before waiting data of lower priority; here the data queue has to be
//!   empty.
//! * A loss rate covers the whole connection, as in the facts; XQUIC's covers two recent windows.
//! * The age of a segment is known by marks: to a sixteenth of that time, never too early. The age
//!   of a retransmission is that of the original segment.
//! * A path that lacks a segment that was copied to a third path makes no copies until that segment
//!   is acknowledged. At most 2048 segments from the oldest in flight on are copied.
//!
//! # Progress
//! It waits only for data or copies, for the receiver's window, or for room on any path.

use super::clip;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, usable};
use marks::Marks;
use recent::Recent;

mod marks;
mod recent;

/// The bounds of the age at which a segment is overdue.
const OLDEST: Duration = Duration::from_millis(500);
const YOUNGEST: Duration = Duration::from_millis(20);
/// A path of the class *low* has a larger round-trip time, this many timeouts in a row, or a larger
/// loss rate.
const LOW_RTT: Duration = Duration::from_secs(2);
const LOW_TIMEOUTS: u8 = 2;
const LOW_LOSS_PPM: u32 = 300_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Idle,
    Deadline,
    PlayTime,
}

/// The state of XLINK.
#[derive(Clone, Debug)]
pub struct Xlink {
    mode: Mode,
    /// T₁ and T₂.
    short: Duration,
    long: Duration,
    /// Copied segments, and segments to copy at any age.
    copied: Recent,
    pressing: Recent,
    marks: Marks,
    /// Timeouts of a path since its last acknowledgement.
    timeouts: [u8; MAX_PATHS],
}

impl Xlink {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "xlink",
        title: "XLINK",
        summary: "Lowest RTT, with copies of segments in flight: at the end of the data, when they are overdue, or while little is left to play.",
        source: "Zheng et al., XLINK, ACM SIGCOMM 2021",
        needs: Capabilities { reinject: true, uncarried: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "mode",
                doc: "When copies are sent: while there is no new data (idle), in that case only while little is left to play (play-time, which needs `messages` too), \
                      or of segments that were not acknowledged in about a round-trip time (deadline).",
                default: Value::Text("idle"),
                domain: Domain::Choice(&["idle", "deadline", "play-time"]),
            },
            ParameterInfo {
                name: "short_ms",
                doc: "With mode = \"play-time\", T₁ in milliseconds: with less left to play, copies are always sent.",
                default: Value::Integer(250),
                domain: Domain::Integer { min: 0, max: 3_600_000 },
            },
            ParameterInfo {
                name: "long_ms",
                doc: "With mode = \"play-time\", T₂ in milliseconds: with more left to play, no copies are sent.",
                default: Value::Integer(1_000),
                domain: Domain::Integer { min: 0, max: 3_600_000 },
            },
        ],
    };

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let mode = match parameters.text("mode") {
            "deadline" => Mode::Deadline,
            "play-time" => Mode::PlayTime,
            _ => Mode::Idle,
        };
        let millis = |name| Duration::from_millis(parameters.integer(name) as u64);
        Self::new(mode, millis("short_ms"), millis("long_ms"))
    }

    const fn new(mode: Mode, short: Duration, long: Duration) -> Self {
        Self {
            mode,
            short,
            long,
            copied: Recent::NONE,
            pressing: Recent::NONE,
            marks: Marks::NONE,
            timeouts: [0; MAX_PATHS],
        }
    }

    /// The oldest segment that an open path lacks and that was not copied, and the fastest such
    /// path.
    fn candidate<'a>(&self, connection: &Connection, paths: &'a [Path]) -> Option<(u64, &'a Path)> {
        let oldest = connection.oldest_unacked?.segment;
        let lacking = |path: &Path| {
            path.uncarried
                .filter(|&segment| Recent::covers(oldest, segment) && !self.copied.contains(segment))
        };
        usable(paths)
            .filter(|path| path.is_open())
            .filter_map(|path| lacking(path).map(|segment| (segment, path)))
            .min_by_key(|&(segment, path)| (segment, path.srtt))
    }

    fn copy(&mut self, (segment, path): (u64, &Path)) -> Decision {
        self.copied.insert(segment);
        Decision::Reinject { path: path.id, segment }
    }

    /// Whether so little is left to play that copies help.
    fn plays_soon(&self, now: Time, connection: &Connection, paths: &[Path]) -> bool {
        let Some(due) = connection.due.filter(|_| self.mode == Mode::PlayTime) else { return true };
        let left = due.since(now);
        let carrying = || usable(paths).filter(|path| path.in_flight > 0);
        left < self.short || left <= self.long && carrying().any(|path| left < path.srtt + path.rttvar)
    }

    fn is_low(&self, path: &Path) -> bool {
        path.srtt > LOW_RTT
            || self.timeouts[path.id.index() % MAX_PATHS] >= LOW_TIMEOUTS
            || path.loss_ppm > LOW_LOSS_PPM
    }
}

/// max(min(1.1 · r_min, 500 ms), 20 ms), as far as paths are measured.
fn overdue(paths: &[Path]) -> Duration {
    let least = usable(paths).filter(|path| path.has_rtt()).map(|path| path.srtt).min();
    let longer = least.map_or(OLDEST, |srtt| srtt + Duration::from_nanos(srtt.as_nanos() / 10));
    longer.min(OLDEST).max(YOUNGEST)
}

impl Default for Xlink {
    fn default() -> Self {
        Self::new(Mode::Idle, Duration::from_millis(250), Duration::from_secs(1))
    }
}

impl Scheduler for Xlink {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let oldest = connection.oldest_unacked.map_or(connection.next_segment, |oldest| oldest.segment);
        self.copied.forget_below(oldest);
        let mut until = None;
        if self.mode == Mode::Deadline {
            self.pressing.forget_below(oldest);
            let age = overdue(paths);
            self.marks.note(now, connection.next_segment, age);
            if let Some(candidate) = self.candidate(connection, paths) {
                let overdue = self.marks.overdue(candidate.0, age);
                if overdue <= now || self.pressing.contains(candidate.0) {
                    return self.copy(candidate);
                }
                until = (overdue < Time::MAX).then_some(overdue);
            }
        }
        if connection.unassigned > 0 {
            let sendable = connection.sendable();
            let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
            if let Some(path) = open.filter(|_| sendable > 0) {
                return Decision::Assign { path: path.id, segments: clip(path.room(), sendable) };
            }
        } else if self.mode != Mode::Deadline
            && self.plays_soon(now, connection, paths)
            && let Some(candidate) = self.candidate(connection, paths)
        {
            return self.copy(candidate);
        }
        Decision::Wait { until }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        let at = event.path().index();
        match *event {
            Event::Sent { segment, retransmission: false, .. }
                if paths.get(at).is_some_and(|path| self.is_low(path)) =>
            {
                self.pressing.insert(segment);
            }
            Event::Acked { .. } => {
                if let Some(timeouts) = self.timeouts.get_mut(at) {
                    *timeouts = 0;
                }
            }
            Event::Timeout { .. } => {
                if let Some(timeouts) = self.timeouts.get_mut(at) {
                    *timeouts = timeouts.saturating_add(1);
                }
            }
            _ => {}
        }
    }

    fn needs(&self) -> Capabilities {
        Capabilities { messages: self.mode == Mode::PlayTime, ..Self::INFO.needs }
    }

    fn interest(&self) -> Interest {
        if self.mode == Mode::Deadline { Interest::ALL } else { Interest::NONE }
    }
}

#[cfg(test)]
mod tests;
