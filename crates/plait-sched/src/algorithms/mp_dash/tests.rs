extern crate std;

use std::vec::Vec;

use super::*;
use crate::view::PathId;

const SECOND: u64 = 1_000_000_000;

fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

/// A cheap path that is full and has a forecast rate, and an expensive path with room for 5
/// segments. Round trips are 100 ms, segments 1,000 bytes.
fn two(rate: i64) -> (MpDash, Vec<Path>) {
    let path = |id, cost, in_flight| Path {
        srtt: Duration::from_millis(100),
        cwnd: 10,
        in_flight,
        cost,
        ..Path::new(PathId(id), 1000)
    };
    let mut rule = MpDash::default();
    rule.forecasts[0].sample(rate);
    (rule, std::vec![path(0, 0, 10), path(1, 7, 5)])
}

/// The decision with this many remaining segments until a deadline in milliseconds.
fn decide(rule: &mut MpDash, paths: &[Path], now: u64, (left, deadline): (u64, Option<u64>)) -> Decision {
    let message = Message { segments_left: left, deadline: deadline.map(at), ..Message::default() };
    let connection =
        Connection { unassigned: left, window_left: 1_000, message: Some(message), ..Connection::default() };
    // No round ends.
    rule.forecasts.iter_mut().for_each(|forecast| forecast.since = at(now));
    rule.decide(at(now), &connection, paths)
}

const DEAR: Decision = Decision::Assign { path: PathId(1), segments: 1 };

#[test]
fn the_dear_path_helps_while_the_cheap_one_would_be_late() {
    // 100,000 bytes a second for a second: 100 segments.
    let (mut rule, paths) = two(100_000);
    assert_eq!(decide(&mut rule, &paths, 0, (101, Some(1_000))), DEAR);
    assert_eq!(decide(&mut rule, &paths, 0, (100, Some(1_000))), Decision::WAIT);
    // 60 segments are left after 400 ms.
    assert_eq!(decide(&mut rule, &paths, 400, (60, Some(1_000))), Decision::WAIT);
    assert_eq!(decide(&mut rule, &paths, 400, (61, Some(1_000))), DEAR);
    assert_eq!(decide(&mut rule, &paths, 2_000, (1, Some(1_000))), DEAR, "it is late already");
}

#[test]
fn alpha_plans_with_less_than_the_time_there_is() {
    let (mut rule, paths) = two(100_000);
    rule.alpha = 500;
    // Half of the second, and after 100 ms a tenth of a second less.
    assert_eq!(decide(&mut rule, &paths, 0, (50, Some(1_000))), Decision::WAIT);
    assert_eq!(decide(&mut rule, &paths, 100, (41, Some(1_000))), DEAR);
    assert_eq!(decide(&mut rule, &paths, 100, (40, Some(1_000))), Decision::WAIT);
}

#[test]
fn time_begins_with_the_messages_first_segment() {
    let (mut rule, paths) = two(100_000);
    rule.alpha = 500;
    assert_eq!(decide(&mut rule, &paths, 500, (25, Some(1_000))), Decision::WAIT, "half of half a second");
    assert_eq!(decide(&mut rule, &paths, 500, (26, Some(1_000))), DEAR);
}

#[test]
fn the_cheap_path_goes_first_whatever_the_deadline() {
    let (mut rule, mut paths) = two(1);
    paths[0].in_flight = 8;
    paths[0].srtt = Duration::from_secs(9);
    let two_segments = Decision::Assign { path: PathId(0), segments: 2 };
    assert_eq!(decide(&mut rule, &paths, 0, (100, Some(1))), two_segments);
}

#[test]
fn without_a_deadline_all_paths_are_used() {
    let (mut rule, paths) = two(100_000);
    assert_eq!(decide(&mut rule, &paths, 0, (1, None)), DEAR);
}

#[test]
fn without_a_forecast_all_paths_are_used() {
    let (_, paths) = two(1);
    assert_eq!(decide(&mut MpDash::default(), &paths, 0, (1, Some(1_000))), DEAR);
}

#[test]
fn a_preferred_path_that_timed_out_is_none() {
    let (mut rule, paths) = two(100_000);
    rule.on_event(&Event::Timeout { path: PathId(0) }, &Connection::default(), &paths);
    let all = Decision::Assign { path: PathId(1), segments: 5 };
    assert_eq!(decide(&mut rule, &paths, 0, (50, Some(1_000))), all);
}

#[test]
fn holt_and_winters_by_hand() {
    let mut forecast = Forecast::NONE;
    forecast.sample(1_000);
    assert_eq!(forecast.rate(), 1_000);
    // Level 0.8 · 2000 + 0.2 · 1000 = 1800, trend 0.2 · 800 = 160.
    forecast.sample(2_000);
    assert_eq!((forecast.level, forecast.trend, forecast.rate()), (1_800, 160, 1_960));
    // Level 0.2 · 1960 = 392, trend 0.2 · (392 − 1800) + 0.8 · 160 = −153.6, cut to −153.
    forecast.sample(0);
    assert_eq!((forecast.level, forecast.trend, forecast.rate()), (392, -153, 239));
}

#[test]
fn a_sample_is_what_a_busy_round_acknowledged() {
    let (mut rule, paths) = two(1);
    rule.forecasts[0] = Forecast::NONE;
    let connection = Connection::default();
    let decide = |rule: &mut MpDash, now, paths: &[Path]| {
        rule.decide(at(now), &connection, paths);
        rule.forecasts[0].rate()
    };
    let mut idle = paths.clone();
    idle[0].in_flight = 0;
    decide(&mut rule, 5_000, &idle);
    for _ in 0..20 {
        rule.on_event(&Event::Acked { path: PathId(0), segments: 1, rtt: None }, &connection, &paths);
    }
    assert_eq!(decide(&mut rule, 5_099, &paths), 0, "the round is not over");
    assert_eq!(decide(&mut rule, 5_125, &paths), 20_000 * SECOND / 125_000_000);
}
