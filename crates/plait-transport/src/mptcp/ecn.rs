//! Explicit congestion notification (RFC 3168): queues mark packets instead of dropping them, the receiver echoes that until the sender
//! says that it has reduced its window.
//!
//! Both ends agree, since they have one configuration; a subflow whose SYN was not answered at once does without (RFC 3168 §6.1.1.1, as
//! Linux: `tcp_ecn_clear_syn`). New data is sent as capable (ECT(0)), nothing else: neither acknowledgements nor, as §6.1.5 says, what is sent
//! again. By the standards the window is reduced as by a loss, once per window of data (§6.1.2); by Linux' rules that is a state of
//! its own, TCP_CA_CWR, in which the window shrinks in proportion (`linux/recovery.rs`).

use super::ack_delay::AckDelay;
use super::subflow::Subflow;
use super::{Losses, Rules};
use crate::congestion::{CongestionController, CongestionEvent, Repairing};
use crate::core::PathSender;
use crate::packet::{Ack, SegmentEcn, TcpSegment};
use plait_sched::Time;

/// What a subflow's sender knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reacting {
    /// Both ends agreed on it (TCP_ECN_OK).
    pub(super) agreed: bool,
    /// The window was reduced, and the next new segment tells (TCP_ECN_QUEUE_CWR).
    announces: bool,
    /// The first number that was unsent at the last reduction because of an echo. Only by the standards.
    reduced_until: Option<u64>,
}

impl Reacting {
    pub(super) fn new(agreed: bool) -> Self {
        Self { agreed, ..Self::default() }
    }

    /// The window is reduced, for whatever reason: that is told once.
    pub(super) fn note_reduced(&mut self) {
        self.announces = self.agreed;
    }

    /// The reduction was taken back before it was told (`tcp_ecn_withdraw_cwr`).
    pub(super) fn withdraw(&mut self) {
        self.announces = false;
    }

    /// What a segment says that leaves for the first time (`tcp_ecn_send`).
    pub(super) fn of_new(&mut self) -> SegmentEcn {
        let reduced = core::mem::take(&mut self.announces);
        SegmentEcn { capable: self.agreed, congested: false, reduced }
    }

    /// Whether the window that `first` is in, the oldest unacknowledged number, was reduced because of an echo.
    pub(super) fn has_reduced(&self, first: u64) -> bool {
        self.reduced_until.is_some_and(|until| first < until)
    }
}

impl PathSender<Subflow> {
    /// The receiver says that packets were marked, and the subflow understands that.
    pub(super) fn hears_congestion(&self, ack: &Ack) -> bool {
        ack.congested && self.recovery.ecn.agreed
    }

    /// By the standards: the window is reduced as by a loss, unless it was in this window of data.
    pub(super) fn react_to_echo(&mut self, now: Time) {
        let first = self.flight.first();
        let subflow = &mut self.recovery;
        // What the mark proves cannot be taken back.
        subflow.linux.memory.prior = None;
        // The first segment of the next window tells the receiver: until it has arrived, echoes are of the last one.
        let told = subflow.ecn.reduced_until.is_none_or(|until| first > until);
        if subflow.repair != Repairing::Nothing || !told {
            return;
        }
        let outstanding = self.outstanding();
        self.control.on_event(now, CongestionEvent::Mark { outstanding });
        let subflow = &mut self.recovery;
        subflow.ecn.note_reduced();
        subflow.ecn.reduced_until = Some(self.flight.next());
        self.touch();
    }
}

/// What a subflow's receiver knows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echoing {
    /// A mark came, and no answer to it: every acknowledgement tells (TCP_ECN_DEMAND_CWR).
    pub(super) demands: bool,
    /// The sender's packets are capable (TCP_ECN_SEEN).
    seen: bool,
}

/// `tcp_enter_quickack_mode(sk, 2)`.
const QUICK_ACKS: u8 = 2;

impl Echoing {
    /// A segment came (`tcp_ecn_accept_cwr` and `tcp_ecn_check_ce`). Linux hurries to acknowledge where the sender's window may be small: what
    /// tells of a reduction, the first mark, and what was probably sent again.
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
