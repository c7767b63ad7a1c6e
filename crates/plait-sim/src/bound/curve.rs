//! The most that one direction of a link can carry, by time.

use super::delays::Delays;
use crate::link::{Capacity, LinkConfig, Outages, QueueLimit, Steps, Trace};

/// Beyond this number of outages all of them are ignored. The bound stays valid.
const MOST_OUTAGES: usize = 200_000;

/// The share of sums that covers their rounding.
const ROUNDING: f64 = 1e-14;

/// The most bytes that a link can send by a time. Times are in nanoseconds.
pub(super) struct Curve<'a> {
    rates: Rates<'a>,
    outages: Vec<Outage>,
    pub(super) delays: Delays<'a>,
    limits: Vec<QueueLimit>,
    /// The largest packet, in bytes.
    packet: f64,
}

enum Rates<'a> {
    /// Bytes per nanosecond.
    Constant(f64),
    Steps {
        /// The time of each step in the period, the bytes before it, and the rate after it.
        steps: Vec<(u64, f64, f64)>,
        /// Length and bytes.
        period: Option<(u64, f64)>,
    },
    Trace(&'a Trace),
}

struct Outage {
    from: u64,
    to: u64,
    /// Bytes of service that this and all earlier outages make useless.
    wasted: f64,
}

impl<'a> Curve<'a> {
    /// The curve of a link in a run that ends at `end`. Packets have at most `packet` bytes.
    pub(super) fn new(config: &'a LinkConfig, packet: f64, end: u64) -> Self {
        let rates = match &config.capacity {
            Capacity::Rate(rate) => Rates::Constant(per_nano(*rate)),
            Capacity::Steps(steps) => Rates::of_steps(steps),
            Capacity::Trace(trace) => Rates::Trace(trace),
        };
        let limits = config.queue.values().collect();
        let mut curve = Self { rates, outages: Vec::new(), delays: Delays::new(config), limits, packet };
        curve.outages = curve.outages_until(&config.outages, end);
        curve
    }

    /// Whether the curve between two times depends on their difference alone.
    pub(super) fn is_steady(&self) -> bool {
        matches!(self.rates, Rates::Constant(_)) && self.outages.is_empty() && self.delays.are_constant()
    }

    /// The highest rate in bytes per nanosecond; infinite for a trace, whose bytes come at once.
    pub(super) fn peak(&self) -> f64 {
        match &self.rates {
            Rates::Constant(rate) => *rate,
            Rates::Steps { steps, .. } => steps.iter().map(|step| step.2).fold(0.0, f64::max),
            Rates::Trace(_) => f64::INFINITY,
        }
    }

    /// The shortest time from the arrival of a packet of `bytes` at the link to its exit.
    pub(super) fn quickest(&self, bytes: f64) -> u64 {
        (bytes / self.peak()) as u64 + self.delays.shortest
    }

    /// The bytes of packets that arrive at the link from `from` on and whose last bit leaves by
    /// `to`, outside outages. A packet may pass an outage in its service if it leaves after it.
    pub(super) fn carries(&self, from: u64, to: u64) -> f64 {
        // Departures are rounded down to whole nanoseconds.
        let to = to.saturating_add(1);
        if to <= from {
            return 0.0;
        }
        let before = self.useful_before(from);
        (self.useful(to) - before + (before + 1.0) * ROUNDING).max(0.0)
    }

    /// The most bytes that wait in the queue or are in transmission; `None` without a limit.
    pub(super) fn stores(&self) -> Option<f64> {
        let stores = |limit: &QueueLimit| match limit {
            QueueLimit::Infinite => None,
            QueueLimit::Packets(packets) => Some((*packets as f64 + 1.0) * self.packet),
            QueueLimit::Bytes(bytes) => Some(*bytes as f64 + self.packet),
            QueueLimit::Wait(longest) => Some(longest.as_nanos() as f64 * self.peak() + 2.0 * self.packet),
        };
        self.limits.iter().map(stores).try_fold(0.0, |most, stores| Some(f64::max(most, stores?)))
    }

    fn useful(&self, to: u64) -> f64 {
        self.without_waste(to, self.rates.done(to))
    }

    fn useful_before(&self, from: u64) -> f64 {
        self.without_waste(from, self.rates.before(from))
    }

    /// `work` at `moment`, less the service that outages make useless.
    fn without_waste(&self, moment: u64, work: f64) -> f64 {
        let begun = self.outages.partition_point(|outage| outage.from <= moment);
        let Some(outage) = begun.checked_sub(1).map(|index| &self.outages[index]) else { return work };
        if outage.to <= moment {
            return work - outage.wasted;
        }
        let earlier = begun.checked_sub(2).map_or(0.0, |index| self.outages[index].wasted);
        self.rates.before(outage.from).min(work) - earlier
    }

    fn outages_until(&self, outages: &Outages, end: u64) -> Vec<Outage> {
        let spans: Vec<(u64, u64)> = match outages {
            Outages::List(list) => list.iter().map(|cut| (cut.from.as_nanos(), cut.to.as_nanos())).collect(),
            Outages::Periodic { every, length, first } => {
                let (every, length) = (every.as_nanos(), length.as_nanos());
                let starts = (first.as_nanos()..=end).step_by(usize::try_from(every).unwrap_or(usize::MAX));
                starts.take(MOST_OUTAGES + 1).map(|from| (from, from + length)).collect()
            }
        };
        if spans.len() > MOST_OUTAGES {
            return Vec::new();
        }
        let mut wasted = 0.0;
        let outage = |(from, to)| {
            let inside = self.rates.before(to) - self.rates.before(from);
            wasted += (inside - self.packet).max(0.0);
            Outage { from, to, wasted }
        };
        spans.into_iter().map(outage).collect()
    }
}

