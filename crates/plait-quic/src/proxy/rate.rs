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

    /// So many have moved.
    pub(super) fn take(&mut self, bytes: usize) {
        self.left = (self.left - bytes as f64).max(0.0);
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
}
