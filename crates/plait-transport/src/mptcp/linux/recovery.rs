//! The congestion state of a subflow, and its changes by acknowledgements and timers.

use super::Report;
use super::scoreboard::{Memory, State};
use crate::congestion::{CongestionController, CongestionEvent};
use crate::core::{PathSender, TransmissionState};
use crate::mptcp::subflow::Subflow;
use plait_sched::Time;

impl PathSender<Subflow> {
    /// Updates the congestion state (tcp_fastretrans_alert). First the cumulative acknowledgement
    /// may end a state; then the rest of the report may begin one.
    ///
    /// `high` is Linux' high_seq: data sent before the state began has lower numbers. A recovery
    /// ends when all of that data has arrived. A reduction ends only after later data, because the
    /// first segment sent after the reduction informs the receiver (CWR, RFC 3168).
    pub(super) fn alert(&mut self, now: Time, unassigned: bool, report: &mut Report) {
        let first = self.flight.first();
        let board = &mut self.recovery.linux;
        if report.congested {
            board.memory.prior = None;
        }
        match board.state {
            State::Open => board.memory.stamp = None,
            // The end needs a segment sent after the reduction: the first such segment informs the
            // receiver.
            State::Reducing if first > board.high => {
                board.state = State::Open;
                self.end_reduction();
            }
            State::Recovery if first >= board.high => self.end_recovery(now, report),
            State::Disorder | State::Reducing | State::Recovery | State::Loss => {}
        }
        self.act(now, unassigned, report);
    }

    fn act(&mut self, now: Time, unassigned: bool, report: &mut Report) {
        match self.recovery.linux.state {
            State::Recovery => {
                // The late original filled the hole (tcp_try_undo_partial). While retransmissions
                // are in flight, other late segments cannot be recognized. So no more segments are
                // marked lost, and no retransmission leaves for now.
                if report.progress && self.undo_partially(now, report) {
                    self.recovery.linux.withheld = true;
                    return;
                }
                if self.undo_by_duplicates(now) {
                    self.try_to_open(now, report);
                }
                self.identify_losses(now, report);
                let board = &self.recovery.linux;
                if board.state != State::Recovery && board.lost > 0 {
                    self.enter_recovery(now, report.congested);
                }
            }
            State::Loss => {
                self.process_loss(now, unassigned, report);
                self.identify_losses(now, report);
                // Usually a timeout has marked everything as lost, so losses have no further effect
                // here. But the state may have ended just now. Or a retransmission of this state
                // was lost, which requires another reduction (FLAG_LOST_RETRANS).
                if self.recovery.linux.state == State::Open || report.lost_again {
                    self.act_openly(now, report);
                }
            }
            State::Open | State::Disorder | State::Reducing => self.act_openly(now, report),
        }
    }

    fn act_openly(&mut self, now: Time, report: &mut Report) {
        if self.recovery.linux.state <= State::Disorder {
            self.undo_by_duplicates(now);
        }
        self.identify_losses(now, report);
        if self.recovery.linux.lost > 0 {
            self.enter_recovery(now, report.congested);
        } else {
            self.try_to_open(now, report);
        }
    }

    /// Opens the state if no data is missing (tcp_try_to_open).
    fn try_to_open(&mut self, now: Time, report: &Report) {
        if !self.any_resent() {
            self.recovery.linux.memory.stamp = None;
        }
        if report.congested {
            self.enter_reduction(now);
        }
        if self.recovery.linux.state != State::Reducing {
            self.keep_open();
        }
    }

    /// Reduces the window because of a mark (tcp_enter_cwr). This reduction cannot be undone. It
    /// happens once until a segment sent after it arrives.
    fn enter_reduction(&mut self, now: Time) {
        let board = &mut self.recovery.linux;
        board.memory.prior = None;
        if board.state < State::Reducing {
            board.memory.marker = None;
            let (window, _) = self.window_now();
            self.reduce_as_linux(now);
            self.begin_reduction(window);
            self.recovery.linux.state = State::Reducing;
        }
    }

