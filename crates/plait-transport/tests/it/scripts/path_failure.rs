//! Paths that fail and return, and unreachable peers.

use crate::common::{By, Fate, Pair, at, by_key, config, in_turns, ms};
use plait_sched::{Connection, Decision, Path, PathId, PathState, Time};
use plait_transport::cmt_sctp::{Config, RetransmissionPolicy};
use plait_transport::packet::{Packet, sctp};
use plait_transport::{Error, PathConfig};

/// Fails at the third consecutive timeout, probes each second.
fn impatient() -> Config {
    let mut config = config();
    config.connection.path_max_retransmissions = 2;
    config.connection.association_max_retransmissions = 8;
    config.heartbeat_interval = ms(1_000);
    config.connection.rto.max = ms(4_000);
    config
}

#[test]
fn a_path_fails_after_too_many_timeouts_and_returns_with_a_heartbeat() {
    let mut pair = Pair::new(impatient(), &[20, 30], in_turns()).spaced(ms(10));
    pair.sender.write_endlessly();
    pair.cut(1, at(500), at(30_000));
    pair.run_until(at(60_000));
    assert!(pair.error().is_none());
    let states: Vec<_> = pair.log.states.iter().map(|(_, path, state)| (path.0, *state)).collect();
    assert_eq!(states, [(1, PathState::Failed), (1, PathState::Active)]);
    let (failed, returned) = (pair.log.states[0].0, pair.log.states[1].0);
    // Timeouts of 1, 2 and 4 s after the last answer, which came shortly before or after the cut.
    assert!((at(7_400)..at(8_600)).contains(&failed), "{failed}");
    assert!((at(30_000)..at(36_000)).contains(&returned), "{returned}");
    let sent = |from: Time, to: Time| pair.log.sent_on(1, from) - pair.log.sent_on(1, to);
    assert_eq!(sent(failed, returned), 0);
    assert!(sent(returned, pair.now) > 100);
}

#[test]
fn what_waits_on_a_failing_path_is_taken_back() {
    // All data is assigned to path 1 at once, far ahead of its window; when path 1 fails, path 0
    // gets the data.
    let greedy = By(|_, connection: &Connection, paths: &[Path]| {
        let path = plait_sched::usable(paths).last().map(|path| path.id);
        match path {
            Some(path) if connection.unassigned > 0 => {
                Decision::Assign { path, segments: connection.unassigned as u32 }
            }
            _ => Decision::WAIT,
        }
    });
    let mut pair = Pair::new(impatient(), &[20, 30], greedy);
    pair.send_file(100 * 1452);
    pair.cut(1, at(0), Time::MAX);
    pair.run_until(at(20));
    assert_eq!((pair.path(1).in_flight, pair.path(1).queued), (3, 97));
    pair.run_until(at(10_000));
    assert_eq!(pair.path(1).state, PathState::Failed);
    assert_eq!(pair.log.delivered.len(), 100);
    assert!(pair.sender.is_drained());
}

