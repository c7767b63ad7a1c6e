//! Pacing of windows by RFC 9002 §7.7.

use crate::common::{Pair, at, in_turns, mpquic_config, ms};
use plait_transport::mpquic::Config;

/// How many of the 20 packets of the second round trip leave at its begin, and when the last of
/// them leaves after it, in milliseconds. Acknowledgements of the first round trip of 100 ms arrive
/// together.
fn second_round(pacing: bool) -> (usize, u64) {
    let mut pair = Pair::new(Config { pacing, ..mpquic_config() }, &[100], in_turns());
    pair.send_file(400_000);
    pair.run_until(at(3_000));
    assert!(pair.sender.is_drained() && pair.error().is_none());
    let times: Vec<_> = (10..30).map(|segment| pair.log.sent_times(segment)[0].0).collect();
    let last = times[19].since(at(100)).as_nanos() / ms(1).as_nanos();
    (times.iter().filter(|&&time| time == at(100)).count(), last)
}

#[test]
fn a_window_leaves_over_a_round_trip_but_for_an_initial_window() {
    assert_eq!(second_round(false), (20, 0));
    let (at_once, last) = second_round(true);
    // The rate is 20 packets in 80 ms, and less while the window is smaller.
    assert!((1..=11).contains(&at_once) && (20..=80).contains(&last), "{at_once} at once, {last} ms");
}