    /// Sets the state to open or disorder (tcp_try_keep_open).
    pub(super) fn keep_open(&mut self) {
        let any_resent = self.any_resent();
        let next = self.flight.next();
        let subflow = &mut self.recovery;
        let disorder = any_resent || subflow.linux.lost > 0 || !subflow.arrived.is_empty();
        let state = if disorder { State::Disorder } else { State::Open };
        if subflow.linux.state != state {
            subflow.linux.state = state;
            subflow.linux.high = next;
        }
    }

    /// Checks whether the timeout was needless (tcp_process_loss). The steps are those of F-RTO
    /// with selective acknowledgements (RFC 5682 §3.1).
    fn process_loss(&mut self, now: Time, unassigned: bool, report: &Report) {
        let flight = &self.flight;
        let (first, next) = (flight.first(), flight.next());
        let recovered = first >= self.recovery.linux.high;
        if report.progress && self.undo_timeout(now, report, false) {
            return;
        }
        if self.recovery.linux.examines_timeout {
            // Step 3.b: a segment arrived that was never retransmitted, so the path was slow but
            // delivered.
            if report.original && self.undo_timeout(now, report, true) {
                return;
            }
            let has_new = self.has_new_data(unassigned);
            let board = &mut self.recovery.linux;
            if next > board.high {
                // Step 3.a: only data sent after the timeout arrives. The loss was real.
                if report.selective {
                    board.examines_timeout = false;
                }
            } else if report.progress && !recovered {
                // Step 2.b: two new segments would decide, if new data is available. Otherwise the
                // recovery continues as usual.
                board.high = next;
                if has_new {
                    board.prefers_new = true;
                    return;
                }
                board.examines_timeout = false;
            }
        }
        if recovered {
            self.end_recovery(now, report);
        }
    }

    /// True if the subflow has new data that it could send at once (tcp_process_loss). With MPTCP,
    /// this is a segment of its write queue and at least one byte of its receive window. TCP
    /// without MPTCP has all data of the connection, `unassigned`.
    fn has_new_data(&self, unassigned: bool) -> bool {
        if self.recovery.multipath {
            return self.has_committed() && self.own_window > self.flight.span_bytes();
        }
        unassigned
    }

    /// Ends the preference for new data, once no more of it leaves (the end of tcp_xmit_recovery).
    /// If new data was sent, retransmissions wait for the next acknowledgement. Otherwise they
    /// leave now.
    pub(in crate::mptcp) fn judge_preference(&mut self) {
        let next = self.flight.next();
        let board = &mut self.recovery.linux;
        board.prefers_new = false;
        if next > board.high {
            board.withheld = true;
        } else {
            board.examines_timeout = false;
        }
    }

    /// Stores the state by which a reduction will be judged (tcp_init_undo).
    fn remember(&mut self, prior: Option<(u64, u64)>) {
        let first = self.flight.first();
        let board = &mut self.recovery.linux;
        let probes = u32::from(board.probe.is_some_and(|probe| probe.repeated));
        let unreported = Some(board.resent + probes).filter(|&count| count > 0);
        board.memory = Memory { marker: Some(first), unreported, prior, ..board.memory };
    }

    /// Returns the current window and threshold (tcp_current_ssthresh).
    fn window_now(&self) -> (u64, u64) {
        let window = self.reduced_window.unwrap_or(self.control.window());
        let threshold = self.control.slow_start_threshold();
        let state = self.recovery.linux.state;
        let reducing = matches!(state, State::Reducing | State::Recovery);
        (window, if reducing { threshold } else { threshold.max(window / 2 + window / 4) })
    }

    /// Begins a recovery (tcp_enter_recovery). If the window already shrinks because of a mark,
    /// that reduction continues. A reduction because of a mark cannot be undone.
    pub(super) fn enter_recovery(&mut self, now: Time, congested: bool) {
        if !self.any_resent() {
            self.recovery.linux.memory.stamp = None;
        }
        let prior = self.window_now();
        let reducing = self.recovery.linux.state == State::Reducing;
        self.remember(Some(prior).filter(|_| !congested && !reducing));
        if !reducing {
            self.reduce_as_linux(now);
            self.begin_reduction(prior.0);
        }
        self.recovery.linux.state = State::Recovery;
    }

