//! The connection's own retransmissions, independent of those of its subflows: by Linux' timer, and
//! after a long silence of a subflow.
//!
//! Sources: `__mptcp_retrans`, `mptcp_set_timeout`, `mptcp_subflow_get_retrans` and
//! `__mptcp_retransmit_pending_data` in net/mptcp/protocol.c, `mptcp_pm_subflow_chk_stale` in
//! net/mptcp/pm.c, `mptcp_pm_nl_subflow_chk_stale` in net/mptcp/pm_kernel.c.
//!
//! While data acknowledgements advance, the timer restarts. When it expires, a subflow without
//! unacknowledged data retransmits the first unacknowledged fragment. Subflows with unacknowledged
//! data are watched. A subflow that got no acknowledgement for five such periods is *stale* if
//! another one is better off. It carries no data until an acknowledgement comes, and the connection
//! retransmits all its unacknowledged data.

use super::rules::Reinjection;
use super::sender::Sender;
use super::subflow::Phase;
use super::wheel;
use crate::core::{NEVER, full_fragment_end, insert_ascending};
use crate::observer::Observer;
use plait_sched::{Duration, PathId, PathState, Scheduler, Time};
use std::collections::VecDeque;

/// The timer's period while no timer of a subflow is pending (`TCP_RTO_MIN`).
const IDLE_PERIOD: Duration = Duration::from_millis(200);

/// Number of periods without an acknowledgement after which a subflow may be stale
/// (`net.mptcp.stale_loss_cnt`).
const STALE_PERIODS: u8 = 4;

/// Observation of a subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    /// Time of the last acknowledgement.
    heard: Option<Time>,
    /// Time of the last acknowledgement, as of the first silent period.
    heard_before: Option<Time>,
    /// Number of periods without an acknowledgement.
    silent: u8,
    stale: bool,
}

/// The data that a subflow is given at once.
#[derive(Clone, Copy, Debug)]
struct Burst {
    index: usize,
    /// The subflow's pending timer from before.
    timer: Time,
    /// The connection's timer is set for it. Until the end of the burst, only repairs change a timer
    /// that this depends on.
    given: bool,
}

/// The connection's own timer, and its retransmissions.
#[derive(Clone, Debug)]
pub(super) struct Reinjections {
    timer: Time,
    /// Time at which a data acknowledgement last advanced.
    advanced: Option<Time>,
    period: Duration,
    watches: Vec<Watch>,
    /// Copies for subflows that were idle when the timer expired.
    copies: VecDeque<(PathId, u64)>,
    /// Segments that any working subflow retransmits, ascending.
    anywhere: VecDeque<u64>,
    /// True if the timer has expired and its copies leave now.
    ran_out: bool,
    burst: Option<Burst>,
}

impl Reinjections {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            timer: NEVER,
            advanced: None,
            period: IDLE_PERIOD,
            watches: vec![Watch::default(); paths],
            copies: VecDeque::new(),
            anywhere: VecDeque::new(),
            ran_out: false,
            burst: None,
        }
    }

    /// True if retransmissions of the connection are queued.
    #[inline]
    pub(super) fn wait(&self) -> bool {
        !self.copies.is_empty() || !self.anywhere.is_empty()
    }

    /// Stops the connection's own retransmissions.
    pub(super) fn stop(&mut self) {
        self.timer = NEVER;
        self.copies.clear();
        self.anywhere.clear();
    }

    /// Returns the time at which the timer expires.
    pub(super) const fn timer(&self) -> Time {
        self.timer
    }
}

impl<S: Scheduler> Sender<S> {
    fn has_connection_timer(&self) -> bool {
        self.is_multipath() && self.config.rules.reinjection == Reinjection::ByConnection
    }

