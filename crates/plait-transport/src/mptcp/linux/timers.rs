//! One timer per subflow, for whatever comes first: more losses to be found, a probe of the tail, or the retransmission
//! timeout. Which one is pending matters: only after the first two does the timeout count from the oldest segment's sending.

use super::scoreboard::State;
use super::{Report, Sender};
use crate::core::Transmission;
use crate::mptcp::subflow::Probe;
use crate::mptcp::wheel;
use plait_sched::{Duration, Scheduler, Time};

/// How much later than due the timers look that wait for acknowledgements (TCP_TIMEOUT_MIN): two ticks of a clock of a
/// kilohertz.
const SLACK: Duration = Duration::from_millis(2);

/// When a tail is probed whose round trip is not known (TCP_TIMEOUT_INIT).
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_secs(1);

/// What a subflow's timer waits for.
#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The retransmission timeout.
    Timeout,
    /// A probe of the tail.
    Probe,
    /// More losses to be found.
    Loss,
}

impl<S: Scheduler> Sender<S> {
    /// The timer is set for `due`, whatever it was set for. It runs out as the wheel has it, and never later than the longest
    /// timeout (`TCP_RTO_MAX` as `max_when` of inet_csk_reset_xmit_timer): a probe's two round trips may be longer.
    #[inline]
    fn start_timer(&mut self, now: Time, index: usize, timer: Timer, due: Time) {
        let due = due.min(now.saturating_add(self.config.connection.rto.max));
        let wheel::Pending { expires, runs_out } = wheel::set(now, due);
        self.stop_timers(index);
        let subflow = &mut self.subflows[index];
        subflow.linux.due = Some(expires);
        match timer {
            Timer::Timeout => self.core.path_mut(index).set_timer(Some(runs_out)),
            Timer::Probe => subflow.probe_timer = Some(runs_out),
            Timer::Loss => subflow.loss_timer = Some(runs_out),
        }
    }

    /// Nothing is waited for.
    fn stop_timers(&mut self, index: usize) {
        self.core.path_mut(index).stop_timer();
        let subflow = &mut self.subflows[index];
        (subflow.probe_timer, subflow.loss_timer, subflow.linux.due) = (None, None, None);
    }

    /// When the timeout is due, counted from the sending of the oldest segment (tcp_rto_delta_us).
    fn timeout_of_oldest(&self, index: usize) -> Option<Time> {
        let path = self.core.path(index);
        let oldest = path.flight().get(path.flight().first());
        oldest.map(|sent| sent.sent_at.saturating_add(path.rtt().rto()))
    }

    /// More that was overtaken may be lost at `due`.
    pub(super) fn set_loss_timer(&mut self, now: Time, index: usize, due: Time) {
        let timeout = now.saturating_add(self.core.path(index).rtt().rto());
        self.start_timer(now, index, Timer::Loss, due.saturating_add(SLACK).min(timeout));
    }

    /// tcp_set_xmit_timer.
    pub(super) fn set_timer(&mut self, now: Time, index: usize) {
        if !self.schedule_probe(now, index, true) {
            self.rearm_timeout(now, index);
        }
    }

    /// tcp_rearm_rto.
    fn rearm_timeout(&mut self, now: Time, index: usize) {
        let Some(of_oldest) = self.timeout_of_oldest(index) else {
            self.stop_timers(index);
            return;
        };
        let subflow = &self.subflows[index];
        let other_pending = subflow.loss_timer.is_some() || subflow.probe_timer.is_some();
        let from_now = now.saturating_add(self.core.path(index).rtt().rto());
        let due = if other_pending { of_oldest.max(now) } else { from_now };
        self.start_timer(now, index, Timer::Timeout, due);
    }

    /// A tail that nothing follows is probed after two round trips (tcp_schedule_loss_probe); `advanced`: the timeout would
    /// start now.
    fn schedule_probe(&mut self, now: Time, index: usize, advanced: bool) -> bool {
        let path = self.core.path(index);
        let Some(of_oldest) = self.timeout_of_oldest(index) else { return false };
        if !matches!(self.subflows[index].linux.state, State::Open | State::Reducing) {
            return false;
        }
        let lone = path.flight().next() - path.flight().first() == 1;
        let patience = match path.rtt().smoothed() {
            Duration::ZERO => UNKNOWN_ROUND_TRIP,
            // Its acknowledgement may be delayed.
            srtt if lone => srtt * 2 + self.config.connection.rto.min,
            srtt => srtt * 2 + SLACK,
        };
        let timeout = if advanced { now.saturating_add(path.rtt().rto()) } else { of_oldest };
        let due = now.saturating_add(patience);
        let due = if timeout > now { due.min(timeout) } else { due };
        self.start_timer(now, index, Timer::Probe, due);
        true
    }

