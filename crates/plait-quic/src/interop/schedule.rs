//! Sending: the scheduler decides, and noq is polled with the window of one path.

use super::connection::Connection;
use super::controller::{PacketCounts, WindowMode};
use super::facts;
use super::slot::{KEEP_ALIVE, PathSlot, payload};
use crate::connection::DatagramBatch;
use plait_sched::{
    Connection as Facts, Decision, Duration, Event, Outstanding, Path, PathId, PathSet, PathState, Scheduler,
};
use std::num::NonZeroUsize;
use std::time::Instant;

/// Most decisions of one call, in case a scheduler answers without end.
const MOST: usize = 1 << 16;

/// Decisions for one path that are carried out together.
#[derive(Clone, Copy, Debug)]
struct Run {
    path: usize,
    segments: usize,
}

/// Result of polling noq with the window of one path.
enum PollResult {
    /// Packets were sent.
    Sent,
    /// noq has no more data.
    NoData,
    /// There is less room than expected.
    NoRoom,
}

impl<W: Scheduler> Connection<W> {
    /// Sends everything that leaves now, once the handshake is done.
    pub(super) fn send(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        self.send_path_statuses(now);
        self.hide_windows();
        self.drain(now, out);
        if std::mem::take(&mut self.urgent) {
            self.send_control(now, WindowMode::Unlimited, out);
        }
        if !self.is_refused() {
            // Nothing needs a window: there is no data, and no frame that waits for it.
            self.backlog = 0;
            for slot in &mut self.slots {
                slot.keep_alive_at = Some(now + KEEP_ALIVE);
            }
            return;
        }
        self.keep_alive(now, out);
        let before = out.len();
        self.schedule(now, out);
        if self.backlog == 0 && out.len() == before && self.is_refused() {
            // Only control frames are left, which need no decision.
            self.send_control(now, WindowMode::Visible, out);
        }
    }

    /// Hides the windows of working paths, and clears all refusals.
    fn hide_windows(&mut self) {
        for slot in &self.slots {
            let Some(controller) = slot.controller() else { continue };
            let mut controller = controller.lock();
            // Path validation needs a window while there is data, though the path carries no data
            // yet.
            controller.window_mode = if slot.works { WindowMode::Hidden } else { WindowMode::Visible };
            controller.refused = false;
        }
    }

