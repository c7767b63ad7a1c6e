//! Cost of packets and acknowledgements under loss, measured by reads of the sender's state. It
//! must not depend on the size of the window.

use crate::common::{COUNTED, Fate, Pair, config, in_turns, mpquic_config, mptcp_config, ms};
use plait_sched::Duration;
use plait_transport::endpoint::Config;

const PAYLOAD: u64 = 1452;

/// Returns the reads per sent packet, and the number of sent packets. The transfer begins with a
/// window of `window` segments on each of two paths. `lose` returns how often a segment is lost.
fn looks(config: Config, window: u64, lose: fn(u64) -> u32) -> (f64, u64) {
    let mut config = config;
    let connection = match &mut config {
        Config::CmtSctp(config) => &mut config.connection,
        Config::Mptcp(config) => &mut config.connection,
        Config::Mpquic(config) => &mut config.connection,
    };
    connection.congestion.initial_window = window * COUNTED;
    connection.receive_window = 100 * window * COUNTED;
    // 2 · window packets take 100 ms, as long as the longer round-trip time.
    let mut pair =
        Pair::new(config, &[20, 100], in_turns()).spaced(Duration::from_nanos(100_000_000 / window));
    pair.script(move |judged| match judged.segment() {
        Some(segment) if judged.sent_before < lose(segment) => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.send_file(20 * window * PAYLOAD);
    pair.run_until(pair.now + ms(6_000_000));
    assert!(pair.sender.is_drained(), "{window}: {:?}", pair.error());
    let packets = pair.log.sent.len() as u64;
    assert_eq!(pair.sender.counters().undone_reductions, 0, "losses are losses");
    (pair.sender.looks() as f64 / packets as f64, packets)
}

/// Asserts that a packet of a window of 1600 segments costs at most 1.5 times one of a window of
/// 100, and that neither costs more than a hundred reads. Without losses SCTP needs some forty, for
/// transmission and acknowledgement.
#[expect(clippy::assertions_on_constants, reason = "tests can be built without debug assertions")]
fn assert_constant(config: impl Fn() -> Config, lose: fn(u64) -> u32, what: &str) {
    assert!(cfg!(debug_assertions), "looks are counted in builds with debug assertions only");
    let (small, large) = (looks(config(), 100, lose), looks(config(), 1_600, lose));
    println!("{what}: {:.1} looks per packet of {}, {:.1} of {}", small.0, small.1, large.0, large.1);
    let most = small.0.max(large.0);
    assert!(large.0 < 1.5 * small.0 && most < 100.0, "{what}: {small:?} and {large:?} looks per packet");
}

fn sctp() -> Config {
    config().into()
}

fn mptcp() -> Config {
    mptcp_config().into()
}

fn quic() -> Config {
    mpquic_config().into()
}

fn linux() -> Config {
    let mut config = mptcp_config();
    config.rules = plait_transport::mptcp::Rules::LINUX;
    config.into()
}

#[test]
fn without_losses() {
    assert_constant(sctp, |_| 0, "CMT-SCTP");
    assert_constant(mptcp, |_| 0, "MPTCP");
    assert_constant(linux, |_| 0, "Linux");
    assert_constant(quic, |_| 0, "Multipath QUIC");
}

#[test]
fn with_losses_here_and_there() {
    let lose = |segment| u32::from(segment % 97 == 50);
    assert_constant(sctp, lose, "CMT-SCTP");
    assert_constant(mptcp, lose, "MPTCP");
    assert_constant(linux, lose, "Linux");
    assert_constant(quic, lose, "Multipath QUIC");
}

/// The retransmission is lost too. With SCTP only the timer detects that; all other data is
/// acknowledged before.
#[test]
fn with_a_retransmission_that_is_lost() {
    let lose = |segment| if segment % 1_000 == 150 { 2 } else { 0 };
    assert_constant(sctp, lose, "CMT-SCTP");
    assert_constant(mptcp, lose, "MPTCP");
    assert_constant(linux, lose, "Linux");
    assert_constant(quic, lose, "Multipath QUIC");
}

/// Bursts of losses, some of them repeated: many holes at once.
#[test]
fn with_bursts_of_losses() {
    let lose = |segment| match segment % 2_000 {
        100..=140 if segment % 3 == 0 => 2,
        100..=140 => 1,
        _ => 0,
    };
    assert_constant(sctp, lose, "CMT-SCTP");
    assert_constant(mptcp, lose, "MPTCP");
    assert_constant(linux, lose, "Linux");
    assert_constant(quic, lose, "Multipath QUIC");
}
