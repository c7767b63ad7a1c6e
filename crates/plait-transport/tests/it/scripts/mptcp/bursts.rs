//! Linux' behaviour at the beginning and at the end of a burst, and its early reports.

use super::linux::{PAYLOAD, linux};
use crate::common::{By, Fate, Log, Pair, at, by_key, in_turns, mptcp_config, ms, sent_by};
use plait_sched::{Connection, Decision, Path, PathId, Time};
use plait_transport::ConnectionConfig;
use plait_transport::mptcp::{Config, Receiver};
use plait_transport::packet::tcp::{self, Ack, TcpSegment};
use plait_transport::packet::{Data, Packet, SegmentEcn};
use std::cell::RefCell;
use std::rc::Rc;

const BEGIN: Time = Time::from_nanos(100_000_000);

/// Returns a receiver that delays acknowledgements, and the number of the next segment. All earlier
/// segments are acknowledged.
fn settled() -> (Receiver, Log, u64) {
    let (mut receiver, mut log) = (Receiver::new(&linux(), 1), Log::default());
    let next = settle(&mut receiver, &mut log);
    (receiver, log, next)
}

fn settle(receiver: &mut Receiver, log: &mut Log) -> u64 {
    let mut next = 0;
    while take(receiver, log, next, false).is_empty() || next < 400 {
        next += 1;
    }
    next + 1
}

/// Delivers a segment. Returns the acknowledgements that leave at once.
fn take(receiver: &mut Receiver, log: &mut Log, number: u64, push: bool) -> Vec<Ack> {
    take_at(receiver, log, number, push, BEGIN + ms(number))
}

fn take_at(receiver: &mut Receiver, log: &mut Log, number: u64, push: bool, now: Time) -> Vec<Ack> {
    let data = Data { segment: number, bytes: PAYLOAD as u32 };
    let segment = TcpSegment {
        data,
        number,
        offset: number * PAYLOAD,
        timestamp: 0,
        echo: 0,
        push,
        ack: None,
        ecn: SegmentEcn::default(),
    };
    receiver.handle_segment(now, PathId(0), &segment, log);
    let sent = sent_by(|sink| receiver.transmit(sink)).into_iter();
    sent.filter_map(
        |(_, packet)| if let Packet::Tcp(tcp::Packet::Ack(ack)) = packet { Some(ack) } else { None },
    )
    .collect()
}

#[test]
fn what_was_put_off_is_reported_before_another_run_would_hide_it() {
    let (mut receiver, mut log, next) = settled();
    let mut take = |number| take(&mut receiver, &mut log, next + number, false);
    // 0 is missing. The first segment beyond it opens the window a last time, and three more are
    // acknowledged at once. Later acknowledgements are compressed.
    assert_eq!([1, 2, 5, 6].map(|number| take(number).len()), [1, 1, 1, 1]);
    assert_eq!(take(7).len(), 0);
    // There is space for one run: 7 would never be reported.
    let acks = take(10);
    assert_eq!(acks.len(), 1);
    assert_eq!(acks[0].blocks().collect::<Vec<_>>(), [(next + 5, next + 7)]);
    // A segment that extends one of the two newest runs hides nothing.
    assert_eq!([11, 8].map(|number| take(number).len()), [0, 0]);
    assert_eq!(take(13)[0].blocks().next(), Some((next + 5, next + 8)));
    // The acknowledgement caused by 13 was also its own: the next one reports only 15.
    assert_eq!(take(15).len(), 0);
    assert_eq!(take(17)[0].blocks().collect::<Vec<_>>(), [(next + 15, next + 15)]);
}

#[test]
fn the_end_of_a_burst_is_acknowledged_as_soon_as_everything_is_read() {
    let (mut receiver, mut log, next) = settled();
    let mut take = |number, push| take(&mut receiver, &mut log, next + number, push).len();
    assert_eq!([take(0, false), take(1, false)], [0, 1]);
    assert_eq!([take(2, true), take(3, true)], [1, 1]);
}

/// A pause is longer than the receiver's own retransmission timeout: 1 s, or the value from a
/// handshake's round-trip time.
#[test]
fn a_gap_that_is_long_in_being_filled_is_a_pause() {
    // Returns the number of acknowledgements for six segments after a gap that was filled `wait` ms
    // after the segment before it.
    let after = |mut receiver: Receiver, wait: u64| {
        let mut log = Log::default();
        let first = settle(&mut receiver, &mut log);
        let last = BEGIN + ms(first - 1);
        let mut take = |number: u64, after: u64| {
            take_at(&mut receiver, &mut log, first + number, false, last + ms(after)).len()
        };
        // Segments beyond the gap do not end the pause.
        (1..=5).for_each(|number| _ = take(number, number * wait / 6));
        take(0, wait);
        (6..12).map(|number| take(number, wait + number)).sum::<usize>()
    };
    assert_eq!([950, 1_050].map(|wait| after(Receiver::new(&linux(), 1), wait)), [3, 6]);
    let opened = || {
        let mut receiver = Receiver::new(&linux(), 1);
        receiver.handle_syn(at(0), PathId(0), 0);
        sent_by(|sink| receiver.transmit(sink));
        receiver.handle_confirmation(at(60), PathId(0));
        sent_by(|sink| receiver.transmit(sink));
        receiver
    };
    // 60 ms and at least 200.
    assert_eq!([250, 270].map(|wait| after(opened(), wait)), [3, 6]);
}

