//! The single timer of a subflow. It serves the earliest of three events: detecting more losses,
//! probing the tail, or the retransmission timeout. The kind of the pending timer matters: only
//! after the first two does the timeout count from the sending of the oldest segment.

use super::scoreboard::State;
use super::{Report, Sender};
use crate::core::{NEVER, PathSender, Transmission};
use crate::mptcp::subflow::{Probe, Subflow};
use crate::mptcp::wheel;
use plait_sched::{Duration, Scheduler, Time};

/// Extra delay of timers that wait for acknowledgements (TCP_TIMEOUT_MIN): two ticks of a 1 kHz
/// clock.
const SLACK: Duration = Duration::from_millis(2);

/// Delay of a tail probe while the round trip is unknown (TCP_TIMEOUT_INIT).
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_secs(1);

/// Event that a subflow's timer waits for.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The retransmission timeout.
    Timeout,
    /// A tail probe.
    Probe,
    /// Detection of more losses.
    Loss,
}

impl<S: Scheduler> Sender<S> {
    /// Handles the timer for losses (tcp_rack_reo_timeout).
    pub(in crate::mptcp) fn loss_timer_ran_out(&mut self, now: Time, index: usize) {
        let losses = self.core.paths[index].look_for_losses(now);
        if losses > 0 {
            self.core.tell_lost(index, losses);
        }
        let path = &mut self.core.paths[index];
        path.rearm_timeout(now);
        path.show_state();
    }

    /// Handles the timer for a tail probe (tcp_send_loss_probe).
    pub(in crate::mptcp) fn probe_timer_ran_out(&mut self, now: Time, index: usize) {
        let unassigned = !self.core.paths[index].recovery.multipath && self.has_unassigned_data();
        if self.core.paths[index].probe_as_linux(now, unassigned) {
            self.core.note_opportunity();
        }
    }
}

impl PathSender<Subflow> {
    /// Sets the timer to `due`, and replaces any pending one. `due` is limited to the longest
    /// timeout from now (`TCP_RTO_MAX` as `max_when` of inet_csk_reset_xmit_timer), because a
    /// probe's two round trips may be longer. The timer expires at the end of its bucket of the
    /// wheel.
    #[inline]
    fn start_timer(&mut self, now: Time, timer: Timer, due: Time) {
        let due = due.min(now.saturating_add(self.rtt.config().max));
        let wheel::Pending { expires, runs_out } = wheel::set(now, due);
        self.stop_timers();
        let subflow = &mut self.recovery;
        subflow.linux.due = expires;
        match timer {
            Timer::Timeout => self.retransmission_timer = runs_out,
            Timer::Probe => subflow.probe_timer = runs_out,
            Timer::Loss => subflow.loss_timer = runs_out,
        }
    }

    /// Stops all timers.
    fn stop_timers(&mut self) {
        self.retransmission_timer = NEVER;
        let subflow = &mut self.recovery;
        (subflow.probe_timer, subflow.loss_timer, subflow.linux.due) = (NEVER, NEVER, NEVER);
    }

    /// Returns the time of the timeout, counted from the sending of the oldest segment
    /// (tcp_rto_delta_us).
    fn timeout_of_oldest(&self) -> Option<Time> {
        let oldest = self.flight.get(self.flight.first());
        oldest.map(|sent| sent.sent_at.saturating_add(self.rtt.rto()))
    }

    /// Sets the timer for `due`, when more overtaken segments may be lost.
    pub(super) fn set_loss_timer(&mut self, now: Time, due: Time) {
        let timeout = now.saturating_add(self.rtt.rto());
        self.start_timer(now, Timer::Loss, due.saturating_add(SLACK).min(timeout));
    }

