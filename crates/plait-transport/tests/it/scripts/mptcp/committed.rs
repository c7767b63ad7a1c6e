//! By Linux' rules a subflow keeps its assigned segments although its own window is closed.

use super::linux::{PAYLOAD, linux};
use crate::common::{By, Log, at, ms, sent_by};
use plait_sched::{Connection, Decision, Path, PathId, Scheduler, Time};
use plait_transport::PathConfig;
use plait_transport::endpoint::{Endpoint, Side};
use plait_transport::packet::Packet;
use plait_transport::packet::tcp::{self, Ack, TcpSegment};
use std::cell::Cell;
use std::rc::Rc;

const OTHER: PathId = PathId(0);
const SHUT: PathId = PathId(1);

struct Hand<S> {
    sender: Endpoint<S>,
    log: Log,
    /// True to request a recall of the second path's queue.
    recall: Rc<Cell<bool>>,
}

impl<S: Scheduler> Hand<S> {
    /// Returns the segments that leave on the second path now.
    fn sent(&mut self, now: Time) -> Vec<TcpSegment> {
        let packets = sent_by(|sink| self.sender.transmit(now, sink, &mut self.log).expect("no fault"));
        let segment = |packet| match packet {
            (SHUT, Packet::Tcp(tcp::Packet::Segment(segment))) => Some(segment),
            _ => None,
        };
        packets.into_iter().filter_map(segment).collect()
    }

    /// Delivers an acknowledgement on `path` with these numbers of received segments of the subflow
    /// and of the stream, and a window of `window` segments.
    fn told(&mut self, now: Time, path: PathId, (subflow, data): (u64, u64), window: u64, echo: u32) {
        let ack = Ack::new(subflow, data, 0, echo).with_window(data * PAYLOAD, window * PAYLOAD);
        self.sender.handle_packet(now, path, &Packet::Tcp(tcp::Packet::Ack(ack)), &mut self.log);
    }
}

fn numbers(segments: &[TcpSegment]) -> Vec<(u64, u64, u32)> {
    segments.iter().map(|sent| (sent.number, sent.data.segment, sent.data.bytes)).collect()
}

/// Returns a connection with 14 segments for the second path, of which ten have left. The receive
/// window admits `window` segments.
fn sending(window: u64) -> Hand<impl Scheduler> {
    let recall = Rc::new(Cell::new(false));
    let asked = Rc::clone(&recall);
    let scheduler = By(move |_, connection: &Connection, paths: &[Path]| match asked.take() {
        true => Decision::Recall { path: SHUT },
        false if paths[1].is_usable() && connection.sendable() > 0 => {
            Decision::Assign { path: SHUT, segments: 1 }
        }
        false => Decision::WAIT,
    });
    let mut config = linux();
    config.connection.receive_window = window * PAYLOAD;
    let sender = Endpoint::new(&config.into(), Side::Client, &[PathConfig::default(); 2], scheduler)
        .expect("a sender");
    let mut hand = Hand { sender, log: Log::default(), recall };
    hand.sender.write(14 * PAYLOAD);
    assert_eq!(hand.sent(at(0)).len(), 10);
    hand
}

/// Returns a connection whose window admits all 14. Eight segments are in flight, the path's own
/// window has the same size, and its congestion window admits the other four.
fn shut() -> Hand<impl Scheduler> {
    let mut hand = sending(19);
    hand.told(at(20), SHUT, (2, 2), 8, 0);
    assert!(hand.sent(at(20)).is_empty());
    assert_eq!(hand.sender.paths()[1].queued, 4);
    hand
}

