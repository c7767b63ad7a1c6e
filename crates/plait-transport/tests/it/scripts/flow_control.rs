//! The receiver's window: tiny buffers, closed windows, both accounting rules.

use crate::common::{By, COUNTED, Fate, Log, Pair, at, config, in_turns, ms, segments};
use plait_sched::{Connection, Decision, Path, PathId, Time};
use plait_transport::cmt_sctp::{Config, Receiver, WindowAccounting};
use plait_transport::packet::sctp::{self, Sack};
use plait_transport::packet::{Data, Packet};

fn with_buffer(bytes: u64, accounting: WindowAccounting) -> Config {
    let mut config = config();
    config.connection.receive_window = bytes;
    config.accounting = accounting;
    config
}

/// Sends a file over two unequal paths through a small buffer, with occasional losses.
fn through(bytes: u64, accounting: WindowAccounting) -> Pair {
    let mut pair = Pair::new(with_buffer(bytes, accounting), &[20, 150], in_turns()).spaced(ms(1));
    pair.send_file(400 * 1452);
    let mut packets = 0;
    pair.script(move |_| {
        packets += 1;
        if packets % 23 == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(1_000_000));
    assert!(pair.error().is_none(), "{:?}", pair.error());
    assert_eq!(pair.log.delivered.len(), 400, "through a buffer of {bytes} B");
    assert!(pair.log.states.is_empty(), "a closed window is no failure of a path");
    pair
}

#[test]
fn tiny_buffers_are_enough_to_get_through_in_both_accountings() {
    for accounting in [WindowAccounting::Buffer, WindowAccounting::Outstanding] {
        for bytes in [COUNTED, COUNTED + 1, segments(2) - 1, segments(2), segments(3), segments(10)] {
            through(bytes, accounting);
        }
    }
}

#[test]
fn the_buffer_never_holds_more_than_its_size() {
    for buffer in [2, 3, 10, 30] {
        let pair = through(segments(buffer), WindowAccounting::Buffer);
        assert!(pair.log.most_buffered <= segments(buffer));
        assert!(pair.log.refused.is_empty(), "the sender never overruns the window: {:?}", pair.log.refused);
    }
}

#[test]
fn without_charging_it_buffered_data_exceeds_the_window_but_what_is_outstanding_does_not() {
    let config = with_buffer(segments(10), WindowAccounting::Outstanding);
    let mut pair = Pair::new(config, &[10, 400], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    let mut most = 0;
    for millis in 0..5_000 {
        pair.run_until(at(millis));
        most = most.max(pair.sender.paths().iter().map(|path| path.in_flight).sum());
    }
    assert_eq!(most, 10);
    assert!(pair.log.most_buffered > segments(10), "{}", pair.log.most_buffered);
}

#[test]
fn a_full_buffer_stops_the_fast_path_until_the_gap_is_filled() {
    let mut pair = Pair::new(with_buffer(segments(10), WindowAccounting::Buffer), &[20, 400], in_turns());
    pair.sender.write_endlessly();
    // Path 1 has 1, 3 and 5 in flight. Path 0 can have 0, 2, 4 and 6 to 12: seven wait, and three
    // are outstanding.
    pair.run_until(at(190));
    assert_eq!(pair.receiver.reassembly().next_expected(), 1);
    assert_eq!(pair.sender.connection().window_left, 0);
    assert_eq!(pair.receiver.reassembly().free(), segments(3));
    let stopped = pair.log.sent.len();
    pair.run_until(at(199));
    assert_eq!(pair.log.sent.len(), stopped);
    pair.run_until(at(420));
    assert!(pair.log.sent.len() > stopped);
}

#[test]
fn a_closed_window_is_probed_with_one_segment() {
    // The receiver claims that it has no space at all.
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.handle_packet(
        Time::ZERO,
        PathId(0),
        &Packet::Sctp(sctp::Packet::Sack(Sack::new(0, 0, 1))),
        &mut (),
    );
    pair.sender.write(5 * 1452);
    pair.run_until(at(5));
    assert_eq!(pair.log.sent.len(), 1);
    pair.run_until(at(100));
    assert_eq!(pair.log.delivered.len(), 5, "the answer to the probe opened the window");
}

#[test]
fn a_segment_without_room_is_refused_unless_it_is_the_awaited_one() {
    let data = |segment| Data { segment, bytes: 1452 };
    let arrivals = |accounting| {
        let mut receiver = Receiver::new(&with_buffer(segments(2), accounting));
        let mut log = Log::default();
        for segment in [1, 3, 4, 0] {
            receiver.handle_data(at(0), PathId(0), &data(segment), &mut log);
        }
        let refused: Vec<u64> = log.refused.iter().map(|(_, segment)| *segment).collect();
        (refused, log.delivered.len(), receiver.reassembly().waiting().len())
    };
    assert_eq!(arrivals(WindowAccounting::Buffer), (vec![4], 2, 1));
    assert_eq!(arrivals(WindowAccounting::Outstanding), (vec![], 2, 2), "its window does not promise room");
}

#[test]
fn an_older_acknowledgement_does_not_close_the_window() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.send_file(100 * 1452);
    pair.run_until(at(30));
    let before = pair.sender.connection().window_left;
    assert!(before > 1_000);
    pair.sender.handle_packet(
        at(30),
        PathId(0),
        &Packet::Sctp(sctp::Packet::Sack(Sack::new(0, 0, 1))),
        &mut (),
    );
    assert_eq!(pair.sender.connection().window_left, before);
}

#[test]
fn a_window_update_that_was_overtaken_does_not_open_the_window() {
    // An acknowledgement from before the buffer was full arrives late: same cumulative number,
    // larger window.
    let mut pair =
        Pair::new(with_buffer(segments(6), WindowAccounting::Buffer), &[20, 400], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    let mut sacks = 0;
    pair.script(move |judged| {
        sacks += u32::from(judged.is_sack());
        if judged.is_sack() && sacks == 2 { Fate::Late(ms(100)) } else { Fate::Pass }
    });
    pair.run_until(at(5_000));
    assert!(pair.log.refused.is_empty());
    assert!(pair.log.most_buffered <= segments(6));
}

/// Segment `low` was recalled while a later one waits on the other path and the window is closed.
/// The next segment that the receiver needs must still leave.
#[test]
fn a_recalled_segment_that_the_receiver_waits_for_passes_a_closed_window() {
    let mut turn = 0;
    let scheduler = By(move |_, connection: &Connection, paths: &[Path]| {
        turn += 1;
        match turn {
            // 0–2 leave on path 0 and 3 waits there; 4–6 leave on path 1, more wait behind them.
            1 => Decision::Assign { path: PathId(0), segments: 4 },
            2 => Decision::Assign { path: PathId(1), segments: 8 },
            _ if paths[0].queued > 0 && connection.window_left == 0 => Decision::Recall { path: PathId(0) },
            _ if paths[1].is_open() && connection.sendable() > 0 => {
                Decision::Assign { path: PathId(1), segments: 1 }
            }
            _ => Decision::WAIT,
        }
    });
    let mut pair = Pair::new(with_buffer(segments(6), WindowAccounting::Buffer), &[500, 20], scheduler);
    pair.send_file(20 * 1452);
    pair.run_until(at(60_000));
    assert!(pair.error().is_none(), "{:?}", pair.error());
    assert_eq!(pair.log.delivered.len(), 20);
}

/// The later segment leaves as a window probe before the recalled segment `low` is assigned. The
/// probe is refused and retransmitted repeatedly, and stays outstanding all the time.
#[test]
fn a_refused_segment_does_not_keep_the_awaited_one_back() {
    let mut turn = 0;
    let scheduler = By(move |now: Time, connection: &Connection, paths: &[Path]| {
        turn += 1;
        match turn {
            1 => Decision::Assign { path: PathId(0), segments: 4 },
            2 => Decision::Assign { path: PathId(1), segments: 8 },
            3 => Decision::Recall { path: PathId(0) },
            _ if now < at(2_500) => Decision::Wait { until: Some(at(2_500)) },
            _ if paths[1].is_usable() && connection.sendable() > 0 => {
                Decision::Assign { path: PathId(1), segments: 1 }
            }
            _ => Decision::WAIT,
        }
    });
    let mut pair = Pair::new(with_buffer(segments(6), WindowAccounting::Buffer), &[500, 20], scheduler);
    pair.send_file(20 * 1452);
    pair.run_until(at(2_400));
    assert!(!pair.log.refused.is_empty(), "the probe found no room");
    pair.run_until(at(60_000));
    assert!(pair.error().is_none(), "{:?}", pair.error());
    assert_eq!(pair.log.delivered.len(), 20);
}

#[test]
fn what_is_assigned_ahead_leaves_only_as_the_window_admits() {
    let ahead = By(|_, connection: &Connection, paths: &[Path]| match connection.unassigned.min(50) {
        some if some > 0 && paths[0].queued == 0 => {
            Decision::Assign { path: PathId(0), segments: some as u32 }
        }
        _ => Decision::WAIT,
    });
    let mut config = with_buffer(segments(5), WindowAccounting::Outstanding);
    config.connection.congestion.initial_window = segments(100);
    let mut pair = Pair::new(config, &[20], ahead);
    pair.send_file(200 * 1452);
    for millis in 0..900 {
        pair.run_until(at(millis));
        assert!(pair.path(0).in_flight <= 5);
    }
    assert_eq!(pair.log.delivered.len(), 200, "five per round trip");
}

#[test]
fn the_window_opens_with_each_advance_although_gaps_remain() {
    // Segment 100 nearly fills the buffer behind it. After that each fifth segment is late: there
    // is always a gap, and it moves.
    let mut config = with_buffer(segments(400), WindowAccounting::Buffer);
    config.fast_retransmit_threshold = 255;
    config.connection.congestion.initial_window = segments(40);
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.script(|judged| match judged.segment() {
        Some(100) => Fate::Late(ms(370)),
        Some(segment) if segment % 5 == 0 => Fate::Late(ms(30)),
        _ => Fate::Pass,
    });
    pair.run_until(at(10_000));
    // The pipe carries one packet per millisecond.
    let delivered = pair.log.delivered.len();
    assert!(delivered > 9_000, "{delivered}");
}
