extern crate std;

use std::vec::Vec;

use super::super::script::{Script, Step};
use super::FastLimit::{Literal, Outstanding, Reserved};
use super::Lifetime::{Anew, ToEnd};
use super::*;
use crate::time::Duration;

type Steps = &'static [Step];

const READINGS: [(FastLimit, Lifetime); 6] = [
    (Outstanding, Anew),
    (Outstanding, ToEnd),
    (Literal, Anew),
    (Literal, ToEnd),
    (Reserved, Anew),
    (Reserved, ToEnd),
];

fn script(limit: FastLimit, lifetime: Lifetime, paths: &[(u64, u32)]) -> Script<Daps> {
    Script::new(Daps::new(limit, lifetime, RoundTrip::Own, None), paths)
}

/// Figure 2 of the paper: η = 10, cwnd_f ≥ 10, cwnd_s = 1. "The first min(10, ≥ 10) = 10 packets
/// (TSN 1–10) should be transmitted on p_f, and the following cwnd_s = 1 (TSN 11) on p_s."
#[test]
fn figure_2_of_the_paper() {
    for (limit, lifetime) in READINGS {
        let mut script = script(limit, lifetime, &[(20, 12), (200, 1)]);
        let steps = script.opportunity();
        assert_eq!(steps[..2], [(0, 10), (1, 1)], "{limit:?} {lifetime:?}");
    }
}

#[test]
fn the_reason_has_eta_and_the_plan() {
    let mut script = script(Literal, Anew, &[(20, 12), (200, 1)]);
    let (decision, reason) = script.explained();
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 10 });
    assert_eq!(reason, "f is {0}; η = ⌊r_s/r_f⌋ = 10 for {1}; plan: 10 on {0}, 1 on {1}");
    let (_, reason) = self::script(Reserved, Anew, &[(20, 12), (200, 1)]).explained();
    assert_eq!(reason, "f is {0}; η = ⌊r_s/r_f⌋ = 10 for the slowest path");
}

/// The receiver's window splits the first part of the plan, and a new sample changes r_s.
#[test]
fn the_reason_stays_that_of_the_plan() {
    let mut script = script(Literal, ToEnd, &[(20, 12), (200, 1)]);
    script.connection.window_left = 4;
    let (decision, reason) = script.explained();
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 4 });
    assert_eq!(reason, "f is {0}; η = ⌊r_s/r_f⌋ = 10 for {1}; plan: 10 on {0}, 1 on {1}");
    script.paths[1].srtt = Duration::from_millis(100);
    let (_, reason) = script.explained();
    assert_eq!(reason, "f is {0}; η = ⌊r_s/r_f⌋ = 10 for {1}; plan: 6 on {0}, 1 on {1}");
}

/// The fast path is found by its delay, not by its number.
#[test]
fn figure_2_with_the_paths_exchanged() {
    let mut script = script(Literal, Anew, &[(200, 1), (20, 12)]);
    assert_eq!(script.opportunity(), [(1, 10), (0, 1)]);
}

/// A hand-worked table: r_f = 20 ms; η, cwnd_f, unack_f, cwnd_s, unack_s → one schedule, as printed
/// and with the limit on outstanding segments.
#[test]
fn algorithm_3_by_hand() {
    let table: [([u32; 5], Steps, Steps); 6] = [
        ([5, 20, 0, 4, 0], &[(0, 5), (1, 4)], &[(0, 5), (1, 4)]),
        ([5, 20, 3, 4, 1], &[(0, 5), (1, 3)], &[(0, 2), (1, 3)]),
        ([5, 20, 7, 4, 4], &[(0, 5)], &[]),
        ([5, 3, 1, 4, 0], &[(0, 2), (1, 4)], &[(0, 2), (1, 4)]),
        ([5, 3, 3, 4, 0], &[(1, 4)], &[(1, 4)]),
        ([1, 9, 0, 9, 2], &[(0, 1), (1, 7)], &[(0, 1), (1, 7)]),
    ];
    for ([eta, cwnd_f, unack_f, cwnd_s, unack_s], literal, outstanding) in table {
        for (limit, expected) in [(Literal, literal), (Outstanding, outstanding)] {
            // The remainder of the division does not count.
            let paths = [(20, cwnd_f), (u64::from(20 * eta + 19), cwnd_s)];
            let mut script = script(limit, Anew, &paths).in_flight(0, unack_f).in_flight(1, unack_s);
            assert_eq!(
                script.opportunity(),
                expected,
                "{limit:?}: η {eta}, cwnd_f {cwnd_f}, unack_f {unack_f}"
            );
        }
    }
}

