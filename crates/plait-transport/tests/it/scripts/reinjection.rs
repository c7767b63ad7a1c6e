//! Copies of segments in flight: the first one to arrive counts, and all counters are balanced at
//! the end.

use crate::common::{By, Fate, Pair, at, by_key, config, in_turns, mpquic_config, ms, segments};
use plait_sched::{Connection, Decision, Path, PathId, PathState, Scheduler, Time};
use std::collections::BTreeSet;

/// New data goes to path 0. Once it is the oldest in flight, every other open path gets a copy,
/// once each.
fn redundant() -> impl Scheduler {
    let mut copied = BTreeSet::new();
    By(move |_: Time, connection: &Connection, paths: &[Path]| {
        if let Some(oldest) = connection.oldest_unacked {
            for path in paths.iter().filter(|path| path.id != oldest.path && path.is_open()) {
                if copied.insert((oldest.segment, path.id)) {
                    return Decision::Reinject { path: path.id, segment: oldest.segment };
                }
            }
        }
        if connection.sendable() > 0 && paths[0].is_open() {
            return Decision::Assign { path: PathId(0), segments: 1 };
        }
        Decision::WAIT
    })
}

#[test]
fn a_copy_that_comes_second_is_a_duplicate_and_changes_no_window() {
    let mut pair = Pair::new(config(), &[20, 60], redundant());
    pair.send_file(1452);
    pair.run_until(at(5_000));
    let counters = pair.sender.counters();
    assert_eq!((counters.reinjections, counters.retransmissions, counters.timeouts), (1, 0, 0));
    assert_eq!(pair.log.duplicates, [(at(30), 0)]);
    assert_eq!(pair.sender.counters().spurious_retransmissions, 1);
    assert!(pair.sender.is_drained());
    assert_eq!((pair.window(0), pair.window(1)), (3, 3));
    assert_eq!(pair.path(1).loss_ppm, 0);
}

#[test]
fn a_path_that_carries_the_segment_gets_no_copy() {
    let mut asked = 0;
    let same_path = By(move |_: Time, connection: &Connection, _: &[Path]| match connection.oldest_unacked {
        None if connection.sendable() > 0 => Decision::Assign { path: PathId(0), segments: 1 },
        Some(oldest) if asked < 3 => {
            asked += 1;
            Decision::Reinject { path: oldest.path, segment: oldest.segment }
        }
        _ => Decision::WAIT,
    });
    let mut pair = Pair::new(config(), &[20, 60], same_path);
    pair.send_file(1452);
    pair.run_until(at(5_000));
    assert_eq!((pair.sender.counters().reinjections, pair.log.sent.len()), (0, 1));
    assert!(pair.sender.is_drained());
}

