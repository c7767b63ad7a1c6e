//! Losses on a subflow: their detection, time and cost (RFC 6675, RFC 6298, RFC 8985).

use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_transport::packet::{Packet, tcp};

const PAYLOAD: u64 = 1452;

#[test]
fn three_later_arrivals_make_a_segment_lost() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.lose_once(&[2]);
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(60));
    // The acknowledgements of 3, 4 and 5 come back together with all others, at 20 ms.
    assert_eq!(pair.log.sent_times(2), [(at(0), 0), (at(20), 0)]);
    assert_eq!(pair.log.retransmitted(), [2]);
    assert_eq!(pair.log.delivered.last(), Some(&(at(30), 9)));
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn two_later_arrivals_do_not_but_time_does() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns()).spaced(ms(1));
    pair.lose_once(&[7]);
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(200));
    // Segment 7 left at 0; 8 and 9 arrive. A round-trip time of at most 30 ms and an eighth later,
    // 7 counts as lost.
    let again = pair.log.sent_times(7)[1].0;
    assert!((at(30)..at(36)).contains(&again), "{again}");
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn duplicate_acknowledgements_grow_the_window_only_if_nothing_was_lost() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns()).spaced(ms(1));
    // Segment 4 arrives two places late: reordering without loss.
    pair.script(|judged| match judged.segment() {
        Some(4) => Fate::Late(ms(2)),
        _ => Fate::Pass,
    });
    pair.sender.write_endlessly();
    pair.run_until(at(25));
    let before = pair.path(0).cwnd;
    assert_eq!(before, 14, "0 to 3 arrived in order");
    pair.run_until(at(26));
    assert_eq!(pair.path(0).cwnd, before, "RFC 5681 section 3.2, step 1");
    pair.run_until(at(28));
    assert!(pair.path(0).cwnd > before);
    assert_eq!(pair.sender.counters().retransmissions, 0);
}

#[test]
fn the_window_is_halved_once_for_the_losses_of_a_window() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(59));
    assert_eq!(pair.path(0).cwnd, 40);
    // Of the 40 that leave at 40 ms (segments 30 to 69), five are lost.
    pair.lose_once(&[80, 85, 90, 95, 100]);
    pair.run_until(at(75));
    let before = u64::from(pair.path(0).cwnd);
    pair.run_until(at(81));
    assert_eq!(pair.log.retransmitted().len(), 5);
    // FlightSize was the window, which had grown a little until the loss was detected.
    let halved = u64::from(pair.path(0).cwnd);
    assert!((before / 2..before / 2 + 10).contains(&halved), "{before} -> {halved}");
    pair.run_until(at(99));
    assert_eq!(u64::from(pair.path(0).cwnd), halved, "once, and it does not grow before the repair ends");
    pair.run_until(at(119));
    assert_eq!(pair.log.retransmitted(), [80, 85, 90, 95, 100]);
}

#[test]
fn a_retransmission_that_is_lost_too_is_found_without_a_timeout() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.script(|judged| match judged.segment() {
        Some(4) if judged.sent_before < 2 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.sender.write_endlessly();
    pair.run_until(at(100));
    assert_eq!(pair.log.sent_times(4).len(), 3);
    assert_eq!(pair.sender.counters().timeouts, 0);
    assert_eq!(pair.sender.counters().spurious_retransmissions, 0);
}

#[test]
fn a_lost_tail_is_probed_after_two_round_trips() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.lose_once(&[9]);
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(500));
    // 0 to 8 are acknowledged at 20 ms. One segment is in flight: its acknowledgement may be
    // delayed by 200 ms.
    assert_eq!(pair.log.sent_times(9), [(at(0), 0), (at(20 + 40 + 200), 0)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
    assert_eq!(pair.log.delivered.len(), 10);
}

#[test]
fn a_probe_of_two_lost_segments_brings_the_other_back() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.lose_once(&[8, 9]);
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(500));
    assert_eq!(
        pair.log.sent_times(9),
        [(at(0), 0), (at(60), 0)],
        "two are in flight: nobody waits for a delayed one"
    );
    // The probe's acknowledgement, 20 ms later, overtakes 8, which left long ago.
    assert_eq!(pair.log.sent_times(8), [(at(0), 0), (at(80), 0)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn a_timeout_leaves_one_segment_and_slow_start() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(39));
    pair.cut(0, at(39), at(1_300));
    pair.run_until(at(1_250));
    assert!(pair.sender.counters().timeouts >= 1);
    assert_eq!((pair.path(0).cwnd, pair.path(0).in_flight), (1, 1));
    assert!(pair.path(0).in_recovery, "no new data before the losses are repaired");
    pair.run_until(at(8_000));
    assert!(!pair.path(0).in_recovery);
    let delivered = pair.log.delivered.len() as u64;
    assert!(delivered > 1_000, "{delivered}");
}

#[test]
fn the_timeout_doubles() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.script(|_| Fate::Drop);
    pair.send_file(1);
    pair.run_until(at(8_000));
    let times: Vec<_> = pair.log.sent_times(0).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [0, 1_000, 3_000, 7_000].map(at));
}

#[test]
fn a_lost_acknowledgement_costs_nothing() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    let mut count = 0;
    pair.script(move |judged| {
        count += u32::from(judged.is_sack());
        if judged.is_sack() && count % 3 == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.send_file(100 * PAYLOAD);
    pair.run_until(at(500));
    assert_eq!(pair.log.delivered.len(), 100);
    assert!(pair.log.retransmitted().is_empty());
}

#[test]
fn delayed_acknowledgements_stand_for_two_segments_and_never_wait_at_a_gap() {
    let mut config = mptcp_config();
    config.ack_every = 2;
    let mut pair = Pair::new(config, &[20], in_turns());
    let acks = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = std::rc::Rc::clone(&acks);
    pair.script(move |judged| {
        if matches!(judged.packet, Packet::Tcp(tcp::Packet::Ack(_))) {
            counted.set(counted.get() + 1);
        }
        Fate::Pass
    });
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(15));
    assert_eq!(acks.get(), 5);
    pair.lose_once(&[10]);
    pair.sender.write(5 * PAYLOAD);
    pair.run_until(at(200));
    assert_eq!(pair.log.delivered.len(), 15);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn a_reordered_segment_is_reported_as_a_duplicate_and_harms_nothing() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.script(|judged| match judged.segment() {
        Some(3) if judged.sent_before == 0 => Fate::Late(ms(25)),
        _ => Fate::Pass,
    });
    pair.send_file(40 * PAYLOAD);
    pair.run_until(at(500));
    assert_eq!(pair.log.delivered.len(), 40);
    assert_eq!(pair.sender.counters().spurious_retransmissions, 1);
}
