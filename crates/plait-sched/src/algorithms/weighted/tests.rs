extern crate std;

use std::vec::Vec;

use super::super::script::Script;
use super::*;
use crate::view::PathState;

/// Paths of 20, 100 and 50 ms with these weights, and windows that hold all segments.
fn script(reading: Reading, weights: &[u32]) -> Script<Weighted> {
    let paths = &[(20, 100_000), (100, 100_000), (50, 100_000)][..weights.len()];
    let mut script = Script::new(Weighted::new(reading), paths);
    script.paths.iter_mut().zip(weights).for_each(|(path, &weight)| path.weight = weight);
    script
}

/// The paths of the next segments, one after the other.
fn turns(script: &mut Script<Weighted>, segments: u64) -> Vec<u8> {
    script.connection.unassigned = segments;
    let steps = script.opportunity();
    steps.iter().flat_map(|&(path, segments)| core::iter::repeat_n(path, segments as usize)).collect()
}

/// Number of turns of each path among this many.
fn shares(reading: Reading, weights: &[u32], segments: u64) -> [usize; 3] {
    let turns = turns(&mut script(reading, weights), segments);
    [0, 1, 2].map(|path| turns.iter().filter(|&&turn| turn == path).count())
}

/// By hand, credits before each turn of weights 3 and 2: (3, 2) and 0 pays 5; (1, 4): 1; (4, 1): 0;
/// (2, 3): 1; (5, 0): 0, and the state is the initial one.
#[test]
fn turns_are_spread_over_the_round() {
    assert_eq!(turns(&mut script(Reading::Shares, &[3, 2]), 10), [0, 1, 0, 1, 0, 0, 1, 0, 1, 0]);
    assert_eq!(turns(&mut script(Reading::Shares, &[5, 1, 1]), 7), [0, 0, 1, 0, 2, 0, 0]);
}

/// By hand, counters before each turn of 75 and 25 %, which cost 4/3 and 4: (0, 0) and 0; (4/3, 0):
/// 1; (1/3, 4): 0, which falls to −2/3 and is set; (4/3, 3): 0; (4/3, 2): 0; (4/3, 1): 1, and the
/// round of 0, 0, 0, 1 begins again.
///
/// Of 50, 25 and 25 %, which cost 2, 4 and 4: (0, 0, 0) and 0; (2, 0, 0): 1; (1, 4, 0): 2; (0, 3,
/// 4): 0; (2, 2, 3): 0; (2, 1, 2): 1; (1, 4, 1): 0; (2, 3, 0): 2; (1, 2, 4) and so on.
#[test]
fn counters_as_mlvpn_has_them() {
    assert_eq!(turns(&mut script(Reading::Mlvpn, &[75, 25]), 10), [0, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(turns(&mut script(Reading::Mlvpn, &[50, 25, 25]), 8), [0, 1, 2, 0, 0, 1, 0, 2]);
}

#[test]
fn without_weights_it_is_round_robin() {
    for reading in [Reading::Shares, Reading::Mlvpn] {
        assert_eq!(turns(&mut script(reading, &[1, 1, 1]), 7), [0, 1, 2, 0, 1, 2, 0]);
    }
}

#[test]
fn shares_are_those_of_the_weights() {
    assert_eq!(shares(Reading::Shares, &[60, 40], 1000), [600, 400, 0]);
    assert_eq!(shares(Reading::Shares, &[65_535, 1], 65_536), [65_535, 1, 0]);
    assert_eq!(shares(Reading::Shares, &[7, 2, 4], 1300), [700, 200, 400]);
}

#[test]
fn mlvpn_forgets_what_is_left_of_a_turn() {
    // 100/60 and 100/40 are 1.67 and 2.5: each path has had its turn before the other path's
    // counter is the smaller again.
    assert_eq!(shares(Reading::Mlvpn, &[60, 40], 1000), [500, 500, 0]);
    assert_eq!(shares(Reading::Mlvpn, &[80, 20], 1000), [800, 200, 0]);
}

#[test]
fn only_weights_against_each_other_count() {
    for reading in [Reading::Shares, Reading::Mlvpn] {
        let turns = |weights| turns(&mut script(reading, weights), 40);
        assert_eq!(turns(&[3, 1]), turns(&[300, 100]));
        assert_eq!(turns(&[0, 3]), turns(&[1, 3]), "none is one");
        assert_eq!(turns(&[u32::MAX, 1]), turns(&[65_535, 1]));
    }
}

#[test]
fn what_a_path_misses_it_does_not_make_up_for() {
    let mut script = script(Reading::Shares, &[1, 1]);
    script.paths[0].cwnd = 0;
    script.connection.unassigned = 50;
    assert_eq!(script.opportunity(), [(1, 50)], "alone, it takes what its window lets out");
    script.paths[0].cwnd = 1000;
    assert_eq!(turns(&mut script, 6), [0, 1, 0, 1, 0, 1]);
}

#[test]
fn by_mlvpn_it_has_one_turn_at_once() {
    let mut script = script(Reading::Mlvpn, &[1, 3]);
    // Its counter is 4 after its turn, and is 0 when the path opens.
    assert_eq!(turns(&mut script, 1), [0]);
    script.paths[0].cwnd = 0;
    assert_eq!(turns(&mut script, 50), [1; 50]);
    script.paths[0].cwnd = 1000;
    assert_eq!(turns(&mut script, 6), [0, 1, 1, 1, 0, 1]);
}

#[test]
fn a_heavy_backup_waits_for_its_turn() {
    let mut script = script(Reading::Shares, &[900, 1, 1]);
    script.paths[0].state = PathState::Backup;
    assert_eq!(turns(&mut script, 4), [1, 2, 1, 2]);
}
