//! The sender's state of one path: queued data, data in flight, window and timers.

use super::facts::Stale;
use super::flight::Flight;
use super::pacer::Pacer;
use super::rate::DeliveryRate;
use super::room::Fit;
use super::transmission::Transmission;
use super::{ConnectionConfig, CoreRules, Counters, NEVER, Outgoing, PathNews, PathTotals};
use crate::congestion::{CongestionConfig, CongestionController, CongestionEvent, Controller};
use crate::rtt::RttEstimator;
use plait_sched::{Duration, PathId, PathState, Time};
use std::collections::VecDeque;

/// The sender's configuration of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathConfig {
    /// To be used only while no other path works.
    pub backup: bool,
    /// Cost of using the path, in units of the user's choice.
    pub cost: u32,
    /// The path's share of the traffic, relative to the weights of the others.
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
    /// Present if packets are paced.
    pub(super) pacer: Option<Pacer>,
    /// Segments wait in a write queue of the path ([`CoreRules::write_queues`]).
    pub(super) has_write_queue: bool,
    /// See [`CoreRules::limited_at_writes`].
    pub(super) limited_at_writes: bool,
    /// Losses that were reported to congestion control, if it samples rates.
    pub(super) lost_told: u64,
    /// Events on this path.
    pub(crate) counters: Counters,
    /// News of the acknowledgement that is being read.
    pub(crate) news: PathNews,
    /// Loss recovery: the protocol's own state of the path.
    pub(crate) recovery: R,
    /// Congestion control: sets the congestion window.
    pub(crate) control: Controller,
    pub(super) fit: Fit,
    /// Bytes that a full segment counts in windows.
    pub(crate) segment: u64,
    /// Bytes that the window must have left for a full segment.
    pub(super) headroom: u64,
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
    /// The receiver's window that the path itself received, from the first byte not acknowledged on
    /// the path; `u64::MAX` if there is only the connection's window.
    pub(crate) own_window: u64,
    /// Bytes of memory above which the path takes no new data, if memory is counted; `u64::MAX` if
    /// not.
    pub(super) send_memory: u64,
    /// The last new data of the path: its time, and the segment behind it.
    pub(super) last_new: (Time, u64),
    /// The scheduler wants the window halved, at the next acknowledgement.
    pub(crate) penalty: bool,
    /// Losses are being repaired in a way that admits no new data.
    pub(crate) recovering: bool,
    /// The burst after a pause: its moment, and how often each of its packets halves the window.
    pub(super) restart: Option<(Time, u32)>,
    /// When the last packet left.
    pub(crate) last_sent: Time,
    /// Round-trip times, and the timeout that follows from them.
    pub(crate) rtt: RttEstimator,
    /// Transmissions in flight.
    pub(crate) flight: Flight,
    /// Assigned, not sent yet, ascending within one assignment.
    pub(crate) queue: VecDeque<u64>,
    /// The path's write queue: accepted segments that its own window holds back, in sending order.
    pub(super) committed: VecDeque<Outgoing>,
    /// Payload bytes of [`PathSender::committed`].
    pub(super) committed_bytes: u64,
    /// Lost segments to be retransmitted on this path, ascending. Those acknowledged meanwhile are
    /// skipped at the head.
    pub(super) retransmissions: VecDeque<u64>,
    /// How many of them were not acknowledged meanwhile.
    pub(super) waiting: u32,
    /// Copies to send on this path.
    pub(super) reinjections: VecDeque<u64>,
    /// Copies in flight whose segments arrived on other paths: segment and transmission, by
    /// segment.
    pub(super) superseded: VecDeque<(u64, u64)>,
    /// Acknowledgements on the path have reported transmissions below this number, and none above.
    pub(super) told_below: u64,
    /// Possible causes of the acknowledgement at hand: number and segment of the first, and the
    /// lowest segment of all.
    pub(super) candidate: Option<(u64, u64, u64)>,
    /// The round trips of transmissions before this one are over.
    pub(super) due_below: u64,
    pub(crate) retransmission_timer: Time,
    /// One-way delays from the transport's timestamps.
    pub(crate) delays: Option<OneWayDelays>,
    /// Timeouts in a row, without anything newly acknowledged.
    pub(crate) errors: u32,
    /// Consecutive timeouts without any packet that came back on the path.
    pub(crate) silence: u32,
    /// The transmission whose round trip is measured, if the flight remembers settled ones: one per
    /// round trip (RFC 9260 §6.3.1 C4).
    pub(crate) timed: Option<u64>,
    /// A window is halved at most once for losses among transmissions before this one.
    pub(crate) recovery_end: u64,
    /// Retransmissions that may leave regardless of the window (RFC 9260 §7.2.4, rule 3).
    pub(crate) exempt_retransmissions: u32,
    /// Until when the window is not halved for idleness.
    pub(super) idle_from: Time,
    /// Bytes in flight that the burst limit allows until the next opportunity; `u64::MAX` without
    /// one.
    pub(super) burst_limit: u64,
    pub(super) backup: bool,
    /// It carries no data any more.
    spent: bool,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Of the lost, those that arrived late.
    pub(crate) late: u64,
    pub(super) delivery: DeliveryRate,
}

