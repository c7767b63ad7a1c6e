//! Opening subflows: one handshake, then the joins.

use super::linux::linux;
use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_sched::{Duration, PathId, PathState};
use plait_transport::mptcp::{Config, Rules};
use plait_transport::packet::{Packet, tcp};
use std::cell::RefCell;
use std::rc::Rc;

fn opened() -> Config {
    Config { handshake: true, ..mptcp_config() }
}

#[test]
fn data_starts_one_round_trip_later_and_the_join_another() {
    let mut pair = Pair::new(opened(), &[20, 100], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(19));
    assert!(pair.log.sent.is_empty());
    assert_eq!(pair.path(0).state, PathState::Failed, "not established");
    pair.run_until(at(20));
    assert_eq!(pair.log.sent_on(0, at(0)), 10);
    assert_eq!(
        (pair.path(0).srtt, pair.path(0).state),
        (ms(20), PathState::Active),
        "the handshake tells a round trip"
    );
    pair.run_until(at(119));
    assert_eq!(pair.log.sent_on(1, at(0)), 0);
    pair.run_until(at(120));
    assert_eq!(pair.log.sent_on(1, at(0)), 10);
}

#[test]
fn any_path_can_be_the_first() {
    let config = plait_transport::mptcp::Config { initial_path: PathId(1), ..opened() };
    let mut pair = Pair::new(config, &[20, 100], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(119));
    assert_eq!((pair.log.sent_on(0, at(0)), pair.log.sent_on(1, at(0))), (0, 10));
    pair.run_until(at(120));
    assert_eq!(pair.log.sent_on(0, at(0)), 10);
}

#[test]
fn a_lost_syn_is_sent_again() {
    let mut pair = Pair::new(opened(), &[20, 20], in_turns());
    let mut lost = 0;
    pair.script(move |judged| {
        let drop = matches!(judged.packet, Packet::Tcp(tcp::Packet::Syn { .. } | tcp::Packet::SynAck { .. }))
            && lost < 3;
        lost += u32::from(drop);
        if drop { Fate::Drop } else { Fate::Pass }
    });
    pair.send_file(14_520);
    pair.run_until(at(7_019));
    assert!(pair.log.sent.is_empty(), "after 1, 2 and 4 s");
    pair.run_until(at(8_000));
    assert_eq!(pair.log.delivered.len(), 10);
    assert_eq!(pair.path(0).srtt, ms(20), "Karn: the answer to a repeated SYN tells nothing, the data does");
}

#[test]
fn a_join_that_nobody_answers_leaves_the_connection_alone() {
    let mut pair = Pair::new(opened(), &[20, 20], in_turns());
    pair.cut(1, at(0), at(1_000_000));
    pair.send_file(1_000 * 1452);
    pair.run_until(at(500_000));
    assert_eq!(pair.log.delivered.len(), 1_000);
    assert_eq!(pair.error(), None);
    assert_eq!(pair.path(1).state, PathState::Failed);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut pair = Pair::new(opened(), &[20, 20], in_turns());
    pair.script(|_| Fate::Drop);
    pair.send_file(1);
    pair.run_until(at(1_000_000));
    assert!(matches!(pair.error(), Some(plait_transport::Error::PeerUnreachable { .. })));
}

