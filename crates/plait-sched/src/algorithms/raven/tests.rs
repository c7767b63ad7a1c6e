extern crate std;

use std::vec::Vec;

use super::*;
use crate::time::Duration;
use crate::view::Outstanding;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn path(id: u8, srtt: u64, in_flight: u32) -> Path {
    let srtt = Duration::from_millis(srtt);
    Path { srtt, cwnd: 10, in_flight, ..Path::new(PathId(id), 1000) }
}

/// A sample of each path, in milliseconds, at time 0; 0 for none.
fn measured(raven: &mut Raven, samples: &[u64]) {
    for (&sample, id) in samples.iter().zip(0..).filter(|(sample, _)| **sample > 0) {
        let rtt = Some(Duration::from_millis(sample));
        let event = Event::Acked { path: PathId(id), segments: 1, rtt };
        raven.on_event(&event, &Connection::default(), &[]);
    }
    raven.decide(Time::ZERO, &Connection::default(), &[]);
}

/// The set of these paths after this time, and the path that takes the segment.
fn set(samples: &[u64], millis: u64) -> (u32, Option<u8>) {
    let mut raven = Raven::default();
    measured(&mut raven, samples);
    let paths: Vec<Path> = samples.iter().zip(0..).map(|(&sample, id)| path(id, sample, 0)).collect();
    let (set, takes) = raven.choose(at(millis), &paths);
    (set.0, takes.map(|path| path.0))
}

#[test]
fn the_paths_that_may_be_fastest_are_those_whose_intervals_reach() {
    // 50 ms: 32.5 to 79. 80 ms: from 52; 121 ms: from 78.65; 122 ms: from 79.3.
    assert_eq!(set(&[50, 80], 0), (0b11, Some(0)));
    assert_eq!(set(&[50, 121], 0), (0b11, Some(0)));
    assert_eq!(set(&[50, 122], 0), (0b01, Some(0)));
    // After 2 s a is 1.37, for both: up to 89.73, and from 63.5.
    assert_eq!(set(&[50, 122], 2_000), (0b11, Some(0)));
    assert_eq!(set(&[122, 50, 0], 0), (0b110, Some(2)), "one that was never measured is among them");
    assert_eq!(set(&[0, 0], 0), (0b11, Some(0)), "none was");
}

#[test]
fn an_interval_widens_with_the_age_of_its_newest_sample() {
    let mut raven = Raven::default();
    measured(&mut raven, &[100]);
    for (millis, lower, upper) in
        [(0, 65.0, 158.0), (1_999, 65.0, 158.0), (3_000, 43.65, 193.38), (30_000, 2.0, 262.4)]
    {
        let found = raven.interval(at(millis), &path(0, 100, 0));
        let near = |one: f64, other: f64| (one / 1e6 - other).abs() < 1e-9;
        assert!(near(found.0, lower) && near(found.1, upper), "{millis}: {found:?}");
    }
    assert_eq!(width(8), 2.04 + (2.25 - 2.04) * 2.0 / 4.0);
    assert_eq!(width(500), 2.8);
}

#[test]
fn the_newest_samples_count_most() {
    let mut raven = Raven::new(0.0, 0.0, false);
    measured(&mut raven, &[100]);
    measured(&mut raven, &[200]);
    // (100 · 255/256 + 200) / (255/256 + 1).
    let mean = raven.interval(Time::ZERO, &path(0, 100, 0)).0;
    assert!((mean - 76_700.0 / 511.0 * 1e6).abs() < 1e-3, "{mean}");
}

/// The facts with this much new data, and an oldest segment that no path carries.
fn connection(unassigned: u64, next_segment: u64, oldest: u64) -> Connection {
    let oldest_unacked = Some(Outstanding::new(oldest, PathId(0), PathSet::EMPTY));
    Connection { unassigned, next_segment, window_left: 100, oldest_unacked, ..Connection::default() }
}

fn sent(raven: &mut Raven, path: u8, segment: u64) {
    let event = Event::Sent { path: PathId(path), segment, retransmission: false };
    raven.on_event(&event, &Connection::default(), &[]);
}

#[test]
fn copies_leave_when_their_paths_have_room_and_the_segment_is_missing() {
    let mut raven = Raven::default();
    measured(&mut raven, &[50, 80]);
    let mut paths = [path(0, 50, 7), path(1, 80, 10)];
    for segment in [7, 8] {
        let decision = raven.decide(at(1), &connection(9, segment, 7), &paths);
        assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 1 });
        sent(&mut raven, 0, segment);
    }
    paths[0].in_flight = 10;
    assert_eq!(raven.decide(at(1), &connection(9, 9, 7), &paths), Decision::WAIT);
    // The acknowledgement of the first segment leaves room.
    paths[1].in_flight = 9;
    let copy = Decision::Reinject { path: PathId(1), segment: 8 };
    assert_eq!(raven.decide(at(2), &connection(0, 9, 8), &paths), copy);
    assert_eq!(raven.decide(at(2), &connection(0, 9, 8), &paths), Decision::WAIT, "once");
}

#[test]
fn without_a_rival_a_path_takes_what_it_has_room_for() {
    let mut raven = Raven::default();
    measured(&mut raven, &[50, 130]);
    let mut paths = [path(0, 50, 4), path(1, 130, 0)];
    let decision = raven.decide(at(1), &connection(9, 7, 7), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 6 });
    paths[0].in_flight = 10;
    assert_eq!(raven.decide(at(1), &connection(9, 7, 7), &paths), Decision::WAIT, "the other is slower");
    paths[0] = Path { in_recovery: true, in_flight: 0, ..path(0, 50, 0) };
    let decision = raven.decide(at(1), &connection(9, 7, 7), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(1), segments: 9 }, "nothing would come of waiting");
}

#[test]
fn striping_sends_without_copies_until_the_queue_is_empty() {
    let mut raven = Raven::new(0.35, 0.58, true);
    measured(&mut raven, &[50, 80]);
    let paths = [path(0, 50, 10), path(1, 80, 5)];
    let decision = raven.decide(at(1), &connection(9, 7, 7), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(1), segments: 5 });
    let paths = [path(0, 50, 5), path(1, 80, 5)];
    let decision = raven.decide(at(2), &connection(4, 12, 7), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 4 });
    raven.decide(at(2), &connection(0, 16, 7), &paths);
    let decision = raven.decide(at(3), &connection(4, 16, 7), &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 1 });
}
