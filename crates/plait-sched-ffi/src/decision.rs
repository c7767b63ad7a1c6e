//! Decisions, events and the declarations of a scheduler, as C structs.

use plait_sched::{Capabilities, Decision, Duration, Event, Interest, PathId, Time};

use crate::error::{Error, Result};
use crate::path::PLAIT_MAX_PATHS;
use crate::sized::{self, Sized32};

/// Make no further decision now: ask again after the next event, and at `until` at the latest
/// unless that is PLAIT_NEVER.
pub const PLAIT_WAIT: u32 = 0;
/// Move the next `segments` segments of the data queue to the queue of `path`.
pub const PLAIT_ASSIGN: u32 = 1;
/// Send a copy of segment number `segment` on `path`.
pub const PLAIT_REINJECT: u32 = 2;
/// Move all unsent segments in the queue of `path` back to the data queue.
pub const PLAIT_RECALL: u32 = 3;
/// Limit the data in flight on `path`: new data leaves only while fewer than `segments` segments
/// are in flight there; PLAIT_NONE lifts the limit.
pub const PLAIT_LIMIT: u32 = 4;
/// Halve the congestion window of `path`.
pub const PLAIT_PENALIZE: u32 = 5;
/// Move the stream of the next segment behind the other streams of the same priority.
pub const PLAIT_DEFER: u32 = 6;

/// A moment that never comes.
pub const PLAIT_NEVER: u64 = 0xffff_ffff_ffff_ffff;

/// A segment was put on the wire: `segment`, `retransmission`.
pub const PLAIT_EVENT_SENT: u32 = 0;
/// The receiver acknowledged `segments` segments that the path carried; `rtt`.
pub const PLAIT_EVENT_ACKED: u32 = 1;
/// `segments` segments were declared lost.
pub const PLAIT_EVENT_LOST: u32 = 2;
/// The retransmission timer of the path expired.
pub const PLAIT_EVENT_TIMEOUT: u32 = 3;
/// The path became unusable. The engine has moved the unsent segments of its queue back to the data
/// queue.
pub const PLAIT_EVENT_PATH_DOWN: u32 = 4;
/// The path became usable (again).
pub const PLAIT_EVENT_PATH_UP: u32 = 5;

/// Bit of `plait_scheduler_needs`: assignments may exceed the windows.
pub const PLAIT_NEEDS_ASSIGN_AHEAD: u32 = 1;
/// Bit of `plait_scheduler_needs`: PLAIT_RECALL.
pub const PLAIT_NEEDS_RECALL: u32 = 2;
/// Bit of `plait_scheduler_needs`: PLAIT_REINJECT.
pub const PLAIT_NEEDS_REINJECT: u32 = 4;
/// Bit of `plait_scheduler_needs`: PLAIT_LIMIT.
pub const PLAIT_NEEDS_LIMIT: u32 = 8;
/// Bit of `plait_scheduler_needs`: PLAIT_PENALIZE.
pub const PLAIT_NEEDS_PENALIZE: u32 = 16;
/// Bit of `plait_scheduler_needs`: the facts of messages, and PLAIT_DEFER.
pub const PLAIT_NEEDS_MESSAGES: u32 = 32;
/// Bit of `plait_scheduler_needs`: among streams of equal priority, the engine keeps the one whose
/// message has the least data left in front.
pub const PLAIT_NEEDS_SHORTEST_FIRST: u32 = 64;
/// Bit of `plait_scheduler_needs`: `uncarried` of the paths.
pub const PLAIT_NEEDS_UNCARRIED: u32 = 128;
/// Bit of `plait_scheduler_needs`: each path retransmits its own losses.
pub const PLAIT_NEEDS_REPAIR: u32 = 256;

/// Bit of `plait_scheduler_interest`: PLAIT_EVENT_SENT.
pub const PLAIT_INTEREST_SENT: u32 = 1;
/// Bit of `plait_scheduler_interest`: PLAIT_EVENT_ACKED.
pub const PLAIT_INTEREST_ACKED: u32 = 2;

