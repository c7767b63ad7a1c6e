//! Links that are cut permanently in the middle of a transfer: the time without in-order data.

use crate::network::{Case, Path, content, run};
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::Range;
use std::time::Duration;

/// A DSL line, and LTE with a long queue.
const DSL: Path = Path {
    megabits: 40.0,
    delay: Duration::from_micros(12_500),
    lost: 0,
    jitter: Duration::ZERO,
    queue: 500_000,
    outage: None,
    narrow: None,
};
const LTE: Path = Path { megabits: 20.0, delay: Duration::from_millis(30), queue: 750_000, ..DSL };

const BYTES: usize = 10_000_000;

/// Returns the longest time without in-order data, if one of the paths is cut at this millisecond.
fn gap(seed: u64, mut paths: [Path; 2], bytes: usize, cut: u64) -> Duration {
    paths[seed as usize % 2].outage = Some([Duration::from_millis(cut), Duration::from_secs(1_000)]);
    let scheduler = ["lowest-rtt", "blest", "ecf"][seed as usize / 2 % 3];
    let run = run(&Case { scheduler, bytes, seed, paths: &paths, ..Case::default() });
    assert!(run.outcome.is_ok(), "{seed}: {:?}", run.outcome);
    let (got, ended) = run.received.expect("the receiver has ended");
    assert!(got == content(bytes, seed), "{seed}: bytes differ");
    ended.expect("it is whole").longest_gap
}

/// Runs the usual seeds, or `CUTS` seeds if this variable is set. Returns the gaps in ascending
/// order.
fn gaps(usual: Range<u64>, gap: impl Fn(u64) -> Duration) -> Vec<(Duration, u64)> {
    let drawn = std::env::var("CUTS").ok().and_then(|count| count.parse().ok());
    let seeds = drawn.map_or(usual, |count| 0..count);
    let mut gaps: Vec<(Duration, u64)> = seeds.map(|seed| (gap(seed), seed)).collect();
    gaps.sort_unstable();
    let [median, late] = [50, 95].map(|share| gaps[(gaps.len() - 1) * share / 100].0);
    println!("median {median:?}, p95 {late:?}, worst {:?}", &gaps[gaps.len().saturating_sub(5)..]);
    gaps
}

/// Some of the usual draws were the worst of 240.
#[test]
fn a_cut_link_stops_a_transfer_for_less_than_half_a_second() {
    let cut = |seed: u64| 500 + (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17) % 2_000;
    let gaps = gaps(138..162, |seed| gap(seed, [DSL, LTE], BYTES, cut(seed)));
    assert!(gaps.iter().all(|(gap, _)| *gap < Duration::from_millis(500)), "{gaps:?}");
}

/// Random links with queues of up to 300 ms, in which retransmissions wait or are lost.
#[test]
fn cut_links_of_any_kind_stop_no_transfer() {
    let gaps = gaps(0..24, |seed| {
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut between =
            |low: f64, high: f64| low + (high - low) * (chance.next_u64() >> 11) as f64 / 2_f64.powi(53);
        let paths = [(); 2].map(|()| {
            let megabits = 2.0 * 30_f64.powf(between(0.0, 1.0));
            let queue = megabits * 1e6 / 8.0 * between(0.03, 0.3);
            let delay = Duration::from_micros(between(2_000.0, 60_000.0) as u64);
            let lost = [0, 0, 1, 10][between(0.0, 4.0) as usize];
            Path { megabits, delay, lost, queue: queue as u64, ..DSL }
        });
        // Enough data for about three seconds over both paths.
        let bytes = paths.iter().map(|path| path.megabits).sum::<f64>() * 3.0 * 1e6 / 8.0;
        gap(seed, paths, bytes as usize, between(100.0, 2_500.0) as u64)
    });
    let [median, worst] = [gaps[gaps.len() / 2], gaps[gaps.len() - 1]].map(|(gap, _)| gap);
    assert!(median < Duration::from_millis(500) && worst < Duration::from_secs(3), "{gaps:?}");
}
