//! Links that are cut for good in the middle of a transfer: how long nothing is handed on in order.

mod network;

use network::{Case, Path, content, run};
use std::time::Duration;

/// A line, and LTE with a long queue.
const DSL: Path = Path {
    megabits: 40.0,
    delay: Duration::from_micros(12_500),
    lost: 0,
    jitter: Duration::ZERO,
    queue: 500_000,
    outage: None,
};
const LTE: Path = Path { megabits: 20.0, delay: Duration::from_millis(30), queue: 750_000, ..DSL };

const BYTES: usize = 10_000_000;

/// The longest time without anything in order, where one of both is cut at a moment that the seed draws.
fn gap(seed: u64) -> Duration {
    let chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17;
    let cut = Duration::from_millis(500 + chance % 2_000);
    let mut paths = [DSL, LTE];
    paths[seed as usize % 2].outage = Some([cut, Duration::from_secs(1_000)]);
    let scheduler = ["lowest-rtt", "blest", "ecf"][seed as usize / 2 % 3];
    let run = run(&Case { scheduler, bytes: BYTES, seed, paths: &paths, ..Case::default() });
    assert!(run.outcome.is_ok(), "{seed}: {:?}", run.outcome);
    let (got, ended) = run.received.expect("the receiver has ended");
    assert!(got == content(BYTES, seed), "{seed}: bytes differ");
    ended.expect("it is whole").longest_gap
}

/// `CUTS` draws as many; some of the default ones were the worst of 240.
#[test]
fn a_cut_link_stops_a_transfer_for_less_than_half_a_second() {
    let drawn = std::env::var("CUTS").ok().and_then(|count| count.parse().ok());
    let seeds: Vec<u64> = drawn.map_or_else(|| (138..162).collect(), |count| (0..count).collect());
    let mut gaps: Vec<(Duration, u64)> = seeds.into_iter().map(|seed| (gap(seed), seed)).collect();
    gaps.sort_unstable();
    let [median, late] = [50, 95].map(|share| gaps[(gaps.len() - 1) * share / 100].0);
    let worst = gaps.split_off(gaps.len().saturating_sub(5));
    println!("median {median:?}, p95 {late:?}, worst {worst:?}");
    assert!(worst.iter().all(|(gap, _)| *gap < Duration::from_millis(500)), "{worst:?}");
}
