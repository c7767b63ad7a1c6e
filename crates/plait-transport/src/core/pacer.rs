//! Pacing: the gap between packets of a path.
//!
//! If congestion control states a rate: `tcp_update_skb_after_send`, `tcp_pacing_check` and
//! `tcp_tso_autosize` in `net/ipv4/tcp_output.c`. The packets of a burst leave at once. The next
//! burst leaves when the packets of this one would have left one by one at the pacing rate.
//!
//! Otherwise, if the protocol wants it: RFC 9002 §7.7. After a pause an initial window may leave at
//! once. Apart from that, packets leave one by one, at 5/4 of a window per round trip.

use crate::congestion::burst_packets;
use plait_sched::{Duration, Time};

/// The first packets of a path are not paced (`tcp_update_skb_after_send`, as `sch_fq` has it).
const UNPACED: u64 = 10;

/// When packets of a path may leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// When the next burst may leave (`tcp_wstamp_ns`).
    next: Time,
    /// When the current burst left.
    burst_at: Time,
    /// Packets that the current burst may still have.
    left: u64,
    /// How late the current burst was: half of its duration at most is made up for.
    credit: Duration,
    sent: u64,
    /// Bytes that may leave at once after a pause, if the window gives the rate; 0 if congestion
    /// control states it.
    at_once: u64,
    /// How long before `next` a packet may leave, because fewer bytes left at once.
    early: Duration,
    /// Packets leave one by one.
    single: bool,
    /// A packet may leave now.
    open: bool,
}

/// N of RFC 9002 §7.7, as a fraction.
const WINDOWS_PER_ROUND_TRIP: (u64, u64) = (5, 4);

/// The pacing rate of a window in bytes per second; 0 before the first round trip.
pub(super) fn window_rate(window: u64, round_trip: Duration) -> u64 {
    let (windows, round_trips) = WINDOWS_PER_ROUND_TRIP;
    let per_second = u128::from(window) * u128::from(windows) * 1_000_000_000
        / (u128::from(round_trip.as_nanos()) * u128::from(round_trips)).max(1);
    if round_trip.is_zero() { 0 } else { u64::try_from(per_second).unwrap_or(u64::MAX).max(1) }
}

