//! Loss recovery of Linux 6.12 (net/ipv4/tcp_input.c, tcp_recovery.c, tcp_output.c). It has RACK
//! with a reordering window that grows with reported duplicates. It undoes needless reductions
//! (detected by duplicates, by timestamps or by F-RTO). It probes the tail, and it uses one timer
//! for all of this.
//!
//! | file | content |
//! |---|---|
//! | `scoreboard.rs` | state of the data in flight, and of past recoveries |
//! | `order.rs` | the order of sending |
//! | `reading.rs` | reading an acknowledgement: tcp_sacktag_write_queue, tcp_clean_rtx_queue |
//! | `rack.rs` | loss detection, and the reordering window |
//! | `recovery.rs` | the congestion state: tcp_fastretrans_alert, tcp_process_loss |
//! | `undo.rs` | undoing a reduction: tcp_try_undo_* |
//! | `reduction.rs` | a window that shrinks in proportion to the delivered packets: tcp_cwnd_reduction |
//! | `timers.rs` | tcp_rearm_rto, tcp_schedule_loss_probe, tcp_retransmit_timer |
//!
//! # Departures
//! Times are nanoseconds, where Linux has microseconds for round trips and milliseconds for timers.
//! After an undo, a retransmission that is in flight beside its original counts once.

mod order;
mod rack;
mod reading;
mod recovery;
mod reduction;
mod scoreboard;
mod timers;
mod undo;

pub(super) use reduction::ProportionalReduction;
pub(super) use scoreboard::{Memory, Scoreboard};

use super::sender::Sender;
use super::subflow::Subflow;
use crate::congestion::{CongestionController, CongestionEvent, Share, WindowUse};
use crate::core::PathSender;
use crate::observer::Observer;
use crate::packet::tcp::Ack;
use plait_sched::{Duration, Scheduler, Time};
use scoreboard::State;

/// Content of an acknowledgement (the FLAG_* of tcp_input.c, and struct tcp_sacktag_state).
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// True if the cumulative acknowledgement advanced.
    progress: bool,
    /// True if a segment was selectively acknowledged for the first time.
    selective: bool,
    /// True if a segment arrived that was sent once, before the recovery began:
    /// FLAG_ORIG_SACK_ACKED.
    original: bool,
    /// Number of reported duplicates that our retransmissions may have caused.
    duplicates: u32,
    /// True if the duplicate is the tail probe.
    duplicate_of_probe: bool,
    /// True if the cumulative acknowledgement covers a segment that was sent more than once.
    retransmitted: bool,
    /// Number of arrived segments, including duplicates.
    delivered: u32,
    /// Highest place in the order of sending among the arrived transmissions.
    latest: Option<u64>,
    /// Send times of the first and the last cumulatively acknowledged segment, of those sent once.
    cumulative: Option<(Time, Time)>,
    /// Send times of the first and the last selectively acknowledged segment, of those sent once.
    selected: Option<(Time, Time)>,
    /// The echoed timestamp.
    echo: u32,
    /// True if data was unacknowledged before this acknowledgement.
    outstanding: bool,
    /// The subflow's first unacknowledged number before this acknowledgement.
    first_before: u64,
    /// Number of segments that this acknowledgement shows to be lost.
    losses: u32,
    /// True if a retransmission is among the losses.
    lost_again: bool,
    /// True if the timer must be set again.
    set_timer: bool,
    /// True if the receiver reports marked packets: FLAG_ECE.
    congested: bool,
}

fn widen(span: Option<(Time, Time)>, sent_at: Time) -> Option<(Time, Time)> {
    Some(span.map_or((sent_at, sent_at), |(first, _)| (first, sent_at)))
}

impl<S: Scheduler> Sender<S> {
    /// Reads an acknowledgement (tcp_ack). Returns whether the cumulative acknowledgement advanced.
    pub(super) fn acknowledged_as_linux(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        observer: &mut impl Observer,
    ) -> bool {
        let path = &mut self.core.paths[index];
        let mut report = path.read_as_linux(now, ack);
        if path.news.ack.segments > 0 {
            self.note_alive(now, index, observer);
        }
        // Without MPTCP, all unsent data of the connection is available to the subflow; with MPTCP,
        // only its write queue.
        let subflow = &self.core.paths[index].recovery;
        let alone = subflow.linux.examines_timeout && !subflow.multipath;
        let unassigned = alone && self.has_unassigned_data();
        self.core.paths[index].judge_as_linux(now, ack, unassigned, &mut report);
        if report.losses > 0 {
            self.core.tell_lost(index, report.losses);
        }
        let (path, shares) = self.core.path_and_shares(index);
        path.control_as_linux(now, shares, &report);
        path.show_state();
        if path.news.ack.segments > 0 {
            self.core.tell_acknowledged(index);
        }
        report.progress
    }