#[test]
fn a_copy_saves_what_the_first_path_lost() {
    let mut pair = Pair::new(config(), &[20, 60], redundant());
    pair.send_file(1452);
    pair.script(|judged| if judged.path == 0 { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(5_000));
    assert_eq!(pair.log.delivered, [(at(30), 0)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
    assert!(pair.sender.is_drained());
}

#[test]
fn when_both_copies_are_lost_the_segment_is_sent_again() {
    let mut pair = Pair::new(config(), &[20, 60], redundant());
    pair.send_file(1452);
    pair.script(|judged| if judged.now < at(500) { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(10_000));
    assert_eq!(pair.log.delivered.len(), 1);
    assert!(pair.sender.is_drained());
}

/// The copy leaves 40 ms after the original over a path with a round trip of 20 ms.
fn late_copy() -> impl plait_sched::Scheduler {
    let mut copied = false;
    By(move |now: Time, connection: &Connection, _: &[Path]| match connection.oldest_unacked {
        None if connection.sendable() > 0 => Decision::Assign { path: PathId(0), segments: 1 },
        Some(oldest) if !copied && now >= at(40) => {
            copied = true;
            Decision::Reinject { path: PathId(1), segment: oldest.segment }
        }
        _ => Decision::Wait { until: (now < at(40)).then(|| at(40)) },
    })
}

#[test]
fn an_answer_to_a_copy_is_no_round_trip_of_the_original() {
    let mut pair = Pair::new(config(), &[500, 20], late_copy());
    pair.send_file(1452);
    pair.script(|judged| if judged.path == 0 { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(10_000));
    assert!(pair.sender.is_drained());
    assert!(!pair.path(0).has_rtt(), "which copy was answered? srtt {}", pair.path(0).srtt);
    assert_eq!((pair.path(1).srtt, pair.path(0).in_flight, pair.sender.counters().timeouts), (ms(20), 0, 0));
}

/// The original arrives after its copy. Its own path reports it as a duplicate, which gives this
/// path a round-trip sample.
#[test]
fn an_original_that_a_copy_overtook_tells_its_round_trip() {
    let mut pair = Pair::new(config(), &[500, 20], late_copy());
    pair.send_file(1452);
    pair.run_until(at(499));
    assert!(pair.sender.is_drained());
    assert_eq!((pair.path(0).in_flight, pair.path(0).has_rtt()), (1, false), "it is under way still");
    pair.run_until(at(501));
    assert_eq!((pair.path(0).in_flight, pair.path(0).srtt, pair.path(1).srtt), (0, ms(500), ms(20)));
}

#[test]
fn three_copies_leave_nothing_open_when_the_middle_one_is_lost() {
    // The copies on path 1 are all lost and detected by fast retransmit; those on paths 0 and 2
    // arrive.
    let mut config = config();
    config.connection.congestion.initial_window = segments(20);
    let mut pair = Pair::new(config, &[3_000, 20, 2_000], three_ways());
    pair.send_file(8 * 1452);
    pair.script(|judged| match judged.segment() {
        Some(0) if judged.path == 1 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.run_until(at(2_999));
    assert_eq!(pair.log.delivered.len(), 8, "segment 0 came over path 2");
    assert!(pair.sender.is_drained());
    // Path 0 has retransmitted it after its timeout, and waits for that retransmission.
    pair.run_until(at(4_500));
    for path in pair.sender.paths() {
        assert_eq!(path.in_flight, 0, "{path:?}");
    }
}

/// Segment 0 goes to path 0, with copies on path 1 and then on path 2. All other segments go to
/// path 1.
fn three_ways() -> impl Scheduler {
    let mut copies = vec![PathId(2), PathId(1)];
    By(move |_: Time, connection: &Connection, paths: &[Path]| {
        if connection.next_segment == 0 && connection.unassigned > 0 {
            return Decision::Assign { path: PathId(0), segments: 1 };
        }
        if let (Some(oldest), Some(path)) = (connection.oldest_unacked, copies.last().copied()) {
            copies.pop();
            return Decision::Reinject { path, segment: oldest.segment };
        }
        if connection.sendable() > 0 && copies.is_empty() && paths[1].is_open() {
            return Decision::Assign { path: PathId(1), segments: 1 };
        }
        Decision::WAIT
    })
}

#[test]
fn redundancy_under_losses_delivers_everything_and_balances_all_accounts() {
    let mut pair = Pair::new(config(), &[20, 60, 33], redundant()).spaced(ms(1));
    pair.send_file(500 * 1452);
    let mut packets = 0;
    pair.script(move |_| {
        packets += 1;
        if packets % 11 == 0 || packets % 13 == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(120_000));
    assert_eq!(pair.log.delivered.len(), 500);
    assert!(pair.sender.is_drained());
    for path in pair.sender.paths() {
        assert_eq!(path.in_flight, 0, "{path:?}");
    }
}

/// A copy that the endpoint's owner requests leaves before new data, once. Impossible copies are
/// reported.
#[test]
fn a_copy_by_hand_needs_no_scheduler_that_copies() {
    let mut pair = Pair::new(mpquic_config(), &[20, 60], by_key(|path| path.srtt.as_nanos())).spaced(ms(1));
    pair.send_file(8 * 1452);
    pair.script(|judged| match (judged.segment(), judged.path) {
        (Some(0), 0) => Fate::Drop,
        _ => Fate::Pass,
    });
    assert!(!pair.sender.copy(PathId(1), 0), "it was never sent");
    pair.run_until(at(1));
    assert!(pair.sender.copy(PathId(1), 0));
    assert!(
        !pair.sender.copy(PathId(1), 0) && !pair.sender.copy(PathId(0), 0) && !pair.sender.copy(PathId(7), 0)
    );
    pair.run_until(at(40));
    assert_eq!(pair.log.delivered.first().map(|(now, _)| *now), Some(at(32)), "it came over the other path");
    assert_eq!(pair.sender.counters().reinjections, 1);
    assert!(!pair.sender.copy(PathId(1), 3), "it has arrived");
    pair.run_until(at(2_000));
    assert!(pair.sender.is_drained() && pair.error().is_none());
}

/// A path that becomes a backup carries no new data. A scheduler that considers costs avoids a more
/// expensive path.
#[test]
fn terms_of_paths_change_while_a_connection_runs() {
    let mut pair = Pair::new(mpquic_config(), &[20, 20], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    assert!(pair.log.sent_on(1, at(400)) > 10);
    pair.sender.set_terms(pair.now, PathId(1), true, 7, &mut ());
    pair.run_until(at(600));
    let path = pair.path(1);
    assert_eq!((path.state, path.cost), (PathState::Backup, 7));
    let before = pair.log.sent_on(1, at(0));
    pair.run_until(at(1_000));
    assert_eq!(pair.log.sent_on(1, at(0)), before);
    pair.sender.set_terms(pair.now, PathId(1), false, 0, &mut ());
    pair.run_until(at(1_500));
    assert!(pair.log.sent_on(1, at(0)) > before + 10);
}
