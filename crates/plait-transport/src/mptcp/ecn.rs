//! Explicit congestion notification (RFC 3168). Queues mark packets instead of dropping them. The
//! receiver echoes the mark until the sender reports that it has reduced its window.
//!
//! Both ends agree, since they have one configuration. A subflow whose SYN was not answered at once
//! goes without ECN (RFC 3168 §6.1.1.1; Linux: `tcp_ecn_clear_syn`). Only new data is sent as
//! capable (ECT(0)): not acknowledgements, and not retransmissions (§6.1.5). By the standards, a
//! mark reduces the window like a loss, once per window of data (§6.1.2). By Linux' rules, the
//! reduction is a state of its own, TCP_CA_CWR, in which the window shrinks in proportion
//! (`linux/recovery.rs`).

use super::ack_delay::AckDelay;
use super::subflow::Subflow;
use super::{Losses, Rules};
use crate::congestion::{CongestionEvent, Repairing};
use crate::core::PathSender;
use crate::packet::SegmentEcn;
use crate::packet::tcp::{Ack, TcpSegment};
use plait_sched::Time;

/// ECN state of a subflow's sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reacting {
    /// True if both ends agreed on ECN (TCP_ECN_OK).
    pub(super) agreed: bool,
    /// True if the window was reduced and the next new segment must report it (TCP_ECN_QUEUE_CWR).
    announces: bool,
    /// The first unsent number at the last reduction because of an echo. Used only by the standard
    /// rules.
    reduced_until: Option<u64>,
}

impl Reacting {
    pub(super) fn new(agreed: bool) -> Self {
        Self { agreed, ..Self::default() }
    }

    /// Records a reduction of the window for any reason: the next new segment reports it once.
    pub(super) fn note_reduced(&mut self) {
        self.announces = self.agreed;
    }

    /// Withdraws the report of a reduction that was undone before the report left
    /// (`tcp_ecn_withdraw_cwr`).
    pub(super) fn withdraw(&mut self) {
        self.announces = false;
    }

    /// Returns the ECN fields of a segment that leaves for the first time (`tcp_ecn_send`).
    pub(super) fn of_new(&mut self) -> SegmentEcn {
        let reduced = core::mem::take(&mut self.announces);
        SegmentEcn { capable: self.agreed, congested: false, reduced }
    }

    /// Whether an echo has already reduced the window of data that contains `first`, the oldest
    /// unacknowledged number.
    pub(super) fn has_reduced(&self, first: u64) -> bool {
        self.reduced_until.is_some_and(|until| first < until)
    }
}

impl PathSender<Subflow> {
    /// True if the receiver reports marked packets, and the subflow uses ECN.
    pub(super) fn hears_congestion(&self, ack: &Ack) -> bool {
        ack.congested && self.recovery.ecn.agreed
    }

    /// Reduces the window like a loss, unless it was already reduced in this window of data. For
    /// the standard rules.
    pub(super) fn react_to_echo(&mut self, now: Time) {
        let first = self.flight.first();
        let subflow = &mut self.recovery;
        // A reduction because of a mark cannot be undone.
        subflow.linux.memory.prior = None;
        // The first segment of the next window informs the receiver. Until it has arrived, echoes
        // belong to the last reduction.
        let told = subflow.ecn.reduced_until.is_none_or(|until| first > until);
        if subflow.repair != Repairing::Nothing || !told {
            return;
        }
        let outstanding = self.outstanding();
        self.note_congestion(now, CongestionEvent::Mark { outstanding });
        let subflow = &mut self.recovery;
        subflow.ecn.note_reduced();
        subflow.ecn.reduced_until = Some(self.flight.next());
    }
}

/// ECN state of a subflow's receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echoing {
    /// True if a mark came and the sender has not responded: every acknowledgement echoes it
    /// (TCP_ECN_DEMAND_CWR).
    pub(super) demands: bool,
    /// True if the sender's packets are capable (TCP_ECN_SEEN).
    seen: bool,
}

/// `tcp_enter_quickack_mode(sk, 2)`.
const QUICK_ACKS: u8 = 2;

impl Echoing {
    /// Records a segment (`tcp_ecn_accept_cwr` and `tcp_ecn_check_ce`). Linux acknowledges sooner
    /// where the sender's window may be small: after the report of a reduction, the first mark, and
    /// a probable retransmission.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note(&mut self, segment: &TcpSegment, rules: &Rules, delay: &mut AckDelay) {
        let SegmentEcn { capable, congested, reduced } = segment.ecn;
        let hurries = rules.losses == Losses::ByTime;
        if reduced {
            self.demands = false;
            delay.quick = delay.quick.max(u8::from(hurries));
        }
        if hurries && (congested && !self.demands || !capable && self.seen) {
            rules.hurry_for(delay, QUICK_ACKS);
        }
        self.demands |= congested;
        self.seen |= capable;
    }
}