    /// True if the connection has unassigned data that the receiver's window admits.
    pub(super) fn has_unassigned_data(&self) -> bool {
        let connection = self.core.connection_facts();
        connection.unassigned > 0 && connection.window_left > 0
    }

    /// Tells each controller how much of its window is used, after all possible data has been sent.
    /// A controller hears of it if new data was sent, or if its window held data back (the end of
    /// tcp_write_xmit, and tcp_cwnd_validate).
    pub(super) fn tell_use(&mut self, now: Time) {
        // SOCK_NOSPACE: if the writer waits for room in the send buffer, Linux considers the sender
        // limited by the send buffer.
        let writer_waits = self.core.writer_waits();
        self.core.paths.iter_mut().for_each(|path| path.tell_use(now, writer_waits));
    }
}

impl PathSender<Subflow> {
    /// Runs the first part of tcp_ack: duplicates, selective blocks and the cumulative number.
    fn read_as_linux(&mut self, now: Time, ack: &Ack) -> Report {
        self.begin_news();
        let congested = self.hears_congestion(ack);
        let mut report = Report {
            echo: ack.echo,
            first_before: self.flight.first(),
            outstanding: self.flight.next() > self.flight.first(),
            congested,
            ..Report::default()
        };
        self.recovery.linux.withheld = false;
        self.read_duplicate(ack, &mut report);
        if report.outstanding {
            self.read_acknowledgement(now, ack, &mut report);
        }
        report
    }

    /// Runs the second part of tcp_ack: losses, and needless reductions. `unassigned` is true if
    /// the connection has data for its only subflow.
    fn judge_as_linux(&mut self, now: Time, ack: &Ack, unassigned: bool, report: &mut Report) {
        if report.outstanding {
            self.recovery.linux.rack.adapt(report.latest, self.sent);
            // The controller hears of a round trip even if its window may not grow (pkts_acked of
            // struct tcp_congestion_ops).
            if self.news.ack.newest_rtt.is_some() {
                self.complete_news(now, false, self.recovery.repair);
                self.control.on_round_trip(&self.news.ack);
            }
        }
        self.judge_linux_probe(now, ack.cumulative, report);
        let calm = self.recovery.linux.state == State::Open && !report.selective && !report.congested;
        if report.duplicates > 0 || (report.outstanding && !(calm && report.progress)) {
            self.alert(now, unassigned, report);
            self.lost += u64::from(report.losses);
        }
    }

    /// Runs the last part of tcp_ack: the timer, and the window (tcp_cong_control).
    fn control_as_linux(&mut self, now: Time, shares: &[Share], report: &Report) {
        if report.set_timer {
            self.rearm(now);
        }
        if report.outstanding && report.delivered > 0 {
            let board = &self.recovery.linux;
            let reducing = matches!(board.state, State::Reducing | State::Recovery);
            // tcp_may_raise_cwnd
            let may_raise = report.progress || (report.selective && board.expects_reordering());
            if reducing {
                let advanced = report.progress && report.losses == 0;
                self.reduce_further(report.delivered, advanced);
            }
            let segments = core::mem::replace(&mut self.news.ack.segments, report.delivered);
            self.tell_controller(now, may_raise && !reducing, self.recovery.linux.repairing(), shares);
            self.news.ack.segments = segments;
        }
        if self.flight.segments() == 0 {
            self.note_congestion(now, CongestionEvent::Drained);
        }
    }

    fn tell_use(&mut self, now: Time, writer_waits: bool) {
        let full = !self.has_full_window();
        if core::mem::take(&mut self.recovery.linux.sent_new) || full && self.queue.front().is_some() {
            let (cumulative, next) = (self.flight.first(), self.flight.next());
            self.control.on_sent(&WindowUse {
                now,
                full,
                outstanding: next - cumulative,
                cumulative,
                next,
                rto: self.rtt.rto(),
                starved: self.recovery.linux.state == State::Open && !writer_waits,
            });
        }
    }

    /// True if the echoed timestamp is earlier than `stamp` (tcp_tsopt_ecr_before).
    fn echoes_earlier(&self, echo: u32, stamp: u32) -> bool {
        (echo.wrapping_sub(stamp) as i32) < 0
    }

    fn ticks(&self, at: Time) -> u32 {
        self.recovery.clock.at_sender(at)
    }

    /// Returns the round trip by the echoed timestamp, at least one tick (tcp_rtt_tsopt_us).
    fn round_trip_by_timestamp(&self, now: Time, echo: u32) -> Duration {
        let ticks = self.ticks(now).wrapping_sub(echo).max(1);
        self.recovery.clock.granularity * u64::from(ticks)
    }
}
