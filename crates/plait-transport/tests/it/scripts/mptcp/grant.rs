//! The receive window by Linux' rules, compared with windows computed by hand from the kernel's
//! formulas.
//!
//! Packets have 1,528 bytes and 1,452 of payload, and take 2,284 of memory: 162 parts of 256 are
//! payload. A window of 200 such segments, 290,400 bytes, is a buffer of 290,400 · 256 / 162 =
//! 458,904 bytes of memory. Windows are multiples of 8.

use super::linux::{PAYLOAD, linux};
use crate::common::{Log, Pair, at, in_turns, ms, sent_by};
use plait_sched::{PathId, Time};
use plait_transport::ConnectionConfig;
use plait_transport::mptcp::{Config, Receiver};
use plait_transport::packet::tcp::{self, Ack, TcpSegment};
use plait_transport::packet::{Data, Packet, SegmentEcn};
use std::cell::RefCell;
use std::rc::Rc;

/// Memory of a packet.
const TAKEN: u64 = PAYLOAD + 832;
const MEMORY: u64 = 458_904;

/// A receiver to which a test delivers segments, and its acknowledgements.
struct Hand {
    receiver: Receiver,
    now: Time,
    log: Log,
}

impl Hand {
    /// Creates a receiver that acknowledges every segment.
    fn new(config: &Config, paths: usize) -> Self {
        Self::patient(&Config { ack_every: 1, ..config.clone() }, paths)
    }

    /// Creates a receiver that acknowledges as often as the configuration says.
    fn patient(config: &Config, paths: usize) -> Self {
        Self { receiver: Receiver::new(config, paths), now: Time::ZERO, log: Log::default() }
    }

    /// Delivers segment `segment` of the stream as number `number` of a subflow. Returns the
    /// acknowledgements and their paths.
    fn take(&mut self, path: u8, number: u64, segment: u64) -> Vec<(u8, Ack)> {
        self.now += ms(1);
        let data = Data { segment, bytes: PAYLOAD as u32 };
        let packet = TcpSegment {
            data,
            number,
            offset: segment * PAYLOAD,
            timestamp: 0,
            echo: 0,
            push: false,
            ack: None,
            ecn: SegmentEcn::default(),
        };
        self.receiver.handle_segment(self.now, PathId(path), &packet, &mut self.log);
        sent_by(|sink| self.receiver.transmit(sink))
            .into_iter()
            .filter_map(|(path, packet)| match packet {
                Packet::Tcp(tcp::Packet::Ack(ack)) => Some((path.0, ack)),
                _ => None,
            })
            .collect()
    }

    /// Like [`take`](Self::take), for a segment with one acknowledgement on its own subflow.
    /// Returns the window.
    fn window(&mut self, path: u8, number: u64, segment: u64) -> u64 {
        let acks = self.take(path, number, segment);
        assert_eq!(acks.len(), 1, "{acks:?}");
        assert_eq!(acks[0].0, path);
        acks[0].1.window
    }
}

