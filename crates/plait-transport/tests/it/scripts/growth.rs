//! Congestion windows: slow start, congestion avoidance, CMT's own rule, idleness, bursts.

use crate::common::{Pair, at, by_key, config, in_turns, ms, segments};
use plait_sched::Time;

/// Returns the window at the end of each round trip.
fn rounds(pair: &mut Pair, count: u64, round_trip: u64) -> Vec<u64> {
    (1..=count)
        .map(|round| {
            pair.run_until(at(round * round_trip));
            pair.window(0)
        })
        .collect()
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.write_endlessly();
    assert_eq!(rounds(&mut pair, 6, 20), [6, 12, 24, 48, 96, 192]);
}

#[test]
fn delayed_acknowledgements_slow_the_start_down() {
    let mut config = config();
    config.ack_every = 2;
    config.connection.congestion.initial_window = segments(4);
    let mut pair = Pair::new(config, &[20], in_turns());
    pair.sender.write_endlessly();
    assert_eq!(rounds(&mut pair, 3, 20), [6, 9, 13], "one segment per acknowledgement");
}

#[test]
fn congestion_avoidance_adds_one_segment_per_round_trip() {
    let mut config = config();
    config.connection.congestion.initial_threshold = segments(10);
    let mut pair = Pair::new(config, &[20], in_turns());
    pair.sender.write_endlessly();
    // At the threshold, slow start still applies.
    assert_eq!(rounds(&mut pair, 6, 20), [6, 11, 12, 13, 14, 15]);
}

#[test]
fn a_path_grows_although_the_cumulative_acknowledgement_stands_still() {
    let mut pair = Pair::new(config(), &[2_000, 20], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(100));
    assert_eq!(pair.receiver.reassembly().next_expected(), 0, "the first segment is still under way");
    assert_eq!((pair.window(0), pair.window(1)), (3, 96));
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    for round in 0..20 {
        pair.sender.write(1452);
        pair.run_until(at(20 * (round + 1)));
    }
    assert_eq!(pair.window(0), 3);
}

/// Five segments are in flight, which a window of three full segments admits: each has two thirds
/// of a full segment. The window is full then, and grows until it is not.
#[test]
fn small_segments_grow_a_window_that_their_bytes_fill_and_no_further() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    for write in 1..=100 {
        pair.sender.write(1000);
        pair.run_until(at(4 * write));
    }
    let (window, _) = pair.sender.window(plait_sched::PathId(0));
    assert!((5 * 1_016..6 * 1_016).contains(&window), "{window}");
    assert!(pair.sender.connection().unassigned == 0);
}

#[test]
fn a_loss_halves_the_window_once_per_window_of_data() {
    let mut pair = Pair::new(config(), &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    pair.lose_once(&[100, 103, 108]);
    pair.run_until(at(1_000));
    assert_eq!(pair.log.retransmitted(), [100, 103, 108]);
    let threshold = pair.sender.window(plait_sched::PathId(0)).1;
    // 100 was sent in the round of segments 93–188, and detected as lost once 101, 102 and 104 had
    // arrived. The window was then between 96 and 192 segments.
    assert!((segments(48)..segments(97)).contains(&threshold), "{threshold}");
}

#[test]
fn losses_in_two_windows_halve_twice() {
    let mut config = config();
    config.connection.congestion.initial_window = segments(64);
    config.connection.congestion.initial_threshold = segments(64);
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    pair.lose_once(&[10]);
    pair.run_until(at(60));
    assert!((32..=33).contains(&pair.window(0)), "{}", pair.window(0));
    pair.lose_once(&[200]);
    pair.run_until(at(200));
    assert!((17..24).contains(&pair.window(0)), "{}", pair.window(0));
}

#[test]
fn idleness_halves_the_window_once_per_timeout_down_to_four_segments() {
    let after_a_pause = |pause: u64| {
        let mut pair = Pair::new(config(), &[20], in_turns());
        pair.sender.write(1452 * (3 + 6 + 12 + 24));
        pair.run_until(at(80));
        assert_eq!((pair.window(0), pair.path(0).in_flight), (25, 0), "the last round was not full");
        pair.run_until(at(60 + pause));
        pair.sender.write(1);
        pair.run_until(at(60 + pause));
        pair.window(0)
    };
    // Data was last sent at 60 ms, and the timeout is RTO.min, 1 s.
    assert_eq!(after_a_pause(999), 25);
    assert_eq!(after_a_pause(1_000), 12);
    assert_eq!(after_a_pause(2_500), 6);
    assert_eq!(after_a_pause(29_000), 4);
}

#[test]
fn a_burst_limit_bounds_what_one_event_releases() {
    let mut config = config();
    config.connection.congestion.initial_window = segments(48);
    config.connection.max_burst = 4;
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    pair.run_until(at(500));
    let mut moments: Vec<Time> = pair.log.sent.iter().map(|(time, _)| *time).collect();
    assert_eq!(moments.iter().filter(|time| **time == Time::ZERO).count(), 4);
    moments.dedup();
    for moment in moments {
        let burst = pair.log.sent.iter().filter(|(time, _)| *time == moment).count();
        assert!(burst <= 5, "{burst} packets at {moment}: one is acknowledged, four may burst");
    }
    assert!(pair.window(0) >= 48, "the limit is not a loss");
}

#[test]
fn the_window_may_be_exceeded_by_less_than_a_segment() {
    let mut config = config();
    config.connection.congestion.initial_window = segments(3) - 1;
    let mut pair = Pair::new(config, &[20], by_key(|path| u64::from(path.id.0)));
    pair.sender.write_endlessly();
    pair.run_until(at(1));
    assert_eq!((pair.path(0).cwnd, pair.path(0).in_flight), (3, 3));
}