impl Rates<'_> {
    fn of_steps(steps: &Steps<u64>) -> Self {
        let (mut at, mut bytes, mut rate) = (0, 0.0, per_nano(steps.first()));
        let mut table = vec![(at, bytes, rate)];
        for step in steps.steps() {
            let next = step.at.as_nanos();
            bytes += (next - at) as f64 * rate;
            (at, rate) = (next, per_nano(step.value));
            table.push((at, bytes, rate));
        }
        let period = steps.repeat().map(|span| {
            let span = span.as_nanos();
            (span, bytes + (span - at) as f64 * rate)
        });
        Self::Steps { steps: table, period }
    }

    /// Bytes that can leave by `moment`, without outages.
    fn done(&self, moment: u64) -> f64 {
        match self {
            Self::Constant(rate) => moment as f64 * rate,
            Self::Steps { steps, period } => {
                let (base, rest) = period.map_or((0.0, moment), |(length, bytes)| {
                    ((moment / length) as f64 * bytes, moment % length)
                });
                let (at, bytes, rate) = steps[steps.partition_point(|step| step.0 <= rest) - 1];
                base + bytes + (rest - at) as f64 * rate
            }
            Self::Trace(trace) => opportunities(trace, moment / NANOS_PER_MILLI),
        }
    }

    /// Bytes that can leave before `moment`.
    fn before(&self, moment: u64) -> f64 {
        match self {
            Self::Trace(trace) => moment
                .div_ceil(NANOS_PER_MILLI)
                .checked_sub(1)
                .map_or(0.0, |millis| opportunities(trace, millis)),
            continuous => continuous.done(moment),
        }
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Bytes of a trace's opportunities up to `millis`, included.
fn opportunities(trace: &Trace, millis: u64) -> f64 {
    let (all, period) = (trace.opportunities(), trace.period_millis());
    let rest = all.partition_point(|&at| u64::from(at) <= millis % period);
    let count = (millis / period) as f64 * all.len() as f64 + rest as f64;
    count * f64::from(crate::link::trace::OPPORTUNITY_BYTES)
}

fn per_nano(bits_per_second: u64) -> f64 {
    bits_per_second as f64 / 8e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Step, Varying};
    use plait_sched::{Duration, Time};
    use std::sync::Arc;

    fn millis(count: u64) -> u64 {
        count * NANOS_PER_MILLI
    }

    /// 1500 bytes per millisecond.
    fn link() -> LinkConfig {
        LinkConfig::new(12_000_000, Duration::from_millis(10))
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.05, "{found}, expected {expected}");
    }

    #[test]
    fn a_constant_rate_carries_its_product_with_time() {
        let config = link();
        let curve = Curve::new(&config, 1500.0, millis(1000));
        close(curve.carries(millis(3), millis(5)), 3000.0);
        close(curve.carries(millis(5), millis(3)), 0.0);
        assert_eq!(curve.quickest(1500.0), millis(11));
        assert!(curve.is_steady());
    }

    #[test]
    fn steps_repeat() {
        let steps = vec![Step { at: Time::from_nanos(millis(10)), value: 24_000_000 }];
        let steps = Steps::new(12_000_000, steps, Some(Duration::from_millis(20)));
        let config = LinkConfig { capacity: Capacity::Steps(Arc::new(steps)), ..link() };
        let curve = Curve::new(&config, 1500.0, millis(1000));
        close(curve.carries(0, millis(20)), 45_000.0);
        close(curve.carries(millis(15), millis(45)), 15_000.0 + 45_000.0 + 7_500.0 - 7_500.0 + 7_500.0);
        assert!(!curve.is_steady());
    }

    #[test]
    fn a_packet_may_begin_in_an_outage_and_leave_after_it() {
        let outage =
            crate::link::Outage { from: Time::from_nanos(millis(10)), to: Time::from_nanos(millis(20)) };
        let config = LinkConfig { outages: Outages::List(vec![outage]), ..link() };
        let curve = Curve::new(&config, 1500.0, millis(1000));
        close(curve.carries(0, millis(15)), 15_000.0);
        close(curve.carries(0, millis(20)), 16_500.0);
        close(curve.carries(0, millis(30)), 31_500.0);
        close(curve.carries(millis(15), millis(21)), 3_000.0);
    }

    #[test]
    fn a_trace_counts_opportunities_at_both_ends() {
        let trace = Trace::parse("test", b"2\n2\n5\n").expect("a trace");
        let config = LinkConfig { capacity: Capacity::Trace(Arc::new(trace)), ..link() };
        let curve = Curve::new(&config, 1500.0, millis(1000));
        close(curve.carries(millis(2), millis(2)), 3_000.0);
        close(curve.carries(millis(2) + 1, millis(4)), 0.0);
        close(curve.carries(millis(3), millis(12)), 1_500.0 + 4_500.0 + 3_000.0);
        assert_eq!(curve.quickest(1500.0), millis(10));
    }

    #[test]
    fn the_largest_limit_of_a_queue_counts() {
        let steps = vec![Step { at: Time::from_nanos(1), value: QueueLimit::Packets(3) }];
        let steps = Steps::new(QueueLimit::Bytes(2_000), steps, None);
        let config = LinkConfig { queue: Varying::Steps(Arc::new(steps)), ..link() };
        assert_eq!(Curve::new(&config, 1500.0, 0).stores(), Some(6_000.0));
        assert_eq!(Curve::new(&link(), 1500.0, 0).stores(), None);
    }
}