#[test]
fn an_idle_path_is_probed_and_found_dead() {
    let mut pair =
        Pair::new(impatient(), &[20, 30], by_key(|path| path.srtt.as_nanos() + u64::from(path.id.0)));
    let heartbeats = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&heartbeats);
    pair.script(move |judged| {
        let probe = matches!(judged.packet, Packet::Sctp(sctp::Packet::Heartbeat { .. }));
        count.set(count.get() + u32::from(probe && judged.path == 1));
        if judged.path == 1 && judged.now >= at(10_000) { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(9_999));
    assert_eq!(pair.path(1).srtt, ms(30), "heartbeats measure the round trip");
    assert!((4..=5).contains(&heartbeats.get()), "one every RTO and a second, not {}", heartbeats.get());
    pair.run_until(at(30_000));
    assert_eq!(pair.path(1).state, PathState::Failed);
    assert_eq!(pair.path(0).state, PathState::Active);
    assert!(pair.error().is_none());
}

#[test]
fn a_suspected_path_takes_no_new_data_until_it_answers() {
    let mut config = impatient();
    config.connection.potentially_failed = true;
    let mut pair = Pair::new(config, &[20, 30], in_turns()).spaced(ms(10));
    pair.sender.write_endlessly();
    pair.cut(1, at(500), at(3_000));
    pair.run_until(at(20_000));
    let states: Vec<_> = pair.log.states.iter().map(|(_, path, state)| (path.0, *state)).collect();
    assert_eq!(states, [(1, PathState::PotentiallyFailed), (1, PathState::Active)]);
    let (suspected, cleared) = (pair.log.states[0].0, pair.log.states[1].0);
    assert_eq!(pair.sender.counters().timeouts, 1, "suspected at the first one");
    assert!((at(1_400)..at(2_500)).contains(&suspected), "{suspected}");
    assert!((at(3_000)..at(9_000)).contains(&cleared), "{cleared}");
    assert_eq!(pair.log.sent_on(1, suspected) - pair.log.sent_on(1, cleared), 0);
    assert!(pair.log.sent_on(1, cleared) > 10);
}

#[test]
fn the_only_path_is_used_although_it_is_suspected() {
    let mut config = config();
    config.connection.potentially_failed = true;
    let mut pair = Pair::new(config, &[20], in_turns());
    pair.send_file(50 * 1452);
    pair.cut(0, at(10), at(2_000));
    pair.run_until(at(1_500));
    assert!(pair.log.sent_on(0, at(1_000)) > 0, "the timeout sends again, although the path is suspected");
    pair.run_until(at(5_000));
    assert_eq!(pair.log.delivered.len(), 50);
    assert!(pair.log.delivered.last().is_some_and(|(time, _)| *time < at(3_500)));
}

#[test]
fn the_peer_is_given_up_after_too_many_timeouts_on_all_paths() {
    let mut pair = Pair::new(impatient(), &[20, 30], in_turns());
    pair.sender.write_endlessly();
    pair.script(|judged| if judged.now >= at(200) { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(300_000));
    let Some(Error::PeerUnreachable { at: when }) = pair.error() else { panic!("{:?}", pair.error()) };
    // Both paths: 1 + 2 + 4 s make six timeouts; heartbeats of the failed paths add the rest.
    assert!((at(7_000)..at(30_000)).contains(when), "{when}");
}

#[test]
fn a_patient_association_survives_the_failure_of_all_paths() {
    let mut config = impatient();
    config.connection.association_max_retransmissions = 1_000;
    let mut pair = Pair::new(config, &[20, 30], in_turns());
    pair.send_file(2_000_000);
    pair.script(|judged| if (at(100)..at(40_000)).contains(&judged.now) { Fate::Drop } else { Fate::Pass });
    pair.run_until(at(39_000));
    assert!(pair.sender.paths().iter().all(|path| path.state == PathState::Failed));
    pair.run_until(at(80_000));
    assert_eq!(pair.log.delivered_bytes, 2_000_000);
}

#[test]
fn an_answer_on_one_path_keeps_the_association() {
    let mut pair = Pair::new(impatient(), &[20, 30], in_turns()).spaced(ms(10));
    pair.sender.write_endlessly();
    pair.cut(1, at(500), Time::MAX);
    pair.run_until(at(300_000));
    assert!(pair.error().is_none());
    assert_eq!(pair.path(1).state, PathState::Failed);
}

#[test]
fn a_backup_path_carries_data_only_after_the_others_failed() {
    let paths = [PathConfig { backup: true, ..PathConfig::default() }, PathConfig::default()];
    let scheduler = plait_sched::Builtin::new("lowest-rtt", &[]).unwrap();
    let mut pair = Pair::with_paths(impatient(), &[20, 30], &paths, scheduler).spaced(ms(10));
    pair.sender.write_endlessly();
    pair.cut(1, at(5_000), at(30_000));
    pair.run_until(at(60_000));
    let states: Vec<_> = pair.log.states.iter().map(|(_, path, state)| (*path, *state)).collect();
    assert_eq!(states, [(PathId(1), PathState::Failed), (PathId(1), PathState::Active)]);
    let news = |path: u8, from: Time, to: Time| {
        pair.log
            .sent
            .iter()
            .filter(|(time, sent)| (from..to).contains(time) && sent.path.0 == path)
            .filter(|(_, sent)| sent.reason == plait_transport::SendReason::New)
            .count()
    };
    let (failed, returned) = (pair.log.states[0].0, pair.log.states[1].0);
    assert_eq!(news(0, Time::ZERO, failed), 0);
    assert!(news(0, failed, returned) > 100);
    assert_eq!(news(0, returned, Time::MAX), 0);
}

#[test]
fn retransmissions_that_wait_for_a_path_leave_it_when_it_fails() {
    let mut config = impatient();
    config.retransmission_policy = RetransmissionPolicy::Same;
    config.connection.congestion.initial_window = crate::common::segments(10);
    let mut pair = Pair::new(config, &[20, 30], in_turns());
    pair.send_file(20 * 1452);
    pair.cut(1, at(0), Time::MAX);
    pair.run_until(at(6_000));
    assert_eq!(pair.path(1).in_flight, 1, "the window is one segment since the timeout; nine wait");
    pair.run_until(at(8_000));
    assert_eq!(pair.path(1).state, PathState::Failed);
    assert_eq!(pair.log.delivered.len(), 20);
}

/// The dead path is probed once per timeout, the idle one hardly ever, and no data is acknowledged
/// in between.
#[test]
fn a_dead_path_does_not_end_an_idle_association() {
    let mut config = config();
    config.connection.potentially_failed = true;
    config.connection.path_max_retransmissions = 100;
    config.connection.rto.max = config.connection.rto.min;
    let mut pair = Pair::new(config, &[20, 40], in_turns());
    pair.sender.write(20 * 1452);
    pair.run_until(at(1_000));
    pair.cut(1, at(1_000), at(100_000_000));
    pair.sender.write(4 * 1452);
    pair.run_until(at(28_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 24));
    pair.run_until(at(600_000));
    pair.send_file(10 * 1452);
    pair.run_until(at(601_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 34));
}