/// Smoothed one-way delays in nanoseconds. Both contain the offset between the two ends' clocks,
/// with opposite signs. So only differences between paths of a connection are meaningful; the sum
/// is the round trip.
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
            has_write_queue: rules.write_queues,
            limited_at_writes: rules.limited_at_writes,
            pacer: None,
            lost_told: 0,
            counters: Counters::default(),
            recovery,
            news: PathNews::default(),
            control: Controller::new(&CongestionConfig {
                seed: config.congestion.seed.wrapping_add(u64::from(id.0)),
                ..config.congestion.clone()
            }),
            fit: match (rules.overshoots, config.window_in_packets) {
                (true, _) => Fit::Overshoots,
                (_, true) => Fit::InPackets,
                _ => Fit::InBytes,
            },
            segment: config.counted_segment(),
            headroom: if rules.overshoots { 1 } else { config.counted_segment() },
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
            retransmission_timer: NEVER,
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
        if path.control.pacing_rate().is_none() {
            path.pacer = rules.paces_windows.then(|| Pacer::of_window(config.congestion.initial_window));
        } else {
            path.pacer = Some(Pacer::of_rate(rules.paces_single_packets));
            path.flight.sample_rates(if path.fit == Fit::InPackets { path.segment } else { 0 });
        }
        path
    }

    /// Replaces the path by `fresh`, a new path over another network. Counters and numbers
    /// continue.
    pub(super) fn renew(&mut self, fresh: Self) {
        let Self { counters, flight, sent, lost, late, last_sent, recovery_end, delivery, .. } =
            core::mem::replace(self, fresh);
        self.counters = counters;
        (self.sent, self.lost, self.late, self.last_sent) = (sent, lost, late, last_sent);
        // Losses of the network before are no news to congestion control.
        self.lost_told = lost;
        (self.flight, self.recovery_end) = (flight, recovery_end);
        self.delivery.total = delivery.total;
    }

    /// Notes that the arrival of this copy may have caused the current acknowledgement. A path
    /// delivers in order, so transmissions that caused earlier acknowledgements do not qualify.
    pub(crate) fn may_have_arrived(&mut self, segment: u64, transmission: u64) {
        if transmission < self.told_below {
            return;
        }
        let (first, of, lowest) = self.candidate.unwrap_or((u64::MAX, 0, u64::MAX));
        let lowest = lowest.min(segment);
        self.candidate =
            Some(if transmission < first { (transmission, segment, lowest) } else { (first, of, lowest) });
    }

    /// Notes a copy in flight whose segment arrived through another transmission.
    pub(crate) fn supersede(&mut self, segment: u64, transmission: u64) {
        let place = self.superseded.partition_point(|&(other, _)| other < segment);
        self.superseded.insert(place, (segment, transmission));
    }

    /// Takes the transmission of a reported copy. Forgets earlier entries that left the flight
    /// otherwise.
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

    #[cfg_attr(not(debug_assertions), inline(always))]
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

    /// Retires the path: it carries no more data.
    pub(crate) fn spend(&mut self) {
        self.spent = true;
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Whether a round trip is being measured. One that takes too long is forgotten.
    pub(super) fn times(&self) -> bool {
        self.timed.is_some_and(|number| self.flight.remembered(number).is_some())
    }

    /// Notes that the segment of a transmission is retransmitted. A `lost` transmission gives no
    /// round-trip sample any more (Karn's rule, RFC 9260 §6.3.1 C5). Of one in flight, the report of
    /// duplicates may still tell whether it arrived.
    pub(super) fn repeats(&mut self, number: u64, lost: bool) {
        self.flight.doubt(number);
        self.timed = self.timed.filter(|&timed| !lost || timed != number);
    }

    /// Samples the round trip of a transmission that was declared lost, but arrived, before a
    /// retransmission. Without such samples, a timeout below the round trip would never grow.
    pub(super) fn arrived_late(&mut self, now: Time, number: u64) {
        if self.timed == Some(number) {
            self.timed = None;
            if let Some(sent) = self.flight.remembered(number).filter(|sent| sent.first_time()) {
                self.rtt.sample_there(now.since(sent.sent_at));
            }
        }
    }

    /// Restarts the retransmission timer now.
    #[inline]
    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.retransmission_timer = now.saturating_add(self.rtt.rto());
    }

    /// Tells congestion control about an event.
    #[inline]
    pub(crate) fn note_congestion(&mut self, now: Time, event: CongestionEvent) {
        self.control.on_event(now, event);
        self.touch();
    }

    /// The path is open, and carries data from now on. Returns its state. The window is halved for
    /// idleness after a timeout without data.
    pub(crate) fn open(&mut self, now: Time) -> PathState {
        self.idle_from = now;
        self.touch();
        self.working_state()
    }

    /// Notes a timeout: sent data was not acknowledged in time.
    pub(crate) fn note_timeout(&mut self) {
        self.errors += 1;
        self.silence += 1;
        self.touch();
    }

    /// Records the round trip of a handshake. Schedulers see it once the path is
    /// [open](Self::open).
    pub(crate) fn note_handshake(&mut self, now: Time, round_trip: Duration) {
        self.rtt.sample(round_trip);
        self.control.on_event(now, CongestionEvent::Measured { round_trip });
    }

    /// Starts recovery: it includes all transmissions in flight now.
    #[inline]
    pub(crate) fn begin_recovery(&mut self) {
        self.recovery_end = self.flight.next();
    }

    /// Handles congestion that a transmission met. Returns true and starts recovery, unless the
    /// transmission belongs to a recovery that started before: each window of data is cut once.
    #[inline]
    pub(crate) fn begins_recovery(&mut self, transmission: u64) -> bool {
        let begins = transmission >= self.recovery_end;
        if begins {
            self.begin_recovery();
        }
        begins
    }
}
