//! A send buffer in memory, as Linux accounts it.

use super::linux::{PAYLOAD, linux};
use crate::common::{Pair, at, in_turns, ms};
use plait_sched::{Builtin, Scheduler};
use plait_transport::mptcp::{Config, Grant, Rules};

/// Memory of a full packet.
const PACKET: u64 = PAYLOAD + 832;

/// Returns a connection with memory for a hundred full packets, windows for a thousand, and a
/// second until the first answer.
fn a_hundred_packets(rules: Rules, multipath: bool, scheduler: impl Scheduler + 'static) -> Pair {
    // Linux' first window would admit no more than 64 KiB.
    let rules = Rules { grant: Grant::Buffer, ..rules };
    let mut config = Config { rules, multipath, ..linux() };
    config.connection.send_buffer = 100 * PACKET;
    config.connection.receive_window = 4_000 * PAYLOAD;
    config.connection.congestion.initial_window = 1_000 * PAYLOAD;
    Pair::new(config, &[1_000], scheduler)
}

fn lowest_rtt() -> Builtin {
    Builtin::new("lowest-rtt", &[]).unwrap()
}

#[test]
fn a_subflow_stops_when_its_packets_take_the_buffer() {
    let mut pair = a_hundred_packets(Rules::LINUX, true, in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    // Each write of 64 KiB ends with a short packet, which takes less memory. Two writes of 46
    // packets take 207,616 bytes of 228,400.
    assert_eq!(pair.log.sent.len(), 46 + 46 + 10);
    assert!(pair.path(0).in_recovery, "to a scheduler it takes nothing");
    assert!(
        pair.sender.connection().unassigned > 0,
        "the connection's own buffer has more: it counts payload"
    );

    let payload = Rules { buffer_of_memory: false, ..Rules::LINUX };
    let mut pair = a_hundred_packets(payload, true, in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    assert_eq!(pair.log.sent.len() as u64, 100 * PACKET / PAYLOAD);
}

#[test]
fn a_run_of_segments_is_not_cut_by_memory_but_the_next_write_is() {
    // 64 KiB are 46 segments, the last one short: the third write begins at less than a hundred.
    let mut pair = a_hundred_packets(Rules::LINUX, true, lowest_rtt());
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    assert_eq!(pair.log.sent.len(), 3 * 46);
}

#[test]
fn memory_is_freed_in_order() {
    let mut pair = a_hundred_packets(Rules::LINUX, true, in_turns());
    pair.lose_once(&[0]);
    pair.sender.write_endlessly();
    pair.run_until(at(1_900));
    assert_eq!(pair.log.retransmitted(), [0]);
    assert_eq!(pair.log.sent.len(), 46 + 46 + 10 + 1, "the others were reported selectively, and stay");
    pair.run_until(at(2_500));
    assert!(pair.log.sent.len() > 150);
    assert!(!pair.path(0).in_recovery || pair.path(0).in_flight > 0);
}

#[test]
fn a_writer_that_waits_is_woken_when_a_third_is_free() {
    // Plain TCP, whose packets are the units of its buffer; each is acknowledged, one per
    // millisecond.
    let mut pair = a_hundred_packets(Rules::LINUX, false, in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.run_until(at(999));
    // The payload of a hundred full packets; each write of 64 KiB ends with a short one.
    assert_eq!(pair.log.sent.len(), 46 + 46 + 10);
    let first = (1_000..1_200)
        .find(|&millis| {
            pair.run_until(at(millis));
            pair.log.sent.len() > 102
        })
        .unwrap();
    let sent = pair.log.sent.len();
    assert_eq!(sent, 102 + 34, "34 of a hundred are acknowledged");
    assert!(first >= 1_030, "{first}");
}

#[test]
fn the_last_short_segment_leaves_with_the_others() {
    let mut pair = a_hundred_packets(Rules::LINUX, true, in_turns());
    pair.send_file(45 * PAYLOAD + 100);
    pair.run_until(at(100));
    assert_eq!(pair.log.sent.len(), 46);
}

#[test]
fn packets_end_where_writes_end_and_grow_where_they_wait() {
    let mut pair = Pair::new(linux(), &[200], Builtin::new("linux-default", &[]).unwrap());
    for _ in 0..15 {
        pair.sender.write(1_000);
        pair.run_until(at(0));
    }
    pair.run_until(at(199));
    let sizes = |pair: &Pair| pair.log.sent.iter().map(|(_, sent)| sent.bytes).collect::<Vec<_>>();
    assert_eq!(sizes(&pair), [1_000; 10], "ten packets fill the congestion window");
    pair.run_until(at(399));
    let whole = PAYLOAD as u32;
    assert_eq!(sizes(&pair)[10..], [whole, whole, whole, 5_000 - 3 * whole]);
}

/// An application that blocks in `connect` writes its messages one by one afterwards, while the
/// first window has space. Later ones are merged.
#[test]
fn writes_before_the_connection_is_open_leave_one_by_one() {
    let bytes = |handshake: bool| {
        let mut pair = Pair::new(Config { handshake, ..linux() }, &[20, 20], lowest_rtt());
        (0..20).for_each(|_| pair.sender.write(PAYLOAD + 300));
        pair.run_until(at(39));
        pair.log.sent.iter().map(|(_, sent)| u64::from(sent.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(bytes(true), [PAYLOAD, 300].repeat(5));
    assert_eq!(bytes(false)[..3], [PAYLOAD; 3]);
}