    /// Sets the timer for a probe, or else for the timeout (tcp_set_xmit_timer).
    pub(super) fn rearm(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
            self.rearm_timeout(now);
        }
    }

    /// Sets the timer for the retransmission timeout (tcp_rearm_rto).
    fn rearm_timeout(&mut self, now: Time) {
        let Some(of_oldest) = self.timeout_of_oldest() else {
            self.stop_timers();
            return;
        };
        let subflow = &self.recovery;
        let other_pending = subflow.loss_timer < NEVER || subflow.probe_timer < NEVER;
        let from_now = now.saturating_add(self.rtt.rto());
        let due = if other_pending { of_oldest.max(now) } else { from_now };
        self.start_timer(now, Timer::Timeout, due);
    }

    /// Schedules a probe of the tail after two round trips (tcp_schedule_loss_probe). `advanced` is
    /// true if the timeout would start now.
    fn schedule_probe(&mut self, now: Time, advanced: bool) -> bool {
        let Some(of_oldest) = self.timeout_of_oldest() else { return false };
        if !matches!(self.recovery.linux.state, State::Open | State::Reducing) {
            return false;
        }
        let lone = self.flight.next() - self.flight.first() == 1;
        let patience = match self.rtt.smoothed() {
            Duration::ZERO => UNKNOWN_ROUND_TRIP,
            // The acknowledgement of a single segment may be delayed.
            srtt if lone => srtt * 2 + self.rtt.config().min,
            srtt => srtt * 2 + SLACK,
        };
        let timeout = if advanced { now.saturating_add(self.rtt.rto()) } else { of_oldest };
        let due = now.saturating_add(patience);
        let due = if timeout > now { due.min(timeout) } else { due };
        self.start_timer(now, Timer::Probe, due);
        true
    }

    /// Records the first transmission of a segment on the subflow, as `number`
    /// (tcp_event_new_data_sent).
    pub(in crate::mptcp) fn note_sent_as_linux(&mut self, now: Time, number: u64) {
        let alone = self.flight.first() == number;
        let next = self.flight.next();
        let subflow = &mut self.recovery;
        subflow.linux.order.append(number);
        subflow.linux.sent_new = true;
        if subflow.probe_due {
            subflow.probe_due = false;
            subflow.linux.probe = Some(Probe { end: next, repeated: false });
            self.probe_room = 0;
            self.touch();
            self.stop_timers();
            self.rearm_timeout(now);
            return;
        }
        if subflow.loss_timer < NEVER {
            self.retransmission_timer = NEVER;
            return;
        }
        let restarts = alone || subflow.probe_timer < NEVER;
        if !self.schedule_probe(now, false) && restarts {
            self.rearm_timeout(now);
        }
    }

    /// Records a retransmission of lost data (tcp_retransmit_skb, and the end of
    /// tcp_xmit_retransmit_queue).
    pub(in crate::mptcp) fn note_resent_as_linux(&mut self, now: Time, number: u64) {
        let stamp = self.ticks(now);
        let oldest = self.flight.first() == number;
        if let Some(sent) = self.flight.get_mut(number) {
            sent.mark_resent(true);
        }
        let timeout = now.saturating_add(self.rtt.rto());
        let subflow = &mut self.recovery;
        subflow.linux.order.append(number);
        subflow.linux.retransmissions += 1;
        subflow.linux.resent += 1;
        subflow.linux.note_retransmission(stamp);
        if subflow.loss_timer < NEVER {
            self.retransmission_timer = NEVER;
        } else if oldest {
            self.start_timer(now, Timer::Timeout, timeout);
        } else if subflow.probe_timer < NEVER {
            self.retransmission_timer = NEVER;
        }
    }

    /// Detects losses when the timer expires (tcp_rack_reo_timeout). Returns the number of losses.
    fn look_for_losses(&mut self, now: Time) -> u32 {
        let mut report = Report::default();
        self.detect_losses(now, &mut report);
        if report.losses > 0 && self.recovery.linux.state != State::Recovery {
            self.enter_recovery(now, false);
            self.reduce_further(1, false);
        }
        self.lost += u64::from(report.losses);
        report.losses
    }

    /// Handles a tail without acknowledgement (tcp_send_loss_probe). Returns true if new data may
    /// leave as a probe. `unassigned` is true if the connection has data for its only subflow.
    fn probe_as_linux(&mut self, now: Time, unassigned: bool) -> bool {
        if self.recovery.linux.probe.is_some() {
            self.rearm_timeout(now);
        } else {
            self.recovery.probe_timer = NEVER;
            self.recovery.probe_due = true;
            // The packet must fit into the receiver's window.
            if self.recovery.multipath && self.admits_committed() || !self.recovery.multipath && unassigned {
                // New data serves as a probe too, and may exceed the congestion window.
                self.probe_room = self.used() + self.segment;
                self.touch();
                return true;
            }
        }
        false
    }

    /// Retransmits the last segment as a probe. It is not counted among the retransmissions that
    /// judge a reduction, and it stays in flight once.
    pub(in crate::mptcp) fn repeat_last(&mut self, now: Time) -> Option<(u64, Transmission)> {
        self.probe_room = 0;
        let next = self.flight.next();
        let number = next.checked_sub(1)?;
        let order = self.sent;
        let sent = self.flight.repeat(now, order, number);
        let subflow = &mut self.recovery;
        subflow.probe_due = false;
        let Some(sent) = sent else {
            self.rearm_timeout(now);
            return None;
        };
        subflow.linux.order.append(number);
        subflow.linux.retransmissions += 1;
        subflow.linux.probe = Some(Probe { end: next, repeated: true });
        self.counters.tail_probes += 1;
        self.stop_timers();
        self.rearm_timeout(now);
        Some((number, sent))
    }

    /// Judges the tail probe by an acknowledgement (tcp_process_tlp_ack).
    pub(super) fn judge_linux_probe(&mut self, now: Time, cumulative: u64, report: &Report) {
        let Some(probe) = self.recovery.linux.probe else { return };
        if cumulative < probe.end {
            return;
        }
        if !probe.repeated || report.duplicate_of_probe {
            self.recovery.linux.probe = None;
        } else if cumulative > probe.end {
            // The probe itself filled the hole: the original had been lost. No repair is left to
            // do.
            self.reduce_as_linux(now);
            self.keep_open();
        } else if !report.progress && !report.selective && report.duplicates == 0 {
            self.recovery.linux.probe = None;
        }
    }

    /// Handles the retransmission timeout (tcp_retransmit_timer).
    pub(in crate::mptcp) fn time_out_as_linux(&mut self, now: Time) {
        self.counters.timeouts += 1;
        self.enter_loss(now);
        self.probe_room = 0;
        self.rtt.back_off();
        let timeout = now.saturating_add(self.rtt.rto());
        self.recovery.probe_due = false;
        self.start_timer(now, Timer::Timeout, timeout);
        self.show_state();
        self.note_timeout();
    }
}
