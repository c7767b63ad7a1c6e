use super::*;
use crate::view::{Outstanding, PathId};

/// Paths of 20, 100 and 50 ms with room for two segments each, which lack the given segments.
fn paths(uncarried: [Option<u64>; 3]) -> [Path; 3] {
    let path = |id: usize| Path {
        srtt: Duration::from_millis([20, 100, 50][id]),
        rttvar: Duration::from_millis(5),
        cwnd: 2,
        uncarried: uncarried[id],
        ..Path::new(PathId(id as u8), 1000)
    };
    [0, 1, 2].map(path)
}

/// The facts without new data; `oldest` is the oldest segment in flight.
fn in_flight(oldest: u64) -> Connection {
    let oldest_unacked = Some(Outstanding::new(oldest, PathId(1), crate::PathSet::EMPTY));
    Connection { oldest_unacked, next_segment: 100, window_left: 100, ..Connection::default() }
}

fn xlink(mode: Mode) -> Xlink {
    Xlink { mode, ..Xlink::default() }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn copy(path: u8, segment: u64) -> Decision {
    Decision::Reinject { path: PathId(path), segment }
}

#[test]
fn new_data_goes_by_lowest_rtt() {
    let connection = Connection { unassigned: 9, ..in_flight(3) };
    let mut paths = paths([Some(3); 3]);
    for mode in [Mode::Idle, Mode::PlayTime, Mode::Deadline] {
        let decision = xlink(mode).decide(at(1), &connection, &paths);
        assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 2 });
    }
    paths[0].in_flight = 2;
    let decision = xlink(Mode::Idle).decide(at(1), &connection, &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(2), segments: 2 });
}

#[test]
fn where_nothing_is_new_the_oldest_is_copied_first_on_the_fastest_path_and_once() {
    let mut scheduler = xlink(Mode::Idle);
    let mut paths = paths([Some(7), Some(4), Some(4)]);
    assert_eq!(scheduler.decide(at(1), &in_flight(4), &paths), copy(2, 4));
    paths[2].uncarried = Some(5);
    assert_eq!(
        scheduler.decide(at(1), &in_flight(4), &paths),
        copy(2, 5),
        "path 1 lacks 4, which was copied"
    );
    paths[2].uncarried = Some(8);
    assert_eq!(scheduler.decide(at(1), &in_flight(4), &paths), copy(0, 7));
    paths[0].in_flight = 2;
    assert_eq!(scheduler.decide(at(1), &in_flight(4), &paths), copy(2, 8));
    assert_eq!(scheduler.decide(at(1), &in_flight(4), &paths), Decision::WAIT);
    paths[1].uncarried = Some(6);
    assert_eq!(scheduler.decide(at(1), &in_flight(6), &paths), copy(1, 6));
}

#[test]
fn with_something_left_to_play_copies_wait() {
    let paths = paths([Some(4), None, None]);
    let copies = |left: u64, in_flight_on: Option<usize>| {
        let mut paths = paths.clone();
        if let Some(path) = in_flight_on {
            paths[path].in_flight = 1;
        }
        let connection = Connection { due: Some(at(1000 + left)), ..in_flight(4) };
        let mut scheduler = Xlink { short: Duration::from_millis(40), ..xlink(Mode::PlayTime) };
        scheduler.decide(at(1000), &connection, &paths) == copy(0, 4)
    };
    assert!(copies(0, None) && copies(39, None), "below the lower threshold");
    assert!(!copies(40, None), "between them, and nothing is in flight");
    assert!(
        copies(40, Some(1)) && copies(104, Some(1)) && !copies(105, Some(1)),
        "100 ms and 5 of variation"
    );
    assert!(copies(54, Some(2)) && !copies(55, Some(2)));
    assert!(!copies(1_001, Some(1)), "above the upper one");
    assert_eq!(xlink(Mode::PlayTime).decide(at(1000), &in_flight(4), &paths), copy(0, 4), "no play-time");
}

#[test]
fn above_the_upper_threshold_a_long_path_changes_nothing() {
    let mut paths = paths([Some(4), None, None]);
    (paths[1].srtt, paths[1].in_flight) = (Duration::from_secs(3), 1);
    let decide = |left: u64| {
        let connection = Connection { due: Some(at(left)), ..in_flight(4) };
        xlink(Mode::PlayTime).decide(at(0), &connection, &paths)
    };
    assert_eq!(decide(1_000), copy(0, 4));
    assert_eq!(decide(1_001), Decision::WAIT);
}

