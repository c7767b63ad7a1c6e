//! L0-joint: the mean delay of all blocks over the long run, if fast paths are overloaded.

use super::blocks::{Blocks, MOST};
use super::network::Network;
use crate::scenario::Scenario;

/// The ratio of the lengths of gaps that are tried one after another.
const FINER: f64 = 1.02;

/// Samples of an integral per block that the fast paths deliver.
const SAMPLES: f64 = 16.0;

/// The largest number of samples of an integral.
const MOST_SAMPLES: f64 = 1_000.0;

/// Fast paths and slow ones. Times are in nanoseconds, rates in bytes of payload per nanosecond.
struct Split {
    fast_delay: f64,
    fast_rate: f64,
    slow_delay: f64,
    slow_rate: f64,
}

/// The least mean delay, in nanoseconds; 0 if the bound does not apply. `alone` is the least delay
/// of a block.
pub(super) fn long_run(scenario: &Scenario, network: &Network<'_>, blocks: &Blocks, alone: f64) -> f64 {
    let last = blocks.written(blocks.count - 1) as f64;
    let begin = scenario.warmup.as_nanos().max(blocks.written(0)) as f64;
    let end = network.end as f64;
    // Blocks are written until the end, but for the rounding of times.
    if !network.is_steady() || last + blocks.interval() + 1.0 < end || begin >= last {
        return 0.0;
    }
    let splits = splits(network).into_iter().map(|split| mean(&split, blocks, alone, (begin, end)));
    splits.fold(0.0, f64::max)
}

/// All splits of the paths by delay.
fn splits(network: &Network<'_>) -> Vec<Split> {
    let mut paths: Vec<(f64, f64)> = (0..network.routes.len())
        .map(|path| (network.quickest(path, 0.0) as f64, network.peak(path)))
        .collect();
    paths.sort_by(|one, other| one.0.total_cmp(&other.0));
    let rate = |paths: &[(f64, f64)]| paths.iter().map(|path| path.1).sum();
    let split = |count: usize| {
        let (fast, slow) = paths.split_at(count);
        Split { fast_delay: fast[0].0, fast_rate: rate(fast), slow_delay: slow[0].0, slow_rate: rate(slow) }
    };
    (1..paths.len()).map(split).collect()
}

/// The bound of a split, for the time from `begin` to `end`.
fn mean(split: &Split, blocks: &Blocks, alone: f64, (begin, end): (f64, f64)) -> f64 {
    let (interval, time) = (blocks.interval(), end - begin);
    let count = blocks.count as f64;
    let earlier = ((begin - blocks.written(0) as f64) / interval).ceil() + 1.0;
    let needed = (count * MOST).floor() * blocks.bytes - earlier * blocks.bytes;
    let share = ((needed / time - split.fast_rate) / split.slow_rate).min(1.0);
    if share <= 0.0 {
        return 0.0;
    }
    let slow = split.slow_delay.max(alone);
    let age = share * slow + (1.0 - share) * least_gap(split, blocks, (alone, slow), time);
    // The first and the last gap may be cut off by the ends of the time.
    let ages = age * time - 2.0 * (slow + interval) * (slow + interval);
    // Blocks that were not delivered do not count in the mean.
    let missing = count - (count * MOST).floor();
    let within = (time / interval).ceil() + 1.0;
    let mean = |waiting: f64| {
        let counted = within + waiting;
        let halves = (counted + 1.0) + missing * (missing + 1.0) - waiting * (waiting - 1.0);
        (ages / interval - interval * halves / 2.0) / counted
    };
    // Blocks that were written in the warm-up and delivered after it.
    let most = if begin > 0.0 { (3.0 * age / interval).min(earlier).ceil() } else { 0.0 };
    (0..=most as u64).map(|waiting| mean(waiting as f64)).fold(f64::INFINITY, f64::min)
}

/// The least mean age of the oldest missing byte over a gap of at most `time`, in which no data
/// arrives by slow paths. `alone` is the least age at any time, and `slow` that beside a gap.
fn least_gap(split: &Split, blocks: &Blocks, (alone, slow): (f64, f64), time: f64) -> f64 {
    // The time in which the fast paths deliver a block.
    let block = blocks.bytes / split.fast_rate;
    let growth = 1.0 - blocks.interval() / block;
    let mut shorter = (slow / 1_000.0).max(1.0);
    let mut least = slow.min(alone.max(split.slow_delay - shorter));
    while shorter < time && (split.fast_delay + growth * shorter) / 2.0 < slow {
        let length = shorter * FINER;
        let finer = (block / shorter).ceil();
        // Between jumps the age grows, so samples from the left are below the integral.
        let (step, whole) = if shorter * SAMPLES * finer <= MOST_SAMPLES * block {
            (block / (SAMPLES * finer), true)
        } else {
            (shorter / MOST_SAMPLES, false)
        };
        let age = |x: f64| {
            let arrived = if whole { (x / block + 1e-9).floor() } else { x / block };
            let fast = split.fast_delay + x - blocks.interval() * arrived;
            alone.max(fast).max(split.slow_delay - length + x)
        };
        least = least.min(integral(shorter, step, age) / length);
        shorter = length;
    }
    least
}

/// The sum over samples at the left ends of steps up to `length`.
fn integral(length: f64, step: f64, value: impl Fn(f64) -> f64) -> f64 {
    let whole = (length / step).floor();
    let sum: f64 = (0..whole as u64).map(|index| value(index as f64 * step)).sum();
    sum * step
}