/// One decision.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CDecision {
    /// The size of this struct as the caller knows it, in bytes.
    pub size: u32,
    /// PLAIT_WAIT, PLAIT_ASSIGN, PLAIT_REINJECT, PLAIT_RECALL, PLAIT_LIMIT, PLAIT_PENALIZE or
    /// PLAIT_DEFER.
    pub kind: u32,
    /// The path; unused by PLAIT_WAIT and PLAIT_DEFER.
    pub path: u32,
    /// PLAIT_ASSIGN: number of segments. PLAIT_LIMIT: limit of the segments in flight.
    pub segments: u32,
    /// PLAIT_REINJECT: the segment's number.
    pub segment: u64,
    /// PLAIT_WAIT: a moment in nanoseconds, or PLAIT_NEVER.
    pub until: u64,
}

// SAFETY: integers only, without padding: 4 times 4 bytes, 2 times 8.
unsafe impl Sized32 for CDecision {
    const FIRST: u32 = 32;
    const DEFAULT: Self = Self {
        size: size_of::<Self>() as u32,
        kind: PLAIT_WAIT,
        path: 0,
        segments: 0,
        segment: 0,
        until: PLAIT_NEVER,
    };
    const WRONG: &'static str =
        "the size of a plait_decision is none that a version of this interface has: set it before the call";
}

impl CDecision {
    pub(crate) fn of(decision: &Decision) -> Self {
        let to = |kind: u32, path: PathId| Self { kind, path: path.0.into(), ..Self::DEFAULT };
        match *decision {
            Decision::Wait { until } => {
                Self { until: until.map_or(PLAIT_NEVER, Time::as_nanos), ..Self::DEFAULT }
            }
            Decision::Assign { path, segments } => Self { segments, ..to(PLAIT_ASSIGN, path) },
            Decision::Reinject { path, segment } => Self { segment, ..to(PLAIT_REINJECT, path) },
            Decision::Recall { path } => to(PLAIT_RECALL, path),
            Decision::Limit { path, in_flight } => Self { segments: in_flight, ..to(PLAIT_LIMIT, path) },
            Decision::Penalize { path } => to(PLAIT_PENALIZE, path),
            Decision::Defer => Self { kind: PLAIT_DEFER, ..Self::DEFAULT },
        }
    }

    /// Converts the decision of a scheduler in C; `None` if it is not a valid decision.
    pub(crate) fn decision(&self) -> Option<Decision> {
        // A path number that is too large stays invalid, and the engine refuses it.
        let path = PathId(u8::try_from(self.path).unwrap_or(u8::MAX));
        Some(match self.kind {
            PLAIT_WAIT => {
                Decision::Wait { until: (self.until != PLAIT_NEVER).then(|| Time::from_nanos(self.until)) }
            }
            PLAIT_ASSIGN => Decision::Assign { path, segments: self.segments },
            PLAIT_REINJECT => Decision::Reinject { path, segment: self.segment },
            PLAIT_RECALL => Decision::Recall { path },
            PLAIT_LIMIT => Decision::Limit { path, in_flight: self.segments },
            PLAIT_PENALIZE => Decision::Penalize { path },
            PLAIT_DEFER => Decision::Defer,
            _ => return None,
        })
    }
}

/// An event on a path. Later versions may add kinds; a scheduler ignores kinds that it does not
/// know.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CEvent {
    /// The size of this struct as the caller knows it, in bytes.
    pub size: u32,
    /// One of PLAIT_EVENT_…
    pub kind: u32,
    /// The path.
    pub path: u32,
    /// PLAIT_EVENT_ACKED and PLAIT_EVENT_LOST: number of segments.
    pub segments: u32,
    /// PLAIT_EVENT_SENT: the segment's number.
    pub segment: u64,
    /// PLAIT_EVENT_ACKED: the round-trip sample of the acknowledgement in nanoseconds; 0 if none
    /// was taken.
    pub rtt: u64,
    /// PLAIT_EVENT_SENT: not 0 if the segment had been sent before.
    pub retransmission: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: integers only, without padding: 4 times 4 bytes, 2 times 8, 2 times 4.
