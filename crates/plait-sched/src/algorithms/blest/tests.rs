use super::super::script::Script;
use super::*;
use crate::view::PathId;

/// Round trips of 50 and 130 ms. The first window of 20 segments is full; of the second, 30, 10 are
/// in flight.
fn two(reading: Reading, ssthresh: u32) -> Script<Blest> {
    let blest = Blest::new(reading, 10);
    let mut script = Script::new(blest, &[(50, 20), (130, 30)]).in_flight(0, 20).in_flight(1, 10);
    script.paths[0].ssthresh = ssthresh;
    script
}

/// Whether BLEST waits with this receiver's window.
fn waits(reading: Reading, ssthresh: u32, window: u64) -> bool {
    let mut script = two(reading, ssthresh);
    script.connection.window = window;
    script.scheduler.decide(Time::ZERO, &script.connection, &script.paths) == Decision::WAIT
}

/// The smallest receiver's window with which BLEST sends.
fn least_window(reading: Reading, ssthresh: u32) -> u64 {
    (1..1_000).find(|&window| !waits(reading, ssthresh, window)).unwrap_or(0)
}

#[test]
fn the_slow_path_is_used_from_this_window_on() {
    // Paper: X = 54.08 and 11 on the slow path; δ shrinks by 0.01 only after a round trip.
    assert_eq!(least_window(Reading::Paper, 15), 66);
    // Kernel: three rounds, X = 63, λ = 1.2; in the first slow start X = 140.
    assert_eq!(least_window(Reading::Kernel, 15), 87);
    assert_eq!(least_window(Reading::Kernel, u32::MAX), 179);
}

#[test]
fn the_reason_has_both_sides_of_the_rule() {
    let mut script = two(Reading::Kernel, 15);
    script.connection.window = 87;
    let sends = "f is {0}, s is {1}; λ X = 1.2 · 63.0 = 75.6 ≤ M − 1 − x_s = 87 − 1 − 10 = 76";
    let (decision, reason) = script.explained();
    assert_eq!((decision, reason.as_str()), (Decision::Assign { path: PathId(1), segments: 1 }, sends));
    let mut script = two(Reading::Paper, 15);
    script.connection.window = 65;
    let waits = "f is {0}, s is {1}; δ X = 1 · 54.1 = 54.1 > M − 1 − x_s = 65 − 1 − 10 = 54";
    let (decision, reason) = script.explained();
    assert_eq!((decision, reason.as_str()), (Decision::WAIT, waits));
    script.paths[0].in_flight = 17;
    assert_eq!(script.explained().1, "", "the rule does not ask whether the fast path may send");
}

#[test]
fn what_the_fast_path_has_room_for_leaves_whatever_the_window() {
    let mut script = two(Reading::Kernel, 15);
    script.connection.window = 1;
    script.paths[0].in_flight = 17;
    assert_eq!(script.opportunity(), [(0, 3)]);
}

#[test]
fn each_segment_on_the_slow_path_takes_a_place_in_the_window() {
    let mut script = two(Reading::Kernel, 15);
    script.connection.window = 90;
    // M − 1 − x_s: 79 with ten segments, 76 with thirteen, 75 with fourteen.
    assert_eq!(script.opportunity(), [(1, 1); 4]);
}

#[test]
fn lambda_grows_after_blocking_and_shrinks_without() {
    let mut script = two(Reading::Kernel, 15);
    script.connection.window = 50;
    let decide = |script: &mut Script<Blest>, millis: u64| {
        let now = Time::ZERO + Duration::from_millis(millis);
        script.scheduler.decide(now, &script.connection, &script.paths)
    };
    decide(&mut script, 129);
    assert_eq!(script.scheduler.factor, 1_200, "not before a round trip of the slow path");
    decide(&mut script, 130);
    assert_eq!(script.scheduler.factor, 1_190);
    script.connection.window_left = 0;
    decide(&mut script, 140);
    script.connection.window_left = 9;
    decide(&mut script, 260);
    assert_eq!(script.scheduler.factor, 1_230);
    for round in 3..40 {
        decide(&mut script, round * 130);
    }
    assert_eq!(script.scheduler.factor, 1_000, "its bound");
}

#[test]
fn delta_follows_each_round_of_the_fast_path() {
    let mut script = two(Reading::Paper, 15);
    script.connection.window = 10;
    for (round, blocked) in [(1, false), (2, true), (3, false), (4, false)] {
        script.scheduler.blocked = blocked;
        let now = Time::ZERO + Duration::from_millis(50 * round);
        script.scheduler.decide(now, &script.connection, &script.paths);
    }
    assert_eq!(script.scheduler.factor, 980);
}

#[test]
fn a_varying_slow_path_counts_by_how_full_it_is() {
    let mut script = two(Reading::Kernel, 15);
    script.paths[1].srtt = Duration::from_millis(290);
    script.tell(&Event::Acked { path: PathId(1), segments: 1, rtt: None });
    script.paths[1].srtt = Duration::from_millis(130);
    script.tell(&Event::Acked { path: PathId(1), segments: 1, rtt: None });
    let (fast, slow) = (script.paths[0].clone(), script.paths[1].clone());
    // 130 ms and 11/30 of 160: 188 ms, four rounds of 50; (20 + 1) · 4.
    assert_eq!(script.scheduler.sent_meanwhile(&fast, &slow, 20), 84);
    let full = Path { in_flight: 29, ..slow };
    // 290 ms, six rounds; (20 + 2) · 6.
    assert_eq!(script.scheduler.sent_meanwhile(&fast, &full, 20), 132);
}

#[test]
fn nothing_is_cut_to_32_bits() {
    let mut blest = Blest::default();
    let fast = Path { srtt: Duration::from_millis(1), cwnd: 100, ..Path::new(PathId(0), 1448) };
    let slow = Path { srtt: Duration::from_secs(9), cwnd: 100, ..Path::new(PathId(1), 1448) };
    assert_eq!(blest.sent_meanwhile(&fast, &slow, 100), 6_553_500);
}

#[test]
fn a_path_that_timed_out_or_was_never_measured_is_not_waited_for() {
    let mut script = two(Reading::Kernel, 15);
    (script.connection.window, script.connection.unassigned) = (50, 5);
    assert_eq!(script.opportunity(), []);
    script.tell(&Event::Timeout { path: PathId(0) });
    assert_eq!(script.opportunity(), [(1, 5)]);
    let mut script = two(Reading::Kernel, 15);
    (script.connection.window, script.connection.unassigned) = (50, 5);
    script.paths[0].srtt = Duration::ZERO;
    assert_eq!(script.opportunity(), [(1, 5)]);
}
