//! Split fast retransmit: a loss is detected by later arrivals on the same path only.

use crate::common::{Fate, Pair, at, config, in_turns, ms, segments};
use plait_sched::Duration;
use plait_transport::cmt_sctp::Config;

fn with_window(initial: u64) -> Config {
    let mut config = config();
    config.connection.congestion.initial_window = segments(initial);
    config
}

#[test]
fn a_loss_is_sent_again_at_the_third_report() {
    let mut pair = Pair::new(with_window(10), &[20], in_turns()).spaced(ms(1));
    pair.send_file(10 * 1452);
    pair.lose_once(&[3]);
    pair.run_until(at(500));
    // Segments 4, 5 and 6 take places 4, 5 and 6 on the wire. The acknowledgement of place n leaves
    // at n + 10 ms and arrives 1 + 10 ms later.
    assert_eq!(pair.log.sent_times(3), [(at(0), 0), (at(6 + 10 + 11), 0)]);
    assert_eq!(pair.log.retransmitted(), [3]);
    assert_eq!(pair.window(0), 5);
    assert!(pair.sender.is_drained());
}

#[test]
fn two_reports_are_not_enough() {
    let mut pair = Pair::new(with_window(10), &[20], in_turns()).spaced(ms(1));
    pair.send_file(6 * 1452);
    pair.lose_once(&[3]);
    pair.run_until(at(900));
    assert!(pair.log.retransmitted().is_empty());
    pair.run_until(at(2_000));
    assert_eq!((pair.sender.counters().timeouts, pair.log.retransmitted()), (1, vec![3]));
}

