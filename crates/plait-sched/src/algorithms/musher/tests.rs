use super::super::script::Script;
use super::*;
use crate::view::PathId;

const MBIT: i64 = 1_000_000;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A scheduler that watches, with a reference of 100 Mbit/s and 200 kB.
fn watching() -> Musher {
    let mut musher = Musher::default();
    for interval in 1..=5 {
        musher.judge(at(100 * interval), 100 * MBIT, 200_000);
    }
    assert_eq!(musher.phase, Phase::Watches { rate: 100 * MBIT, waiting: 200_000, moved: 0, running: 0 });
    musher
}

/// A scheduler that searches from 150 Mbit/s on, since second 1.
fn searching() -> Musher {
    let mut musher = watching();
    // The sums are 50, 100, 150 and 200. They exceed 200 only from the fifth on, so nine intervals
    // are needed.
    for interval in 6..=14 {
        assert_eq!(musher.share, 50, "interval {interval}");
        musher.judge(at(100 * interval), 150 * MBIT, 200_000);
    }
    assert_eq!(musher.phase, Phase::Searches { up: true, steps: 0, rate: 150 * MBIT });
    musher
}

#[test]
fn throughput_that_stays_away_is_searched_for() {
    assert_eq!(searching().share, 55);
    let mut musher = watching();
    for interval in 6..=60 {
        // The throughput oscillates.
        let rate = if interval % 2 == 0 { 200 } else { 0 };
        musher.judge(at(100 * interval), rate * MBIT, 200_000);
    }
    assert_eq!(musher.share, 50);
}

#[test]
fn a_queue_that_drains_is_a_change_after_five_intervals() {
    let mut musher = watching();
    for interval in 6..=9 {
        musher.judge(at(100 * interval), 100 * MBIT, 124_999);
    }
    musher.judge(at(1_000), 100 * MBIT, 125_000);
    for interval in 11..=14 {
        musher.judge(at(100 * interval), 100 * MBIT, 124_999);
    }
    assert_eq!(musher.share, 50, "not five running");
    musher.judge(at(1_500), 100 * MBIT, 124_999);
    assert_eq!(musher.share, 55);
}

#[test]
fn it_goes_on_as_long_as_steps_bring_something_and_undoes_the_last() {
    let mut musher = searching();
    musher.judge(at(1_600), 156 * MBIT, 200_000);
    assert_eq!(musher.share, 60);
    musher.judge(at(1_800), 162 * MBIT, 200_000);
    assert_eq!(musher.share, 65);
    musher.judge(at(2_000), 167 * MBIT, 200_000);
    assert_eq!((musher.share, musher.phase), (60, ANEW), "5 is not more than 5");
}

#[test]
fn less_is_tried_if_more_brings_nothing_and_is_undone_too() {
    let mut musher = searching();
    musher.judge(at(1_600), 100 * MBIT, 200_000);
    assert_eq!(musher.share, 45);
    assert_eq!(musher.phase, Phase::Searches { up: false, steps: 0, rate: 150 * MBIT });
    // The code would end with 40.
    musher.judge(at(1_800), 140 * MBIT, 200_000);
    assert_eq!((musher.share, musher.phase), (50, ANEW));
}

#[test]
fn a_share_keeps_its_bounds_and_searches_are_three_seconds_apart() {
    let mut musher = searching();
    musher.share = 95;
    musher.judge(at(1_600), 190 * MBIT, 200_000);
    assert_eq!((musher.share, musher.phase), (95, ANEW), "the next step would be 100");
    musher.phase = Phase::Watches { rate: 0, waiting: 0, moved: 300 * MBIT, running: 9 };
    musher.judge(at(4_399), 0, 0);
    assert_eq!(musher.share, 95);
    musher.judge(at(4_400), 0, 0);
    assert_eq!(musher.share, 90, "more is out of bounds, so less");
}

#[test]
fn a_hundred_segments_are_divided_and_a_path_that_owes_is_waited_for() {
    let mut script = Script::new(Musher::new(70, MBIT, 0), &[(50, 50), (20, 60)]);
    // 70 and 30 segments. 20 of the first path have no room, and no segment of the next hundred
    // leaves before them.
    assert_eq!(script.opportunity(), [(0, 50), (1, 30)]);
    assert_eq!(script.opportunity(), []);
    script.acked(0, 30);
    assert_eq!(script.opportunity(), [(0, 20), (0, 10), (1, 30)]);
}

#[test]
fn a_path_that_has_nothing_in_flight_and_no_room_is_not_waited_for() {
    let mut script = Script::new(Musher::new(70, MBIT, 0), &[(50, 50), (20, 200)]);
    script.paths[0].in_recovery = true;
    script.connection.unassigned = 45;
    assert_eq!(script.opportunity(), [(1, 30), (1, 15)]);
}

#[test]
fn more_than_two_paths_divide_what_the_first_leaves() {
    let mut musher = Musher::new(70, MBIT, 0);
    musher.divide(PathSet(0b1101));
    assert_eq!(musher.left[..4], [70, 0, 15, 15]);
    musher.divide(PathSet(0b111_1010));
    assert_eq!(musher.left[..7], [0, 70, 0, 9, 7, 7, 7]);
    musher.divide(PathSet(0b100));
    assert_eq!(musher.left[..4], [0, 0, 100, 0]);
}

#[test]
fn throughput_is_what_is_acknowledged_in_an_interval() {
    let mut musher = Musher::default();
    let paths = [Path { in_flight: 9, ..Path::new(PathId(0), 1_000) }];
    musher.look(at(0), &paths);
    musher.on_event(
        &Event::Acked { path: PathId(0), segments: 25, rtt: None },
        &Connection::default(),
        &paths,
    );
    musher.look(at(99), &[]);
    assert_eq!(musher.phase, ANEW);
    musher.look(at(125), &paths);
    // 200,000 bits in 125 ms; 9, 0 and 9 kB.
    assert_eq!(musher.phase, Phase::Refers { intervals: 1, rate: 1_600_000, waiting: 6_000 });
    let before = musher.phase;
    musher.look(at(325), &paths);
    assert_eq!(musher.phase, before, "nobody asked for twice as long");
}
