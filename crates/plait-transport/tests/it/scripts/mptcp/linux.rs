//! Effects of Linux' rules: detection and cost of losses, times of acknowledgements, times of
//! joins.

use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_sched::PathState;
use plait_transport::congestion::{Algorithm, CongestionConfig};
use plait_transport::mptcp::{Config, Rules};
use plait_transport::packet::{Packet, tcp};
use plait_transport::rtt::{RtoConfig, RtoRule};
use plait_transport::{ConnectionConfig, mptcp};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) const PAYLOAD: u64 = 1452;

pub(super) fn linux() -> Config {
    let standard = mptcp_config();
    Config {
        connection: ConnectionConfig {
            congestion: CongestionConfig {
                algorithm: Algorithm::LinuxReno,
                own: None,
                ..standard.connection.congestion
            },
            rto: RtoConfig { min: ms(200), rule: RtoRule::Linux, ..RtoConfig::default() },
            window_in_packets: true,
            restarts_by_packet: true,
            joined_writes: true,
            ..standard.connection
        },
        ack_every: 2,
        ack_delay: ms(40),
        rules: Rules::LINUX,
        ..standard
    }
}

#[test]
fn a_lost_retransmission_needs_no_timeout() {
    let mut pair = Pair::new(linux(), &[20], in_turns()).spaced(ms(1));
    pair.script(|judged| match judged.segment() {
        Some(12) if judged.sent_before < 2 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.send_file(200 * PAYLOAD);
    pair.run_until(at(5_000));
    assert_eq!(pair.log.delivered.len(), 200);
    assert_eq!(pair.log.retransmitted(), [12, 12]);
    assert_eq!((pair.sender.counters().timeouts, pair.sender.counters().tail_probes), (0, 0));
}

#[test]
fn packets_keep_leaving_while_a_loss_is_repaired() {
    let mut pair = Pair::new(linux(), &[20], in_turns()).spaced(ms(1));
    pair.lose_once(&[30]);
    pair.sender.write_endlessly();
    pair.run_until(at(200));
    let again = pair.log.sent_times(30)[1].0;
    let during = (0..10)
        .filter(|step| {
            pair.log
                .sent
                .iter()
                .any(|(sent, _)| (again + ms(2 * step)..again + ms(2 * step + 2)).contains(sent))
        })
        .count();
    assert!(during >= 8, "of ten spans of 2 ms after the retransmission, packets left in {during}");
}

#[test]
fn the_first_acknowledgements_are_not_delayed() {
    let config = Config {
        connection: ConnectionConfig { receive_window: 1_000 * PAYLOAD, ..linux().connection },
        ..linux()
    };
    let rules = Rules { grant: mptcp::Grant::Buffer, ..Rules::LINUX };
    let acks = Rc::new(RefCell::new(Vec::new()));
    let mut pair = Pair::new(Config { rules, ..config }, &[20], in_turns()).spaced(ms(1));
    let seen = Rc::clone(&acks);
    pair.script(move |judged| {
        if let Packet::Tcp(tcp::Packet::Ack(ack)) = judged.packet {
            seen.borrow_mut().push(ack.cumulative);
        }
        Fate::Pass
    });
    pair.send_file(40 * PAYLOAD);
    pair.run_until(at(1_000));
    let expected: Vec<u64> = (1..=16).chain((18..=40).step_by(2)).collect();
    assert_eq!(*acks.borrow(), expected);
}

#[test]
fn a_join_waits_for_acknowledged_data_and_for_its_confirmation() {
    let mut pair = Pair::new(Config { handshake: true, ..linux() }, &[20, 100], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(20));
    assert_eq!(pair.log.sent_on(0, at(0)), 10);
    pair.run_until(at(239));
    assert_eq!(pair.path(1).state, PathState::Failed);
    // 20 ms for the first handshake, 20 ms for data, 100 ms for the join and 100 ms for its
    // confirmation.
    pair.run_until(at(240));
    assert_eq!(pair.path(1).state, PathState::Active);
    assert!(pair.log.sent_on(1, at(0)) > 0);
}
