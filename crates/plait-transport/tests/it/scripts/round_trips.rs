//! Round-trip times of a path, as schedulers see them.

use crate::common::{Fate, Pair, at, config, in_turns, mptcp_config, ms, segments};
use plait_transport::ConnectionConfig;
use plait_transport::cmt_sctp::{Config, WindowAccounting};
use plait_transport::endpoint;

/// A receive window of eight segments: no queue delays any packet by more than eight milliseconds.
fn narrow() -> Config {
    let connection = ConnectionConfig { receive_window: segments(8), ..config().connection };
    Config { connection, accounting: WindowAccounting::Outstanding, ..config() }
}

/// Returns both ends over 20 and 100 ms after three seconds, with packets in turns.
fn settled(config: impl Into<endpoint::Config>) -> Pair {
    let mut pair = Pair::new(config, &[20, 100], in_turns()).spaced(ms(1));
    pair.sender.write_endlessly();
    pair.run_until(at(3_000));
    pair
}

/// Data of the long path is acknowledged 10 ms after its arrival over the short path, and 50 ms
/// after it over its own.
#[test]
fn an_own_round_trip_goes_both_ways_over_the_path() {
    let pair = settled(narrow());
    let (short, long) = (pair.path(0), pair.path(1));
    assert!(long.srtt < ms(80), "there by the long path, back by the short one: {}", long.srtt);
    assert!((ms(100)..ms(110)).contains(&long.own_rtt), "{}", long.own_rtt);
    assert!((ms(20)..ms(24)).contains(&short.min_rtt), "{}", short.min_rtt);
    assert!((ms(100)..ms(104)).contains(&long.min_rtt), "{}", long.min_rtt);
}

/// Half of the acknowledgements for the long path's data go back over the other path, because the
/// second packet is one of that path.
#[test]
fn delayed_acknowledgements_do_not_lengthen_it() {
    let pair = settled(Config { ack_every: 2, delayed_ack_for_cmt: true, ..narrow() });
    assert!((ms(100)..ms(112)).contains(&pair.path(1).own_rtt), "{}", pair.path(1).own_rtt);
}

#[test]
fn a_subflow_acknowledges_for_itself() {
    let pair = settled(mptcp_config());
    for path in 0..2 {
        assert_eq!(pair.path(path).own_rtt, pair.path(path).srtt);
    }
}

/// A copy that arrives over the short path before its original on the long one must not count as
/// the original's arrival.
#[test]
fn what_was_sent_again_never_shortens_it() {
    for every in 3..40 {
        let mut pair = Pair::new(config(), &[20, 100], in_turns()).spaced(ms(1));
        let mut packets = 0_u32;
        pair.script(move |judged| {
            packets += 1;
            match packets % every {
                0 => Fate::Drop,
                1 if judged.path == 1 => Fate::Late(ms(700)),
                _ => Fate::Pass,
            }
        });
        pair.sender.write_endlessly();
        pair.run_until(at(20_000));
        let (short, long) = (pair.path(0), pair.path(1));
        assert!(
            short.min_rtt >= ms(20) && long.min_rtt >= ms(100),
            "{every}: {}, {}",
            short.min_rtt,
            long.min_rtt
        );
        assert!(!long.min_rtt.is_zero(), "{every}");
    }
}
