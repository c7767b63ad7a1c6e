//! The throughput of paths: all of their capacity, and never more.

use crate::common::run;

/// Payload of a full packet.
const SHARE: f64 = 1452.0 / 1500.0;

fn within(measured: f64, expected: f64, share: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() <= share, "{what}: {measured}, expected {expected}");
}

#[test]
fn one_path_without_loss_carries_its_payload_share() {
    for (megabits, rtt) in [(1, 20), (1, 200), (10, 1), (10, 100), (100, 20), (100, 100), (1_000, 5)] {
        // Twice the path's capacity, so that the queue never runs dry nor grows without end.
        let buffer = 2 * megabits * rtt * 125 + 100_000;
        let result = run(&format!(
            "duration = \"15s\"\nwarmup = \"5s\"\ntransport = {{ protocol = \"cmt-sctp\", receive_buffer = \"{buffer}B\" }}\n\
             [[path]]\nrate = \"{megabits}Mbit\"\nrtt = \"{rtt}ms\"\nqueue = \"infinite\""
        ));
        let expected = f64::from(megabits) * 1e6 * SHARE;
        within(result.metrics.goodput_bps, expected, 0.001, &format!("{megabits} Mbit/s, {rtt} ms"));
        assert_eq!(result.metrics.retransmissions, 0);
        assert!(result.metrics.aggregation_benefit.abs() < 0.001, "one path is its own best path");
    }
}

#[test]
fn other_packet_sizes_have_other_shares() {
    for packet in [100, 576, 9_000] {
        let result = run(&format!(
            "duration = \"15s\"\nwarmup = \"5s\"\ntransport = {{ protocol = \"cmt-sctp\", packet = \"{packet}B\" }}\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\""
        ));
        let expected = 10e6 * f64::from(packet - 48) / f64::from(packet);
        within(result.metrics.goodput_bps, expected, 0.001, &format!("packets of {packet} B"));
    }
}

#[test]
fn a_window_that_is_too_small_gives_a_window_per_round_trip() {
    // 20 chunks of 1468 counted bytes. A round trip is 100 ms, a packet's 12000 bits and a SACK's
    // 384 bits at 100 Mbit/s.
    let result = run(
        "duration = \"60s\"\nwarmup = \"10s\"\ntransport = { protocol = \"cmt-sctp\", receive_buffer = \"29360B\" }\n\
         [[path]]\nrate = \"100Mbit\"\nrtt = \"100ms\"\nqueue = \"infinite\"",
    );
    let round = 0.1 + (12_000.0 + 384.0) / 100e6;
    within(result.metrics.goodput_bps, 20.0 * 1452.0 * 8.0 / round, 0.001, "20 packets per round trip");
}

#[test]
fn equal_paths_add_up() {
    for scheduler in ["round-robin", "lowest-rtt"] {
        let result = run(&format!(
            "duration = \"15s\"\nwarmup = \"5s\"\nscheduler = \"{scheduler}\"\n\
             transport = {{ protocol = \"cmt-sctp\", receive_buffer = \"1MB\" }}\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"100p\"\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"100p\""
        ));
        within(result.metrics.goodput_bps, 2.0 * 10e6 * SHARE, 0.002, scheduler);
        within(result.metrics.aggregation_benefit, 1.0, 0.004, scheduler);
    }
}

#[test]
fn unequal_paths_add_up_with_enough_buffer_and_the_benefit_stays_in_its_bounds() {
    for (buffer, least, most) in [("4MB", 0.98, 1.001), ("30kB", -1.0, 0.9), ("3kB", -1.0, 0.0)] {
        for scheduler in ["round-robin", "lowest-rtt", "daps", "daps-rounds"] {
            let result = run(&format!(
                "duration = \"40s\"\nwarmup = \"10s\"\nscheduler = \"{scheduler}\"\n\
                 transport = {{ protocol = \"cmt-sctp\", receive_buffer = \"{buffer}\" }}\n\
                 [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"100p\"\n\
                 [[path]]\nrate = \"5Mbit\"\nrtt = \"100ms\"\nqueue = \"100p\""
            ));
            let metrics = &result.metrics;
            let sum: f64 = result.paths.iter().map(|path| path.throughput_bps).sum();
            assert!(sum <= 15e6 * SHARE * 1.0005, "{scheduler}, {buffer}: {sum}");
            // The difference is the data that waits at the beginning or the end of the measurement.
            within(
                metrics.goodput_bps,
                sum,
                0.01,
                &format!("{scheduler}, {buffer}: what arrives is delivered"),
            );
            if scheduler == "round-robin" || scheduler == "lowest-rtt" {
                let benefit = metrics.aggregation_benefit;
                assert!((least..=most).contains(&benefit), "{scheduler}, {buffer}: benefit {benefit}");
            }
        }
    }
}
