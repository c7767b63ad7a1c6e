//! Recall of unsent segments: no segment is lost, and the order of sending is kept.

use crate::common::{By, Pair, at, config, mptcp_config, ms};
use plait_sched::{Builtin, Capabilities, Connection, Decision, Event, Path, PathId, Scheduler, Time, Value};
use plait_transport::endpoint::Config;

/// Returns the decisions of `plan`, one per call, then assigns single segments to any open path.
fn planned(mut plan: Vec<Decision>) -> By<impl FnMut(plait_sched::Time, &Connection, &[Path]) -> Decision> {
    plan.reverse();
    By(move |_, connection: &Connection, paths: &[Path]| {
        if let Some(decision) = plan.pop() {
            return decision;
        }
        match paths.iter().find(|path| path.is_open()) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    })
}

const fn assign(path: u8, segments: u32) -> Decision {
    Decision::Assign { path: PathId(path), segments }
}

const fn recall(path: u8) -> Decision {
    Decision::Recall { path: PathId(path) }
}

#[test]
fn recalled_segments_are_the_next_to_be_assigned() {
    let plan = vec![assign(1, 6), assign(0, 2), recall(1), assign(0, 3), Decision::WAIT];
    let mut pair = Pair::new(config(), &[20, 20], planned(plan));
    pair.send_file(20 * 1452);
    pair.run_until(at(1));
    let sent: Vec<_> = pair.log.sent.iter().map(|(_, sent)| (sent.segment, sent.path.0)).collect();
    assert_eq!(sent[..3], [(0, 0), (1, 0), (2, 0)], "lowest first, whenever it was assigned");
    pair.run_until(at(1_000));
    assert_eq!(pair.log.delivered.len(), 20);
}

#[test]
fn a_queue_that_was_filled_out_of_order_is_recalled_in_order() {
    let plan = vec![
        assign(0, 10),
        assign(1, 10),
        recall(0),
        assign(1, 10), // 10–19 were there first
        recall(1),
        Decision::Wait { until: Some(at(5)) },
    ];
    let mut pair = Pair::new(config(), &[20, 20], planned(plan));
    pair.send_file(25 * 1452);
    pair.run_until(at(1));
    assert_eq!(pair.sender.connection().next_segment, 0);
    assert_eq!(pair.sender.connection().unassigned, 25);
    pair.run_until(at(1_000));
    let segments: Vec<_> = pair.log.sent.iter().map(|(_, sent)| sent.segment).collect();
    assert_eq!(segments, (0..25).collect::<Vec<_>>());
}

#[test]
fn recalling_an_empty_queue_is_harmless() {
    let mut pair = Pair::new(config(), &[20], planned(vec![recall(0), recall(0), assign(0, 1)]));
    pair.send_file(5 * 1452);
    pair.run_until(at(1_000));
    assert_eq!(pair.log.delivered.len(), 5);
}

#[test]
fn what_was_sent_is_not_recalled() {
    let plan = vec![assign(0, 10), Decision::WAIT, recall(0), Decision::WAIT];
    let mut pair = Pair::new(config(), &[20], planned(plan)).spaced(ms(1));
    pair.send_file(10 * 1452);
    pair.run_until(at(100));
    let mut segments: Vec<_> = pair.log.sent.iter().map(|(_, sent)| sent.segment).collect();
    segments.dedup();
    assert_eq!(segments, (0..10).collect::<Vec<_>>(), "each once");
}

/// Assigns everything to path 1, and segments taken back from there to path 0.
struct Tail {
    timed_out: bool,
    recalls: u32,
}

impl Scheduler for Tail {
    fn decide(&mut self, _: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.timed_out && paths[1].queued > 0 && self.recalls == 0 {
            self.recalls += 1;
            return recall(1);
        }
        match connection.unassigned {
            0 => Decision::WAIT,
            left => assign(u8::from(!self.timed_out), left as u32),
        }
    }

    fn on_event(&mut self, event: &Event, _: &Connection, _: &[Path]) {
        self.timed_out |= matches!(event, Event::Timeout { .. });
    }

    fn needs(&self) -> Capabilities {
        Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE }
    }
}

fn both_protocols() -> [Config; 2] {
    [config().into(), mptcp_config().into()]
}

/// The end of the stream waits for a path that times out. The data queue is empty, and the
/// scheduler is called all the same.
#[test]
fn the_tail_is_taken_back_from_a_path_that_times_out() {
    for config in both_protocols() {
        let mut pair = Pair::new(config, &[20, 20], Tail { timed_out: false, recalls: 0 });
        pair.cut(1, at(0), Time::MAX);
        pair.send_file(40 * 1452);
        pair.run_until(at(900));
        assert_eq!(
            (pair.sender.connection().unassigned, pair.log.delivered.len()),
            (0, 0),
            "all is assigned"
        );
        assert!(pair.path(1).queued > 0);
        // The first timeout comes after a second; the second one would come at three.
        pair.run_until(at(2_000));
        assert_eq!(pair.log.delivered.len(), 40);
        assert!(pair.sender.is_drained());
    }
}

/// The built-in schedulers that assign ahead and recall. The path fails after all segments are
/// assigned.
#[test]
fn builtin_schedulers_take_the_tail_back() {
    let cases: [(&str, &[(&str, Value<'_>)]); 5] = [
        ("dqs", &[("window", Value::Text("whole"))]),
        ("dqs+rp+bm", &[("window", Value::Text("whole"))]),
        ("intelligent-delivery-delay", &[]),
        ("daps-rounds", &[]),
        ("daps-rounds", &[("replan", Value::Text("always"))]),
    ];
    for (name, given) in cases {
        let mut waited = false;
        for config in both_protocols() {
            for segments in 20..80 {
                let scheduler = Builtin::new(name, given).expect("a built-in scheduler");
                let mut pair = Pair::new(config.clone(), &[100, 20], scheduler).spaced(ms(1));
                pair.cut(1, at(60), Time::MAX);
                pair.send_file(segments * 1452);
                pair.run_until(at(900));
                waited |= pair.path(1).queued > 0 && pair.sender.connection().unassigned == 0;
                // One more segment may be sent on the silent path after each timeout: at 1, 3 and 7
                // seconds.
                pair.run_until(at(8_000));
                let delivered = pair.log.delivered.len() as u64;
                assert_eq!(delivered, segments, "{name} {given:?}, {:?}", pair.sender.paths());
            }
        }
        assert!(waited, "{name} {given:?}: in some case the tail waits on the silent path");
    }
}
