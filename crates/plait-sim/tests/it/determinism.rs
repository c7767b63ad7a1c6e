//! The same scenario gives the same run: when it is repeated, on any number of threads, and with
//! the same losses for every scheduler.

use crate::common::{ALL, PACKETS, run_with, same_through_bytes, same_when_recorded, scenario, try_run};
use plait_sim::recorder::frames::NEVER;
use plait_sim::result::RunResult;

const SCHEDULERS: [&str; 4] = ["round-robin", "lowest-rtt", "daps", "daps-rounds"];

const CMT_SCTP: &str = "protocol = \"cmt-sctp\", receive_buffer = \"200kB\", ack_every = 2";

/// MPTCP with each congestion control.
const MPTCP: [&str; 5] = [
    "protocol = \"mptcp\", profile = \"standard\", receive_buffer = \"300kB\", congestion_control = \"newreno\", handshake = false",
    "protocol = \"mptcp\", profile = \"standard\", receive_buffer = \"300kB\", congestion_control = \"cubic\", hystart = true",
    "protocol = \"mptcp\", profile = \"standard\", receive_buffer = \"300kB\", congestion_control = \"lia\", ack_every = 2",
    "protocol = \"mptcp\", profile = \"standard\", receive_buffer = \"300kB\", congestion_control = \"olia\", initial_path = \"path2\"",
    "protocol = \"mptcp\", profile = \"standard\", receive_buffer = \"300kB\", congestion_control = \"balia\", clock_offset = \"-20ms\"",
];

const MPQUIC: &str = "protocol = \"mpquic\", receive_buffer = \"300kB\", congestion_control = \"cubic\"";

/// One scenario for each transport.
fn variants(scheduler: &str, seed: u64) -> Vec<String> {
    [CMT_SCTP, MPQUIC]
        .iter()
        .chain(&MPTCP)
        .map(|transport| eventful_with(transport, scheduler, seed))
        .collect()
}

/// A scenario with all sources of random numbers. Drops alone limit the competing connections:
/// their shared queue is short.
fn eventful_with(transport: &str, scheduler: &str, seed: u64) -> String {
    format!(
        r#"
        seed = {seed}
        duration = "20s"
        warmup = "1s"
        scheduler = "{scheduler}"
        transport = {{ {transport} }}
        [[path]]
        rate = "5Mbit"
        rtt = "20ms"
        queue = "50p"
        loss = "1%"
        jitter = {{ amount = "3ms", reorder = true }}
        [[path]]
        rate = "3Mbit"
        rtt = "90ms"
        queue = "50p"
        loss = {{ model = "gilbert-elliott", to_bad = "1%", to_good = "30%", bad_loss = "50%" }}
        outages = [{{ from = "7s", to = "9s" }}]
        [[path]]
        rate = "1Mbit"
        rtt = "50ms"
        queue = "50p"
        jitter = "10ms"
        backward = {{ loss = "2%" }}
        links = ["radio"]
        [[path]]
        links = ["radio"]
        [[link]]
        name = "radio"
        rate = "6Mbit"
        rate_steps = [{{ at = "2s", rate = "1Mbit" }}]
        repeat = "3s"
        delay = "5ms"
        queue = "20p"
        loss = "0.5%"
        [[flow]]
        kind = "tcp"
        links = ["radio"]
        stop = "10s"
        [[flow]]
        kind = "multipath"
        paths = ["path1", "path4"]
        direction = "backward"
        start = "500ms"
        [[flow]]
        kind = "on-off"
        path = "path2"
        rate = "1Mbit"
        on = "100ms"
        off = "200ms"
        distribution = "pareto"
        [[flow]]
        kind = "cbr"
        path = "path3"
        rate = "100kbit"
        "#
    )
}

fn run(text: &str) -> RunResult {
    try_run(&scenario(text), &ALL).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for scheduler in SCHEDULERS {
        for text in variants(scheduler, 7) {
            let (first, second) = (run(&text), run(&text));
            let sent = first.packets.as_ref().map_or(0, plait_sim::recorder::frames::PacketFrame::len);
            let again = first.metrics.retransmissions;
            assert!(
                again > 0 && sent > 3_000,
                "enough happens: {again} retransmissions, {sent} packets\n{text}"
            );
            assert!(first == second, "metrics, frames, series and decisions are equal\n{text}");
            assert_eq!(
                first.to_json(&scenario(&text), scheduler),
                second.to_json(&scenario(&text), scheduler)
            );
        }
    }
}

#[test]
fn another_seed_gives_another_run() {
    for (one, other) in variants("round-robin", 1).iter().zip(&variants("round-robin", 2)) {
        assert!(run(one) != run(other), "{one}");
    }
}

#[test]
fn threads_do_not_disturb_each_other() {
    let texts: Vec<String> = (0..12)
        .map(|number| variants(SCHEDULERS[number % 4], number as u64).swap_remove(number % 6))
        .collect();
    let alone: Vec<RunResult> = texts.iter().map(|text| run(text)).collect();
    let together = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let texts = &texts;
                scope.spawn(move || {
                    (0..12).filter(|n| n % 4 == thread).map(|n| (n, run(&texts[n]))).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
    });
    assert_eq!(together.len(), 12);
    for (number, result) in together {
        assert!(result == alone[number], "run {number}");
    }
}

