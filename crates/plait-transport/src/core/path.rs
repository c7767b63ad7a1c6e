//! The sender's state of one path: what is queued, what is in flight, its window and its timers.

use super::committed::Taken;
use super::flight::Flight;
use super::send_buffer::PACKET_MEMORY;
use super::transmission::Transmission;
use super::{ConnectionConfig, CoreRules, Counters, PathNews, PathTotals};
use crate::congestion::{CongestionController, Controller};
use crate::rtt::RttEstimator;
use plait_sched::{Path, PathId, PathState, Time};
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

/// When a packet fits into a congestion window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fit {
    /// While one byte is left (RFC 9260 §6.1 B).
    Overshoots,
    /// As long as fewer packets are in flight than the window has, however small (Linux).
    InPackets,
    /// If all of its bytes fit (RFC 5681 §3.1, RFC 9002 §7).
    InBytes,
}

/// Which of a path's facts have changed since the scheduler saw them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stale {
    Nothing,
    /// Those about segments in flight and in queues.
    Amounts,
    Everything,
}

/// The sending half of one path. `R` is its protocol's loss recovery.
#[derive(Clone, Debug)]
pub(crate) struct PathSender<R> {
    id: PathId,
    stale: Stale,
    /// Events on this path.
    pub(crate) counters: Counters,
    /// News of the acknowledgement that is being read.
    pub(crate) news: PathNews,
    /// Loss recovery: what the protocol knows of the path beyond what all protocols share.
    pub(crate) recovery: R,
    /// Congestion control: sets the congestion window.
    pub(crate) control: Controller,
    fit: Fit,
    /// Bytes that a full segment counts in windows.
    pub(crate) segment: u64,
    /// Header bytes per segment that count in windows.
    pub(super) overhead: u64,
    /// Bytes that the next new packet of the connection counts, on whichever path it leaves.
    next_packet: u64,
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
    last_new: (Time, u64),
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
    bits_per_second: u64,
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
        Self {
            id,
            stale: Stale::Everything,
            counters: Counters::default(),
            recovery,
            news: PathNews::default(),
            control: Controller::new(&config.congestion),
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
        }
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

    /// Bytes that the window must have left for a packet that counts `bytes`.
    #[inline]
    fn wants(&self, bytes: u64) -> u64 {
        match self.fit {
            Fit::Overshoots => 1,
            Fit::InPackets => self.segment,
            Fit::InBytes => bytes,
        }
    }

    /// True if the congestion window lets a packet out that counts `bytes`.
    pub(crate) fn has_window(&self, bytes: u64) -> bool {
        self.used() + self.wants(bytes) <= self.window()
    }

    /// True if the congestion window lets a full segment out.
    pub(crate) fn has_full_window(&self) -> bool {
        self.has_window(self.segment)
    }

