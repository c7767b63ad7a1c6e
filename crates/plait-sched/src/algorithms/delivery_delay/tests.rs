use super::super::script::Script;
use super::*;
use crate::view::PathState;

/// Paths as (srtt in milliseconds, cwnd), with one-way delays in milliseconds.
fn script(paths: &[(u64, u32)], delays: &[Option<i64>]) -> Script<DeliveryDelay> {
    let mut script = Script::new(DeliveryDelay, paths);
    for (path, delay) in script.paths.iter_mut().zip(delays) {
        path.forward_delay = delay.map(|millis| millis * 1_000_000);
    }
    script
}

/// Scenario H_10 of the slides: 10 + 200 ms against 50 + 10 ms. Lowest RTT prefers the other path.
#[test]
fn the_way_back_does_not_count() {
    let mut script = script(&[(210, 2), (60, 3)], &[Some(10), Some(50)]);
    assert_eq!(script.opportunity(), [(0, 2), (1, 3)]);
}

#[test]
fn the_difference_of_the_clocks_does_not_matter() {
    for offset in [-5_000, 0, 7_000] {
        let mut script = script(&[(100, 1), (100, 1), (100, 1)], &[30, 10, 20].map(|d| Some(d + offset)));
        assert_eq!(script.opportunity(), [(1, 1), (2, 1), (0, 1)]);
    }
}

#[test]
fn a_full_path_and_one_in_recovery_are_passed_over() {
    let mut script = script(&[(20, 2), (20, 2), (100, 4)], &[Some(10), Some(10), Some(50)]).in_flight(0, 2);
    script.paths[1].in_recovery = true;
    assert_eq!(script.opportunity(), [(2, 4)]);
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [(0, 1)]);
}

#[test]
fn without_any_measurement_the_round_trip_time_decides() {
    let mut script = script(&[(100, 4), (20, 2), (0, 3)], &[None; 3]);
    assert_eq!(script.opportunity(), [(2, 3), (1, 2), (0, 4)], "path 2 is not measured at all");
}

#[test]
fn an_unmeasured_path_beside_measured_ones_goes_first() {
    let mut script = script(&[(20, 1), (500, 1), (30, 1)], &[Some(-90), None, Some(-95)]);
    assert_eq!(script.opportunity(), [(1, 1), (2, 1), (0, 1)]);
}

#[test]
fn the_delay_of_an_unusable_path_is_no_scale() {
    let mut script = script(&[(100, 1), (20, 1), (10, 1)], &[None, None, Some(5)]);
    script.paths[2].state = PathState::Failed;
    assert_eq!(script.opportunity(), [(1, 1), (0, 1)]);
}

#[test]
fn the_smaller_of_data_and_window_limits() {
    let mut script = script(&[(20, 9)], &[Some(10)]);
    script.connection.unassigned = 2;
    assert_eq!(script.opportunity(), [(0, 2)]);
    script.connection.unassigned = 9;
    script.connection.window_left = 1;
    assert_eq!(script.opportunity(), [(0, 1)]);
}
