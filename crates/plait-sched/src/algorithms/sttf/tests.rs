use super::super::script::Script;
use super::*;
use crate::Event;

/// Half round trips until the n-th queued segment arrives, with a window of 10 and room for 5 in
/// it.
fn halves(ssthresh: u32, waiting: u64) -> u64 {
    let path = Path { cwnd: 10, in_flight: 5, ssthresh, ..Path::new(PathId(0), 1000) };
    let mut rounds = Rounds::begin(&path);
    rounds.take(waiting - 1);
    rounds.halves
}

#[test]
fn a_window_doubles_per_round_trip_in_slow_start() {
    let expected = [(5, 1), (6, 3), (25, 3), (26, 5), (65, 5), (66, 7)];
    expected.iter().for_each(|&(n, rounds)| assert_eq!(halves(u32::MAX, n), rounds, "{n}"));
}

#[test]
fn it_stops_doubling_at_its_threshold_and_grows_by_one() {
    // 5 segments fit the window of 10, then 16, 17, 18.
    let expected = [(5, 1), (6, 3), (21, 3), (22, 5), (38, 5), (39, 7), (56, 7), (57, 9)];
    expected.iter().for_each(|&(n, rounds)| assert_eq!(halves(16, n), rounds, "{n}"));
    // 5 segments, then 11, 12.
    let expected = [(5, 1), (6, 3), (16, 3), (17, 5), (28, 5), (29, 7)];
    expected.iter().for_each(|&(n, rounds)| assert_eq!(halves(10, n), rounds, "{n}"));
}

/// Paths with these latest round trips in milliseconds and windows, in congestion avoidance.
fn script(paths: &[(u64, u32)]) -> Script<Sttf> {
    let mut script = Script::new(Sttf::default(), paths);
    script.paths.iter_mut().for_each(|path| path.latest_rtt = path.srtt);
    script
}

#[test]
fn a_long_path_is_used_once_what_waits_takes_longer() {
    let mut script = script(&[(20, 10), (100, 10)]);
    script.connection.unassigned = 40;
    // 10 ms, 30 ms for 11 more, then 50 ms on both: the first of the equals takes it.
    assert_eq!(script.opportunity(), [(0, 10), (0, 11), (0, 12), (1, 7)]);
}

#[test]
fn what_waits_is_planned_anew_when_it_would_wait_elsewhere() {
    let mut script = script(&[(20, 10), (100, 10)]);
    script.connection.unassigned = 30;
    assert_eq!(script.opportunity(), [(0, 10), (0, 11), (0, 9)]);
    // The round trip has grown: queued segments need 225 ms, while the other path delivers ten in
    // 50 ms and eleven more in 150 ms.
    script.paths[0].latest_rtt = Duration::from_millis(150);
    assert_eq!(script.opportunity(), [(0, 0), (1, 10), (1, 10)]);
    // Without a change no queue is recalled.
    assert_eq!(script.opportunity(), []);
}

#[test]
fn a_segment_more_or_less_changes_no_plan() {
    let mut script = script(&[(20, 10), (100, 10)]).in_flight(1, 8);
    script.connection.unassigned = 35;
    assert_eq!(script.opportunity(), [(0, 10), (0, 11), (0, 12), (1, 2)]);
    script.connection.unassigned = 1;
    script.paths[1].in_flight = 9;
    script.paths[0].queued = 24;
    script.paths[1].queued = 0;
    // One segment queued on the first path would move to the second: that difference is too small
    // for a new plan.
    assert_eq!(script.opportunity(), [(1, 1)]);
}

#[test]
fn paths_that_are_alike_are_scheduled_by_lowest_rtt() {
    let mut alike = script(&[(20, 10), (21, 10)]);
    alike.connection.unassigned = 40;
    assert_eq!(alike.opportunity(), [(0, 10), (1, 10)], "nothing ahead");
    // Later round trips do not count.
    alike.paths[1].latest_rtt = Duration::from_millis(500);
    assert_eq!(alike.opportunity(), []);
    let mut different = script(&[(20, 10), (22, 10)]);
    different.connection.unassigned = 40;
    assert_eq!(different.opportunity(), [(0, 10), (1, 10), (0, 11), (1, 9)]);
}

#[test]
fn an_unmeasured_path_and_a_suspect_get_nothing_ahead() {
    let mut unmeasured = script(&[(20, 2), (0, 3)]);
    unmeasured.connection.unassigned = 9;
    assert_eq!(unmeasured.opportunity(), [(1, 3), (0, 2)]);
    let mut suspect = script(&[(20, 2), (100, 3)]).in_flight(0, 2);
    suspect.connection.unassigned = 5;
    suspect.tell(&Event::Timeout { path: PathId(0) });
    assert_eq!(suspect.opportunity(), [(1, 3)]);
}
