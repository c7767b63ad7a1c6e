extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::algorithms::daps::{Daps, FastLimit, Lifetime};
use crate::algorithms::lowest_rtt::LowestRtt;
use crate::algorithms::round_trip::RoundTrip;
use crate::time::Duration;
use crate::view::{Outstanding, PathSet, PathState};

fn path(id: u8, srtt: u64, cwnd: u32, in_flight: u32) -> Path {
    let srtt = Duration::from_millis(srtt);
    Path { srtt, cwnd, in_flight, ssthresh: 1, ..Path::new(PathId(id), 1000) }
}

fn with(penalization: bool, lambda: Option<f64>) -> Options {
    Options {
        penalization: penalization.then(Penalization::default),
        mitigation: lambda.map(Mitigation::new),
        rtt_error: None,
    }
}

/// A full receiver's window: segment 7, in flight on path 1, is missing.
fn blocked() -> Connection {
    let mut carried = PathSet::EMPTY;
    carried.insert(PathId(1));
    let oldest = Outstanding { segment: 7, path: PathId(1), carried };
    Connection { unassigned: 100, oldest_unacked: Some(oldest), ..Connection::default() }
}

/// Decisions until the scheduler waits. Penalties and limits are carried out, and copies are
/// recorded.
fn decisions(
    scheduler: &mut impl Scheduler,
    millis: u64,
    connection: &mut Connection,
    paths: &mut [Path],
) -> Vec<Decision> {
    let mut decisions = Vec::new();
    loop {
        let decision = scheduler.decide(Time::from_nanos(millis * 1_000_000), connection, paths);
        match decision {
            Decision::Penalize { path } => paths[path.index()].cwnd /= 2,
            Decision::Limit { path, in_flight } => paths[path.index()].limit = in_flight,
            Decision::Reinject { path, .. } => {
                connection.oldest_unacked.as_mut().expect("it was copied").carried.insert(path);
            }
            Decision::Assign { path, segments } => {
                paths[path.index()].in_flight += segments;
                connection.window_left -= u64::from(segments);
            }
            Decision::Recall { .. } | Decision::Defer => panic!("nobody recalls or defers"),
            Decision::Wait { .. } => return decisions,
        }
        decisions.push(decision);
    }
}

fn penalty(path: u8) -> Decision {
    Decision::Penalize { path: PathId(path) }
}

fn copy(path: u8) -> Decision {
    Decision::Reinject { path: PathId(path), segment: 7 }
}

fn limit(path: u8, in_flight: u32) -> Decision {
    Decision::Limit { path: PathId(path), in_flight }
}

fn assign(path: u8, segments: u32) -> Decision {
    Decision::Assign { path: PathId(path), segments }
}

/// The example of the evaluation: 47 and 1 Mbit/s, both with a round trip of 250 ms; the slow path
/// has a queue of 250 ms. Its window is halved once in a round-trip time, until it is small enough
/// for a copy of the segment.
fn two_paths_of_equal_round_trip_and_a_queue_on_one(interval: Interval, round: u64) {
    let options = Options { penalization: Some(Penalization::new(interval)), ..Options::default() };
    let mut scheduler = WithOptions::new(LowestRtt, options);
    let mut paths = vec![path(0, 250, 900, 100), path(1, 500, 40, 40)];
    let mut connection = blocked();
    let mut at = |millis| decisions(&mut scheduler, millis, &mut connection, &mut paths);
    assert_eq!(at(0), [penalty(1)], "40 → 20; 4 · 250 ms is more than 500 ms: no copy yet");
    assert_eq!(at(round - 1), [], "not again within {round} ms");
    assert_eq!(at(round), [penalty(1)], "→ 10");
    assert_eq!(at(2 * round - 1), []);
    assert_eq!(at(2 * round), [penalty(1)], "→ 5");
    assert_eq!(at(3 * round), [penalty(1), copy(0)], "→ 2, which is no more than 4");
    assert_eq!(at(4 * round), [penalty(1)], "→ 1; path 0 carries it now");
    assert_eq!(at(5 * round), [], "no less than 1");
}

#[test]
fn a_penalty_in_each_round_trip_of_the_path_that_could_send() {
    two_paths_of_equal_round_trip_and_a_queue_on_one(Interval::Fast, 250);
}

#[test]
fn a_penalty_in_each_round_trip_of_the_penalized_path() {
    two_paths_of_equal_round_trip_and_a_queue_on_one(Interval::Slow, 500);
}

#[test]
fn a_path_more_than_four_times_slower_is_not_waited_for() {
    for (srtt, copied) in [(80, false), (81, true)] {
        let mut scheduler = WithOptions::new(LowestRtt, with(true, None));
        let mut paths = vec![path(0, 20, 10, 5), path(1, srtt, 40, 40)];
        let done = decisions(&mut scheduler, 0, &mut blocked(), &mut paths);
        assert_eq!(done.contains(&copy(0)), copied, "{srtt} ms");
        assert!(done.contains(&penalty(1)));
    }
}

