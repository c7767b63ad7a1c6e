//! Packets that no honest peer sends: nothing panics or hangs, and the connection continues.

use crate::common::{Pair, Way, at, config, in_turns, ms, segments, sent_by};
use plait_sched::{PathId, Time};
use plait_transport::cmt_sctp::{Receiver, WindowAccounting};
use plait_transport::packet::sctp::{self, Sack};
use plait_transport::packet::{Data, Packet};
use proptest::prelude::*;

/// A sender with three segments in flight and more to send.
fn busy() -> Pair {
    let mut pair = Pair::new(config(), &[20, 30], in_turns());
    pair.send_file(100 * 1452);
    pair.run_until(at(1));
    pair
}

fn finishes(mut pair: Pair) {
    pair.run_until(at(60_000));
    assert!(pair.error().is_none(), "{:?}", pair.error());
    assert_eq!(pair.log.delivered.len(), 100);
    assert!(pair.sender.is_drained());
}

fn hand_in(pair: &mut Pair, sack: Sack) {
    pair.sender.handle_packet(pair.now, PathId(0), &Packet::Sctp(sctp::Packet::Sack(sack)), &mut pair.log);
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_ignored() {
    for cumulative in [7, 50, 101, u64::MAX - 1, u64::MAX] {
        // The segments that it claims as received are lost: a sender that believes it would wait
        // forever.
        let mut pair = Pair::new(config(), &[20, 30], in_turns());
        pair.send_file(100 * 1452);
        pair.lose_once(&[0, 1, 2, 3, 4, 5]);
        pair.run_until(at(1));
        hand_in(&mut pair, Sack::new(cumulative, segments(10), 1));
        finishes(pair);
    }
}

#[test]
fn an_acknowledgement_of_what_only_waits_in_a_queue_is_ignored() {
    let ahead =
        crate::common::By(
            |_, connection: &plait_sched::Connection, _: &[plait_sched::Path]| match connection.unassigned {
                0 => plait_sched::Decision::WAIT,
                all => plait_sched::Decision::Assign { path: PathId(0), segments: all as u32 },
            },
        );
    let mut pair = Pair::new(config(), &[20], ahead);
    pair.send_file(100 * 1452);
    pair.run_until(at(1));
    assert_eq!((pair.path(0).in_flight, pair.path(0).queued), (3, 97));
    let sack = Packet::Sctp(sctp::Packet::Sack(Sack::new(10, segments(10), 1)));
    pair.sender.handle_packet(pair.now, PathId(0), &sack, &mut pair.log);
    pair.run_until(at(60_000));
    assert_eq!(pair.log.delivered.len(), 100);
    assert!(pair.log.sent.iter().all(|(_, sent)| sent.bytes == 1452));
}

#[test]
fn absurd_gap_blocks_are_cut_to_what_was_sent() {
    for (first, last) in
        [(0, 0), (1, u64::from(u32::MAX)), (500, 400), (90, 99), (u64::from(u32::MAX), u64::MAX)]
    {
        let mut pair = busy();
        let mut sack = Sack::new(0, segments(10), 255);
        assert!(sack.push_block(first, last));
        // The SACK may acknowledge data that did not arrive, which the receiver then lacks. The
        // test only checks for panics and hangs.
        hand_in(&mut pair, sack);
        pair.run_until(at(60_000));
    }
}

#[test]
fn a_gap_block_about_unsent_data_does_not_acknowledge_it_later() {
    let mut pair = busy();
    let mut sack = Sack::new(0, segments(100), 1);
    sack.push_block(50, 99);
    hand_in(&mut pair, sack);
    // The loss of 50 is detected by later segments, which must therefore count as new when they
    // really arrive.
    pair.lose_once(&[50]);
    pair.run_until(at(900));
    assert_eq!((pair.log.retransmitted(), pair.sender.counters().timeouts), (vec![50], 0));
    finishes(pair);
}

#[test]
fn a_window_of_any_size_is_taken() {
    for window in [0, 1, u64::MAX] {
        let mut pair = busy();
        hand_in(&mut pair, Sack::new(0, window, 0));
        finishes(pair);
    }
}

#[test]
fn answers_to_heartbeats_that_were_never_sent_do_no_harm() {
    for sent_at in [Time::ZERO, at(0), Time::MAX] {
        let mut pair = busy();
        let packet = Packet::Sctp(sctp::Packet::HeartbeatAck { sent_at });
        pair.sender.handle_packet(pair.now, PathId(1), &packet, &mut pair.log);
        finishes(pair);
    }
}

#[test]
fn data_far_ahead_is_refused_without_taking_memory() {
    for accounting in [WindowAccounting::Buffer, WindowAccounting::Outstanding] {
        let mut config = config();
        config.accounting = accounting;
        let mut receiver = Receiver::new(&config);
        for segment in [1 << 40, u64::MAX - 1, u64::MAX] {
            receiver.handle_data(at(0), PathId(0), &Data { segment, bytes: 1452 }, &mut ());
            assert!(
                matches!(
                    sent_by(|sink| receiver.transmit(sink))[..],
                    [(_, Packet::Sctp(sctp::Packet::Sack(_)))]
                ),
                "refusals are answered"
            );
        }
        assert_eq!((receiver.reassembly().buffered(), receiver.reassembly().end()), (0, 0));
    }
}

#[test]
fn data_of_absurd_sizes_is_taken_or_refused() {
    for accounting in [WindowAccounting::Buffer, WindowAccounting::Outstanding] {
        let mut config = config();
        config.accounting = accounting;
        let mut receiver = Receiver::new(&config);
        for (segment, bytes) in [(2, 0), (3, u32::MAX), (4, u32::MAX), (1, 0), (0, u32::MAX)] {
            receiver.handle_data(at(0), PathId(0), &Data { segment, bytes }, &mut ());
        }
        sent_by(|sink| receiver.transmit(sink));
        assert!(receiver.reassembly().next_expected() >= 3);
    }
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let number = prop_oneof![0_u64..40, any::<u64>(), Just(u64::MAX)];
    let sack =
        (number.clone(), any::<u64>(), any::<u8>(), prop::collection::vec((0_u64..60, 0_u64..60), 0..10));
    prop_oneof![
        (number.clone(), prop_oneof![Just(1452_u32), any::<u32>()])
            .prop_map(|(segment, bytes)| Packet::Sctp(sctp::Packet::Data(Data { segment, bytes }))),
        (sack, number.clone()).prop_map(|((cumulative, window, packets, blocks), duplicate)| {
            let mut sack = Sack::new(cumulative, window, packets);
            for (first, length) in blocks {
                let first = cumulative.saturating_add(first);
                sack.push_block(first, first.saturating_add(length));
            }
            sack.push_duplicate(duplicate);
            Packet::Sctp(sctp::Packet::Sack(sack))
        }),
        number
            .clone()
            .prop_map(|nanos| Packet::Sctp(sctp::Packet::Heartbeat { sent_at: Time::from_nanos(nanos) })),
        number
            .prop_map(|nanos| Packet::Sctp(sctp::Packet::HeartbeatAck { sent_at: Time::from_nanos(nanos) })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary packets at any time, among honest ones: neither end panics or hangs.
    #[test]
    fn no_sequence_of_packets_panics(
        packets in prop::collection::vec((0_u64..40, any::<bool>(), 0_u8..2, any_packet()), 1..60),
        ahead in any::<bool>(),
    ) {
        let parameters = [("replan", plait_sched::Value::Text("always"))];
        let ahead = if ahead { plait_sched::Builtin::new("daps-rounds", &parameters) } else { Ok(in_turns()) };
        let mut pair = Pair::new(config(), &[20, 30], ahead.unwrap()).spaced(ms(1) / 4);
        pair.send_file(60 * 1452);
        for (wait, forward, path, packet) in packets {
            pair.run_for(wait);
            // The ends need not agree on delivered data any more. From here on they only have to
            // continue.
            pair.tamper(if forward { Way::Forward } else { Way::Backward }, path, &packet);
        }
        pair.run_for(3_000);
    }
}
