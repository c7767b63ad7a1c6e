//! What the connection sends again by itself, whatever its subflows do: Linux' timer, and subflows that are
//! silent for long.
//!
//! Sources: `__mptcp_retrans`, `mptcp_set_timeout`, `mptcp_subflow_get_retrans` and
//! `__mptcp_retransmit_pending_data` in net/mptcp/protocol.c, `mptcp_pm_subflow_chk_stale` in net/mptcp/pm.c,
//! `mptcp_pm_nl_subflow_chk_stale` in net/mptcp/pm_kernel.c.
//!
//! While data acknowledgements advance, the timer is set anew. When it runs out, a subflow that has nothing
//! under way sends the first fragment that is not acknowledged once more; those that have are watched. One
//! that has heard nothing for five such periods is *stale* if another is better off: it carries nothing until
//! an acknowledgement comes, and all that the connection has sent without an acknowledgement is sent again.

use super::rules::Reinjection;
use super::sender::Sender;
use super::subflow::Phase;
use super::wheel;
use crate::core::{full_fragment_end, insert_ascending, moment, timer};
use crate::observer::Observer;
use crate::packet::TcpSegment;
use plait_sched::{Duration, PathId, PathState, Scheduler, Time};
use std::collections::VecDeque;

/// The timer's period while no subflow waits for anything (`TCP_RTO_MIN`).
const IDLE_PERIOD: Duration = Duration::from_millis(200);

/// Periods without a word after which a subflow may be stale (`net.mptcp.stale_loss_cnt`).
const STALE_PERIODS: u8 = 4;

/// How a subflow is watched.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    /// When the last acknowledgement came.
    heard: Option<Time>,
    /// When it had come by the last look.
    heard_before: Option<Time>,
    /// Periods without one.
    silent: u8,
    stale: bool,
}

/// The connection's own timer and what it found.
#[derive(Clone, Debug)]
pub(super) struct Reinjections {
    timer: Option<Time>,
    /// When a data acknowledgement advanced last.
    advanced: Option<Time>,
    period: Duration,
    watches: Vec<Watch>,
    /// Copies for subflows that were idle when the timer ran out.
    copies: VecDeque<(PathId, u64)>,
    /// Segments that any working subflow sends again, ascending.
    anywhere: VecDeque<u64>,
    /// The timer has run out, and its copies leave now.
    ran_out: bool,
    /// The subflow that is given data just now, and the timer that it waited for before.
    burst: Option<(usize, Option<Time>)>,
}

impl Reinjections {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            timer: None,
            advanced: None,
            period: IDLE_PERIOD,
            watches: vec![Watch::default(); paths],
            copies: VecDeque::new(),
            anywhere: VecDeque::new(),
            ran_out: false,
            burst: None,
        }
    }

    /// Something is to leave once more.
    #[inline]
    pub(super) fn wait(&self) -> bool {
        !self.copies.is_empty() || !self.anywhere.is_empty()
    }

    /// Nothing is sent again but by the subflows.
    pub(super) fn stop(&mut self) {
        self.timer = None;
        self.copies.clear();
        self.anywhere.clear();
    }

    /// When the timer runs out.
    pub(super) const fn timer(&self) -> Option<Time> {
        self.timer
    }
}

impl<S: Scheduler> Sender<S> {
    fn has_connection_timer(&self) -> bool {
        self.is_multipath() && self.config.rules.reinjection == Reinjection::ByConnection
    }

