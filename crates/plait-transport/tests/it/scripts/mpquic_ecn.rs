//! Explicit congestion notification of Multipath QUIC (RFC 9000 §13.4, RFC 9002 §7.1): ECN-capable
//! packets, counts of marks, and the reaction to marks.

use crate::common::{Fate, Judged, Pair, Way, at, in_turns, mpquic_config, ms};
use plait_sched::{PathId, Time};
use plait_transport::mpquic::Config;
use plait_transport::packet::quic::{self, EcnCounts, OneRtt, PathAck};
use plait_transport::packet::{Packet, SegmentEcn};
use std::cell::RefCell;
use std::rc::Rc;

const SEGMENT: u64 = 1452;

/// Data packets (path, number, headers) and acknowledgements, as seen at transmission.
#[derive(Default)]
struct Seen {
    data: Vec<(usize, u64, SegmentEcn)>,
    acks: Vec<(Time, PathAck)>,
}

fn data(judged: &Judged<'_>) -> Option<OneRtt> {
    match judged.packet {
        Packet::Quic(quic::Packet::OneRtt(packet))
            if judged.way == Way::Forward && packet.stream.is_some() =>
        {
            Some(*packet)
        }
        _ => None,
    }
}

fn watched(
    ecn: bool,
    round_trips: &[u64],
    fate: impl Fn(usize, u64) -> Fate + 'static,
) -> (Pair, Rc<RefCell<Seen>>) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let mut pair = Pair::new(Config { ecn, ..mpquic_config() }, round_trips, in_turns()).spaced(ms(1));
    let log = Rc::clone(&seen);
    pair.script(move |judged| {
        if let Packet::Quic(quic::Packet::OneRtt(OneRtt { ack: Some(ack), .. })) = judged.packet {
            log.borrow_mut().acks.push((judged.now, *ack));
        }
        let Some(packet) = data(judged) else { return Fate::Pass };
        log.borrow_mut().data.push((judged.path, packet.number, packet.ecn));
        fate(judged.path, packet.number)
    });
    (pair, seen)
}

#[test]
fn who_does_without_is_neither_capable_nor_counted() {
    let (mut pair, seen) = watched(false, &[20], |_, _| Fate::Mark);
    pair.send_file(100 * SEGMENT);
    pair.run_until(at(2_000));
    assert_eq!(pair.log.delivered.len(), 100);
    let seen = seen.borrow();
    assert!(seen.data.iter().all(|(_, _, ecn)| *ecn == SegmentEcn::default()));
    assert!(seen.acks.iter().all(|(_, ack)| ack.marks.is_none()));
}

/// RFC 9000 §13.4.1 and §19.3.2: counts are those of a path, of all packets since its start, each
/// packet once.
#[test]
fn marks_are_counted_by_path() {
    let (mut pair, seen) = watched(true, &[20, 50], |path, number| match (path, number) {
        (1, 3 | 7 | 8) => Fate::Mark,
        _ => Fate::Pass,
    });
    pair.send_file(60 * SEGMENT);
    pair.run_until(at(3_000));
    assert_eq!((pair.log.delivered.len(), pair.log.retransmitted().len()), (60, 0));
    let seen = seen.borrow();
    for (path, marked) in [(0, 0), (1, 3)] {
        let last = seen.acks.iter().rev().find(|(_, ack)| ack.path == PathId(path)).expect("acknowledged").1;
        let sent = seen.data.iter().filter(|(on, _, _)| *on == usize::from(path)).count() as u64;
        assert_eq!(last.marks, Some(EcnCounts { capable: sent - marked, congested: marked }), "path {path}");
    }
}

/// RFC 9000 §13.2.1: a marked packet is acknowledged at once.
#[test]
fn a_mark_is_told_at_once() {
    let lazy = Config { ecn: true, ack_every: 10, ..mpquic_config() };
    let mut pair = Pair::new(lazy, &[20], in_turns());
    pair.script(|judged| if data(judged).is_some() { Fate::Mark } else { Fate::Pass });
    pair.send_file(SEGMENT);
    pair.run_until(at(20));
    assert!(pair.sender.is_drained(), "it waits for 25 ms otherwise");
}

