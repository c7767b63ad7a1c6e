//! By Linux' rules, segments in the paths' queues leave before the next decision.

use super::linux::{PAYLOAD, linux};
use crate::common::{By, Log, at, sent_by};
use plait_sched::{Connection, Decision, Path, PathId, Scheduler, Time};
use plait_transport::PathConfig;
use plait_transport::endpoint::{Endpoint, Side};
use plait_transport::mptcp::{Config, Rules};
use plait_transport::packet::Packet;
use plait_transport::packet::tcp::{self, Ack};
use std::cell::Cell;
use std::rc::Rc;

const PATH: PathId = PathId(0);

/// Returns the segments that leave now on the first path.
fn sent(sender: &mut Endpoint<impl Scheduler>, now: Time) -> Vec<u64> {
    let packets = sent_by(|sink| sender.transmit(now, sink, &mut Log::default()).expect("no fault"));
    let segment = |packet| match packet {
        (PATH, Packet::Tcp(tcp::Packet::Segment(segment))) => Some(segment.data.segment),
        _ => None,
    };
    packets.into_iter().filter_map(segment).collect()
}

/// Returns the segments that leave after the first two have arrived. Six segments are assigned to
/// the path, of which four may be in flight. Later two may be in flight, once the scheduler says
/// so.
fn after_a_new_limit(rules: Rules, all_at_once: bool) -> Vec<u64> {
    let scheduler = By(move |now, connection: &Connection, paths: &[Path]| {
        let in_flight = if now == at(0) { 4 } else { 2 };
        match paths[0].limit {
            limit if limit != in_flight => Decision::Limit { path: PATH, in_flight },
            _ if connection.sendable() > 0 && paths[0].queued < 6 && (now == at(0) || !all_at_once) => {
                Decision::Assign { path: PATH, segments: 1 }
            }
            _ => Decision::WAIT,
        }
    });
    let config = Config { rules, ..linux() };
    let mut sender = Endpoint::new(&config.into(), Side::Client, &[PathConfig::default(); 2], scheduler)
        .expect("a sender");
    sender.write(if all_at_once { 6 * PAYLOAD } else { 20 * PAYLOAD });
    assert_eq!(sent(&mut sender, at(0)), [0, 1, 2, 3]);
    let ack = Ack::new(2, 2, 0, 0).with_window(2 * PAYLOAD, 30 * PAYLOAD);
    sender.handle_packet(at(20), PATH, &Packet::Tcp(tcp::Packet::Ack(ack)), &mut Log::default());
    let left = sent(&mut sender, at(20));
    assert_eq!(sender.paths()[0].limit, 2);
    left
}

#[test]
fn a_queue_leaves_by_the_limit_of_before() {
    assert_eq!(after_a_new_limit(Rules::LINUX, false), [4, 5]);
    // The scheduler is called although no data is unassigned, because the queue holds segments.
    assert_eq!(after_a_new_limit(Rules::LINUX, true), [4, 5]);
    assert_eq!(after_a_new_limit(Rules::STANDARD, false), []);
}

#[test]
fn the_first_path_that_may_send_goes_first() {
    let scheduler = By(|_, connection: &Connection, _: &[Path]| match connection.next_segment {
        next if connection.unassigned > 0 => Decision::Assign { path: PathId((next % 2) as u8), segments: 1 },
        _ => Decision::WAIT,
    });
    let mut config = linux();
    config.connection.receive_window = 4 * PAYLOAD;
    let mut sender = Endpoint::new(&config.into(), Side::Client, &[PathConfig::default(); 2], scheduler)
        .expect("a sender");
    sender.write(12 * PAYLOAD);
    let sent = |sender: &mut Endpoint<_>, now| {
        let packets = sent_by(|sink| sender.transmit(now, sink, &mut Log::default()).expect("no fault"));
        let segment = |(path, packet): (PathId, Packet)| match packet {
            Packet::Tcp(tcp::Packet::Segment(segment)) => Some((path.0, segment.data.segment)),
            _ => None,
        };
        packets.into_iter().filter_map(segment).collect::<Vec<_>>()
    };
    let before = sent(&mut sender, at(0)).len() as u64;
    assert!((1..8).contains(&before));
    let ack = Ack::new(0, 0, 0, 0).with_window(0, 20 * PAYLOAD);
    sender.handle_packet(at(20), PATH, &Packet::Tcp(tcp::Packet::Ack(ack)), &mut Log::default());
    let left: Vec<u8> = sent(&mut sender, at(20)).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left.len() as u64, 12 - before);
    assert!(left.is_sorted(), "{left:?}");
}

/// Assigns all segments to the first path, and counts the calls without new data.
struct Counting(Rc<Cell<u32>>);

impl Scheduler for Counting {
    fn decide(&mut self, _now: Time, connection: &Connection, _paths: &[Path]) -> Decision {
        match connection.unassigned {
            0 => {
                self.0.set(self.0.get() + 1);
                Decision::WAIT
            }
            _ => Decision::Assign { path: PATH, segments: 1 },
        }
    }
}

/// The kernel calls the scheduler once more to learn that all queues are empty (`sched_backlog`).
#[test]
fn the_scheduler_is_asked_once_more_when_the_last_queue_is_empty() {
    let asked = |rules: Rules| {
        let without_data = Rc::new(Cell::new(0));
        let config = Config { rules, ..linux() };
        let scheduler = Counting(Rc::clone(&without_data));
        let mut sender = Endpoint::new(&config.into(), Side::Client, &[PathConfig::default(); 2], scheduler)
            .expect("a sender");
        sender.write(PAYLOAD);
        assert_eq!(sent(&mut sender, at(0)), [0]);
        without_data.get()
    };
    assert_eq!([Rules::LINUX, Rules::STANDARD].map(asked), [1, 0]);
}
