use super::super::script::Script;
use super::*;
use crate::view::PathState;

/// Paths of 20, 100 and 50 ms with the given costs.
fn script(costs: [u32; 3]) -> Script<CheapestFirst> {
    let mut script = Script::new(CheapestFirst, &[(20, 2), (100, 4), (50, 3)]);
    script.paths.iter_mut().zip(costs).for_each(|(path, cost)| path.cost = cost);
    script
}

#[test]
fn the_cheapest_is_filled_first_however_far_it_is() {
    assert_eq!(script([5, 1, 5]).opportunity(), [(1, 4), (0, 2), (2, 3)]);
}

#[test]
fn where_nobody_said_what_it_costs_it_is_lowest_rtt() {
    assert_eq!(script([0, 0, 0]).opportunity(), [(0, 2), (2, 3), (1, 4)]);
}

#[test]
fn a_dear_path_carries_what_the_cheap_one_has_no_room_for() {
    let mut script = script([1, 9, 9]).in_flight(0, 1);
    script.connection.unassigned = 2;
    assert_eq!(script.opportunity(), [(0, 1), (2, 1)]);
    script.connection.unassigned = 1;
    script.acked(0, 1);
    assert_eq!(script.opportunity(), [(0, 1)]);
}

#[test]
fn a_cheap_backup_waits_for_its_turn() {
    let mut script = script([1, 9, 9]);
    script.paths[0].state = PathState::Backup;
    assert_eq!(script.opportunity(), [(2, 3), (1, 4)]);
}