#[test]
fn the_fast_path_alone_takes_what_fits_into_its_window() {
    for (limit, lifetime) in READINGS {
        let mut script = script(limit, lifetime, &[(20, 12), (100, 9)]).in_flight(0, 2);
        script.connection.unassigned = 10;
        assert_eq!(script.opportunity(), [(0, 10)], "{limit:?} {lifetime:?}");
        assert_eq!(script.connection.unassigned, 0);
    }
}

#[test]
fn what_the_window_did_not_admit_goes_on_the_fast_path_next() {
    let mut script = script(Outstanding, Anew, &[(20, 20), (200, 5)]);
    script.connection.window_left = 12;
    assert_eq!(script.opportunity(), [(0, 10), (1, 2)]);
    assert_eq!(script.connection.next_segment, 12);
    script.acked(0, 3);
    assert_eq!(script.opportunity(), [(0, 3)], "segments 12–14 were scheduled for the slow path before");
}

#[test]
fn a_schedule_executed_to_its_end_sends_the_rest_first() {
    let mut script = script(Outstanding, ToEnd, &[(20, 20), (200, 5)]);
    script.connection.window_left = 12;
    assert_eq!(script.opportunity(), [(0, 10), (1, 2)]);
    script.acked(0, 4);
    assert_eq!(script.opportunity(), [(1, 3), (0, 1)], "three are left of the old schedule; then a new one");
}

#[test]
fn a_new_schedule_follows_at_once_until_none_has_an_element() {
    let mut script = script(Literal, ToEnd, &[(20, 5), (40, 1)]);
    assert_eq!(script.opportunity(), [(0, 2), (1, 1), (0, 2), (0, 1)]);
    assert_eq!(script.opportunity(), []);
}

#[test]
fn a_schedule_holds_no_more_than_there_is_to_send() {
    let mut script = script(Outstanding, ToEnd, &[(20, 20), (100, 9)]);
    script.connection.unassigned = 3;
    assert_eq!(script.opportunity(), [(0, 3)]);
    script.connection.unassigned = 1_000;
    assert_eq!(
        script.opportunity(),
        [(0, 2), (1, 9)],
        "nothing is left of a schedule for the fast path alone"
    );
}

#[test]
fn an_element_without_congestion_window_is_passed_over() {
    let mut script = script(Literal, ToEnd, &[(20, 20), (100, 4)]);
    script.connection.window_left = 6;
    assert_eq!(script.opportunity(), [(0, 5), (1, 1)]);
    script.paths[1].cwnd = 2;
    script.connection.window_left = 6;
    assert_eq!(
        script.opportunity(),
        [(1, 1), (0, 5)],
        "two of the three elements left had no window any more"
    );
}

#[test]
fn an_engine_that_stops_asking_does_not_prolong_a_schedule() {
    let mut script = script(Literal, Anew, &[(20, 20), (100, 4)]);
    script.connection.unassigned = 21;
    let first = script.scheduler.decide(Time::from_nanos(1), &script.connection, &script.paths);
    assert_eq!(first, Decision::Assign { path: PathId(0), segments: 5 });
    // The last answer was not to wait, but time has passed: η segments again, not the slow path's
    // part.
    assert_eq!(script.opportunity()[..], [(0, 5), (1, 4)]);
}

