//! Tests of the receiver alone: when it acknowledges, on which path, and which segments it reports.

use crate::common::{Fate, Pair, at, config, in_turns, ms, segments, sent_by};
use plait_sched::{PathId, Time};
use plait_transport::cmt_sctp::{Config, Receiver};
use plait_transport::packet::sctp::{self, Sack};
use plait_transport::packet::{Data, GapBlock, Packet};

fn data(segment: u64) -> Data {
    Data { segment, bytes: 1452 }
}

/// Delivers one data packet. Returns the resulting acknowledgement and its path.
fn take(receiver: &mut Receiver, now: Time, path: u8, segment: u64) -> Option<(u8, Sack)> {
    receiver.handle_data(now, PathId(path), &data(segment), &mut ());
    sack(receiver)
}

fn sack(receiver: &mut Receiver) -> Option<(u8, Sack)> {
    match sent_by(|sink| receiver.transmit(sink))[..] {
        [] => None,
        [(path, Packet::Sctp(sctp::Packet::Sack(sack)))] => Some((path.0, sack)),
        ref other => panic!("{other:?}"),
    }
}

fn delayed(cmt: bool) -> Config {
    Config { ack_every: 2, delayed_ack_for_cmt: cmt, ..config() }
}

#[test]
fn every_packet_is_acknowledged_at_once_by_default() {
    let mut receiver = Receiver::new(&config());
    for segment in 0..5 {
        let (_, sack) = take(&mut receiver, at(segment), 0, segment).unwrap();
        assert_eq!((sack.cumulative, sack.packets), (segment + 1, 1));
    }
    assert_eq!(receiver.poll_timeout(), None);
}

#[test]
fn a_delayed_acknowledgement_covers_two_packets_or_200_ms() {
    let mut receiver = Receiver::new(&delayed(true));
    assert!(take(&mut receiver, at(0), 0, 0).is_none());
    let (_, second) = take(&mut receiver, at(1), 0, 1).unwrap();
    assert_eq!((second.cumulative, second.packets), (2, 2));

    assert!(take(&mut receiver, at(10), 0, 2).is_none());
    assert_eq!(receiver.poll_timeout(), Some(at(210)));
    receiver.handle_timeout(at(209));
    assert!(sack(&mut receiver).is_none());
    receiver.handle_timeout(at(210));
    let (_, third) = sack(&mut receiver).unwrap();
    assert_eq!((third.cumulative, third.packets), (3, 1));
    assert_eq!(receiver.poll_timeout(), None);
}

#[test]
fn reordering_is_acknowledged_lazily_only_with_delayed_acknowledgement_for_cmt() {
    let mut lazy = Receiver::new(&delayed(true));
    assert!(take(&mut lazy, at(0), 0, 1).is_none());
    assert_eq!(take(&mut lazy, at(0), 0, 2).unwrap().1.packets, 2);
    assert!(take(&mut lazy, at(0), 0, 0).is_none(), "the gap is filled");

    let mut prompt = Receiver::new(&delayed(false));
    assert_eq!(take(&mut prompt, at(0), 0, 1).unwrap().1.packets, 1);
    assert_eq!(take(&mut prompt, at(0), 0, 3).unwrap().1.packets, 1);
    assert_eq!(take(&mut prompt, at(0), 0, 0).unwrap().1.cumulative, 2, "one gap filled, one left");
}

#[test]
fn a_duplicate_is_acknowledged_at_once_and_named() {
    let mut receiver = Receiver::new(&delayed(true));
    take(&mut receiver, at(0), 0, 0);
    take(&mut receiver, at(0), 0, 1);
    let (_, sack) = take(&mut receiver, at(5), 0, 1).unwrap();
    assert_eq!((sack.cumulative, sack.packets, sack.duplicates()), (2, 1, &[1][..]));
    take(&mut receiver, at(6), 0, 2);
    let (_, next) = take(&mut receiver, at(6), 0, 3).unwrap();
    assert!(next.duplicates().is_empty(), "a duplicate is reported once");
}

