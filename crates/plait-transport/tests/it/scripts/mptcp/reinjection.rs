//! Reinjections that the connection sends without the scheduler, by Linux' rules.

use super::linux::{PAYLOAD, linux};
use crate::common::{Fate, Pair, at, by_key, in_turns, ms};
use plait_sched::PathState;
use plait_transport::SendReason;
use plait_transport::congestion::Algorithm;
use plait_transport::mptcp::Config;

fn reinjected(pair: &Pair) -> Vec<(u64, u8, u64)> {
    (pair.log.sent.iter())
        .filter(|(_, sent)| sent.reason == SendReason::Reinjection)
        .map(|(time, sent)| (time.as_nanos() / 1_000_000, sent.path.0, sent.segment))
        .collect()
}

#[test]
fn a_timeout_of_a_subflow_reinjects_nothing_by_itself() {
    let mut pair = Pair::new(linux(), &[20, 40], in_turns());
    pair.cut(1, at(500), at(60_000));
    pair.sender.write_endlessly();
    // The first timeout of subflow 1 comes at most 200 ms and a round trip after the cut. Subflow 0
    // is idle by then, because its window is full, and the connection's timer has not expired.
    pair.run_until(at(60_000));
    assert!(pair.sender.counters().timeouts > 0 && pair.error().is_none(), "{:?}", pair.error());
    let copies = reinjected(&pair);
    assert!(
        !copies.is_empty() && copies.iter().all(|&(_, path, _)| path == 0),
        "{copies:?} {:?}",
        pair.log.states
    );
    assert!(pair.log.delivered.len() > 5_000, "{}", pair.log.delivered.len());
}

#[test]
fn an_idle_subflow_repeats_the_first_fragment() {
    let mut pair = Pair::new(linux(), &[20, 40], in_turns());
    pair.cut(1, at(0), at(60_000));
    pair.send_file(40 * PAYLOAD);
    pair.run_until(at(60_000));
    assert_eq!(pair.log.delivered.len(), 40);
    let copies = reinjected(&pair);
    // The fragment's 32,728 bytes end in segment 22. All of its segments are repeated, whether
    // subflow 0 delivered them or not.
    let first = copies[0];
    assert_eq!((first.1, first.2), (0, 1));
    let at_first: Vec<u64> = copies.iter().take_while(|copy| copy.0 == first.0).map(|copy| copy.2).collect();
    assert!(at_first.len() >= 10 && at_first.iter().all(|&segment| segment <= 22), "{copies:?}");
    assert!(at_first.contains(&2), "{copies:?}");
    // Before a timeout of its own the idle subflow repeats nothing: the period is at least 200 ms.
    assert!(first.0 >= 200, "{copies:?}");
}

#[test]
fn a_subflow_that_is_silent_for_five_periods_is_stale_until_it_answers() {
    let mut pair = Pair::new(linux(), &[20, 40], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    pair.cut(1, at(500), at(20_000));
    pair.run_until(at(900));
    assert_eq!(pair.path(1).state, PathState::Active);
    pair.run_until(at(15_000));
    assert_ne!(pair.path(1).state, PathState::Active);
    let delivered = pair.log.delivered.len();
    pair.run_until(at(16_000));
    assert!(pair.log.delivered.len() > delivered + 100, "the other one goes on");
    pair.run_until(at(80_000));
    assert_eq!(pair.path(1).state, PathState::Active);
}

#[test]
fn data_of_a_stale_subflow_precedes_assigned_data() {
    let mut config = linux();
    config.connection.congestion.algorithm = Algorithm::Bbr;
    config.connection.receive_window = 10_000 * PAYLOAD;
    // Subflow 0 is paced, and assigned data waits for the pacer. Data is left when subflow 1 is stale.
    let mut pair = Pair::new(config, &[20, 40], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.cut(1, at(300), at(60_000));
    pair.run_until(at(6_000));
    let (stale, ..) = *(pair.log.states.iter())
        .find(|(_, path, state)| path.0 == 1 && *state == PathState::PotentiallyFailed)
        .expect("subflow 1 is stale");
    let later: Vec<SendReason> = (pair.log.sent.iter())
        .filter(|(time, sent)| *time > stale && sent.path.0 == 0)
        .map(|(_, sent)| sent.reason)
        .collect();
    let new = |reasons: &[SendReason]| reasons.iter().filter(|&&reason| reason == SendReason::New).count();
    let copies: Vec<usize> = (later.iter().enumerate())
        .filter(|(_, reason)| **reason == SendReason::Reinjection)
        .map(|(index, _)| index)
        .collect();
    assert!(copies.len() >= 10, "{copies:?}");
    let (first, last) = (copies[0], copies[copies.len() - 1]);
    // The write queue of the paced subflow precedes the copies. It holds less than a window.
    assert!(new(&later[..first]) < 50, "{} new segments precede the copies", new(&later[..first]));
    assert_eq!(new(&later[first..last]), 0, "no new data between the copies");
}

#[test]
fn what_the_timer_sends_does_not_set_it() {
    let mut pair = Pair::new(linux(), &[20, 400], in_turns());
    pair.cut(1, at(3_000), at(60_000));
    pair.send_file(600 * PAYLOAD);
    pair.run_until(at(3_000));
    pair.send_file(200 * PAYLOAD);
    pair.run_until(at(6_000));
    let mut rounds: Vec<u64> =
        reinjected(&pair).iter().filter(|copy| copy.1 == 0).map(|copy| copy.0).collect();
    rounds.dedup_by(|later, earlier| *later - *earlier < 60);
    // Each round delivers a fragment, and the timer restarts with the dead subflow's timer as of
    // the last assignment of data. It does not use that of the idle subflow, whose tail probe is
    // due after two round trips.
    assert!(rounds.len() >= 2, "{rounds:?}");
    assert!(rounds.windows(2).all(|pair| pair[1] - pair[0] >= 400), "{rounds:?}");
}

#[test]
fn what_was_dropped_beyond_the_edge_is_sent_again() {
    // A slow idle subflow remembers the largest window that it ever saw. Small differences decide
    // whether data is dropped.
    let dropped = |window: u64, round_trip: u64| {
        let config = linux();
        let connection =
            plait_transport::ConnectionConfig { receive_window: window * PAYLOAD, ..config.connection };
        let config = Config { connection, ..config };
        let mut pair = Pair::new(config, &[20, round_trip], by_key(|path| path.srtt.as_nanos()));
        pair.script(|judged| match judged.segment() {
            Some(segment) if segment % 97 == 50 && judged.sent_before == 0 => Fate::Drop,
            _ => Fate::Pass,
        });
        pair.send_file(3_000 * PAYLOAD);
        pair.run_until(at(120_000));
        assert_eq!(pair.log.delivered.len(), 3_000, "{window} {round_trip}");
        pair.log.refused.len()
    };
    let runs = [40, 60, 100, 200].map(|window| [100, 300, 600].map(|round_trip| dropped(window, round_trip)));
    assert!(runs.iter().flatten().any(|&dropped| dropped > 0), "{runs:?}");
}
