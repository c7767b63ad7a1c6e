//! Asking the scheduler and executing its decisions.

use super::{Core, MAX_DECISIONS_PER_OPPORTUNITY, MAX_QUEUED, PathSender, insert_ascending};
use crate::congestion::{CongestionController, CongestionEvent};
use crate::error::{Error, SchedulerFault};
use crate::observer::{Observer, decide_with_reason};
use plait_sched::{Connection, Decision, PathId, Scheduler, Time};

/// How often the scheduler was asked since something happened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asking {
    decisions: u64,
    /// Segments that it assigned and did not take back: the decisions that had an effect.
    assigned: u64,
    /// The last assignment leaves at once and takes all room that the facts showed.
    full: bool,
}

/// Assigned segments that leave next, without passing through the path's queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce {
    pub(super) index: usize,
    pub(super) segments: u32,
}

impl<S: Scheduler, R> Core<S, R> {
    /// Lets the application write, if there is room. True if the scheduler must be asked again.
    pub(crate) fn write_on(&mut self) -> bool {
        let released = self.hands_down || core::mem::take(&mut self.left_while_blocked);
        if released {
            self.release_buffer();
        }
        let more = self.buffer.write_on(self.stream.frontier_offset());
        if more || released || self.fills_window {
            self.limit_segments();
        }
        self.wrote |= more;
        self.ask_again |= more;
        more
    }

    /// Limits segments to the end of a write. In Linux' MPTCP they also end with the receiver's
    /// window (`mptcp_check_allowed_size` in net/mptcp/protocol.c).
    pub(crate) fn limit_segments(&mut self) {
        let window = if self.fills_window() { self.window.end() } else { u64::MAX };
        self.stream.set_limit(self.buffer.written().unwrap_or(u64::MAX).min(window));
    }

