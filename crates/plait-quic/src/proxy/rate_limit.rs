//! Rate limit of a client in bytes per second.

use std::time::{Duration, Instant};

/// Length of a burst at the full rate. It is longer than any sleep of the loop.
const BURST: Duration = Duration::from_millis(250);

/// Smallest number of bytes that is worth a system call.
const LEAST: f64 = 1_024.0;

/// A token bucket of bytes, limited to one burst. Without a rate, everything passes.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Bytes per second.
    rate: Option<f64>,
    left: f64,
    at: Instant,
}

impl RateLimit {
    /// Makes a limit of this many bits per second, with one burst available.
    pub(super) fn new(now: Instant, bits: Option<u64>) -> Self {
        let rate = bits.map(|bits| bits as f64 / 8.0);
        Self { rate, left: rate.unwrap_or(0.0) * BURST.as_secs_f64(), at: now }
    }

    /// Returns the number of bytes that one of `streams` waiting streams may move now: its share of
    /// the available bytes.
    pub(super) fn share(&mut self, now: Instant, streams: usize) -> usize {
        let Some(rate) = self.rate else { return usize::MAX };
        let burst = rate * BURST.as_secs_f64();
        let grown = rate * now.saturating_duration_since(self.at).as_secs_f64();
        (self.left, self.at) = ((self.left + grown).min(burst), now);
        let share = self.left / streams.max(1) as f64;
        // Small shares wait until they have grown.
        if share < LEAST.min(burst / 2.0) { 0 } else { share as usize }
    }

    /// Whether a datagram may pass. It cannot wait, so it may overdraw the bucket by up to one
    /// burst. Streams wait until the bucket has refilled.
    pub(super) fn pass(&mut self, now: Instant, bytes: usize) -> bool {
        self.share(now, 1);
        let Some(rate) = self.rate else { return true };
        let passes = self.left > -rate * BURST.as_secs_f64();
        if passes {
            self.take(bytes);
        }
        passes
    }

    /// Counts moved bytes.
    pub(super) fn take(&mut self, bytes: usize) {
        self.left -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::now;

    #[test]
    fn no_more_moves_than_the_rate_and_every_stream_gets_some() {
        let start = now();
        let mut rate = RateLimit::new(start, Some(8_000_000));
        let mut moved = [0; 4];
        for step in 0..=1_000 {
            let at = start + Duration::from_millis(10 * step);
            for (index, stream) in moved.iter_mut().enumerate() {
                let bytes = rate.share(at, 4 - index);
                rate.take(bytes);
                *stream += bytes;
            }
        }
        let all: usize = moved.iter().sum();
        // Ten seconds at the full rate, and the initial burst.
        assert!((9_900_000..=10_250_000).contains(&all), "{all}");
        assert!(moved.iter().all(|bytes| (2_400_000..2_600_000).contains(bytes)), "{moved:?}");
        assert_eq!(RateLimit::new(start, None).share(start, 4), usize::MAX);
    }

    #[test]
    fn datagrams_have_the_same_rate_and_streams_have_the_rest() {
        let start = now();
        for (every, expected) in [(1, 9_900_000..=10_600_000), (20, 4_900_000..=5_100_000)] {
            let mut rate = RateLimit::new(start, Some(8_000_000));
            let (mut datagrams, mut streams) = (0, 0);
            for step in 0..=100_000_u64 {
                let at = start + Duration::from_micros(100 * step);
                // One datagram per step is ten times the rate; one per twenty steps is half of it.
                if step % every == 0 && rate.pass(at, 1_000) {
                    datagrams += 1_000;
                }
                if step % 100 == 0 {
                    let bytes = rate.share(at, 1);
                    rate.take(bytes);
                    streams += bytes;
                }
            }
            assert!(expected.contains(&datagrams), "{datagrams}");
            let all = datagrams + streams;
            assert!((9_900_000..=10_600_000).contains(&all), "{datagrams} and {streams}");
        }
        assert!(RateLimit::new(start, None).pass(start, 64 << 10));
    }
}
