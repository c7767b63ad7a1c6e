//! Plait: each segment goes to the path where it arrives first, by measured bottlenecks.
//!
//! # Source
//! Our own rule, from known parts:
//! * earliest arrival, with assignments ahead of the windows: Chebrolu and Rao, *Bandwidth
//!   Aggregation for Real-Time Applications in Heterogeneous Wireless Networks* (IEEE TMC 2006),
//!   and the outlook that [`super::intelligent_delivery_delay`] implements;
//! * packet trains that measure a bottleneck: Dovrolis, Ramanathan and Moore, *What Do Packet
//!   Dispersion Techniques Measure?* (IEEE INFOCOM 2001);
//! * data in flight bounded by the bandwidth-delay product: Cardwell et al., *BBR* (ACM Queue 2016);
//! * copies on idle paths: mode `when-idle` of [`super::redundant`].
//!
//! # Rules
//! 1. *Earliest arrival.* The next segment is assigned to the path where it arrives first. It
//!    arrives when the bottleneck has transmitted it, plus the path's delay without queues, plus
//!    a quarter of the round-trip variation. A segment beyond the congestion window leaves a round
//!    trip after the segment that is a window before it. Nothing is assigned while no path is open,
//!    because windows and delays may change until one is. While no written data waits, the path of
//!    the last segment has a lead of its additional delay, until the fastest path is idle. So if the
//!    application writes more than the fast paths carry, segments take a slow path in bursts, and the
//!    queues of the fast paths become empty in between. Otherwise these queues would always be as
//!    long as the additional delay. If it writes about as much as the fast paths carry, a queue
//!    lasts. A burst drains it as soon as the delay that the queue has cost exceeds half of the
//!    burst's: the queueing delay times the additional delay, and half of the square of the latter.
//! 2. *Trains.* `plait/bottleneck.rs` measures the spacing of segments at the bottleneck and
//!    follows its backlog. Until a path is measured, no segment waits in its queue.
//! 3. *Limits.* Out of slow start, at most 24 segments, or a quarter of the bandwidth-delay product
//!    and 3 segments, are in the bottleneck's queue. A burst after a stalled receive window would
//!    otherwise overflow short queues. While data waits for the receiver's window, the queue is
//!    drained to that number too: segments in a queue take up the window. A queue that has
//!    overflowed holds two fifths of its capacity, or 5 segments if that is more.
//!    A limit opens as the queue drains, so rule 1 has no round trip for a segment beyond it. If more
//!    data waits than the windows take four times, a limit counts as a window there. Otherwise fast
//!    paths with queues would take the receiver's window from slow ones.
//! 4. *Copies.* A path that has room, at most two segments at its bottleneck, and no new data to
//!    send, copies the first segment in flight elsewhere whose original arrives later than the copy.
//!    The difference must exceed a quarter of the copy's own delay, because the copy delays data of
//!    the path.
//! 5. *Last copies.* After the last byte has left the queues, a copy delays no new data. Then any
//!    difference suffices, and a path copies the oldest segment in flight elsewhere even if the
//!    prediction sees no gain.
//! 6. *First copies.* While data waits for the receiver's window, each path that has sent nothing
//!    copies the oldest segment in flight. Linux' receiver computes the window with the least
//!    favourable ratio of payload to memory of all subflows. A subflow without packets has the
//!    default ratio of one half, so an unused path makes the window smaller.
//!
//! # Readings
//! * An original counts as lost if its acknowledgement is a quarter of a round trip and four
//!   round-trip variations late, or one and a quarter round trips if that is less. After the last
//!   byte, one variation suffices. The scheduler asks to be called at that time. The
//!   retransmission arrives as late as one and a half round trips after a copy that is sent now.
//! * The oldest original counts as lost, too, if 1024 newer segments were sent.
//! * A path whose controller paces (BBR) has no limit: its controller bounds the queue.
//! * Without one-way delays, the delay is half of the smallest round trip.
//!
//! # Departures
//! * The retransmission that replaces a lost original is the engine's.
//! * A path in loss recovery takes nothing. A path that timed out takes nothing ahead, until it
//!   acknowledges something, while another path has not timed out. All queues are assigned anew
//!   when loss recovery begins or ends, a path times out, fails or comes back.
//! * Assignments may exceed limits, as they exceed windows. When the queue of the best path reaches
//!   64 windows, the scheduler waits, even if another path is open.
//! * If more is in flight than the window admits, it counts as the window.
//! * Copies cover the newest 1024 segments of the stream. Some copies are decided in vain, because
//!   the scheduler does not know which segments have arrived out of order.

use core::fmt;

use super::suspects::Suspects;
use super::{clip, room, room_now};
use crate::decision::{Capabilities, Decision, Event, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};
use bottleneck::Bottleneck;
use bursts::Bursts;
use flight::Flight;

