//! Sending: the scheduler decides, and noq is polled with the window of one path.

use super::connection::Connection;
use super::facts;
use super::gate::{News, Opening};
use super::lane::{KEEP_ALIVE, Lane, payload};
use crate::link::Outgoing;
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
enum Left {
    /// Packets were sent.
    All,
    /// noq has no more data.
    Nothing,
    /// There is less room than expected.
    NoRoom,
}

impl<W: Scheduler> Connection<W> {
    /// Sends everything that leaves now, once the handshake is done.
    pub(super) fn send(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        self.tell_statuses(now);
        self.shut();
        self.drain(now, out);
        if std::mem::take(&mut self.urgent) {
            self.send_control(now, Opening::Forced, out);
        }
        if !self.is_refused() {
            // Nothing needs a window: there is no data, and no frame that waits for it.
            self.backlog = 0;
            for lane in &mut self.lanes {
                lane.due = Some(now + KEEP_ALIVE);
            }
            return;
        }
        self.keep_alive(now, out);
        let before = out.len();
        self.schedule(now, out);
        if self.backlog == 0 && out.len() == before && self.is_refused() {
            // Only control frames are left, which need no decision.
            self.send_control(now, Opening::Open, out);
        }
    }

    /// Hides the windows of working paths, and clears all refusals.
    fn shut(&mut self) {
        for lane in &self.lanes {
            let Some(gate) = lane.gate() else { continue };
            let mut gate = gate.lock();
            // Path validation needs a window while there is data, though the path carries no data
            // yet.
            gate.opening = if lane.works { Opening::Shut } else { Opening::Open };
            gate.refused = false;
        }
    }

    /// Sends a packet on each path that had none for long. While there is data, frames about the
    /// path itself would wait for a decision.
    fn keep_alive(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        for index in 0..self.lanes.len() {
            let lane = &mut self.lanes[index];
            if lane.works && lane.due.is_some_and(|due| due <= now) {
                lane.due = Some(now + KEEP_ALIVE);
                self.poll_with_gate(now, index, Opening::Forced, NonZeroUsize::MIN, out, &mut 1);
            }
        }
    }

    fn is_refused(&self) -> bool {
        self.lanes.iter().filter_map(Lane::gate).any(|gate| gate.lock().refused)
    }

    /// Sends packets with the windows that noq sees now.
    fn drain(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        let (Some(line), burst) = (&mut self.line, self.burst) else { return };
        while line.transmit(now, burst, &self.locals, out) {}
        self.count(now);
    }

    /// Sends a packet on a path that is not doubtful, if there is one. Frames about paths must not
    /// wait for a decision.
    fn send_control(&mut self, now: Instant, opening: Opening, out: &mut Vec<Outgoing>) {
        let doubtful = self.doubtful(now);
        let sure = self.lanes.iter().zip(&doubtful).any(|(lane, doubtful)| lane.works && !doubtful);
        for (lane, doubtful) in self.lanes.iter().zip(&doubtful) {
            lane.set(if *doubtful && sure { Opening::Shut } else { opening });
        }
        if let Some(line) = &mut self.line {
            line.transmit(now, NonZeroUsize::MIN, &self.locals, out);
        }
        self.shut();
        self.drain(now, out);
    }

    /// Updates the backlog: subtracts the bytes that left, and adds lost bytes.
    pub(super) fn count(&mut self, now: Instant) {
        for index in 0..self.lanes.len() {
            let news = self.lanes[index].news(now);
            let (left, lost) = (payload(news.sent, news.sent_bytes), payload(news.lost, news.lost_bytes));
            let again = self.lost > 0;
            self.lost = self.lost.saturating_sub(left) + lost;
            self.backlog = self.backlog.saturating_sub(left) + lost;
            self.counters.retransmissions += u64::from(news.lost);
            self.happened(PathId(index as u8), &news, again);
        }
    }