#[test]
fn several_slow_paths_follow_by_ascending_delay() {
    let paths = [(50, 3), (10, 20), (20, 4)];
    assert_eq!(script(Outstanding, Anew, &paths).opportunity(), [(1, 2), (2, 4), (1, 3), (0, 3)]);
    let mut busy = script(Outstanding, Anew, &paths).in_flight(1, 3);
    assert_eq!(busy.opportunity(), [(2, 4), (1, 2), (0, 3)], "η₁ = 2 is exceeded, η₂ = 5 not yet");
}

#[test]
fn one_path_is_filled() {
    for (limit, lifetime) in READINGS {
        assert_eq!(script(limit, lifetime, &[(20, 7)]).opportunity(), [(0, 7)]);
    }
}

#[test]
fn unmeasured_paths_take_turns() {
    let mut script = script(Outstanding, Anew, &[(20, 7), (0, 2)]);
    assert_eq!(script.opportunity(), [(0, 7), (1, 2)]);
}

#[test]
fn the_guard_turns_daps_on_when_the_paths_are_steady() {
    let mut script = Script::new(
        Daps::new(Outstanding, Anew, RoundTrip::Own, Some(Guard::new(2.0, RoundTrip::Own))),
        &[(20, 7), (40, 2)],
    );
    assert_eq!(script.opportunity(), [(0, 7), (1, 2)], "round-robin");
    for (path, millis) in [(0, 20), (0, 20), (1, 40), (1, 40)] {
        let rtt = Some(Duration::from_millis(millis));
        script.tell(&Event::Acked { path: PathId(path), segments: 0, rtt });
    }
    (script.paths[0].in_flight, script.paths[1].in_flight) = (0, 0);
    assert_eq!(script.opportunity(), [(0, 2), (1, 2)], "η = 2");
}

/// If nothing is in flight and a path is open, something is sent.
#[test]
fn an_idle_sender_never_waits() {
    for (limit, lifetime) in READINGS {
        for (srtt, cwnd) in (0..64).map(|bits: u64| (10 + (bits & 7) * 9, 1 + (bits >> 3) as u32)) {
            for recovering in [None, Some(0), Some(1)] {
                let mut script = script(limit, lifetime, &[(30, 9 - cwnd.min(8)), (srtt, cwnd)]);
                if let Some(path) = recovering {
                    let path: &mut Path = &mut script.paths[path];
                    path.in_recovery = true;
                }
                let steps: Vec<_> = script.opportunity();
                assert!(!steps.is_empty(), "{limit:?} {lifetime:?} {srtt} {cwnd} {recovering:?}");
            }
        }
    }
}

/// η = 5 in flight on the fast path. The other segments of its schedule keep their numbers and wait
/// there, so that the slow path carries later ones.
#[test]
fn reserved_holds_the_fast_path_back_and_keeps_its_numbers() {
    let mut script = script(Reserved, Anew, &[(20, 12), (100, 3)]).in_flight(0, 4);
    assert_eq!(script.opportunity(), [(0, 5), (1, 3)]);
    assert_eq!(script.paths[0].limit, 5);
    assert_eq!(script.paths[1].limit, u32::MAX);
    script.acked(0, 1);
    assert_eq!(script.opportunity()[0].0, 0, "what fits cwnd_f is planned on f although 5 are in flight");
}

/// When the slow path becomes the fast one, the limit moves to it. A single path has no limit.
#[test]
fn the_limit_follows_the_role() {
    let mut script = script(Reserved, Anew, &[(20, 12), (100, 3)]);
    script.opportunity();
    script.paths[0].srtt = Duration::from_millis(300);
    script.acked(1, 1);
    script.opportunity();
    assert_eq!((script.paths[0].limit, script.paths[1].limit), (u32::MAX, 3));
    script.paths[0].state = crate::PathState::Failed;
    script.tell(&Event::PathDown { path: PathId(0) });
    script.opportunity();
    assert_eq!(script.paths[1].limit, u32::MAX);
}
