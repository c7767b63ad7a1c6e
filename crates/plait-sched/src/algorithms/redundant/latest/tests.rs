extern crate std;

use std::vec::Vec;

use super::*;
use crate::time::Duration;
use crate::view::PathId;

/// A sender without a network.
struct Sender {
    scheduler: Latest,
    connection: Connection,
    paths: Vec<Path>,
    now: Time,
    /// True if assigned segments leave at once.
    leaves: bool,
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
    fn new(probe_after: Option<u32>, paths: &[(u64, u32)], segments: u64) -> Self {
        let paths = paths.iter().zip(0..).map(|(&(srtt, cwnd), id)| Path {
            srtt: Duration::from_millis(srtt),
            cwnd,
            ..Path::new(PathId(id), 1000)
        });
        let connection = Connection { unassigned: segments, window_left: 1_000, ..Connection::default() };
        let (scheduler, paths) = (Latest::new(probe_after), paths.collect());
        Self { scheduler, connection, paths, now: Time::ZERO, leaves: true }
    }

    fn send(&mut self, path: PathId, segment: u64, retransmission: bool) {
        self.paths[path.index()].in_flight += 1;
        if self.leaves {
            self.scheduler.on_event(&Event::Sent { path, segment, retransmission });
        }
    }

    /// An opportunity, this many milliseconds after the last one.
    fn opportunity(&mut self, after: u64) -> Vec<Act> {
        self.now += Duration::from_millis(after);
        let mut acts = Vec::new();
        loop {
            match self.scheduler.decide(self.now, &self.connection, &self.paths) {
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
                    acts.push(Copy(path.0, segment));
                    self.send(path, segment, true);
                }
                Decision::Wait { .. } => return acts,
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn each_segment_goes_on_all_paths_that_are_open_now() {
    let mut sender = Sender::new(None, &[(100, 2), (20, 3), (50, 1)], 9);
    assert_eq!(sender.opportunity(1), [New(1, 0), Copy(2, 0), Copy(0, 0), New(1, 1), Copy(0, 1), New(1, 2)]);
}

#[test]
fn and_on_no_other_later() {
    let mut sender = Sender::new(None, &[(100, 1), (20, 2)], 2);
    sender.paths[0].in_flight = 1;
    assert_eq!(sender.opportunity(1), [New(1, 0), New(1, 1)]);
    sender.paths[0].in_flight = 0;
    assert_eq!(sender.opportunity(1), [], "nothing new, so nothing is copied");
    sender.connection.unassigned = 1;
    assert_eq!(sender.opportunity(1), [New(0, 2)]);
}

#[test]
fn what_leaves_when_the_engine_is_told_to_wait_is_copied_at_the_same_moment() {
    let mut sender = Sender::new(None, &[(100, 1), (20, 1)], 2);
    sender.leaves = false;
    assert_eq!(sender.opportunity(1), [New(1, 0)]);
    sender.scheduler.on_event(&Event::Sent { path: PathId(1), segment: 0, retransmission: false });
    assert_eq!(sender.opportunity(0), [Copy(0, 0)]);
}

#[test]
fn what_leaves_later_has_no_copies() {
    let mut sender = Sender::new(None, &[(100, 1), (20, 1)], 2);
    sender.leaves = false;
    assert_eq!(sender.opportunity(1), [New(1, 0)]);
    assert_eq!(sender.opportunity(1), [New(0, 1)]);
}

#[test]
fn a_copy_that_was_not_decided_in_its_moment_is_forgotten() {
    let mut sender = Sender::new(None, &[(100, 5), (20, 5)], 2);
    let decision = sender.scheduler.decide(sender.now, &sender.connection, &sender.paths);
    assert_eq!(decision, Decision::Assign { path: PathId(1), segments: 1 });
    sender.connection.next_segment = 1;
    sender.send(PathId(1), 0, false);
    sender.scheduler.on_event(&Event::Lost { path: PathId(1), segments: 1 });
    assert_eq!(sender.opportunity(0)[..2], [New(1, 1), Copy(0, 1)]);
}

/// By hand: the path is due again 5 times 100 ms after the probe at 0, the third path after 5 times
/// 50 ms.
#[test]
fn a_path_that_was_not_used_for_long_is_probed() {
    let mut sender = Sender::new(Some(5), &[(20, 99), (100, 99), (50, 99)], 3);
    assert_eq!(sender.opportunity(0), [New(0, 0), Copy(2, 0), Copy(1, 0), New(0, 1), New(0, 2)]);
    for (after, probed) in
        [(249, [].as_slice()), (1, &[2]), (249, &[]), (1, &[2, 1]), (249, &[]), (251, &[2, 1])]
    {
        sender.connection.unassigned = 1;
        let segment = sender.connection.next_segment;
        let copies = probed.iter().map(|&path| Copy(path, segment));
        let expected: Vec<Act> = [New(0, segment)].into_iter().chain(copies).collect();
        assert_eq!(sender.opportunity(after), expected, "at {}", sender.now);
    }
}

#[test]
fn a_path_that_is_in_use_is_not_probed() {
    let mut sender = Sender::new(Some(5), &[(20, 9), (100, 9)], 1);
    assert_eq!(sender.opportunity(0), [New(0, 0), Copy(1, 0)]);
    // For example, a retransmission.
    sender.scheduler.on_event(&Event::Sent { path: PathId(1), segment: 0, retransmission: true });
    assert_eq!(sender.opportunity(400), []);
    sender.connection.unassigned = 1;
    assert_eq!(sender.opportunity(400), [New(0, 1)]);
    sender.connection.unassigned = 1;
    assert_eq!(sender.opportunity(100), [New(0, 2), Copy(1, 2)]);
}

#[test]
fn a_copy_that_has_not_left_is_a_probe_already() {
    let mut sender = Sender::new(Some(5), &[(20, 9), (100, 9)], 2);
    let decide = |sender: &mut Sender| {
        let decision = sender.scheduler.decide(sender.now, &sender.connection, &sender.paths);
        if let Decision::Assign { .. } = decision {
            sender.send(PathId(0), sender.connection.next_segment, false);
            sender.connection.next_segment += 1;
        }
        decision
    };
    let [fast, probed] = [0, 1].map(PathId);
    assert_eq!(decide(&mut sender), Decision::Assign { path: fast, segments: 1 });
    assert_eq!(decide(&mut sender), Decision::Reinject { path: probed, segment: 0 });
    assert_eq!(decide(&mut sender), Decision::Assign { path: fast, segments: 2 });
}

#[test]
fn an_unmeasured_path_is_probed_by_its_timeout() {
    let mut sender = Sender::new(Some(5), &[(0, 9), (0, 9)], 1);
    assert_eq!(sender.opportunity(0), [New(0, 0), Copy(1, 0)]);
    for (after, copied) in [(4_999, false), (1, true)] {
        sender.connection.unassigned = 1;
        let acts = sender.opportunity(after);
        assert_eq!(acts.contains(&Copy(1, sender.connection.next_segment - 1)), copied, "{acts:?}");
    }
}
