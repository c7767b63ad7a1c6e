use super::super::script::Script;
use super::*;
use crate::view::{PathId, PathState};
use crate::{Duration, Event};

/// Round trips of 50 and 130 ms, windows of 20 and 30, the first one full, and the given variation.
fn two(ecf: Ecf, variation: u64) -> Script<Ecf> {
    let mut script = Script::new(ecf, &[(50, 20), (130, 30)]).in_flight(0, 20);
    script.paths.iter_mut().for_each(|path| path.rttvar = Duration::from_millis(variation));
    script
}

/// Whether ECF waits with these numbers of unassigned segments, one after the other.
fn waits(script: &mut Script<Ecf>, left: &[u64]) -> Vec<bool> {
    let (connection, paths) = (script.connection.clone(), script.paths.clone());
    let mut waits = |unassigned: &u64| {
        let connection = Connection { unassigned: *unassigned, ..connection.clone() };
        script.scheduler.decide(Time::ZERO, &connection, &paths) == Decision::WAIT
    };
    left.iter().map(&mut waits).collect()
}

extern crate std;
use std::vec::Vec;

#[test]
fn the_papers_formula_waits_from_a_round_of_the_slow_path_on_and_no_longer_than_the_fast_one_needs() {
    let mut script = two(Ecf::new(250, Rounds::Fraction), 0);
    // 130 k/30 >= 100 from k = 24 on; 50 (1 + k/20) < 130 to k = 31, and with 1.25 times 130 to k =
    // 44.
    assert_eq!(waits(&mut script, &[1, 20, 25, 40, 46, 100]), [false, false, true, true, false, false]);
    let mut script = two(Ecf::new(250, Rounds::Fraction), 0);
    assert_eq!(
        waits(&mut script, &[40, 23, 24, 31, 44, 45, 44]),
        [false, false, true, true, true, false, false]
    );
}

#[test]
fn the_reason_has_both_inequalities() {
    let mut script = two(Ecf::new(250, Rounds::Fraction), 0);
    script.connection.unassigned = 25;
    let begins = "f is {0}, s is {1}; n r_f = 112.5 ms < (r_s + δ) = 130.0 ms; \
                  k/w_s r_s = 108.3 ms ≥ 2 r_f + δ = 100.0 ms";
    let (decision, reason) = script.explained();
    assert_eq!((decision, reason.as_str()), (Decision::WAIT, begins));
    script.connection.unassigned = 46;
    let ends = "f is {0}, s is {1}; n r_f = 165.0 ms ≥ (1 + β) (r_s + δ) = 162.5 ms; \
                k/w_s r_s = 199.3 ms ≥ 2 r_f + δ = 100.0 ms";
    let (decision, reason) = script.explained();
    assert_eq!((decision, reason.as_str()), (Decision::Assign { path: PathId(1), segments: 1 }, ends));
}

#[test]
fn a_round_trip_at_least_lets_the_last_segment_wait() {
    let mut script = two(Ecf::default(), 0);
    assert_eq!(waits(&mut script, &[1, 20, 25, 40, 46, 100]), [true, true, true, true, false, false]);
}

#[test]
fn a_large_variation_makes_waiting_rare() {
    for left in [46, 47, 71, 72] {
        let mut script = two(Ecf::default(), 100);
        assert_eq!(waits(&mut script, &[left]), [(47..=71).contains(&left)], "{left}");
    }
}

#[test]
fn waiting_that_is_not_worth_it_is_not_forgotten() {
    let mut script = two(Ecf::new(250, Rounds::Fraction), 0);
    // With 20 segments the slow path would be done first, but with 40 the fast path may still be
    // worth waiting for.
    assert_eq!(waits(&mut script, &[25, 20, 40, 100, 40]), [true, false, true, false, false]);
}

#[test]
fn what_the_windows_let_out_goes_as_by_lowest_rtt() {
    let mut script = Script::new(Ecf::default(), &[(130, 30), (50, 20)]);
    script.connection.unassigned = 20;
    assert_eq!(script.opportunity(), [(1, 20)]);
    // The fast path needs three and a half rounds for 50 segments, 175 ms.
    script.connection.unassigned = 50;
    let steps = script.opportunity();
    assert_eq!(steps[..3], [(0, 1), (0, 1), (0, 1)]);
    // From 31 segments on it is done within 130 ms, and more than a round of the slow path is left.
    assert_eq!((steps.len(), script.connection.unassigned), (19, 31));
}

#[test]
fn a_path_that_timed_out_is_not_waited_for() {
    let mut script = two(Ecf::default(), 0);
    script.connection.unassigned = 25;
    assert_eq!(script.opportunity(), []);
    script.tell(&Event::Timeout { path: PathId(0) });
    assert_eq!(script.opportunity(), [(1, 25)]);
    script.connection.unassigned = 25;
    script.paths[1].in_flight = 0;
    script.tell(&Event::Acked { path: PathId(0), segments: 1, rtt: None });
    assert_eq!(script.opportunity(), []);
}

#[test]
fn an_unmeasured_path_is_not_waited_for_and_a_backup_not_at_all() {
    let mut script = two(Ecf::default(), 0);
    script.connection.unassigned = 25;
    script.paths[0].srtt = Duration::ZERO;
    assert_eq!(script.opportunity(), [(1, 25)]);
    let mut script = two(Ecf::default(), 0);
    script.connection.unassigned = 25;
    script.paths[0].state = PathState::Backup;
    assert_eq!(script.opportunity(), [(1, 25)]);
}

#[test]
fn an_endless_stream_never_waits() {
    let mut script = two(Ecf::default(), 0);
    script.connection.unassigned = u64::MAX;
    assert!(waits(&mut script, &[u64::MAX]) == [false]);
}
