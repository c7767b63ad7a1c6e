//! Loss recovery as Linux does it (6.12, net/ipv4/tcp_input.c, tcp_recovery.c, tcp_output.c): RACK with a window for reordering
//! that grows with what duplicates report, the undoing of reductions that turn out to be needless (by duplicates, by timestamps,
//! by F-RTO), probes of the tail, and one timer for all of it.
//!
//! | file | holds |
//! |---|---|
//! | `scoreboard.rs` | what is known of what is in flight, and of past recoveries |
//! | `order.rs` | the order in which it was sent |
//! | `reading.rs` | what an acknowledgement settles: tcp_sacktag_write_queue, tcp_clean_rtx_queue |
//! | `rack.rs` | what counts as lost, and the window for reordering |
//! | `recovery.rs` | the congestion state: tcp_fastretrans_alert, tcp_process_loss |
//! | `undo.rs` | taking a reduction back: tcp_try_undo_* |
//! | `reduction.rs` | a window that shrinks in proportion to what arrives: tcp_cwnd_reduction |
//! | `timers.rs` | tcp_rearm_rto, tcp_schedule_loss_probe, tcp_retransmit_timer |
//!
//! # Departures
//! Times are nanoseconds, where Linux has microseconds for round trips and milliseconds for timers. A retransmission that is in
//! flight beside its original, after an undo, counts once.

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
use crate::packet::Ack;
use plait_sched::{Duration, Scheduler, Time};
use scoreboard::State;

/// What an acknowledgement said (the FLAG_* of tcp_input.c, and struct tcp_sacktag_state).
#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// The cumulative acknowledgement advanced.
    progress: bool,
    /// Something was selectively acknowledged for the first time.
    selective: bool,
    /// Something arrived that was sent before the recovery began, and never again: FLAG_ORIG_SACK_ACKED.
    original: bool,
    /// Segments that arrived a second time, of those that may be retransmissions of ours.
    duplicates: u32,
    /// The duplicate is the probe of the tail.
    duplicate_of_probe: bool,
    /// Something was acknowledged that was sent more than once.
    retransmitted: bool,
    /// Segments that arrived, duplicates included.
    delivered: u32,
    /// The transmission sent last among those that arrived, in the order of sending.
    latest: Option<u64>,
    /// When the first and the last of those cumulatively acknowledged were sent, if never again.
    cumulative: Option<(Time, Time)>,
    /// The same of those selectively acknowledged.
    selected: Option<(Time, Time)>,
    /// The echoed timestamp.
    echo: u32,
    /// Something was not acknowledged before.
    outstanding: bool,
    /// The subflow's first unacknowledged number before.
    first_before: u64,
    /// Segments that count as lost by it.
    losses: u32,
    /// A retransmission is among them.
    lost_again: bool,
    /// The timer is to be set anew.
    set_timer: bool,
    /// Packets were marked: FLAG_ECE.
    congested: bool,
}

fn widen(span: Option<(Time, Time)>, sent_at: Time) -> Option<(Time, Time)> {
    Some(span.map_or((sent_at, sent_at), |(first, _)| (first, sent_at)))
}

impl<S: Scheduler> Sender<S> {
    /// Reads an acknowledgement (tcp_ack). Returns whether the cumulative one advanced.
    pub(super) fn acknowledged_as_linux(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        observer: &mut impl Observer,
    ) -> bool {
        let path = self.core.path_mut(index);
        let mut report = path.read_as_linux(now, ack);
        if path.news.segments > 0 {
            self.note_alive(now, index, observer);
        }
        // Without MPTCP a subflow has all data of the connection to try; with it, its write queue.
        let subflow = &self.core.path(index).recovery;
        let alone = subflow.linux.examines_timeout && !subflow.multipath;
        let unassigned = alone && self.has_unassigned_data();
        self.core.path_mut(index).judge_as_linux(now, ack, unassigned, &mut report);
        if report.losses > 0 {
            self.core.tell_lost(index, report.losses);
        }
        let (path, shares) = self.core.path_and_shares(index);
        path.control_as_linux(now, shares, &report);
        path.show_state();
        if path.news.segments > 0 {
            self.core.tell_acknowledged(index);
        }
        report.progress
    }

    /// A TCP has data that the window admits.
    pub(super) fn has_unassigned_data(&self) -> bool {
        let connection = self.core.connection_facts();
        connection.unassigned > 0 && connection.window_left > 0
    }

    /// Everything has left that could: each controller hears how much of its window that takes, if new data has left or could
    /// not for lack of window (the end of tcp_write_xmit, and tcp_cwnd_validate).
    pub(super) fn tell_use(&mut self, now: Time) {
        // SOCK_NOSPACE: Linux takes a sender whose writer waits for room in the send buffer for limited by that.
        let writer_waits = self.core.writer_waits();
        self.core.paths_mut().iter_mut().for_each(|path| path.tell_use(now, writer_waits));
    }
}

impl PathSender<Subflow> {
    /// The first part of tcp_ack: duplicates, blocks and the cumulative number.
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

    /// The second part: what the report says of losses, and of reductions that were needless. `unassigned`: the connection has
    /// data for a subflow that is its only one.
    fn judge_as_linux(&mut self, now: Time, ack: &Ack, unassigned: bool, report: &mut Report) {
        if report.outstanding {
            self.recovery.linux.rack.adapt(report.latest, self.sent);
            // The controller hears of a round trip whether or not its window may grow (pkts_acked of struct tcp_congestion_ops).
            if self.news.newest_rtt.is_some() {
                let acknowledged = self.acknowledged(now, false, self.recovery.repair);
                self.control.on_round_trip(&acknowledged);
            }
        }
        self.judge_linux_probe(now, ack.cumulative, report);
        let calm = self.recovery.linux.state == State::Open && !report.selective && !report.congested;
        if report.duplicates > 0 || (report.outstanding && !(calm && report.progress)) {
            self.alert(now, unassigned, report);
            self.note_lost(u64::from(report.losses));
        }
    }

    /// The last part: the timer, and the window (tcp_cong_control).
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
            let segments = core::mem::replace(&mut self.news.segments, report.delivered);
            self.tell_controller(now, may_raise && !reducing, self.recovery.linux.repairing(), shares);
            self.news.segments = segments;
        }
        if self.flight.segments() == 0 {
            self.control.on_event(now, CongestionEvent::Drained);
        }
    }

    fn tell_use(&mut self, now: Time, writer_waits: bool) {
        let full = !self.has_full_window();
        if core::mem::take(&mut self.recovery.linux.sent_new) || full && self.next_queued().is_some() {
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

    /// Timestamps tell that what was acknowledged left before `stamp` (tcp_tsopt_ecr_before).
    fn echoes_earlier(&self, echo: u32, stamp: u32) -> bool {
        (echo.wrapping_sub(stamp) as i32) < 0
    }

    fn ticks(&self, at: Time) -> u32 {
        self.recovery.clock.at_sender(at)
    }

    /// A round trip by the echoed timestamp: at least a tick (tcp_rtt_tsopt_us).
    fn round_trip_by_timestamp(&self, now: Time, echo: u32) -> Duration {
        let ticks = self.ticks(now).wrapping_sub(echo).max(1);
        self.recovery.clock.granularity * u64::from(ticks)
    }
}
