//! Timestamps (RFC 7323), and one-way delays from them.
//!
//! The estimate of the delivery-delay paper: an acknowledgement carries the receiver's clock when
//! it left (TSval). It also carries the sender's clock when the acknowledged segment left (TSecr).
//! So TSval − TSecr is the segment's delay towards the receiver plus the offset between the clocks,
//! which is the same for all subflows. Both are whole ticks.

use crate::core::OneWayDelays;
use plait_sched::{Duration, Time};

/// The tick of most clocks, in nanoseconds.
const MILLISECOND: i64 = 1_000_000;

/// The clocks of the timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockConfig {
    /// Length of a tick (Linux: 1 ms).
    pub granularity: Duration,
    /// Time by which the sender's clock is ahead of virtual time, in nanoseconds.
    pub sender_offset: i64,
    /// Time by which the receiver's clock is ahead of virtual time, in nanoseconds.
    pub receiver_offset: i64,
}

impl ClockConfig {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ticks(&self, nanos: i64) -> u32 {
        // Division by a constant is a multiplication. Timestamps wrap; only differences are used.
        if self.granularity == Duration::from_nanos(MILLISECOND as u64) && nanos >= 0 {
            return (nanos as u64 / MILLISECOND as u64) as u32;
        }
        self.other_ticks(nanos)
    }

    #[inline(never)]
    fn other_ticks(&self, nanos: i64) -> u32 {
        let tick = i64::try_from(self.granularity.as_nanos().max(1)).unwrap_or(i64::MAX);
        nanos.div_euclid(tick) as u32
    }

    /// Returns the TSval of the sender.
    pub fn at_sender(&self, now: Time) -> u32 {
        self.ticks((now.as_nanos() as i64).wrapping_add(self.sender_offset))
    }

    /// Returns the clocks for the stream in the opposite direction, where sender and receiver are
    /// exchanged.
    pub(super) const fn reversed(self) -> Self {
        Self { sender_offset: self.receiver_offset, receiver_offset: self.sender_offset, ..self }
    }

    /// Returns the TSval of the receiver.
    pub fn at_receiver(&self, now: Time) -> u32 {
        self.ticks((now.as_nanos() as i64).wrapping_add(self.receiver_offset))
    }

    /// Returns the time from `earlier` to `later` in nanoseconds, for differences up to 2³¹ ticks.
    fn between(&self, earlier: u32, later: u32) -> i64 {
        i64::from(later.wrapping_sub(earlier) as i32) * self.granularity.as_nanos() as i64
    }

    /// Returns the time since the receiver's clock showed `timestamp`; zero if it never did.
    pub(super) fn age(&self, now: Time, timestamp: u32) -> Duration {
        Duration::from_nanos(self.between(timestamp, self.at_receiver(now)).max(0) as u64)
    }

    /// True if a segment that left at `sent_at` has this timestamp of the sender, or a later one.
    #[inline]
    pub(super) fn is_sent_since(&self, timestamp: u32, sent_at: Time) -> bool {
        self.between(timestamp, self.at_sender(sent_at)) >= 0
    }

    /// Returns the time since the sender's clock showed `timestamp`, at least one tick; `None` if
    /// it never did.
    pub(super) fn since_sent(&self, now: Time, timestamp: u32) -> Option<Duration> {
        let age = u64::try_from(self.between(timestamp, self.at_sender(now))).ok()?;
        Some(Duration::from_nanos(age).max(self.granularity))
    }

    /// Adds one sample of each direction's delay to the averages: 7/8 of the old value and 1/8 of
    /// the new one, as for round-trip times.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn sample(&self, delays: &mut Option<OneWayDelays>, now: Time, timestamp: u32, echo: u32) {
        let forward = self.between(echo, timestamp);
        let backward = self.between(timestamp, self.at_sender(now));
        let smooth = |old: i64, new: i64| (7 * old + new).div_euclid(8);
        match delays {
            Some(delays) => {
                delays.forward = smooth(delays.forward, forward);
                delays.backward = smooth(delays.backward, backward);
            }
            None => *delays = Some(OneWayDelays { forward, backward }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(receiver_offset: i64) -> ClockConfig {
        ClockConfig { granularity: Duration::from_millis(1), sender_offset: 0, receiver_offset }
    }

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn the_papers_example() {
        // "Delivery Delay - 1st ACK = TSval − TSecr = 127 − 1 = 126; 2nd ACK = 133 − 5 = 128".
        let mut delays = None;
        clock(0).sample(&mut delays, at(200_000), 127, 1);
        assert_eq!(delays.map(|d| d.forward), Some(126 * MILLISECOND));
        clock(0).sample(&mut delays, at(206_000), 133, 5);
        assert_eq!(delays.map(|d| d.forward), Some((7 * 126 + 128) * MILLISECOND / 8));
    }

    #[test]
    fn an_offset_moves_both_directions_against_each_other() {
        for offset in [-5_000 * MILLISECOND, 0, 123 * MILLISECOND] {
            let clock = clock(offset);
            let (sent, arrived, back) = (at(7_000), at(17_000), at(97_000));
            let mut delays = None;
            clock.sample(&mut delays, back, clock.at_receiver(arrived), clock.at_sender(sent));
            let delays = delays.unwrap();
            assert_eq!(delays.forward - offset, 10 * MILLISECOND);
            assert_eq!(delays.backward + offset, 80 * MILLISECOND);
        }
    }

    #[test]
    fn timestamps_wrap() {
        let mut delays = None;
        clock(0).sample(&mut delays, at(0), 3, u32::MAX - 6);
        assert_eq!(delays.map(|d| d.forward), Some(10 * MILLISECOND));
    }
}
