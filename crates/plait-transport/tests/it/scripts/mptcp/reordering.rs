//! Late packets, under the rules of Linux and by the RFCs: tolerated delay, learning from a
//! needless retransmission, and undone reductions.
//!
//! One path of 100 ms, a packet per millisecond, sixty in flight: so the round-trip time is
//! constant. The window for reordering is a quarter of it, 25 ms, and two more for the timer.

use super::linux::linux;
use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_transport::ConnectionConfig;
use plait_transport::mptcp::{Config, Grant, Rules};
use plait_transport::packet::{Packet, tcp};

const PAYLOAD: u64 = 1452;
const IN_FLIGHT: u64 = 60;

fn config() -> Config {
    let linux = linux();
    let connection = ConnectionConfig { receive_window: IN_FLIGHT * PAYLOAD, ..linux.connection };
    let rules = Rules { grant: Grant::Buffer, ..Rules::LINUX };
    Config { connection, rules, multipath: false, ..linux }
}

/// Returns the same configuration by the RFCs.
fn standard() -> Config {
    let standard = mptcp_config();
    let connection = ConnectionConfig { receive_window: IN_FLIGHT * PAYLOAD, ..standard.connection };
    Config { connection, multipath: false, ..standard }
}

/// Delays the first transmission of each segment by so many milliseconds.
fn late(segments: &'static [(u64, u64)]) -> Pair {
    late_with(config(), segments)
}

fn late_with(config: Config, segments: &'static [(u64, u64)]) -> Pair {
    let mut pair = Pair::new(config, &[100], in_turns()).spaced(ms(1));
    pair.script(|judged| {
        let late = segments.iter().find(|(segment, _)| judged.segment() == Some(*segment));
        match late {
            Some((_, millis)) if judged.sent_before == 0 => Fate::Late(ms(*millis)),
            _ => Fate::Pass,
        }
    });
    pair.sender.write_endlessly();
    pair
}

#[test]
fn the_first_late_packet_is_retransmitted_at_once_and_teaches() {
    let mut pair = late(&[(300, 10), (500, 20)]);
    pair.run_until(at(2_000));
    assert_eq!(pair.log.retransmitted(), [300], "three later ones, and no reordering known");
    assert!(pair.sender.counters().reorderings >= 2);
}

#[test]
fn a_quarter_of_a_round_trip_is_waited_for_and_no_more() {
    let mut pair = late(&[(300, 2), (500, 24), (700, 35)]);
    pair.run_until(at(2_500));
    assert_eq!(
        pair.log.retransmitted(),
        [700],
        "two packets late tell of reordering without a retransmission"
    );
}

#[test]
fn duplicates_widen_the_window_by_another_quarter() {
    let mut pair = late(&[(300, 2), (500, 35), (700, 45), (900, 60)]);
    pair.run_until(at(3_000));
    assert_eq!(pair.log.retransmitted(), [500, 900], "50 ms after the first duplicate");
}

#[test]
fn a_needless_reduction_is_taken_back() {
    let mut pair = late(&[(300, 10)]);
    pair.run_until(at(400));
    let before = pair.window(0);
    pair.run_until(at(2_000));
    let counters = pair.sender.counters();
    assert_eq!((pair.log.retransmitted(), counters.undone_reductions), (vec![300], 1));
    assert!(pair.window(0) >= before, "{} of {before}", pair.window(0));
}

#[test]
fn a_true_loss_is_not_taken_back() {
    let mut pair = Pair::new(config(), &[100], in_turns()).spaced(ms(1));
    pair.lose_once(&[300]);
    pair.sender.write_endlessly();
    pair.run_until(at(400));
    let before = pair.window(0);
    pair.run_until(at(1_000));
    let counters = pair.sender.counters();
    assert_eq!((pair.log.retransmitted(), counters.undone_reductions), (vec![300], 0));
    assert!(pair.window(0) < before, "{} of {before}", pair.window(0));
}

