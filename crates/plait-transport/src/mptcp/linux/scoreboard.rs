//! What a subflow's sender knows of what is in flight, and of recoveries.

use super::order::SendOrder;
use super::rack::Rack;
use crate::congestion::Repairing;
use crate::mptcp::subflow::Probe;
use plait_sched::Time;

/// Segments that may arrive late before it counts as reordering (tcp_reordering).
pub(super) const USUAL_REORDERING: u32 = 3;

/// The most that reordering is taken for (tcp_max_reordering).
const MOST_REORDERING: u32 = 300;

/// The congestion state (enum tcp_ca_state).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum State {
    /// Nothing is missing.
    #[default]
    Open,
    /// Something is missing that is not lost yet, or something retransmitted is not acknowledged yet.
    Disorder,
    /// The receiver said that packets were marked, and the window shrinks.
    Reducing,
    /// Losses are being repaired, and the window shrinks.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
}

/// What is needed to take a reduction back.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mptcp) struct Memory {
    /// The first unacknowledged number when the window was reduced; `None` if there is nothing to take back.
    pub(in crate::mptcp) marker: Option<u64>,
    /// Retransmissions that no duplicate has reported yet; `None` before the first one.
    pub(in crate::mptcp) unreported: Option<u32>,
    /// The timestamp of the first retransmission.
    pub(in crate::mptcp) stamp: Option<u32>,
    /// Window and threshold before, in bytes; `None` if it may not be taken back.
    pub(in crate::mptcp) prior: Option<(u64, u64)>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(in crate::mptcp) struct Scoreboard {
    /// When the pending timer is due (`icsk_timeout`); it runs out later.
    pub(in crate::mptcp) due: Option<Time>,
    pub(super) state: State,
    pub(super) order: SendOrder,
    pub(in crate::mptcp) rack: Rack,
    /// The first number that was not sent when the state began.
    pub(super) high: u64,
    /// Marked as lost, whether or not sent again since.
    pub(super) lost: u32,
    /// Sent again and in flight.
    pub(super) resent: u32,
    /// The first number beyond all that arrived; meaningful while something is missing.
    pub(super) highest: u64,
    pub(in crate::mptcp) memory: Memory,
    /// By how many segments something arrived late at most.
    reordering: u32,
    pub(super) probe: Option<Probe>,
    /// A timeout is being examined for having been needless.
    pub(super) examines_timeout: bool,
    /// No retransmission leaves before the next acknowledgement.
    pub(in crate::mptcp) withheld: bool,
    /// New data is to be sent first, to see whether the timeout was needless.
    pub(in crate::mptcp) prefers_new: bool,
    /// Duplicates that were reported, and retransmissions: more of the former than of the latter are not ours.
    pub(super) duplicates: u64,
    pub(super) retransmissions: u64,
    /// Timeouts since the cumulative acknowledgement advanced.
    pub(super) timeouts: u32,
    /// New data has left since the controller was told how much of its window is used.
    pub(super) sent_new: bool,
}

impl Scoreboard {
    /// How losses are being repaired.
    pub(super) fn repairing(&self) -> Repairing {
        match self.state {
            State::Open | State::Disorder | State::Reducing => Repairing::Nothing,
            State::Recovery => Repairing::Losses,
            State::Loss => Repairing::Timeout,
        }
    }

    /// Losses are being repaired, or the window shrinks because of a mark (TCP_CA_CWR and above).
    pub(in crate::mptcp) fn is_repairing(&self) -> bool {
        self.state >= State::Reducing
    }

    pub(in crate::mptcp) fn new() -> Self {
        Self {
            due: None,
            state: State::Open,
            order: SendOrder::new(),
            rack: Rack::new(),
            high: 0,
            lost: 0,
            resent: 0,
            highest: 0,
            memory: Memory::default(),
            reordering: USUAL_REORDERING,
            probe: None,
            examines_timeout: false,
            withheld: false,
            prefers_new: false,
            duplicates: 0,
            retransmissions: 0,
            timeouts: 0,
            sent_new: false,
        }
    }

    /// Something that was sent once arrived `distance` segments late (tcp_check_sack_reordering).
    pub(super) fn widen_reordering(&mut self, distance: u64) {
        let distance = u32::try_from(distance).unwrap_or(u32::MAX);
        self.reordering = self.reordering.max(distance.min(MOST_REORDERING));
        self.rack.reordered = true;
    }

    /// Larger reordering than usual was seen: windows grow by what arrives in any order (tcp_may_raise_cwnd).
    pub(super) fn expects_reordering(&self) -> bool {
        self.reordering > USUAL_REORDERING
    }

    /// So many segments arrived beyond a gap that it cannot be reordering as far as is known.
    pub(super) fn exceeds_reordering(&self, arrived: u64) -> bool {
        arrived >= u64::from(self.reordering)
    }

    /// A timeout although much had arrived: reordering was overestimated (tcp_enter_loss).
    pub(super) fn forget_reordering(&mut self) {
        self.reordering = self.reordering.min(USUAL_REORDERING);
    }

    /// A retransmission leaves, not as a probe.
    pub(in crate::mptcp) fn note_retransmission(&mut self, stamp: u32) {
        self.memory.stamp.get_or_insert(stamp);
        self.memory.unreported = Some(self.memory.unreported.unwrap_or(0) + 1);
    }

    /// `number` arrived twice, and may have been sent twice. It may be reordering that made it be sent again, unless it was a
    /// probe.
    pub(in crate::mptcp) fn count_duplicate(&mut self, number: u64, of_probe: bool) {
        self.rack.duplicate_seen |= self.rack.reordered && !of_probe;
        if self.memory.marker.is_some_and(|marker| number >= marker) {
            self.note_reported(1);
        }
    }

    /// So many duplicates of what may be retransmissions arrived.
    pub(super) fn note_reported(&mut self, count: u32) {
        if let (Some(_), Some(unreported)) = (self.memory.marker, &mut self.memory.unreported) {
            *unreported = unreported.saturating_sub(count);
        }
    }
}