unsafe impl Sized32 for CEvent {
    const FIRST: u32 = 40;
    const DEFAULT: Self = Self {
        size: size_of::<Self>() as u32,
        kind: PLAIT_EVENT_SENT,
        path: 0,
        segments: 0,
        segment: 0,
        rtt: 0,
        retransmission: 0,
        reserved: 0,
    };
    const WRONG: &'static str = "the size of a plait_event is none that a version of this interface has";
}

impl CEvent {
    /// Converts an event from Rust. `None` for a kind that this interface does not have; it is not
    /// reported.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let on = |kind: u32| Self { kind, path: event.path().0.into(), ..Self::DEFAULT };
        Some(match *event {
            Event::Sent { segment, retransmission, .. } => {
                Self { segment, retransmission: retransmission.into(), ..on(PLAIT_EVENT_SENT) }
            }
            Event::Acked { segments, rtt, .. } => {
                Self { segments, rtt: rtt.map_or(0, Duration::as_nanos), ..on(PLAIT_EVENT_ACKED) }
            }
            Event::Lost { segments, .. } => Self { segments, ..on(PLAIT_EVENT_LOST) },
            Event::Timeout { .. } => on(PLAIT_EVENT_TIMEOUT),
            Event::PathDown { .. } => on(PLAIT_EVENT_PATH_DOWN),
            Event::PathUp { .. } => on(PLAIT_EVENT_PATH_UP),
            _ => return None,
        })
    }

    /// Reads the event that an engine in C wrote.
    ///
    /// # Safety
    /// `from` is null or points to a struct that begins with its true size.
    pub(crate) unsafe fn read(from: *const Self) -> Result<Event> {
        // SAFETY: by contract.
        unsafe { sized::read(from, "the plait_event is a null pointer")? }.event()
    }

    pub(crate) fn event(&self) -> Result<Event> {
        if self.path >= PLAIT_MAX_PATHS {
            return Err(Error::argument("the path of a plait_event is PLAIT_MAX_PATHS or more"));
        }
        let path = PathId(self.path as u8);
        Ok(match self.kind {
            PLAIT_EVENT_SENT => {
                Event::Sent { path, segment: self.segment, retransmission: self.retransmission != 0 }
            }
            PLAIT_EVENT_ACKED => {
                let rtt = (self.rtt != 0).then(|| Duration::from_nanos(self.rtt));
                Event::Acked { path, segments: self.segments, rtt }
            }
            PLAIT_EVENT_LOST => Event::Lost { path, segments: self.segments },
            PLAIT_EVENT_TIMEOUT => Event::Timeout { path },
            PLAIT_EVENT_PATH_DOWN => Event::PathDown { path },
            PLAIT_EVENT_PATH_UP => Event::PathUp { path },
            _ => return Err(Error::argument("the kind of a plait_event is none of PLAIT_EVENT_…")),
        })
    }
}

/// The needs of a scheduler, as bits. They have the order of [`Capabilities::EACH`].
pub(crate) fn needs_bits(needs: Capabilities) -> u32 {
    let each = Capabilities::EACH.iter().enumerate();
    each.map(|(bit, &(_, one))| u32::from(needs.contains(one)) << bit).sum()
}

/// The needs from bits. `None` if a bit is unknown to this version, which so cannot offer the
/// capability.
pub(crate) fn needs_of(bits: u32) -> Option<Capabilities> {
    let needed = Capabilities::EACH.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    let needs = needed.fold(Capabilities::NONE, |needs, (_, &(_, one))| needs.and(one));
    (needs_bits(needs) == bits).then_some(needs)
}

/// The events that a scheduler wants, as bits PLAIT_INTEREST_…
pub fn interest_bits(interest: Interest) -> u32 {
    let bit = |wanted: bool, bit: u32| if wanted { bit } else { 0 };
    bit(interest.sent, PLAIT_INTEREST_SENT) | bit(interest.acked, PLAIT_INTEREST_ACKED)
}

pub(crate) const fn interest_of(bits: u32) -> Interest {
    Interest { sent: bits & PLAIT_INTEREST_SENT != 0, acked: bits & PLAIT_INTEREST_ACKED != 0 }
}
