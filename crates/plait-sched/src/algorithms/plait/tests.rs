extern crate std;

use std::vec::Vec;

use super::*;
use crate::time::Duration;
use crate::view::{Outstanding, PathSet};

mod arrival;
mod copies;

const MILLI: u64 = 1_000_000;

fn plait(off: &[&'static str]) -> Plait {
    let given: Vec<(&str, Value<'_>)> = off.iter().map(|&name| (name, Value::Boolean(false))).collect();
    Plait::from_parameters(&Parameters::new(&Plait::INFO, &[], &given).unwrap())
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn path(id: u8, srtt: u64, cwnd: u32) -> Path {
    let srtt = Duration::from_millis(srtt);
    Path { srtt, min_rtt: srtt, latest_rtt: srtt, cwnd, ssthresh: 1, ..Path::new(PathId(id), 1000) }
}

fn sent(path: u8, segment: u64) -> Event {
    Event::Sent { path: PathId(path), segment, retransmission: false }
}

fn acked(path: u8, segments: u32, rtt: u64) -> Event {
    Event::Acked { path: PathId(path), segments, rtt: Some(Duration::from_millis(rtt)) }
}

/// All assignments of one moment; segments leave while the windows have room.
fn assignments(plait: &mut Plait, paths: &mut [Path], finished: bool) -> Vec<(u8, u32)> {
    let mut connection =
        Connection { unassigned: 1000, window_left: 1000, finished, ..Connection::default() };
    let mut steps = Vec::new();
    while let Decision::Assign { path, segments } = plait.decide(at(0), &connection, paths) {
        steps.push((path.0, segments));
        connection.unassigned -= u64::from(segments);
        paths[path.index()].queued += segments;
        while paths[path.index()].queued > 0 && paths[path.index()].in_flight < paths[path.index()].cwnd {
            paths[path.index()].queued -= 1;
            paths[path.index()].in_flight += 1;
            plait.on_event(&sent(path.0, connection.next_segment), &connection, paths);
            connection.next_segment += 1;
        }
    }
    steps
}

/// 20 ms with 2 ms a segment, and 60 ms with 6 ms a segment. The first segment of the slow path
/// arrives after 6 + 30 = 36 ms. The n-th one of the fast path arrives after 2n + 10 ms, up to the
/// window of 10; the eleventh leaves a round trip after the first: 2 + 20 + 10 = 32 ms. The 13th
/// one needs 36 ms, and wins by its smaller delay. Until the second segment of the slow path
/// arrives, after 42 ms, three more arrive on the fast path.
#[test]
fn the_slow_path_waits_for_earlier_arrivals_on_the_fast_one() {
    let mut paths = [path(0, 20, 10), path(1, 60, 10)];
    let steps = assignments(&mut plait(&["trains"]), &mut paths, true);
    assert_eq!(steps[..4], [(0, 13), (1, 1), (0, 3), (1, 1)]);
}

/// The application may write more. The slow path then has a lead of its additional 20 ms. Its second
/// to fourth segment count as if they arrived after 22, 28 and 34 ms, the fifth after 40 ms.
#[test]
fn the_slow_path_takes_bursts_while_the_application_writes() {
    let mut paths = [path(0, 20, 10), path(1, 60, 10)];
    let steps = assignments(&mut plait(&["trains"]), &mut paths, false);
    assert_eq!(steps[..5], [(0, 13), (1, 1), (1, 3), (0, 2), (0, 10)]);
}

/// Two paths of 1 ms a segment, and of 20 and 60 ms. Each 10 ms, a write of 10 segments meets a
/// queueing delay of 5 ms on the fast path: 50 ms² a write. A burst on the slow path, which delays
/// 20 ms more, costs 5 * 20 + 20 * 20 / 2 = 300 ms². So it begins with more than 150 ms². With
/// its lead of 20 ms, a sixth segment there would arrive no earlier than the next on the fast path.
#[test]
fn a_burst_drains_a_queue_that_lasts() {
    let (mut plait, paths) = (plait(&["trains"]), [path(0, 20, 20), path(1, 60, 60)]);
    let taken = [15, 10, 10, 10, 10].iter().enumerate().map(|(write, &unassigned)| {
        let (now, mut connection) = (at(10 * write as u64), Connection::default());
        (connection.unassigned, connection.window_left) = (unassigned, 1000);
        let decision = plait.decide(now, &connection, &paths);
        let Decision::Assign { path, segments } = decision else { panic!("{decision:?}") };
        for segment in 0..u64::from(segments) {
            plait.on_event(&sent(path.0, segment), &connection, &paths);
        }
        connection.unassigned = 0;
        plait.decide(now, &connection, &paths);
        (path.0, segments)
    });
    assert_eq!(taken.collect::<Vec<_>>(), [(0, 15), (0, 10), (0, 10), (0, 10), (1, 5)]);
}

/// The slow path took the last segment. As long as the fast one is idle, that is no reason to stay.
#[test]
fn a_burst_ends_when_the_fastest_path_is_idle() {
    let (mut plait, paths) = (plait(&["trains"]), [path(0, 20, 20), path(1, 60, 60)]);
    plait.bursts.last = PathId(1);
    let connection = Connection { window_left: 1000, ..Connection::default() };
    assert_eq!(plait.lead(&connection, &paths), 0);
    for segment in 0..3 {
        plait.on_event(&sent(0, segment), &connection, &paths);
    }
    assert_eq!(plait.lead(&connection, &paths), 20 * MILLI as i64);
}

#[test]
fn the_reason_compares_the_arrivals() {
    let paths = [path(0, 20, 10), path(1, 60, 10)];
    let connection = Connection { unassigned: 9, window_left: 9, ..Connection::default() };
    let mut reason = std::string::String::new();
    plait(&["trains"]).decide_with_reason(at(0), &connection, &paths, &mut reason);
    assert_eq!(reason, "arrives first on {0}, 24.0 ms later on {1}");
    let mut scheduler = plait(&["trains"]);
    let mut paths = paths;
    scheduler.decide(at(0), &connection, &paths);
    for segment in 0..10 {
        paths[0].in_flight += 1;
        scheduler.on_event(&sent(0, segment), &connection, &paths);
    }
    scheduler.bursts.last = PathId(1);
    let mut reason = std::string::String::new();
    scheduler.decide_with_reason(at(0), &connection, &paths, &mut reason);
    assert_eq!(reason, "stays on {1} for a burst, 4.0 ms earlier on {0}");
}

/// Without a train, a path takes the segments that its window admits, and nothing ahead.
#[test]
fn an_unmeasured_path_has_no_queue() {
    let mut paths = [path(0, 20, 10), path(1, 60, 10)];
    assert_eq!(assignments(&mut plait(&[]), &mut paths, true), [(0, 10), (1, 10)]);
}

/// Sends `count` segments at time 0 and acknowledges them one by one, `apart` milliseconds apart,
/// from 100 ms on. Returns the scheduler and its path.
fn train(count: u64, sent_apart: u64, apart: u64, rtt: u64) -> (Plait, Path) {
    let (mut plait, mut path) = (plait(&[]), path(0, 100, 50));
    further_train(&mut plait, &mut path, 0, count, sent_apart, apart, rtt);
    (plait, path)
}

/// Sends such a train from `begin` milliseconds on, and acknowledges it from 100 ms later on.
fn further_train(
    plait: &mut Plait,
    path: &mut Path,
    begin: u64,
    count: u64,
    sent_apart: u64,
    apart: u64,
    rtt: u64,
) {
    let connection = Connection::default();
    for segment in 0..count {
        plait.decide(at(begin + segment * sent_apart), &connection, core::slice::from_ref(path));
        path.in_flight += 1;
        plait.on_event(&sent(0, segment), &connection, core::slice::from_ref(path));
    }
    for segment in 0..count {
        path.in_flight -= 1;
        path.latest_rtt = Duration::from_millis(rtt);
        plait.on_event(&acked(0, 1, rtt), &connection, core::slice::from_ref(path));
        plait.decide(at(begin + 100 + segment * apart), &connection, core::slice::from_ref(path));
    }
}

#[test]
fn a_train_measures_the_spacing_of_its_acknowledgements() {
    let (plait, path) = train(10, 0, 5, 100);
    assert_eq!(plait.bottlenecks[0].spacing(&path), 5 * MILLI);
    assert_eq!(plait.bottlenecks[0].product(&path), Some(20), "100 ms of 5 ms each");
    let (plait, path) = train(3, 0, 5, 100);
    assert!(!plait.bottlenecks[0].is_measured(&path), "two intervals are too few");
    assert_eq!(plait.bottlenecks[0].spacing(&path), 2 * MILLI, "100 ms for 50 segments");
}

#[test]
fn a_train_at_the_pace_of_the_sender_measures_nothing() {
    let (plait, path) = train(10, 5, 5, 100);
    assert!(!plait.bottlenecks[0].is_measured(&path));
}

/// An estimate of 8 ms keeps segments away from the path, so that the sender spaces all trains. Each
/// smaller spacing is nearer to that of the bottleneck, and a larger one says nothing.
#[test]
fn an_estimate_that_is_too_large_does_not_last() {
    let (mut plait, mut path) = train(10, 0, 8, 100);
    assert_eq!(plait.bottlenecks[0].spacing(&path), 8 * MILLI);
    for (begin, apart, expected) in [(1000, 9, 8), (2000, 6, 6), (3000, 7, 6), (4000, 4, 4)] {
        further_train(&mut plait, &mut path, begin, 10, apart, apart, 100);
        assert_eq!(plait.bottlenecks[0].spacing(&path), expected * MILLI, "sent {apart} ms apart");
    }
}

/// 20 segments of 5 ms each are in flight all the time, at the pace of the acknowledgements. If they
/// were in the queue of the bottleneck, the round trip would be 100 ms longer.
#[test]
fn a_round_trip_without_a_queue_ends_the_predicted_one() {
    let backlog = |rtt: u64| {
        let (mut plait, mut path) = train(10, 0, 5, 100);
        let connection = Connection::default();
        path.latest_rtt = Duration::from_millis(rtt);
        plait.decide(at(1000), &connection, core::slice::from_ref(&path));
        for segment in 10..30 {
            path.in_flight += 1;
            plait.on_event(&sent(0, segment), &connection, core::slice::from_ref(&path));
        }
        for step in 0..60 {
            path.in_flight -= 1;
            plait.on_event(&acked(0, 1, rtt), &connection, core::slice::from_ref(&path));
            plait.decide(at(1005 + 5 * step), &connection, core::slice::from_ref(&path));
            path.in_flight += 1;
            plait.on_event(&sent(0, 30 + step), &connection, core::slice::from_ref(&path));
        }
        plait.bottlenecks[0].free() / MILLI - 1300
    };
    assert_eq!((backlog(100), backlog(200)), (5, 100));
}

/// A train was queued for 30 ms longer than predicted. So predictions are 30 ms longer, but not longer
/// than 5 ms for each of 20 segments in flight. An error of four segments does not make a path busy.
#[test]
fn predictions_are_longer_by_the_error_of_the_newest_one() {
    let after = |rtt: u64| {
        let (mut plait, mut path) = train(10, 0, 5, 100);
        let connection = Connection::default();
        plait.decide(at(1000), &connection, core::slice::from_ref(&path));
        path.in_flight = 1;
        plait.on_event(&sent(0, 10), &connection, core::slice::from_ref(&path));
        path.latest_rtt = Duration::from_millis(rtt);
        plait.on_event(&acked(0, 1, rtt), &connection, core::slice::from_ref(&path));
        path.in_flight = 20;
        plait.decide(at(1200), &connection, core::slice::from_ref(&path));
        let bottleneck = &plait.bottlenecks[0];
        let free = bottleneck.corrected_free(at(1200), &path) - bottleneck.free();
        (free / MILLI, bottleneck.is_idle(at(1200), &path))
    };
    assert_eq!([100, 120, 130, 230].map(after), [(0, true), (20, true), (30, false), (100, false)]);
}

#[test]
fn a_loss_ends_a_train() {
    let (mut plait, mut path) = (plait(&[]), path(0, 100, 50));
    let connection = Connection::default();
    for segment in 0..8 {
        plait.decide(at(0), &connection, core::slice::from_ref(&path));
        path.in_flight += 1;
        plait.on_event(&sent(0, segment), &connection, core::slice::from_ref(&path));
    }
    let lost = Event::Lost { path: PathId(0), segments: 1 };
    for (time, event) in [(100, acked(0, 1, 100)), (105, lost), (110, acked(0, 6, 100))] {
        plait.on_event(&event, &connection, core::slice::from_ref(&path));
        plait.decide(at(time), &connection, core::slice::from_ref(&path));
    }
    assert!(!plait.bottlenecks[0].is_measured(&path));
}

/// The measured path has a product of 20 segments, so 24 segments may be in its queue. 30 in
/// flight, sent at once, keep the bottleneck busy for 150 ms: 30 segments.
#[test]
fn a_limit_bounds_the_queue_of_the_bottleneck() {
    let (mut plait, mut path) = train(10, 0, 5, 100);
    path.cwnd = 100;
    let connection = Connection { unassigned: 1000, window_left: 1000, ..Connection::default() };
    let limits = |plait: &mut Plait, path: &mut Path, connection: &Connection, segments: u64| {
        path.limit = u32::MAX;
        plait.decide(at(1000), connection, core::slice::from_ref(path));
        for segment in 0..segments {
            path.in_flight += 1;
            plait.on_event(&sent(0, 10 + segment), connection, core::slice::from_ref(path));
        }
        plait.decide(at(1000), connection, core::slice::from_ref(path))
    };
    let held = Decision::Limit { path: PathId(0), in_flight: 30 };
    assert_eq!(limits(&mut plait, &mut path, &connection, 30), held, "nothing more leaves");
    let narrow = Connection { window_left: 500, ..connection };
    let drained = Decision::Limit { path: PathId(0), in_flight: 24 };
    assert_eq!(limits(&mut plait, &mut path, &narrow, 0), drained, "30 in flight, 6 too many");
}

/// 30 segments of 5 ms are in flight, and no more may be. The next one leaves the bottleneck 5 ms
/// after them, however much data waits.
#[test]
fn a_limit_opens_as_the_queue_drains() {
    let arrival = |unassigned: u64| {
        let (mut plait, mut path) = train(10, 0, 5, 100);
        (path.cwnd, path.limit) = (100, 30);
        let connection = Connection { unassigned, window_left: 1000, ..Connection::default() };
        plait.decide(at(1000), &connection, core::slice::from_ref(&path));
        for segment in 0..30 {
            path.in_flight += 1;
            plait.on_event(&sent(0, 10 + segment), &connection, core::slice::from_ref(&path));
        }
        plait.arrival(&path, core::slice::from_ref(&path), 0).unwrap().0
    };
    assert_eq!(arrival(1400), 1205 * MILLI as i64, "5 + 150 + 50 ms later");
    assert_eq!(arrival(1401), 1205 * MILLI as i64, "more than four windows wait");
}

#[test]
fn neither_slow_start_nor_a_paced_path_has_a_limit() {
    let (plait, path) = train(10, 0, 5, 100);
    let connection = Connection { unassigned: 1000, window_left: 1000, ..Connection::default() };
    let path = Path { cwnd: 100, in_flight: 60, ..path };
    assert_ne!(plait.limit(&path, &connection), u32::MAX);
    assert_eq!(plait.limit(&Path { ssthresh: u32::MAX, ..path.clone() }, &connection), u32::MAX);
    assert_eq!(plait.limit(&Path { pacing_rate: Some(1_000_000), ..path }, &connection), u32::MAX);
}

/// A burst of 40 segments of 5 ms overflows a queue. With 24 or with a quarter of the product of 20
/// segments, the next burst would overflow it, too. Two fifths of its capacity may be in it. A round
/// trip that is 250 ms longer than without queues shows a queue of at least 50 segments.
#[test]
fn several_losses_at_once_show_the_capacity_of_the_queue() {
    let limit = |lost: u32, burst: u64, rtt: u64| {
        let (mut plait, mut path) = train(10, 0, 5, 100);
        path.latest_rtt = Duration::from_millis(rtt);
        path.cwnd = 100;
        let connection = Connection { unassigned: 1000, window_left: 1000, ..Connection::default() };
        plait.decide(at(1000), &connection, core::slice::from_ref(&path));
        for segment in 0..burst {
            path.in_flight += 1;
            plait.on_event(&sent(0, 10 + segment), &connection, core::slice::from_ref(&path));
        }
        let event = Event::Lost { path: PathId(0), segments: lost };
        plait.on_event(&event, &connection, core::slice::from_ref(&path));
        path.in_flight = 0;
        plait.on_event(&acked(0, 1, 100), &connection, core::slice::from_ref(&path));
        plait.decide(at(2000), &connection, core::slice::from_ref(&path));
        plait.limit(&path, &connection)
    };
    assert_eq!(limit(1, 40, 100), 24, "a random loss");
    assert_eq!(limit(2, 40, 100), 16);
    assert_eq!(limit(2, 40, 350), 20);
    assert_eq!(limit(2, 10, 100), 5, "the least");
    assert_eq!(limit(2, 5, 100), 24, "no queue is so short");
}

/// A pacer holds back packets, so the facts show a full window of 50. Ten segments of 5 ms are in
/// flight.
#[test]
fn a_full_window_of_a_paced_path_says_nothing_about_its_queue() {
    let (mut plait, mut path) = train(10, 0, 5, 100);
    path.pacing_rate = Some(1_600_000);
    let connection = Connection::default();
    plait.decide(at(1000), &connection, core::slice::from_ref(&path));
    for segment in 10..20 {
        path.in_flight = 50;
        plait.on_event(&sent(0, segment), &connection, core::slice::from_ref(&path));
    }
    plait.on_event(&acked(0, 0, 100), &connection, core::slice::from_ref(&path));
    assert_eq!(plait.bottlenecks[0].in_flight(&path), 10);
    path.pacing_rate = None;
    assert_eq!(plait.bottlenecks[0].in_flight(&path), 50);
}

/// A timeout takes segments out of the flight without a loss; the limit follows the facts.
#[test]
fn the_backlog_follows_the_flight_after_a_timeout() {
    let (mut plait, mut path) = train(10, 0, 5, 100);
    let connection = Connection { unassigned: 1000, window_left: 500, ..Connection::default() };
    path.cwnd = 100;
    plait.decide(at(1000), &connection, core::slice::from_ref(&path));
    for segment in 0..60 {
        path.in_flight += 1;
        plait.on_event(&sent(0, 10 + segment), &connection, core::slice::from_ref(&path));
    }
    path.in_flight = 2;
    plait.on_event(&Event::Timeout { path: PathId(0) }, &connection, core::slice::from_ref(&path));
    plait.on_event(&acked(0, 1, 100), &connection, core::slice::from_ref(&path));
    plait.decide(at(1200), &connection, core::slice::from_ref(&path));
    assert!(plait.bottlenecks[0].free() <= 1210 * MILLI, "2 segments of 5 ms");
}

/// Ten packets whose acknowledgements come at two moments show no spacing.
#[test]
fn acknowledgements_that_come_together_measure_nothing() {
    let (mut plait, mut path) = (plait(&[]), path(0, 100, 50));
    let connection = Connection::default();
    plait.decide(at(0), &connection, core::slice::from_ref(&path));
    for segment in 0..10 {
        path.in_flight += 1;
        plait.on_event(&sent(0, segment), &connection, core::slice::from_ref(&path));
    }
    for time in [100, 101] {
        path.in_flight -= 5;
        plait.on_event(&acked(0, 5, 100), &connection, core::slice::from_ref(&path));
        plait.decide(at(time), &connection, core::slice::from_ref(&path));
    }
    assert!(!plait.bottlenecks[0].is_measured(&path));
}
