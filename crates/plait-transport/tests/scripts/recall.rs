//! Taking unsent segments back: nothing is lost, nothing is sent out of turn.

use crate::common::{By, Pair, at, config, ms};
use plait_sched::{Connection, Decision, Path, PathId};

/// Carries out `plan` one decision per opportunity, then gives single segments to whatever is open.
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
