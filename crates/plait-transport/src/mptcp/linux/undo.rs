//! Undoes a reduction that turns out to be needless. The evidence is one of three: all
//! retransmissions arrived twice (RFC 3708); timestamps show that the original was acknowledged
//! (Eifel, RFC 3522 and 4015); or a segment that was never retransmitted arrives after a timeout
//! (F-RTO, RFC 5682).

use super::Report;
use super::scoreboard::State;
use crate::congestion::CongestionEvent;
use crate::core::{PathSender, TransmissionState};
use crate::mptcp::subflow::Subflow;
use plait_sched::Time;

impl PathSender<Subflow> {
    /// True if the original was acknowledged, not the first retransmission (tcp_packet_delayed).
    fn was_delayed(&self, report: &Report) -> bool {
        let stamp = self.recovery.linux.memory.stamp;
        stamp.is_none_or(|stamp| self.echoes_earlier(report.echo, stamp))
    }

    /// True if the reduction was needless (tcp_may_undo).
    fn was_needless(&self, report: &Report) -> bool {
        let memory = &self.recovery.linux.memory;
        memory.marker.is_some() && (memory.unreported == Some(0) || self.was_delayed(report))
    }

    /// True if a retransmission is in flight, or the first unacknowledged segment was retransmitted
    /// (tcp_any_retrans_done).
    pub(super) fn any_resent(&self) -> bool {
        let flight = &self.flight;
        let first = flight.get(flight.first());
        self.recovery.linux.resent > 0 || first.is_some_and(|sent| !sent.first_time())
    }

    /// Restores the window (tcp_undo_cwnd_reduction). If `unmark` is true, segments marked as lost
    /// are in flight again.
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
            // After an undo, Linux does not examine losses found by RACK again before a timeout. It
            // does examine losses marked by a timeout.
            if subflow.linux.state == State::Loss {
                restored.sort_unstable();
                restored.iter().rev().for_each(|&(_, number)| subflow.linux.order.prepend(number));
            }
            subflow.linux.lost = 0;
            subflow.lost.clear();
        }
        let prior = subflow.linux.memory.prior;
        if prior.is_some() {
            subflow.ecn.withdraw();
        }
        subflow.reduction = None;
        subflow.linux.memory.marker = None;
        subflow.linux.rack.advanced = true;
        self.reduced_window = None;
        self.counters.undone_reductions += 1;
        if let Some((window, threshold)) = prior {
            self.note_congestion(now, CongestionEvent::Undone { window, threshold });
        }
    }

    /// Ends a recovery: all data in flight at its beginning has arrived (tcp_try_undo_recovery).
    pub(super) fn end_recovery(&mut self, now: Time, report: &Report) {
        if self.was_needless(report) {
            self.undo(now, false);
        } else {
            self.recovery.linux.rack.note_recovered();
        }
        self.recovery.linux.state = State::Open;
    }

    /// Undoes the reduction if every retransmission was needless (tcp_try_undo_dsack).
    pub(super) fn undo_by_duplicates(&mut self, now: Time) -> bool {
        let memory = &self.recovery.linux.memory;
        if memory.marker.is_none() || memory.unreported != Some(0) {
            return false;
        }
        self.recovery.linux.rack.note_needless();
        self.undo(now, false);
        true
    }

    /// Handles a cumulative acknowledgement that advanced during a recovery (tcp_try_undo_partial).
    /// Returns true if no segment may be marked lost or retransmitted now.
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

    /// Undoes the reduction if the timeout was needless (tcp_try_undo_loss). `by_original` is true
    /// if F-RTO showed this.
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