/// Plain TCP's application writes 64 KiB at a time, all before the first acknowledgement advertises
/// more than the SYN/ACK did.
#[test]
fn plain_tcp_marks_what_ends_half_a_window_of_writing() {
    let marks = Rc::new(RefCell::new(Vec::new()));
    let mut pair = Pair::new(Config { multipath: false, ..linux() }, &[20], in_turns()).spaced(ms(1));
    let seen = Rc::clone(&marks);
    pair.script(move |judged| {
        if let Packet::Tcp(tcp::Packet::Segment(TcpSegment { data, push: true, .. })) = judged.packet {
            seen.borrow_mut().push(data.segment);
        }
        Fate::Pass
    });
    pair.send_file(150 * PAYLOAD);
    pair.run_until(at(1_000));
    // 22 * 1452 bytes are less than 65,535 / 2, 23 are more; equally beyond 65,536 and 131,072. The
    // last mark is at the file's end.
    assert_eq!(*marks.borrow(), [22, 67, 112, 149]);
}

#[test]
fn the_last_segment_of_a_burst_is_marked() {
    let marks = |config: Config, paths: &[u64]| {
        let marks = Rc::new(RefCell::new(Vec::new()));
        let mut pair = Pair::new(config, paths, in_turns());
        let seen = Rc::clone(&marks);
        pair.script(move |judged| {
            if let Packet::Tcp(tcp::Packet::Segment(segment)) = judged.packet {
                seen.borrow_mut().push(segment.push);
            }
            Fate::Pass
        });
        pair.sender.write_endlessly();
        pair.run_until(at(0));
        marks.take()
    };
    let one = marks(linux(), &[20]);
    assert_eq!(one.iter().position(|&push| push), Some(one.len() - 1));
    // In turns, every burst is one segment long.
    assert!(marks(linux(), &[20, 20]).iter().all(|&push| push));
    assert!(marks(mptcp_config(), &[20, 20]).iter().all(|&push| !push));
}

#[test]
fn the_first_burst_after_a_pause_begins_with_the_initial_window() {
    let mut pair = Pair::new(linux(), &[20], in_turns()).spaced(ms(1));
    pair.sender.write(150 * PAYLOAD);
    pair.run_until(at(2_000));
    let before = pair.window(0);
    assert!(before > 40, "{before}");
    pair.sender.write(150 * PAYLOAD);
    // The timeout is a round-trip time and 200 ms. The window is halved fewer times than there are
    // packets.
    pair.run_until(at(2_001));
    assert_eq!(pair.log.sent_on(0, at(2_000)), 10);
}

#[test]
fn a_subflow_carries_no_more_than_the_window_that_it_was_told() {
    let config = linux();
    let connection = ConnectionConfig { receive_window: 60 * PAYLOAD, ..config.connection };
    // Data of the slow path is acknowledged to the connection over the fast one long before it is
    // acknowledged on its own.
    let mut pair =
        Pair::new(Config { connection, ..config }, &[20, 400], by_key(|path| u64::from(path.in_flight)));
    pair.sender.write_endlessly();
    let mut most = 0;
    for millis in 0..20_000 {
        pair.run_until(at(millis));
        most = most.max(pair.path(1).in_flight);
    }
    assert!((40..=61).contains(&most), "{most}");
}

/// Several penalties between two acknowledgements count as one, which is due with the second
/// acknowledgement.
#[test]
fn a_penalty_waits_for_the_next_acknowledgement_and_counts_once() {
    let mut penalties = 0;
    let demanding = By(move |now: Time, connection: &Connection, paths: &[Path]| {
        let open = paths[0].is_open() && connection.sendable() > 0;
        if now >= at(500) && penalties < 5 {
            penalties += 1;
            Decision::Penalize { path: PathId(0) }
        } else if open {
            Decision::Assign { path: PathId(0), segments: 1 }
        } else {
            Decision::WAIT
        }
    });
    let mut pair = Pair::new(linux(), &[20], demanding);
    pair.sender.write_endlessly();
    let mut windows = Vec::new();
    for millis in 480..560 {
        pair.run_until(at(millis));
        windows.push(u64::from(pair.path(0).cwnd));
    }
    let smaller: Vec<_> = windows.windows(2).filter(|pair| pair[1] < pair[0]).collect();
    assert_eq!(smaller.len(), 1, "{windows:?}");
    assert!(smaller[0][1] >= smaller[0][0] / 2, "{windows:?}");
}

#[test]
fn what_is_queued_leaves_before_the_copies_that_the_scheduler_wants() {
    let mut wanted = true;
    let ahead = By(move |_, connection: &Connection, paths: &[Path]| match connection.unassigned {
        40 => Decision::Assign { path: PathId(1), segments: 1 },
        39 if paths[1].in_flight == 0 => Decision::WAIT,
        39 => Decision::Assign { path: PathId(0), segments: 39 },
        _ if core::mem::take(&mut wanted) => Decision::Reinject { path: PathId(0), segment: 0 },
        _ => Decision::WAIT,
    });
    let sent = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&sent);
    let mut pair = Pair::new(Config { handshake: false, ..linux() }, &[20, 400], ahead);
    pair.script(move |judged| {
        if let (0, Packet::Tcp(tcp::Packet::Segment(segment))) = (judged.path, judged.packet) {
            seen.borrow_mut().push(segment.data.segment);
        }
        Fate::Pass
    });
    pair.send_file(40 * PAYLOAD);
    pair.run_until(at(300));
    let sent = sent.borrow();
    let copy = sent.iter().position(|&segment| segment == 0).expect("the copy leaves");
    assert_eq!((copy, sent.len()), (39, 40), "{sent:?}");
}
