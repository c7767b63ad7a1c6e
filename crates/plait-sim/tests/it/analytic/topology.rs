//! Routes over several links, shared links, and competing traffic.

use crate::common::{PACKETS, run, run_with, scenario, try_run};
use plait_sim::recorder::RecordOptions;

/// Payload of a full packet.
const SHARE: f64 = 1452.0 / 1500.0;

fn within(measured: f64, expected: f64, share: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() <= share, "{what}: {measured}, expected {expected}");
}

#[test]
fn two_hops_take_two_serializations_and_both_delays() {
    // 12000 bits at 7 and at 3 Mbit/s, rounded down on each link; 1 + 2 ms of delay.
    for (path, links) in [
        ("rate = \"7Mbit\"\ndelay = \"1ms\"\nqueue = \"50p\"\nlinks = [\"far\"]", ""),
        (
            "links = [\"near\", \"far\"]",
            "[[link]]\nname = \"near\"\nrate = \"7Mbit\"\ndelay = \"1ms\"\nqueue = \"50p\"\n",
        ),
    ] {
        let result = run_with(
            &format!(
                "duration = \"10s\"\nworkload = {{ kind = \"file\", size = \"1452B\" }}\ntransport = {{ protocol = \"cmt-sctp\" }}\n[[path]]\n{path}\n{links}\
                 [[link]]\nname = \"far\"\nrate = \"3Mbit\"\ndelay = \"2ms\"\nqueue = \"50p\""
            ),
            &PACKETS,
        );
        let packets = result.packets.unwrap();
        assert_eq!(packets.arrived, [1_714_285 + 1_000_000 + 4_000_000 + 2_000_000], "{path}");
    }
}

#[test]
fn acknowledgements_take_the_route_in_reverse() {
    // A SACK of 48 bytes is 384 bits. It passes far's 1 Mbit/s first, in 384 us. It reaches near
    // after the step to 4 Mbit/s, and takes 96 us there. The window is one packet: the second
    // packet leaves when the SACK arrives.
    let result = run_with(
        "duration = \"10s\"\nworkload = { kind = \"file\", size = \"2904B\" }\n\
         transport = { protocol = \"cmt-sctp\", initial_window = \"1468B\" }\n\
         [[path]]\nlinks = [\"near\", \"far\"]\n\
         [[link]]\nname = \"near\"\nqueue = \"50p\"\nforward = { rate = \"12Mbit\", delay = \"3ms\" }\n\
         backward = { rate = \"2Mbit\", rate_steps = [{ at = \"20ms\", rate = \"4Mbit\" }], delay = \"5ms\" }\n\
         [[link]]\nname = \"far\"\nqueue = \"50p\"\nforward = { rate = \"6Mbit\", delay = \"7ms\" }\n\
         backward = { rate = \"1Mbit\", delay = \"11ms\" }",
        &PACKETS,
    );
    let (there, back) =
        (1_000_000 + 3_000_000 + 2_000_000 + 7_000_000, 384_000 + 11_000_000 + 96_000 + 5_000_000);
    let packets = result.packets.unwrap();
    assert_eq!(packets.sent, [0, there + back]);
    assert_eq!(packets.arrived, [there, there + back + there]);
}

#[test]
fn two_paths_over_one_bottleneck_get_all_of_it_and_no_more() {
    for scheduler in ["round-robin", "lowest-rtt"] {
        let result = run(&format!(
            "duration = \"30s\"\nwarmup = \"10s\"\nscheduler = \"{scheduler}\"\n\
             transport = {{ protocol = \"cmt-sctp\", receive_buffer = \"1MB\" }}\n\
             [[path]]\nrate = \"100Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\nlinks = [\"core\"]\n\
             [[path]]\nrate = \"100Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\nlinks = [\"core\"]\n\
             [[link]]\nname = \"core\"\nrate = \"10Mbit\"\nqueue = \"infinite\""
        ));
        within(result.metrics.goodput_bps, 10e6 * SHARE, 0.001, scheduler);
        let sum: f64 = result.paths.iter().map(|path| path.throughput_bps).sum();
        within(sum, 10e6 * SHARE, 0.001, scheduler);
        assert!(result.paths.iter().all(|path| path.throughput_bps > 1e6), "both carry: {:?}", result.paths);
        // C_max = ΣC = 10 Mbit/s: no gain is possible.
        assert!(result.metrics.aggregation_benefit.abs() < 0.001, "{}", result.metrics.aggregation_benefit);
    }
}

#[test]
fn constant_traffic_leaves_the_rest() {
    // 3 of 10 Mbit/s in the same queue, which is never empty and drops no packets.
    let result = run(
        "duration = \"30s\"\nwarmup = \"10s\"\ntransport = { protocol = \"cmt-sctp\", receive_buffer = \"300kB\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
         [[flow]]\nname = \"video\"\nkind = \"cbr\"\npath = \"path1\"\nrate = \"3Mbit\"",
    );
    within(result.metrics.goodput_bps, 7e6 * SHARE, 0.002, "what is left");
    let [flow] = &result.flows[..] else { panic!("one flow") };
    assert_eq!((flow.name.as_str(), flow.kind), ("video", "cbr"));
    within(flow.goodput_bps, 3e6, 0.001, "the flow");
    // 250 packets per second for 20 s.
    assert_eq!((flow.packets_sent, flow.packets_lost, flow.packets_dropped), (5_000, 0, Some(0)));
}

