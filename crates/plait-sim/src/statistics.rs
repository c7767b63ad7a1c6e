//! Summaries of many samples in bounded memory.

use hdrhistogram::Histogram;
use plait_sched::Duration;
use serde::Serialize;

/// Spans of at least [`END`] count as this one.
const LONGEST: u64 = 10_000 * 1_000_000_000;

/// The histogram distinguishes spans below this, the power of two that follows [`LONGEST`].
const END: u64 = LONGEST.next_power_of_two();

/// Statistics of spans: exact mean and maximum, percentiles within 0.1 %.
#[derive(Clone, Debug)]
pub struct Spans {
    /// Samples per bucket of the histogram, up to the largest one in use; spans of zero are in the
    /// first.
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

/// A summary of spans in milliseconds; `null` in JSON without samples.
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

/// A summary of latencies in milliseconds; `null` in JSON without samples.
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
        Self { buckets: Vec::new(), count: 0, sum: 0, max: 0 }
    }

    /// Adds a sample.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn add(&mut self, span: Duration) {
        let nanos = span.as_nanos();
        let bucket = bucket(if nanos < END { nanos } else { LONGEST });
        if bucket >= self.buckets.len() {
            self.make_room(bucket);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    /// Grows in steps, so that all buckets for spans of the same magnitude come at once.
    #[cold]
    fn make_room(&mut self, bucket: usize) {
        self.buckets.resize((bucket + 1).next_multiple_of(HALF as usize), 0);
    }

    /// Builds the library's histogram of the samples, which computes percentiles.
    fn histogram(&self) -> Histogram<u64> {
        #[expect(clippy::expect_used, reason = "constant bounds that the library accepts")]
        let mut histogram = Histogram::new_with_bounds(1, LONGEST, 3).expect("valid bounds");
        for (bucket, &count) in self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0) {
            histogram.saturating_record_n(least(bucket), count);
        }
        histogram
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The summary, or `None` without samples.
    pub fn summary(&self) -> Option<SpanSummary> {
        let LatencySummary { mean, p50, p90: _, p95, p99, max } = self.latencies()?;
        Some(SpanSummary { mean, p50, p95, p99, max })
    }

    /// The summary of samples that are latencies, or `None` without samples.
    pub fn latencies(&self) -> Option<LatencySummary> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        // A bucket's upper bound may exceed the largest sample, and so may a percentile.
        let histogram = self.histogram();
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

/// Bits after a sample's leading one that its bucket keeps, for a precision of 0.1 %.
const PRECISION: u32 = 10;

/// Buckets per power of two.
const HALF: u64 = 1 << PRECISION;

/// Returns the index of the histogram's bucket for a sample, faster than the library does. Every
/// number below `2 * HALF` has its own bucket; above, every power of two has `HALF` buckets.
#[inline]
fn bucket(nanos: u64) -> usize {
    let shift = (nanos | (2 * HALF - 1)).ilog2() - PRECISION;
    ((u64::from(shift) << PRECISION) + (nanos >> shift)) as usize
}

/// The smallest sample of a bucket.
fn least(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket >> PRECISION).saturating_sub(1);
    (bucket - (shift << PRECISION)) << shift
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
    /// Sets the quantity to `value` from `now` (nanoseconds) on.
    #[inline]
    pub fn set(&mut self, now: u64, value: u64) {
        // An unchanged value is integrated later, with its whole span.
        if value == self.value {
            return;
        }
        self.integral += u128::from(self.value) * u128::from(now - self.since);
        self.since = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Forgets the past and keeps the value.
    pub fn restart(&mut self, now: u64) {
        *self = Self { value: self.value, since: now, integral: 0, max: self.value };
    }

    /// Returns mean and maximum from the (re)start to `now`.
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
    fn buckets_are_those_of_the_histogram() {
        let mut spans = Spans::new();
        let mut histogram = Histogram::<u64>::new_with_bounds(1, LONGEST, 3).unwrap();
        let mut nanos = 0;
        while nanos < 3 * LONGEST {
            for nanos in [nanos, nanos + 1, 2 * nanos + 1] {
                spans.add(Duration::from_nanos(nanos));
                histogram.saturating_record(nanos);
            }
            nanos += nanos / 1_000 + 1;
        }
        assert_eq!(spans.histogram(), histogram);
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