    /// An acknowledgement came on a subflow, whatever it says: it is not stale.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_heard(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let watch = &mut self.repeats.watches[index];
        watch.heard = Some(now);
        if core::mem::take(&mut watch.stale) {
            let state = self.core.path(index).working_state();
            self.core.set_state(now, index, state, observer);
        }
    }

    /// The data acknowledgement was at `before`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_data_acknowledged(&mut self, now: Time, before: u64) {
        if !self.has_connection_timer() || self.core.first_unacknowledged() == before {
            return;
        }
        let all = self.core.is_drained();
        self.repeats.advanced = Some(now);
        self.repeats.timer = (!all).then(|| wheel::runs_out(now, now.saturating_add(self.repeats.period)));
    }

    /// Data is about to be given to a subflow. It leaves when no more is given to that one (`tcp_push`); until then the subflow's own
    /// timer is not set for it.
    #[inline]
    pub(super) fn note_burst(&mut self, index: usize) {
        if !self.has_connection_timer() || self.core.hands_over() {
            return;
        }
        if self.repeats.burst.is_none_or(|(other, _)| other != index) {
            self.repeats.burst = None;
            self.repeats.burst = Some((index, self.pending_timer(index)));
        }
    }

    /// The scheduler is about to be asked for a subflow. With one that hands over at once, that sets the timer
    /// (`mptcp_subflow_get_send`), and not that the subflow sends.
    #[inline]
    pub(super) fn note_asked(&mut self, now: Time) {
        if self.core.hands_over() && self.core.is_to_ask() && self.has_connection_timer() {
            // A write does not restart a timer that runs (`__mptcp_push_pending`).
            self.set_period(now, self.core.has_opportunity());
        }
    }

    /// Everything has left. After the copies of its timer, the connection asks the scheduler, with any
    /// receive window (`mptcp_check_and_set_pending` at the end of `__mptcp_retrans`).
    pub(super) fn note_all_left(&mut self, now: Time) {
        self.repeats.burst = None;
        if core::mem::take(&mut self.repeats.ran_out) && self.core.hands_over() && self.core.has_unassigned()
        {
            self.set_period(now, false);
        }
    }

    /// Data is given to a subflow by the scheduler.
    pub(super) fn note_given(&mut self, now: Time) {
        if self.has_connection_timer() && !self.core.hands_over() {
            self.set_period(now, true);
        }
    }

    /// The timer takes as long as the most patient of the subflows' own (`mptcp_set_timeout`).
    fn set_period(&mut self, now: Time, anew: bool) {
        let own = (0..self.core.paths().len()).filter(|&index| self.repeats.watches[index].silent == 0);
        let longest = own.filter_map(|index| self.pending_timer(index)).fold(now, Time::max);
        let left = longest.since(now);
        self.repeats.period = if left.is_zero() { IDLE_PERIOD } else { left };
        // What an acknowledgement lets out is given before the timer is set for it (`ack_update_msk`).
        if anew && self.repeats.advanced == Some(now) || self.repeats.timer.is_none() {
            self.repeats.timer = Some(wheel::runs_out(now, now.saturating_add(self.repeats.period)));
        }
    }

    /// The one that a subflow waits for: the answer to its SYN, a loss, the tail's probe, or the retransmission timeout.
    fn pending_timer(&self, index: usize) -> Option<Time> {
        if let Some((_, timer)) = self.repeats.burst.filter(|&(path, _)| path == index) {
            return timer;
        }
        let subflow = &self.core.path(index).recovery;
        if let Phase::Opening { retry, confirming: false, .. } = subflow.phase {
            return Some(retry);
        }
        let own = [subflow.loss_timer, subflow.probe_timer, self.core.path(index).retransmission_timer];
        let earliest = timer(own.into_iter().map(moment).fold(Time::MAX, Time::min))?;
        Some(subflow.linux.due.map_or(earliest, |due| due.min(earliest)))
    }

    /// Looks whether the timer has run out.
    pub(super) fn handle_connection_timer(&mut self, now: Time, observer: &mut impl Observer) {
        if self.repeats.timer.is_none_or(|timer| timer > now) {
            return;
        }
        self.repeats.timer = None;
        self.repeats.ran_out = true;
        let idle = self.look_for_idle(now, observer);
        let sent = self.core.first_unacknowledged() < self.core.sent_end();
        if let Some(index) = idle
            && sent
        {
            self.repeat_fragment(PathId(index as u8));
        }
        if !self.core.is_drained() {
            self.repeats.timer = Some(wheel::runs_out(now, now.saturating_add(self.repeats.period)));
        }
        self.core.note_opportunity();
    }

    /// The first subflow in the order of their opening that has nothing under way; the others are watched.
    fn look_for_idle(&mut self, now: Time, observer: &mut impl Observer) -> Option<usize> {
        let initial = self.config.initial_path.index();
        let mut idle = None;
        let others = (0..self.core.paths().len()).filter(move |&index| index != initial);
        for index in std::iter::once(initial).chain(others) {
            if self.core.path(index).recovery.phase != Phase::Open {
                continue;
            }
            let flight = &self.core.path(index).flight;
            let path = PathId(index as u8);
            let gives = self.repeats.copies.iter().any(|&(other, _)| other == path);
            if flight.next() > flight.first() || self.core.path(index).has_committed() || gives {
                self.watch(now, index, observer);
            } else {
                idle = idle.or(Some(index));
            }
        }
        idle
    }

    /// A subflow has not delivered what it carries.
    fn watch(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let watch = &mut self.repeats.watches[index];
        if watch.silent == 0 {
            watch.heard_before = watch.heard;
            watch.silent = 1;
            return;
        }
        if watch.heard != watch.heard_before {
            watch.silent = 0;
            return;
        }
        watch.silent = watch.silent.saturating_add(1);
        if watch.stale || watch.silent <= STALE_PERIODS {
            return;
        }
        let better = (0..self.core.paths().len()).any(|other| {
            let watch = &self.repeats.watches[other];
            let works = self.core.facts()[other].is_usable() && !watch.stale;
            other != index && works && watch.silent < STALE_PERIODS - 1
        });
        if better {
            self.repeats.watches[index].stale = true;
            self.core.set_state(now, index, PathState::PotentiallyFailed, observer);
            for segment in self.core.first_unacknowledged()..self.core.sent_end() {
                insert_ascending(&mut self.repeats.anywhere, segment);
            }
        }
    }

    /// Everything of the first fragment that was sent is sent again.
    fn repeat_fragment(&mut self, path: PathId) {
        let mut segment = self.core.first_unacknowledged();
        let Some(offset) = self.core.offset_of(segment) else { return };
        let end = self.core.fragment_end(offset);
        while self.core.offset_of(segment).is_some_and(|offset| offset < end) {
            if self.core.was_sent(segment) {
                self.repeats.copies.push_back((path, segment));
            }
            segment += 1;
        }
    }

    /// A copy that leaves now because the connection's timer ran out.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_timed_copy(&mut self) -> Option<(usize, u64)> {
        while let Some(&(path, segment)) = self.repeats.copies.front() {
            let index = path.index();
            let lets_in = || self.core.has_window_for(index, segment) && self.core.admits_on(index, segment);
            if !self.is_unacknowledged(segment) {
                self.repeats.copies.pop_front();
            } else if self.core.commits() || lets_in() {
                self.repeats.copies.pop_front();
                return Some((index, segment));
            } else {
                break;
            }
        }
        None
    }

    /// A copy that leaves now because a subflow is stale.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next_stale(&mut self) -> Option<(usize, u64)> {
        while let Some(&segment) = self.repeats.anywhere.front() {
            if !self.is_unacknowledged(segment) {
                self.repeats.anywhere.pop_front();
                continue;
            }
            self.core.update_facts();
            let open = plait_sched::usable(self.core.facts())
                .filter(|path| self.core.has_window_for(path.id.index(), segment))
                .filter(|path| self.core.admits_on(path.id.index(), segment))
                .min_by_key(|path| path.srtt)?;
            self.repeats.anywhere.pop_front();
            return Some((open.id.index(), segment));
        }
        None
    }

    fn is_unacknowledged(&self, segment: u64) -> bool {
        self.core.is_in_flight(segment)
    }
}

/// Pages that a segment's payload lies on: two if the end of a full fragment is in it.
pub(super) fn pages(segment: &TcpSegment) -> u8 {
    let last = segment.offset.saturating_add(u64::from(segment.data.bytes.saturating_sub(1)));
    1 + u8::from(last >= full_fragment_end(segment.offset))
}
