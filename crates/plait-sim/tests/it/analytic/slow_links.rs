//! With the default queue, every transport fills a slow link.

use crate::common::run;
use plait_transport::congestion::{Algorithm, Family};

/// The goodput of bulk data over one path without random losses, as a share of the payload rate of
/// full packets.
fn filled(transport: &str, rate: u64, rtt_ms: u64) -> f64 {
    let result = run(&format!(
        "duration = \"120s\"\nwarmup = \"20s\"\nscheduler = \"lowest-rtt\"\ntransport = {{ {transport} }}\n\
         [[path]]\nrate = \"{rate}bit\"\nrtt = \"{rtt_ms}ms\"\n"
    ));
    // 1440 bytes of payload in a packet of 1500 bytes; the transports have 1428 to 1452.
    result.metrics.goodput_bps / (rate as f64 * 1440.0 / 1500.0)
}

#[test]
fn every_transport_fills_nine_tenths_of_any_slow_link() {
    let of = |words: &'static str, family| {
        let names = Algorithm::names(Some(family)).into_iter();
        names.map(move |name| format!("{words}, congestion_control = \"{name}\""))
    };
    let transports = of("protocol = \"tcp\", profile = \"linux\"", Family::Linux)
        .chain(of("protocol = \"tcp\", profile = \"standard\"", Family::Tcp))
        .chain(of("protocol = \"mptcp\", profile = \"linux\"", Family::Linux))
        .chain(of("protocol = \"mptcp\", profile = \"standard\"", Family::Tcp))
        .chain(of("protocol = \"cmt-sctp\"", Family::Sctp))
        .chain(of("protocol = \"mpquic\"", Family::Tcp));
    let mut worst = Vec::new();
    for transport in transports {
        for rate in [64_000, 256_000, 1_200_000, 4_000_000] {
            for rtt in [1, 5, 20, 80, 150] {
                let share = filled(&transport, rate, rtt);
                if share < 0.9 {
                    worst.push(format!("{transport}: {share:.3} of {rate} bit/s, {rtt} ms"));
                }
            }
        }
    }
    assert!(worst.is_empty(), "{worst:#?}");
}
