//! A subflow's state of the data in flight, and of recoveries.

use super::order::SendOrder;
use super::rack::Rack;
use crate::congestion::Repairing;
use crate::core::NEVER;
use crate::mptcp::subflow::Probe;
use plait_sched::Time;

/// Number of segments by which a segment may be late before this counts as reordering
/// (tcp_reordering).
pub(super) const USUAL_REORDERING: u32 = 3;

/// Upper limit of the assumed reordering (tcp_max_reordering).
const MOST_REORDERING: u32 = 300;

/// The congestion state (enum tcp_ca_state).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum State {
    /// No segment is missing.
    #[default]
    Open,
    /// A segment is missing but not lost yet, or a retransmission is not acknowledged yet.
    Disorder,
    /// The receiver reported marked packets, and the window shrinks.
    Reducing,
    /// Losses are being repaired, and the window shrinks.
    Recovery,
    /// The retransmission timer ran out.
    Loss,
}

/// State for undoing a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::mptcp) struct Memory {
    /// The first unacknowledged number when the window was reduced; `None` if there is nothing to
    /// undo.
    pub(in crate::mptcp) marker: Option<u64>,
    /// Number of retransmissions that no duplicate has reported yet; `None` before the first
    /// retransmission.
    pub(in crate::mptcp) unreported: Option<u32>,
    /// The timestamp of the first retransmission.
    pub(in crate::mptcp) stamp: Option<u32>,
    /// Window and threshold before the reduction, in bytes; `None` if it may not be undone.
    pub(in crate::mptcp) prior: Option<(u64, u64)>,
}

/// Loss-recovery state of a subflow, as Linux keeps it.
#[derive(Clone, Debug)]
pub(in crate::mptcp) struct Scoreboard {
    /// Time at which the pending timer is due (`icsk_timeout`); it expires later.
    pub(in crate::mptcp) due: Time,
    pub(super) state: State,
    pub(super) order: SendOrder,
    pub(in crate::mptcp) rack: Rack,
    /// The first unsent number when the state began.
    pub(super) high: u64,
    /// Number of segments marked as lost, including those retransmitted since.
    pub(super) lost: u32,
    /// Number of retransmissions in flight.
    pub(super) resent: u32,
    /// The first number beyond all arrived segments; meaningful only while a segment is missing.
    pub(super) highest: u64,
    pub(in crate::mptcp) memory: Memory,
    /// Largest distance in segments by which a segment arrived late.
    reordering: u32,
    pub(super) probe: Option<Probe>,
    /// True while F-RTO examines whether a timeout was needless.
    pub(super) examines_timeout: bool,
    /// True if no retransmission leaves before the next acknowledgement.
    pub(in crate::mptcp) withheld: bool,
    /// True if new data leaves before retransmissions, to see whether the timeout was needless.
    pub(in crate::mptcp) prefers_new: bool,
    /// Number of reported duplicates. If it exceeds `retransmissions`, the excess is not caused by
    /// this end.
    pub(super) duplicates: u64,
    pub(super) retransmissions: u64,
    /// Number of timeouts since the cumulative acknowledgement advanced.
    pub(super) timeouts: u32,
    /// True if new data was sent since the last report of window use to the controller.
    pub(super) sent_new: bool,
}

impl Scoreboard {
    /// Returns the kind of recovery.
    pub(super) fn repairing(&self) -> Repairing {
        match self.state {
            State::Open | State::Disorder | State::Reducing => Repairing::Nothing,
            State::Recovery => Repairing::Losses,
            State::Loss => Repairing::Timeout,
        }
    }

    /// True during loss recovery, or while the window shrinks because of a mark (TCP_CA_CWR and
    /// above).
    pub(in crate::mptcp) fn is_repairing(&self) -> bool {
        self.state >= State::Reducing
    }

    pub(in crate::mptcp) fn new() -> Self {
        Self {
            due: NEVER,
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

    /// Records that a segment sent once arrived `distance` segments late
    /// (tcp_check_sack_reordering).
    pub(super) fn widen_reordering(&mut self, distance: u64) {
        let distance = u32::try_from(distance).unwrap_or(u32::MAX);
        self.reordering = self.reordering.max(distance.min(MOST_REORDERING));
        self.rack.reordered = true;
    }

    /// True if reordering was larger than usual: then windows grow with arrivals in any order
    /// (tcp_may_raise_cwnd).
    pub(super) fn expects_reordering(&self) -> bool {
        self.reordering > USUAL_REORDERING
    }

    /// True if more segments arrived beyond a gap than the known reordering explains.
    pub(super) fn exceeds_reordering(&self, arrived: u64) -> bool {
        arrived >= u64::from(self.reordering)
    }

    /// Lowers the assumed reordering to the usual value, after a timeout although many segments had
    /// arrived (tcp_enter_loss).
    pub(super) fn forget_reordering(&mut self) {
        self.reordering = self.reordering.min(USUAL_REORDERING);
    }

    /// Records a retransmission that is not a probe.
    pub(in crate::mptcp) fn note_retransmission(&mut self, stamp: u32) {
        self.memory.stamp.get_or_insert(stamp);
        self.memory.unreported = Some(self.memory.unreported.unwrap_or(0) + 1);
    }

    /// Counts a duplicate of `number`, which may have been retransmitted. Reordering may have
    /// caused the retransmission, unless it was a probe.
    pub(in crate::mptcp) fn count_duplicate(&mut self, number: u64, of_probe: bool) {
        self.rack.duplicate_seen |= self.rack.reordered && !of_probe;
        if self.memory.marker.is_some_and(|marker| number >= marker) {
            self.note_reported(1);
        }
    }

    /// Counts reported duplicates of possible retransmissions.
    pub(super) fn note_reported(&mut self, count: u32) {
        if let (Some(_), Some(unreported)) = (self.memory.marker, &mut self.memory.unreported) {
            *unreported = unreported.saturating_sub(count);
        }
    }
}