#[test]
fn in_recovery_an_advance_reports_all_missing_segments() {
    let mut pair = Pair::new(with_window(10), &[20], in_turns()).spaced(ms(1));
    pair.send_file(10 * 1452);
    pair.lose_once(&[3, 7]);
    pair.run_until(at(900));
    // Segment 3 leaves again at 27 ms. Only 8 and 9 are later than 7. The third report is the
    // acknowledgement of 3, which comes a round trip and two spacings later.
    assert_eq!(pair.log.sent_times(7), [(at(0), 0), (at(27 + 11 + 11), 0)]);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn advances_by_another_path_report_nothing_in_recovery() {
    // Path 1 loses 9 and 17; of its segments, only 19 is later than 17. The segments of path 0
    // arrive after all of path 1, and each advances the cumulative number up to 9.
    let mut pair = Pair::new(with_window(10), &[200, 20], in_turns()).spaced(ms(1));
    pair.send_file(20 * 1452);
    pair.lose_once(&[9, 17]);
    pair.run_until(at(900));
    assert_eq!(pair.log.retransmitted(), [9]);
}

#[test]
fn the_threshold_can_be_set() {
    let mut config = with_window(10);
    config.fast_retransmit_threshold = 1;
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    pair.send_file(10 * 1452);
    pair.lose_once(&[3]);
    pair.run_until(at(500));
    assert_eq!(pair.log.sent_times(3), [(at(0), 0), (at(4 + 10 + 11), 0)]);
}

#[test]
fn reordering_between_paths_is_no_loss() {
    let mut pair = Pair::new(config(), &[20, 300, 90], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.run_until(at(3_000));
    assert!(pair.receiver.reassembly().waiting().len() > 10, "the paths do reorder");
    assert_eq!(pair.sender.counters().retransmissions, 0);
    assert!(pair.log.duplicates.is_empty());
}

#[test]
fn a_loss_on_one_path_is_not_reported_by_another() {
    // Path 1 carries segments 1 and 3; 1 is lost, and 3 is the only later segment of its path.
    let mut pair = Pair::new(config(), &[20, 20], in_turns()).spaced(ms(1));
    pair.send_file(6 * 1452);
    pair.script(
        |judged| if judged.segment() == Some(1) && judged.sent_before == 0 { Fate::Drop } else { Fate::Pass },
    );
    pair.run_until(at(900));
    assert!(pair.log.retransmitted().is_empty());
}

#[test]
fn slight_reordering_on_a_path_is_tolerated() {
    let late = |by: Duration| {
        let mut pair = Pair::new(with_window(10), &[20], in_turns()).spaced(ms(1));
        pair.send_file(10 * 1452);
        pair.script(move |judged| if judged.segment() == Some(3) { Fate::Late(by) } else { Fate::Pass });
        pair.run_until(at(2_000));
        assert!(pair.sender.is_drained());
        (pair.sender.counters().retransmissions, pair.sender.counters().spurious_retransmissions)
    };
    assert_eq!(late(ms(5) / 2), (0, 0), "overtaken by two");
    assert_eq!(late(ms(7) / 2), (1, 1), "overtaken by three: sent again in vain, and known to be");
}

#[test]
fn a_second_loss_of_a_segment_waits_for_the_timer() {
    let mut pair = Pair::new(with_window(10), &[20], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.script(|judged| match judged.segment() {
        Some(3) if judged.sent_before < 2 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.run_until(at(3_000));
    let times = pair.log.sent_times(3);
    let second = at(6 + 10 + 11);
    assert_eq!((times.len(), times[1].0), (3, second));
    // The timer was last set when the older transmissions were acknowledged, at most a round trip
    // later.
    let wait = times[2].0.since(second);
    assert!((ms(1_000)..=ms(1_040)).contains(&wait), "{wait}");
    assert_eq!(pair.sender.counters().timeouts, 1);
}

#[test]
fn the_window_does_not_hold_back_the_first_retransmission() {
    let mut pair = Pair::new(with_window(40), &[20], in_turns()).spaced(ms(1) / 10);
    pair.sender.write_endlessly();
    pair.lose_once(&[3]);
    pair.run_until(at(22));
    assert_eq!(pair.log.sent_times(3).len(), 2);
    assert!(u64::from(pair.path(0).in_flight) > pair.window(0), "although more is in flight than the window");
}

#[test]
fn nor_does_the_window_of_another_path() {
    let mut pair = Pair::new(with_window(10), &[20, 200], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.lose_once(&[4]);
    pair.run_until(at(27));
    assert!(pair.window(1) > pair.window(0), "the retransmission takes the larger window");
    // Segments 6, 8 and 10 take places 3 to 5 on path 0. Path 1 has no acknowledgement yet, so its
    // window is full.
    assert_eq!(pair.log.sent_times(4), [(at(0), 0), (at(5 + 10 + 11), 1)]);
}

#[test]
fn the_timer_starts_anew_with_the_retransmission() {
    // With a steady round trip of 200 ms the timeout approaches 200 ms; a retransmission after one
    // round trip needs another.
    let mut config = with_window(10);
    config.connection.rto.min = ms(1);
    let mut pair = Pair::new(config, &[200], in_turns());
    for round in 0..60 {
        pair.sender.write(1452);
        pair.run_until(at(200 * (round + 1)));
    }
    assert!(pair.path(0).rto < ms(250), "{}", pair.path(0).rto);
    pair.sender.write(4 * 1452);
    pair.lose_once(&[60]);
    pair.run_for(2_000);
    assert_eq!(pair.log.retransmitted(), [60]);
    assert_eq!(pair.sender.counters().timeouts, 0);
}

#[test]
fn a_window_grows_again_only_after_the_losses_are_repaired() {
    let largest_in_recovery = |grow_in_recovery: bool| {
        let mut config = with_window(40);
        config.connection.congestion.initial_threshold = segments(40);
        config.connection.grow_in_recovery = grow_in_recovery;
        let mut pair = Pair::new(config, &[100], in_turns()).spaced(ms(1));
        pair.sender.write_endlessly();
        pair.lose_once(&[0, 20, 39]);
        // Detected as lost at about 104, 124 and 143 ms; repaired a round trip later.
        pair.run_until(at(200));
        pair.window(0)
    };
    assert_eq!(largest_in_recovery(false), 20);
    assert!(largest_in_recovery(true) > 20);
}
