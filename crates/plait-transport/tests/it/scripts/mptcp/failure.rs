//! Silent subflows: reinjection, failure, return, backup.

use crate::common::{By, Fate, Pair, at, by_key, in_turns, mptcp_config, ms};
use plait_sched::{Connection, Decision, Path, PathState};
use plait_transport::PathConfig;

const PAYLOAD: u64 = 1452;

#[test]
fn after_a_timeout_the_other_subflow_carries_what_the_silent_one_holds_back() {
    let mut pair = Pair::new(mptcp_config(), &[20, 40], in_turns());
    pair.cut(1, at(0), at(60_000));
    pair.send_file(20 * PAYLOAD);
    pair.run_until(at(2_000));
    assert_eq!(pair.log.delivered.len(), 20, "{:?}", pair.log.delivered);
    let counters = pair.sender.counters();
    assert!(counters.reinjections > 0 && counters.timeouts > 0, "{counters:?}");
    // The stream has arrived completely; the subflow still owes its numbers.
    assert!(pair.sender.is_drained());
}

#[test]
fn a_copy_never_goes_where_the_segment_was_already() {
    let mut pair = Pair::new(mptcp_config(), &[20, 40, 60], in_turns());
    pair.cut(1, at(0), at(5_000));
    pair.send_file(200 * PAYLOAD);
    pair.run_until(at(20_000));
    assert_eq!(pair.log.delivered.len(), 200);
    for segment in 0..200 {
        let copies = (pair.log.sent.iter())
            .filter(|(_, sent)| sent.segment == segment)
            .filter(|(_, sent)| sent.reason != plait_transport::SendReason::Retransmission);
        let mut paths: Vec<u8> = copies.map(|(_, sent)| sent.path.0).collect();
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(
            paths.len(),
            count,
            "segment {segment} was sent twice on a path without having been lost there"
        );
    }
}

#[test]
fn a_subflow_that_stays_silent_fails_and_returns_when_it_answers() {
    let mut config = mptcp_config();
    config.connection.path_max_retransmissions = 2;
    let mut pair = Pair::new(config, &[20, 40], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    pair.cut(1, at(500), at(20_000));
    pair.run_until(at(10_000));
    assert_eq!(pair.path(1).state, PathState::Failed);
    let delivered = pair.log.delivered.len();
    pair.run_until(at(11_000));
    assert!(pair.log.delivered.len() > delivered + 100, "the other one goes on");
    pair.run_until(at(60_000));
    assert_eq!(pair.path(1).state, PathState::Active);
    assert!(pair.log.sent_on(1, at(50_000)) > 100);
}

#[test]
fn a_connection_without_any_answer_is_given_up() {
    let mut config = mptcp_config();
    config.connection.association_max_retransmissions = 4;
    let mut pair = Pair::new(config, &[20], in_turns());
    pair.cut(0, at(0), at(1_000_000));
    pair.send_file(1);
    pair.run_until(at(100_000));
    assert!(
        matches!(pair.error(), Some(plait_transport::Error::PeerUnreachable { .. })),
        "{:?}",
        pair.error()
    );
}

#[test]
fn a_single_path_survives_a_long_outage() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.cut(0, at(30), at(25_000));
    pair.send_file(500 * PAYLOAD);
    pair.run_until(at(60_000));
    assert_eq!(pair.log.delivered.len(), 500);
}

#[test]
fn a_backup_subflow_carries_data_only_while_no_other_works() {
    let paths = [PathConfig::default(), PathConfig { backup: true, ..PathConfig::default() }];
    let mut config = mptcp_config();
    config.connection.path_max_retransmissions = 1;
    let mut pair = Pair::with_paths(config, &[20, 40], &paths, by_key(|path| path.srtt.as_nanos()));
    pair.sender.write_endlessly();
    pair.run_until(at(1_000));
    assert_eq!(pair.log.sent_on(1, at(0)), 0);
    pair.cut(0, at(1_000), at(8_000));
    pair.run_until(at(7_000));
    assert!(pair.log.sent_on(1, at(1_000)) > 100);
    pair.run_until(at(60_000));
    assert_eq!(pair.log.sent_on(1, at(50_000)), 0, "the first one works again");
}

#[test]
fn a_scheduler_that_queues_everything_on_a_silent_subflow_gets_it_back() {
    let on_second = By(|_, connection: &Connection, paths: &[Path]| {
        let path = if paths[1].is_usable() { &paths[1] } else { &paths[0] };
        match connection.unassigned {
            0 => Decision::WAIT,
            left => Decision::Assign { path: path.id, segments: left as u32 },
        }
    });
    let mut config = mptcp_config();
    config.connection.path_max_retransmissions = 1;
    let mut pair = Pair::new(config, &[20, 40], on_second);
    pair.cut(1, at(0), at(100_000));
    pair.send_file(100 * PAYLOAD);
    pair.run_until(at(30_000));
    assert_eq!(pair.log.delivered.len(), 100);
}

/// One path is cut forever while the other works, and the application is idle for long. The dead
/// subflow counts timeouts without end, and no data is acknowledged in between.
#[test]
fn a_dead_subflow_does_not_end_a_connection_that_the_other_one_carries() {
    let mut pair = Pair::new(mptcp_config(), &[20, 40], in_turns());
    pair.cut(1, at(10_000), at(100_000_000));
    for second in 1..=20 {
        pair.sender.write(2 * PAYLOAD);
        pair.run_until(at(1_000 * second));
    }
    pair.run_until(at(3_600_000));
    assert!(pair.error().is_none(), "{:?}", pair.error());
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(3_700_000));
    assert_eq!((pair.log.delivered.len(), pair.error()), (50, None));
}

#[test]
fn a_peer_that_no_subflow_reaches_is_given_up() {
    for handshake in [false, true] {
        let mut config = mptcp_config();
        config.connection.association_max_retransmissions = 4;
        config.handshake = handshake;
        let mut pair = Pair::new(config, &[20, 40], in_turns());
        pair.script(|judged| if judged.now >= at(1_000) { Fate::Drop } else { Fate::Pass });
        pair.sender.write_endlessly();
        pair.run_until(at(100_000));
        let unreachable = matches!(pair.error(), Some(plait_transport::Error::PeerUnreachable { .. }));
        assert!(unreachable, "{handshake}: {:?}", pair.error());
    }
}

/// The second subflow is down when the first one fails for good. When the second returns it takes
/// over at once, and not at the next timeout of the first.
#[test]
fn what_no_subflow_could_take_over_is_taken_over_by_the_first_that_returns() {
    let mut config = mptcp_config();
    config.connection.path_max_retransmissions = 1;
    let mut pair = Pair::new(config, &[20, 40], in_turns());
    pair.script(|judged| match (judged.path, judged.now) {
        (0, now) if now >= at(12_040) => Fate::Drop,
        (1, now) if now >= at(50) && now < at(14_000) => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.sender.write(100 * PAYLOAD);
    pair.run_until(at(12_045));
    assert_eq!((pair.path(1).state, pair.log.delivered.len()), (PathState::Failed, 100));
    pair.send_file(10 * PAYLOAD);
    pair.run_until(at(200_000));
    assert_eq!(pair.log.delivered.len(), 110);
    let back = pair.log.states.iter().rfind(|(_, path, state)| path.0 == 1 && *state == PathState::Active);
    let (back, last) = (back.unwrap().0, pair.log.delivered.last().unwrap().0);
    assert!(last > back && last.since(back) < ms(500), "back at {back}, delivered at {last}");
}
