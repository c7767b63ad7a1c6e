//! The growth of windows: before losses with HyStart++, and with segments that are not full.

use crate::common::run;

/// Packets dropped in the bottleneck's queue, and goodput.
fn dropped(control: &str, queue: &str, hystart: bool) -> (u64, f64) {
    let result = run(&format!(
        "duration = \"15s\"\nscheduler = \"lowest-rtt\"\n\
         transport = {{ protocol = \"mptcp\", profile = \"standard\", congestion_control = \"{control}\", hystart = {hystart}, \
         receive_buffer = \"50MB\" }}\n\
         [[path]]\nrate = \"100Mbit\"\nrtt = \"100ms\"\nqueue = \"{queue}\""
    ));
    (result.paths[0].packets_dropped.unwrap_or(0), result.metrics.goodput_bps)
}

/// The bandwidth-delay product is 833 packets. Slow start doubles the window until the queue
/// overflows, and the queue drops as many packets as it holds. HyStart++ detects the growing delay
/// one round trip late, at 2560 packets. Five rounds with a quarter of the growth then treble the
/// window: a queue of 8000 packets does not overflow, and one of 3000 packets overflows by less.
#[test]
fn hystart_ends_slow_start_before_a_deep_queue_overflows() {
    for control in ["newreno", "cubic", "lia"] {
        for (queue, fewer) in [("8000p", 100), ("3000p", 2)] {
            let ((without, plain), (with, goodput)) =
                (dropped(control, queue, false), dropped(control, queue, true));
            let what = format!(
                "{control}, {queue}: {without} drops at {plain:.0} bit/s, with HyStart++ {with} at {goodput:.0}"
            );
            println!("{what}");
            assert!(without > 3_000 && with * fewer < without, "{what}");
            assert!(goodput > 0.95 * plain, "{what}");
        }
    }
}

/// 800 kbit/s in blocks of 1 kB are 100 packets per second, with five in flight for 50 ms: more
/// than an initial window of three.
#[test]
fn small_segments_open_the_window() {
    for transport in [
        "protocol = \"cmt-sctp\"",
        "protocol = \"tcp\", profile = \"standard\", initial_window = \"3p\"",
        "protocol = \"tcp\", profile = \"standard\", initial_window = \"3p\", initial_ssthresh = \"3000B\"",
        "protocol = \"tcp\", profile = \"standard\", initial_window = \"3p\", congestion_control = \"cubic\", initial_ssthresh = \"3000B\"",
        "protocol = \"cmt-sctp\", initial_ssthresh = \"3000B\"",
    ] {
        for scheduler in ["lowest-rtt", "round-robin"] {
            let result = run(&format!(
                "duration = \"30s\"\nwarmup = \"10s\"\nscheduler = \"{scheduler}\"\ntransport = {{ {transport} }}\n\
                 workload = {{ kind = \"cbr\", rate = \"800kbit\", block = \"1kB\" }}\n\
                 [[path]]\nrate = \"10Mbit\"\nrtt = \"50ms\"\nqueue = \"50p\""
            ));
            // A packet of 1048 (SCTP) or 1052 bytes at 10 Mbit/s takes 0.84 ms.
            let delay = result.metrics.block_delay_ms.unwrap().max;
            assert!((25.8..25.9).contains(&delay), "{transport}, {scheduler}: {delay} ms");
            let left = result.metrics.undelivered_bytes.unwrap();
            assert!(left <= 3_000, "{transport}, {scheduler}: {left} bytes are left");
        }
    }
}
