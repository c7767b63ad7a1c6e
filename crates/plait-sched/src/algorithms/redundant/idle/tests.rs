use super::*;
use crate::time::Duration;
use crate::view::PathId;

/// Paths of 20, 100 and 50 ms with room for two segments each, which lack the given segments.
fn paths(uncarried: [Option<u64>; 3]) -> [Path; 3] {
    let path = |id: usize| Path {
        srtt: Duration::from_millis([20, 100, 50][id]),
        cwnd: 2,
        uncarried: uncarried[id],
        ..Path::new(PathId(id as u8), 1000)
    };
    [0, 1, 2].map(path)
}

fn decide(scheduler: &mut WhenIdle, unassigned: u64, paths: &[Path]) -> Decision {
    let connection = Connection { unassigned, window_left: 100, ..Connection::default() };
    scheduler.decide(Time::from_nanos(1), &connection, paths)
}

fn copy(path: u8, segment: u64) -> Decision {
    Decision::Reinject { path: PathId(path), segment }
}

#[test]
fn while_there_is_something_new_it_is_lowest_rtt() {
    let paths = paths([Some(3), Some(3), Some(3)]);
    let decision = decide(&mut WhenIdle::new(), 9, &paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 2 });
}

#[test]
fn what_the_receiver_has_no_room_for_is_something_new() {
    let paths = paths([Some(3), Some(3), Some(3)]);
    let connection = Connection { unassigned: 1, ..Connection::default() };
    assert_eq!(WhenIdle::new().decide(Time::ZERO, &connection, &paths), Decision::WAIT);
}

#[test]
fn the_oldest_goes_first_and_of_those_that_lack_it_the_fastest() {
    assert_eq!(decide(&mut WhenIdle::new(), 0, &paths([Some(7), Some(4), Some(4)])), copy(2, 4));
    assert_eq!(decide(&mut WhenIdle::new(), 0, &paths([None, Some(4), None])), copy(1, 4));
    assert_eq!(decide(&mut WhenIdle::new(), 0, &paths([None, None, None])), Decision::WAIT);
}

#[test]
fn a_path_without_room_carries_no_copy() {
    let mut paths = paths([Some(4), Some(5), None]);
    paths[0].in_flight = 2;
    assert_eq!(decide(&mut WhenIdle::new(), 0, &paths), copy(1, 5));
    paths[1].in_recovery = true;
    assert_eq!(decide(&mut WhenIdle::new(), 0, &paths), Decision::WAIT);
}

#[test]
fn what_does_not_leave_is_not_decided_again_at_the_same_moment() {
    let (mut scheduler, mut paths) = (WhenIdle::new(), paths([Some(4), Some(4), None]));
    assert_eq!(decide(&mut scheduler, 0, &paths), copy(0, 4));
    assert_eq!(decide(&mut scheduler, 0, &paths), copy(1, 4));
    assert_eq!(decide(&mut scheduler, 0, &paths), Decision::WAIT);
    assert_eq!(decide(&mut scheduler, 0, &paths), copy(0, 4), "another moment");
    paths[0].uncarried = Some(5);
    assert_eq!(decide(&mut scheduler, 0, &paths), copy(1, 4));
    assert_eq!(decide(&mut scheduler, 0, &paths), copy(0, 5));
}
