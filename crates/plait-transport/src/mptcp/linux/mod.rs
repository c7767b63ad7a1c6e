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
use crate::congestion::{CongestionController, WindowUse};
use crate::core::PathNews;
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
        let path = self.core.path(index);
        let mut news = PathNews::before(path);
        let outstanding = path.flight().next() > path.flight().first();
        let congested = self.hears_congestion(index, ack);
        let mut report =
            Report { echo: ack.echo, first_before: path.flight().first(), congested, ..Report::default() };
        self.subflows[index].linux.withheld = false;
        self.read_duplicate(index, ack, &mut report);
        if outstanding {
            self.read_acknowledgement(now, index, ack, &mut news, &mut report);
        }
        if news.segments > 0 {
            self.note_alive(now, index, &news, observer);
        }
        if outstanding {
            self.subflows[index].linux.rack.adapt(report.latest, self.core.path(index).sent());
            self.sample_window(now, index, &news);
        }
        self.judge_linux_probe(now, index, ack.cumulative, &report);
        let calm = self.subflows[index].linux.state == State::Open && !report.selective && !report.congested;
        if report.duplicates > 0 || (outstanding && !(calm && report.progress)) {
            self.alert(now, index, &mut report);
        }
        if report.set_timer {
            self.set_timer(now, index);
        }
        if outstanding && report.delivered > 0 {
            self.control_window(now, index, &news, &report);
        }
        if self.core.path(index).flight().segments() == 0 {
            self.core.path_mut(index).control_mut().on_drained();
        }
        self.show_state(index);
        if news.segments > 0 {
            self.tell_acknowledged(index, &news);
        }
        report.progress
    }

    /// The controller hears of a round trip whether or not its window may grow (pkts_acked of struct tcp_congestion_ops).
    fn sample_window(&mut self, now: Time, index: usize, news: &PathNews) {
        if news.newest_rtt.is_some() {
            let acknowledged = self.core.acknowledged(now, index, news);
            self.core.path_mut(index).control_mut().on_round_trip(&acknowledged);
        }
    }

    /// Everything has left that could: each controller hears how much of its window that takes, if new data has left or could
    /// not for lack of window (the end of tcp_write_xmit, and tcp_cwnd_validate).
    pub(super) fn tell_use(&mut self, now: Time) {
        // SOCK_NOSPACE: Linux takes a sender whose writer waits for room in the send buffer for limited by that.
        let writer_waits = self.core.writer_waits();
        for (index, subflow) in self.subflows.iter_mut().enumerate() {
            let path = self.core.path_mut(index);
            let full = !path.has_full_window();
            if core::mem::take(&mut subflow.linux.sent_new) || full && path.next_queued().is_some() {
                let (cumulative, next) = (path.flight().first(), path.flight().next());
                let rto = path.rtt().rto();
                path.control_mut().on_sent(&WindowUse {
                    now,
                    full,
                    outstanding: next - cumulative,
                    cumulative,
                    next,
                    rto,
                    starved: subflow.linux.state == State::Open && !writer_waits,
                });
            }
        }
    }

    /// tcp_cong_control.
    fn control_window(&mut self, now: Time, index: usize, news: &PathNews, report: &Report) {
        let board = &self.subflows[index].linux;
        if matches!(board.state, State::Reducing | State::Recovery) {
            let advanced = report.progress && report.losses == 0;
            self.reduce_further(index, report.delivered, advanced);
        } else if report.progress || (report.selective && board.expects_reordering()) {
            self.core.grow_window(now, index, &PathNews { segments: report.delivered, ..*news });
        }
    }

    /// Timestamps tell that what was acknowledged left before `stamp` (tcp_tsopt_ecr_before).
    fn echoes_earlier(&self, echo: u32, stamp: u32) -> bool {
        (echo.wrapping_sub(stamp) as i32) < 0
    }

    fn ticks(&self, at: Time) -> u32 {
        self.config.clock.at_sender(at)
    }

    /// A round trip by the echoed timestamp: at least a tick (tcp_rtt_tsopt_us).
    fn round_trip_by_timestamp(&self, now: Time, echo: u32) -> Duration {
        let ticks = self.ticks(now).wrapping_sub(echo).max(1);
        self.config.clock.granularity * u64::from(ticks)
    }
}
