use super::super::script::Script;
use super::*;
use crate::time::Duration;
use crate::view::Outstanding;

fn oldest(script: &mut Script<Stms>, segment: u64) {
    script.connection.oldest_unacked = Some(Outstanding::new(segment, PathId(0), PathSet(1)));
    script.connection.unassigned = 0;
    script.opportunity();
}

#[test]
fn the_gap_begins_with_what_the_fast_path_sends_meanwhile() {
    // The slow path needs 40 ms longer, and the fast path sends 10 segments in 20 ms.
    let script = Script::new(Stms::default(), &[(20, 10), (100, 10)]);
    assert_eq!(first(&script.paths[0], &script.paths[1]), 20 * SEGMENT);
    assert_eq!(first(&script.paths[1], &script.paths[0]), 0);
}

#[test]
fn a_slow_path_gets_a_segment_when_the_gap_waits_for_the_fast_one() {
    let mut script = Script::new(Stms::default(), &[(20, 10), (100, 3)]);
    // 10 segments leave, 20 wait, and the next three go on the slow path.
    assert_eq!(script.opportunity(), [(0, 10), (0, 20), (1, 1), (1, 1), (1, 1)]);
    script.acked(0, 4);
    assert_eq!(script.opportunity(), [], "the four came from what waited, and the slow path is full");
    script.acked(1, 1);
    assert_eq!(script.opportunity(), [(0, 4), (1, 1)]);
}

#[test]
fn without_a_gap_it_is_lowest_rtt() {
    let mut script = Script::new(Stms::new(0), &[(20, 10), (100, 3)]);
    assert_eq!(script.opportunity(), [(0, 10), (1, 1), (1, 1), (1, 1)]);
}

#[test]
fn late_segments_widen_the_gap_and_early_ones_narrow_it() {
    let mut script = Script::new(Stms::default(), &[(20, 10), (100, 3)]);
    script.opportunity();
    let sent = |script: &mut Script<Stms>, path, segment| {
        script.tell(&Event::Sent { path: PathId(path), segment, retransmission: false });
    };
    sent(&mut script, 1, 30);
    sent(&mut script, 1, 31);
    sent(&mut script, 0, 10);
    oldest(&mut script, 29);
    assert_eq!(script.scheduler.slow[1].gap, Some(320));
    oldest(&mut script, 30);
    // 20 + 20/8 + 1.
    assert_eq!(script.scheduler.slow[1].gap, Some(376));
    oldest(&mut script, 31);
    assert_eq!(script.scheduler.slow[1].gap, Some(376), "31 was not followed");
    sent(&mut script, 1, 50);
    oldest(&mut script, 51);
    // 23.5 − 23.5/16 − 1, in sixteenths.
    assert_eq!(script.scheduler.slow[1].gap, Some(337));
}

#[test]
fn a_loss_says_nothing_of_the_gap() {
    let mut script = Script::new(Stms::default(), &[(20, 10), (100, 3)]);
    script.opportunity();
    script.tell(&Event::Sent { path: PathId(1), segment: 30, retransmission: false });
    script.tell(&Event::Lost { path: PathId(1), segments: 1 });
    oldest(&mut script, 30);
    assert_eq!(script.scheduler.slow[1].gap, Some(320));
}

#[test]
fn a_gap_has_a_bound() {
    let mut script = Script::new(Stms::new(2), &[(20, 10), (100, 3)]);
    script.scheduler.slow[1].gap = Some(900 * SEGMENT);
    let (fast, slow) = (script.paths[0].clone(), script.paths[1].clone());
    assert_eq!(script.scheduler.gap(&fast, &slow), 40);
    script.paths[0].srtt = Duration::from_nanos(1);
    script.paths[0].cwnd = u32::MAX;
    assert_eq!(first(&script.paths[0], &slow), LARGEST * SEGMENT);
}

#[test]
fn what_waits_for_a_path_that_is_no_longer_the_fastest_is_taken_back() {
    let mut script = Script::new(Stms::default(), &[(20, 10), (100, 3)]);
    script.connection.unassigned = 40;
    script.opportunity();
    script.paths[1].srtt = Duration::from_millis(10);
    script.acked(1, 3);
    assert_eq!(script.opportunity(), [(0, 0), (1, 3)], "and the other path is full");
}
