//! The sender's state of one path: what is queued, what is in flight, its window and its timers.

use super::committed::Taken;
use super::facts::Stale;
use super::flight::Flight;
use super::pacer::Pacer;
use super::room::Fit;
use super::transmission::Transmission;
use super::{ConnectionConfig, CoreRules, Counters, PathNews, PathTotals};
use crate::congestion::{CongestionConfig, CongestionController, Controller};
use crate::rtt::RttEstimator;
use plait_sched::{PathId, PathState, Time};
use std::collections::VecDeque;

/// What the sender is told about a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// To be used only while no other path works.
    pub backup: bool,
    /// What using it costs, in units of the user's choice.
    pub cost: u32,
    /// Its share of what is sent, against the weights of the others.
    pub weight: u32,
}

impl Default for PathConfig {
    fn default() -> Self {
        Self { backup: false, cost: 0, weight: 1 }
    }
}

/// The sending half of one path. `R` is its protocol's loss recovery.
#[derive(Clone, Debug)]
pub(crate) struct PathSender<R> {
    pub(super) id: PathId,
    pub(super) stale: Stale,
    /// Present if congestion control states a pacing rate.
    pub(super) pacer: Option<Pacer>,
    /// Losses that congestion control was told of, where it samples rates.
    pub(super) lost_told: u64,
    /// Events on this path.
    pub(crate) counters: Counters,
    /// News of the acknowledgement that is being read.
    pub(crate) news: PathNews,
    /// Loss recovery: what the protocol knows of the path beyond what all protocols share.
    pub(crate) recovery: R,
    /// Congestion control: sets the congestion window.
    pub(crate) control: Controller,
    pub(super) fit: Fit,
    /// Bytes that a full segment counts in windows.
    pub(crate) segment: u64,
    /// Header bytes per segment that count in windows.
    pub(super) overhead: u64,
    /// Bytes that the next new packet of the connection counts, on whichever path it leaves.
    pub(super) next_packet: u64,
    /// Data waited for room in the window while the transmissions before this one were in flight.
    pub(super) limited_before: u64,
    /// The window in bytes while it is reduced step by step, instead of the controller's.
    pub(crate) reduced_window: Option<u64>,
    /// Bytes that a probe of the tail may take beyond the window.
    pub(crate) probe_room: u64,
    /// The receiver's window as the path itself was told it, from the first byte on that is not acknowledged on the path;
    /// `u64::MAX` where there is none but the connection's.
    pub(crate) own_window: u64,
    /// Bytes of memory from which on the path takes no new data, where it is reckoned; `u64::MAX` where it is not.
    pub(super) send_memory: u64,
    /// Where new data went on last: the moment, and the segment behind it.
    pub(super) last_new: (Time, u64),
    /// The scheduler wants the window halved, at the next acknowledgement.
    pub(super) penalty: bool,
    /// Losses are being repaired in a way that admits no new data.
    pub(crate) recovering: bool,
    /// The burst that begins after a pause: its moment, and how often each of its packets halves the window.
    pub(super) restart: Option<(Time, u32)>,
    /// When the last packet left.
    pub(crate) last_sent: Time,
    /// Round-trip times, and the timeout that follows from them.
    pub(crate) rtt: RttEstimator,
    /// Transmissions in flight.
    pub(crate) flight: Flight,
    /// Assigned, not sent yet, ascending within one assignment.
    pub(crate) queue: VecDeque<u64>,
    /// What the path took, and its own window holds back, in the order in which it leaves.
    pub(super) committed: VecDeque<Taken>,
    /// Payload bytes of [`PathSender::committed`].
    pub(super) committed_bytes: u64,
    /// Lost segments to be sent again on this path, ascending. Those acknowledged meanwhile are skipped when met.
    pub(super) retransmissions: VecDeque<u64>,
    /// How many of them were not acknowledged meanwhile.
    pub(super) waiting: u32,
    /// Copies to be sent on this path.
    pub(super) reinjections: VecDeque<u64>,
    /// Copies in flight of segments that arrived by others: segment and transmission, ascending by segment.
    pub(super) superseded: VecDeque<(u64, u64)>,
    /// Acknowledgements on the path have told of transmissions before this one, and not of others.
    pub(super) told_below: u64,
    /// Possible causes of the acknowledgement at hand: number and segment of the first, and the
    /// lowest segment of all.
    pub(super) candidate: Option<(u64, u64, u64)>,
    /// The round trips of transmissions before this one are over.
    pub(super) due_below: u64,
    pub(crate) retransmission_timer: Option<Time>,
    /// One-way delays as the transport's timestamps tell them.
    pub(crate) delays: Option<OneWayDelays>,
    /// Timeouts in a row, without anything newly acknowledged.
    pub(super) errors: u32,
    /// Timeouts in a row, without any packet that came back on the path, whatever it said.
    pub(super) silence: u32,
    /// The transmission whose round trip is being measured: one per round trip (RFC 9260 §6.3.1 C4).
    pub(super) timed: Option<u64>,
    /// A window is halved at most once for losses among transmissions before this one.
    pub(crate) recovery_end: u64,
    /// Retransmissions that may leave whatever the window says (RFC 9260 §7.2.4, rule 3).
    pub(super) exempt_retransmissions: u32,
    /// Until when the window is not halved for idleness.
    pub(super) idle_from: Time,
    /// Bytes in flight that the burst limit allows until the next opportunity; `u64::MAX` without one.
    pub(super) burst_limit: u64,
    pub(super) backup: bool,
    /// It carries no data any more.
    spent: bool,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Of the lost, those that arrived late.
    pub(super) late: u64,
    pub(super) delivery: DeliveryRate,
}

