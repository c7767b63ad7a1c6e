//! Intelligent delivery delay: assigns each segment, ahead of the windows, to the path where its
//! predicted arrival is earliest.
//!
//! # Source
//! The outlook of Alam, *Performance Evaluation of Minimum Delivery Delay Multipath TCP Scheduler
//! Implemented in Linux Kernel* (University of Bremen, 2016): "minimize the out-of-order delivery:
//! advance packet scheduling by estimating the forward paths' behaviour". It contains no algorithm,
//! but two tables of twelve packets, before and after. The tests have both tables, and the model
//! that gives exactly both. This is the simplest rule that gives the second table.
//!
//! # Prediction
//! A segment arrives when it departs plus the delivery delay of the path (as in
//! [`super::delivery_delay`]). It departs
//! * after the segments that are queued before it, one serialization time (segment size by delivery
//!   rate; zero until that is measured) for each. A path that gets little data delivers little, so
//!   the time is never more than srtt / cwnd;
//! * if the window has no room for it, when the segment a whole window before it is acknowledged: a
//!   smoothed round-trip time after that segment departed.
//!
//! The facts do not contain the departure times of segments in flight. The last one is assumed to
//! have left when the path was told to send it, or a serialization time after the one before. The
//! others are assumed to have left back to back before it.
//!
//! # How far ahead
//! A slow path gets its first segment only after the fast path got all segments that arrive earlier
//! there. These fill a window for each round trip of the fast path that fits into the delay of the
//! slow path. They must wait in the queue of the fast path, although they were assigned by older
//! facts. So nothing is assigned while no path is open: it would only bind segments to the present
//! windows and delays.
//!
//! `ahead` and the receiver's window also limit the assignments. When the queue of the best path
//! reaches `ahead` windows, the scheduler waits. So a path that is slower than this many rounds is
//! not used while the best one works. All queues are recalled and planned again when a path begins
//! or ends loss recovery, times out, fails or comes back.
//!
//! # Departures
//! * None from the slides' rule, since there is none. Of equal arrivals the path with the smaller
//!   delay wins.
//! * A path whose delay or round-trip time is not known takes the next segments while it is open,
//!   to be measured, and nothing ahead. A path that timed out takes nothing ahead either, until it
//!   acknowledges something, while another path has not timed out: the prediction does not know
//!   timeouts. A path in loss recovery takes nothing.

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
    /// The time when the last sent segment of a path has left, in nanoseconds.
    free: [u64; MAX_PATHS],
    /// Segments sent since another event; the next decision gives the exact time.
    sent: [u32; MAX_PATHS],
    /// The time of the last decision, unless an event other than a transmission has happened since.
    current: Option<Time>,
    /// A bit per path whose queue is to be recalled before any assignment.
    recalls: u32,
    /// A bit per path in loss recovery whose first loss has recalled all queues.
    repairing: u32,
    suspects: Suspects,
}

impl IntelligentDeliveryDelay {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "intelligent-delivery-delay",
        title: "Intelligent delivery delay",
        summary: "Each segment is assigned, ahead of the windows, to the path where its predicted arrival is earliest.",
        source: "Alam, Minimum Delivery Delay Multipath TCP Scheduler, University of Bremen, 2016: outlook",
        needs: Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "ahead",
            doc: "Congestion windows of segments that may wait in a path's queue. Fewer follow changes sooner; more use slower paths.",
            default: Value::Integer(64),
            domain: Domain::Integer { min: 1, max: 65_536 },
        }],
    };

    /// Creates the state with at most this many windows ahead (0 counts as 1).
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

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("ahead") as u32)
    }

    /// Notes `segments` that were sent at `now`.
    fn occupy(&mut self, now: Time, path: &Path, segments: u32) {
        let free = &mut self.free[path.id.index()];
        let time = spacing(path).saturating_mul(u64::from(segments));
        *free = now.as_nanos().max(*free).saturating_add(time);
    }

    /// The time when a segment assigned to the path now, behind `before` others, would leave; not
    /// before `now`.
    fn departure(&self, now: Time, path: &Path, before: u32) -> i64 {
        let in_flight = u64::from(path.in_flight);
        let place = in_flight + u64::from(path.queued) + u64::from(before);
        let window = u64::from(path.cwnd.max(1));
        let spacing = spacing(path);
        // A segment this many windows earlier is in flight, or there is room for it.
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

    /// The predicted arrival of a segment assigned to the path now, behind `before` others, and the
    /// path's delay, which decides ties. `None` if the path takes no such segment.
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

    /// Number of the next segments, `most` at most, that arrive first over `best`. Its assignments
    /// do not change the facts of the other paths, so one decision covers all these segments.
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

/// The largest number of segments of one decision: each needs a prediction.
const RUN: u32 = 256;

/// The arrival of a segment, and the delay of its path, in nanoseconds.
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
        // Assignments from here on stay until the next event.
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
        // A plan costs as much as the queued segments. The losses of one window reduce it once, so
        // they cause two plans: at the first loss, and at the end.
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

/// The time that a segment occupies the path, in nanoseconds.
fn spacing(path: &Path) -> u64 {
    let measured = (u64::from(path.mss) * 8 * 1_000_000_000).checked_div(path.delivery_rate).unwrap_or(0);
    // A path that got little data delivered little; it can deliver a window in a round trip.
    measured.min(path.srtt.as_nanos() / u64::from(path.cwnd.max(1)))
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
