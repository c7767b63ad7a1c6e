//! Intelligent delivery delay: each segment is assigned, ahead of the windows, to the path over which it is predicted
//! to arrive first.
//!
//! # Source
//! The outlook of Alam, *Performance Evaluation of Minimum Delivery Delay Multipath TCP Scheduler Implemented in Linux
//! Kernel* (University of Bremen, 2016): "minimize the out-of-order delivery: advance packet scheduling by estimating
//! the forward paths' behaviour". There is no algorithm, but two tables of twelve packets, before and after: the tests
//! have them, and the model in which both come out exactly. This is the simplest rule that gives the second one.
//!
//! # Prediction
//! A segment arrives when it departs plus the delivery delay of the path (as in [`super::delivery_delay`]). It departs
//! * after what waits and leaves before it, one serialization time (segment size by delivery rate; zero until that is
//!   measured) for each segment. A path that is given little delivers little, so it is never more than srtt / cwnd;
//! * if there is no room for it in the window, when the segment a whole window before it is acknowledged: a smoothed
//!   round-trip time after that one departed.
//!
//! When a segment in flight departed is not among the facts: the last is taken to have left when the path was told to
//! send it, or a serialization time after the one before, and the others back to back before it.
//!
//! # How far ahead
//! A slow path gets its first segment only when the fast one has been given all that arrives earlier there: as many
//! windows as its round trip fits into the delay of the slow one. So much must wait in the queue of the fast path,
//! and what waits was assigned by what was known earlier. So nothing is assigned while no path is open: it would only
//! bind segments to windows and delays of now. `ahead` bounds it too, and the receiver's window does. When `ahead` is
//! reached on the path that is best, the scheduler waits: a path that is slower than so many rounds is not used while
//! the best one works. Everything is recalled and planned again when a path begins or ends
//! to repair losses, times out, fails or comes back.
//!
//! # Departures
//! * None of the slides' rule, as there is none. Ties are decided for the path with the smaller delay.
//! * A path whose delay or round-trip time is not known takes the next segments while it is open, to be measured, and
//!   nothing ahead. Nor does one that timed out, until it acknowledges something, while another one is better off: the
//!   prediction knows nothing of timeouts. A path in loss recovery takes nothing.

use super::delivery_delay::delays;
use super::suspects::Suspects;
use super::{clip, room, room_now};
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// The state of intelligent delivery delay.
#[derive(Clone, Debug)]
pub struct IntelligentDeliveryDelay {
    ahead: u32,
    /// When the last segment that was sent on a path has left, in nanoseconds.
    free: [u64; MAX_PATHS],
    /// Segments sent since something else happened: when exactly, the next decision shows.
    sent: [u32; MAX_PATHS],
    /// When the last decision was made, unless something but a transmission has happened since.
    current: Option<Time>,
    /// A bit per path whose queue is to be recalled before anything is assigned.
    recalls: u32,
    /// A bit per path that repairs losses of which the first has recalled everything.
    repairing: u32,
    suspects: Suspects,
}

impl IntelligentDeliveryDelay {
    /// What the registry says about it.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "intelligent-delivery-delay",
        title: "Intelligent delivery delay",
        summary: "Each segment is assigned, ahead of the windows, to the path over which it is predicted to arrive first.",
        source: "Alam, Minimum Delivery Delay Multipath TCP Scheduler, University of Bremen, 2016: outlook",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "ahead",
            doc: "Congestion windows that may wait in a path's queue. Fewer follow changes sooner; more use slower paths.",
            default: Value::Integer(64),
            domain: Domain::Integer { min: 1, max: 65_536 },
        }],
    };

    /// With so many windows ahead at most (0 counts as 1).
    pub const fn new(ahead: u32) -> Self {
        Self {
            ahead: if ahead == 0 { 1 } else { ahead },
            free: [0; MAX_PATHS],
            sent: [0; MAX_PATHS],
            current: None,
            recalls: 0,
            repairing: 0,
            suspects: Suspects::NONE,
        }
    }

    /// From checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("ahead") as u32)
    }

    /// Takes note of `segments` that were sent at `now`.
    fn occupy(&mut self, now: Time, path: &Path, segments: u32) {
        let free = &mut self.free[path.id.index()];
        let time = spacing(path).saturating_mul(u64::from(segments));
        *free = now.as_nanos().max(*free).saturating_add(time);
    }

    /// When a segment assigned to the path now, behind `before` others, would leave; not before `now`.
    fn departure(&self, now: Time, path: &Path, before: u32) -> i64 {
        let in_flight = u64::from(path.in_flight);
        let place = in_flight + u64::from(path.queued) + u64::from(before);
        let window = u64::from(path.cwnd.max(1));
        let spacing = spacing(path);
        // So many windows before it is a segment that is in flight, or for which there is room.
        let rounds = if place < window { 0 } else { (place - in_flight.max(window)) / window + 1 };
        let place = place - rounds * window;
        let free = signed(self.free[path.id.index()]);
        let now = signed(now.as_nanos());
        let first = if place < in_flight {
            free.saturating_sub(signed(spacing.saturating_mul(in_flight - place)))
        } else {
            free.max(now).saturating_add(signed(spacing.saturating_mul(place - in_flight)))
        };
        let round = path.srtt.as_nanos();
        first.saturating_add(signed(round.saturating_mul(rounds))).max(now)
    }

    /// When a segment assigned to the path now, behind `before` others, is predicted to arrive, and the path's delay, which
    /// decides ties. None if the path takes no such segment.
    fn arrival(&self, now: Time, path: &Path, paths: &[Path], before: u32) -> Option<Key> {
        let has_room = room(path) > before;
        if path.in_recovery || (!has_room && self.suspects.excludes(path, paths)) {
            return None;
        }
        match delays(paths)(path).filter(|_| path.has_rtt()) {
            Some(delay) => Some((self.departure(now, path, before).saturating_add(delay), delay)),
            None => has_room.then_some((i64::MIN, i64::MIN)),
        }
    }

    /// How many of the next segments, `most` at most, arrive first over `best`: the facts of the others do not change while
    /// it takes them, so one decision stands for as many.
    fn run(&self, now: Time, best: &Path, rival: Option<(Key, &Path)>, paths: &[Path], most: u32) -> u32 {
        let other_open = paths.iter().any(|path| path.id != best.id && room_now(path, paths) > 0);
        let wins = |before: &u32| {
            let open = other_open || room_now(best, paths) > *before;
            let key = self.arrival(now, best, paths, *before).filter(|_| open);
            key.is_some_and(|key| rival.is_none_or(|(other, path)| (key, best.id) < (other, path.id)))
        };
        1 + (1..most.min(RUN)).take_while(wins).count() as u32
    }
}

