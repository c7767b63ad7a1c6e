//! Acknowledgements and segments that no honest peer sends.

use crate::common::{Pair, at, in_turns, mptcp_config};
use plait_sched::PathId;
use plait_transport::packet::{Ack, Data, Packet, Segment};

#[test]
fn acknowledgements_of_what_was_never_sent_are_ignored() {
    let mut pair = Pair::new(mptcp_config(), &[20, 20], in_turns());
    pair.tampered = true;
    pair.sender.write_endlessly();
    pair.run_until(at(5));
    let in_flight = pair.path(0).in_flight;
    for (subflow, data) in [(1_000, 0), (0, 1_000), (u64::MAX, u64::MAX)] {
        let ack = Ack::new(subflow, data, 0, 0);
        pair.sender.handle_packet(at(5), PathId(0), &Packet::Ack(ack), &mut pair.log);
    }
    let mut ack = Ack::new(0, 0, 0, 0);
    ack.push_block(1, u64::from(u32::MAX));
    ack.push_block(50, 3);
    pair.sender.handle_packet(at(5), PathId(0), &Packet::Ack(ack), &mut pair.log);
    assert!(pair.path(0).in_flight <= in_flight);
    pair.run_until(at(10_000));
    assert!(pair.log.delivered.len() > 100);
}

#[test]
fn segments_absurdly_far_ahead_are_refused() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.tampered = true;
    for (segment, subflow) in [(u64::MAX - 1, 0), (1 << 40, 1), (0, u64::MAX - 1)] {
        let data = Data { segment, bytes: 1452 };
        let packet = Packet::Segment(Segment { data, subflow, offset: 0, timestamp: 0, echo: 0 });
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
    let packet = Packet::Segment(Segment {
        data: Data { segment: 0, bytes: 1 },
        subflow: 0,
        offset: 0,
        timestamp: 0,
        echo: 0,
    });
    pair.receiver.handle_packet(at(0), PathId(7), &packet, &mut pair.log);
    pair.receiver.handle_packet(
        at(0),
        PathId(0),
        &Packet::Data(Data { segment: 0, bytes: 1 }),
        &mut pair.log,
    );
    pair.sender.handle_packet(at(0), PathId(0), &Packet::HeartbeatAck { sent_at: at(0) }, &mut pair.log);
    assert!(pair.log.arrived.is_empty());
}