#[test]
fn nobody_takes_back_what_only_the_subflows_own_window_holds_back() {
    let mut hand = shut();
    hand.recall.set(true);
    // Copies of two of them have arrived over the other path.
    hand.told(at(21), OTHER, (0, 12), 2, 0);
    assert!(hand.sent(at(21)).is_empty());
    assert!(!hand.recall.get());
    assert_eq!((hand.sender.connection().unassigned, hand.sender.paths()[1].queued), (0, 4));
    let whole = PAYLOAD as u32;
    hand.told(at(30), SHUT, (5, 12), 8, 0);
    assert_eq!(numbers(&hand.sent(at(30))), [(10, 10, whole), (11, 11, whole), (12, 12, whole)]);
    assert_eq!(hand.sender.paths()[1].queued, 1);
}

#[test]
fn it_is_the_new_data_that_tells_whether_a_timeout_was_needless() {
    let mut hand = shut();
    let (mut now, mut sent) = (at(20), Vec::new());
    while hand.sender.counters().timeouts == 0 {
        now = hand.sender.next_wakeup().expect("a timer");
        hand.sender.handle_timeout(now, &mut hand.log).expect("the peer is there");
        sent = hand.sent(now);
    }
    assert_eq!(numbers(&sent), [(2, 2, PAYLOAD as u32)]);
    hand.told(now + ms(20), SHUT, (3, 3), 8, sent[0].timestamp);
    assert_eq!(numbers(&hand.sent(now + ms(20))), [(10, 10, PAYLOAD as u32)]);
}

#[test]
fn a_subflow_that_repairs_after_a_timeout_gets_nothing_of_its_queue() {
    let mut hand = sending(100);
    let (mut now, mut sent) = (at(0), Vec::new());
    while hand.sender.counters().timeouts == 0 {
        now = hand.sender.next_wakeup().expect("a timer");
        hand.sender.handle_timeout(now, &mut hand.log).expect("the peer is there");
        sent = hand.sent(now);
    }
    assert_eq!(hand.sender.paths()[1].queued, 4);
    // Slow start: each time twice as many may leave, the last time more than were lost.
    let mut left = Vec::new();
    for arrived in [1, 3, 7, 10] {
        now += ms(20);
        hand.told(now, SHUT, (arrived, arrived), 100, sent[0].timestamp);
        sent = hand.sent(now);
        left.push(sent.iter().map(|sent| sent.number).collect::<Vec<_>>());
    }
    let expected: [&[u64]; 4] = [&[1, 2], &[3, 4, 5, 6], &[7, 8, 9], &[10, 11, 12, 13]];
    assert_eq!(left, expected, "first what was lost, and nothing new");
}

/// Waits, and records the window.
struct Seen {
    window: Rc<Cell<u64>>,
    /// See [`Scheduler::send_memory`], which only Linux' own scheduler has.
    memory: Option<u64>,
}

impl Scheduler for Seen {
    fn decide(&mut self, _: Time, connection: &Connection, _: &[Path]) -> Decision {
        self.window.set(connection.window_left);
        Decision::WAIT
    }

    fn send_memory(&self) -> Option<u64> {
        self.memory
    }
}

/// Returns the number of segments that the window admits before anything was sent. The window of
/// the handshake has no scale.
fn admitted(memory: Option<u64>, send_buffer: u64) -> u64 {
    let window = Rc::new(Cell::new(0));
    let scheduler = Seen { window: Rc::clone(&window), memory };
    let mut config = linux();
    config.connection.send_buffer = send_buffer;
    let mut sender =
        Endpoint::new(&config.into(), Side::Client, &[PathConfig::default()], scheduler).expect("a sender");
    sender.write(100 * PAYLOAD);
    sent_by(|sink| sender.transmit(at(0), sink, &mut Log::default()).expect("no fault"));
    window.get()
}

#[test]
fn only_with_linux_own_scheduler_does_a_short_segment_fill_the_window() {
    for send_buffer in [u64::MAX, 1_000_000] {
        assert_eq!(admitted(Some(1_000_000), send_buffer), 65_535_u64.div_ceil(PAYLOAD));
        assert_eq!(admitted(None, send_buffer), 65_535 / PAYLOAD);
    }
}