fn up_to_eight(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

#[test]
fn a_subflow_begins_with_half_of_its_memory_and_opens_by_two_segments_with_each() {
    let mut hand = Hand::new(&linux(), 1);
    // The application has read nothing yet, so half of the free memory counts, without the unread
    // packet.
    assert_eq!(hand.window(0, 0, 0), up_to_eight((MEMORY - TAKEN) / 2));
    // 229,452 minus one segment of 1,476, and 2 · 1,476 more with each segment.
    let mut threshold = 229_452 - 1_476 + 2 * 1_476;
    for number in 1..200 {
        let free = (MEMORY - TAKEN) * 162 / 256;
        threshold = (threshold + 2 * 1_476).min(free);
        assert_eq!(hand.window(0, number, number), up_to_eight(threshold), "{number}");
        if threshold == free {
            return;
        }
    }
    panic!("it never opened");
}

#[test]
fn while_it_opens_no_acknowledgement_is_delayed() {
    let acks = Rc::new(RefCell::new(Vec::new()));
    let mut pair = Pair::new(linux(), &[20], in_turns()).spaced(ms(1));
    let seen = Rc::clone(&acks);
    pair.script(move |judged| {
        if let Packet::Tcp(tcp::Packet::Ack(ack)) = judged.packet {
            seen.borrow_mut().push((ack.cumulative, ack.window));
        }
        crate::common::Fate::Pass
    });
    pair.send_file(80 * PAYLOAD);
    pair.run_until(at(1_000));
    let acks = acks.borrow();
    let open = up_to_eight((MEMORY - TAKEN) * 162 / 256);
    let full = acks.iter().position(|&(_, window)| window == open).expect("the whole buffer");
    assert!(full > 16, "{full}");
    assert!(acks[..full].iter().zip(1..).all(|(&(subflow, _), number)| subflow == number));
    // After sixteen more, and without the last one, which waits for a packet that never arrives.
    let later = &acks[full + 18..acks.len() - 1];
    assert!(later.len() > 10 && later.windows(2).all(|pair| pair[1].0 - pair[0].0 == 2), "{acks:?}");
}

/// Delivers segments in order on subflow 0 until it is open, and one on subflow 1 with `second`.
/// Returns their number.
fn open(hand: &mut Hand, second: bool) -> u64 {
    for number in 0..60 {
        hand.take(0, number, number);
    }
    if second {
        hand.take(1, 0, 60);
        return 61;
    }
    60
}

#[test]
fn a_subflow_without_data_counts_as_if_half_of_its_memory_were_payload() {
    let mut hand = Hand::new(&linux(), 2);
    open(&mut hand, false);
    // Both together: rounded to 229,456, minus the unread packet.
    assert_eq!(hand.window(0, 60, 60), up_to_eight((MEMORY - TAKEN) / 2));
    hand.take(1, 0, 61);
    assert_eq!(hand.window(0, 61, 62), up_to_eight((MEMORY - TAKEN) * 162 / 256));
}

#[test]
fn what_waits_makes_windows_smaller_but_never_moves_the_edge_back() {
    let mut hand = Hand::new(&linux(), 2);
    let first = open(&mut hand, true);
    // Subflow 0 continues beyond a gap: the window shrinks by the waiting data; the edge stays.
    let before = hand.take(0, 60, first + 1)[0].1;
    for waiting in 2..100 {
        let ack = hand.take(0, 59 + waiting, first + waiting)[0].1;
        assert_eq!(ack.data, first);
        assert_eq!(ack.window_end, before.window_end, "{waiting} wait");
    }
    // The first segment arrives on the other subflow: all waiting data is in order, and is
    // acknowledged before it is read. The 99 other segments share 7 descriptors.
    let acks = hand.take(1, 1, first);
    let unread = 99 * PAYLOAD + 7 * 832 + TAKEN;
    assert_eq!(acks[0].1.data, first + 100);
    assert_eq!(acks[0].1.window, up_to_eight((MEMORY - unread) * 162 / 256));
}

/// Delivers `count` segments beyond a gap at `first` on subflow 0.
fn fill(hand: &mut Hand, first: u64, count: u64) -> Ack {
    let mut last = None;
    for waiting in 1..=count {
        last = hand.take(0, 59 + waiting, first + waiting).pop();
    }
    last.expect("each is acknowledged").1
}

#[test]
fn reading_reopens_the_window_of_subflows_that_know_only_a_small_one() {
    let mut hand = Hand::new(&linux(), 2);
    let first = open(&mut hand, true);
    fill(&mut hand, first, 195);
    let acks = hand.take(1, 1, first);
    // Before the data is read, the edge is a few segments away; afterwards there is space for twice
    // as much. Subflow 0 was granted a window that began below all waiting data, and needs no
    // update.
    let paths: Vec<u8> = acks.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, [1, 1], "{acks:?}");
    assert_eq!(acks[0].1.data, first + 196);
    // The 195 other segments share 12 descriptors; less than half is free, and is rounded down.
    let unread = 195 * PAYLOAD + 12 * 832 + TAKEN;
    assert_eq!(acks[0].1.window, (MEMORY - unread) * 162 / 256 / 8 * 8);
    // Two segments of 1,476 more than after the first segment of subflow 1.
    let threshold = 229_452 - 1_476 + 2 * 2 * 1_476;
    assert_eq!(acks[1].1.window, up_to_eight(threshold));
}

/// Returns a patient receiver whose subflows are both open, and the first missing segment of the
/// stream.
fn open_patient() -> (Hand, u64) {
    let mut hand = Hand::patient(&linux(), 2);
    for number in 0..60 {
        hand.take(0, number, 2 * number);
        hand.take(1, number, 2 * number + 1);
    }
    (hand, 120)
}

#[test]
fn an_acknowledgement_that_would_grant_less_than_the_last_one_waits_for_the_application() {
    let (mut hand, first) = open_patient();
    // Beyond a gap of the stream, but in order on their subflows; subflow 1 owes an
    // acknowledgement.
    for waiting in 1..100 {
        hand.take(0, 59 + waiting, first + waiting);
    }
    hand.take(1, 60, 220);
    assert!(hand.take(1, 61, 221).is_empty());
    // All 102 segments are unread when the missing one arrives, so that the window would be smaller
    // (`sk_rcvlowat` is 0 in `__tcp_ack_snd_check`). The subflow's acknowledgement leaves when they
    // are read.
    let acks = hand.take(1, 62, first);
    let (path, ack) = *acks.iter().find(|(path, _)| *path == 1).expect("owed");
    assert_eq!((path, ack.cumulative, ack.data), (1, 63, 222));
    assert!(ack.window > (MEMORY - 2 * TAKEN) * 162 / 256, "{ack:?}");
}

