//! A client's limit of bytes per second.

use std::time::{Duration, Instant};

/// Bytes of so long may come at once: more than the loop ever sleeps.
const BURST: Duration = Duration::from_millis(250);

/// Bytes that are worth a call of the system.
const LEAST: f64 = 1_024.0;

/// Bytes that may move now, which grow with time up to a burst; without a rate all may.
#[derive(Debug)]
pub(super) struct Rate {
    /// Bytes per second.
    rate: Option<f64>,
    left: f64,
    at: Instant,
}

impl Rate {
    /// Of so many bits per second.
    pub(super) fn new(now: Instant, bits: Option<u64>) -> Self {
        let rate = bits.map(|bits| bits as f64 / 8.0);
        Self { rate, left: rate.unwrap_or(0.0) * BURST.as_secs_f64(), at: now }
    }

    /// Bytes that the next of so many streams may move now: its share of the rest.
    pub(super) fn share(&mut self, now: Instant, streams: usize) -> usize {
        let Some(rate) = self.rate else { return usize::MAX };
        let burst = rate * BURST.as_secs_f64();
        let grown = rate * now.saturating_duration_since(self.at).as_secs_f64();
        (self.left, self.at) = ((self.left + grown).min(burst), now);
        let share = self.left / streams.max(1) as f64;
        // Little is moved later, together with more.
        if share < LEAST.min(burst / 2.0) { 0 } else { share as usize }
    }

    /// Whether a datagram may pass, which cannot wait. It counts as moved then, up to a burst ahead of its time.
    /// Streams wait until that time has come.
    pub(super) fn pass(&mut self, now: Instant, bytes: usize) -> bool {
        self.share(now, 1);
        let Some(rate) = self.rate else { return true };
        let passes = self.left > -rate * BURST.as_secs_f64();
        if passes {
            self.take(bytes);
        }
        passes
    }

    /// So many have moved.
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
        let mut rate = Rate::new(start, Some(8_000_000));
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
        // Ten seconds, and the burst of the beginning.
        assert!((9_900_000..=10_250_000).contains(&all), "{all}");
        assert!(moved.iter().all(|bytes| (2_400_000..2_600_000).contains(bytes)), "{moved:?}");
        assert_eq!(Rate::new(start, None).share(start, 4), usize::MAX);
    }

    #[test]
    fn datagrams_have_the_same_rate_and_streams_have_the_rest() {
        let start = now();
        for (every, expected) in [(1, 9_900_000..=10_600_000), (20, 4_900_000..=5_100_000)] {
            let mut rate = Rate::new(start, Some(8_000_000));
            let (mut datagrams, mut streams) = (0, 0);
            for step in 0..=100_000_u64 {
                let at = start + Duration::from_micros(100 * step);
                // One at each step is ten times the rate, one at each twentieth half of it.
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
        assert!(Rate::new(start, None).pass(start, 64 << 10));
    }
}
