extern crate std;

use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::time::Duration;
use crate::view::{Outstanding, PathId, PathSet};

/// A sender without a network that knows the carriers of each segment.
struct Sender {
    scheduler: Full,
    connection: Connection,
    paths: Vec<Path>,
    carried: Vec<PathSet>,
}

/// An action: the path, and the segment.
#[derive(PartialEq, Eq, Debug)]
enum Act {
    New(u8, u64),
    Copy(u8, u64),
}
use Act::{Copy, New};

impl Sender {
    /// Paths given as (srtt in milliseconds, cwnd).
    fn new(paths: &[(u64, u32)], segments: u64) -> Self {
        let paths = paths.iter().zip(0..).map(|(&(srtt, cwnd), id)| {
            let srtt = Duration::from_millis(srtt);
            Path { srtt, cwnd, ..Path::new(PathId(id), 1000) }
        });
        let connection = Connection { unassigned: segments, window_left: 1_000, ..Connection::default() };
        Self { scheduler: Full::NEW, connection, paths: paths.collect(), carried: Vec::new() }
    }

    fn send(&mut self, path: PathId, segment: u64, retransmission: bool) {
        self.carried.resize(self.carried.len().max(segment as usize + 1), PathSet::EMPTY);
        self.carried[segment as usize].insert(path);
        self.paths[path.index()].in_flight += 1;
        let oldest = self.connection.oldest_unacked.map_or(0, |oldest| oldest.segment);
        self.oldest(oldest);
        let event = Event::Sent { path, segment, retransmission };
        self.scheduler.on_event(&event);
    }

    fn oldest(&mut self, segment: u64) {
        let carried = self.carried[segment as usize];
        self.connection.oldest_unacked = Some(Outstanding { segment, path: PathId(0), carried });
    }

    fn opportunity(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        loop {
            match self.scheduler.decide(&self.connection, &self.paths) {
                Decision::Assign { path, segments } => {
                    for _ in 0..segments {
                        let segment = self.connection.next_segment;
                        self.connection.next_segment += 1;
                        self.connection.unassigned -= 1;
                        acts.push(New(path.0, segment));
                        self.send(path, segment, false);
                    }
                }
                Decision::Reinject { path, segment } => {
                    if !self.carried[segment as usize].contains(path) {
                        acts.push(Copy(path.0, segment));
                        self.send(path, segment, true);
                    }
                }
                Decision::Wait { .. } => return acts,
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn every_path_carries_every_segment() {
    let mut sender = Sender::new(&[(100, 2), (20, 2)], 2);
    assert_eq!(sender.opportunity(), [New(1, 0), New(1, 1), Copy(0, 0), Copy(0, 1)]);
    assert_eq!(sender.opportunity(), [], "each is copied once");
}

#[test]
fn a_path_copies_before_it_takes_new_data() {
    let mut sender = Sender::new(&[(100, 3), (20, 1)], 4);
    assert_eq!(sender.opportunity(), [New(1, 0), Copy(0, 0), New(0, 1), New(0, 2)]);
    sender.paths[1].in_flight = 0;
    assert_eq!(sender.opportunity(), [Copy(1, 1)]);
    sender.paths[1].cwnd = 3;
    assert_eq!(sender.opportunity(), [Copy(1, 2), New(1, 3)]);
}

#[test]
fn a_slow_path_skips_what_was_acknowledged() {
    let mut sender = Sender::new(&[(100, 1), (20, 5)], 5);
    sender.opportunity();
    sender.paths[0].in_flight = 0;
    sender.oldest(4);
    assert_eq!(sender.opportunity(), [Copy(0, 4)]);
}

#[test]
fn without_a_known_oldest_segment_nothing_is_copied() {
    let mut sender = Sender::new(&[(100, 2), (20, 1)], 9);
    sender.send(PathId(1), 0, false);
    sender.connection.next_segment = 1;
    sender.connection.oldest_unacked = None;
    let decision = sender.scheduler.decide(&sender.connection, &sender.paths);
    assert_eq!(decision, Decision::Assign { path: PathId(0), segments: 2 });
}

#[test]
fn copies_need_no_room_at_the_receiver() {
    let mut sender = Sender::new(&[(100, 2), (20, 1)], 9);
    sender.send(PathId(1), 0, false);
    sender.connection.next_segment = 1;
    sender.connection.window_left = 0;
    assert_eq!(sender.opportunity(), [Copy(0, 0)]);
}

proptest! {
    /// In any order, all sent segments up to a number are known as long as the gaps are short.
    #[test]
    fn what_was_sent_is_known(order in prop::collection::vec(0_u64..900, 1..400), acked in 0_u64..2_000) {
        let mut sent = SentSegments::NOTHING;
        let mut all = BTreeSet::new();
        for segment in order {
            sent.insert(segment);
            all.insert(segment);
            prop_assert_eq!(Some(sent.up_to), (0..).find(|n| !all.contains(n)));
        }
        sent.is_below(acked);
        let expected = (acked..).find(|n| !all.contains(n));
        prop_assert_eq!(Some(sent.up_to), expected.max(Some((0..).find(|n| !all.contains(n)).unwrap_or(0))));
    }
}

#[test]
fn a_segment_too_far_ahead_is_found_again() {
    let mut sent = SentSegments::NOTHING;
    sent.insert(5_000);
    assert_eq!(sent.up_to, 0);
    sent.is_below(5_001);
    sent.insert(5_001);
    assert_eq!(sent.up_to, 5_002);
}
