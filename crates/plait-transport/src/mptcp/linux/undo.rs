//! Taking back a reduction that turns out to have been needless: everything retransmitted arrived twice (RFC 3708), or timestamps
//! tell that the original was acknowledged (Eifel, RFC 3522 and 4015), or something never retransmitted arrives after a
//! timeout (F-RTO, RFC 5682).

use super::Report;
use super::scoreboard::State;
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::{PathSender, TransmissionState};
use crate::mptcp::subflow::Subflow;
use plait_sched::Time;

impl PathSender<Subflow> {
    /// The original was acknowledged, and not the first retransmission (tcp_packet_delayed).
    fn was_delayed(&self, report: &Report) -> bool {
        let stamp = self.recovery.linux.memory.stamp;
        stamp.is_none_or(|stamp| self.echoes_earlier(report.echo, stamp))
    }

    /// tcp_may_undo.
    fn was_needless(&self, report: &Report) -> bool {
        let memory = &self.recovery.linux.memory;
        memory.marker.is_some() && (memory.unreported == Some(0) || self.was_delayed(report))
    }

    /// tcp_any_retrans_done.
    pub(super) fn any_resent(&self) -> bool {
        let flight = &self.flight;
        let first = flight.get(flight.first());
        self.recovery.linux.resent > 0 || first.is_some_and(|sent| !sent.first_time())
    }

    /// tcp_undo_cwnd_reduction; `unmark`: what counts as lost is in flight after all.
    fn undo(&mut self, now: Time, unmark: bool) {
        let subflow = &mut self.recovery;
        if unmark {
            let mut restored = Vec::new();
            for number in self.flight.first()..self.flight.next() {
                let Some(sent) = self.flight.get_mut(number) else { continue };
                sent.mark_lost(false);
                if sent.state() == TransmissionState::Lost {
                    restored.push((sent.order(number), number));
                    self.flight.restore(number);
                }
            }
            // What RACK took for lost, Linux does not look at again before a timeout; what a timeout did, it does.
            if subflow.linux.state == State::Loss {
                restored.sort_unstable();
                restored.iter().rev().for_each(|&(_, number)| subflow.linux.order.prepend(number));
            }
            subflow.linux.lost = 0;
            subflow.lost.clear();
        }
        if let Some((window, threshold)) = subflow.linux.memory.prior {
            self.control.on_event(now, CongestionEvent::Undone { window, threshold });
            subflow.ecn.withdraw();
        }
        subflow.reduction = None;
        self.reduced_window = None;
        subflow.linux.memory.marker = None;
        subflow.linux.rack.advanced = true;
        self.counters.undone_reductions += 1;
    }

    /// Everything that was in flight when the repair began has arrived (tcp_try_undo_recovery).
    pub(super) fn end_recovery(&mut self, now: Time, report: &Report) {
        if self.was_needless(report) {
            self.undo(now, false);
        } else {
            self.recovery.linux.rack.note_recovered();
        }
        self.recovery.linux.state = State::Open;
    }

    /// Every retransmission was needless (tcp_try_undo_dsack).
    pub(super) fn undo_by_duplicates(&mut self, now: Time) -> bool {
        let memory = &self.recovery.linux.memory;
        if memory.marker.is_none() || memory.unreported != Some(0) {
            return false;
        }
        self.recovery.linux.rack.note_needless();
        self.undo(now, false);
        true
    }

    /// The acknowledgement advanced within a repair (tcp_try_undo_partial). True if nothing is to be marked or sent again
    /// now.
    pub(super) fn undo_partially(&mut self, now: Time, report: &Report) -> bool {
        if self.recovery.linux.memory.marker.is_none() || !self.was_delayed(report) {
            return false;
        }
        self.note_reordering(report.first_before);
        if self.recovery.linux.resent > 0 {
            return true;
        }
        if !self.any_resent() {
            self.recovery.linux.memory.stamp = None;
        }
        self.undo(now, true);
        self.keep_open();
        false
    }

    /// The timeout was needless (tcp_try_undo_loss); `by_original`: by F-RTO.
    pub(super) fn undo_timeout(&mut self, now: Time, report: &Report, by_original: bool) -> bool {
        if !by_original && !self.was_needless(report) {
            return false;
        }
        self.undo(now, true);
        self.counters.spurious_timeouts += u64::from(by_original);
        self.recovery.linux.timeouts = 0;
        self.recovery.linux.state = State::Open;
        true
    }
}