mod arrival;
mod bottleneck;
mod bursts;
mod copies;
mod flight;
mod limits;

/// The largest number of segments of one decision: each needs a prediction.
const RUN: u32 = 256;
/// Congestion windows of segments that may wait in a path's queue.
const AHEAD: u32 = 64;
/// Congestion windows of segments that make a limit count as a window.
const PLENTY: u64 = 4;

/// The state of Plait.
#[derive(Clone, Debug)]
pub struct Plait {
    switches: Switches,
    bottlenecks: [Bottleneck; MAX_PATHS],
    flight: Flight,
    /// For each path, the first segment that may still be worth a copy there.
    cursors: [u64; MAX_PATHS],
    /// For each path, the oldest segment elsewhere whose copy was decided at this moment.
    copied: [u64; MAX_PATHS],
    /// The time of the last decision.
    now: Time,
    /// True until an event other than a transmission follows the last decision.
    exact: bool,
    /// True if a usable path has a measured one-way delay.
    one_way: bool,
    /// True if much more data waits than the windows take.
    plenty: bool,
    bursts: Bursts,
    /// A bit per path whose queue is to be recalled before any assignment.
    recalls: u32,
    /// A bit per path in loss recovery whose first loss has recalled all queues.
    repairing: u32,
    suspects: Suspects,
}

/// Rules that the user may switch off.
#[derive(Clone, Copy, Debug)]
struct Switches {
    trains: bool,
    limits: bool,
    copies: bool,
    last_copies: bool,
    first_copies: bool,
}