/// Returns the packets of both subflows' handshakes in the order of sending. Drops the first packet
/// of the second subflow for which `lost` is true.
fn handshakes(config: Config, lost: fn(&Packet) -> bool) -> (Vec<(usize, &'static str)>, Pair) {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut pair = Pair::new(Config { handshake: true, ..config }, &[20, 30], in_turns());
    let (packets, mut losses) = (Rc::clone(&seen), 0);
    pair.script(move |judged| {
        let name = match judged.packet {
            Packet::Tcp(tcp::Packet::Syn { .. }) => "SYN",
            Packet::Tcp(tcp::Packet::SynAck { .. }) => "SYN/ACK",
            Packet::Tcp(tcp::Packet::Confirm { .. }) => "confirm",
            _ => return Fate::Pass,
        };
        packets.borrow_mut().push((judged.path, name));
        if judged.path == 1 && losses == 0 && lost(judged.packet) {
            losses += 1;
            return Fate::Drop;
        }
        Fate::Pass
    });
    pair.send_file(100 * 1_452);
    pair.run_until(at(9_000));
    assert_eq!(pair.log.delivered.len(), 100);
    assert_eq!(pair.path(1).state, PathState::Active);
    let seen = seen.take();
    (seen, pair)
}

#[test]
fn linux_ends_a_handshake_with_a_packet_and_a_join_with_an_acknowledgement() {
    let first = [(0, "SYN"), (0, "SYN/ACK"), (0, "confirm")];
    let join = [(1, "SYN"), (1, "SYN/ACK"), (1, "confirm")];
    let (seen, _) = handshakes(linux(), |_| false);
    assert_eq!(seen, [first, join].concat());
    let (seen, _) = handshakes(mptcp_config(), |_| false);
    assert_eq!(seen, [&first[..2], &join[..2]].concat());
}

#[test]
fn whatever_of_a_join_gets_lost_is_sent_again() {
    for lost in [
        (|packet: &Packet| matches!(packet, Packet::Tcp(tcp::Packet::Syn { .. }))) as fn(&Packet) -> bool,
        |packet| matches!(packet, Packet::Tcp(tcp::Packet::SynAck { .. })),
        |packet| matches!(packet, Packet::Tcp(tcp::Packet::Confirm { .. })),
    ] {
        let (seen, pair) = handshakes(linux(), lost);
        assert!(seen.len() > 6 && pair.log.delivered.len() == 100, "{seen:?}");
        assert_eq!(
            seen.iter().filter(|(path, name)| (*path, *name) == (1, "confirm")).count() > 1,
            lost(&Packet::Tcp(tcp::Packet::Confirm { timestamp: 0 })),
            "{seen:?}"
        );
    }
}

/// Returns the times in ms of a join's confirmations if its first SYNs and the first five
/// confirmations get lost.
fn confirmations(lost_syns: usize) -> (Vec<u64>, Pair) {
    let times = Rc::new(RefCell::new(Vec::new()));
    let mut pair = Pair::new(Config { handshake: true, ..linux() }, &[20, 30], in_turns());
    let (confirmed, mut syns) = (Rc::clone(&times), 0);
    pair.script(move |judged| match judged.packet {
        Packet::Tcp(tcp::Packet::Syn { .. }) if judged.path == 1 => {
            syns += 1;
            if syns <= lost_syns { Fate::Drop } else { Fate::Pass }
        }
        Packet::Tcp(tcp::Packet::Confirm { .. }) if judged.path == 1 => {
            confirmed.borrow_mut().push(judged.now.as_nanos() / 1_000_000);
            if confirmed.borrow().len() < 6 { Fate::Drop } else { Fate::Pass }
        }
        _ => Fate::Pass,
    });
    pair.send_file(100 * 1_452);
    pair.run_until(at(9_000));
    assert_eq!(pair.path(1).state, PathState::Active);
    (times.take(), pair)
}

#[test]
fn linux_repeats_the_confirmation_of_a_join_every_two_round_trips() {
    for lost_syns in [0, 1, 2] {
        let (times, pair) = confirmations(lost_syns);
        assert_eq!(times.len(), 6, "{times:?}");
        // 60 ms, a tick of the timestamps on both sides, and two ticks of the timer wheel, without a
        // longer period each time.
        assert!(times.windows(2).all(|pair| (60..=64).contains(&(pair[1] - pair[0]))), "{times:?}");
        assert_eq!(pair.sender.counters().timeouts, lost_syns as u64);
    }
}

#[test]
fn the_acknowledgement_of_a_join_moves_the_connection_on() {
    // The first subflow's own acknowledgements are lost from 230 ms on: only the join's fourth
    // packet reports its deliveries.
    let mut pair = Pair::new(Config { handshake: true, ..linux() }, &[200, 200], in_turns());
    pair.script(|judged| {
        let own = matches!(judged.packet, Packet::Tcp(tcp::Packet::Ack(ack)) if ack.cumulative > 10)
            && judged.path == 0;
        if own { Fate::Drop } else { Fate::Pass }
    });
    pair.sender.write_endlessly();
    // Ten segments are acknowledged at 400 ms, thirty have arrived at 500. The join starts at 400,
    // and is confirmed at 600.
    pair.run_until(at(799));
    assert_eq!(pair.sender.connection().oldest_unacked.map(|oldest| oldest.segment), Some(10));
    pair.run_until(at(800));
    assert_eq!(pair.sender.connection().oldest_unacked.map(|oldest| oldest.segment), Some(30));
}

/// Sends a file over both paths by `rules`. The script controls the packets of the first path that
/// end its handshake: the confirmation, and the first transmission of each of the first two
/// segments.
fn ends(rules: Rules, confirmation: Fate, segments: [Fate; 2]) -> Pair {
    let config = Config { handshake: true, rules, ..linux() };
    let mut pair = Pair::new(config, &[20, 30], in_turns());
    pair.script(move |judged| match (judged.path, judged.packet) {
        (0, Packet::Tcp(tcp::Packet::Confirm { .. })) => confirmation,
        (0, Packet::Tcp(tcp::Packet::Segment(segment))) if judged.sent_before == 0 => {
            segments.get(segment.number as usize).copied().unwrap_or(Fate::Pass)
        }
        _ => Fate::Pass,
    });
    pair.send_file(300 * 1_452);
    pair.run_until(at(9_000));
    assert_eq!(pair.log.delivered_bytes, 300 * 1_452, "every byte arrives");
    pair
}

#[test]
fn linux_goes_on_as_tcp_if_the_second_segment_comes_first() {
    let late = Fate::Late(ms(3));
    let pair = ends(Rules::LINUX, late, [late, Fate::Pass]);
    assert!(pair.sender.fell_back());
    assert_eq!(pair.path(1).state, PathState::Failed, "nothing joins");
    assert_eq!(pair.log.sent_on(1, at(0)), 0);

    // The segments before it and the confirmation may also be lost.
    let pair = ends(Rules::LINUX, Fate::Drop, [Fate::Drop, Fate::Pass]);
    assert!(pair.sender.fell_back());
    assert_eq!(pair.log.retransmitted(), [0]);
}

#[test]
fn one_proof_is_enough() {
    for (confirmation, segments) in [
        (Fate::Pass, [Fate::Pass, Fate::Pass]),
        // The first segment also has the option.
        (Fate::Drop, [Fate::Pass, Fate::Pass]),
        (Fate::Late(ms(3)), [Fate::Pass, Fate::Pass]),
        (Fate::Pass, [Fate::Drop, Fate::Pass]),
        (Fate::Pass, [Fate::Late(ms(3)), Fate::Pass]),
    ] {
        let pair = ends(Rules::LINUX, confirmation, segments);
        assert!(!pair.sender.fell_back());
        assert_eq!(pair.path(1).state, PathState::Active);
    }
}

#[test]
fn what_is_sent_again_first_proves_or_not() {
    // The tail probe is the last segment, which is also the first one if there is only one.
    for (segments, falls_back) in [(1, false), (10, true)] {
        let config = Config { handshake: true, ..linux() };
        let mut pair = Pair::new(config, &[20, 30], in_turns());
        pair.script(|judged| match judged.packet {
            Packet::Tcp(tcp::Packet::Confirm { .. } | tcp::Packet::Segment(_))
                if judged.path == 0 && judged.now < at(30) =>
            {
                Fate::Drop
            }
            _ => Fate::Pass,
        });
        pair.send_file(segments * 1_452);
        pair.run_until(at(9_000));
        assert_eq!(pair.log.delivered.len() as u64, segments);
        assert_eq!(pair.sender.fell_back(), falls_back);
    }
}

#[test]
fn by_the_standards_rules_nothing_falls_back() {
    let late = Fate::Late(ms(3));
    let pair = ends(Rules { falls_back: false, ..Rules::LINUX }, late, [late, Fate::Pass]);
    assert!(!pair.sender.fell_back());
    assert_eq!(pair.path(1).state, PathState::Active);
}

#[test]
fn after_a_fall_back_acknowledgements_are_those_of_tcp() {
    let config = Config { handshake: true, ..linux() };
    let mut pair = Pair::new(config.clone(), &[20, 30], in_turns());
    let seen = Rc::new(RefCell::new(Vec::new()));
    let acknowledgements = Rc::clone(&seen);
    pair.script(move |judged| match judged.packet {
        Packet::Tcp(tcp::Packet::Confirm { .. }) => Fate::Drop,
        Packet::Tcp(tcp::Packet::Segment(segment))
            if [0, 2, 4, 6].contains(&segment.number) && judged.sent_before == 0 =>
        {
            Fate::Late(ms(3))
        }
        Packet::Tcp(tcp::Packet::Ack(ack)) => {
            acknowledgements
                .borrow_mut()
                .push((ack.blocks().count(), config.overhead().wire_bytes(judged.packet.by_ref())));
            Fate::Pass
        }
        _ => Fate::Pass,
    });
    pair.send_file(100 * 1_452);
    pair.run_until(at(9_000));
    assert_eq!(pair.log.delivered.len(), 100);
    let seen = seen.take();
    assert_eq!(seen[0], (1, 52 + 4 + 8));
    assert!(seen.contains(&(3, 52 + 4 + 3 * 8)), "{seen:?}");
    assert_eq!(seen.last(), Some(&(0, 52)));
}

#[test]
fn after_a_fall_back_the_connection_keeps_nothing_that_was_sent() {
    let mut config = Config { handshake: true, ..linux() };
    config.connection.send_buffer = 100 * (1_452 + 832);
    config.connection.congestion.initial_window = 1_000 * 1_452;
    config.connection.receive_window = 4_000 * 1_452;
    config.rules.grant = plait_transport::mptcp::Grant::Buffer;
    let outstanding = |late: Duration| {
        let mut pair = Pair::new(config.clone(), &[1_000, 1_000], in_turns());
        pair.script(move |judged| match judged.packet {
            Packet::Tcp(tcp::Packet::Confirm { .. }) => Fate::Late(late),
            Packet::Tcp(tcp::Packet::Segment(segment)) if segment.number == 0 && judged.sent_before == 0 => {
                Fate::Late(late)
            }
            _ => Fate::Pass,
        });
        pair.sender.write_endlessly();
        pair.run_until(at(2_900));
        assert_eq!(pair.sender.fell_back(), !late.is_zero());
        pair.sender.connection().send_buffer_left
    };
    assert!(outstanding(ms(3)) > outstanding(Duration::ZERO), "the subflow's own memory alone limits");
}