    /// Something left for the first time on the subflow, as `number` (tcp_event_new_data_sent).
    pub(in crate::mptcp) fn note_sent_as_linux(&mut self, now: Time, index: usize, number: u64) {
        let path = self.core.path(index);
        let alone = path.flight().first() == number;
        let next = path.flight().next();
        let subflow = &mut self.subflows[index];
        subflow.linux.order.append(number);
        subflow.linux.sent_new = true;
        if subflow.probe_due {
            subflow.probe_due = false;
            subflow.linux.probe = Some(Probe { end: next, repeated: false });
            self.core.path_mut(index).set_probe_room(0);
            self.core.touch(index);
            self.stop_timers(index);
            self.rearm_timeout(now, index);
            return;
        }
        if subflow.loss_timer.is_some() {
            self.core.path_mut(index).stop_timer();
            return;
        }
        let restarts = alone || subflow.probe_timer.is_some();
        if !self.schedule_probe(now, index, false) && restarts {
            self.rearm_timeout(now, index);
        }
    }

    /// What is lost was sent again (tcp_retransmit_skb, and the end of tcp_xmit_retransmit_queue).
    pub(in crate::mptcp) fn note_resent_as_linux(&mut self, now: Time, index: usize, number: u64) {
        let stamp = self.ticks(now);
        let path = self.core.path_mut(index);
        let oldest = path.flight().first() == number;
        if let Some(sent) = path.flight_mut().get_mut(number) {
            sent.mark_resent(true);
        }
        let timeout = now.saturating_add(path.rtt().rto());
        let subflow = &mut self.subflows[index];
        subflow.linux.order.append(number);
        subflow.linux.retransmissions += 1;
        subflow.linux.resent += 1;
        subflow.linux.note_retransmission(stamp);
        if subflow.loss_timer.is_some() {
            self.core.path_mut(index).stop_timer();
        } else if oldest {
            self.start_timer(now, index, Timer::Timeout, timeout);
        } else if subflow.probe_timer.is_some() {
            self.core.path_mut(index).stop_timer();
        }
    }

    /// More may be lost by now (tcp_rack_reo_timeout).
    pub(in crate::mptcp) fn look_for_losses(&mut self, now: Time, index: usize) {
        let mut report = Report::default();
        self.detect_losses(now, index, &mut report);
        if report.losses > 0 {
            if self.subflows[index].linux.state != State::Recovery {
                self.enter_recovery(now, index, false);
                self.reduce_further(index, 1, false);
            }
            self.tell_lost(index, report.losses);
        }
        self.rearm_timeout(now, index);
        self.show_state(index);
    }

    /// The tail got no acknowledgement (tcp_send_loss_probe).
    pub(in crate::mptcp) fn probe_as_linux(&mut self, now: Time, index: usize) {
        if self.subflows[index].linux.probe.is_some() {
            self.rearm_timeout(now, index);
        } else {
            self.subflows[index].probe_timer = None;
            self.subflows[index].probe_due = true;
            if self.has_probing_data(index) {
                // New data probes as well, and may leave whatever the congestion window says.
                let path = self.core.path_mut(index);
                path.set_probe_room(path.used() + self.config.connection.counted_segment());
                self.core.touch(index);
                self.core.note_opportunity();
            }
        }
    }

    /// Sends the last segment once more, without counting it as a retransmission to be judged by; it stays in flight once.
    pub(in crate::mptcp) fn repeat_last(&mut self, now: Time, index: usize) -> Option<(u64, Transmission)> {
        let path = self.core.path_mut(index);
        path.set_probe_room(0);
        let next = path.flight().next();
        let number = next.checked_sub(1)?;
        let order = path.sent();
        let sent = path.flight_mut().repeat(now, order, number);
        let subflow = &mut self.subflows[index];
        subflow.probe_due = false;
        let Some(sent) = sent else {
            self.rearm_timeout(now, index);
            return None;
        };
        subflow.linux.order.append(number);
        subflow.linux.retransmissions += 1;
        subflow.linux.probe = Some(Probe { end: next, repeated: true });
        self.core.counters_mut().tail_probes += 1;
        self.stop_timers(index);
        self.rearm_timeout(now, index);
        Some((number, sent))
    }

    /// What an acknowledgement says about the probe of the tail (tcp_process_tlp_ack).
    pub(super) fn judge_linux_probe(&mut self, now: Time, index: usize, cumulative: u64, report: &Report) {
        let Some(probe) = self.subflows[index].linux.probe else { return };
        if cumulative < probe.end {
            return;
        }
        if !probe.repeated || report.duplicate_of_probe {
            self.subflows[index].linux.probe = None;
        } else if cumulative > probe.end {
            // The probe itself filled the hole: what it repeated had been lost. Nothing is left to be repaired.
            self.reduce_as_linux(now, index);
            self.keep_open(index);
        } else if !report.progress && !report.selective && report.duplicates == 0 {
            self.subflows[index].linux.probe = None;
        }
    }

    /// The retransmission timer ran out (tcp_retransmit_timer).
    pub(in crate::mptcp) fn time_out_as_linux(&mut self, now: Time, index: usize) {
        self.enter_loss(now, index);
        let path = self.core.path_mut(index);
        path.set_probe_room(0);
        path.rtt_mut().back_off();
        let timeout = now.saturating_add(path.rtt().rto());
        self.subflows[index].probe_due = false;
        self.start_timer(now, index, Timer::Timeout, timeout);
        self.show_state(index);
    }
}
