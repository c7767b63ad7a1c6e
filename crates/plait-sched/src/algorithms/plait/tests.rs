extern crate std;

use std::vec::Vec;

use super::*;
use crate::time::Duration;
use crate::view::{Outstanding, PathSet};

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

/// The application may write more. The slow path then has a lead of 3/4 of its additional 20 ms. Its
/// second and third segment count as if they arrived after 27 and 33 ms, the fourth after 39 ms.
#[test]
fn the_slow_path_takes_bursts_while_the_application_writes() {
    let mut paths = [path(0, 20, 10), path(1, 60, 10)];
    let steps = assignments(&mut plait(&["trains"]), &mut paths, false);
    assert_eq!(steps[..5], [(0, 13), (1, 1), (1, 2), (0, 1), (0, 8)]);
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
    scheduler.last = PathId(1);
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

#[test]
fn neither_slow_start_nor_a_paced_path_has_a_limit() {
    let (plait, path) = train(10, 0, 5, 100);
    let connection = Connection { unassigned: 1000, window_left: 1000, ..Connection::default() };
    let path = Path { cwnd: 100, in_flight: 60, ..path };
    assert_ne!(plait.limit(&path, &connection), u32::MAX);
    assert_eq!(plait.limit(&Path { ssthresh: u32::MAX, ..path.clone() }, &connection), u32::MAX);
    assert_eq!(plait.limit(&Path { pacing_rate: Some(1_000_000), ..path }, &connection), u32::MAX);
}

/// A slow path with ten segments in flight, one each 20 ms, and an idle fast path.
fn tail(off: &[&'static str], finished: bool) -> (Plait, Connection, [Path; 2]) {
    let mut plait = plait(off);
    let mut paths = [path(0, 20, 10), path(1, 200, 10)];
    let mut connection = Connection { finished, ..Connection::default() };
    plait.decide(at(0), &connection, &paths);
    for segment in 0..10 {
        paths[1].in_flight += 1;
        plait.on_event(&sent(1, segment), &connection, &paths);
    }
    let mut carried = PathSet::EMPTY;
    carried.insert(PathId(1));
    connection.oldest_unacked = Some(Outstanding::new(0, PathId(1), carried));
    paths[0].uncarried = Some(0);
    (plait, connection, paths)
}

/// On the slow path, segment n arrives after 20 (n + 1) + 100 ms. At 95 ms, a copy on the fast path
/// arrives at 95 + 2 + 10 = 107 ms, so a copy of segment 0 helps: 107 and a quarter of 12 ms are
/// less than 120.
#[test]
fn an_idle_path_copies_what_arrives_later_elsewhere() {
    let (mut plait, connection, paths) = tail(&[], false);
    let copy = |segment| Decision::Reinject { path: PathId(0), segment };
    assert_eq!(plait.decide(at(95), &connection, &paths), copy(0));
    assert_eq!(plait.decide(at(95), &connection, &paths), copy(1), "each segment is copied once");
    let (mut plait, connection, paths) = tail(&[], false);
    assert_eq!(plait.decide(at(108), &connection, &paths), copy(1), "120 ms is too soon for segment 0");
    let (mut plait, connection, paths) = tail(&["copies"], false);
    assert_eq!(plait.decide(at(95), &connection, &paths), Decision::WAIT);
}

/// At 112 ms segment 0 is due, but its acknowledgement is not late.
#[test]
fn after_the_last_byte_a_path_copies_without_a_predicted_gain() {
    let copies = |off: &[&'static str]| {
        let (mut plait, connection, paths) = tail(off, true);
        let decide = || match plait.decide(at(112), &connection, &paths) {
            Decision::Reinject { segment, .. } => Some(segment),
            _ => None,
        };
        core::iter::from_fn(decide).collect::<Vec<_>>()
    };
    assert_eq!(copies(&[]), [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    assert_eq!(copies(&["last_copies"]), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// The slow path has sent nothing. A copy there would arrive long after the original.
#[test]
fn an_unused_path_copies_once_while_data_waits_for_the_window() {
    let copies = |off: &[&'static str], unassigned: u64| {
        let mut plait = plait(off);
        let mut paths = [path(0, 20, 10), path(1, 200, 10)];
        let mut connection = Connection { unassigned, ..Connection::default() };
        plait.decide(at(1), &connection, &paths);
        paths[0].in_flight = 1;
        plait.on_event(&sent(0, 0), &connection, &paths);
        let mut carried = PathSet::EMPTY;
        carried.insert(PathId(0));
        connection.oldest_unacked = Some(Outstanding::new(0, PathId(0), carried));
        paths[1].uncarried = Some(0);
        let first = plait.decide(at(2), &connection, &paths);
        paths[1].in_flight = 1;
        plait.on_event(&sent(1, 0), &connection, &paths);
        paths[1].uncarried = Some(1);
        let copy = Decision::Reinject { path: PathId(1), segment: 0 };
        (first == copy, plait.decide(at(3), &connection, &paths) == copy)
    };
    assert_eq!(copies(&[], 5), (true, false));
    assert_eq!(copies(&[], 0), (false, false), "nothing waits");
    assert_eq!(copies(&["first_copies"], 5), (false, false));
}

/// Segment 0 is due at 120 ms. Its acknowledgement is late after 150 more. The engine asks again
/// then, a millisecond later at the earliest.
#[test]
fn a_late_acknowledgement_means_a_loss() {
    let (mut plait, connection, paths) = tail(&[], false);
    plait.cursors = [10; MAX_PATHS];
    for (time, next) in [(130, 270), (270, 271)] {
        let until = plait.decide(at(time), &connection, &paths);
        let Decision::Wait { until: Some(until) } = until else { panic!("{until:?}") };
        assert_eq!(until.as_nanos() / MILLI, next);
    }
    let copy = Decision::Reinject { path: PathId(0), segment: 0 };
    assert_eq!(plait.decide(at(271), &connection, &paths), copy);
}

/// The variation is that of an earlier queue, 150 ms: the acknowledgement is late after a round trip,
/// a quarter of one and half of the variation.
#[test]
fn the_variation_lengthens_the_patience_by_a_round_trip_at_most() {
    let (mut plait, connection, mut paths) = tail(&[], false);
    plait.cursors = [10; MAX_PATHS];
    paths[1].rttvar = Duration::from_millis(150);
    let lost = |plait: &mut Plait, time| {
        matches!(plait.decide(at(time), &connection, &paths), Decision::Reinject { segment: 0, .. })
    };
    let late = 20 + 200 + 75 + 50 + 200;
    assert!(!lost(&mut plait, late) && lost(&mut plait, late + 1));
}

/// The oldest segment in flight has left the memory, because 1100 others were sent after it.
#[test]
fn a_forgotten_segment_counts_as_lost() {
    let (mut plait, connection, paths) = tail(&[], false);
    for segment in 10..1100 {
        plait.on_event(&sent(0, segment), &connection, &paths);
    }
    plait.on_event(&acked(0, 1090, 20), &connection, &paths);
    plait.cursors = [2000; MAX_PATHS];
    let copy = Decision::Reinject { path: PathId(0), segment: 0 };
    assert_eq!(plait.decide(at(3000), &connection, &paths), copy);
}

/// Ten segments, 2 ms each, are in the queue of the fast path. A copy would wait behind them.
#[test]
fn a_path_with_a_queue_copies_nothing_before_the_last_byte() {
    let copies = |finished: bool, segments: u32| {
        let (mut plait, connection, mut paths) = tail(&[], finished);
        paths[0].cwnd = 20;
        plait.decide(at(60), &connection, &paths[..0]);
        for segment in 10..10 + u64::from(segments) {
            paths[0].in_flight += 1;
            plait.on_event(&sent(0, segment), &connection, &paths);
        }
        matches!(plait.decide(at(60), &connection, &paths), Decision::Reinject { .. })
    };
    assert!(!copies(false, 10) && copies(false, 0) && copies(true, 10));
}

/// A burst of 40 segments of 5 ms overflows a queue. With 24 or with a quarter of the product of 20
/// segments, the next burst would overflow it, too. Two fifths of its capacity may be in it.
#[test]
fn several_losses_at_once_show_the_capacity_of_the_queue() {
    let limit = |lost: u32, burst: u64| {
        let (mut plait, mut path) = train(10, 0, 5, 100);
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
    assert_eq!(limit(1, 40), 24, "a random loss");
    assert_eq!(limit(2, 40), 16);
    assert_eq!(limit(2, 10), 5, "the least");
    assert_eq!(limit(2, 5), 24, "no queue is so short");
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

#[test]
fn the_flight_keeps_the_newest_segments() {
    // Path 1 adds 100 to the departure.
    let arrival = |path: PathId, departure: u64| departure as i64 + i64::from(path.0) * 100;
    let late = |than: i64| move |sent: &flight::Sent| than < arrival(sent.carrier, sent.departure);
    let mut flight = Flight::NONE;
    for segment in 0..2000 {
        flight.on_sent(segment, PathId(0), segment, false, arrival);
    }
    assert!(flight.get(975).is_none() && flight.get(976).is_some());
    flight.on_sent(975, PathId(1), 5, true, arrival);
    assert!(flight.get(975).is_none(), "a copy of an older segment takes no place");
    assert_eq!(flight.late(0, PathId(1), late(1600)), (Some(1601), 1601));
    let departure =
        |flight: &Flight, segment| flight.get(segment).map(|sent| (sent.carrier.0, sent.departure));
    flight.copied(1700, PathId(1));
    flight.on_sent(1700, PathId(1), 1650, true, arrival);
    assert_eq!(departure(&flight, 1700), Some((0, 1700)), "the copy arrives at 1750");
    flight.copied(1701, PathId(1));
    flight.on_sent(1701, PathId(1), 1600, true, arrival);
    assert_eq!(departure(&flight, 1701), Some((1, 1600)), "the copy arrives first");
    assert_eq!(flight.late(1700, PathId(1), late(1600)), (Some(1702), 1702));
    assert_eq!(flight.late(1700, PathId(1), late(5000)), (None, 2000));
    flight.on_sent(1800, PathId(0), 4000, true, arrival);
    assert_eq!(departure(&flight, 1800), Some((0, 4000)), "the original was lost");
    flight.on_sent(1801, PathId(1), 4000, true, arrival);
    assert_eq!(departure(&flight, 1801), Some((1, 4000)), "retransmitted on another path");
    flight.forget(PathId(1));
    assert!(flight.late(1700, PathId(1), late(1600)).0 == Some(1700), "the copy is gone");
}

/// One-way delays contain the difference of the clocks; decisions do not depend on it.
#[test]
fn decisions_do_not_depend_on_the_clocks() {
    let decisions = |offset: i64| {
        let (mut plait, connection, mut paths) = tail(&[], false);
        for path in &mut paths {
            path.forward_delay = Some((path.srtt.as_nanos() / 2) as i64 + offset);
        }
        let times = [95, 108, 200, 271, 300, 400, 600];
        times.map(|time| plait.decide(at(time), &connection, &paths))
    };
    let hour = 3600 * 1000 * MILLI as i64;
    assert_eq!(decisions(hour), decisions(0));
    assert_eq!(decisions(-hour), decisions(0));
    assert!(decisions(0).iter().any(|decision| matches!(decision, Decision::Reinject { .. })));
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
