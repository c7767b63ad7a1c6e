//! The retransmission timer T3: back-off, reset, Karn's rule.

use crate::common::{Fate, Pair, at, config, in_turns, ms};
use plait_sched::Duration;

#[test]
fn the_timeout_doubles_up_to_its_maximum() {
    let mut config = config();
    config.connection.rto.max = ms(5_000);
    config.connection.path_max_retransmissions = 100;
    config.connection.association_max_retransmissions = 100;
    let mut pair = Pair::new(config, &[20], in_turns());
    pair.send_file(1);
    pair.script(|_| Fate::Drop);
    pair.run_until(at(20_000));
    let times: Vec<_> = pair.log.sent_times(0).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [0, 1_000, 3_000, 7_000, 12_000, 17_000].map(at));
}

#[test]
fn a_new_sample_ends_the_back_off() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.write(1452);
    pair.cut(0, at(0), at(2_500));
    pair.run_until(at(3_500));
    assert_eq!((pair.path(0).rto, pair.path(0).has_rtt()), (ms(4_000), false), "Karn: an answer to either");
    pair.sender.write(1452);
    pair.run_until(at(3_600));
    assert_eq!((pair.path(0).rto, pair.path(0).srtt), (ms(1_000), ms(20)));
}

#[test]
fn a_timeout_leaves_one_segment_and_slow_start() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(61));
    assert_eq!(pair.window(0), 24);
    pair.cut(0, at(60), at(1_000));
    // The last acknowledgement came at 60 ms and set the timer.
    pair.run_until(at(1_060));
    assert_eq!((pair.window(0), pair.path(0).ssthresh), (1, 12));
    assert_eq!(pair.path(0).in_flight, 1, "the rest waits for the window");
    pair.run_until(at(1_120));
    assert_eq!(pair.window(0), 8);
}

#[test]
fn the_timer_is_that_of_the_oldest_segment_in_flight() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    // One segment every 400 ms; every transmission of the one sent at 800 ms is lost.
    pair.script(|judged| if judged.segment() == Some(2) { Fate::Drop } else { Fate::Pass });
    for block in 0..5 {
        pair.run_until(at(400 * block));
        pair.sender.write(1452);
    }
    pair.run_until(at(1_790));
    assert_eq!(pair.log.sent_times(2).len(), 1);
    pair.run_until(at(1_800));
    assert_eq!(pair.log.sent_times(2).len(), 2, "1 s after it was sent, whatever arrived since");
}

#[test]
fn a_round_trip_longer_than_the_timeout_is_learnt() {
    let mut pair = Pair::new(config(), &[3_000], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(120_000));
    assert!(pair.error().is_none());
    let early = pair.log.sent.iter().filter(|(time, _)| *time < at(20_000)).count();
    assert!(pair.log.delivered.len() > early, "it gets going");
    assert!(pair.path(0).rto > Duration::from_secs(3), "{}", pair.path(0).rto);
    let late: Vec<_> = pair.log.duplicates.iter().filter(|(time, _)| *time > at(60_000)).collect();
    assert!(late.is_empty(), "{late:?}");
}

#[test]
fn timeouts_of_several_paths_are_independent() {
    let mut pair = Pair::new(config(), &[20, 30], in_turns());
    pair.sender.write(6 * 1452);
    pair.cut(1, at(0), at(1_000));
    pair.run_until(at(3_000));
    assert_eq!(pair.sender.counters().timeouts, 1);
    assert!(pair.window(0) >= 3 && pair.path(0).loss_ppm == 0);
    assert_eq!(pair.path(1).rto, ms(2_000));
    assert_eq!(pair.log.delivered.len(), 6);
}
