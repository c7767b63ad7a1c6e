//! Retransmission policies: the path of a lost segment's retransmission, from the loss to the
//! arrival.

use crate::common::{By, Fate, Judged, Pair, at, config, in_turns, ms, segments};
use plait_sched::{Connection, Decision, Path, PathId};
use plait_transport::cmt_sctp::{Config, RetransmissionPolicy};

fn with_policy(policy: RetransmissionPolicy) -> Config {
    Config { retransmission_policy: policy, ..config() }
}

fn lose(segment: u64) -> impl FnMut(&Judged<'_>) -> Fate {
    move |judged| {
        if judged.segment() == Some(segment) && judged.sent_before == 0 { Fate::Drop } else { Fate::Pass }
    }
}

/// Loses the first segment that leaves on `path` after `from`. Returns the path of its
/// retransmission.
fn second_path(pair: &mut Pair, path: usize, from: u64) -> u8 {
    pair.run_until(at(from));
    let lost = std::rc::Rc::new(std::cell::Cell::new(None));
    let found = std::rc::Rc::clone(&lost);
    pair.script(move |judged| {
        let chosen = judged.path == path && judged.segment().is_some() && judged.sent_before == 0;
        if chosen && found.get().is_none() {
            found.set(judged.segment());
            return Fate::Drop;
        }
        Fate::Pass
    });
    pair.run_for(1_000);
    let segment = lost.get().expect("a segment was lost");
    let times = pair.log.sent_times(segment);
    assert_eq!((times.len(), usize::from(times[0].1)), (2, path));
    assert!(pair.log.delivered.len() as u64 > segment, "it arrived");
    assert_eq!(pair.sender.counters().timeouts, 0, "found by fast retransmit");
    times[1].1
}

/// Path 0 is fast, so its window is large; path 1 is slow.
fn fast_and_slow(policy: RetransmissionPolicy) -> Pair {
    let mut config = with_policy(policy);
    config.connection.congestion.initial_threshold = segments(30);
    let mut pair = Pair::new(config, &[20, 100], in_turns()).spaced(ms(1) / 2);
    pair.sender.write_endlessly();
    pair
}

#[test]
fn same_stays_on_the_path() {
    assert_eq!(second_path(&mut fast_and_slow(RetransmissionPolicy::Same), 1, 400), 1);
    assert_eq!(second_path(&mut fast_and_slow(RetransmissionPolicy::Same), 0, 400), 0);
}

#[test]
fn cwnd_takes_the_largest_window() {
    let mut pair = fast_and_slow(RetransmissionPolicy::Cwnd);
    pair.run_until(at(400));
    assert!(pair.window(0) > pair.window(1));
    assert_eq!(second_path(&mut pair, 1, 400), 0);
}

#[test]
fn ssthresh_takes_the_largest_threshold() {
    // A first loss lowers the threshold of its path; the other path keeps the initial one.
    let mut pair = fast_and_slow(RetransmissionPolicy::Ssthresh);
    assert_eq!(second_path(&mut pair, 1, 400), 0);
    let mut pair = fast_and_slow(RetransmissionPolicy::Ssthresh);
    pair.run_until(at(250));
    assert!(
        pair.window(0) / 2 > pair.window(1),
        "although its window is still the larger one after the loss"
    );
    assert_eq!(second_path(&mut pair, 0, 250), 1);
}

#[test]
fn loss_rate_takes_the_path_that_lost_least() {
    let mut pair = fast_and_slow(RetransmissionPolicy::LossRate);
    assert_eq!(second_path(&mut pair, 0, 400), 0, "no path lost anything before: the origin wins the tie");
    assert_eq!(second_path(&mut pair, 0, 1_500), 1);
}

#[test]
fn asap_takes_the_open_path_with_the_shortest_round_trip() {
    // All new data goes to path 1. Path 0 is always open, and one segment has measured its
    // round-trip time.
    let only_the_second = By(|_, connection: &Connection, paths: &[Path]| {
        let path = if connection.next_segment == 0 { &paths[0] } else { &paths[1] };
        if path.is_open() && connection.sendable() > 0 {
            Decision::Assign { path: path.id, segments: 1 }
        } else {
            Decision::WAIT
        }
    });
    let mut pair =
        Pair::new(with_policy(RetransmissionPolicy::Asap), &[20, 100], only_the_second).spaced(ms(1) / 2);
    pair.sender.write_endlessly();
    assert_eq!(second_path(&mut pair, 1, 400), 0);
}

#[test]
fn asap_does_not_wait_for_a_path_that_is_full() {
    // Path 0 is full with data that takes 400 ms; path 1 reports the loss and has room.
    let mut pair =
        Pair::new(with_policy(RetransmissionPolicy::Asap), &[800, 20], in_turns()).spaced(ms(1) / 2);
    pair.sender.write_endlessly();
    assert_eq!(second_path(&mut pair, 1, 50), 1);
}

#[test]
fn each_policy_completes_after_fast_retransmits_and_timeouts() {
    for policy in [
        RetransmissionPolicy::Same,
        RetransmissionPolicy::Ssthresh,
        RetransmissionPolicy::Cwnd,
        RetransmissionPolicy::LossRate,
        RetransmissionPolicy::Asap,
    ] {
        let mut pair = Pair::new(with_policy(policy), &[20, 60, 150], in_turns()).spaced(ms(1));
        pair.send_file(1_500 * 1452);
        let mut packets = 0;
        pair.script(move |judged| {
            packets += 1;
            let outage = judged.path == 1 && (at(400)..at(2_000)).contains(&judged.now);
            if outage || packets % 37 == 0 { Fate::Drop } else { Fate::Pass }
        });
        pair.run_until(at(60_000));
        assert_eq!(pair.log.delivered.len(), 1_500, "{policy:?}");
        assert!(pair.sender.counters().timeouts > 0);
    }
}

#[test]
fn a_timeout_follows_the_policy_too() {
    let timed_out = |policy: RetransmissionPolicy| {
        let to_the_second = By(|_, connection: &Connection, paths: &[Path]| {
            if connection.sendable() > 0 && paths[1].is_open() {
                Decision::Assign { path: PathId(1), segments: 1 }
            } else {
                Decision::WAIT
            }
        });
        let mut pair = Pair::new(with_policy(policy), &[20, 60], to_the_second);
        pair.send_file(1452);
        pair.script(lose(0));
        pair.run_until(at(3_000));
        pair.log.sent_times(0)[1].1
    };
    assert_eq!(timed_out(RetransmissionPolicy::Same), 1);
    assert_eq!(timed_out(RetransmissionPolicy::Cwnd), 0, "the timeout left path 1 one segment");
    assert_eq!(timed_out(RetransmissionPolicy::Asap), 0);
}
