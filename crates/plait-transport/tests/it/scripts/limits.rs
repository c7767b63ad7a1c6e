//! Limits that a scheduler sets below the congestion window.

use crate::common::{By, Fate, Pair, at, config, segments};
use plait_sched::{Connection, Decision, Path, PathId, Time};

/// Limits path 0 to `most` segments in flight at the start, lifts the limit at 500 ms, and assigns
/// everything to path 0.
fn limited(most: u32) -> Pair {
    let mut limits = vec![(at(500), u32::MAX), (at(0), most)];
    let scheduler = By(move |now: Time, connection: &Connection, _: &[Path]| {
        if limits.last().is_some_and(|(from, _)| *from <= now) {
            let (_, in_flight) = limits.pop().expect("there is a last one");
            return Decision::Limit { path: PathId(0), in_flight };
        }
        match connection.unassigned.min(connection.window_left) {
            0 => Decision::WAIT,
            some => Decision::Assign { path: PathId(0), segments: some as u32 },
        }
    });
    let mut config = config();
    config.connection.congestion.initial_window = segments(20);
    let mut pair = Pair::new(config, &[20], scheduler);
    pair.send_file(2_000 * 1452);
    pair
}

#[test]
fn no_more_than_the_limit_is_in_flight_until_it_is_lifted() {
    let mut pair = limited(4);
    for millis in 0..500 {
        pair.run_until(at(millis));
        assert!((1..=4).contains(&pair.path(0).in_flight));
    }
    assert_eq!(pair.window(0), 20, "a window that the limit keeps from being used does not grow");
    pair.run_until(at(530));
    assert!(pair.path(0).in_flight >= 20);
    pair.run_until(at(5_000));
    assert_eq!(pair.log.delivered.len(), 2_000);
}

#[test]
fn retransmissions_pass_the_limit() {
    let mut pair = limited(4);
    pair.script(|judged| match judged.segment() {
        Some(0) if judged.sent_before == 0 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.run_until(at(60));
    assert!(pair.log.delivered.len() >= 4, "segment 0 was sent again although four were in flight");
}