#[test]
fn an_acknowledgement_does_not_wait_if_there_is_nothing_to_read() {
    let (mut hand, first) = open_patient();
    // Each second segment is acknowledged at once, although the window shrinks by the waiting data.
    let acks = (1..100).filter(|waiting| !hand.take(0, 59 + waiting, first + waiting).is_empty());
    assert!((49..=50).contains(&acks.count()));
}

#[test]
fn what_a_filled_gap_releases_from_its_own_subflow_takes_memory_until_it_is_read() {
    let mut hand = Hand::new(&linux(), 1);
    let first = open(&mut hand, false);
    for waiting in 1..120 {
        hand.take(0, first + waiting, first + waiting);
    }
    let ack = hand.take(0, first, first)[0].1;
    assert_eq!(ack.data, first + 120);
    assert!(ack.window <= (MEMORY - 120 * PAYLOAD) * 162 / 256, "{ack:?}");
}

#[test]
fn a_subflow_holds_back_what_follows_its_gap() {
    let mut hand = Hand::new(&linux(), 2);
    // Segment 0 is lost on subflow 0, and 1 waits there. Subflow 1 brings 0: 1 is not delivered
    // before the gap of its own subflow closes.
    hand.take(0, 1, 1);
    hand.take(1, 0, 0);
    assert_eq!(hand.log.delivered.len(), 1);
    assert_eq!(hand.log.arrived.len(), 2);
    hand.take(0, 0, 0);
    assert_eq!(hand.log.delivered.len(), 2);
    assert_eq!(hand.log.duplicates.len(), 1);
}

#[test]
fn what_lies_beyond_the_edge_is_acknowledged_on_its_subflow_and_dropped() {
    let mut hand = Hand::new(&linux(), 2);
    let first = open(&mut hand, true);
    let edge = fill(&mut hand, first, 1).window_end;
    let beyond = edge / PAYLOAD;
    let ack = hand.take(1, 1, beyond)[0].1;
    assert_eq!((ack.cumulative, ack.data), (2, first));
    assert_eq!(hand.log.refused.len(), 1);
    // A segment that ends at the edge is accepted.
    hand.take(1, 2, beyond - 1);
    assert_eq!(hand.log.refused.len(), 1);
}

#[test]
fn small_segments_leave_less_of_the_memory_to_payload() {
    let config = linux();
    let small = Config { connection: ConnectionConfig { segment_bytes: 300, ..config.connection }, ..config };
    // 300 bytes are less than Linux' initial estimate of segments, so that half of the memory
    // always counts: 67 of 256 of a buffer for 300 of 1,132 bytes.
    let mut hand = Hand::new(&small, 1);
    let memory = (290_400u64 * 256).div_ceil(67);
    for number in 0..400 {
        let data = Data { segment: number, bytes: 300 };
        let packet = TcpSegment {
            data,
            number,
            offset: number * 300,
            timestamp: 0,
            echo: 0,
            push: false,
            ack: None,
            ecn: SegmentEcn::default(),
        };
        hand.receiver.handle_segment(hand.now, PathId(0), &packet, &mut hand.log);
        for (_, packet) in sent_by(|sink| hand.receiver.transmit(sink)) {
            let Packet::Tcp(tcp::Packet::Ack(ack)) = packet else { continue };
            assert!(ack.window <= (memory - 1_132) / 2 + 32, "{ack:?}");
        }
    }
}

#[test]
fn plain_tcp_never_takes_back_what_it_granted() {
    let mut hand = Hand::new(&Config { multipath: false, ..linux() }, 1);
    for number in 0..60 {
        hand.take(0, number, number);
    }
    let before = hand.take(0, 61, 61)[0].1;
    let mut last = before;
    for number in 62..180 {
        last = hand.take(0, number, number)[0].1;
        assert_eq!((last.data, last.window), (60, before.window));
    }
    assert_eq!(last.window_end, before.window_end);
    // The gap closes: before any data is read, the free memory counts. The waiting segments shared
    // 8 descriptors.
    let acks = hand.take(0, 60, 60);
    let unread = 119 * PAYLOAD + 8 * 832 + TAKEN;
    assert_eq!(acks[0].1.data, 180);
    assert_eq!(acks[0].1.window, up_to_eight((MEMORY - unread) * 162 / 256));
    // Reading does not double that: the next segment's acknowledgement advertises all the free
    // memory.
    assert_eq!(acks.len(), 1);
    assert!(hand.window(0, 180, 180) > 190 * PAYLOAD);
}
