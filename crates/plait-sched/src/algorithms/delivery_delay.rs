//! Delivery delay: the open path with the shortest delay to the receiver takes as many segments as
//! its window admits.
//!
//! # Source
//! Alam, *Performance Evaluation of Minimum Delivery Delay Multipath TCP Scheduler Implemented in
//! Linux Kernel* (University of Bremen, 2016), after Singh et al., *Performance Comparison of
//! Scheduling Algorithms for Multipath Transfer* (IEEE GLOBECOM 2012). For each packet: argmin of
//! the delivery delay over the subflows that are neither *definitely* unavailable (not established,
//! failed) nor *temporarily* (window full, in loss recovery, send buffer full).
//!
//! The delivery delay is the smoothed TSval − TSecr of the timestamp option. It leaves out the way
//! back, which lowest RTT includes, but contains the difference of the two clocks. That difference
//! is the same on all paths, so the order is right.
//!
//! # Departures
//! * A path without a measured delay goes first if others have one, so that it gets measured. No
//!   comparison is possible: half a round-trip time lacks the difference of the clocks.
//! * While no usable path has a measured delay (a transport without timestamps), half the smoothed
//!   round-trip time replaces it, as in eq. (1) of DQS. The order is then that of lowest RTT.
//! * Retransmissions ("has been transmitted on the subflow") are left to the engine. Backup paths
//!   are used only while no regular one is usable. Of equal delays the lower path number wins.
//! * As many segments as fit are assigned at once: no fact of the rule changes before they are
//!   sent.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Parameters, SchedulerInfo};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// Delivery delay, without state.
#[derive(Clone, Debug, Default)]
pub struct DeliveryDelay;

impl DeliveryDelay {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "delivery-delay",
        title: "Delivery delay",
        summary: "The open path with the smallest one-way delay towards the receiver takes as many segments as its window admits.",
        source: "Alam, Minimum Delivery Delay Multipath TCP Scheduler, University of Bremen, 2016",
        needs: crate::Capabilities::NONE,
        parameters: &[],
    };

    /// Builds the scheduler from checked parameters; it has none.
    pub const fn from_parameters(_parameters: &Parameters<'_>) -> Self {
        Self
    }
}

impl Scheduler for DeliveryDelay {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let delay = delays(paths);
        // `min_by_key` keeps the first of equals; `None`, an unmeasured path, is the smallest.
        match usable(paths).filter(|path| path.is_open()).min_by_key(|path| delay(path)) {
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

/// The delivery delays of paths on one scale, in nanoseconds; `None` for an unmeasured path.
pub(super) fn delays(paths: &[Path]) -> impl Fn(&Path) -> Option<i64> + use<> {
    let measured = usable(paths).any(|path| path.forward_delay.is_some());
    move |path| {
        let half = i64::try_from(path.srtt.as_nanos() / 2).unwrap_or(i64::MAX);
        if measured { path.forward_delay } else { path.has_rtt().then_some(half) }
    }
}

#[cfg(test)]
mod tests;
