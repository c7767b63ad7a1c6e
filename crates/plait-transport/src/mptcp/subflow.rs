//! A subflow's state in addition to the core's path: selectively acknowledged segments,
//! retransmission queue, timers.

use super::ecn::Reacting;
use super::linux::{ProportionalReduction, Scoreboard};
use super::{ClockConfig, Config};
use crate::congestion::Repairing;
use crate::core::NEVER;
use crate::run_set::RunSet;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// Progress of a subflow's handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Waits for the first subflow to open.
    Closed,
    /// A SYN is in flight.
    Opening {
        /// Send time of the SYN in flight.
        sent_at: Time,
        /// True for the first SYN, whose answer measures a round trip (Karn).
        first: bool,
        /// Time of its retransmission.
        retry: Time,
        /// True if the SYN was answered and the packet that authenticates the subflow is in flight.
        confirming: bool,
    },
    /// This end answered the peer's SYN at this time. `None` after a repeated SYN, because then no
    /// round trip can be measured (RFC 6298 §3).
    Answered(Option<Time>),
    /// Carries data.
    Open,
}

/// A probe of the tail (RFC 8985 §7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probe {
    /// The first unsent number when the probe left.
    pub(super) end: u64,
    /// True if the probe repeated the last segment; otherwise it was new data.
    pub(super) repeated: bool,
}

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) number: u64,
    /// Its place in the order of sending.
    pub(super) order: u64,
}

/// The loss recovery of a subflow, or of a TCP connection.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    pub(super) phase: Phase,
    /// True for MPTCP: the connection has other paths for new data.
    pub(super) multipath: bool,
    pub(super) clock: ClockConfig,
    /// The longest time that the peer delays an acknowledgement.
    pub(super) ack_delay: Duration,
    /// Numbers that arrived beyond the cumulative acknowledgement.
    pub(super) arrived: RunSet,
    /// Lost numbers that wait for retransmission, ascending.
    pub(super) lost: VecDeque<u64>,
    /// Retransmissions that may still be in flight, in the order of sending.
    pub(super) resent: VecDeque<Resent>,
    /// All segments below this number that were sent once have been judged.
    pub(super) judged: u64,
    /// The ends behind the three highest places in the order of sending among the arrived
    /// transmissions, highest first; 0 for none.
    pub(super) latest_ends: [u64; 3],
    pub(super) repair: Repairing,
    pub(super) ecn: Reacting,
    /// Time at which an overtaken transmission counts as lost.
    pub(super) loss_timer: Time,
    pub(super) probe_timer: Time,
    pub(super) probe: Option<Probe>,
    /// True if the next transmission is a probe, even without room in the window.
    pub(super) probe_due: bool,
    /// Bytes that duplicate acknowledgements reported and that have not grown the window yet.
    pub(super) withheld: u64,
    /// Number of retransmissions that may leave without room in the window.
    pub(super) exempt: u32,
    /// The current reduction of the window, if it goes step by step.
    pub(super) reduction: Option<ProportionalReduction>,
    /// Round trip of the last arrived transmission in the order of sending.
    pub(super) latest_round_trip: Duration,
    /// State of Linux' loss recovery; the RFCs' recovery uses parts of it.
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
            latest_ends: [0; 3],
            repair: Repairing::Nothing,
            ecn: Reacting::new(config.ecn),
            loss_timer: NEVER,
            probe_timer: NEVER,
            probe: None,
            probe_due: false,
            withheld: 0,
            exempt: 0,
            reduction: None,
            latest_round_trip: Duration::ZERO,
            linux: Scoreboard::new(),
        }
    }

    /// True if a segment is lost, or the tail must be probed.
    #[inline]
    pub(super) fn wants_repair(&self) -> bool {
        !self.lost.is_empty() || self.probe_due
    }

    /// Records the arrival of a transmission, with the end behind its place in the order of sending.
    #[inline]
    pub(super) fn note_arrival(&mut self, order_end: u64) {
        insert_latest(&mut self.latest_ends, order_end);
    }

    /// Returns the time of the first of the subflow's own timers.
    #[inline]
    pub(super) fn next_timer(&self) -> Time {
        let retry = match self.phase {
            Phase::Opening { retry, .. } => retry,
            Phase::Closed | Phase::Answered(_) | Phase::Open => NEVER,
        };
        retry.min(self.loss_timer).min(self.probe_timer)
    }
}

/// Inserts a number into the highest ones, the highest first.
fn insert_latest(latest: &mut [u64; 3], number: u64) {
    let [first, second, third] = *latest;
    // Most often it is the highest.
    if number >= first {
        *latest = [number, first, second];
        return;
    }
    *latest = [first.max(number), second.max(first.min(number)), third.max(second.min(number))];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_three_are_kept_in_order() {
        let mut latest = [0; 3];
        for order in [3, 9, 1, 5, 4, 8] {
            insert_latest(&mut latest, order);
        }
        assert_eq!(latest, [9, 8, 5]);
    }
}
