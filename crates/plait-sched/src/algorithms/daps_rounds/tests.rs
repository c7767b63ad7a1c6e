use proptest::prelude::*;

use super::super::script::Script;
use super::Replan::{Always, Exhausted};
use super::*;

fn script(replan: Replan, paths: &[(u64, u32)]) -> Script<DapsRounds> {
    Script::new(DapsRounds::new(replan, Spacing::OneWay, 64, None), paths)
}

/// D = 1 and 3, cwnd = 2 and 1: t = 1, 2, 3 belong to the fast path, t = 3 after it to the slow
/// one.
#[test]
fn the_fast_path_is_given_the_rounds_before_the_slow_one() {
    for replan in [Always, Exhausted] {
        let mut script = script(replan, &[(10, 2), (30, 1)]);
        assert_eq!(script.opportunity(), [(0, 2), (0, 2), (0, 2), (1, 1)]);
        assert_eq!((script.paths[0].in_flight, script.paths[0].queued), (2, 4));
        assert_eq!(script.paths[1].in_flight, 1, "segment 6 left while segments 2–5 wait");
        assert_eq!(script.opportunity(), [], "every window is covered");
    }
}

/// D = 2, 3, 4 ms; in multiples of the smallest 1, 1.5 → 2, 2. At equal t the smaller D is first,
/// then the lower number.
#[test]
fn three_paths_by_hand() {
    let mut script = script(Always, &[(8, 3), (6, 5), (4, 1)]);
    // t = 1: path 2. t = 2: path 2, then 0 and 1.
    assert_eq!(script.opportunity(), [(2, 1), (2, 1), (0, 3), (1, 5)]);
}

#[test]
fn an_open_path_makes_a_new_plan_from_recalled_segments() {
    let mut script = script(Always, &[(10, 2), (30, 1)]);
    script.opportunity();
    let before = script.connection.unassigned;
    script.acked(1, 1);
    assert_eq!(script.opportunity(), [(0, 0), (0, 2), (0, 2), (0, 2), (1, 1)], "(0, 0) is the recall");
    assert_eq!(before - script.connection.unassigned, 3, "four of the seven had been assigned before");
}

#[test]
fn a_covered_window_needs_no_plan() {
    let mut script = script(Always, &[(10, 2), (30, 1)]);
    script.opportunity();
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [], "the queue filled the room");
}

#[test]
fn an_exhausted_period_is_followed_by_another_and_until_then_it_goes_on() {
    let mut script = script(Exhausted, &[(10, 1), (20, 1)]);
    assert_eq!(script.opportunity(), [(0, 1), (0, 1), (1, 1)]);
    script.acked(0, 1);
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [(0, 1)], "t = 1 of the second period");
    script.acked(1, 1);
    assert_eq!(script.opportunity(), [(0, 1), (1, 1)], "t = 2");
    script.acked(1, 1);
    assert_eq!(script.opportunity(), [(0, 0), (0, 1), (0, 1), (1, 1)], "the third begins with a recall");
}

#[test]
fn a_timeout_ends_the_period() {
    for (timeout, rounds_left) in [(false, 3), (true, 4)] {
        let mut script = script(Exhausted, &[(10, 1), (40, 2)]).in_flight(1, 2);
        assert_eq!(script.opportunity(), [(0, 1)], "t = 1");
        script.paths[1].in_flight = 0;
        if timeout {
            script.tell(&Event::Timeout { path: PathId(1) });
        }
        let steps = script.opportunity();
        assert_eq!(steps.iter().filter(|&&step| step == (0, 1)).count(), rounds_left);
        assert_eq!(steps.last(), Some(&(1, 2)));
    }
}

#[test]
fn nothing_is_assigned_into_a_closed_window() {
    let mut script = script(Always, &[(10, 2), (30, 1)]);
    script.connection.window_left = 0;
    assert_eq!(script.opportunity(), []);
}

#[test]
fn the_end_of_the_data_ends_the_walk() {
    let mut script = script(Always, &[(10, 2), (30, 1)]);
    script.connection.unassigned = 5;
    assert_eq!(script.opportunity(), [(0, 2), (0, 2), (0, 1)]);
}

#[test]
fn unmeasured_paths_take_turns() {
    let mut script = script(Always, &[(10, 2), (0, 3)]);
    assert_eq!(script.opportunity(), [(0, 2), (1, 3)]);
}

#[test]
fn a_period_is_capped() {
    let mut script = Script::new(DapsRounds::new(Always, Spacing::OneWay, 2, None), &[(10, 1), (90, 1)]);
    assert_eq!(script.opportunity(), [(0, 1), (0, 1), (1, 1)], "a ratio of 9 counts as 2");
}

#[test]
fn quantization_by_hand() {
    for (delay, unit, expected) in
        [(10, 10, 1), (14, 10, 1), (15, 10, 2), (24, 10, 2), (95, 10, 10), (9_999, 10, 64)]
    {
        assert_eq!(quantize(delay, unit, 64), expected, "{delay} in units of {unit}");
    }
    assert_eq!((capped_lcm(4, 6, 64), capped_lcm(5, 7, 64), capped_lcm(13, 17, 64)), (12, 35, 64));
}

proptest! {
    #[test]
    fn a_quantized_delay_is_within_half_a_unit(unit in 1_u64..10_000_000, ratio in 1_u64..70_000_000, most in 1_u32..=65_536) {
        let delay = unit * ratio / 1_000;
        let quantized = quantize(delay.max(unit), unit, most);
        prop_assert!((1..=most).contains(&quantized));
        if quantized < most {
            let error = (u64::from(quantized) * unit).abs_diff(delay.max(unit));
            prop_assert!(2 * error <= unit);
        }
    }

    #[test]
    fn a_capped_multiple_is_the_least_common_one_or_the_cap(a in 1_u32..=500, b in 1_u32..=500, most in 500_u32..=65_536) {
        let multiple = capped_lcm(a, b, most);
        prop_assert!(multiple >= a.max(b) && multiple <= most);
        if multiple < most {
            prop_assert!(multiple.is_multiple_of(a) && multiple.is_multiple_of(b));
            prop_assert!((1..multiple).all(|n| !n.is_multiple_of(a) || !n.is_multiple_of(b)));
        }
    }

    /// With any delays, every path gets its turn within a period, and the walk ends.
    #[test]
    fn every_window_is_covered(paths in prop::collection::vec((1_u64..2_000, 1_u32..40), 1..9)) {
        let mut script = script(Always, &paths);
        let steps = script.opportunity();
        prop_assert!(script.paths.iter().all(|path| path.room() == 0));
        prop_assert!(steps.len() <= 64 * paths.len());
    }
}

/// D = 10 and 50 ms. Before the slow path's first segment arrives, f can send its present room and
/// two more windows, at 10, 30 and 50 ms.
#[test]
fn in_round_trips_the_fast_path_gets_what_arrives_before_the_slow_one() {
    let scheduler = DapsRounds::new(Exhausted, Spacing::RoundTrip, 64, None);
    let mut script = Script::new(scheduler, &[(20, 4), (100, 3)]).in_flight(0, 1);
    assert_eq!(script.opportunity(), [(0, 3), (0, 4), (0, 4), (1, 3)]);
}