/// Delivery rate: bytes acknowledged per smoothed round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryRate {
    since: Time,
    bytes: u64,
    total: u64,
    pub(super) bits_per_second: u64,
}

impl DeliveryRate {
    fn acknowledged(&mut self, now: Time, bytes: u64, round_trip: plait_sched::Duration) {
        self.bytes += bytes;
        self.total += bytes;
        let span = now.since(self.since);
        if !round_trip.is_zero() && span >= round_trip {
            self.bits_per_second =
                u64::try_from(u128::from(self.bytes) * 8_000_000_000 / u128::from(span.as_nanos()))
                    .unwrap_or(u64::MAX);
            self.bytes = 0;
            self.since = now;
        }
    }
}

/// Smoothed one-way delays in nanoseconds. Both contain the offset between the two ends' clocks, with opposite signs:
/// between the paths of a connection, differences mean something; the sum is the round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneWayDelays {
    /// Towards the receiver.
    pub forward: i64,
    /// Back to the sender.
    pub backward: i64,
}

impl<R> PathSender<R> {
    pub(crate) fn new(
        id: PathId,
        config: &ConnectionConfig,
        rules: &CoreRules,
        path: &PathConfig,
        recovery: R,
    ) -> Self {
        let rtt = RttEstimator::new(config.rto);
        let mut path = Self {
            id,
            stale: Stale::Everything,
            pacer: None,
            lost_told: 0,
            counters: Counters::default(),
            recovery,
            news: PathNews::default(),
            control: Controller::new(&CongestionConfig {
                seed: config.congestion.seed.wrapping_add(u64::from(id.0)),
                ..config.congestion
            }),
            fit: match (rules.overshoots, config.window_in_packets) {
                (true, _) => Fit::Overshoots,
                (_, true) => Fit::InPackets,
                _ => Fit::InBytes,
            },
            segment: config.counted_segment(),
            overhead: u64::from(config.counted_overhead),
            next_packet: config.counted_segment(),
            limited_before: 0,
            reduced_window: None,
            probe_room: 0,
            restart: None,
            own_window: u64::MAX,
            send_memory: u64::MAX,
            last_new: (Time::ZERO, u64::MAX),
            penalty: false,
            recovering: false,
            last_sent: Time::ZERO,
            flight: Flight::new(rules),
            queue: VecDeque::with_capacity(64),
            committed: VecDeque::new(),
            committed_bytes: 0,
            retransmissions: VecDeque::with_capacity(64),
            waiting: 0,
            reinjections: VecDeque::new(),
            superseded: VecDeque::new(),
            told_below: 0,
            candidate: None,
            due_below: 0,
            retransmission_timer: None,
            delays: None,
            rtt,
            errors: 0,
            silence: 0,
            timed: None,
            recovery_end: 0,
            exempt_retransmissions: 0,
            idle_from: Time::ZERO,
            burst_limit: u64::MAX,
            backup: path.backup,
            spent: false,
            sent: 0,
            lost: 0,
            late: 0,
            delivery: DeliveryRate::default(),
        };
        if path.control.pacing_rate().is_some() {
            path.pacer = Some(Pacer::new());
            path.flight.sample_rates(if path.fit == Fit::InPackets { path.segment } else { 0 });
        }
        path
    }

