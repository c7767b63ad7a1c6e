//! Timeouts: the necessary number in an outage, and none without losses.

use crate::common::{run, run_with};
use plait_sched::{Duration, SCHEDULERS, Time};
use plait_sim::recorder::RecordOptions;

const TRANSPORTS: [&str; 4] = [
    "protocol = \"cmt-sctp\"",
    "protocol = \"mptcp\", profile = \"standard\"",
    "protocol = \"mptcp\", profile = \"linux\"",
    "protocol = \"mpquic\"",
];

/// Number of timeouts: a timer that doubles expires n times in (2ⁿ − 1) timeouts.
fn least_timeouts(outage: f64, timeout: f64) -> u32 {
    ((outage / timeout + 1.0).log2().floor() as u32).max(1)
}

/// One path with ten cuts. Each cut costs the necessary number of timeouts, and one more, since a
/// timer may have started before the cut.
#[test]
fn an_outage_costs_the_timeouts_that_it_must() {
    // The timeout on a full path of 40 ms. Linux' and QUIC's timeouts have no minimum of a second.
    for (transport, timeout) in TRANSPORTS.into_iter().zip([1.0, 1.0, 0.24, 0.08]) {
        for length in ["300ms", "1s", "3s"] {
            let seconds = if length == "300ms" { 0.3 } else { length.trim_end_matches('s').parse().unwrap() };
            let metrics = run(&format!(
                "duration = \"205s\"\ntransport = {{ {transport}, receive_buffer = \"6MiB\" }}\n\
                 [[path]]\nrate = \"10Mbit\"\nrtt = \"40ms\"\n\
                 outages = {{ every = \"20s\", length = \"{length}\", first = \"5s\" }}"
            ))
            .metrics;
            let (timeouts, least) = (metrics.counters.timeouts.unwrap(), least_timeouts(seconds, timeout));
            println!(
                "{transport}, {length}: {timeouts} timeouts, {least} for each cut; {} bit/s",
                metrics.goodput_bps
            );
            assert!(timeouts <= 10 * (u64::from(least) + 1), "{transport}, {length}: {timeouts} timeouts");
            // Between cuts of 3 s, the path works for 17 of 20 s.
            assert!(metrics.goodput_bps > 6.3e6, "{transport}, {length}: {} bit/s", metrics.goodput_bps);
        }
    }
}

/// When a path answers again, its probe timeout follows from its round trips, after any number of
/// timeouts.
#[test]
fn a_path_that_answers_again_has_no_back_off() {
    let goodput = |second: &str| {
        run(&format!(
            "duration = \"170s\"\nwarmup = \"100s\"\ntransport = {{ protocol = \"mpquic\", receive_buffer = \"6MiB\" }}\n\
             [[path]]\nrate = \"4Mbit\"\nrtt = \"40ms\"\n[[path]]\nrate = \"4Mbit\"\nrtt = \"50ms\"\n\
             outages = [{{ from = \"10s\", to = \"70s\" }}{second}]"
        ))
        .metrics
        .goodput_bps
    };
    let (once, again) = (goodput(""), goodput(", { from = \"99.99s\", to = \"100.3s\" }"));
    assert!(again > 0.97 * once, "{again} bit/s; {once} without the second cut");
}

/// RFC 6298's G: on a steady path, the timer does not expire when the acknowledgement arrives.
#[test]
fn a_steady_path_has_no_timeouts() {
    for transport in TRANSPORTS {
        for (rtt, block, rest) in [
            ("1100ms", "2s", ""),
            ("1500ms", "2s", ""),
            ("20ms", "100ms", ", rto_min = \"10ms\", rto_initial = \"1s\""),
        ] {
            // QUIC's timeout has no minimum.
            let rest = if transport.contains("mpquic") { "" } else { rest };
            let rate = if block == "2s" { "4kbit" } else { "80kbit" };
            let metrics = run(&format!(
                "duration = \"410s\"\ntransport = {{ {transport}{rest} }}\n\
                 workload = {{ kind = \"cbr\", rate = \"{rate}\", block = \"1000B\", stop = \"400s\" }}\n\
                 [[path]]\nrate = \"10Mbit\"\nrtt = \"{rtt}\""
            ))
            .metrics;
            // Before the first sample, a round trip of more than a second may cost a timeout.
            assert!(
                metrics.counters.timeouts <= Some(1),
                "{transport}, {rtt}: {:?} timeouts",
                metrics.counters.timeouts
            );
        }
    }
}

/// There are no losses. No queue holds more than 0.4 s, which together with the path's round trip
/// is less than the shortest timeout. No timer expires, and no window is at one packet after the
/// tenth second.
#[test]
fn without_losses_there_is_no_timeout_and_no_window_of_one_packet() {
    const SERIES: RecordOptions = RecordOptions {
        packets: false,
        series: Some(Duration::from_millis(100)),
        decisions: false,
        decisions_from: Time::ZERO,
    };
    for transport in TRANSPORTS {
        for scheduler in SCHEDULERS.iter().map(|info| info.name) {
            for every in [1, 2] {
                let result = run_with(
                    &format!(
                        "duration = \"30s\"\nscheduler = \"{scheduler}\"\n\
                         transport = {{ {transport}, receive_buffer = \"100kB\", ack_every = {every} }}\n\
                         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
                         [[path]]\nforward = {{ rate = \"2Mbit\", delay = \"15ms\", queue = \"infinite\" }}\n\
                         backward = {{ rate = \"2Mbit\", delay = \"285ms\" }}"
                    ),
                    &SERIES,
                );
                let timeouts = result.metrics.counters.timeouts.unwrap_or_default();
                // QUIC's probe timeout has no minimum: a queue may grow faster than round trips are
                // measured.
                let most = if transport.contains("mpquic") { 2 } else { 0 };
                assert!(timeouts <= most, "{transport}, {scheduler}, ack_every {every}: {timeouts} timeouts");
                let series = result.path_series.unwrap();
                for row in 0..series.time.len() {
                    let late = series.time[row] > 10_000_000_000;
                    assert!(
                        !late || series.cwnd[row] > 1.0,
                        "{transport}, {scheduler}, ack_every {every}: path {} at {} ns",
                        series.path[row],
                        series.time[row]
                    );
                }
            }
        }
    }
}

/// An original that its copy overtook leaves the data in flight: penalties and copies alone silence
/// no path.
#[test]
fn penalties_and_copies_silence_no_path_of_cmt_sctp() {
    for (scheduler, every) in [("round-robin+rp", 1), ("round-robin+rp", 2), ("sttf+rp", 2), ("redundant", 1)]
    {
        let result = run(&format!(
            "duration = \"60s\"\nwarmup = \"10s\"\nscheduler = \"{scheduler}\"\n\
             transport = {{ protocol = \"cmt-sctp\", receive_buffer = \"64kB\", ack_every = {every} }}\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
             [[path]]\nforward = {{ rate = \"2Mbit\", delay = \"15ms\", queue = \"infinite\" }}\n\
             backward = {{ rate = \"2Mbit\", delay = \"285ms\" }}"
        ));
        let share = result.metrics.goodput_bps / (12e6 * 1452.0 / 1500.0);
        println!("{scheduler}, {every}: {share:.3} of both paths");
        assert_eq!(result.metrics.counters.timeouts, Some(0), "{scheduler}, {every}");
        assert!(share > 0.75, "{scheduler}, {every}: {share}");
    }
}