#[test]
fn an_acknowledgement_takes_the_path_of_the_packet_that_caused_it() {
    let mut receiver = Receiver::new(&delayed(true));
    take(&mut receiver, at(0), 2, 0);
    assert_eq!(take(&mut receiver, at(0), 1, 1).unwrap().0, 1);
    take(&mut receiver, at(1), 2, 2);
    receiver.handle_timeout(at(300));
    assert_eq!(sack(&mut receiver).unwrap().0, 2);
}

#[test]
fn gap_blocks_are_runs_and_the_newest_comes_first() {
    let mut receiver = Receiver::new(&config());
    for segment in [2, 3, 7] {
        take(&mut receiver, at(0), 0, segment);
    }
    let (_, sack) = take(&mut receiver, at(0), 0, 5).unwrap();
    let block = |first, last| GapBlock { first, last };
    assert_eq!((sack.cumulative, sack.gap_blocks), (0, 3));
    assert_eq!(sack.blocks(), [block(5, 5), block(7, 7), block(2, 3)]);
    let (_, merged) = take(&mut receiver, at(0), 0, 6).unwrap();
    assert_eq!((merged.gap_blocks, merged.blocks()), (2, &[block(5, 7), block(2, 3)][..]));
    let (_, filled) = take(&mut receiver, at(0), 0, 0).unwrap();
    assert_eq!((filled.cumulative, filled.blocks()), (1, &[block(4, 6), block(1, 2)][..]));
}

#[test]
fn every_run_is_repeated_in_turn_however_many_there_are() {
    let mut receiver = Receiver::new(&config());
    for run in 0..40 {
        take(&mut receiver, at(0), 0, 2 * run + 1);
    }
    let mut reported = std::collections::BTreeSet::new();
    for segment in 100..180 {
        let (_, sack) = take(&mut receiver, at(0), 0, segment).unwrap();
        assert_eq!(sack.gap_blocks, 41);
        reported.extend(sack.blocks().iter().map(|block| block.first));
    }
    assert!((0..40).all(|run| reported.contains(&(2 * run + 1))), "{reported:?}");
}

#[test]
fn a_heartbeat_is_answered_on_its_path_with_its_time() {
    let mut receiver = Receiver::new(&config());
    receiver.handle_heartbeat(PathId(3), at(4));
    let replies = sent_by(|sink| receiver.transmit(sink));
    assert_eq!(replies, [(PathId(3), Packet::Sctp(sctp::Packet::HeartbeatAck { sent_at: at(4) }))]);
}

#[test]
fn one_acknowledgement_of_two_packets_counts_as_two_reports() {
    let mut config = delayed(true);
    config.connection.congestion.initial_window = segments(12);
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    pair.send_file(12 * 1452);
    pair.lose_once(&[4]);
    pair.run_until(at(500));
    // Acknowledged in pairs: 0 1 | 2 3 | 5 6 | 7 8. The third pair makes two reports of 4 as
    // missing, the fourth makes four.
    let place_of_8 = 8;
    assert_eq!(pair.log.sent_times(4)[1].0, at(place_of_8 + 10 + 11));
    assert_eq!(pair.log.retransmitted(), [4]);
}

#[test]
fn a_bracketed_segment_is_reported_once_per_acknowledgement() {
    // 4 is late by one place: the pair (3, 5) and later (4, …) bracket it.
    let mut config = delayed(true);
    config.connection.congestion.initial_window = segments(12);
    config.fast_retransmit_threshold = 2;
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    pair.send_file(12 * 1452);
    pair.script(|judged| match judged.segment() {
        Some(3) => Fate::Late(ms(3) / 2),
        _ => Fate::Pass,
    });
    pair.run_until(at(500));
    // Arrivals: 0 1 | 2 4 | 3 5 |. The second acknowledgement reports 2 and 4, which bracket 3: one
    // report, not two.
    assert!(pair.log.retransmitted().is_empty());
}
