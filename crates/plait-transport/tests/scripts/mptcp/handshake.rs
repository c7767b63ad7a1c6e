//! Opening subflows: one handshake, then the joins.

use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_sched::{PathId, PathState};
use plait_transport::packet::Packet;

fn opened() -> plait_transport::mptcp::Config {
    plait_transport::mptcp::Config { handshake: true, ..mptcp_config() }
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
        let drop = matches!(judged.packet, Packet::Syn { .. } | Packet::SynAck { .. }) && lost < 3;
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
