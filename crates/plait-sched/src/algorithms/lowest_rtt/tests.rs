use super::super::script::Script;
use super::*;
use crate::view::PathState;

#[test]
fn paths_are_filled_by_ascending_round_trip_time() {
    let mut script = Script::new(LowestRtt, &[(100, 4), (20, 2), (50, 3)]);
    assert_eq!(script.opportunity(), [(1, 2), (2, 3), (0, 4)]);
}

#[test]
fn a_full_path_is_passed_over() {
    let mut script = Script::new(LowestRtt, &[(20, 2), (100, 4)]).in_flight(0, 2);
    assert_eq!(script.opportunity(), [(1, 4)]);
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [(0, 1)]);
}

#[test]
fn an_unmeasured_path_goes_first_and_the_lower_number_wins_a_tie() {
    let mut script = Script::new(LowestRtt, &[(20, 1), (20, 1), (0, 1)]);
    assert_eq!(script.opportunity(), [(2, 1), (0, 1), (1, 1)]);
}

#[test]
fn the_smaller_of_data_and_window_limits() {
    let mut script = Script::new(LowestRtt, &[(20, 9)]);
    script.connection.unassigned = 2;
    assert_eq!(script.opportunity(), [(0, 2)]);
    script.connection.unassigned = 9;
    script.connection.window_left = 1;
    assert_eq!(script.opportunity(), [(0, 1)]);
}

#[test]
fn a_faster_backup_path_is_used_only_when_no_other_is_left() {
    let mut script = Script::new(LowestRtt, &[(20, 9), (100, 1)]);
    script.paths[0].state = PathState::Backup;
    assert_eq!(script.opportunity(), [(1, 1)]);
    script.paths[1].state = PathState::Failed;
    assert_eq!(script.opportunity(), [(0, 9)]);
}