    fn schedule(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        let time = self.time(now);
        let together = if self.interest.sent { 1 } else { self.burst.get() };
        self.wait_until = None;
        self.update(now);
        let mut run: Option<Run> = None;
        for _ in 0..MOST {
            if self.known.unassigned == 0 {
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
            let (path, wanted) = match self.scheduler.decide(time, &self.known, &self.facts) {
                Decision::Assign { path, segments } => (path.index(), segments),
                Decision::Wait { until } => {
                    self.wait_until = until;
                    break;
                }
                // Decisions beyond the declared needs have no effect.
                _ => break,
            };
            let room = self.facts.get(path).filter(|path| path.is_usable()).map_or(0, Path::room);
            let segments = wanted.min(room).min(u32::try_from(self.known.unassigned).unwrap_or(u32::MAX));
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
        self.known.unassigned -= u64::from(segments);
        self.known.window_left = self.known.window_left.saturating_sub(segments.into());
        self.known.next_segment += u64::from(segments);
    }

    /// Sends as many packets on a path as were decided. Returns true if there is more to decide.
    fn carry_out(&mut self, now: Instant, run: Run, out: &mut Vec<Outgoing>) -> bool {
        let mut to_go = run.segments;
        while let Some(most) = NonZeroUsize::new(to_go) {
            match self.poll_with_gate(now, run.path, Opening::Open, most.min(self.burst), out, &mut to_go) {
                Left::All => {}
                Left::Nothing => {
                    self.backlog = 0;
                    return false;
                }
                Left::NoRoom => return false,
            }
        }
        let doubtful = self.facts[run.path].state == PathState::PotentiallyFailed;
        let terms = self.terms.get(run.path).copied().unwrap_or_default();
        facts::one(&self.lanes[run.path], PathId(run.path as u8), terms, doubtful, &mut self.facts[run.path]);
        self.known = self.connection_facts();
        self.tell();
        true
    }

    fn poll_with_gate(
        &mut self,
        now: Instant,
        path: usize,
        opening: Opening,
        most: NonZeroUsize,
        out: &mut Vec<Outgoing>,
        to_go: &mut usize,
    ) -> Left {
        let Some(gate) = self.lanes[path].gate().cloned() else { return Left::NoRoom };
        let Some(line) = &mut self.line else { return Left::NoRoom };
        {
            let mut gate = gate.lock();
            (gate.opening, gate.refused) = (opening, false);
        }
        let polled = line.transmit(now, most, &self.locals, out);
        let refused = {
            let mut gate = gate.lock();
            gate.opening = Opening::Shut;
            gate.refused
        };
        let carried = gate.lock().news.sent as usize;
        self.next_segment += carried as u64;
        *to_go = to_go.saturating_sub(carried);
        self.count(now);
        match polled {
            true => Left::All,
            false if refused => Left::NoRoom,
            false => Left::Nothing,
        }
    }

    /// Updates all facts.
    pub(super) fn update(&mut self, now: Instant) {
        let doubtful = self.doubtful(now);
        for lane in &mut self.lanes {
            let srtt = lane.id().zip(self.line.as_ref()).and_then(|(id, line)| line.noq.rtt(id));
            lane.srtt = srtt.or(lane.srtt);
        }
        facts::look(&self.lanes, &self.terms, &doubtful, &mut self.facts);
        self.known = self.connection_facts();
    }

    /// Tells for each path whether it owes an acknowledgement for longer than one takes.
    pub(super) fn doubtful(&self, now: Instant) -> Vec<bool> {
        self.lanes.iter().map(|lane| lane.doubtful_at().is_some_and(|at| at <= now)).collect()
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
        let waits = |lane: &Lane| lane.gate().and_then(|gate| gate.lock().waiting_since);
        let paths = self.lanes.iter().enumerate();
        let (_, path) = paths.filter_map(|(index, lane)| Some((waits(lane)?, PathId(index as u8)))).min()?;
        let mut carried = PathSet::EMPTY;
        carried.insert(path);
        Some(Outstanding::new(self.next_segment.saturating_sub(in_flight), path, carried))
    }

    /// Notes the events of a path's packets for the scheduler.
    fn happened(&mut self, path: PathId, news: &News, again: bool) {
        let mut note = |event: Event| {
            if self.interest.covers(&event) {
                self.untold.push(event);
            }
        };
        for place in 0..u64::from(news.sent) {
            let segment = self.next_segment.saturating_sub(u64::from(news.sent) - place);
            note(Event::Sent { path, segment, retransmission: again });
        }
        if news.acked > 0 {
            let rtt = news.rtt.map(|rtt| Duration::from_nanos(rtt.as_nanos() as u64));
            note(Event::Acked { path, segments: news.acked, rtt });
        }
        if news.lost > 0 {
            note(Event::Lost { path, segments: news.lost });
        }
    }

    /// Tells the scheduler all noted events, which the facts already include.
    pub(super) fn tell(&mut self) {
        for event in self.untold.drain(..) {
            self.scheduler.on_event(&event, &self.known, &self.facts);
        }
    }
}