#[test]
fn equal_connections_share_a_bottleneck_and_a_finite_one_completes() {
    let result = run(
        "duration = \"60s\"\nwarmup = \"10s\"\ntransport = { protocol = \"cmt-sctp\", receive_buffer = \"200kB\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
         [[flow]]\nkind = \"multipath\"\npaths = [\"path1\"]\n[[flow]]\nkind = \"tcp\"\npath = \"path1\"\nsize = \"10kB\"",
    );
    // Both have a window of 200 kB in flight, all of it in the same queue.
    within(result.metrics.goodput_bps + result.flows[0].goodput_bps, 10e6 * SHARE, 0.001, "together");
    within(result.metrics.goodput_bps, result.flows[0].goodput_bps, 0.02, "in equal parts");
    assert!(result.flows[1].completion_time_s.is_some_and(|time| time < 5.0), "{:?}", result.flows[1]);
    assert!(result.flows[0].completion_time_s.is_none());
}

#[test]
fn datagrams_in_the_backward_direction_delay_acknowledgements_by_their_transmission() {
    // The backward rate is 1 Mbit/s. A datagram of 1500 bytes, 12 ms, leaves at 0. The first SACK
    // gets there at 1.2 + 10 ms and waits until 12 ms. Its 384 bits arrive at 12 + 0.384 + 10 ms,
    // and the next three packets leave then.
    let text = "duration = \"10s\"\nworkload = { kind = \"file\", size = \"5808B\" }\n\
         transport = { protocol = \"cmt-sctp\", initial_window = \"1468B\" }\n\
         [[path]]\nqueue = \"50p\"\nforward = { rate = \"10Mbit\", delay = \"10ms\" }\nbackward = { rate = \"1Mbit\", delay = \"10ms\" }\n";
    let flow = "[[flow]]\nkind = \"cbr\"\npath = \"path1\"\ndirection = \"backward\"\nrate = \"1kbit\"\n";
    let second = |text: &str| run_with(text, &PACKETS).packets.unwrap().sent[1];
    assert_eq!(second(text), 1_200_000 + 10_000_000 + 384_000 + 10_000_000);
    assert_eq!(second(&format!("{text}{flow}")), 12_000_000 + 384_000 + 10_000_000);
}

#[test]
fn bulk_data_in_the_backward_direction_delays_acknowledgements_by_a_full_queue() {
    // A window of 25 full packets competes with the connection's acknowledgements. It keeps a queue
    // of 25 · 12000 bits at 2 Mbit/s, less the data on the wire.
    let result = run(
        "duration = \"60s\"\nwarmup = \"20s\"\ntransport = { protocol = \"cmt-sctp\", receive_buffer = \"36700B\" }\n\
         [[path]]\nqueue = \"50p\"\nforward = { rate = \"20Mbit\", delay = \"10ms\" }\n\
         backward = { rate = \"2Mbit\", delay = \"10ms\", queue = \"infinite\" }\n\
         [[flow]]\nkind = \"multipath\"\npaths = [\"path1\"]\ndirection = \"backward\"",
    );
    let srtt = result.paths[0].srtt_ms.unwrap();
    assert!((100.0..=175.0).contains(&srtt), "{srtt} ms");
    // The connection's own goodput is a window per that round trip.
    within(result.metrics.goodput_bps, 25.0 * 1452.0 * 8.0 / (srtt / 1e3), 0.1, "a window per round trip");
}

#[test]
fn on_off_traffic_has_its_mean_load() {
    for distribution in ["distribution = \"exponential\"", "distribution = \"pareto\"\nshape = 1.9"] {
        let mean = (1..=4).map(|seed| {
            let result = run(&format!(
                "seed = {seed}\nduration = \"2000s\"\nworkload = {{ kind = \"cbr\", rate = \"1kbit\", block = \"1kB\" }}\ntransport = {{ protocol = \"cmt-sctp\" }}\n\
                 [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
                 [[flow]]\nkind = \"on-off\"\npath = \"path1\"\nrate = \"1Mbit\"\non = \"100ms\"\noff = \"300ms\"\n{distribution}"
            ));
            result.flows[0].goodput_bps / 4.0
        });
        within(mean.sum(), 250_000.0, 0.05, distribution);
    }
}

#[test]
fn on_off_blocks_are_delivered_and_counted() {
    // A block each 100 ms: no block waits for another block's acknowledgement.
    let result = run("duration = \"200s\"\n\
         workload = { kind = \"on-off\", rate = \"80kbit\", block = \"1kB\", on = \"1s\", off = \"1s\", stop = \"190s\" }\ntransport = { protocol = \"cmt-sctp\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"50ms\"\nqueue = \"50p\"");
    let metrics = &result.metrics;
    assert_eq!((metrics.undelivered_bytes, metrics.delivered_bytes % 1000), (Some(0), 0));
    within(metrics.goodput_bps, 40_000.0, 0.25, "half of the time");
    // A packet of 1048 bytes at 10 Mbit/s, and 25 ms.
    assert_eq!(metrics.block_delay_ms.unwrap().max, 25.8384);
}

