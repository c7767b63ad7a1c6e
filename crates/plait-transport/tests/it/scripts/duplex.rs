//! Data in both directions of one connection.

use crate::common::{Fate, Pair, Way, at, config, in_turns, mpquic_config, mptcp_config, ms};
use plait_transport::endpoint::Config;
use plait_transport::mpquic;
use plait_transport::mptcp::{self, Rules};
use plait_transport::packet::{Packet, quic, sctp, tcp};
use std::cell::RefCell;
use std::rc::Rc;

const SEGMENT: u64 = 1452;

/// MPTCP with handshakes, by which the server learns that it may send too.
fn opened(rules: Rules) -> mptcp::Config {
    mptcp::Config { handshake: true, two_way: true, rules, ..mptcp_config() }
}

fn protocols() -> [(&'static str, Config); 6] {
    [
        ("CMT-SCTP", config().into()),
        ("MPTCP", mptcp_config().into()),
        ("MPTCP by the RFCs", opened(Rules::STANDARD).into()),
        ("MPTCP as Linux", opened(Rules::LINUX).into()),
        ("Multipath QUIC", mpquic_config().into()),
        (
            "Multipath QUIC, opened",
            mpquic::Config { handshake: true, ack_every: 2, ..mpquic_config() }.into(),
        ),
    ]
}

/// Both ends send, every 17th packet of either direction is lost, and all data arrives once.
#[test]
fn both_ends_deliver_all_they_send() {
    for (name, protocol) in protocols() {
        let mut pair = Pair::new(protocol, &[20, 60], in_turns()).spaced(ms(1));
        pair.send_file(300 * SEGMENT);
        pair.receiver.write(200 * SEGMENT);
        pair.receiver.finish();
        let mut packets = 0;
        pair.script(move |_| {
            packets += 1;
            if packets % 17 == 0 { Fate::Drop } else { Fate::Pass }
        });
        pair.run_until(at(300_000));
        assert!(pair.error().is_none(), "{name}: {:?}", pair.error());
        let delivered = [&pair.receiver, &pair.sender].map(|end| end_bytes(end.reassembly()));
        assert_eq!(delivered, [300 * SEGMENT, 200 * SEGMENT], "{name}");
        assert!(pair.sender.is_drained() && pair.receiver.is_drained(), "{name}");
        let counters = pair.receiver.counters();
        assert!(counters.retransmissions > 0, "{name}: losses of the way back were repaired");
    }
}

fn end_bytes(reassembly: &plait_transport::reassembly::Reassembly) -> u64 {
    reassembly.delivered_bytes()
}

/// An end that only receives opens no paths, sends no probes, and sends only acknowledgements.
#[test]
fn who_has_nothing_to_send_only_acknowledges() {
    for (name, protocol) in protocols() {
        let mut pair = Pair::new(protocol, &[20, 60], in_turns());
        pair.send_file(50 * SEGMENT);
        let other = Rc::new(RefCell::new(0));
        let count = Rc::clone(&other);
        pair.script(move |judged| {
            let alone = |packet: &Packet| match packet {
                Packet::Quic(quic::Packet::OneRtt(packet)) => packet.stream.is_none() && !packet.ping,
                _ => false,
            };
            let answers = alone(judged.packet)
                || matches!(
                    judged.packet,
                    Packet::Sctp(sctp::Packet::Sack(_) | sctp::Packet::HeartbeatAck { .. })
                        | Packet::Tcp(tcp::Packet::Ack(_) | tcp::Packet::SynAck { .. })
                        | Packet::Quic(quic::Packet::InitialReply { .. })
                );
            *count.borrow_mut() += u32::from(judged.way == Way::Backward && !answers);
            Fate::Pass
        });
        pair.run_until(at(600_000));
        assert_eq!((pair.log.delivered.len(), *other.borrow()), (50, 0), "{name}");
    }
}

/// RFC 9293 §3.10.4: a segment carries an acknowledgement, so a delayed one does not leave
/// separately.
#[test]
fn an_answer_carries_the_acknowledgement_of_what_it_answers() {
    let delayed = mptcp::Config { ack_every: 2, ack_delay: ms(40), ..mptcp_config() };
    let mut pair = Pair::new(delayed, &[20], in_turns());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    pair.script(move |judged| {
        match judged.packet {
            Packet::Tcp(tcp::Packet::Ack(ack)) if judged.way == Way::Backward => {
                log.borrow_mut().push(("alone", ack.data));
            }
            Packet::Tcp(tcp::Packet::Segment(segment)) if judged.way == Way::Backward => {
                log.borrow_mut().push(("riding", segment.ack.expect("a segment acknowledges").data));
            }
            _ => {}
        }
        Fate::Pass
    });
    pair.sender.write(SEGMENT);
    pair.run_until(at(10));
    assert!(seen.borrow().is_empty(), "put off");
    pair.receiver.write(2 * SEGMENT);
    pair.run_until(at(1_000));
    assert_eq!(*seen.borrow(), [("riding", 1), ("riding", 1)]);
    assert!(pair.sender.is_drained() && pair.receiver.is_drained());
    assert_eq!(pair.path(0).srtt, ms(20), "the answer came at once");
}

/// The ends' clocks are independent: each end sees the delay of the other direction with the
/// opposite offset.
#[test]
fn each_end_measures_its_own_direction() {
    let mut protocol = mptcp_config();
    protocol.clock.receiver_offset = 5_000_000_000;
    let mut pair = Pair::new(protocol, &[20], in_turns());
    pair.send_file(20 * SEGMENT);
    pair.receiver.write(20 * SEGMENT);
    pair.run_until(at(5_000));
    let forward = |end: Option<plait_transport::OneWayDelays>| end.expect("timestamps tell").forward;
    let path = plait_sched::PathId(0);
    assert_eq!(forward(pair.sender.delays(path)), 5_010_000_000);
    assert_eq!(forward(pair.receiver.delays(path)), -4_990_000_000);
}
