//! BBR against the bounds of its model: the rate of the path is found, the queue stays short, random loss does not
//! matter, and a full buffer does not stay full.

use crate::common::run;
use plait_sim::result::RunResult;

/// Runs bulk data over one path of 20 Mbit/s and 20 ms each way.
fn bulk(transport: &str, forward: &str) -> RunResult {
    let scenario = format!(
        "seed = 1\nduration = \"20s\"\nwarmup = \"3s\"\nscheduler = \"lowest-rtt\"\n\
         [transport]\n{transport}\ncongestion_control = \"bbr\"\nreceive_buffer = \"4MB\"\n\
         [workload]\nkind = \"bulk\"\n\
         [[path]]\nforward = {{ rate = \"20Mbit\", delay = \"20ms\", {forward} }}\n\
         backward = {{ rate = \"20Mbit\", delay = \"20ms\", queue = \"bdp\" }}\n"
    );
    run(&scenario)
}

const LINUX_MPTCP: &str = "protocol = \"mptcp\"\nprofile = \"linux\"";

const TRANSPORTS: [&str; 5] = [
    "protocol = \"tcp\"\nprofile = \"standard\"",
    "protocol = \"tcp\"\nprofile = \"linux\"",
    "protocol = \"mptcp\"\nprofile = \"standard\"",
    LINUX_MPTCP,
    "protocol = \"mpquic\"",
];

/// Goodput in Mbit/s, the smoothed round trip at the end in ms, losses.
fn figures(run: &RunResult) -> (f64, f64, u64) {
    let path = &run.paths[0];
    (run.metrics.goodput_bps / 1e6, path.srtt_ms.unwrap_or(0.0), path.packets_lost)
}

#[test]
fn the_rate_is_found_and_the_queue_stays_short() {
    for transport in TRANSPORTS {
        let (goodput, srtt, lost) = figures(&bulk(transport, "queue = \"320ms\""));
        println!("{transport:?}: {goodput:.2} Mbit/s, {srtt:.1} ms, {lost} lost");
        assert!(goodput > 17.5, "{transport}: {goodput}");
        // Linux' MPTCP paces 0.7 % above the estimate (`mss_cache` ignores its options), so the
        // window of two bandwidth-delay products limits the queue: 2 · 40 ms, and the excess of
        // acknowledged packets. The kernel has 87 ms here.
        let longest = if transport == LINUX_MPTCP { 95.0 } else { 55.0 };
        assert!(srtt < longest, "{transport}: {srtt}");
    }
}

#[test]
fn random_loss_does_not_matter() {
    for transport in TRANSPORTS {
        let (goodput, srtt, lost) = figures(&bulk(transport, "queue = \"80ms\", loss = \"2%\""));
        println!("{transport:?}: {goodput:.2} Mbit/s, {srtt:.1} ms, {lost} lost");
        assert!(goodput > 15.5, "{transport}: {goodput}");
    }
}

/// Linux' default scheduler divides a path's queued data by its pacing rate. Until the first
/// acknowledgement of data, that rate follows from the round trip of the handshake. With the rate
/// of a nominal round trip, the slow path here would get a send buffer full of data at first.
#[test]
fn a_path_that_was_not_used_yet_is_not_taken_for_a_fast_one() {
    let path = |rate: &str, delay: &str, queue: &str| {
        let way = format!("{{ rate = \"{rate}\", delay = \"{delay}\", queue = \"{queue}\" }}");
        format!("[[path]]\nforward = {way}\nbackward = {way}\n")
    };
    let scenario = format!(
        "seed = 1\nduration = \"8s\"\nwarmup = \"2s\"\n\
         scheduler = {{ name = \"linux-default\", buffer = 16777216 }}\n\
         [transport]\nprotocol = \"mptcp\"\nprofile = \"linux\"\ncongestion_control = \"bbr\"\n\
         receive_buffer = \"15600kB\"\n[workload]\nkind = \"bulk\"\n{}{}",
        path("80Mbit", "4ms", "186p"),
        path("3500kbit", "70ms", "75p")
    );
    let goodput = run(&scenario).metrics.goodput_bps / 1e6;
    assert!(goodput > 60.0, "{goodput} of 80 + 3.5 Mbit/s");
}
