use super::super::script::Script;
use super::*;
use crate::view::PathId;
use crate::{Duration, Event};

/// T of the next segment in milliseconds, and the number of segments with the same T, on a path of
/// 100 ms with a window of 10.
fn place(reading: Reading, in_flight: u32, queued: u32, unassigned: u64) -> (i64, u64) {
    let path =
        Path { srtt: Duration::from_millis(100), cwnd: 10, in_flight, queued, ..Path::new(PathId(0), 1000) };
    let place = Otias::new(reading).arrival(&path, unassigned);
    (place.time / 1_000_000, place.segments)
}

#[test]
fn what_has_room_arrives_after_half_a_round_trip() {
    assert_eq!(place(Reading::Ceiling, 4, 2, 99), (50, 4));
    assert_eq!(place(Reading::Floor, 4, 2, 99), (50, 14), "it does not count the segment itself");
}

#[test]
fn the_readings_disagree_where_the_window_is_exactly_full() {
    assert_eq!(place(Reading::Ceiling, 10, 0, 99), (150, 10));
    assert_eq!(place(Reading::Floor, 10, 0, 99), (50, 10));
    assert_eq!(place(Reading::Real, 10, 0, 0), (50, 1));
}

#[test]
fn each_further_window_waits_a_round_trip_longer() {
    for (queued, ceiling, floor) in [(9, 150, 50), (10, 250, 150), (19, 250, 150), (20, 350, 250)] {
        assert_eq!(place(Reading::Ceiling, 10, queued, 99).0, ceiling, "{queued} wait");
        assert_eq!(place(Reading::Floor, 10, queued, 99).0, floor, "{queued} wait");
    }
    // More than a window is in flight, after the window was halved.
    assert_eq!(place(Reading::Ceiling, 20, 0, 99), (150, 10));
    assert_eq!(place(Reading::Floor, 20, 0, 99), (150, 10));
}

#[test]
fn what_is_negative_makes_the_real_time_smaller() {
    // (2 - 10) / 10 + 1/2 of 100 ms.
    assert_eq!(place(Reading::Real, 0, 7, 2), (-30, 1));
    assert_eq!(place(Reading::Real, 0, 7, 25), (200, 1));
}

#[test]
fn the_fast_path_takes_what_arrives_earlier_there_although_it_waits() {
    // 40 ms and 10, 100 ms and 10: 20 ms, then 60 against 50, then 60 and 100 against 150.
    let mut script = Script::new(Otias::default(), &[(40, 10), (100, 10)]);
    script.connection.unassigned = 60;
    assert_eq!(script.opportunity(), [(0, 10), (1, 10), (0, 10), (0, 10), (0, 10), (1, 10)]);
}

#[test]
fn the_last_round_is_cut_by_what_there_is() {
    let mut script = Script::new(Otias::default(), &[(40, 10), (100, 10)]);
    script.connection.unassigned = 13;
    assert_eq!(script.opportunity(), [(0, 10), (1, 3)]);
    script.connection.unassigned = 5;
    script.connection.window_left = 2;
    // 60 ms on the first, where the window is full, and 50 on the second.
    assert_eq!(script.opportunity(), [(1, 2)]);
}

#[test]
fn an_unmeasured_path_gets_what_its_window_lets_out_and_nothing_ahead() {
    let mut script = Script::new(Otias::default(), &[(0, 4), (0, 3)]);
    assert_eq!(script.opportunity(), [(0, 4), (1, 3)]);
}

#[test]
fn a_suspect_gets_nothing_ahead() {
    let mut script = Script::new(Otias::default(), &[(10, 5), (100, 5)]).in_flight(0, 5);
    script.connection.unassigned = 8;
    script.tell(&Event::Timeout { path: PathId(0) });
    assert_eq!(script.opportunity(), [(1, 5)], "nor does the other, which would get all");
}

#[test]
fn the_only_path_gets_nothing_ahead() {
    let mut script = Script::new(Otias::default(), &[(10, 5), (10, 5)]);
    script.paths[1].state = crate::PathState::Failed;
    script.connection.unassigned = 20;
    assert_eq!(script.opportunity(), [(0, 5)]);
    script.paths[1].state = crate::PathState::Active;
    assert_eq!(script.opportunity(), [(1, 5), (0, 5), (1, 5)], "shared once the second has joined");
}
