//! Reading acknowledgements by the standards.

use super::sender::Sender;
use super::subflow::Subflow;
use crate::congestion::{CongestionEvent, Repairing, Share};
use crate::core::{PathSender, TransmissionState, timer};
use crate::observer::Observer;
use crate::packet::tcp::Ack;
use plait_sched::{Duration, Scheduler, Time};

/// Send times of the acknowledged segments that give a round-trip sample.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// [`Time::MAX`] for none, as for `newest` zero.
    oldest: Time,
    newest: Time,
    /// Behind the highest place in the order of sending among earlier arrivals; 0 for none.
    highest_end: u64,
    /// Behind the highest place in the order of sending among the present arrivals; 0 for none.
    latest_end: u64,
    /// True if a segment arrived that was sent once and was in flight when the repair began.
    original: bool,
}

impl<S: Scheduler> Sender<S> {
    /// Reads an acknowledgement by the standard rules. Returns whether the cumulative
    /// acknowledgement advanced.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn acknowledged_by_order(
        &mut self,
        now: Time,
        index: usize,
        ack: &Ack,
        observer: &mut impl Observer,
    ) -> bool {
        let path = &mut self.core.paths[index];
        let before = path.flight.first();
        let restored = path.read_by_order(now, ack);
        let progress = path.flight.first() > before;
        let arrivals = path.news.ack.segments > 0;
        if !restored.is_empty() {
            // Segments that are in flight again need no copy on another subflow.
            self.reinjections.retain(|segment| restored.binary_search(segment).is_err());
        }
        if arrivals {
            self.note_alive(now, index, observer);
            let path = &mut self.core.paths[index];
            path.note_repaired();
            let losses = path.find_lost(now);
            if losses > 0 {
                self.core.tell_lost(index, losses);
            }
            let grow_in_recovery = self.config.connection.grow_in_recovery;
            let (path, shares) = self.core.path_and_shares(index);
            path.control_window(now, progress, grow_in_recovery, shares);
            self.core.tell_acknowledged(index);
        }
        let path = &mut self.core.paths[index];
        path.judge_probe(now, ack.duplicate.is_some());
        if progress || arrivals {
            path.arm_timers(now, progress);
        }
        progress
    }
}