#[test]
fn rate_steps_carry_what_their_rates_do() {
    // 4 s at 2 Mbit/s and 1 s at 12 Mbit/s, repeated: 4 Mbit/s on average.
    let result = run(
        "duration = \"55s\"\nwarmup = \"5s\"\ntransport = { protocol = \"cmt-sctp\", receive_buffer = \"1MB\" }\n\
         [[path]]\nrtt = \"20ms\"\nqueue = \"infinite\"\nrate = \"2Mbit\"\n\
         rate_steps = [{ at = \"4s\", rate = \"12Mbit\" }]\nrepeat = \"5s\"\n",
    );
    within(result.metrics.goodput_bps, 4e6 * SHARE, 0.002, "the mean rate");
    assert!(result.metrics.aggregation_benefit.abs() < 0.002);
}

#[test]
fn bulk_and_file_begin_when_they_are_told_to() {
    for kind in ["kind = \"bulk\"", "kind = \"file\", size = \"1452B\""] {
        let result = run_with(
            &format!(
                "duration = \"3s\"\nworkload = {{ {kind}, start = \"1500ms\" }}\ntransport = {{ protocol = \"cmt-sctp\" }}\n[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\""
            ),
            &PACKETS,
        );
        let packets = result.packets.unwrap();
        assert_eq!((packets.sent[0], packets.arrived[0]), (1_500_000_000, 1_522_000_000));
    }
}

#[test]
fn a_run_waits_for_finite_connections_like_its_own_and_for_no_others() {
    // Flows of 1 MB and, a second later, 500 kB compete with 100 kB at 8 Mbit/s with a round trip
    // of 20 ms. The other kinds of flows follow.
    let text = |flows: &str| {
        format!(
            "duration = \"60s\"\nworkload = {{ kind = \"file\", size = \"100kB\" }}\n\
             [[path]]\nrate = \"8Mbit\"\nrtt = \"20ms\"\nqueue = \"200p\"\n{flows}"
        )
    };
    let more = "[[flow]]\nkind = \"multipath\"\nsize = \"1MB\"\n[[flow]]\nkind = \"multipath\"\nsize = \"500kB\"\nstart = \"1s\"\n";
    let result = run(&text(more));
    let [first, second] = &result.flows[..] else { panic!("two flows") };
    let ends: Vec<f64> =
        [result.metrics.completion_time_s, first.completion_time_s, second.completion_time_s]
            .map(|end| end.expect("all of them end"))
            .into();
    // Alone, 100 kB take 0.1 s and some round trips of slow start; beside the other flows, somewhat
    // more than twice that. All 1.6 MB take 1.65 s with their headers, and the run takes at most a
    // second more.
    assert!(ends[0] > 0.1 && ends[0] < 0.6, "{ends:?}");
    assert!(ends[1] > 1.0 && ends[2] > 1.5 && ends[1].max(ends[2]) < 2.65, "{ends:?}");
    within(result.metrics.measured_s, ends[1].max(ends[2]), 1e-9, "the run ends with the last of them");
    // The run waits for no connection of another kind, without end, or with a stop.
    let others = [
        "kind = \"tcp\"\npath = \"path1\"\nsize = \"5MB\"",
        "kind = \"multipath\"",
        "kind = \"multipath\"\nsize = \"5MB\"\nstop = \"50s\"",
    ];
    for other in others {
        let result = run(&text(&format!("[[flow]]\n{other}\n")));
        let end = result.metrics.completion_time_s.expect("the workload ends");
        within(result.metrics.measured_s, end, 1e-9, other);
    }
}

#[test]
fn a_flow_falls_silent_when_told_to() {
    let result = run("duration = \"20s\"\nwarmup = \"10s\"\ntransport = { protocol = \"cmt-sctp\" }\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n\
         [[flow]]\nkind = \"multipath\"\nstart = \"1s\"\nstop = \"9s\"");
    assert_eq!((result.flows[0].packets_sent, result.flows[0].goodput_bps), (0, 0.0));
    within(result.metrics.goodput_bps, 10e6 * SHARE, 0.001, "all of it afterwards");
}

#[test]
fn the_error_of_a_flow_names_it() {
    let text = "duration = \"60s\"\ntransport = { protocol = \"cmt-sctp\", association_max_retransmissions = 0 }\n\
         [[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"\n\
         [[link]]\nname = \"cut\"\nrate = \"1Mbit\"\ndelay = \"10ms\"\nqueue = \"50p\"\noutages = [{ from = \"0s\", to = \"60s\" }]\n\
         [[flow]]\nname = \"upload\"\nkind = \"tcp\"\nlinks = [\"cut\"]";
    let error = try_run(&scenario(text), &RecordOptions::default()).expect_err(text).to_string();
    assert!(error.starts_with("flow \"upload\": at ") && error.contains("given up"), "{error}");
}