/// The segments that one decision assigns at most: each takes a prediction.
const RUN: u32 = 256;

/// When a segment arrives, and the delay of its path, in nanoseconds.
type Key = (i64, i64);

impl Scheduler for IntelligentDeliveryDelay {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.current.replace(now).is_none() {
            for path in paths.iter().take(MAX_PATHS) {
                match core::mem::take(&mut self.sent[path.id.index()]) {
                    0 => {}
                    sent => self.occupy(now, path, sent),
                }
            }
        }
        let waits = |path: &&Path| path.queued > 0 && self.recalls >> path.id.0 & 1 == 1;
        if let Some(path) = paths.iter().take(MAX_PATHS).find(waits) {
            self.recalls &= !(1 << path.id.0);
            return Decision::Recall { path: path.id };
        }
        // What is assigned from here on stays, until something happens again.
        self.recalls = 0;
        if connection.sendable() == 0 || !paths.iter().any(|path| room_now(path, paths) > 0) {
            return Decision::WAIT;
        }
        let mut best: Option<(Key, &Path)> = None;
        let mut rival = None;
        for path in usable(paths).take(MAX_PATHS) {
            let Some(key) = self.arrival(now, path, paths, 0) else { continue };
            if best.is_none_or(|(best, _)| key < best) {
                rival = best.replace((key, path));
            } else if rival.is_none_or(|(rival, _)| key < rival) {
                rival = Some((key, path));
            }
        }
        let Some((_, path)) = best else { return Decision::WAIT };
        match path.cwnd.max(1).saturating_mul(self.ahead).saturating_sub(path.queued) {
            0 => Decision::WAIT,
            left => {
                let most = clip(left, connection.sendable());
                Decision::Assign { path: path.id, segments: self.run(now, path, rival, paths, most) }
            }
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        if let Event::Sent { path, .. } = *event {
            let Some(path) = paths.get(path.index()) else { return };
            match self.current {
                Some(now) => self.occupy(now, path, 1),
                None => self.sent[path.id.index()] += 1,
            }
            return;
        }
        self.current = None;
        self.suspects.on_event(event);
        let repairs = |path: PathId| paths.get(path.index()).is_some_and(|path| path.repairing);
        // A plan costs what waits. The losses of one window reduce it once, so they have two: at the first, and at the end.
        self.recalls = match *event {
            Event::Lost { path, .. } if self.repairing >> path.0 & 1 == 0 => {
                self.repairing |= u32::from(repairs(path)) << path.0;
                u32::MAX
            }
            Event::Acked { path, .. } if self.repairing >> path.0 & 1 == 1 && !repairs(path) => {
                self.repairing &= !(1 << path.0);
                u32::MAX
            }
            Event::Lost { .. } | Event::Acked { .. } | Event::Sent { .. } => self.recalls,
            Event::Timeout { .. } | Event::PathDown { .. } | Event::PathUp { .. } => u32::MAX,
        };
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }
}

/// How long a segment occupies the path, in nanoseconds.
fn spacing(path: &Path) -> u64 {
    let measured = (u64::from(path.mss) * 8 * 1_000_000_000).checked_div(path.delivery_rate).unwrap_or(0);
    // A path that was given little delivered little; it can deliver a window in a round trip.
    measured.min(path.srtt.as_nanos() / u64::from(path.cwnd.max(1)))
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
