//! Cheapest first: the open path that costs least takes what its window lets out.
//!
//! # Source
//! CPF, cheapest path first, of MP-DCCP (3GPP's traffic steering calls it priority-based steering): of the paths with room in their
//! congestion window the one of the highest priority, which is the lowest [`Path::cost`]; among equals the one with the lowest smoothed
//! round-trip time. So an expensive path carries what the cheap ones cannot. What SD-WAN devices call overflow or spill-over is the same.
//!
//! # Departures
//! Equal costs and round-trip times are decided for the lower path number; a path that was not measured yet counts as the fastest of its
//! cost. As many segments as fit are assigned at once.
//!
//! # Progress
//! As lowest RTT: it waits only for data, for the receiver's window, or for room on any path.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Parameters, SchedulerInfo};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// Cheapest first; it has no state.
#[derive(Clone, Debug, Default)]
pub struct CheapestFirst;

impl CheapestFirst {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "cheapest-first",
        title: "Cheapest first",
        summary: "The open path that costs least takes what its window lets out; dearer ones carry what is left.",
        source: "CPF of MP-DCCP; 3GPP TS 23.501, priority-based steering",
        needs: crate::Capabilities::NONE,
        parameters: &[],
    };

    /// From checked parameters: there are none.
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
