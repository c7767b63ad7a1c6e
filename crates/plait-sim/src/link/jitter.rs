//! Random extra delay, drawn once per accepted packet and once per copy, in order, from the link's
//! own stream.

use plait_sched::Duration;

use super::distribution::JitterDistribution;
use crate::random::{CorrelatedStream, RandomStream};

/// Random extra delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Jitter {
    /// For a uniform distribution the largest extra delay; for the others the unit of their tables,
    /// about a standard deviation.
    pub amount: Duration,
    /// Its distribution.
    pub distribution: JitterDistribution,
    /// The probability that a packet repeats the extra delay of its predecessor, in parts per
    /// billion; less than 10⁹.
    pub correlation: u32,
    /// Whether packets may overtake each other. Otherwise a packet never arrives before its
    /// predecessor.
    pub reorder: bool,
}

impl Jitter {
    /// The smallest and the largest extra delay, in nanoseconds.
    pub fn range(&self) -> (i64, i64) {
        let amount = i64::try_from(self.amount.as_nanos()).unwrap_or(i64::MAX);
        let of = |factor: f64| (amount as f64 * factor).round() as i64;
        match self.distribution {
            JitterDistribution::Uniform => (0, amount),
            other => {
                let (least, most) = other.range();
                (of(least), of(most))
            }
        }
    }
}

/// The extra delays of one link, packet by packet.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    jitter: Jitter,
    numbers: CorrelatedStream,
}

impl Delays {
    pub(super) fn new(jitter: Jitter, seed: u64, link: &str) -> Self {
        let stream = RandomStream::new(seed, &format!("{link}/jitter"));
        Self { jitter, numbers: CorrelatedStream::new(stream, jitter.correlation) }
    }

    /// The next extra delay in nanoseconds; it may be negative unless the distribution is uniform.
    pub(super) fn next(&mut self) -> i64 {
        let bits = self.numbers.bits();
        let amount = self.jitter.amount.as_nanos();
        match self.jitter.distribution {
            // From 0 to the amount, both included (Lemire's multiplication).
            JitterDistribution::Uniform => ((u128::from(bits) * (u128::from(amount) + 1)) >> 64) as i64,
            other => (amount as f64 * other.quantile(bits)).round() as i64,
        }
    }
}