/// Nothing comes back for longer than the timeout, and then all packets in flight.
#[test]
fn a_timeout_that_was_needless_repeats_one_segment() {
    let mut pair = Pair::new(config(), &[100], in_turns()).spaced(ms(1));
    pair.script(|judged| {
        let late = if judged.now < at(1_100) { 600 } else { 500 };
        let held = (at(1_000)..at(1_650)).contains(&judged.now) && judged.segment().is_some();
        if held { Fate::Late(ms(late)) } else { Fate::Pass }
    });
    pair.sender.write_endlessly();
    pair.run_until(at(1_000));
    let before = pair.window(0);
    pair.run_until(at(4_000));
    let counters = pair.sender.counters();
    assert!(counters.timeouts >= 1, "the spike is longer than the timeout");
    assert_eq!(counters.undone_reductions, 1, "{counters:?}");
    let again = pair.log.retransmitted().len() as u64;
    assert!(again <= counters.timeouts + counters.tail_probes + 1, "{again} sent again: {counters:?}");
    assert!(pair.window(0) >= before);
}

/// PAWS: a packet that left before a retransmission and arrives after it has an older timestamp,
/// and is rejected.
#[test]
fn what_a_retransmission_overtakes_is_lost() {
    let mut pair = Pair::new(config(), &[100], in_turns()).spaced(ms(1));
    pair.script(|judged| match judged.segment() {
        Some(300) if judged.sent_before == 0 => Fate::Drop,
        // The last segment that left before the retransmission of 300 is so late that the
        // retransmission overtakes it.
        Some(359) if judged.sent_before == 0 => Fate::Late(ms(10)),
        _ => Fate::Pass,
    });
    pair.sender.write_endlessly();
    pair.run_until(at(2_000));
    let rejected: Vec<u64> = pair.log.refused.iter().map(|(_, segment)| *segment).collect();
    assert_eq!(rejected, [359]);
    assert_eq!(pair.log.retransmitted(), [300, 359], "so it is sent again as well");
    assert!(pair.log.delivered.len() > 1_000);
}

/// The receiver names the duplicate segment, and only retransmissions of this sender count.
#[test]
fn invented_duplicates_take_nothing_back() {
    let mut pair = Pair::new(config(), &[100], in_turns()).spaced(ms(1));
    pair.lose_once(&[300]);
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    let before = pair.sender.counters().undone_reductions;
    pair.tampered = true;
    for number in 0..300 {
        let mut ack = plait_transport::packet::tcp::Ack::new(300, 300, 0, 0);
        ack.duplicate = Some(number);
        pair.sender.handle_packet(
            pair.now,
            plait_sched::PathId(0),
            &Packet::Tcp(tcp::Packet::Ack(ack)),
            &mut pair.log,
        );
    }
    assert_eq!(pair.sender.counters().undone_reductions, before);
}

#[test]
fn by_the_rfcs_too_a_needless_reduction_is_taken_back_and_teaches() {
    let mut pair = late_with(standard(), &[(300, 10), (500, 20)]);
    pair.run_until(at(400));
    let before = pair.window(0);
    pair.run_until(at(2_000));
    let counters = pair.sender.counters();
    assert_eq!((pair.log.retransmitted(), counters.undone_reductions), (vec![300], 1), "{counters:?}");
    assert!(pair.window(0) >= before, "{} of {before}", pair.window(0));
}

#[test]
fn by_the_rfcs_too_a_true_loss_is_not_taken_back() {
    let mut pair = Pair::new(standard(), &[100], in_turns()).spaced(ms(1));
    pair.lose_once(&[300]);
    pair.sender.write_endlessly();
    pair.run_until(at(400));
    let before = pair.window(0);
    pair.run_until(at(800));
    assert_eq!((pair.log.retransmitted(), pair.sender.counters().undone_reductions), (vec![300], 0));
    assert!(pair.window(0) < before, "{} of {before}", pair.window(0));
}
