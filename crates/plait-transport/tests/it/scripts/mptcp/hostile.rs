//! Acknowledgements and segments that no honest peer sends.

use crate::common::{By, Pair, Way, at, in_turns, mptcp_config, ms};
use plait_sched::{Connection, Decision, Path, PathId};
use plait_transport::packet::tcp::{self, Ack, TcpSegment};
use plait_transport::packet::{Data, Packet, SegmentEcn, sctp};
use proptest::prelude::*;

#[test]
fn acknowledgements_of_what_was_never_sent_are_ignored() {
    let mut pair = Pair::new(mptcp_config(), &[20, 20], in_turns());
    pair.tampered = true;
    pair.sender.write_endlessly();
    pair.run_until(at(5));
    let in_flight = pair.path(0).in_flight;
    for (subflow, data) in [(1_000, 0), (0, 1_000), (u64::MAX, u64::MAX)] {
        let ack = Ack::new(subflow, data, 0, 0);
        pair.sender.handle_packet(at(5), PathId(0), &Packet::Tcp(tcp::Packet::Ack(ack)), &mut pair.log);
    }
    let mut ack = Ack::new(0, 0, 0, 0);
    ack.push_block(1, u64::from(u32::MAX));
    ack.push_block(50, 3);
    pair.sender.handle_packet(at(5), PathId(0), &Packet::Tcp(tcp::Packet::Ack(ack)), &mut pair.log);
    assert!(pair.path(0).in_flight <= in_flight);
    pair.run_until(at(10_000));
    assert!(pair.log.delivered.len() > 100);
}

#[test]
fn segments_absurdly_far_ahead_are_refused() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.tampered = true;
    for (segment, number) in [(u64::MAX - 1, 0), (1 << 40, 1), (0, u64::MAX - 1)] {
        let data = Data { segment, bytes: 1452 };
        let packet = Packet::Tcp(tcp::Packet::Segment(TcpSegment {
            data,
            number,
            offset: 0,
            timestamp: 0,
            echo: 0,
            push: false,
            ack: None,
            ecn: SegmentEcn::default(),
        }));
        pair.receiver.handle_packet(at(0), PathId(0), &packet, &mut pair.log);
    }
    pair.send_file(14_520);
    pair.run_until(at(5_000));
    assert!(pair.log.delivered.len() >= 9);
}

#[test]
fn packets_for_unknown_subflows_and_of_the_other_protocol_are_ignored() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.tampered = true;
    let packet = Packet::Tcp(tcp::Packet::Segment(TcpSegment {
        data: Data { segment: 0, bytes: 1 },
        number: 0,
        offset: 0,
        timestamp: 0,
        echo: 0,
        push: false,
        ack: None,
        ecn: SegmentEcn::default(),
    }));
    pair.receiver.handle_packet(at(0), PathId(7), &packet, &mut pair.log);
    pair.receiver.handle_packet(
        at(0),
        PathId(0),
        &Packet::Sctp(sctp::Packet::Data(Data { segment: 0, bytes: 1 })),
        &mut pair.log,
    );
    pair.sender.handle_packet(
        at(0),
        PathId(0),
        &Packet::Sctp(sctp::Packet::HeartbeatAck { sent_at: at(0) }),
        &mut pair.log,
    );
    assert!(pair.log.arrived.is_empty());
}

/// The scheduler assigned more than a window to the first subflow, so later segments are sent
/// before earlier ones.
#[test]
fn a_data_acknowledgement_of_what_only_waits_in_a_queue_frees_what_was_sent_before_it() {
    let ahead =
        By(|_, connection: &Connection, paths: &[Path]| match (connection.unassigned, paths[0].queued) {
            (0, _) => Decision::WAIT,
            (left, 0) if paths[0].in_flight == 0 => {
                Decision::Assign { path: paths[0].id, segments: left.min(20) as u32 }
            }
            (left, _) => Decision::Assign { path: paths[1].id, segments: left as u32 },
        });
    let mut pair = Pair::new(mptcp_config(), &[20, 20], ahead);
    pair.send_file(25 * 1452);
    pair.run_until(at(5));
    assert_eq!((pair.path(0).in_flight, pair.path(0).queued, pair.path(1).in_flight), (10, 10, 5));
    let ack = Ack::new(0, 25, 0, 0).with_window(25 * 1452, 75 * 1452);
    pair.sender.handle_packet(at(5), PathId(0), &Packet::Tcp(tcp::Packet::Ack(ack)), &mut pair.log);
    assert!(!pair.sender.is_outstanding(9));
    assert!(pair.sender.is_outstanding(10), "it was never sent, so nobody can have it");
    pair.run_until(at(10_000));
    assert_eq!(pair.log.delivered.len(), 25);
    assert!(pair.sender.is_drained());
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let number = prop_oneof![0_u64..80, any::<u64>(), Just(u64::MAX)];
    let blocks = prop::collection::vec((0_u64..60, 0_u64..60), 0..4);
    let window = prop_oneof![0_u64..200_000, any::<u64>(), Just(u64::MAX)];
    let clocks = (any::<u32>(), any::<u32>());
    prop_oneof![
        (number.clone(), number.clone(), window.clone(), clocks, prop::option::of(number.clone()), blocks)
            .prop_map(|(number, data, window, (timestamp, echo), duplicate, blocks)| {
                let mut ack = Ack::new(number, data, timestamp, echo).with_window(window, window / 3);
                ack.duplicate = duplicate;
                for (first, length) in blocks {
                    let first = number.saturating_add(first);
                    ack.push_block(first, first.saturating_add(length));
                }
                Packet::Tcp(tcp::Packet::Ack(ack))
            }),
        (
            (number.clone(), number.clone(), number.clone()),
            prop_oneof![Just(1452_u32), any::<u32>()],
            (any::<u32>(), any::<u32>())
        )
            .prop_map(|((segment, number, offset), bytes, (timestamp, echo))| {
                Packet::Tcp(tcp::Packet::Segment(TcpSegment {
                    data: Data { segment, bytes },
                    number,
                    offset,
                    timestamp,
                    echo,
                    push: timestamp % 2 == 0,
                    ack: None,
                    ecn: SegmentEcn::default(),
                }))
            }),
        any::<u32>().prop_map(|timestamp| Packet::Tcp(tcp::Packet::Syn { timestamp })),
        (any::<u32>(), any::<u32>(), window).prop_map(|(timestamp, echo, window)| Packet::Tcp(
            tcp::Packet::SynAck { timestamp, echo, window }
        )),
        number.prop_map(|nanos| Packet::Sctp(sctp::Packet::Heartbeat {
            sent_at: plait_sched::Time::from_nanos(nanos)
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary packets at any time, among honest ones: neither end panics or hangs.
    #[test]
    fn no_sequence_of_packets_panics(
        packets in prop::collection::vec((0_u64..40, any::<bool>(), 0_u8..2, any_packet()), 1..60),
        scheduler in prop::sample::select(vec!["round-robin", "daps-rounds", "redundant", "lowest-rtt"]),
        (linux, handshake, suspect) in any::<(bool, bool, bool)>(),
    ) {
        let mut config = mptcp_config();
        config.handshake = handshake;
        config.connection.potentially_failed = suspect;
        if linux {
            config.rules = plait_transport::mptcp::Rules::LINUX;
        }
        let scheduler = plait_sched::Builtin::new(scheduler, &[]).unwrap();
        let mut pair = Pair::new(config, &[20, 30], scheduler).spaced(ms(1) / 4);
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