    /// Lets the scheduler decide until it waits, if anything happened since the last time. Stops
    /// early if segments are to leave [at once](Core::send_at_once), and goes on after them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn run_scheduler(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error> {
        if self.at_once.is_none() {
            self.begin_asking(now);
            while self.ask(now, observer)? && self.at_once.is_none() {}
        }
        Ok(())
    }

    /// Starts asking the scheduler until it waits, if anything happened since the last time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn begin_asking(&mut self, now: Time) {
        if self.opportunity || self.ask_again {
            self.begin_anew(now);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn begin_anew(&mut self, now: Time) {
        if self.opportunity {
            self.note_idleness(now);
            if self.config.max_burst > 0 {
                self.limit_bursts();
            }
        }
        self.opportunity = false;
        self.ask_again = false;
        self.wrote = false;
        self.wake = None;
        self.asking = Some(Asking::default());
        self.limit_segments();
    }

    /// True if the scheduler hands data to a path's own buffer at once, and the path keeps it
    /// ([`Scheduler::send_memory`]).
    pub(crate) fn hands_over(&self) -> bool {
        self.autotuned
    }

    /// True if Linux asks its scheduler. It does after an acknowledgement that leaves room in the
    /// receiver's window (`ack_update_msk` in net/mptcp/options.c). It does after each write, with
    /// any window (`mptcp_sendmsg` in net/mptcp/protocol.c).
    pub(crate) fn is_to_ask(&self) -> bool {
        self.has_unassigned() && (self.wrote || self.opportunity && self.window_segments() > 0)
    }

    /// Lets the scheduler decide once, if it is being asked. True if it decided something and must
    /// be asked again.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn ask(&mut self, now: Time, observer: &mut impl Observer) -> Result<bool, Error> {
        let Some(asking) = self.asking.take() else { return Ok(false) };
        if asking.decisions >= u64::from(MAX_DECISIONS_PER_OPPORTUNITY) + asking.assigned {
            return Err(Error::Scheduler { at: now, fault: SchedulerFault::NeverWaits });
        }
        self.note_next_packet();
        // Pacing opens paths between acknowledgements, so the scheduler is always asked.
        let alone = self.waits_without_room && !observer.hears_decisions() && !self.paces;
        if alone && !self.any_room(asking.full) {
            // Nobody asks when there is nothing to decide about, and that is no waiting either.
            let queued = self.asks_on && self.queued_segments > 0;
            self.counters.waits +=
                u64::from(core::mem::take(&mut self.backlog) || queued || self.has_unassigned());
            self.wake = None;
            return Ok(false);
        }
        let mut connection = self.look_at_connection();
        self.look_at_messages(&mut connection);
        // With an empty data queue, the scheduler may still copy segments, or recall them from a
        // path's queue. Linux' MPTCP asks while anything waits there (`mptcp_sched_pending`,
        // `ask_again` in linux/schedulers/facts.c), and once more: only by asking it learns that
        // nothing waits.
        let waits = (self.needs.recall || self.asks_on) && self.queued_segments > 0;
        if connection.unassigned == 0 && !self.needs.reinject && !waits && !self.backlog {
            return Ok(false);
        }
        self.backlog = false;
        self.look_at_paths();
        let decision = match observer.hears_decisions() {
            true => decide_with_reason(&mut self.scheduler, observer, now, &connection, &self.facts),
            false => self.scheduler.decide(now, &connection, &self.facts),
        };
        observer.decided(now, &decision, &connection, &self.facts);
        if let Decision::Wait { until } = decision {
            // Asked again at this very moment, it would wait for ever without time passing.
            if let Some(past) = until.filter(|&until| until <= now) {
                return Err(Error::Scheduler { at: now, fault: SchedulerFault::PastWait(past) });
            }
            self.counters.waits += 1;
            self.wake = until;
            return Ok(false);
        }
        if let Decision::Assign { path, .. } = decision
            && self.queued_segments >= MAX_QUEUED as u64
            && self.paths.get(path.index()).is_some_and(|path| path.queue.len() >= MAX_QUEUED)
        {
            // It waits until some of its queue has left.
            self.counters.waits += 1;
            return Ok(false);
        }
        self.counters.decisions += 1;
        let queued_before = self.queued_segments;
        self.carry_out(now, &decision, &connection, alone)
            .map_err(|fault| Error::Scheduler { at: now, fault })?;
        self.backlog = self.asks_on && !self.hands_over() && self.queued_segments > 0;
        let queued = self.queued_segments + self.at_once.map_or(0, |leaving| u64::from(leaving.segments));
        let within = |leaving: AtOnce| !self.needs.assign_ahead && self.room() == u64::from(leaving.segments);
        self.asking = Some(Asking {
            decisions: asking.decisions + 1,
            assigned: (asking.assigned + queued).saturating_sub(queued_before),
            full: self.at_once.is_some_and(within),
        });
        Ok(true)
    }

    /// Updates the size of the next new packet: the facts say whether it has room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note_next_packet(&mut self) {
        let full = self.config.counted_segment();
        let next = match self.stream.recalled() == 0 && self.stream.holds_full(1) {
            true => full,
            false => self.stream.next_packet().map_or(full, |bytes| self.counted(bytes)),
        };
        if next != self.next_packet {
            self.next_packet = next;
            for index in 0..self.paths.len() {
                self.paths[index].set_next_packet(next);
                self.paths[index].touch_amounts();
            }
        }
    }

    /// Executes a decision. With `alone`, the scheduler answers the same and nothing shows whether
    /// assigned segments pass through a queue.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_out(
        &mut self,
        now: Time,
        decision: &Decision,
        connection: &Connection,
        alone: bool,
    ) -> Result<(), SchedulerFault> {
        match *decision {
            Decision::Assign { path, segments } => {
                if segments == 0 {
                    return Err(SchedulerFault::NothingAssigned(path));
                }
                self.check_usable(path)?;
                let wanted = u64::from(segments);
                if wanted > connection.unassigned {
                    return Err(SchedulerFault::OverAssigned { wanted, unassigned: connection.unassigned });
                }
                let room = || u64::from(self.facts[path.index()].room()).min(connection.window_left);
                if !self.needs.assign_ahead && wanted > room() {
                    return Err(SchedulerFault::Undeclared("assign-ahead"));
                }
                // A short packet takes less of a window than a waiting one: the next answer may differ.
                if alone && self.leaves_next(path) && self.stream.holds_full(wanted) {
                    self.at_once = Some(AtOnce { index: path.index(), segments });
                    return Ok(());
                }
                self.assign(path, segments);
                Ok(())
            }
            Decision::Recall { path } => {
                let paths = self.paths.len();
                if path.index() >= paths {
                    return Err(SchedulerFault::UnknownPath { path, paths });
                }
                if !self.needs.recall {
                    return Err(SchedulerFault::Undeclared("recall"));
                }
                self.recall(path.index());
                Ok(())
            }
            Decision::Reinject { path, segment } => {
                if !self.needs.reinject {
                    return Err(SchedulerFault::Undeclared("reinject"));
                }
                self.check_usable(path)?;
                self.copy(path, segment).map(|_| ()).ok_or(SchedulerFault::NeverSent(segment))
            }
            Decision::Limit { path, in_flight } => {
                let paths = self.facts.len();
                let facts =
                    self.facts.get_mut(path.index()).ok_or(SchedulerFault::UnknownPath { path, paths })?;
                if !self.needs.limit {
                    return Err(SchedulerFault::Undeclared("limit"));
                }
                if in_flight == 0 {
                    return Err(SchedulerFault::ClosedLimit(path));
                }
                facts.limit = in_flight;
                Ok(())
            }
            Decision::Penalize { path } => {
                let paths = self.paths.len();
                let sender =
                    self.paths.get_mut(path.index()).ok_or(SchedulerFault::UnknownPath { path, paths })?;
                if !self.needs.penalize {
                    return Err(SchedulerFault::Undeclared("penalize"));
                }
                if self.penalties_wait {
                    sender.penalty = true;
                } else {
                    sender.control.on_event(now, CongestionEvent::Penalty);
                    self.paths[path.index()].touch();
                }
                Ok(())
            }
            Decision::Defer => {
                if !self.needs.messages {
                    return Err(SchedulerFault::Undeclared("messages"));
                }
                self.stream.defer();
                Ok(())
            }
            Decision::Wait { .. } => Ok(()),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn check_usable(&self, path: PathId) -> Result<(), SchedulerFault> {
        let paths = self.facts.len();
        let facts = self.facts.get(path.index()).ok_or(SchedulerFault::UnknownPath { path, paths })?;
        if facts.is_usable() { Ok(()) } else { Err(SchedulerFault::UnusablePath(path, facts.state)) }
    }

    /// True if no other data would leave before, or beside, newly assigned segments of the path. The
    /// facts are up to date.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leaves_next(&self, path: PathId) -> bool {
        !self.paths[path.index()].has_write_queue
            && !self.retransmits
            && !self.may_copy
            && self.queued_segments == 0
            && self.stream.recalled() == 0
            && !self.facts.iter().any(|path| path.lost + path.queued > 0)
    }

    /// Moves segments to the queue of a path, as many as it takes.
    pub(super) fn assign(&mut self, path: PathId, segments: u32) {
        let index = path.index();
        if self.autotuned {
            self.limit_burst(segments);
        }
        if self.paths[index].has_write_queue {
            self.fill_last(index);
        }
        let room = MAX_QUEUED.saturating_sub(self.paths[index].queue.len());
        for _ in 0..room.min(segments as usize) {
            let held = self.stream.frontier_offset();
            let Some(segment) = self.stream.assign(path.0) else { break };
            self.held += self.stream.frontier_offset() - held;
            // The segment goes to the end, unless it was recalled from another queue. Queues are
            // ascending, so a later segment without room at the receiver never blocks an earlier
            // one that would make room.
            insert_ascending(&mut self.paths[index].queue, segment);
            self.queued_segments += 1;
        }
        if self.autotuned {
            self.limit_segments();
        }
        self.paths[index].touch_amounts();
    }

    /// Ends a burst of Linux' own scheduler with a fragment. Its last packet ends there too, if the
    /// next data goes elsewhere (`__subflow_push_pending` in net/mptcp/protocol.c).
    fn limit_burst(&mut self, segments: u32) {
        let before_last = u64::from(segments.saturating_sub(1)) * u64::from(self.config.segment_bytes);
        if let Some(end) = self.buffer.fragment_end(self.stream.next_offset() + before_last) {
            self.stream.lower_limit(end);
        }
    }

    /// Fills the last packet of the path's queue, if that is short and the new data follows it
    /// (`can_coalesce` in `mptcp_sendmsg_frag`, net/mptcp/protocol.c).
    #[inline(never)]
    fn fill_last(&mut self, index: usize) {
        if self.stream.recalled() > 0 {
            return;
        }
        let path = &mut self.paths[index];
        // A copy stays as long as the segment that was sent before.
        let unsent = |segment: &u64| self.stream.get(*segment).is_some_and(|entry| !entry.ever_sent());
        let last = path.queue.back().copied();
        let taken = || path.committed.back().filter(|taken| taken.first_time).map(|taken| taken.data.segment);
        let Some(segment) = last.map_or_else(taken, |segment| Some(segment).filter(unsent)) else { return };
        let grown = self.stream.fill_last(segment);
        if grown == 0 {
            return;
        }
        self.held += u64::from(grown);
        if last.is_none()
            && let Some(taken) = path.committed.back_mut()
        {
            taken.data.bytes += grown;
            path.committed_bytes += u64::from(grown);
            taken.push = false;
            self.window.sent(u64::from(grown));
        }
    }

    /// Limits windows to the flight and one burst for the packets that leave now (RFC 9260 §6.1 D).
    #[inline(never)]
    fn limit_bursts(&mut self) {
        let burst = u64::from(self.config.max_burst) * self.config.counted_segment();
        for index in 0..self.paths.len() {
            let path = &mut self.paths[index];
            let before = path.window();
            path.burst_limit = path.flight.bytes() + burst;
            if path.window() != before {
                self.paths[index].touch();
            }
        }
    }

    /// Halves the window of a path that was idle for a retransmission timeout (RFC 9260 §7.2.1).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note_idleness(&mut self, now: Time) {
        let halves = !self.config.restarts_by_packet;
        for path in &mut self.paths {
            if halves && path.flight.segments() == 0 && now.since(path.idle_from) >= path.rtt.rto() {
                path.halve_for_idleness(now);
            }
        }
    }
}

impl<R> PathSender<R> {
    /// Halves the window once for each retransmission timeout without data.
    #[inline(never)]
    fn halve_for_idleness(&mut self, now: Time) {
        // Each further halving stops at the same floor, so that a long pause needs few of them.
        for _ in 0..(now.since(self.idle_from).as_nanos() / self.rtt.rto().as_nanos().max(1)).min(32) {
            self.control.on_event(now, CongestionEvent::Idle);
        }
        self.idle_from = now;
        self.touch();
    }
}
