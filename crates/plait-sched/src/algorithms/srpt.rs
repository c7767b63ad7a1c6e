//! Shortest remaining first: the stream whose message has the least data left goes first. The path
//! is chosen by lowest RTT, or by [earliest completion first](super::ecf).
//!
//! # Source
//! The order is that of Schrage, *A Proof of the Optimality of the Shortest Remaining Processing
//! Time Discipline* (Operations Research 16(3), 1968): with one server, and work that may be
//! interrupted, no other order has a smaller mean time to completion. For several paths it is the
//! first half of SRPT-ECF (hal-02570686), which orders streams by their remaining data and gives
//! segments to paths by ECF. Its details were not available.
//!
//! # Readings
//! * `waits`: how segments are given to paths. "never" (the default) is lowest RTT. "all" is ECF
//!   with all unassigned data as the remaining data. "message" is ECF with the rest of the current
//!   message, so that a short message does not end on a slow path, although others could use that
//!   path meanwhile.
//!
//! # Departures
//! * Priorities come first, where the application gives any: only streams of the highest one are
//!   compared. The application sets the order of messages in one stream. With a protocol of one
//!   stream (MPTCP, TCP) there is no other order.
//! * Those of ECF, whose code it shares.
//!
//! # Progress
//! As in ECF, or in lowest RTT.

use super::clip;
use super::ecf::{Ecf, Rounds};
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// The data that must complete early for a slower path to stay unused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waits {
    /// None: no path stays unused.
    #[default]
    Never,
    /// The current message.
    Message,
    /// All unassigned data.
    All,
}

/// The state of shortest remaining first.
#[derive(Clone, Debug)]
pub struct Srpt {
    waits: Waits,
    ecf: Ecf,
    suspects: Suspects,
}

impl Srpt {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "srpt",
        title: "Shortest remaining first",
        summary: "The stream whose message has the least data left goes first, over the open path with the smallest round-trip time.",
        source: "Schrage, Operations Research 16(3), 1968; SRPT-ECF (hal-02570686)",
        needs: Capabilities { messages: true, shortest_first: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "waits",
            doc: "\"never\": a path with room is used. \"all\": a slower path stays unused while the fastest one, although full, would deliver all data earlier, \
                  as in ECF. \"message\": the same rule with the data of this message.",
            default: Value::Text("never"),
            domain: Domain::Choice(&["never", "message", "all"]),
        }],
    };

    /// Creates one of the readings.
    pub const fn new(waits: Waits) -> Self {
        Self { waits, ecf: Ecf::new(250, Rounds::Clamped), suspects: Suspects::NONE }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(match parameters.text("waits") {
            "message" => Waits::Message,
            "all" => Waits::All,
            _ => Waits::Never,
        })
    }
}

impl Scheduler for Srpt {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let sendable = connection.sendable();
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let Some(slow) = open.filter(|_| sendable > 0) else { return Decision::WAIT };
        let left = match self.waits {
            Waits::Never => None,
            Waits::All => Some(connection.unassigned),
            Waits::Message => connection.message.map(|message| message.segments_left),
        };
        match (left, self.suspects.faster(slow, paths)) {
            (Some(left), Some(fast)) if self.ecf.waits(fast, slow, left) => Decision::WAIT,
            (Some(_), Some(_)) => Decision::Assign { path: slow.id, segments: 1 },
            _ => Decision::Assign { path: slow.id, segments: clip(slow.room(), sendable) },
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

    fn waits_without_room(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
