//! No run beats a valid bound, and a bound never passes the exact optimum of a small instance.
//!
//! `PLAIT_CASES=25000 cargo test --release -p plait-sim --test it bound::no_run -- --nocapture` runs
//! 200,000 cases, of eight kinds; `PLAIT_SEED` draws others.

pub(crate) mod plain;
pub(crate) mod toys;

use crate::common;
use crate::random::{linux, strategy};
use plait_sim::bound::{Bound, bounds};
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::Scenario;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use strategy::Network;

/// Number of cases of each kind in `make test`.
const CASES: u32 = 100;

/// Bounds that runs must have been compared with.
const NAMES: [&str; 6] = ["L0", "L0-joint", "L1", "L1-credit", "L2a", "L3"];

/// Number of kinds of scenarios.
const KINDS: u64 = 8;

/// By name and metric: how often a bound was compared, and the runs closest to it.
type Closest = BTreeMap<(&'static str, &'static str), (u64, [f64; 3])>;

/// A scenario of a kind, sometimes with a warm-up. The kinds are CMT-SCTP and MPTCP, then the
/// profile of Linux, then Multipath QUIC, each over any network and over orderly ones. Two more
/// kinds are plain networks.
fn scenarios_of(kind: u64) -> BoxedStrategy<String> {
    if kind >= 6 {
        return plain::scenario().boxed();
    }
    let network = if kind.is_multiple_of(2) { Network::Any } else { Network::Orderly };
    let text = match kind / 2 {
        0 => strategy::scenario(network).boxed(),
        1 => strategy::mptcp_scenario(network).prop_map(|text| linux(&text)).boxed(),
        _ => strategy::mpquic_scenario(network).boxed(),
    };
    let warmup = prop_oneof![2 => Just(0), 1 => 1_u64..900];
    (text, warmup, 0..3).prop_map(|(text, warmup, bulk)| with_warmup(&text, warmup, bulk == 0)).boxed()
}

/// Sets a warm-up in thousandths of the duration, and sometimes bulk data for some seconds.
fn with_warmup(text: &str, thousandths: u64, bulk: bool) -> String {
    let (head, rest) = text.split_once("[workload]\n").expect("a workload");
    let (workload, network) = rest.split_once("[[path]]").expect("a network");
    let workload = if bulk { "kind = \"bulk\"" } else { workload };
    let scenario = common::scenario(text);
    let bits: u64 = scenario.directions().map(|(_, _, link)| link.capacity.nominal_rate()).max().unwrap_or(1);
    // Some hundred packets of the fastest link, and short runs, in which the ends count.
    let seconds =
        if bulk { (60_000_000 / bits).clamp(1, 30) } else { scenario.duration.as_nanos() / 1_000_000_000 };
    let millis = seconds * thousandths;
    let (seed, head) = head.split_once("duration = ").expect("a duration");
    let (_, head) = head.split_once('\n').expect("a line");
    format!(
        "{seed}duration = \"{seconds}s\"\nwarmup = \"{millis}ms\"\n{head}[workload]\n{workload}\n\n[[path]]{network}"
    )
}

/// The metric relative to the bound: at most 1.
fn ratio(bound: &Bound, value: f64) -> f64 {
    if bound.is_upper() { value / bound.value } else { bound.value / value }
}

/// Runs a scenario and compares it with its bounds.
fn check(text: &str, closest: &Mutex<Closest>) -> Result<(), String> {
    let scenario: Scenario = common::scenario(text);
    let bounds = bounds(&scenario);
    if bounds.is_empty() {
        return Ok(());
    }
    let Ok(result) = common::try_run(&scenario, &RecordOptions::default()) else { return Ok(()) };
    for bound in bounds.iter().filter(|bound| bound.holds_for(&result.metrics)) {
        let Some(value) = bound.measured(&result.metrics).filter(|value| *value > 0.0) else { continue };
        let ratio = ratio(bound, value);
        let mut closest = closest.lock().expect("no panic");
        let (count, best) = closest.entry((bound.name, bound.metric)).or_default();
        *count += 1;
        let place = best.partition_point(|other| *other > ratio);
        if place < best.len() {
            best[place..].rotate_right(1);
            best[place] = ratio;
        }
        drop(closest);
        // Both are rounded once.
        if ratio > 1.0 + 1e-9 {
            println!("{text}");
            return Err(format!(
                "{} {} {}: {value} beats {}\n{text}",
                bound.name, bound.metric, ratio, bound.value
            ));
        }
    }
    Ok(())
}

fn run_kind(kind: u64, cases: u32, closest: &Mutex<Closest>) -> Result<(), String> {
    let seed: u64 = crate::random::wanted("PLAIT_SEED", 9260);
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed * KINDS + kind),
        failure_persistence: None,
        max_shrink_iters: 500,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&scenarios_of(kind), |text| check(&text, closest).map_err(TestCaseError::fail))
        .map_err(|error| format!("seed {seed}, kind {kind}: {error}"))
}

fn run_all(cases: u32) {
    let closest = Mutex::new(Closest::new());
    let failed: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..KINDS)
            .map(|kind| {
                scope.spawn({
                    let closest = &closest;
                    move || run_kind(kind, cases, closest)
                })
            })
            .collect();
        all.into_iter().filter_map(|one| one.join().expect("no panic").err()).collect()
    });
    for ((name, metric), (count, best)) in &*closest.lock().expect("no panic") {
        println!("{name} {metric}: {count} runs, closest {best:.5?}");
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    let compared: BTreeSet<&str> =
        closest.into_inner().expect("no panic").into_keys().map(|(name, _)| name).collect();
    let missing: Vec<_> = NAMES.iter().filter(|name| !compared.contains(**name)).collect();
    assert!(missing.is_empty(), "no run was compared with {missing:?}");
}

#[test]
fn no_run_beats_a_bound() {
    run_all(crate::random::wanted("PLAIT_CASES", CASES));
}
