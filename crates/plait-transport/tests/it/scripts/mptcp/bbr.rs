//! BBR, and an application that sends less than the path carries.

use super::linux::{PAYLOAD, linux};
use crate::common::{Pair, in_turns, mptcp_config, ms};
use plait_transport::congestion::Algorithm;
use plait_transport::mptcp::{Config, Rules};

/// The path carries a segment per millisecond, in bits per second.
const RATE: u64 = 8 * 1000 * PAYLOAD;

fn config(rules: Rules, multipath: bool) -> Config {
    let base = if rules == Rules::LINUX { linux() } else { mptcp_config() };
    let mut config = Config { multipath, ..base };
    config.connection.congestion.algorithm = Algorithm::Bbr;
    config.connection.joined_writes = true;
    config
}

/// The pacing rate after two seconds of full segments, and after five more of a segment each 100 ms.
fn rates(config: Config) -> (u64, u64) {
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    pair.sender.write(2000 * PAYLOAD);
    pair.run_for(2200);
    assert!(pair.sender.is_drained());
    let full = pair.path(0).pacing_rate.expect("BBR states a rate");
    for _ in 0..50 {
        pair.sender.write(1000);
        pair.run_for(100);
    }
    (full, pair.path(0).pacing_rate.expect("BBR states a rate"))
}

/// `tcp_rate_check_app_limited`: the samples of packets that leave after a write into an empty queue
/// do not count.
#[test]
fn an_application_that_sends_little_does_not_lower_the_rate_of_tcp() {
    for rules in [Rules::STANDARD, Rules::LINUX] {
        let (full, later) = rates(config(rules, false));
        assert!(full > RATE * 7 / 10 && later > RATE * 7 / 10, "{full}, {later} of {RATE}");
    }
}

/// Linux' MPTCP writes into its subflows without that check.
#[test]
fn an_application_that_sends_little_lowers_the_rate_of_linux_mptcp_alone() {
    let (full, later) = rates(config(Rules::LINUX, true));
    assert!(full > RATE * 7 / 10 && later < RATE / 5, "{full}, {later} of {RATE}");
    let (_, later) = rates(config(Rules::STANDARD, true));
    assert!(later > RATE * 7 / 10, "{later} of {RATE}");
}