#[test]
fn nothing_happens_without_need() {
    let two = || vec![path(0, 20, 10, 5), path(1, 200, 4, 4)];
    let act = |connection: &mut Connection, paths: &mut [Path]| {
        let mut scheduler = WithOptions::new(LowestRtt, with(true, None));
        decisions(&mut scheduler, 0, connection, paths)
    };
    assert_eq!(act(&mut blocked(), &mut two()), [penalty(1), copy(0)]);
    assert_eq!(
        act(&mut Connection { window_left: 1, ..blocked() }, &mut two()),
        [assign(0, 1), penalty(1), copy(0)]
    );
    assert_eq!(act(&mut Connection { unassigned: 0, ..blocked() }, &mut two()), [], "no data");
    let mut waiting = two();
    waiting[1].queued = 1;
    assert_eq!(act(&mut Connection { unassigned: 0, ..blocked() }, &mut waiting), [penalty(1), copy(0)]);
    assert_eq!(act(&mut Connection { oldest_unacked: None, ..blocked() }, &mut two()), []);
    let mut full = two();
    full[0].in_flight = 10;
    assert_eq!(act(&mut blocked(), &mut full), [], "no path could send");
    let mut recovering = two();
    recovering[1].in_recovery = true;
    assert_eq!(act(&mut blocked(), &mut recovering), [copy(0)], "no penalty in recovery");
    let mut repairing = two();
    repairing[1].repairing = true;
    assert_eq!(
        act(&mut blocked(), &mut repairing),
        [copy(0)],
        "nor while losses are repaired in any other way"
    );
    let mut failed = two();
    failed[0].state = PathState::Failed;
    assert_eq!(act(&mut blocked(), &mut failed), []);
    let faster = &mut [path(0, 200, 10, 5), path(1, 20, 40, 40)];
    assert_eq!(act(&mut blocked(), faster), [], "the carrier is the faster one");
}

/// The smallest round trip is 20 ms. At 60 ms it is 3 times that; at 120 ms half of the window
/// remains.
#[test]
fn a_grown_round_trip_caps_the_window() {
    let mut scheduler = WithOptions::new(LowestRtt, with(false, Some(3.0)));
    let mut connection = Connection { unassigned: 100, window_left: 50, ..Connection::default() };
    let mut paths = vec![path(0, 20, 10, 10)];
    let mut at = |srtt, in_flight| {
        paths[0].srtt = Duration::from_millis(srtt);
        paths[0].in_flight = in_flight;
        decisions(&mut scheduler, srtt, &mut connection, &mut paths)
    };
    assert_eq!(at(20, 10), []);
    assert_eq!(at(60, 8), [assign(0, 2)], "not yet");
    assert_eq!(at(120, 5), [limit(0, 5)], "and full");
    assert_eq!(at(120, 4), [assign(0, 1)], "the scheduler sees a window of 5");
    assert_eq!(at(6_000, 0), [limit(0, 1), assign(0, 1)], "never less than one");
    assert_eq!(at(50, 9), [limit(0, u32::MAX), assign(0, 1)]);
}

#[test]
fn lambda_is_exact() {
    for (lambda, srtt, expected) in
        [(1.0, 40, 50), (1.5, 40, 75), (2.0, 40, 100), (1.1, 33, 66), (2.5, 100, 50)]
    {
        let mut mitigation = Mitigation::new(lambda);
        mitigation.decide(&[path(0, 20, 100, 0)]);
        let in_flight = mitigation.limit(&path(0, srtt, 100, 0)).min(100);
        assert_eq!(in_flight, expected, "λ = {lambda}, {srtt} ms");
    }
}

/// DAPS itself limits the fast path to r_s / r_f: 5, then 2.
#[test]
fn the_smaller_of_the_two_limits_holds() {
    let daps = Daps::new(FastLimit::Reserved, Lifetime::Anew, RoundTrip::Own, None);
    let mut scheduler = WithOptions::new(daps, with(false, Some(1.0)));
    let mut connection = Connection { unassigned: 100, ..Connection::default() };
    let mut paths = vec![path(0, 20, 10, 0), path(1, 100, 10, 10)];
    let mut at = |fast, slow, connection: &mut Connection| {
        paths[0].srtt = Duration::from_millis(fast);
        paths[1].srtt = Duration::from_millis(slow);
        decisions(&mut scheduler, 0, connection, &mut paths)
    };
    assert_eq!(at(20, 100, &mut connection), [limit(0, 5)], "its own");
    assert_eq!(at(40, 200, &mut connection), [limit(1, 5)], "the cap of path 0 is 5 too");
    assert_eq!(at(50, 250, &mut connection), [limit(0, 4), limit(1, 4)], "the caps");
    assert_eq!(at(50, 100, &mut connection), [limit(1, u32::MAX), limit(0, 2)], "its own: r_s / r_f = 2");
    assert_eq!(at(20, 100, &mut connection), [limit(0, 5)], "its own again");
}

#[test]
fn needs_are_those_of_both() {
    let needs = |options| WithOptions::new(LowestRtt, options).needs();
    assert_eq!(needs(with(false, None)), Capabilities::NONE);
    assert_eq!(
        needs(with(true, None)),
        Capabilities { reinject: true, penalize: true, ..Capabilities::NONE }
    );
    assert_eq!(needs(with(false, Some(3.0))), Capabilities { limit: true, ..Capabilities::NONE });
}

#[test]
fn a_scheduler_hears_what_it_or_its_options_want_to_hear() {
    let hears = |scheduler: &dyn Scheduler| {
        let sent = Event::Sent { path: PathId(0), segment: 0, retransmission: false };
        let acked = Event::Acked { path: PathId(0), segments: 1, rtt: None };
        let interest = scheduler.interest();
        assert!(interest.covers(&Event::Timeout { path: PathId(0) }), "what is rare is always told");
        (interest.covers(&sent), interest.covers(&acked))
    };
    assert_eq!(hears(&LowestRtt), (false, false));
    assert_eq!(hears(&WithOptions::new(LowestRtt, with(true, None))), (false, false));
    assert_eq!(hears(&WithOptions::new(LowestRtt, with(false, Some(3.0)))), (false, true));
    assert_eq!(hears(&crate::Builtin::new("redundant+bm", &[]).unwrap()), (true, true));
}
