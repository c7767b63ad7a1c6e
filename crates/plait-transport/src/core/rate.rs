//! The delivery rate of a path that schedulers see, and delivery-rate samples for congestion
//! control (draft-cheng-iccrg-delivery-rate-estimation, `net/ipv4/tcp_rate.c`).
//!
//! Each packet remembers the path's delivered bytes at its departure. Its acknowledgement then
//! gives the bytes delivered since, and the time that this took. This memory is used only if
//! congestion control asks for rates.

use crate::congestion::RateSample;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// Delivery rate: bytes acknowledged per smoothed round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DeliveryRate {
    since: Time,
    bytes: u64,
    pub(super) total: u64,
    pub(super) bits_per_second: u64,
}

impl DeliveryRate {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn acknowledged(&mut self, now: Time, bytes: u64, round_trip: Duration) {
        self.bytes += bytes;
        self.total += bytes;
        let span = now.since(self.since);
        if !round_trip.is_zero() && span >= round_trip {
            self.conclude(now, span);
        }
    }

    /// The rate of a round trip that has ended.
    #[inline(never)]
    fn conclude(&mut self, now: Time, span: Duration) {
        let bits = u128::from(self.bytes) * 8_000_000_000;
        self.bits_per_second = u64::try_from(bits / u128::from(span.as_nanos())).unwrap_or(u64::MAX);
        self.bytes = 0;
        self.since = now;
    }
}

/// The state of a path when a packet left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    at: Time,
    /// Departure time of the packet whose acknowledgement was the newest then: the send phase
    /// begins there.
    first_sent: Time,
    /// When the path had delivered the last bytes: the acknowledgement phase begins there.
    delivered_at: Time,
    /// Bytes that the path had delivered.
    delivered: u64,
    app_limited: bool,
}

/// The delivery rate of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliverySampler {
    /// Each packet counts this many bytes; 0 if it counts its own.
    packet: u64,
    /// The number of the first packet that is remembered.
    first: u64,
    departures: VecDeque<Departure>,
    first_sent: Time,
    delivered_at: Time,
    delivered: u64,
    /// Samples are limited by the application until this many bytes are delivered; 0 if they are
    /// not.
    app_limited: u64,
    /// The newest packet among those that the acknowledgement at hand reports.
    newest: Option<(Departure, Duration)>,
    /// Bytes that the acknowledgement at hand reports.
    acked: u64,
}

impl DeliverySampler {
    /// Packets count `packet` bytes each, or their own size if that is 0.
    pub(super) fn new(packet: u64) -> Self {
        Self { packet, ..Self::default() }
    }

    fn counted(&self, bytes: u32) -> u64 {
        if self.packet > 0 { self.packet } else { u64::from(bytes) }
    }

    /// Packet `number` leaves, for the first time or again. `alone`: no packet is unacknowledged.
    pub(super) fn note_sent(&mut self, now: Time, number: u64, alone: bool) {
        if alone {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let departure = Departure {
            at: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.delivered,
            app_limited: self.app_limited > 0,
        };
        if self.departures.is_empty() {
            self.first = number;
        }
        let Some(place) = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok()) else {
            return;
        };
        // Numbers between two packets belong to packets without data.
        while self.departures.len() < place {
            self.departures.push_back(departure);
        }
        match self.departures.get_mut(place) {
            Some(earlier) => *earlier = departure,
            None => self.departures.push_back(departure),
        }
    }

    /// The receiver has packet `number`.
    pub(super) fn note_delivered(&mut self, number: u64, bytes: u32) {
        self.note_duplicate(bytes);
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        let Some(&departure) = place.and_then(|place| self.departures.get(place)) else { return };
        // The sample is that of the packet that was sent last.
        if self.newest.is_none_or(|(newest, _)| departure.at >= newest.at) {
            self.first_sent = departure.at;
            self.newest = Some((departure, departure.at.since(departure.first_sent)));
        }
    }

