//! The congestion state of a subflow: what an acknowledgement, a timer or a timeout makes of it.

use super::scoreboard::{Memory, State};
use super::{Report, Sender};
use crate::congestion::CongestionController;
use crate::core::TransmissionState;
use crate::mptcp::subflow::Repair;
use plait_sched::{Event, PathId, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// tcp_fastretrans_alert: first what the cumulative acknowledgement ends, then what the rest of the report begins.
    ///
    /// `high` is Linux' high_seq: what was sent before the state was entered lies below it. A recovery is over when all of that has
    /// arrived; a reduction only with something beyond it, since what is sent after the window shrank is what tells the receiver so
    /// (CWR, RFC 3168).
    pub(super) fn alert(&mut self, now: Time, index: usize, report: &mut Report) {
        let first = self.core.path(index).flight().first();
        let board = &mut self.subflows[index].linux;
        if report.congested {
            board.memory.prior = None;
        }
        match board.state {
            State::Open => board.memory.stamp = None,
            // Something sent after the reduction has to arrive: the first of it tells the receiver.
            State::Reducing if first > board.high => {
                board.state = State::Open;
                self.end_reduction(index);
            }
            State::Recovery if first >= board.high => self.end_recovery(index, report),
            _ => {}
        }
        self.act(now, index, report);
        if report.losses > 0 {
            self.tell_lost(index, report.losses);
        }
    }

    /// So many segments turned out to be lost.
    pub(super) fn tell_lost(&mut self, index: usize, segments: u32) {
        self.core.path_mut(index).note_lost(u64::from(segments));
        self.core.touch(index);
        self.core.notify(&Event::Lost { path: PathId(index as u8), segments });
        self.core.note_opportunity();
    }

    fn act(&mut self, now: Time, index: usize, report: &mut Report) {
        match self.subflows[index].linux.state {
            State::Recovery => {
                // The hole was filled by the original, late (tcp_try_undo_partial). While retransmissions are under way nobody can tell
                // what else is late, so nothing more counts as lost and nothing is sent again for now.
                if report.progress && self.undo_partially(index, report) {
                    self.subflows[index].linux.withheld = true;
                    return;
                }
                if self.undo_by_duplicates(index) {
                    self.try_to_open(now, index, report);
                }
                self.identify_losses(now, index, report);
                let board = &self.subflows[index].linux;
                if board.state != State::Recovery && board.lost > 0 {
                    self.enter_recovery(now, index, report.congested);
                }
            }
            State::Loss => {
                self.process_loss(index, report);
                self.identify_losses(now, index, report);
                // Usually a timeout has marked all there is, and nothing more follows from losses. But the state may have been left
                // just now, or a retransmission of this very state was lost, which calls for another reduction (FLAG_LOST_RETRANS).
                if self.subflows[index].linux.state == State::Open || report.lost_again {
                    self.act_openly(now, index, report);
                }
            }
            State::Open | State::Disorder | State::Reducing => self.act_openly(now, index, report),
        }
    }

    fn act_openly(&mut self, now: Time, index: usize, report: &mut Report) {
        if self.subflows[index].linux.state <= State::Disorder {
            self.undo_by_duplicates(index);
        }
        self.identify_losses(now, index, report);
        if self.subflows[index].linux.lost > 0 {
            self.enter_recovery(now, index, report.congested);
        } else {
            self.try_to_open(now, index, report);
        }
    }

    /// tcp_try_to_open.
    fn try_to_open(&mut self, now: Time, index: usize, report: &Report) {
        if !self.any_resent(index) {
            self.subflows[index].linux.memory.stamp = None;
        }
        if report.congested {
            self.enter_reduction(now, index);
        }
        if self.subflows[index].linux.state != State::Reducing {
            self.keep_open(index);
        }
    }

    /// tcp_enter_cwr: the reduction that a mark calls for cannot be taken back, and comes once until something that was sent after it
    /// arrives.
    fn enter_reduction(&mut self, now: Time, index: usize) {
        let board = &mut self.subflows[index].linux;
        board.memory.prior = None;
        if board.state < State::Reducing {
            board.memory.marker = None;
            let (window, _) = self.window_now(index);
            self.reduce_as_linux(now, index);
            self.begin_reduction(index, window);
            self.subflows[index].linux.state = State::Reducing;
        }
    }

    /// tcp_try_keep_open.
    pub(super) fn keep_open(&mut self, index: usize) {
        let any_resent = self.any_resent(index);
        let next = self.core.path(index).flight().next();
        let subflow = &mut self.subflows[index];
        let disorder = any_resent || subflow.linux.lost > 0 || !subflow.arrived.is_empty();
        let state = if disorder { State::Disorder } else { State::Open };
        if subflow.linux.state != state {
            subflow.linux.state = state;
            subflow.linux.high = next;
        }
    }

    /// tcp_process_loss: was the timeout needless? The steps are those of F-RTO with selective acknowledgements (RFC 5682 §3.1).
    fn process_loss(&mut self, index: usize, report: &Report) {
        let flight = self.core.path(index).flight();
        let (first, next) = (flight.first(), flight.next());
        let recovered = first >= self.subflows[index].linux.high;
        if report.progress && self.undo_timeout(index, report, false) {
            return;
        }
        if self.subflows[index].linux.examines_timeout {
            // Step 3.b: something arrived that was never sent again, so the path was slow and not empty.
            if report.original && self.undo_timeout(index, report, true) {
                return;
            }
            let has_new = self.has_new_data(index);
            let board = &mut self.subflows[index].linux;
            if next > board.high {
                // Step 3.a: only what was sent after the timeout arrives. The loss was real.
                if report.selective {
                    board.examines_timeout = false;
                }
            } else if report.progress && !recovered {
                // Step 2.b: two new segments would tell, if there is anything new to send; otherwise the repair goes on as usual.
                board.high = next;
                if has_new {
                    board.prefers_new = true;
                    return;
                }
                board.examines_timeout = false;
            }
        }
        if recovered {
            self.end_recovery(index, report);
        }
    }

    /// A TCP has data that it could send at once. A subflow of MPTCP has what it took and its own window holds back: other data waits
    /// for the scheduler. Any byte of window will do (tcp_process_loss), however large the packet.
    fn has_new_data(&self, index: usize) -> bool {
        if self.is_multipath() {
            let path = self.core.path(index);
            return self.core.has_committed(index) && path.own_window() > path.flight().span_bytes();
        }
        self.has_unassigned_data()
    }

    /// A TCP has data that the window admits.
    fn has_unassigned_data(&self) -> bool {
        let connection = self.core.connection_facts();
        connection.unassigned > 0 && connection.window_left > 0
    }

    /// As [`Sender::has_new_data`], for a probe of the tail: the packet has to fit (tcp_send_loss_probe).
    pub(super) fn has_probing_data(&self, index: usize) -> bool {
        if self.is_multipath() { self.core.admits_committed(index) } else { self.has_unassigned_data() }
    }

    /// Nothing new left although it was to be tried: the losses are repaired (the end of tcp_xmit_recovery).
    pub(in crate::mptcp) fn judge_preference(&mut self, index: usize) {
        let next = self.core.path(index).flight().next();
        let board = &mut self.subflows[index].linux;
        board.prefers_new = false;
        if next > board.high {
            board.withheld = true;
        } else {
            board.examines_timeout = false;
        }
    }

    /// What a reduction will be judged by (tcp_init_undo).
    fn remember(&mut self, index: usize, prior: Option<(u64, u64)>) {
        let first = self.core.path(index).flight().first();
        let board = &mut self.subflows[index].linux;
        let probes = u32::from(board.probe.is_some_and(|probe| probe.repeated));
        let unreported = Some(board.resent + probes).filter(|&count| count > 0);
        board.memory = Memory { marker: Some(first), unreported, prior, ..board.memory };
    }

    /// Window and threshold as they are now (tcp_current_ssthresh).
    fn window_now(&self, index: usize) -> (u64, u64) {
        let path = self.core.path(index);
        let window = path.reduced_window().unwrap_or(path.control().window());
        let threshold = path.control().slow_start_threshold();
        let state = self.subflows[index].linux.state;
        let reducing = matches!(state, State::Reducing | State::Recovery);
        (window, if reducing { threshold } else { threshold.max(window / 2 + window / 4) })
    }

    /// tcp_enter_recovery. A window that shrinks because of a mark goes on doing so, and what a mark calls for is not taken back.
    pub(super) fn enter_recovery(&mut self, now: Time, index: usize, congested: bool) {
        if !self.any_resent(index) {
            self.subflows[index].linux.memory.stamp = None;
        }
        let prior = self.window_now(index);
        let reducing = self.subflows[index].linux.state == State::Reducing;
        self.remember(index, Some(prior).filter(|_| !congested && !reducing));
        if !reducing {
            self.reduce_as_linux(now, index);
            self.begin_reduction(index, prior.0);
        }
        self.subflows[index].linux.state = State::Recovery;
    }

    /// tcp_init_cwnd_reduction.
    pub(super) fn reduce_as_linux(&mut self, now: Time, index: usize) {
        let path = self.core.path_mut(index);
        let outstanding = path.flight().bytes();
        path.control_mut().on_congestion(now, outstanding);
        let board = &mut self.subflows[index].linux;
        board.high = path.flight().next();
        board.probe = None;
        self.subflows[index].ecn.note_reduced();
    }

    /// tcp_enter_loss.
    pub(super) fn enter_loss(&mut self, now: Time, index: usize) {
        self.mark_timed_out(now, index);
        let prior = self.window_now(index);
        let path = self.core.path_mut(index);
        let (first, next, outstanding) = (path.flight().first(), path.flight().next(), path.flight().bytes());
        let subflow = &self.subflows[index];
        let state = subflow.linux.state;
        // The threshold falls once per window of data: not while some of what the last reduction was about is missing, unless a timeout
        // led to it and something has arrived since (icsk_retransmits is 0 again).
        let anew = state <= State::Disorder
            || first >= subflow.linux.high
            || (state == State::Loss && subflow.linux.timeouts == 0);
        if anew {
            path.control_mut().on_timeout(now, outstanding);
            self.remember(index, Some(prior));
        } else {
            path.control_mut().on_timeout_in_repair(now, outstanding);
        }
        // Room for the one segment that is sent again, on top of what tcp_timeout_mark_lost left in flight: with RACK that need not be
        // nothing.
        let path = self.core.path_mut(index);
        let segment = self.config.connection.counted_segment();
        let window = (u64::from(path.flight().segments()) + 1) * segment;
        path.control_mut().set_window(window);
        path.set_reduced_window(None);
        let subflow = &mut self.subflows[index];
        subflow.reduction = None;
        subflow.ecn.note_reduced();
        let board = &mut subflow.linux;
        if state <= State::Disorder && subflow.arrived.len() >= u64::from(super::scoreboard::USUAL_REORDERING)
        {
            board.forget_reordering();
        }
        board.state = State::Loss;
        board.high = next;
        board.probe = None;
        // RFC 5682 §3.1 step 1, and §3.2 for the same timeout again: a repair that was under way has sent again what would have to tell.
        board.examines_timeout = state < State::Recovery || board.timeouts > 0;
        board.prefers_new = false;
        board.withheld = false;
        board.timeouts += 1;
    }

    /// Everything is lost but what was sent less than a round trip ago (tcp_timeout_mark_lost with tcp_rack_skb_timeout, without a
    /// window for reordering). The first one is lost in any case: it is what the timer ran for.
    fn mark_timed_out(&mut self, now: Time, index: usize) {
        let path = self.core.path_mut(index);
        let subflow = &mut self.subflows[index];
        let patience = subflow.linux.rack.round_trip;
        let first = path.flight().first();
        subflow.lost.clear();
        for number in first..path.flight().next() {
            let Some(sent) = path.flight_mut().get_mut(number) else { continue };
            let recent = number != first && sent.sent_at.saturating_add(patience) > now;
            if sent.state() == TransmissionState::InFlight && !recent {
                subflow.linux.lost += u32::from(!sent.marked_lost());
                subflow.linux.resent -= u32::from(sent.resent());
                sent.mark_lost(true);
                sent.mark_resent(false);
                path.flight_mut().leave(number, TransmissionState::Lost);
                subflow.linux.order.remove(number);
                path.note_lost(1);
            }
            if path.flight().get(number).is_some_and(|sent| sent.state() == TransmissionState::Lost) {
                subflow.lost.push_back(number);
            }
        }
    }

    /// Shows others how the subflow is.
    pub(super) fn show_state(&mut self, index: usize) {
        let first = self.core.path(index).flight().first();
        let board = &self.subflows[index].linux;
        let (state, high) = (board.state, board.high);
        self.subflows[index].repair = match state {
            State::Open | State::Disorder | State::Reducing => Repair::None,
            State::Recovery => Repair::Fast,
            State::Loss => Repair::Timeout,
        };
        if !matches!(state, State::Reducing | State::Recovery) {
            self.end_reduction(index);
        }
        let end = if state >= State::Recovery { high.max(first) } else { 0 };
        self.core.path_mut(index).set_recovery_end(end);
        // A TCP has no other path to send new data on meanwhile.
        self.core.set_recovering(index, state == State::Loss && self.is_multipath());
        self.core.touch(index);
    }
}