    /// Records an acknowledgement of any content on a subflow: the subflow is not stale.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_heard(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let watch = &mut self.repeats.watches[index];
        watch.heard = Some(now);
        if core::mem::take(&mut watch.stale) {
            let state = self.core.paths[index].working_state();
            self.core.set_state(now, index, state, observer);
        }
    }

    /// Restarts the timer if the data acknowledgement has advanced from `before`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_data_acknowledged(&mut self, now: Time, before: u64) {
        if !self.has_connection_timer() || self.core.stream.first() == before {
            return;
        }
        let all = self.core.is_drained();
        self.repeats.advanced = Some(now);
        self.repeats.timer =
            if all { NEVER } else { wheel::runs_out(now, now.saturating_add(self.repeats.period)) };
    }

    /// Records that a subflow is about to be given data. The data leaves when the subflow gets no
    /// more (`tcp_push`). Until then the subflow's own timer is not set for it.
    #[inline]
    pub(super) fn note_burst(&mut self, index: usize) {
        if !self.has_connection_timer() || self.core.hands_over() {
            return;
        }
        if self.repeats.burst.is_none_or(|other| other.index != index) {
            self.repeats.burst = None;
            self.repeats.burst = Some(Burst { index, timer: self.pending_timer(index), given: false });
        }
    }

    /// Sets the timer before the scheduler is asked for a subflow. With a scheduler that hands over
    /// data at once, the request sets the timer (`mptcp_subflow_get_send`), not the transmission.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_asked(&mut self, now: Time) {
        if self.core.hands_over() && self.core.is_to_ask() && self.has_connection_timer() {
            // A write does not restart a running timer (`__mptcp_push_pending`).
            self.set_period(now, self.core.has_opportunity());
        }
    }

    /// Records that all possible data has left. After the copies of its timer, the connection asks
    /// the scheduler, with any receive window (`mptcp_check_and_set_pending` at the end of
    /// `__mptcp_retrans`).
    pub(super) fn note_all_left(&mut self, now: Time) {
        self.repeats.burst = None;
        if core::mem::take(&mut self.repeats.ran_out) && self.core.hands_over() && self.core.has_unassigned()
        {
            self.set_period(now, false);
        }
    }

    /// Records that the scheduler has given data to a subflow.
    pub(super) fn note_given(&mut self, now: Time) {
        if let Some(burst) = &mut self.repeats.burst
            && (!core::mem::replace(&mut burst.given, true) || self.repairs)
        {
            self.set_period(now, true);
        }
    }

    /// Sets the period to the longest pending timer of the subflows (`mptcp_set_timeout`).
    #[inline(never)]
    fn set_period(&mut self, now: Time, anew: bool) {
        let own = (0..self.core.paths.len()).filter(|&index| self.repeats.watches[index].silent == 0);
        let pending = own.map(|index| self.pending_timer(index)).filter(|&timer| timer < NEVER);
        let longest = pending.fold(now, Time::max);
        let left = longest.since(now);
        self.repeats.period = if left.is_zero() { IDLE_PERIOD } else { left };
        // Data that an acknowledgement admits is given to a subflow before the timer is set for
        // that acknowledgement (`ack_update_msk`).
        if anew && self.repeats.advanced == Some(now) || self.repeats.timer == NEVER {
            self.repeats.timer = wheel::runs_out(now, now.saturating_add(self.repeats.period));
        }
    }

    /// Returns the pending timer of a subflow: the answer to its SYN, a loss, the tail probe, or
    /// the retransmission timeout.
    fn pending_timer(&self, index: usize) -> Time {
        if let Some(burst) = self.repeats.burst.filter(|burst| burst.index == index) {
            return burst.timer;
        }
        let path = &self.core.paths[index];
        let subflow = &path.recovery;
        if let Phase::Opening { retry, confirming: false, .. } = subflow.phase {
            return retry;
        }
        let earliest = subflow.loss_timer.min(subflow.probe_timer).min(path.retransmission_timer);
        if earliest < NEVER { earliest.min(subflow.linux.due) } else { NEVER }
    }

    /// Handles the connection's timer, if it has expired.
    pub(super) fn handle_connection_timer(&mut self, now: Time, observer: &mut impl Observer) {
        if self.repeats.timer > now {
            return;
        }
        self.repeats.timer = NEVER;
        self.repeats.ran_out = true;
        let idle = self.look_for_idle(now, observer);
        let sent = self.core.stream.first() < self.core.sent_end;
        if let Some(index) = idle
            && sent
        {
            self.repeat_fragment(PathId(index as u8));
        }
        if !self.core.is_drained() {
            self.repeats.timer = wheel::runs_out(now, now.saturating_add(self.repeats.period));
        }
        self.core.note_opportunity();
    }

    /// Returns the first subflow without unacknowledged data, in the order of their opening.
    /// Watches the others.
    fn look_for_idle(&mut self, now: Time, observer: &mut impl Observer) -> Option<usize> {
        let initial = self.config.initial_path.index();
        let mut idle = None;
        let others = (0..self.core.paths.len()).filter(move |&index| index != initial);
        for index in std::iter::once(initial).chain(others) {
            if self.core.paths[index].recovery.phase != Phase::Open {
                continue;
            }
            let flight = &self.core.paths[index].flight;
            let path = PathId(index as u8);
            let gives = self.repeats.copies.iter().any(|&(other, _)| other == path);
            if flight.next() > flight.first() || self.core.paths[index].has_committed() || gives {
                self.watch(now, index, observer);
            } else {
                idle = idle.or(Some(index));
            }
        }
        idle
    }

    /// Watches a subflow that has not delivered its data.
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
        let better = (0..self.core.paths.len()).any(|other| {
            let watch = &self.repeats.watches[other];
            let works = self.core.facts()[other].is_usable() && !watch.stale;
            other != index && works && watch.silent < STALE_PERIODS - 1
        });
        if better {
            self.repeats.watches[index].stale = true;
            self.core.set_state(now, index, PathState::PotentiallyFailed, observer);
            for path in 0..self.core.paths.len() {
                self.core.recall(path);
            }
            for segment in self.core.stream.first()..self.core.sent_end {
                insert_ascending(&mut self.repeats.anywhere, segment);
            }
        }
    }

    /// Queues all sent segments of the first unacknowledged fragment for retransmission.
    fn repeat_fragment(&mut self, path: PathId) {
        let mut segment = self.core.stream.first();
        let Some(offset) = self.core.offset_of(segment) else { return };
        let end = self.core.buffer.fragment_end(offset).unwrap_or_else(|| full_fragment_end(offset));
        while self.core.offset_of(segment).is_some_and(|offset| offset < end) {
            if self.core.was_sent(segment) {
                self.repeats.copies.push_back((path, segment));
            }
            segment += 1;
        }
    }

    /// Returns a copy of the connection's timer, which expired. A write queue takes any.
    pub(super) fn next_timed_copy(&mut self) -> Option<(usize, u64)> {
        while let Some((path, segment)) = self.repeats.copies.pop_front() {
            if self.is_unacknowledged(segment) {
                return Some((path.index(), segment));
            }
        }
        None
    }

    /// Returns a copy that may leave now because a subflow is stale. The kernel goes back to the
    /// first unacknowledged byte (`__mptcp_retransmit_pending_data`). So copies and unsent data
    /// leave in the order of the stream, and a path that may get assigned data may get a copy.
    pub(super) fn next_stale(&mut self, now: Time) -> Option<(usize, u64)> {
        while let Some(&segment) = self.repeats.anywhere.front() {
            if !self.is_unacknowledged(segment) {
                self.repeats.anywhere.pop_front();
                continue;
            }
            self.core.update_facts();
            let assigned = self.core.path_to_commit(now);
            let is_before = |index: usize| self.core.paths[index].queue.front() < Some(&segment);
            if self.core.stream.next_segment() < segment || assigned.is_some_and(is_before) {
                return None;
            }
            let open = plait_sched::usable(self.core.facts())
                .filter(|path| self.core.has_window_for(path.id.index(), segment))
                .filter(|path| self.core.admits_on(path.id.index(), segment))
                .min_by_key(|path| path.srtt)
                .map(|path| path.id.index());
            let index = open.or(assigned)?;
            self.repeats.anywhere.pop_front();
            return Some((index, segment));
        }
        None
    }

    fn is_unacknowledged(&self, segment: u64) -> bool {
        self.core.is_in_flight(segment)
    }
}

/// Number of pages of a payload at `offset` of the stream: two if the end of a full fragment is in
/// it.
pub(super) fn pages(offset: u64, bytes: u32) -> u8 {
    let last = offset.saturating_add(u64::from(bytes.saturating_sub(1)));
    1 + u8::from(last >= full_fragment_end(offset))
}