    /// Counts a delivery that gives no sample: that of a needless retransmission, for which the
    /// receiver reported a duplicate (`tcp_dsack_seen`).
    pub(super) fn note_duplicate(&mut self, bytes: u32) {
        let counted = self.counted(bytes);
        self.delivered += counted;
        self.acked += counted;
    }

    /// Packets below `number` will not be acknowledged again.
    pub(super) fn forget_below(&mut self, number: u64) {
        while self.first < number && self.departures.pop_front().is_some() {
            self.first += 1;
        }
    }

    /// An acknowledgement was read: returns its sample, if it reported packets.
    pub(super) fn take(&mut self, now: Time) -> RateSample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let acked = core::mem::take(&mut self.acked);
        if acked > 0 {
            self.delivered_at = now;
        }
        let mut sample = RateSample { acked, total: self.delivered, ..RateSample::default() };
        if let Some((newest, send_phase)) = self.newest.take() {
            sample.prior = newest.delivered;
            sample.delivered = self.delivered - newest.delivered;
            sample.interval = send_phase.max(now.since(newest.delivered_at));
            sample.app_limited = newest.app_limited;
        }
        sample
    }

    /// True if samples are limited by the sender.
    pub(super) fn is_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// Notes that the application, the scheduler or the receiver's window limits the sender, not
    /// the path. Samples of packets that leave before `in_flight` more bytes are delivered do not
    /// show the path's capacity.
    pub(super) fn mark_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Time = |millis| Time::ZERO + Duration::from_millis(millis);

    /// The samples of ten packets that leave at once, and arrive one millisecond apart.
    fn burst() -> Vec<RateSample> {
        let mut sampler = DeliverySampler::new(0);
        for number in 0..10 {
            sampler.note_sent(MS(0), number, number == 0);
        }
        let samples = (0..10).map(|number| {
            sampler.note_delivered(number, 1000);
            sampler.forget_below(number + 1);
            sampler.take(MS(20 + number))
        });
        samples.collect()
    }

    #[test]
    fn the_slower_phase_counts() {
        let samples = burst();
        assert_eq!((samples[0].delivered, samples[0].interval), (1000, Duration::from_millis(20)));
        assert_eq!((samples[9].delivered, samples[9].interval), (10_000, Duration::from_millis(29)));
    }

    /// Each arrival lets the next packet out: ten packets in each round trip of 20 ms.
    #[test]
    fn later_rounds_show_the_rate_of_the_path() {
        let mut sampler = DeliverySampler::new(0);
        for number in 0..10 {
            sampler.note_sent(MS(0), number, number == 0);
        }
        let mut last = RateSample::default();
        for number in 0..30 {
            let arrival = MS(20 * (number / 10 + 1) + number % 10);
            sampler.note_delivered(number, 1000);
            last = sampler.take(arrival);
            sampler.note_sent(arrival, number + 10, false);
        }
        assert_eq!((last.delivered, last.interval), (10_000, Duration::from_millis(20)));
        assert_eq!((last.prior, last.total), (20_000, 30_000));
    }

    #[test]
    fn samples_are_limited_until_the_bubble_is_delivered() {
        let mut sampler = DeliverySampler::new(1500);
        sampler.note_sent(MS(0), 0, true);
        sampler.mark_limited(1500);
        sampler.note_sent(MS(1), 1, false);
        sampler.note_delivered(0, 100);
        assert!(!sampler.take(MS(20)).app_limited, "sent before");
        sampler.note_delivered(1, 100);
        let sample = sampler.take(MS(21));
        assert!(sample.app_limited && sample.delivered == 3000, "{sample:?}");
        sampler.note_sent(MS(22), 2, true);
        sampler.note_delivered(2, 100);
        assert!(!sampler.take(MS(42)).app_limited, "the bubble is gone");
    }

    #[test]
    fn a_packet_that_left_again_counts_from_its_last_departure() {
        let mut sampler = DeliverySampler::new(0);
        sampler.note_sent(MS(0), 0, true);
        sampler.note_sent(MS(0), 1, false);
        sampler.note_delivered(1, 1000);
        sampler.take(MS(20));
        sampler.note_sent(MS(25), 0, false);
        sampler.note_delivered(0, 1000);
        let sample = sampler.take(MS(45));
        assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(25)));
    }

    /// `tcp_dsack_seen`: a needless retransmission was delivered, too.
    #[test]
    fn reported_duplicates_count_as_delivered() {
        let mut sampler = DeliverySampler::new(0);
        sampler.note_sent(MS(0), 0, true);
        sampler.note_sent(MS(0), 1, false);
        sampler.note_delivered(0, 1000);
        sampler.note_duplicate(1000);
        let sample = sampler.take(MS(20));
        assert_eq!((sample.acked, sample.delivered, sample.total), (2000, 2000, 2000));
        sampler.note_duplicate(1000);
        let alone = sampler.take(MS(21));
        assert_eq!((alone.acked, alone.interval), (1000, Duration::ZERO), "no sample of its own");
    }

    /// `tcp_rate_gen`: the mark ends when more is delivered than was in flight.
    #[test]
    fn packets_that_leave_when_the_flight_is_delivered_are_still_limited() {
        let mut sampler = DeliverySampler::new(0);
        sampler.note_sent(MS(0), 0, true);
        sampler.mark_limited(1000);
        sampler.note_delivered(0, 1000);
        sampler.take(MS(20));
        sampler.note_sent(MS(20), 1, true);
        sampler.note_delivered(1, 1000);
        assert!(sampler.take(MS(40)).app_limited);
        assert!(!sampler.is_limited());
    }

    /// `tcp_rate_skb_delivered`: the sample is that of the packet that was sent last.
    #[test]
    fn of_several_reported_packets_the_one_that_left_last_gives_the_sample() {
        for order in [[0, 1], [1, 0]] {
            let mut sampler = DeliverySampler::new(0);
            sampler.note_sent(MS(0), 0, true);
            sampler.note_sent(MS(1), 1, false);
            sampler.note_sent(MS(2), 2, false);
            sampler.note_delivered(2, 1000);
            sampler.take(MS(22));
            // Packet 1 leaves again, and 0 does not.
            sampler.note_sent(MS(25), 1, false);
            order.iter().for_each(|&number| sampler.note_delivered(number, 1000));
            let sample = sampler.take(MS(45));
            assert_eq!((sample.prior, sample.delivered), (1000, 2000));
            assert_eq!(sample.interval, Duration::from_millis(23), "since the acknowledgement of 2");
        }
    }

    /// Acknowledgements that arrive together do not show a higher rate than that of sending.
    #[test]
    fn the_phase_of_sending_counts_if_acknowledgements_are_compressed() {
        let mut sampler = DeliverySampler::new(0);
        for number in 0..10 {
            sampler.note_sent(MS(5 * number), number, number == 0);
        }
        // The first is acknowledged at once; the others arrive together, 20 ms after it.
        sampler.note_delivered(0, 1000);
        sampler.take(MS(46));
        for number in 10..20 {
            sampler.note_sent(MS(50 + 5 * (number - 10)), number, false);
        }
        (1..20).for_each(|number| sampler.note_delivered(number, 1000));
        let sample = sampler.take(MS(96));
        assert_eq!((sample.delivered, sample.interval), (19_000, Duration::from_millis(95)));
    }

    /// Both phases begin when a packet leaves and no other is in flight.
    #[test]
    fn a_pause_is_no_part_of_the_interval() {
        let mut sampler = DeliverySampler::new(0);
        sampler.note_sent(MS(0), 0, true);
        sampler.note_delivered(0, 1000);
        sampler.take(MS(20));
        sampler.note_sent(MS(500), 1, true);
        sampler.note_delivered(1, 1000);
        assert_eq!(sampler.take(MS(520)).interval, Duration::from_millis(20));
    }
}
