//! Messages smaller than a packet, as in a call, with losses and outages: all protocols are
//! compared with Linux' MPTCP.

use crate::common::run;
use plait_sim::result::Metrics;

/// Protocols and profiles, each with the limit of its 95th percentile in units of Linux'
/// percentile.
///
/// CMT-SCTP detects a loss by three later packets (RFC 9260 §7.2.4), which takes 60 ms in a call.
/// The other protocols detect it a round trip later (RFC 8985, RFC 9002 §6.1.2). There is no other
/// difference.
const TRANSPORTS: [(&str, f64); 4] = [
    ("protocol = \"mptcp\", profile = \"linux\"", 1.0),
    ("protocol = \"mptcp\", profile = \"standard\"", 1.2),
    ("protocol = \"mpquic\"", 1.2),
    ("protocol = \"cmt-sctp\"", 2.2),
];

fn metrics(transport: &str, rest: &str) -> Metrics {
    run(&format!("transport = {{ {transport} }}\n{rest}")).metrics
}

fn two_paths(loss: &str, outages: &str) -> String {
    format!(
        "[[path]]\nrate = \"10Mbit\"\nrtt = \"40ms\"\nloss = \"{loss}\"\n{outages}\n\
         [[path]]\nrate = \"5Mbit\"\nrtt = \"60ms\"\nloss = \"{loss}\"\n{outages}\n"
    )
}

/// Compares the 95th percentile of each transport with that of the first, and checks that at most
/// `left_over` bytes are undelivered.
fn as_through_linux(rest: &str, left_over: u64, percentile: impl Fn(&Metrics) -> f64) {
    let mut linux = None;
    for (transport, most) in TRANSPORTS {
        let metrics = metrics(transport, rest);
        let p95 = percentile(&metrics);
        let linux = *linux.get_or_insert(p95);
        println!("{transport}: {p95:.1} ms, {} timeouts", metrics.counters.timeouts.unwrap_or_default());
        assert!(p95 <= most * linux, "{transport}: {p95} ms, through Linux' {linux} ms\n{rest}");
        let left = metrics.undelivered_bytes.unwrap_or_default();
        assert!(left <= left_over, "{transport}: {left} bytes left over\n{rest}");
    }
}

#[test]
fn a_call_with_losses() {
    for loss in ["0.5%", "2%"] {
        let workload = "workload = { kind = \"cbr\", rate = \"64kbit\", block = \"160B\", stop = \"300s\" }";
        let rest = format!("duration = \"330s\"\n{workload}\n{}", two_paths(loss, ""));
        as_through_linux(&rest, 0, |metrics| {
            metrics.block_delay_ms.as_ref().map_or(f64::MAX, |delay| delay.p95)
        });
    }
}

#[test]
fn requests_with_losses() {
    let workload = "workload = { kind = \"request-response\", request = \"200B\", response = \"600B\", think = \"20ms\", parallel = 4 }";
    let rest = format!("duration = \"300s\"\n{workload}\n{}", two_paths("1%", ""));
    as_through_linux(&rest, 4 * 600, |metrics| {
        metrics.request_latency_ms.as_ref().map_or(f64::MAX, |delay| delay.p95)
    });
}

/// After an outage, a window of one packet grows again for messages of any size, and all data is
/// delivered.
#[test]
fn a_call_with_an_outage() {
    for (rate, block) in [("64kbit", "160B"), ("1Mbit", "150B"), ("1Mbit", "1000B")] {
        let workload = format!(
            "workload = {{ kind = \"cbr\", rate = \"{rate}\", block = \"{block}\", stop = \"200s\" }}"
        );
        let outage = "outages = [{ from = \"5s\", to = \"7s\" }]";
        let rest = format!("duration = \"260s\"\n{workload}\n{}", two_paths("0%", outage));
        as_through_linux(&rest, 0, |metrics| {
            metrics.block_delay_ms.as_ref().map_or(f64::MAX, |delay| delay.p95)
        });
    }
}

/// Waiting messages leave together: a backlog of small messages takes only its protocol's headers
/// in addition.
#[test]
fn a_backlog_of_small_messages_fills_packets() {
    // Payload of a full packet of 1500 bytes, and the header of each message in it.
    for (transport, payload, header) in [
        ("protocol = \"mptcp\", profile = \"linux\"", 1424.0, 0.0),
        ("protocol = \"mptcp\", profile = \"standard\"", 1428.0, 0.0),
        ("protocol = \"mpquic\"", 1433.0, 0.0),
        ("protocol = \"cmt-sctp\"", 1452.0 + 16.0, 16.0),
    ] {
        let block = 45.0;
        let metrics = metrics(
            transport,
            "duration = \"40s\"\nwarmup = \"10s\"\nworkload = { kind = \"cbr\", rate = \"2Mbit\", block = \"45B\" }\n\
             [[path]]\nrate = \"1Mbit\"\nrtt = \"40ms\"\nqueue = \"infinite\"",
        );
        let bound = 1e6 * payload / 1500.0 * block / (block + header);
        let share = metrics.goodput_bps / bound;
        assert!((0.95..=1.001).contains(&share), "{transport}: {share} of {bound} bit/s");
    }
}
