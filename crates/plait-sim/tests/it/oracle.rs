//! The search for the best schedule: a plan of one scheduler is the scheduler; no result is worse
//! than the best scheduler's, and none beats a valid bound; small instances against their exact
//! optimum.

use crate::bound::plain;
use crate::bound::toys::{self, PAYLOAD, least_delays, least_mean, network};
use crate::common;
use plait_sched::{Duration, PathId, SCHEDULERS};
use plait_sim::bound::{Bound, bounds};
use plait_sim::oracle::{self, Action, Outcome, Plan, Search, Step};
use plait_sim::recorder::RecordOptions;
use plait_sim::scenario::{Scenario, SchedulerChoice};
use plait_sim::simulation::Control;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

const LOSSY: &str = "
    duration = \"3s\"
    transport = { handshake = false }
    workload = { kind = \"file\", size = \"300kB\" }
    [[path]]
    rate = \"8Mbit\"
    rtt = \"20ms\"
    loss = \"1%\"
    [[path]]
    rate = \"5Mbit\"
    rtt = \"90ms\"
";

/// Blocks that the fast path alone cannot carry.
const BLOCKS: &str = "
    duration = \"2s\"
    workload = { kind = \"cbr\", rate = \"9Mbit\", block = \"6kB\" }
    [[path]]
    rate = \"8Mbit\"
    rtt = \"20ms\"
    [[path]]
    rate = \"5Mbit\"
    rtt = \"90ms\"
";

fn evaluate(scenario: &Scenario, plans: Vec<Plan>) -> Vec<(Plan, Outcome)> {
    let run = |plan: Plan| {
        let outcome = oracle::evaluate(scenario, &plan, &mut |_| Control::Continue);
        (plan, outcome.expect("no interrupt"))
    };
    plans.into_iter().map(run).collect()
}

/// A search of this many runs.
fn searched(scenario: &Scenario, runs: usize) -> Search<'_> {
    let mut search = Search::new(scenario);
    let schedulers = search.schedulers();
    let mut left = runs - schedulers.len();
    search.learn(evaluate(scenario, schedulers));
    while left > 0 && search.best().is_some() {
        let plans = search.next(left);
        left -= plans.len();
        search.learn(evaluate(scenario, plans));
    }
    search
}

fn json(scenario: &Scenario, plan: &Plan) -> String {
    let run = oracle::run(scenario, plan, &common::ALL, &mut |_| Control::Continue);
    run.map_or_else(
        |error| error.to_string(),
        |result| format!("{} {:?}", result.to_json(scenario, ""), result.decisions),
    )
}

#[test]
fn a_plan_of_one_scheduler_is_that_scheduler() {
    for info in SCHEDULERS {
        let scenario = common::scenario(&format!("scheduler = \"{}\"\n{LOSSY}", info.name));
        let result = common::try_run(&scenario, &common::ALL);
        let alone = result.map_or_else(
            |error| error.to_string(),
            |result| format!("{} {:?}", result.to_json(&scenario, ""), result.decisions),
        );
        assert!(alone == json(&scenario, &Plan::of(scenario.scheduler.clone())), "{}", info.name);
    }
}

/// The run of `lowest-rtt` with one step for all segments.
fn with(action: Action) -> plait_sim::result::RunResult {
    let scenario = common::scenario(LOSSY);
    let base = SchedulerChoice::new("lowest-rtt", &[]).expect("a scheduler");
    let plan = Plan { base, steps: vec![Step { first: 0, end: u64::MAX, action }] };
    oracle::run(&scenario, &plan, &common::ALL, &mut |_| Control::Continue).expect("a run")
}

#[test]
fn each_action_does_what_its_name_says() {
    let slow = PathId(1);
    let sent = |result: &plait_sim::result::RunResult| -> Vec<u64> {
        result.paths.iter().map(|path| path.packets_sent).collect()
    };
    let plain = with(Action::Wait(Duration::from_nanos(1)));
    assert!(sent(&plain)[0] > 100, "{:?}", sent(&plain));
    let all = with(Action::Send { path: slow, count: 9, period: 9 });
    assert_eq!(sent(&all)[0], 0);
    let third = sent(&with(Action::Send { path: slow, count: 3, period: 9 }))[1];
    assert!((60..200).contains(&third), "{third}");
    let copied = with(Action::Copy(slow)).metrics.reinjections;
    assert!(copied > 100, "{copied}");
    let later = with(Action::Wait(Duration::from_millis(500))).metrics.completion_time_s;
    let shift = later.unwrap_or(0.0) - plain.metrics.completion_time_s.unwrap_or(0.0);
    assert!((0.3..0.7).contains(&shift), "{shift}");
    let limited = with(Action::Limit(PathId(0), 1)).metrics.completion_time_s;
    assert!(limited > plain.metrics.completion_time_s);
    let other = SchedulerChoice::new("redundant", &[]).expect("a scheduler");
    assert!(with(Action::Scheduler(other)).metrics.reinjections > 50);
}

#[test]
fn a_search_is_repeatable_and_its_steps_help() {
    let scenario = common::scenario(BLOCKS);
    let (one, other) = (searched(&scenario, 120), searched(&scenario, 120));
    let (best, again) = (one.best().expect("a plan"), other.best().expect("a plan"));
    assert_eq!((&best.plan, best.value), (&again.plan, again.value));
    let scheduler = one.best_scheduler().expect("a scheduler");
    assert!(best.value < scheduler.value, "{} of {}", best.value, scheduler.value);
    assert_eq!(evaluate(&scenario, vec![best.plan.clone()])[0].1.value, Some(best.value));
}

#[test]
fn no_schedule_is_worse_than_a_scheduler_or_beats_a_bound() {
    let seed = crate::random::wanted("PLAIT_SEED", 31);
    let config = Config {
        cases: crate::random::wanted("PLAIT_CASES", 6),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 8,
        ..Config::default()
    };
    let check = |text: String| {
        let scenario = common::scenario(&text);
        let search = searched(&scenario, SCHEDULERS.len() + 40);
        let (Some(best), Some(scheduler)) = (search.best(), search.best_scheduler()) else { return Ok(()) };
        let upper = bounds(&scenario).first().is_some_and(Bound::is_upper);
        let gain = if upper { best.value - scheduler.value } else { scheduler.value - best.value };
        prop_assert!(gain >= 0.0, "{} against {}\n{text}", best.value, scheduler.value);
        let run = oracle::run(&scenario, &best.plan, &RecordOptions::default(), &mut |_| Control::Continue);
        let metrics = run.expect("a run").metrics;
        for bound in bounds(&scenario).iter().filter(|bound| bound.holds_for(&metrics)) {
            let Some(value) = bound.measured(&metrics).filter(|value| *value > 0.0) else { continue };
            let ratio = if bound.is_upper() { value / bound.value } else { bound.value / value };
            prop_assert!(ratio <= 1.0 + 1e-9, "{} {value}: {}\n{text}", bound.name, bound.value);
        }
        Ok(())
    };
    TestRunner::new(config).run(&plain::scenario(), check).unwrap_or_else(|error| panic!("{error}"));
}

/// Blocks of small instances, with congestion windows that never limit. The optimum knows no
/// windows and handshakes.
#[test]
fn blocks_come_near_the_exact_optimum() {
    // More than the fast path carries.
    let instances: [(&[toys::Path], (u64, u64)); 5] = [
        (&[(1, 3), (1, 9)], (2, 3)),
        (&[(2, 4), (1, 12)], (1, 1)),
        (&[(1, 2), (3, 5)], (4, 5)),
        (&[(2, 1), (2, 3)], (3, 2)),
        (&[(2, 2), (3, 6), (2, 11)], (4, 3)),
    ];
    let mut gaps = Vec::new();
    for (paths, (interval, packets)) in instances {
        let count = 200;
        let sums = least_delays(paths, (interval, packets), count);
        let optimum = least_mean(&sums, (count * 99 / 100) as usize);
        let scenario = common::scenario(&format!(
            "duration = \"{}ms\"\n[transport]\nprofile = \"standard\"\nhandshake = false\ninitial_window = \"1MB\"\n\
             [workload]\nkind = \"cbr\"\nblock = \"{}B\"\nrate = \"{}bit\"\nstop = \"{}ms\"\n{}",
            count * interval + 100,
            packets * PAYLOAD,
            packets * PAYLOAD * 8_000 / interval,
            count * interval,
            network(paths, 1)
        ));
        let search = searched(&scenario, crate::random::wanted("PLAIT_RUNS", 400));
        let (best, scheduler) = (search.best().expect("a plan"), search.best_scheduler().expect("a plan"));
        let gap = best.value / optimum - 1.0;
        let before = scheduler.value / optimum - 1.0;
        println!(
            "{paths:?}, {packets} packets per {interval} ms: {gap:.4} above the optimum, scheduler {before:.4}"
        );
        assert!(gap >= -1e-6, "{paths:?}: {} below {optimum}", best.value);
        gaps.push(gap);
    }
    gaps.sort_by(f64::total_cmp);
    println!("median {:.4}, largest {:.4}", gaps[gaps.len() / 2], gaps[gaps.len() - 1]);
    assert!(gaps[gaps.len() / 2] <= 0.1, "{gaps:?}");
}