/// RFC 9002 §7.1, §7.3.2: a mark halves the window like a loss, and nothing is retransmitted.
#[test]
fn a_mark_halves_the_window() {
    let (mut pair, _) = watched(true, &[20], |_, number| if number == 30 { Fate::Mark } else { Fate::Pass });
    pair.sender.write_endlessly();
    let (mut before, mut after) = (0, u64::MAX);
    while pair.now < at(200) && after == u64::MAX {
        before = pair.sender.window(PathId(0)).0;
        pair.run_for(1);
        after = pair.sender.window(PathId(0)).1;
    }
    assert!((before / 2..=before / 2 + 1_500).contains(&after), "{before} became {after}");
    pair.run_until(at(500));
    assert_eq!(pair.log.retransmitted(), []);
}

/// Several marks within a round trip cause one reduction. Continuing marks cause one per round
/// trip.
#[test]
fn there_is_one_reduction_per_round_trip() {
    let marked = |_, number| if (20..=400).contains(&number) { Fate::Mark } else { Fate::Pass };
    let (mut pair, _) = watched(true, &[20], marked);
    pair.sender.write_endlessly();
    let (mut threshold, mut reductions) = (u64::MAX, Vec::new());
    while pair.now < at(1_500) {
        pair.run_for(1);
        let now = pair.sender.window(PathId(0)).1;
        if now < threshold {
            reductions.push(pair.now);
        }
        threshold = now;
    }
    assert!(reductions.len() > 2, "{reductions:?}");
    assert!(reductions.windows(2).all(|pair| pair[1] >= pair[0] + ms(20)), "{reductions:?}");
    assert_eq!(pair.log.retransmitted(), []);
}

#[test]
fn a_loss_in_a_round_trip_that_was_answered_costs_nothing_more() {
    let run = |both: bool| {
        let (mut pair, _) = watched(true, &[20], move |_, number| match number {
            30 => Fate::Mark,
            33 if both => Fate::Drop,
            _ => Fate::Pass,
        });
        pair.sender.write_endlessly();
        pair.run_until(at(130));
        assert_eq!(pair.log.retransmitted().len(), usize::from(both));
        pair.sender.window(PathId(0)).1
    };
    assert_eq!(run(false), run(true), "the threshold");
}

/// Retransmissions leave in new packets, which may be marked like any other.
#[test]
fn retransmissions_are_capable_too() {
    let (mut pair, seen) =
        watched(true, &[20], |_, number| if number == 4 { Fate::Drop } else { Fate::Pass });
    pair.send_file(30 * SEGMENT);
    pair.run_until(at(1_000));
    assert_eq!(pair.log.retransmitted(), [4]);
    assert!(seen.borrow().data.iter().all(|(_, _, ecn)| ecn.capable));
}

/// RFC 9000 §13.4.2.1: acknowledgements that do not account for ECN-capable packets end ECN, only
/// on that path.
#[test]
fn a_path_that_clears_marks_does_without() {
    let (mut pair, seen) = watched(true, &[20, 20], |path, number| match (path, number) {
        (0, 10..) => Fate::Clear,
        _ => Fate::Pass,
    });
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    let seen = seen.borrow();
    let capable = |path: usize| {
        let of_path = seen.data.iter().filter(move |(on, _, _)| *on == path);
        of_path.map(|(_, _, ecn)| ecn.capable).collect::<Vec<_>>()
    };
    assert!(capable(1).iter().all(|capable| *capable));
    let first = capable(0);
    let kept = first.iter().take_while(|capable| **capable).count();
    assert!((10..60).contains(&kept) && first[kept..].iter().all(|capable| !capable), "{first:?}");
}
