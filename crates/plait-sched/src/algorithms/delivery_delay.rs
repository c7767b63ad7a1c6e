//! Delivery delay: the open path over which a segment reaches the receiver soonest takes what its window lets out.
//!
//! # Source
//! Alam, *Performance Evaluation of Minimum Delivery Delay Multipath TCP Scheduler Implemented in Linux Kernel*
//! (University of Bremen, 2016), after Singh et al., *Performance Comparison of Scheduling Algorithms for Multipath
//! Transfer* (IEEE GLOBECOM 2012). For each packet: argmin of the delivery delay over the subflows that are neither
//! *definitely* unavailable (not established, failed) nor *temporarily* (window full, in loss recovery, send buffer
//! full). The delivery delay is the smoothed TSval − TSecr of the timestamp option: it leaves out the way back, which
//! lowest RTT counts in, but contains the difference of the two clocks. That is the same on all paths, so the order
//! is right.
//!
//! # Departures
//! * A path without a measured delay, beside others that have one, goes first: it gets measured, and then takes its
//!   place. There is nothing to compare it by: half a round-trip time lacks the clocks' difference.
//! * While no usable path has one (a transport without timestamps), half the smoothed round-trip time, as in eq. (1)
//!   of DQS; then the order is that of lowest RTT.
//! * Retransmissions ("has been transmitted on the subflow") are the engine's business, backup paths are used only
//!   while no regular one is usable, and equal delays are decided for the lower path number.
//! * As many segments as fit are assigned at once: no fact that the rule looks at changes before they are sent.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Parameters, SchedulerInfo};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// Delivery delay; it has no state.
#[derive(Clone, Debug, Default)]
pub struct DeliveryDelay;

impl DeliveryDelay {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "delivery-delay",
        title: "Delivery delay",
        summary: "The open path with the smallest one-way delay towards the receiver takes what its window lets out.",
        source: "Alam, Minimum Delivery Delay Multipath TCP Scheduler, University of Bremen, 2016",
        needs: crate::Capabilities::NONE,
        parameters: &[],
    };

    /// From checked parameters: there are none.
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

/// The delivery delays of paths on one scale, in nanoseconds; `None` for a path that has not been measured.
pub(super) fn delays(paths: &[Path]) -> impl Fn(&Path) -> Option<i64> + use<> {
    let measured = usable(paths).any(|path| path.forward_delay.is_some());
    move |path| {
        let half = i64::try_from(path.srtt.as_nanos() / 2).unwrap_or(i64::MAX);
        if measured { path.forward_delay } else { path.has_rtt().then_some(half) }
    }
}

#[cfg(test)]
mod tests;