    /// Sends a packet on each path that had none for long. While there is data, frames about the
    /// path itself would wait for a decision.
    fn keep_alive(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            if slot.works && slot.keep_alive_at.is_some_and(|due| due <= now) {
                slot.keep_alive_at = Some(now + KEEP_ALIVE);
                self.poll_with_window(now, index, WindowMode::Unlimited, NonZeroUsize::MIN, out, &mut 1);
            }
        }
    }

    fn is_refused(&self) -> bool {
        self.slots.iter().filter_map(PathSlot::controller).any(|controller| controller.lock().refused)
    }

    /// Sends packets with the windows that noq sees now.
    fn drain(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let (Some(connection), burst) = (&mut self.connection, self.burst) else { return };
        while connection.transmit(now, burst, &self.locals, out) {}
        self.count(now);
    }

    /// Sends a packet on a path that is not doubtful, if there is one. Frames about paths must not
    /// wait for a decision.
    fn send_control(&mut self, now: Instant, window_mode: WindowMode, out: &mut Vec<DatagramBatch>) {
        let doubtful = self.doubtful(now);
        let sure = self.slots.iter().zip(&doubtful).any(|(slot, doubtful)| slot.works && !doubtful);
        for (slot, doubtful) in self.slots.iter().zip(&doubtful) {
            slot.set_window_mode(if *doubtful && sure { WindowMode::Hidden } else { window_mode });
        }
        if let Some(connection) = &mut self.connection {
            connection.transmit(now, NonZeroUsize::MIN, &self.locals, out);
        }
        self.hide_windows();
        self.drain(now, out);
    }

    /// Updates the backlog: subtracts the bytes that left, and adds lost bytes.
    pub(super) fn count(&mut self, now: Instant) {
        for index in 0..self.slots.len() {
            let counts = self.slots[index].counts(now);
            let (left, lost) =
                (payload(counts.sent, counts.sent_bytes), payload(counts.lost, counts.lost_bytes));
            let retransmission = self.lost > 0;
            self.lost = self.lost.saturating_sub(left) + lost;
            self.backlog = self.backlog.saturating_sub(left) + lost;
            self.counters.retransmissions += u64::from(counts.lost);
            self.note_packet_events(PathId(index as u8), &counts, retransmission);
        }
    }

    fn schedule(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let time = self.time(now);
        let together = if self.interest.sent { 1 } else { self.burst.get() };
        self.wait_until = None;
        self.update(now);
        let mut run: Option<Run> = None;
        for _ in 0..MOST {
            if self.connection_facts.unassigned == 0 {
                // The backlog is an estimate: only noq knows.
                let Some(run) = run.take() else { break };
                if self.carry_out(now, run, out) {
                    continue;
                }
                return;
            }
            if self.waits_without_room && self.facts.iter().all(|path| path.room() == 0) {
                break;
            }
            let (path, wanted) = match self.scheduler.decide(time, &self.connection_facts, &self.facts) {
                Decision::Assign { path, segments } => (path.index(), segments),
                Decision::Wait { until } => {
                    self.wait_until = until;
                    break;
                }
                // Decisions beyond the declared needs have no effect.
                Decision::Reinject { .. }
                | Decision::Recall { .. }
                | Decision::Limit { .. }
                | Decision::Penalize { .. }
                | Decision::Defer => break,
            };
            let room = self.facts.get(path).filter(|path| path.is_usable()).map_or(0, Path::room);
            let segments =
                wanted.min(room).min(u32::try_from(self.connection_facts.unassigned).unwrap_or(u32::MAX));
            if segments == 0 {
                break;
            }
            if let Some(other) = run.take_if(|run| run.path != path || run.segments >= together)
                && !self.carry_out(now, other, out)
            {
                return;
            }
            self.assigned(path, segments);
            run.get_or_insert(Run { path, segments: 0 }).segments += segments as usize;
        }
        if let Some(run) = run {
            self.carry_out(now, run, out);
        }
    }

    /// Updates the facts as if these segments had left.
    fn assigned(&mut self, path: usize, segments: u32) {
        self.facts[path].in_flight += segments;
        self.connection_facts.unassigned -= u64::from(segments);
        self.connection_facts.window_left = self.connection_facts.window_left.saturating_sub(segments.into());
        self.connection_facts.next_segment += u64::from(segments);
    }

    /// Sends as many packets on a path as were decided. Returns true if there is more to decide.
    fn carry_out(&mut self, now: Instant, run: Run, out: &mut Vec<DatagramBatch>) -> bool {
        let mut to_go = run.segments;
        while let Some(most) = NonZeroUsize::new(to_go) {
            match self.poll_with_window(
                now,
                run.path,
                WindowMode::Visible,
                most.min(self.burst),
                out,
                &mut to_go,
            ) {
                PollResult::Sent => {}
                PollResult::NoData => {
                    self.backlog = 0;
                    return false;
                }
                PollResult::NoRoom => return false,
            }
        }
        let doubtful = self.facts[run.path].state == PathState::PotentiallyFailed;
        let terms = self.terms.get(run.path).copied().unwrap_or_default();
        facts::update(
            &self.slots[run.path],
            PathId(run.path as u8),
            terms,
            doubtful,
            &mut self.facts[run.path],
        );
        self.connection_facts = self.connection_facts();
        self.notify_scheduler();
        true
    }

    fn poll_with_window(
        &mut self,
        now: Instant,
        path: usize,
        window_mode: WindowMode,
        most: NonZeroUsize,
        out: &mut Vec<DatagramBatch>,
        to_go: &mut usize,
    ) -> PollResult {
        let Some(controller) = self.slots[path].controller().cloned() else { return PollResult::NoRoom };
        let Some(connection) = &mut self.connection else { return PollResult::NoRoom };
        {
            let mut controller = controller.lock();
            (controller.window_mode, controller.refused) = (window_mode, false);
        }
        let polled = connection.transmit(now, most, &self.locals, out);
        let refused = {
            let mut controller = controller.lock();
            controller.window_mode = WindowMode::Hidden;
            controller.refused
        };
        let carried = controller.lock().counts.sent as usize;
        self.next_segment += carried as u64;
        *to_go = to_go.saturating_sub(carried);
        self.count(now);
        match polled {
            true => PollResult::Sent,
            false if refused => PollResult::NoRoom,
            false => PollResult::NoData,
        }
    }

    /// Updates all facts.
    pub(super) fn update(&mut self, now: Instant) {
        let doubtful = self.doubtful(now);
        for slot in &mut self.slots {
            let srtt =
                slot.id().zip(self.connection.as_ref()).and_then(|(id, connection)| connection.noq.rtt(id));
            slot.srtt = srtt.or(slot.srtt);
        }
        facts::update_all(&self.slots, &self.terms, &doubtful, &mut self.facts);
        self.connection_facts = self.connection_facts();
    }

    /// Tells for each path whether it owes an acknowledgement for longer than one takes.
    pub(super) fn doubtful(&self, now: Instant) -> Vec<bool> {
        self.slots.iter().map(|slot| slot.doubtful_at().is_some_and(|at| at <= now)).collect()
    }

    fn connection_facts(&self) -> Facts {
        let each = self.segment.max(1);
        let in_flight: u64 = self.facts.iter().map(|path| u64::from(path.in_flight)).sum();
        let backlog = self.backlog.div_ceil(each);
        let window = self.window / each;
        Facts {
            unassigned: backlog.max(1) + self.more / each,
            next_segment: self.next_segment,
            // The window admits the data that noq has taken.
            window_left: window.saturating_sub(in_flight).max(backlog.max(1)),
            window,
            send_buffer_left: u64::MAX,
            oldest_unacked: self.oldest(in_flight),
            finished: self.more == 0,
            ..Facts::default()
        }
    }

    /// Assumes that the data in flight is the data sent last.
    fn oldest(&self, in_flight: u64) -> Option<Outstanding> {
        let waits =
            |slot: &PathSlot| slot.controller().and_then(|controller| controller.lock().waiting_since);
        let paths = self.slots.iter().enumerate();
        let (_, path) = paths.filter_map(|(index, slot)| Some((waits(slot)?, PathId(index as u8)))).min()?;
        let mut carried = PathSet::EMPTY;
        carried.insert(path);
        Some(Outstanding::new(self.next_segment.saturating_sub(in_flight), path, carried))
    }

    /// Notes the events of a path's packets for the scheduler.
    fn note_packet_events(&mut self, path: PathId, counts: &PacketCounts, retransmission: bool) {
        let mut note = |event: Event| {
            if self.interest.covers(&event) {
                self.pending_events.push(event);
            }
        };
        for index in 0..u64::from(counts.sent) {
            let segment = self.next_segment.saturating_sub(u64::from(counts.sent) - index);
            note(Event::Sent { path, segment, retransmission });
        }
        if counts.acked > 0 {
            let rtt = counts.rtt.map(|rtt| Duration::from_nanos(rtt.as_nanos() as u64));
            note(Event::Acked { path, segments: counts.acked, rtt });
        }
        if counts.lost > 0 {
            note(Event::Lost { path, segments: counts.lost });
        }
    }

    /// Tells the scheduler all noted events, which the facts already include.
    pub(super) fn notify_scheduler(&mut self) {
        for event in self.pending_events.drain(..) {
            self.scheduler.on_event(&event, &self.connection_facts, &self.facts);
        }
    }
}
