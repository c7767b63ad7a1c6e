use super::*;
use crate::view::{Outstanding, PathSet};

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A full path of 20 ms, and a path of 100 ms with room.
fn paths() -> [Path; 2] {
    let path = |id, srtt, cwnd, in_flight| Path {
        srtt: Duration::from_millis(srtt),
        cwnd,
        in_flight,
        ..Path::new(PathId(id), 1_000)
    };
    [path(0, 20, 10, 10), path(1, 100, 20, 5)]
}

fn connection(oldest: u64) -> Connection {
    Connection {
        unassigned: 100,
        window_left: 100,
        window: 50,
        oldest_unacked: Some(Outstanding::new(oldest, PathId(0), PathSet(1))),
        ..Connection::default()
    }
}

fn near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

#[test]
fn features_are_segments_per_millisecond() {
    let [fast, slow] = paths();
    assert_eq!(features(&fast, &slow, 50), [0.5, 0.5, 2.5, 0.2, 0.05, 0.5]);
}

#[test]
fn an_arm_learns_as_linear_regression_does() {
    let mut arm = Arm::NEW;
    let x = [1.0, 2.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(arm.judge(&x), (0.0, 5.0));
    arm.learn(&x, 3.0);
    // A = I + x xᵀ, so A⁻¹ x = x/6: θᵀx = 3 · 5/6, and 5/6.
    let (mean, spread) = arm.judge(&x);
    assert!(near(mean, 2.5) && near(spread, 5.0 / 6.0), "{mean} {spread}");
    arm.learn(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1.0);
    // A = [3 2; 2 5], A⁻¹ = [5 −2; −2 3]/11, b = (4, 6): θ = (8, 10)/11.
    let (mean, spread) = arm.judge(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(near(mean, 8.0 / 11.0) && near(spread, 5.0 / 11.0), "{mean} {spread}");
}

#[test]
fn rewards_are_discounted_by_when_they_come() {
    let mut peekaboo = Peekaboo::default();
    let answer = Answer {
        action: Action::Wait,
        x: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        at: at(0),
        reference: Duration::from_millis(100),
        discount: 1.0,
        reward: 0.0,
    };
    peekaboo.answers[0] = Some(answer);
    // 4 in 50 ms; 6 in 100 ms, at 0.9; 30 in 150 ms, at 0.81; 40 in 250 ms, at 0.567.
    let expected = [(50, 4, 0.08), (100, 10, 0.134), (150, 40, 0.296), (250, 80, 0.386_72)];
    for (millis, oldest, reward) in expected {
        peekaboo.reward(at(millis), &connection(oldest));
        assert!(peekaboo.answers[0].is_some_and(|answer| near(answer.reward, reward)), "{millis}");
    }
    peekaboo.reward(at(301), &connection(90));
    assert!(peekaboo.answers[0].is_none());
    assert!(near(peekaboo.wait.b[0], 0.386_72), "what comes after three times T_ref does not count");
    assert_eq!(peekaboo.send, Arm::NEW);
}

#[test]
fn the_reference_is_the_longer_of_two_rounds_and_one() {
    let mut peekaboo = Peekaboo::default();
    let mut paths = paths();
    (paths[0].rttvar, paths[1].rttvar) = (Duration::from_millis(5), Duration::from_millis(10));
    let reference = |peekaboo: &Peekaboo| peekaboo.answers[0].map(|answer| answer.reference);
    peekaboo.choose(at(0), (&paths[0], &paths[1]), 50);
    assert_eq!(reference(&peekaboo), Some(Duration::from_millis(110)));
    paths[0].rttvar = Duration::from_millis(50);
    peekaboo.answers[0] = None;
    peekaboo.choose(at(0), (&paths[0], &paths[1]), 50);
    assert_eq!(reference(&peekaboo), Some(Duration::from_millis(140)));
}

#[test]
fn what_the_fastest_path_has_room_for_is_no_question() {
    let mut peekaboo = Peekaboo::default();
    let mut paths = paths();
    paths[0].in_flight = 7;
    let decision = peekaboo.decide(at(0), &connection(0), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 3 });
    assert!(peekaboo.answers[0].is_none());
}

#[test]
fn what_is_not_known_is_tried_and_a_wait_lasts_until_the_fast_path_is_open() {
    let mut peekaboo = Peekaboo::default();
    let mut paths = paths();
    let send = Decision::Assign { path: PathId(1), segments: 1 };
    assert_eq!(peekaboo.decide(at(0), &connection(0), &paths), send, "of equals the first");
    let x = features(&paths[0], &paths[1], 50);
    peekaboo.send.learn(&x, 0.0);
    assert_eq!(peekaboo.decide(at(1), &connection(0), &paths), Decision::WAIT, "it brought nothing");
    peekaboo.wait.learn(&x, -9.0);
    assert_eq!(peekaboo.decide(at(2), &connection(0), &paths), Decision::WAIT);
    paths[0].in_flight = 9;
    let fast = Decision::Assign { path: PathId(0), segments: 1 };
    assert_eq!(peekaboo.decide(at(3), &connection(0), &paths), fast);
    paths[0].in_flight = 10;
    assert_eq!(peekaboo.decide(at(4), &connection(0), &paths), send);
}

#[test]
fn deployed_it_follows_what_is_better_with_a_probability() {
    let [fast, slow] = paths();
    let x = features(&fast, &slow, 50);
    let shares = |better: Action| {
        let mut peekaboo = Peekaboo::new(0.75, 0, 7);
        peekaboo.arm(better).learn(&x, 1.0);
        let sends =
            (0..10_000).filter(|_| peekaboo.choose(at(0), (&fast, &slow), 50) == Action::Send).count();
        assert!(peekaboo.answers.iter().all(Option::is_none), "it learns no more");
        sends
    };
    // Four standard deviations of 30 and 46.
    assert!(shares(Action::Send).abs_diff(9_000) < 120, "{}", shares(Action::Send));
    assert!(shares(Action::Wait).abs_diff(3_000) < 184, "{}", shares(Action::Wait));
}

#[test]
fn a_path_that_timed_out_or_carries_nothing_is_not_waited_for_and_changes_begin_anew() {
    let mut peekaboo = Peekaboo { waits_for: Some(PathId(0)), acknowledged: 9, ..Peekaboo::default() };
    let mut paths = paths();
    let all = Decision::Assign { path: PathId(1), segments: 15 };
    let timeout = Event::Timeout { path: PathId(0) };
    peekaboo.on_event(&timeout, &connection(0), &paths);
    assert_eq!(peekaboo.decide(at(0), &connection(0), &paths), all);
    paths[0] = Path { in_flight: 0, in_recovery: true, ..paths[0].clone() };
    let mut peekaboo = Peekaboo { acknowledged: 9, ..Peekaboo::default() };
    assert_eq!(peekaboo.decide(at(0), &connection(0), &paths), all);
    peekaboo.on_event(&Event::PathUp { path: PathId(1) }, &connection(0), &paths);
    assert_eq!(peekaboo.acknowledged, 0);
}
