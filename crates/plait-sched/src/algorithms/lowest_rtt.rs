//! Lowest RTT: the open path with the smallest smoothed round-trip time takes as many segments as
//! its window admits.
//!
//! # Source
//! The default scheduler of MPTCP, as described in Raiciu et al., *How Hard Can It Be?* (USENIX
//! NSDI 2012): "send on the subflow with the lowest RTT that has space in its congestion window".
//! Backup paths are used only while no regular one is usable.
//!
//! # Departures
//! * A path that has not been measured yet goes first, so that it gets measured.
//! * Of equal round-trip times the lower path number wins.
//! * As many segments as fit are assigned at once: no fact of the rule changes before they are
//!   sent.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Parameters, SchedulerInfo};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// Lowest RTT, without state.
#[derive(Clone, Debug, Default)]
pub struct LowestRtt;

impl LowestRtt {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "lowest-rtt",
        title: "Lowest RTT",
        summary: "The open path with the smallest smoothed round-trip time takes as many segments as its window admits.",
        source: "Raiciu et al., How Hard Can It Be?, USENIX NSDI 2012",
        needs: crate::Capabilities::NONE,
        parameters: &[],
    };

    /// Builds the scheduler from checked parameters; it has none.
    pub const fn from_parameters(_parameters: &Parameters<'_>) -> Self {
        Self
    }
}

impl Scheduler for LowestRtt {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        // The first of equals wins; zero, the time of an unmeasured path, is the smallest.
        let mut best: Option<&Path> = None;
        for path in usable(paths).filter(|path| path.is_open()) {
            if best.is_none_or(|best| path.srtt < best.srtt) {
                best = Some(path);
            }
        }
        match best {
            Some(path) if connection.sendable() > 0 => {
                Decision::Assign { path: path.id, segments: clip(path.room(), connection.sendable()) }
            }
            _ => Decision::WAIT,
        }
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
