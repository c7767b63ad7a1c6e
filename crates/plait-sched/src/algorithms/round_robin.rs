//! Round-robin: the paths take turns.
//!
//! # Source
//! "Blind round-robin", Algorithm 1 of Kuhn et al., *DAPS: Intelligent Delay-Aware Packet
//! Scheduling for Multipath Transport* (IEEE ICC 2014): loop over the paths and send on each the
//! amount that eq. (1) allows, min(cwnd − unack, rwnd − Σ unack). The parameters have the names of
//! those of Linux' multipath round-robin.
//!
//! # Turns
//! With `cwnd_limited` (the paper's loop) a turn fills the path's congestion window. Without it, a
//! turn is `segments` segments, as far as there is room. A path without room has no turn.
//!
//! # Departures
//! * The rotation outlives the call: the next turn belongs to the path after the one used last, as
//!   in CMT-SCTP's implementation. Algorithm 1 read literally starts at the first path at every
//!   chance to send. It would favour that path whenever the receiver's window is scarce.
//! * A turn that the congestion window or the receiver's window cuts short is over; the missing
//!   segments are not made up later. So a path that regains room one acknowledgement at a time does
//!   not hold up the others.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// The state of round-robin: the path whose turn is next.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    /// Segments per turn at most; `u32::MAX` if only the window limits a turn.
    per_turn: u32,
    /// The next turn belongs to the first open path from this index on.
    next: u8,
}

impl RoundRobin {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "round-robin",
        title: "Round-robin",
        summary: "The paths take turns; a turn fills the path's window, or sends a fixed number of segments.",
        source: "Kuhn et al., DAPS, IEEE ICC 2014: Algorithm 1",
        needs: crate::Capabilities::NONE,
        parameters: &[
            ParameterInfo {
                name: "segments",
                doc: "Segments per turn; used only if cwnd_limited is false. Shorter turns reorder fewer segments at a time.",
                default: Value::Integer(1),
                domain: Domain::Integer { min: 1, max: 1_000_000 },
            },
            ParameterInfo {
                name: "cwnd_limited",
                doc: "True: a turn fills the path's congestion window. False: it has `segments` segments.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
        ],
    };

    /// Creates turns that fill the window (`None`), or turns of this many segments (0 counts as 1).
    pub const fn new(segments: Option<u32>) -> Self {
        let per_turn = match segments {
            None => u32::MAX,
            Some(0) => 1,
            Some(segments) => segments,
        };
        Self { per_turn, next: 0 }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let segments = parameters.integer("segments") as u32;
        Self::new(if parameters.boolean("cwnd_limited") { None } else { Some(segments) })
    }
}

impl Scheduler for RoundRobin {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let mut first = None;
        let mut from_next = None;
        for path in usable(paths).filter(|path| path.is_open()) {
            first = first.or(Some(path));
            if path.id.0 >= self.next {
                from_next = Some(path);
                break;
            }
        }
        let Some(path) = from_next.or(first) else { return Decision::WAIT };
        self.next = path.id.0.wrapping_add(1);
        Decision::Assign { path: path.id, segments: clip(path.room().min(self.per_turn), sendable) }
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn waits_without_room(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