/// How long a rate needs for some bytes.
fn span(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Pacer {
    /// For a rate that congestion control states. Packets leave in bursts, or one by one if `single`.
    pub(super) fn of_rate(single: bool) -> Self {
        Self { single, open: true, ..Self::default() }
    }

    /// For a rate that follows from the window. After a pause `at_once` bytes leave at once.
    pub(super) fn of_window(at_once: u64) -> Self {
        Self { at_once, ..Self::of_rate(false) }
    }

    /// True if a packet may leave now, as of the last [look](Self::look).
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// When the next burst may leave.
    pub(super) fn next(&self) -> Time {
        Time::from_nanos(self.next.as_nanos().saturating_sub(self.early.as_nanos()))
    }

    /// Looks whether a packet may leave. True if that has changed.
    pub(super) fn look(&mut self, now: Time) -> bool {
        let open = self.next() <= now || self.burst_at == now && self.left > 0;
        core::mem::replace(&mut self.open, open) != open
    }

    /// Notes that a packet leaves. `rate` is the path's rate in bytes per second, `packet` the size
    /// of its full packets in bytes.
    pub(super) fn note_sent(&mut self, now: Time, bytes: u32, rate: u64, packet: u64) {
        self.sent += 1;
        if rate == 0 || self.at_once == 0 && self.sent <= UNPACED {
            return;
        }
        let span = span(u64::from(bytes), rate);
        if self.at_once > 0 {
            self.next = self.next.max(now).saturating_add(span);
            self.early = self::span(self.at_once.saturating_sub(packet), rate);
            self.look(now);
            return;
        }
        if self.left == 0 || self.burst_at != now {
            self.left = if self.single { 1 } else { burst_packets(rate, packet) };
            self.burst_at = now;
            self.credit = now.since(self.next);
            self.next = self.next.max(now);
        }
        self.left -= 1;
        let made_up = self.credit.min(span / 2);
        self.credit = self.credit - made_up;
        self.next = self.next.saturating_add(span - made_up);
        self.look(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u32 = 1000;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// Sends as the pacer lets packets out, looking every 10 µs, and returns when they left.
    fn paced(rate: u64, packets: usize) -> Vec<u64> {
        paced_by(&mut Pacer::of_rate(false), rate, packets, 0)
    }

    /// The same from a time on.
    fn paced_by(pacer: &mut Pacer, rate: u64, packets: usize, mut now: u64) -> Vec<u64> {
        let mut left = Vec::new();
        while left.len() < packets {
            pacer.look(at(now));
            while pacer.is_open() && left.len() < packets {
                pacer.note_sent(at(now), PACKET, rate, u64::from(PACKET));
                left.push(now);
            }
            now += 10;
        }
        left
    }

    #[test]
    fn bursts_leave_at_the_rate_and_the_first_ten_packets_at_once() {
        // 1 MB/s: a packet takes 1 ms, a burst has two.
        let left = paced(1_000_000, 30);
        assert!(left[..12].iter().all(|&at| at == 0), "{left:?}");
        let gaps: Vec<u64> = left[12..].chunks(2).map(|burst| burst[0]).collect();
        assert!(gaps.windows(2).all(|pair| pair[1] - pair[0] == 2000), "{left:?}");
        assert!(left[12..].chunks(2).all(|burst| burst[0] == burst[1]), "{left:?}");
    }

    #[test]
    fn without_segmentation_offload_packets_leave_one_by_one() {
        let left = paced_by(&mut Pacer::of_rate(true), 1_000_000, 30, 0);
        assert!(left[11..].windows(2).all(|pair| pair[1] - pair[0] == 1000), "{left:?}");
    }

    #[test]
    fn a_burst_lasts_a_millisecond_and_has_two_packets_at_least() {
        assert_eq!(burst_packets(100_000, 1500), 1);
        assert_eq!(burst_packets(1_000_000, 1500), 2);
        assert_eq!(burst_packets(12_500_000, 1448), 8);
        assert_eq!(burst_packets(1 << 40, 1448), 45);
    }

    #[test]
    fn over_a_second_the_rate_is_kept() {
        for rate in [50_000, 1_000_000, 20_000_000] {
            let packets = (rate / 1000) as usize + 10;
            let left = paced(rate, packets);
            let last = left[packets - 1];
            assert!((900_000..=1_010_000).contains(&last), "{rate}: {last}");
        }
    }

    /// RFC 9002 §7.7: an interval of srtt · size / window / 1.25.
    #[test]
    fn packets_of_a_window_leave_evenly_a_quarter_faster_than_a_window_per_round_trip() {
        let rate = window_rate(40 * u64::from(PACKET), Duration::from_millis(100));
        assert_eq!(rate, 500_000);
        let left = paced_by(&mut Pacer::of_window(10 * u64::from(PACKET)), rate, 60, 0);
        assert!(left[10..].windows(2).all(|pair| pair[1] - pair[0] == 2000), "{left:?}");
        assert_eq!(window_rate(40_000, Duration::ZERO), 0, "no round trip is known");
    }

    #[test]
    fn after_a_pause_an_initial_window_leaves_at_once_and_no_more() {
        let mut pacer = Pacer::of_window(10 * u64::from(PACKET));
        for begin in [0, 1_000_000, 2_000_000] {
            let left = paced_by(&mut pacer, 500_000, 30, begin);
            assert!(left[..10].iter().all(|&at| at == begin), "{left:?}");
            assert_eq!(left[10], begin + 2000);
        }
    }

    #[test]
    fn a_short_pause_lets_out_as_many_packets_as_the_rate_missed() {
        let mut pacer = Pacer::of_window(10 * u64::from(PACKET));
        let last = *paced_by(&mut pacer, 500_000, 30, 0).last().unwrap();
        // Four intervals of two milliseconds.
        let left = paced_by(&mut pacer, 500_000, 10, last + 8000);
        assert_eq!(left.iter().filter(|&&at| at == last + 8000).count(), 4, "{left:?}");
    }
}