impl PathSender<Subflow> {
    /// Reads the numbers and the duplicate of an acknowledgement, and judges the last reduction by
    /// them. Returns the segments that are in flight again, ascending.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_by_order(&mut self, now: Time, ack: &Ack) -> Vec<u64> {
        let before = self.flight.first();
        self.begin_news();
        self.note_duplicate(ack);
        let (latest, original) = self.read_numbers(now, ack);
        self.recovery.linux.rack.adapt(latest, self.sent);
        let progress = self.flight.first() > before;
        let restored = self.judge_reduction(now, ack, progress, original);
        if self.hears_congestion(ack) {
            self.react_to_echo(now);
        }
        self.touch();
        restored
    }

    /// Settles the transmissions that the acknowledgement reports. Returns the highest of their
    /// places in the order of sending. Also returns whether one of them was sent once and was in
    /// flight when a repair began.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read_numbers(&mut self, now: Time, ack: &Ack) -> (Option<u64>, bool) {
        let (first, next) = (self.flight.first(), self.flight.next());
        let mut sample = Sample {
            oldest: Time::MAX,
            newest: Time::ZERO,
            highest_end: self.recovery.latest_ends[0],
            latest_end: 0,
            original: false,
        };
        for number in first..ack.cumulative {
            self.settle(now, number, &mut sample);
        }
        self.recovery.arrived.advance(ack.cumulative.max(first));
        for (from, to) in ack.blocks() {
            let end = to.saturating_add(1).min(next);
            let mut number = self.recovery.arrived.first_absent(from.max(first));
            while number < end {
                self.recovery.arrived.insert(number);
                self.settle(now, number, &mut sample);
                number = self.recovery.arrived.first_absent(number + 1);
            }
        }
        let progress = self.flight.first() > first;
        if let Some(rtt) = self.round_trip(now, ack.echo, timer(sample.oldest), progress) {
            self.rtt.sample(rtt);
            self.note_progress();
            self.news.ack.rtt = Some(rtt);
            self.news.ack.newest_rtt = timer(sample.oldest).map(|_| now.since(sample.newest));
        }
        (sample.latest_end.checked_sub(1), sample.original)
    }

    /// Takes the one-way delays of a packet that came back.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn sample_delays(&mut self, now: Time, timestamp: u32, echo: u32) {
        self.recovery.clock.sample(&mut self.delays, now, timestamp, echo);
        self.touch();
    }

    /// Returns the round trip that an acknowledgement measures, if it acknowledges new data.
    /// `oldest` is the earliest send time among the newly acknowledged segments sent once.
    ///
    /// RFC 7323 §4.1 uses the echoed timestamp of the segment that caused the acknowledgement. So a
    /// retransmission is not ambiguous (Karn), and its sample ends the back-off. If the oldest
    /// segment left at that tick or later, its own send time is as valid and more precise than the
    /// clock's tick.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn round_trip(&self, now: Time, echo: u32, oldest: Option<Time>, progress: bool) -> Option<Duration> {
        let clock = &self.recovery.clock;
        if let Some(sent_at) = oldest
            && (!progress || clock.is_sent_since(echo, sent_at))
        {
            return Some(now.since(sent_at));
        }
        if progress { clock.since_sent(now, echo) } else { None }
    }

    /// Removes an arrived transmission from the flight. Only segments sent once give a round-trip
    /// sample (Karn).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn settle(&mut self, now: Time, number: u64, sample: &mut Sample) {
        let left = self.flight.leave(number, TransmissionState::Acknowledged).map(|(sent, _)| sent);
        let Some(sent) = left.or_else(|| self.flight.revive(number)) else { return };
        self.news.ack.bytes += u64::from(sent.bytes());
        self.news.ack.segments += 1;
        let order_end = sent.order(number) + 1;
        sample.latest_end = sample.latest_end.max(order_end);
        sample.original |= sent.first_time() && number < self.recovery_end;
        let plausible = sent.first_time() || now.since(sent.sent_at) >= self.rtt.min();
        if sent.first_time() && left.is_some() {
            sample.oldest = sample.oldest.min(sent.sent_at);
            sample.newest = sample.newest.max(sent.sent_at);
            let late = order_end < sample.highest_end;
            self.recovery.linux.rack.reordered |= late;
            self.counters.reorderings += u64::from(late);
        }
        // An answer sooner than the shortest round trip belongs to an earlier copy.
        if plausible {
            let subflow = &mut self.recovery;
            // RFC 8985 §6.2: the round trip of the transmission sent last.
            if order_end >= subflow.latest_ends[0] {
                subflow.latest_round_trip = now.since(sent.sent_at);
            }
            subflow.note_arrival(order_end);
        }
    }

    /// Tells the controller about the acknowledged data. Duplicate acknowledgements do not grow the
    /// window (RFC 5681 §3.2, step 1: it MUST NOT change before the third one). If they came from
    /// reordering and not from loss, their bytes grow the window once an acknowledgement advances.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn control_window(&mut self, now: Time, progress: bool, grow_in_recovery: bool, shares: &[Share]) {
        let repairing = self.recovery.repair == Repairing::Losses && !grow_in_recovery;
        let bytes = self.news.ack.bytes;
        // Bytes of duplicate acknowledgements are withheld until an acknowledgement advances.
        self.news.ack.bytes = if progress || repairing || grow_in_recovery {
            bytes + if grow_in_recovery { 0 } else { core::mem::take(&mut self.recovery.withheld) }
        } else {
            self.recovery.withheld += bytes;
            0
        };
        let may_grow = (progress || grow_in_recovery) && !repairing;
        self.tell_controller(now, may_grow, self.recovery.repair, shares);
        if self.flight.segments() == 0 {
            self.note_congestion(now, CongestionEvent::Drained);
        }
    }
}