    /// Another network is in its place, of which nothing is known: `fresh` is a path at its beginning.
    pub(super) fn renew(&mut self, fresh: Self) {
        let Self { counters, flight, sent, lost, late, last_sent, recovery_end, delivery, .. } =
            core::mem::replace(self, fresh);
        self.counters = counters;
        (self.sent, self.lost, self.late, self.last_sent) = (sent, lost, late, last_sent);
        (self.flight, self.recovery_end) = (flight, recovery_end);
        self.delivery.total = delivery.total;
    }

    /// The arrival of this copy may have caused the acknowledgement at hand. A path keeps the order,
    /// so causes of earlier acknowledgements are none.
    pub(crate) fn may_have_arrived(&mut self, segment: u64, transmission: u64) {
        if transmission < self.told_below {
            return;
        }
        let (first, of, lowest) = self.candidate.unwrap_or((u64::MAX, 0, u64::MAX));
        let lowest = lowest.min(segment);
        self.candidate =
            Some(if transmission < first { (transmission, segment, lowest) } else { (first, of, lowest) });
    }

    /// A copy in flight whose segment arrived by another one.
    pub(crate) fn supersede(&mut self, segment: u64, transmission: u64) {
        let place = self.superseded.partition_point(|&(other, _)| other < segment);
        self.superseded.insert(place, (segment, transmission));
    }

    /// Such a copy is reported: its transmission. Those before it that left the flight otherwise are forgotten.
    pub(crate) fn take_superseded(&mut self, segment: u64) -> Option<u64> {
        while let Some(&(front, transmission)) = self.superseded.front()
            && front < segment
            && !self.flight.get(transmission).is_some_and(Transmission::is_in_flight)
        {
            self.superseded.pop_front();
        }
        let place = self.superseded.binary_search_by_key(&segment, |&(other, _)| other).ok()?;
        self.superseded.remove(place).map(|(_, transmission)| transmission)
    }

    pub(crate) fn note_delivery(&mut self, now: Time, bytes: u64) {
        let round_trip = self.rtt.smoothed();
        self.delivery.acknowledged(now, bytes, round_trip);
    }

    pub(super) fn totals(&self) -> PathTotals {
        let lost = self.lost.saturating_sub(self.late);
        PathTotals { sent: self.sent, lost, acknowledged: self.delivery.total }
    }

    /// The state that the path has when it works.
    pub(crate) fn working_state(&self) -> PathState {
        match self.backup {
            _ if self.spent => PathState::Failed,
            true => PathState::Backup,
            false => PathState::Active,
        }
    }

    /// It carries no data from now on.
    pub(crate) fn spend(&mut self) {
        self.spent = true;
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }
}