#[test]
fn what_is_overdue_goes_before_what_is_new() {
    let mut scheduler = xlink(Mode::Deadline);
    let new = Connection { unassigned: 9, ..in_flight(4) };
    let mut paths = paths([Some(4); 3]);
    for path in &mut paths {
        path.in_flight = 2;
    }
    assert_eq!(scheduler.decide(at(100), &new, &paths), Decision::WAIT, "no room for copies");
    paths[0].in_flight = 0;
    let until = Some(Time::ZERO + Duration::from_millis(122));
    let idle = Connection { unassigned: 0, ..new.clone() };
    assert_eq!(scheduler.decide(at(110), &idle, &paths), Decision::Wait { until }, "1.1 times 20 ms");
    let assigned = Decision::Assign { path: PathId(0), segments: 2 };
    assert_eq!(scheduler.decide(at(121), &new, &paths), assigned);
    assert_eq!(scheduler.decide(at(122), &new, &paths), copy(0, 4));
    assert_eq!(scheduler.decide(at(122), &new, &paths), assigned, "once");
}

#[test]
fn what_a_low_path_carries_is_copied_at_once() {
    let mut scheduler = xlink(Mode::Deadline);
    let mut paths = paths([Some(90), None, None]);
    let sent = |path, segment| Event::Sent { path: PathId(path), segment, retransmission: false };
    let timeout = Event::Timeout { path: PathId(1) };
    let connection = in_flight(90);
    scheduler.on_event(&timeout, &connection, &paths);
    scheduler.on_event(&sent(1, 90), &connection, &paths);
    assert!(matches!(scheduler.decide(at(1), &connection, &paths), Decision::Wait { until: Some(_) }));
    scheduler.on_event(&timeout, &connection, &paths);
    scheduler.on_event(&sent(1, 91), &connection, &paths);
    paths[0].uncarried = Some(91);
    assert_eq!(scheduler.decide(at(1), &connection, &paths), copy(0, 91));
    let acked = Event::Acked { path: PathId(1), segments: 1, rtt: None };
    scheduler.on_event(&acked, &connection, &paths);
    scheduler.on_event(&sent(1, 92), &connection, &paths);
    paths[0].uncarried = Some(92);
    assert!(matches!(scheduler.decide(at(1), &connection, &paths), Decision::Wait { until: Some(_) }));
    paths[1].loss_ppm = 300_001;
    scheduler.on_event(&sent(1, 93), &connection, &paths);
    paths[0].uncarried = Some(93);
    assert_eq!(scheduler.decide(at(1), &connection, &paths), copy(0, 93));
    (paths[1].loss_ppm, paths[1].srtt) = (0, Duration::from_millis(2_001));
    scheduler.on_event(&sent(1, 94), &connection, &paths);
    paths[0].uncarried = Some(94);
    assert_eq!(scheduler.decide(at(1), &connection, &paths), copy(0, 94));
}

#[test]
fn between_20_and_500_ms_it_is_a_tenth_more_than_the_lowest_round_trip() {
    let of = |millis| {
        let path = Path { srtt: Duration::from_millis(millis), ..Path::new(PathId(0), 1000) };
        overdue(&[path])
    };
    assert_eq!(
        [1, 18, 100, 454, 455, 3_000].map(of).map(|age| age.as_nanos() / 100_000),
        [200, 200, 1_100, 4_994, 5_000, 5_000]
    );
    assert_eq!(overdue(&[Path::new(PathId(0), 1000)]), OLDEST);
}

#[test]
fn ages_are_known_to_a_sixteenth_and_never_too_high() {
    let mut marks = Marks::NONE;
    let age = Duration::from_millis(160);
    for millis in 0..1_000 {
        marks.note(at(millis), millis + 1, age);
    }
    for segment in 750..1_000 {
        let exact = at(segment) + age;
        let known = marks.overdue(segment, age);
        assert!(known >= exact && known.since(exact) <= Duration::from_millis(10), "{segment}");
    }
    assert!(marks.overdue(3, age) < at(1_000), "long forgotten, and overdue");
    assert_eq!(marks.overdue(1_000, age), Time::MAX);
}
