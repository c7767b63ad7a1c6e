use super::super::script::Script;
use super::*;
use crate::view::PathState;

#[test]
fn a_turn_fills_the_window() {
    let mut script = Script::new(RoundRobin::new(None), &[(20, 3), (200, 5)]);
    assert_eq!(script.opportunity(), [(0, 3), (1, 5)]);
}

#[test]
fn the_rotation_outlives_the_call() {
    let mut script = Script::new(RoundRobin::new(None), &[(20, 3), (200, 5)]);
    script.connection.window_left = 2;
    assert_eq!(script.opportunity(), [(0, 2)], "cut short by the receiver's window");
    script.connection.window_left = 4;
    assert_eq!(script.opportunity(), [(1, 4)], "the turn of path 0 was over");
    script.connection.window_left = 9;
    assert_eq!(script.opportunity(), [(0, 1), (1, 1)]);
}

#[test]
fn turns_of_fixed_length_alternate_and_skip_full_paths() {
    let mut script = Script::new(RoundRobin::new(Some(2)), &[(20, 7), (200, 3)]);
    assert_eq!(script.opportunity(), [(0, 2), (1, 2), (0, 2), (1, 1), (0, 2), (0, 1)]);
}

#[test]
fn a_path_in_recovery_and_an_idle_backup_have_no_turn() {
    let mut script = Script::new(RoundRobin::new(None), &[(20, 3), (20, 3), (20, 3)]);
    script.paths[0].in_recovery = true;
    script.paths[1].state = PathState::Backup;
    assert_eq!(script.opportunity(), [(2, 3)]);
    script.paths[0].state = PathState::Failed;
    script.paths[2].state = PathState::PotentiallyFailed;
    assert_eq!(script.opportunity(), [(1, 3)]);
}

#[test]
fn nothing_to_send_keeps_the_turn() {
    let mut script = Script::new(RoundRobin::new(None), &[(20, 1), (20, 1)]);
    script.connection.unassigned = 0;
    assert_eq!(script.opportunity(), []);
    script.connection.unassigned = 9;
    assert_eq!(script.opportunity(), [(0, 1), (1, 1)]);
}
