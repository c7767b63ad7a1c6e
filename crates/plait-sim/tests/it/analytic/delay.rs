//! Delays in an idle network, exact to the nanosecond.

use crate::common::{PACKETS, run_with};

#[test]
fn the_first_packet_takes_its_serialization_and_the_delay() {
    // 1500 bytes are 12000 bits; whole nanoseconds, rounded down.
    for (rate, nanos) in [("1Mbit", 12_000_000), ("7Mbit", 1_714_285), ("100Mbit", 120_000), ("3Gbit", 4_000)]
    {
        let result = run_with(
            &format!(
                "duration = \"10s\"\nworkload = {{ kind = \"file\", size = \"1452B\" }}\ntransport = {{ protocol = \"cmt-sctp\" }}\n\
                 [[path]]\nrate = \"{rate}\"\nqueue = \"50p\"\nforward = {{ delay = \"12345678ns\" }}\nbackward = {{ delay = \"1ms\" }}"
            ),
            &PACKETS,
        );
        let packets = result.packets.unwrap();
        assert_eq!((packets.sent[0], packets.arrived[0]), (0, nanos + 12_345_678));
        assert_eq!(packets.delivered, [nanos + 12_345_678]);
        assert_eq!(result.metrics.completion_time_s, Some((nanos + 12_345_678) as f64 / 1e9));
    }
}

#[test]
fn packets_of_one_moment_queue_for_each_other() {
    // The initial window is three packets: 1, 2 and 3 serializations of 1714285 + 5/7 ns.
    let result = run_with(
        "duration = \"10s\"\nworkload = { kind = \"file\", size = \"4356B\" }\ntransport = { protocol = \"cmt-sctp\" }\n\
         [[path]]\nrate = \"7Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"",
        &PACKETS,
    );
    let arrivals = [1_714_285, 3_428_571, 5_142_857].map(|nanos| nanos + 10_000_000);
    assert_eq!(result.packets.unwrap().delivered, arrivals);
}

#[test]
fn blocks_of_a_constant_rate_take_the_same_time_each() {
    // A block is one full packet and one of 48 + 548 bytes: (1500 + 596) · 8 bits at 10 Mbit/s, and
    // 25 ms. With a block every 160 ms, the path is idle between blocks.
    let result = run_with(
        "duration = \"30s\"\nworkload = { kind = \"cbr\", rate = \"100kbit\", block = \"2000B\" }\ntransport = { protocol = \"cmt-sctp\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"50ms\"\nqueue = \"50p\"",
        &PACKETS,
    );
    let delay = result.metrics.block_delay_ms.unwrap();
    assert_eq!((delay.max, delay.mean), (25.0 + 1.6768, 25.0 + 1.6768));
    assert_eq!(result.metrics.delay_variance_ms.unwrap().max, 0.0);
    let packets = result.packets.unwrap();
    for row in (0..packets.len()).step_by(2) {
        let block = row as i64 / 2 * 160_000_000;
        assert_eq!((packets.sent[row], packets.delivered[row]), (block, block + 25_000_000 + 1_200_000));
        assert_eq!(packets.delivered[row + 1], block + 25_000_000 + 1_676_800);
    }
}

#[test]
fn over_two_paths_a_packet_is_blocked_by_the_difference_of_their_delays() {
    // Six packets leave at once, on alternate paths. Each path serializes its three packets in
    // sequence, 1.2 ms each.
    let result = run_with(
        "duration = \"10s\"\nscheduler = { name = \"round-robin\", cwnd_limited = false }\n\
         workload = { kind = \"file\", size = \"8712B\" }\ntransport = { protocol = \"cmt-sctp\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"\n[[path]]\nrate = \"10Mbit\"\nrtt = \"100ms\"\nqueue = \"50p\"",
        &PACKETS,
    );
    let packets = result.packets.unwrap();
    let fast = |n: i64| 10_000_000 + n * 1_200_000;
    let slow = |n: i64| 50_000_000 + n * 1_200_000;
    assert_eq!(packets.path, [0, 1, 0, 1, 0, 1]);
    assert_eq!(packets.arrived, [fast(1), slow(1), fast(2), slow(2), fast(3), slow(3)]);
    assert_eq!(packets.delivered, [fast(1), slow(1), slow(1), slow(2), slow(2), slow(3)]);
    let blocking = result.metrics.blocking_ms.unwrap();
    assert_eq!(blocking.max, 38.8, "2 waits for 1, and 4 for 3: r_s/2 − r_f/2 less one serialization");
}
