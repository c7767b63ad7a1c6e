//! Cheapest first: the open path with the lowest cost takes as many segments as its window admits.
//!
//! # Source
//! CPF, cheapest path first, of MP-DCCP (3GPP's traffic steering calls it priority-based steering).
//! Of the paths with room in their congestion window it takes the one of the highest priority,
//! which is the lowest [`Path::cost`]; among equals, the one with the lowest smoothed round-trip
//! time. So an expensive path carries only the data for which the cheap ones have no room. SD-WAN
//! devices call this overflow or spill-over.
//!
//! # Departures
//! * Of equal costs and round-trip times the lower path number wins. An unmeasured path counts as
//!   the fastest of its cost.
//! * As many segments as fit are assigned at once.
//!
//! # Progress
//! As in lowest RTT: it waits only for data, for the receiver's window, or for room on any path.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Parameters, SchedulerInfo};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// Cheapest first, without state.
#[derive(Clone, Debug, Default)]
pub struct CheapestFirst;

impl CheapestFirst {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "cheapest-first",
        title: "Cheapest first",
        summary: "The open path with the lowest cost takes as many segments as its window admits; more expensive ones carry the rest.",
        source: "CPF of MP-DCCP; 3GPP TS 23.501, priority-based steering",
        needs: crate::Capabilities::NONE,
        parameters: &[],
    };

    /// Builds the scheduler from checked parameters; it has none.
    pub const fn from_parameters(_parameters: &Parameters<'_>) -> Self {
        Self
    }
}

impl Scheduler for CheapestFirst {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let open = usable(paths).filter(|path| path.is_open());
        match open.min_by_key(|path| (path.cost, path.srtt)) {
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
