//! Multipath QUIC: its throughput, its response to loss, and a comparison with MPTCP on the same
//! links.

use super::additive::{Rounds, arrivals};
use crate::common::{PACKETS, run, run_with};

/// Payload of a full packet of 1500 bytes: IPv4 and UDP 28, short header 11, tag 16, STREAM 12.
const PAYLOAD: f64 = 1433.0;

/// RFC 9002: no growth while a loss is repaired; two packets at least.
const QUIC: Rounds = Rounds { least: 2.0, repair: true, overshoot: 0.0 };

#[test]
fn an_empty_path_is_filled() {
    for (megabits, rtt) in [(1, 20), (1, 200), (10, 10), (10, 100), (100, 20), (100, 100)] {
        for control in ["newreno", "cubic"] {
            let buffer = 2 * megabits * rtt * 125 + 100_000;
            let result = run(&format!(
                "duration = \"15s\"\nwarmup = \"5s\"\n\
                 transport = {{ protocol = \"mpquic\", congestion_control = \"{control}\", receive_buffer = \"{buffer}B\" }}\n\
                 [[path]]\nrate = \"{megabits}Mbit\"\nrtt = \"{rtt}ms\"\nqueue = \"infinite\""
            ));
            let share = result.metrics.goodput_bps / (f64::from(megabits) * 1e6 * PAYLOAD / 1500.0);
            assert!((share - 1.0).abs() <= 0.001, "{megabits} Mbit/s, {rtt} ms, {control}: {share}");
            assert_eq!(result.metrics.retransmissions, 0);
        }
    }
}

/// The bound of the probe timeout is below the round trip. Probes once left before an answer could
/// have come. The data of suspended paths was then retransmitted on other paths, a hundred thousand
/// times a second.
#[test]
fn a_bound_of_probe_timeouts_below_the_round_trip_makes_no_storm() {
    let result = run("duration = \"10s\"\n\
         transport = { protocol = \"mpquic\", rto_initial = \"2ms\", rto_max = \"2ms\", association_max_retransmissions = 100 }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"50ms\"\nqueue = \"infinite\"\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"200ms\"\nqueue = \"infinite\"");
    assert!(
        result.metrics.counters.timeouts < Some(500) && result.metrics.retransmissions < 500,
        "{:?}",
        result.metrics
    );
    assert!(result.metrics.goodput_bps > 9e6, "{}", result.metrics.goodput_bps);
}

#[test]
fn the_first_packet_takes_a_round_trip_for_the_handshake_then_its_serialization_and_the_delay() {
    let result = run_with(
        "duration = \"10s\"\ntransport = { protocol = \"mpquic\" }\nworkload = { kind = \"file\", size = \"1433B\" }\n\
         [[path]]\nrate = \"7Mbit\"\nqueue = \"50p\"\nforward = { delay = \"12345678ns\" }\nbackward = { delay = \"1ms\" }",
        &PACKETS,
    );
    let packets = result.packets.unwrap();
    // Both packets of the handshake fill datagrams of 1200 bytes: 9824 bits, 1403428 ns.
    let opened = 2 * 1_403_428 + 13_345_678;
    assert_eq!((packets.sent[0], packets.delivered[0]), (opened, opened + 1_714_285 + 12_345_678));
}

#[test]
fn newreno_answers_loss_as_its_response_function_says() {
    for (loss, seconds) in [(0.001, 1_000), (0.003, 600), (0.01, 300)] {
        let goodput: f64 = (1..=4)
            .map(|seed| {
                let result = run(&format!(
                    "seed = {seed}\nduration = \"{}s\"\nwarmup = \"20s\"\n\
                     transport = {{ protocol = \"mpquic\", receive_buffer = \"100MB\", ack_every = 1 }}\n\
                     [[path]]\nrate = \"1Gbit\"\nrtt = \"100ms\"\nqueue = \"infinite\"\nloss = \"{:.4}%\"",
                    seconds + 20,
                    loss * 100.0
                ));
                result.metrics.goodput_bps
            })
            .sum();
        let ratio = goodput / 4.0 * 0.1 / (8.0 * PAYLOAD) / arrivals(loss, QUIC);
        println!("p = {loss}: {ratio:.3}");
        assert!((0.95..=1.05).contains(&ratio), "p = {loss}: {ratio:.3} of the model");
    }
}

/// On clean links, with buffers that do not limit them, both protocols fill the links with any
/// scheduler: their goodput differs by the headers alone. If the buffer is the limit, schedulers
/// that plan ahead depend on the time of window updates. Peekaboo is excluded: it learns from the
/// times of acknowledgements, which differ, whether a path is worth using.
#[test]
fn clean_links_carry_as_much_as_with_mptcp() {
    let learns = |name: &&str| *name == "peekaboo";
    for scheduler in plait_sched::SCHEDULERS.iter().map(|info| info.name).filter(|name| !learns(name)) {
        // Goodput counts data that was delivered in order during the measurement, including data
        // that waited for a gap at its beginning. For schedulers that never reassign data, that is
        // up to a window, 8 MB, of the first losses. It matters over 20 s, although it is not a
        // rate.
        let duration = if scheduler == "otias" { 120 } else { 30 };
        for (one, two) in [((10, 20), (10, 100)), ((50, 30), (20, 60)), ((5, 80), (100, 10))] {
            let goodput = |transport: &str| {
                let path = |(rate, rtt): (u32, u32)| {
                    format!("[[path]]\nrate = \"{rate}Mbit\"\nrtt = \"{rtt}ms\"\nqueue = \"bdp\"\n")
                };
                let text = format!(
                    "duration = \"{duration}s\"\nwarmup = \"10s\"\nscheduler = \"{scheduler}\"\n\
                     transport = {{ {transport}, receive_buffer = \"8MB\", ack_every = 1 }}\n{}{}",
                    path(one),
                    path(two)
                );
                run(&text).metrics.goodput_bps
            };
            let ratio =
                goodput("protocol = \"mpquic\"") / goodput("protocol = \"mptcp\", profile = \"standard\"");
            assert!((ratio - 1.0).abs() <= 0.02, "{scheduler}, {one:?} + {two:?}: {ratio:.4}");
        }
    }
}