    /// Reduces the window after a loss or a mark (tcp_init_cwnd_reduction).
    pub(super) fn reduce_as_linux(&mut self, now: Time) {
        let outstanding = self.flight.bytes();
        self.note_congestion(now, CongestionEvent::Loss { outstanding });
        let board = &mut self.recovery.linux;
        board.high = self.flight.next();
        board.probe = None;
        self.recovery.ecn.note_reduced();
    }

    /// Enters the loss state after a timeout (tcp_enter_loss).
    pub(super) fn enter_loss(&mut self, now: Time) {
        self.mark_timed_out(now);
        let prior = self.window_now();
        let (first, next, outstanding) = (self.flight.first(), self.flight.next(), self.flight.bytes());
        let subflow = &self.recovery;
        let state = subflow.linux.state;
        // The threshold falls once per window of data. So it does not fall while data of the last
        // reduction is missing. The exception: a timeout caused that reduction, and data has
        // arrived since (icsk_retransmits is 0 again).
        let anew = state <= State::Disorder
            || first >= subflow.linux.high
            || (state == State::Loss && subflow.linux.timeouts == 0);
        self.note_congestion(now, CongestionEvent::Timeout { outstanding, repairing: !anew });
        if anew {
            self.remember(Some(prior));
        }
        // Room for one retransmission beside the segments that tcp_timeout_mark_lost left in
        // flight: with RACK there may be some.
        let window = (u64::from(self.flight.segments()) + 1) * self.segment;
        self.note_congestion(now, CongestionEvent::Collapse { window });
        self.reduced_window = None;
        let subflow = &mut self.recovery;
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
        // RFC 5682 §3.1 step 1, and §3.2 for a repeated timeout: an earlier recovery has already
        // retransmitted the segments that would decide.
        board.examines_timeout = state < State::Recovery || board.timeouts > 0;
        board.prefers_new = false;
        board.withheld = false;
        board.timeouts += 1;
    }

    /// Marks everything as lost except segments sent less than a round trip ago. This is
    /// tcp_timeout_mark_lost with tcp_rack_skb_timeout, without a reordering window. The first
    /// segment is always lost, because the timer ran for it.
    fn mark_timed_out(&mut self, now: Time) {
        let subflow = &mut self.recovery;
        let patience = subflow.linux.rack.round_trip;
        let first = self.flight.first();
        subflow.lost.clear();
        for number in first..self.flight.next() {
            let Some(sent) = self.flight.get_mut(number) else { continue };
            let recent = number != first && sent.sent_at.saturating_add(patience) > now;
            if sent.state() == TransmissionState::InFlight && !recent {
                subflow.linux.lost += u32::from(!sent.marked_lost());
                subflow.linux.resent -= u32::from(sent.resent());
                sent.mark_lost(true);
                sent.mark_resent(false);
                self.flight.leave(number, TransmissionState::Lost);
                subflow.linux.order.remove(number);
                self.lost += 1;
            }
            if self.flight.get(number).is_some_and(|sent| sent.state() == TransmissionState::Lost) {
                subflow.lost.push_back(number);
            }
        }
    }

    /// Copies the congestion state to the fields of the path that other modules read.
    pub(in crate::mptcp) fn show_state(&mut self) {
        let first = self.flight.first();
        let board = &self.recovery.linux;
        let (state, high) = (board.state, board.high);
        self.recovery.repair = board.repairing();
        if !matches!(state, State::Reducing | State::Recovery) {
            self.end_reduction();
        }
        let end = if state >= State::Recovery { high.max(first) } else { 0 };
        self.recovery_end = end;
        // A TCP has no other path for new data during the recovery.
        self.recovering = state == State::Loss && self.recovery.multipath;
        self.touch();
    }
}
