//! Copies of segments on several paths of CMT-SCTP: the copy that arrives, and the state of the
//! others.

use crate::common::{Fate, Pair, Way, at, config, ms, segments};
use plait_sched::{Builtin, Duration};

fn redundant() -> Builtin {
    Builtin::new("redundant", &[]).expect("a built-in scheduler")
}

/// The fast path's acknowledgements come long before the slow path's copies arrive. They must not
/// make space for more copies.
#[test]
fn copies_on_a_slow_path_stay_in_flight_until_they_arrive() {
    let mut config = config();
    config.connection.congestion.initial_threshold = segments(4);
    let mut pair = Pair::new(config, &[20, 2_000], redundant()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.run_until(at(990));
    let on_slow = pair.log.sent_on(1, at(0));
    assert!(pair.log.sent_on(0, at(0)) > 50);
    assert!(on_slow <= 4, "{on_slow} packets left on a path that has not answered once");
    assert_eq!(pair.path(1).in_flight as usize, on_slow);
}

/// A copy's own acknowledgement reports it as a duplicate on its own path, which gives that path a
/// round-trip sample.
#[test]
fn a_reported_copy_tells_its_paths_round_trip() {
    let mut config = config();
    config.connection.receive_window = segments(100);
    let mut pair = Pair::new(config, &[20, 300], redundant()).spaced(ms(1) / 2);
    pair.sender.write_endlessly();
    pair.run_until(at(5_000));
    let [fast, slow] = [0, 1].map(|path| pair.path(path).srtt);
    assert!(slow >= ms(300) && slow < ms(400), "{slow}");
    assert!(fast < ms(100), "{fast}");
    assert_eq!(pair.sender.counters().timeouts, 0);
}

/// Lost copies of segments that have arrived leave the data in flight, and are not retransmitted.
/// Their loss may stay unnoticed, as in real SCTP, where an acknowledged TSN is not outstanding.
#[test]
fn lost_copies_are_not_sent_again() {
    let mut config = config();
    config.connection.congestion.initial_window = segments(20);
    let mut pair = Pair::new(config, &[20, 200], redundant()).spaced(Duration::from_millis(2));
    let mut on_second = 0;
    pair.script(move |judged| {
        on_second += u32::from(judged.path == 1 && judged.segment().is_some());
        if judged.path == 1 && judged.segment().is_some() && on_second == 60 {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    pair.sender.write_endlessly();
    pair.run_until(at(10_000));
    assert_eq!((pair.log.retransmitted(), pair.sender.counters().timeouts), (vec![], 0));
}

/// The slow path is ahead at times, since the fast path has losses and small windows. SACKs of the
/// fast path report its new data sooner than its own SACKs report its earlier duplicates.
#[test]
fn duplicates_that_were_not_reported_yet_are_not_missing() {
    let mut config = config();
    config.connection.receive_window = segments(1000);
    let mut pair = Pair::new(config, &[30, 330], redundant()).spaced(Duration::from_micros(300));
    let mut on_fast = 0;
    pair.script(move |judged| {
        on_fast += u32::from(judged.path == 0 && judged.segment().is_some());
        let drop = judged.path == 0 && judged.segment().is_some() && on_fast % 24 == 0;
        if drop { Fate::Drop } else { Fate::Pass }
    });
    let threshold = pair.path(1).ssthresh;
    pair.sender.write_endlessly();
    pair.run_until(at(2_500));
    assert!(pair.log.retransmitted().len() > 5, "the fast path repairs its losses");
    assert_eq!(pair.path(1).ssthresh, threshold, "the slow path lost nothing");
}

/// SACKs of a narrow path with a short way back report several packets of a wide path at once. A
/// window grows by at most one packet per SACK. The wide path's slow start must not suffer.
#[test]
fn beside_copies_a_path_starts_as_fast_as_alone() {
    let mut config = config();
    config.connection.receive_window = segments(1000);
    let windows = [&[300][..], &[300, 20]].map(|paths| {
        let mut pair = Pair::new(config.clone(), paths, redundant()).spaced(ms(1));
        let mut on_narrow = 0;
        pair.script(move |judged| {
            if judged.path == 0 || judged.way == Way::Backward {
                return Fate::Pass;
            }
            // One packet in 60 ms, from the arrival of the wide path's first packet on.
            on_narrow += 1;
            Fate::Late(at(145 + 60 * on_narrow).since(judged.now))
        });
        pair.sender.write_endlessly();
        pair.run_until(at(1_350));
        pair.window(0)
    });
    assert!(windows[1] >= windows[0] && windows[0] > 20, "{windows:?}");
}
