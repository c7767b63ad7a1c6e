//! What a subflow's sender knows beyond the core's path: what arrived selectively, what is to be sent again, timers.

use super::ecn::Reacting;
use super::linux::{ProportionalReduction, Scoreboard};
use super::{ClockConfig, Config};
use crate::congestion::Repairing;
use crate::core::moment;
use crate::run_set::RunSet;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// How far a subflow's handshake is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Waits for the first subflow to open.
    Closed,
    /// A SYN is on its way.
    Opening {
        /// When the SYN left that is on its way.
        sent_at: Time,
        /// It is the first one: its answer tells a round trip (Karn).
        first: bool,
        /// When it is sent again.
        retry: Time,
        /// It was answered, and the packet that authenticates the subflow is on its way.
        confirming: bool,
    },
    /// The peer's SYN was answered at this moment; `None` if it came again, so that no round trip can be told (RFC 6298 §3).
    Answered(Option<Time>),
    /// Carries data.
    Open,
}

/// A probe of the tail (RFC 8985 §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    /// The first number that was unsent when the probe left.
    pub(super) end: u64,
    /// It repeated the last segment; otherwise it was new data.
    pub(super) repeated: bool,
}

/// A transmission that was sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) number: u64,
    /// Its place in the order of sending.
    pub(super) order: u64,
}

/// The loss recovery of a subflow, and of a TCP.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    pub(super) phase: Phase,
    /// The connection is one of MPTCP: it has other paths for new data.
    pub(super) multipath: bool,
    pub(super) clock: ClockConfig,
    /// The longest that the peer delays an acknowledgement.
    pub(super) ack_delay: Duration,
    /// What arrived beyond the cumulative acknowledgement.
    pub(super) arrived: RunSet,
    /// Lost, to be sent again, ascending.
    pub(super) lost: VecDeque<u64>,
    /// Sent again and maybe still in flight, in the order of sending.
    pub(super) resent: VecDeque<Resent>,
    /// All that were sent once and are below this number have been judged lost or not.
    pub(super) judged: u64,
    /// The latest in the order of sending among those that arrived, latest first.
    pub(super) latest_arrived: [Option<u64>; 3],
    pub(super) repair: Repairing,
    pub(super) ecn: Reacting,
    /// When a transmission that something sent later has overtaken counts as lost.
    pub(super) loss_timer: Option<Time>,
    pub(super) probe_timer: Option<Time>,
    pub(super) probe: Option<Probe>,
    /// The next transmission is a probe, whatever the window says.
    pub(super) probe_due: bool,
    /// Bytes that duplicate acknowledgements reported and that have not grown the window.
    pub(super) withheld: u64,
    /// Retransmissions that may leave whatever the window says.
    pub(super) exempt: u32,
    /// The window's reduction in progress, if it goes step by step.
    pub(super) reduction: Option<ProportionalReduction>,
    /// The round trip of what arrived last.
    pub(super) latest_round_trip: Duration,
    /// What Linux keeps of it.
    pub(super) linux: Scoreboard,
}

impl Subflow {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            phase: if config.handshake { Phase::Closed } else { Phase::Open },
            multipath: config.multipath,
            clock: config.clock,
            ack_delay: config.ack_delay,
            arrived: RunSet::new(),
            lost: VecDeque::with_capacity(64),
            resent: VecDeque::with_capacity(64),
            judged: 0,
            latest_arrived: [None; 3],
            repair: Repairing::Nothing,
            ecn: Reacting::new(config.ecn),
            loss_timer: None,
            probe_timer: None,
            probe: None,
            probe_due: false,
            withheld: 0,
            exempt: 0,
            reduction: None,
            latest_round_trip: Duration::ZERO,
            linux: Scoreboard::new(),
        }
    }

    /// Something is lost, or the tail is to be probed.
    #[inline]
    pub(super) fn wants_repair(&self) -> bool {
        !self.lost.is_empty() || self.probe_due
    }

    /// A transmission arrived.
    pub(super) fn note_arrival(&mut self, order: u64) {
        insert_latest(&mut self.latest_arrived, order);
    }

    /// When the first of the subflow's own timers runs out. [`Time::MAX`] is never.
    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        let retry = match self.phase {
            Phase::Opening { retry, .. } => retry,
            Phase::Closed | Phase::Answered(_) | Phase::Open => Time::MAX,
        };
        retry.min(moment(self.loss_timer)).min(moment(self.probe_timer))
    }
}

/// Inserts a place in the order of sending into the latest ones, the latest first.
fn insert_latest(latest: &mut [Option<u64>; 3], order: u64) {
    let place = latest.iter().position(|known| known.is_none_or(|known| known < order));
    if let Some(place) = place {
        latest[place..].rotate_right(1);
        latest[place] = Some(order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_three_are_kept_in_order() {
        let mut latest = [None; 3];
        for order in [3, 9, 1, 5, 4, 8] {
            insert_latest(&mut latest, order);
        }
        assert_eq!(latest, [9, 8, 5].map(Some));
    }
}
