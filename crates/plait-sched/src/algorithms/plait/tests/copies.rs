//! Tests of copies.

use super::*;

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

/// The last byte is assigned, but the slow path has not sent it. The fast path may get it back.
#[test]
fn queued_data_is_no_end() {
    let (mut plait, connection, mut paths) = tail(&[], true);
    paths[1].queued = 1;
    let copies = |plait: &mut Plait, paths: &[Path]| {
        matches!(plait.decide(at(121), &connection, paths), Decision::Reinject { segment: 0, .. })
    };
    plait.cursors = [10; MAX_PATHS];
    assert!(!copies(&mut plait, &paths));
    paths[1].queued = 0;
    assert!(copies(&mut plait, &paths));
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
