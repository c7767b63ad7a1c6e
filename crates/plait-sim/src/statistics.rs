//! Summaries of many samples in bounded memory.

use hdrhistogram::Histogram;
use plait_sched::Duration;
use serde::Serialize;

/// The longest span that a summary tells apart from longer ones.
const LONGEST: u64 = 10_000 * 1_000_000_000;

/// Mean and maximum exact, percentiles within 0.1 %.
#[derive(Clone, Debug)]
pub struct Spans {
    histogram: Histogram<u64>,
    /// Samples of no length, the most frequent ones, which are not in the histogram.
    zeros: u64,
    sum: u128,
    max: u64,
}

/// A summary of spans in milliseconds; `null` in JSON where there were none.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SpanSummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// A summary of latencies in milliseconds; `null` in JSON where there were none.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

impl Default for Spans {
    fn default() -> Self {
        Self::new()
    }
}

impl Spans {
    /// No samples.
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "constant bounds that the library accepts")]
        let histogram = Histogram::new_with_bounds(1, LONGEST, 3).expect("valid bounds");
        Self { histogram, zeros: 0, sum: 0, max: 0 }
    }

    /// Adds a sample.
    pub fn add(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        if nanos == 0 {
            self.zeros += 1;
            return;
        }
        self.histogram.saturating_record(nanos);
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    /// How many samples there were.
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.zeros
    }

    /// The summary, if there was any sample.
    pub fn summary(&self) -> Option<SpanSummary> {
        let LatencySummary { mean, p50, p90: _, p95, p99, max } = self.latencies()?;
        Some(SpanSummary { mean, p50, p95, p99, max })
    }

    /// The summary of samples that are latencies, if there was any.
    pub fn latencies(&self) -> Option<LatencySummary> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // A bucket's upper bound may exceed the largest sample; nobody was delayed longer than that.
        let mut histogram = self.histogram.clone();
        histogram.saturating_record_n(0, self.zeros);
        let percentile = |p: f64| histogram.value_at_percentile(p).min(self.max) as f64 / 1e6;
        Some(LatencySummary {
            mean: self.sum as f64 / count as f64 / 1e6,
            p50: percentile(50.0),
            p90: percentile(90.0),
            p95: percentile(95.0),
            p99: percentile(99.0),
            max: self.max as f64 / 1e6,
        })
    }
}

/// A quantity over time: its time-weighted mean and its maximum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level {
    value: u64,
    since: u64,
    integral: u128,
    max: u64,
}

/// Mean and maximum of a quantity over time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LevelSummary {
    /// Time-weighted mean.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
}

impl Level {
    /// From `now` (nanoseconds) on, the quantity is `value`.
    pub fn set(&mut self, now: u64, value: u64) {
        self.integral += u128::from(self.value) * u128::from(now - self.since);
        self.since = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Forgets the past; the value stays.
    pub fn restart(&mut self, now: u64) {
        *self = Self { value: self.value, since: now, integral: 0, max: self.value };
    }

    /// Mean and maximum from the (re)start to `now`.
    pub fn summary(&self, start: u64, now: u64) -> LevelSummary {
        let integral = self.integral + u128::from(self.value) * u128::from(now - self.since);
        let span = now.saturating_sub(start);
        let mean = if span == 0 { self.value as f64 } else { integral as f64 / span as f64 };
        LevelSummary { mean, max: self.max as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_weighted_by_time() {
        let mut level = Level::default();
        level.set(0, 10);
        level.set(30, 0);
        assert_eq!(level.summary(0, 40), LevelSummary { mean: 7.5, max: 10.0 });
        level.restart(40);
        assert_eq!(level.summary(40, 50), LevelSummary { mean: 0.0, max: 0.0 });
    }

    #[test]
    fn mean_and_maximum_are_exact() {
        let mut spans = Spans::new();
        for millis in 1..=100 {
            spans.add(Duration::from_millis(millis));
        }
        let summary = spans.summary().unwrap();
        assert_eq!((summary.mean, summary.max), (50.5, 100.0));
        assert!((summary.p95 - 95.0).abs() < 0.1);
    }
}