    /// True if the congestion window has room for a packet of `bytes` behind those that the path's own window holds back.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.used() + self.waiting_segments() * self.segment + self.wants(bytes) <= self.window()
    }

    /// True if the scheduler would be shown room on the path (`plait_sched::Path::room`).
    #[inline]
    pub(super) fn shows_room(&self) -> bool {
        let (taken, window) = (self.used() + self.wants(self.next_packet), self.window());
        taken <= window && taken + u64::from(self.unsent()) * self.segment <= window
    }

    /// Another new packet is the next one, which counts `bytes`.
    pub(super) fn set_next_packet(&mut self, bytes: u64) {
        self.next_packet = bytes;
    }

    /// Data waits: notes whether the window has no room for it.
    #[inline]
    pub(super) fn note_limit(&mut self) {
        let next = self.flight.next();
        if self.limited_before != next && self.used() + self.wants(self.next_packet) > self.window() {
            self.limited_before = next;
        }
    }

    /// True if it has something that is to be sent, again or for the first time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn has_something_waiting(&self) -> bool {
        self.unsent() > 0
    }

    /// Segments that wait, lost ones too.
    #[inline]
    fn unsent(&self) -> u32 {
        self.flight.lost() + self.waiting + self.queued()
    }

    /// Segments that wait to leave, for whatever reason.
    #[inline]
    fn queued(&self) -> u32 {
        (self.queue.len() + self.committed.len() + self.reinjections.len()) as u32
    }

    /// Packets that the path's own window holds back.
    fn waiting_segments(&self) -> u64 {
        self.committed.len() as u64
    }

    /// The number that what the path takes next leaves under.
    pub(crate) fn next_number(&self) -> u64 {
        self.flight.next() + self.waiting_segments()
    }

    /// True if what the path has sent and was not told to have arrived, without a gap, takes all the memory that it may
    /// (`sk_stream_memory_free` in include/net/sock.h). What is reported selectively stays in memory, as do packets that were
    /// lost: retransmissions take none.
    fn is_memory_full(&self) -> bool {
        self.memory() >= self.send_memory
    }

    fn memory(&self) -> u64 {
        let packets = self.next_number() - self.flight.first();
        self.flight.span_bytes() + self.committed_bytes + packets * PACKET_MEMORY
    }

    /// To a scheduler a full send buffer is like a loss that is being repaired: nothing goes in. What it has assigned and the window
    /// lets out counts as sent: each decision is carried out before the next one is asked for.
    pub(crate) fn admits_nothing_new(&self) -> bool {
        let open = || u64::from(self.open_segments(self.window())).saturating_sub(self.waiting_segments());
        let leaving = || (self.queue.len() as u64).min(open());
        self.recovering
            || self.send_memory != u64::MAX
                && self.memory() + leaving() * (self.segment + PACKET_MEMORY) >= self.send_memory
    }

    /// True if the path has memory for a new segment. It is looked at when a run of segments begins to leave, not for each of
    /// them: the scheduler's answer says how many there are (`mptcp_sendmsg_frag` in net/mptcp/protocol.c does not look).
    pub(crate) fn takes(&self, now: Time, segment: u64) -> bool {
        !self.is_memory_full() || self.last_new == (now, segment)
    }

    /// A new segment leaves.
    pub(crate) fn note_new(&mut self, now: Time, segment: u64) {
        self.last_new = (now, segment + 1);
    }

    /// What is taken of the congestion window, whatever the scheduler: the bytes in flight (RFC 5681, RFC 9260), or where
    /// windows count packets, as in Linux, a full segment for each.
    pub(crate) fn used(&self) -> u64 {
        match self.fit {
            Fit::InPackets => u64::from(self.flight.segments()) * self.segment,
            Fit::Overshoots | Fit::InBytes => self.flight.bytes(),
        }
    }

    /// Full segments that may leave until the window is full.
    fn open_segments(&self, window: u64) -> u32 {
        let left = (window + self.segment).saturating_sub(self.used() + self.wants(self.segment));
        u32::try_from(left / self.segment).unwrap_or(u32::MAX)
    }

    /// The congestion window, cut by the burst limit.
    pub(crate) fn window(&self) -> u64 {
        let window = self.reduced_window.unwrap_or(self.control.window()).min(self.burst_limit);
        window.max(self.probe_room)
    }

    /// The congestion window and the slow-start threshold in bytes, without what bounds single bursts.
    pub(super) fn congestion_window(&self) -> (u64, u64) {
        (self.reduced_window.unwrap_or(self.control.window()), self.control.slow_start_threshold())
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

    /// The path's number.
    #[inline]
    pub(crate) fn id(&self) -> PathId {
        self.id
    }

    /// Facts of the path have changed.
    #[inline]
    pub(crate) fn touch(&mut self) {
        self.stale = Stale::Everything;
    }

    /// Facts about segments in flight and in queues have changed.
    #[inline]
    pub(crate) fn touch_amounts(&mut self) {
        self.stale = self.stale.max(Stale::Amounts);
    }

    /// Brings the scheduler's facts up to date, where they have changed: several changes between two looks cost as much as one.
    #[inline]
    pub(super) fn show(&mut self, facts: &mut Path) {
        self.show_changes(facts);
        self.stale = Stale::Nothing;
    }

    /// The same for a copy of the facts.
    #[inline]
    pub(super) fn show_changes(&self, facts: &mut Path) {
        match self.stale {
            Stale::Nothing => {}
            Stale::Amounts => self.refresh_amounts(facts),
            Stale::Everything => self.refresh(facts),
        }
    }

    /// Brings all facts up to date; state, limit, cost and weight are kept there.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refresh(&self, facts: &mut Path) {
        facts.repairing = self.flight.first() < self.recovery_end;
        facts.srtt = self.rtt.smoothed();
        facts.rttvar = self.rtt.variation();
        facts.latest_rtt = self.rtt.latest();
        facts.min_rtt = self.rtt.min();
        facts.own_rtt = self.rtt.own();
        facts.rto = self.rtt.rto();
        facts.forward_delay = self.delays.map(|delays| delays.forward);
        facts.delivery_rate = self.delivery.bits_per_second;
        facts.loss_ppm =
            if self.lost == 0 { 0 } else { (1_000_000 * self.lost / self.sent.max(1)).min(1_000_000) as u32 };
        let threshold = self.control.slow_start_threshold();
        facts.ssthresh = if threshold == u64::MAX { u32::MAX } else { self.segments(threshold) };
        self.refresh_amounts(facts);
    }

    /// As [`PathSender::refresh`], for what is in flight and queued.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refresh_amounts(&self, facts: &mut Path) {
        facts.in_recovery = self.admits_nothing_new();
        (facts.cwnd, facts.in_flight) = self.shown_amounts();
        facts.lost = self.flight.lost() + self.waiting;
        facts.queued = self.queued();
        if self.fit == Fit::InPackets {
            let assigned = (self.queue.len() + self.reinjections.len()) as u64;
            facts.outstanding = u32::try_from(self.flight.next() - self.flight.first()).ok();
            facts.memory = Some(self.memory() + assigned * (self.segment + PACKET_MEMORY));
        }
    }

    /// A window in segments, rounded as the protocol lets them be in flight.
    fn segments(&self, window: u64) -> u32 {
        let rounded = window.saturating_add(self.segment - self.wants(self.segment)) / self.segment;
        u32::try_from(rounded).unwrap_or(u32::MAX)
    }

    /// Segments in flight, as schedulers see them now.
    pub(super) fn shown_in_flight(&self) -> u32 {
        self.shown_amounts().1
    }

    /// The window and the flight in segments, as schedulers see them.
    ///
    /// The window is the sum of the flight and of the room, so its rounding does not depend on the flight.
    /// Small packets in flight count as one segment at least. A small packet that fits into the window
    /// behind all waiting segments adds one segment to the window.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn shown_amounts(&self) -> (u32, u32) {
        let window = self.window();
        let cwnd = self.segments(window);
        let mut open = self.open_segments(window);
        let shown = match open {
            _ if self.flight.segments() == 0 => 0,
            0 => u32::try_from(self.used() / self.segment).unwrap_or(u32::MAX).max(cwnd).max(1),
            open => cwnd.saturating_sub(open).max(1),
        };
        if self.next_packet < self.segment && open == self.unsent() && self.shows_room() {
            open += 1;
        }
        // A window that shrank below the flight stays as it is.
        (if open > 0 { cwnd.max(shown.saturating_add(open)) } else { cwnd }, shown)
    }
}

/// Facts of a path at the start.
pub(crate) fn initial_facts(index: usize, segment_bytes: u32, path: &PathConfig) -> Path {
    let mut facts = Path::new(PathId(index as u8), segment_bytes);
    facts.state = if path.backup { PathState::Backup } else { PathState::Active };
    (facts.cost, facts.weight) = (path.cost, path.weight);
    facts
}
