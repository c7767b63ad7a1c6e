//! Taking back a reduction that turns out to have been needless: everything retransmitted arrived twice (RFC 3708), or timestamps
//! tell that the original was acknowledged (Eifel, RFC 3522 and 4015), or something never retransmitted arrives after a
//! timeout (F-RTO, RFC 5682).

use super::scoreboard::State;
use super::{Report, Sender};
use crate::congestion::CongestionController;
use crate::core::TransmissionState;
use plait_sched::Scheduler;

impl<S: Scheduler> Sender<S> {
    /// The original was acknowledged, and not the first retransmission (tcp_packet_delayed).
    fn was_delayed(&self, index: usize, report: &Report) -> bool {
        let stamp = self.subflows[index].linux.memory.stamp;
        stamp.is_none_or(|stamp| self.echoes_earlier(report.echo, stamp))
    }

    /// tcp_may_undo.
    fn was_needless(&self, index: usize, report: &Report) -> bool {
        let memory = &self.subflows[index].linux.memory;
        memory.marker.is_some() && (memory.unreported == Some(0) || self.was_delayed(index, report))
    }

    /// tcp_any_retrans_done.
    pub(super) fn any_resent(&self, index: usize) -> bool {
        let flight = self.core.path(index).flight();
        let first = flight.get(flight.first());
        self.subflows[index].linux.resent > 0 || first.is_some_and(|sent| !sent.first_time())
    }

    /// tcp_undo_cwnd_reduction; `unmark`: what counts as lost is in flight after all.
    fn undo(&mut self, index: usize, unmark: bool) {
        let subflow = &mut self.subflows[index];
        let path = self.core.path_mut(index);
        if unmark {
            let mut restored = Vec::new();
            for number in path.flight().first()..path.flight().next() {
                let Some(sent) = path.flight_mut().get_mut(number) else { continue };
                sent.mark_lost(false);
                if sent.state() == TransmissionState::Lost {
                    restored.push((sent.order(number), number));
                    path.flight_mut().restore(number);
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
            path.control_mut().on_undone(window, threshold);
            subflow.ecn.withdraw();
        }
        subflow.reduction = None;
        path.set_reduced_window(None);
        subflow.linux.memory.marker = None;
        subflow.linux.rack.advanced = true;
        self.core.counters_mut().undone_reductions += 1;
    }

    /// Everything that was in flight when the repair began has arrived (tcp_try_undo_recovery).
    pub(super) fn end_recovery(&mut self, index: usize, report: &Report) {
        if self.was_needless(index, report) {
            self.undo(index, false);
        } else {
            self.subflows[index].linux.rack.note_recovered();
        }
        self.subflows[index].linux.state = State::Open;
    }

    /// Every retransmission was needless (tcp_try_undo_dsack).
    pub(super) fn undo_by_duplicates(&mut self, index: usize) -> bool {
        let memory = &self.subflows[index].linux.memory;
        if memory.marker.is_none() || memory.unreported != Some(0) {
            return false;
        }
        self.subflows[index].linux.rack.note_needless();
        self.undo(index, false);
        true
    }

    /// The acknowledgement advanced within a repair (tcp_try_undo_partial). True if nothing is to be marked or sent again
    /// now.
    pub(super) fn undo_partially(&mut self, index: usize, report: &Report) -> bool {
        if self.subflows[index].linux.memory.marker.is_none() || !self.was_delayed(index, report) {
            return false;
        }
        self.note_late(index, report.first_before);
        if self.subflows[index].linux.resent > 0 {
            return true;
        }
        if !self.any_resent(index) {
            self.subflows[index].linux.memory.stamp = None;
        }
        self.undo(index, true);
        self.keep_open(index);
        false
    }

    /// The timeout was needless (tcp_try_undo_loss); `by_original`: by F-RTO.
    pub(super) fn undo_timeout(&mut self, index: usize, report: &Report, by_original: bool) -> bool {
        if !by_original && !self.was_needless(index, report) {
            return false;
        }
        self.undo(index, true);
        self.core.counters_mut().spurious_timeouts += u64::from(by_original);
        self.subflows[index].linux.timeouts = 0;
        self.subflows[index].linux.state = State::Open;
        true
    }
}