/// The packets that each path's forward link lost, in the order of their entry. `None` if the
/// record does not show the loss, because the segment had arrived before. The receiver has room for
/// all data: the record shows a refused packet as lost.
fn losses(scheduler: &str, backward: &str) -> Vec<Vec<Option<bool>>> {
    let text = format!(
        r#"
        seed = 5
        duration = "30s"
        scheduler = "{scheduler}"
        transport = {{ protocol = "cmt-sctp", receive_buffer = "4MB", retransmission_policy = "same" }}
        [[path]]
        rate = "4Mbit"
        rtt = "20ms"
        queue = "infinite"
        loss = "1%"
        backward = {{ {backward} }}
        [[path]]
        rate = "2Mbit"
        rtt = "60ms"
        queue = "infinite"
        loss = {{ model = "gilbert-elliott", to_bad = "1%", to_good = "50%" }}
        "#
    );
    let result = run_with(&text, &PACKETS);
    let packets = result.packets.unwrap();
    let settled = 25_000_000_000;
    let mut arrived = std::collections::BTreeSet::new();
    let mut losses = vec![Vec::new(); 2];
    for row in (0..packets.len()).filter(|&row| packets.sent[row] < settled) {
        let again = arrived.contains(&packets.sequence[row]);
        let lost = packets.arrived[row] == NEVER;
        losses[usize::from(packets.path[row])].push((!again).then_some(lost));
        if !lost {
            arrived.insert(packets.sequence[row]);
        }
    }
    losses
}

#[test]
fn every_scheduler_meets_the_same_losses_on_the_same_packets() {
    let reference = losses(SCHEDULERS[0], "");
    for (scheduler, backward) in
        [("lowest-rtt", ""), ("daps", ""), ("daps-rounds", ""), ("round-robin", "jitter = \"1ms\"")]
    {
        for (path, (expected, found)) in reference.iter().zip(losses(scheduler, backward)).enumerate() {
            let known: Vec<(bool, bool)> =
                expected.iter().zip(&found).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
            assert!(known.len() > 1_000 && known.iter().filter(|(lost, _)| *lost).count() > 5);
            let different = known.iter().position(|(expected, found)| expected != found);
            assert_eq!(different, None, "{scheduler}, path {path}");
        }
    }
}

/// One transport of each protocol, by the RFCs.
const PLAIN: [&str; 3] =
    ["protocol = \"cmt-sctp\"", "protocol = \"mptcp\", profile = \"standard\"", "protocol = \"mpquic\""];

/// Requests and responses over two lossy paths, so that data goes in both directions.
fn requests_over(transport: &str, seed: u64) -> String {
    format!(
        r#"
        seed = {seed}
        duration = "20s"
        transport = {{ {transport} }}
        [workload]
        kind = "request-response"
        response = "20kB"
        sizes = "exponential"
        think = "50ms"
        think_times = "exponential"
        parallel = 4
        [[path]]
        rate = "5Mbit"
        rtt = "20ms"
        queue = "50p"
        loss = "1%"
        [[path]]
        rate = "3Mbit"
        rtt = "90ms"
        queue = "50p"
        "#
    )
}

#[test]
fn requests_are_the_same_again() {
    for transport in PLAIN {
        let requests = |seed: u64| run_with(&requests_over(transport, seed), &ALL);
        assert!(requests(1) == requests(1), "{transport}");
        assert!(requests(1).requests != requests(2).requests, "{transport}: another seed, other requests");
    }
}

/// Sends every packet of the connection as bytes, with numbers that wrap.
#[test]
fn through_bytes_everything_is_the_same() {
    let quic = format!("{MPQUIC}, handshake = false, ecn = true");
    for transport in [CMT_SCTP, MPQUIC, &quic].into_iter().chain(MPTCP) {
        let texts = SCHEDULERS.iter().map(|scheduler| eventful_with(transport, scheduler, 11));
        texts.for_each(|text| goes_through_bytes(&text));
    }
    for transport in PLAIN {
        goes_through_bytes(&requests_over(transport, 2));
    }
}

fn goes_through_bytes(text: &str) {
    let packets = same_through_bytes(text).unwrap_or_else(|reason| panic!("{reason}"));
    assert!(packets > 4_000, "{packets} went through bytes\n{text}");
}

/// A slow path delivers copies after more than 65,536 later segments, the limit of the images'
/// memory.
#[test]
fn late_copies_of_forgotten_segments_go_through_bytes_too() {
    for transport in PLAIN {
        goes_through_bytes(&format!(
            r#"
            duration = "12s"
            scheduler = "redundant"
            transport = {{ {transport}, rto_initial = "1s", path_max_retransmissions = 0 }}
            [workload]
            kind = "cbr"
            rate = "100kbit"
            block = "1B"
            [[path]]
            rate = "30Mbit"
            rtt = "2ms"
            [[path]]
            queue = "infinite"
            rate = "10kbit"
            rtt = "2ms"
            "#
        ));
    }
}

/// Without records, the engine asks less often, and may send an assigned packet before it asks
/// again.
#[test]
fn recorded_decisions_do_not_change_a_run() {
    for transport in PLAIN {
        for scheduler in plait_sched::registry::SCHEDULERS {
            let text = format!(
                r#"
                duration = "3s"
                scheduler = "{}"
                transport = {{ {transport} }}
                [workload]
                kind = "file"
                size = "100MB"
                [[path]]
                rate = "20Mbit"
                rtt = "30ms"
                [[path]]
                rate = "10Mbit"
                rtt = "80ms"
                "#,
                scheduler.name
            );
            same_when_recorded(&text).unwrap_or_else(|difference| panic!("{difference}"));
        }
    }
}
