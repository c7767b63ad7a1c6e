//! Pacing: the gap between packets of a path whose congestion control states a rate.
//!
//! Sources: `tcp_update_skb_after_send`, `tcp_pacing_check` and `tcp_tso_autosize` in
//! `net/ipv4/tcp_output.c`. The packets of a burst leave at once. The next burst leaves when the
//! packets of this one would have left one by one at the pacing rate.

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
    /// A packet may leave now.
    open: bool,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { open: true, ..Self::default() }
    }

    /// True if a packet may leave now, as of the last [look](Self::look).
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// When the next burst may leave.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Looks whether a packet may leave. True if that has changed.
    pub(super) fn look(&mut self, now: Time) -> bool {
        let open = self.next <= now || self.burst_at == now && self.left > 0;
        core::mem::replace(&mut self.open, open) != open
    }

    /// Notes that a packet leaves. `rate` is the path's rate in bytes per second, `packet` the size
    /// of its full packets in bytes.
    pub(super) fn note_sent(&mut self, now: Time, bytes: u32, rate: u64, packet: u64) {
        self.sent += 1;
        if self.sent <= UNPACED || rate == 0 {
            return;
        }
        if self.left == 0 || self.burst_at != now {
            self.left = burst_packets(rate, packet);
            self.burst_at = now;
            self.credit = now.since(self.next);
            self.next = self.next.max(now);
        }
        self.left -= 1;
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let span = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
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
        let (mut pacer, mut left, mut now) = (Pacer::new(), Vec::new(), 0);
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
}