impl Plait {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "plait",
        title: "Plait",
        summary: "Each segment goes to the path where it arrives first, by measured bottlenecks; short queues, and copies on idle paths.",
        source: "Plait",
        needs: Capabilities {
            assign_ahead: true,
            recall: true,
            reinject: true,
            limit: true,
            uncarried: true,
            ..Capabilities::NONE
        },
        parameters: &[
            ParameterInfo {
                name: "trains",
                doc: "Measure the bottleneck of each path by packet trains; otherwise a path delivers a congestion window per round trip.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
            ParameterInfo {
                name: "limits",
                doc: "Bound the queue at the bottleneck of each path.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
            ParameterInfo {
                name: "copies",
                doc: "Copy segments on idle paths where the copy arrives earlier.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
            ParameterInfo {
                name: "last_copies",
                doc: "With copies: copy more after the last byte has left the queues.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
            ParameterInfo {
                name: "first_copies",
                doc: "With copies: while data waits for the receiver's window, each measured path that has sent nothing sends a copy.",
                default: Value::Boolean(true),
                domain: Domain::Boolean,
            },
        ],
    };

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let switches = Switches {
            trains: parameters.boolean("trains"),
            limits: parameters.boolean("limits"),
            copies: parameters.boolean("copies"),
            last_copies: parameters.boolean("last_copies"),
            first_copies: parameters.boolean("first_copies"),
        };
        Self {
            switches,
            bottlenecks: [const { Bottleneck::NEW }; MAX_PATHS],
            flight: Flight::NONE,
            cursors: [0; MAX_PATHS],
            copied: [u64::MAX; MAX_PATHS],
            now: Time::ZERO,
            exact: false,
            one_way: false,
            plenty: false,
            bursts: Bursts::NONE,
            recalls: 0,
            repairing: 0,
            suspects: Suspects::NONE,
        }
    }

    const fn bottleneck(&self, path: &Path) -> &Bottleneck {
        &self.bottlenecks[path.id.index()]
    }

    /// The next assignment, if there is one.
    fn assign(&self, connection: &Connection, paths: &[Path]) -> Option<(PathId, u32)> {
        let sendable = connection.sendable();
        if sendable == 0 || !paths.iter().any(|path| room_now(path, paths) > 0) {
            return None;
        }
        let lead = self.lead(connection, paths);
        let key = |path: &Path, before| {
            let (arrival, delay) = self.arrival(path, paths, before)?;
            let lead = if path.id == self.bursts.last { lead } else { 0 };
            Some((arrival.saturating_sub(lead), delay))
        };
        let mut best: Option<(Key, &Path)> = None;
        let mut rival = None;
        for path in usable(paths).take(MAX_PATHS) {
            let Some(key) = key(path, 0) else { continue };
            if best.is_none_or(|(best, _)| key < best) {
                rival = best.replace((key, path));
            } else if rival.is_none_or(|(rival, _)| key < rival) {
                rival = Some((key, path));
            }
        }
        let (_, best) = best?;
        let left = best.cwnd.max(1).saturating_mul(AHEAD).saturating_sub(best.queued);
        let most = clip(left, sendable).min(RUN);
        let other_open = paths.iter().any(|path| path.id != best.id && room_now(path, paths) > 0);
        // Assignments do not change the facts of the other paths, so one decision covers all
        // segments that arrive first over this path.
        let wins = |before: &u32| {
            let open = other_open || room_now(best, paths) > *before;
            let key = key(best, *before).filter(|_| open);
            key.is_some_and(|key| rival.is_none_or(|(other, path)| (key, best.id) < (other, path.id)))
        };
        let segments = 1 + (1..most).take_while(wins).count() as u32;
        (most > 0).then_some((best.id, segments))
    }
}

/// The arrival of a segment, and the delay of its path, in nanoseconds.
type Key = (i64, i64);

impl Scheduler for Plait {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if !self.exact || self.now != now {
            (self.now, self.exact) = (now, true);
            self.copied = [u64::MAX; MAX_PATHS];
            self.one_way = usable(paths).any(|path| path.forward_delay.is_some());
            let windows: u64 = paths.iter().map(|path| u64::from(path.cwnd)).sum();
            let several = connection.window_left.saturating_add(windows * PLENTY);
            self.plenty = connection.unassigned > several;
            for path in paths.iter().take(MAX_PATHS) {
                self.bottlenecks[path.id.index()].refresh(now, path, self.switches.trains);
            }
        }
        if self.switches.limits
            && let Some(limit) = self.limited(connection, paths)
        {
            return limit;
        }
        let waits = |path: &&Path| path.queued > 0 && self.recalls >> path.id.0 & 1 == 1;
        if let Some(path) = paths.iter().take(MAX_PATHS).find(waits) {
            self.recalls &= !(1 << path.id.0);
            return Decision::Recall { path: path.id };
        }
        // Assignments from here on stay until the next event.
        self.recalls = 0;
        self.note_writes(connection, paths);
        if let Some((path, segments)) = self.assign(connection, paths) {
            self.bursts.last = path;
            return Decision::Assign { path, segments };
        }
        if self.switches.copies
            && connection.sendable() == 0
            && let Some((path, segment)) = self.copy(connection, paths)
        {
            return Decision::Reinject { path, segment };
        }
        let next = [self.next_limit(connection, paths), self.next_copy(connection, paths)];
        Decision::Wait { until: next.into_iter().flatten().min() }
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let decision = self.decide(now, connection, paths);
        if let Decision::Assign { path: best, .. } = decision {
            // Writing to a text in memory cannot fail.
            let _ = self.write_arrivals(best, paths, reason);
        }
        decision
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        let id = event.path();
        let (Some(path), Some(bottleneck)) = (paths.get(id.index()), self.bottlenecks.get_mut(id.index()))
        else {
            return;
        };
        match *event {
            Event::Sent { segment, retransmission, .. } => {
                bottleneck.on_sent(self.now, self.exact, path);
                let departure = bottleneck.corrected_free(self.now, path);
                let (bottlenecks, one_way) = (&self.bottlenecks, self.one_way);
                let arrival = |path, departure| arrival(bottlenecks, one_way, path, departure, paths);
                self.flight.on_sent(segment, id, departure, retransmission, arrival);
                return;
            }
            Event::Acked { segments, rtt, .. } => bottleneck.on_acked(segments, rtt),
            Event::Lost { segments, .. } => bottleneck.on_lost(self.now, segments, path),
            Event::PathUp { .. } => *bottleneck = Bottleneck::NEW,
            _ => bottleneck.end_train(),
        }
        self.exact = false;
        self.suspects.on_event(event);
        let bit = 1 << id.0;
        let all = match *event {
            Event::Acked { .. } => self.repairing & bit != 0 && !path.repairing,
            Event::Lost { .. } => self.repairing & bit == 0,
            _ => true,
        };
        if !matches!(event, Event::Acked { .. }) {
            self.cursors = [0; MAX_PATHS];
        }
        if matches!(event, Event::Timeout { .. } | Event::PathDown { .. }) {
            self.flight.forget(id);
        }
        if all {
            // A plan costs as much as the queued segments. The losses of one window cause two
            // plans: at the first loss, and at the end of loss recovery.
            self.repairing = self.repairing & !bit | if path.repairing { bit } else { 0 };
            self.recalls = u32::MAX;
        }
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }
}

/// The arrival of a segment that left the bottleneck of a path at `departure`.
fn arrival(
    bottlenecks: &[Bottleneck; MAX_PATHS],
    one_way: bool,
    path: PathId,
    departure: u64,
    paths: &[Path],
) -> i64 {
    let delay = paths.get(path.index()).and_then(|path| bottlenecks[path.id.index()].delay(path, one_way));
    delay.map_or(i64::MAX, |delay| signed(departure).saturating_add(delay))
}

fn signed(nanos: u64) -> i64 {
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
