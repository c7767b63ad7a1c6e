//! The runs, with their bounds.

use plait_sim::result::RunResult;

/// A run and its bound, which holds independently of details.
pub(super) struct Golden {
    pub(super) name: &'static str,
    pub(super) scenario: &'static str,
    pub(super) bound: fn(&RunResult),
}

pub(super) const GOLDENS: [Golden; 13] = [
    Golden {
        name: "round-robin, equation (1), 2 Mbit/s / 100 ms / 35 kB",
        scenario: r#"
            duration = "100s"
            warmup = "10s"
            scheduler = "round-robin"
            transport = { protocol = "cmt-sctp", receive_buffer = "35kB", receive_window_accounting = "outstanding" }
            [[path]]
            rate = "1Mbit"
            rtt = "20ms"
            queue = "50p"
            [[path]]
            rate = "2Mbit"
            rtt = "100ms"
            queue = "50p"
        "#,
        bound: |result| {
            // With round-robin per packet, the slow path carries as much as the fast one: 968
            // kbit/s of payload each.
            for path in &result.paths {
                assert!((path.throughput_bps / 968_000.0 - 1.0).abs() < 0.01, "{path:?}");
            }
            // The fast path's lower bound of a packet's delay: 12 ms + 10 ms.
            assert!(result.metrics.app_delay_ms.unwrap().p50 > 22.0);
        },
    },
    Golden {
        name: "lowest-rtt, three lossy paths, file",
        scenario: r#"
            duration = "100s"
            scheduler = "lowest-rtt"
            transport = { protocol = "cmt-sctp", receive_buffer = "100kB", retransmission_policy = "ssthresh", ack_every = 2 }
            workload = { kind = "file", size = "5MB" }
            [[path]]
            rate = "4Mbit"
            rtt = "30ms"
            queue = "50p"
            loss = "0.5%"
            [[path]]
            rate = "2Mbit"
            rtt = "60ms"
            queue = "50p"
            loss = { model = "gilbert-elliott", to_bad = "0.5%", to_good = "40%" }
            [[path]]
            rate = "1Mbit"
            rtt = "200ms"
            queue = "50p"
            jitter = { amount = "20ms", reorder = true }
        "#,
        bound: |result| {
            // 5 MB at 7 Mbit/s · 1452/1500 take 5.9 s. At half of the throughput of the two paths
            // without reordering, they take 13.8 s.
            let time = result.metrics.completion_time_s.unwrap();
            assert!((5.9..13.8).contains(&time), "{time}");
            assert_eq!(result.metrics.delivered_bytes, 5_000_000);
        },
    },
    Golden {
        name: "daps-rounds, constant rate, an outage",
        scenario: r#"
            duration = "60s"
            scheduler = "daps-rounds"
            workload = { kind = "cbr", rate = "1Mbit", block = "8KiB" }
            transport = { protocol = "cmt-sctp" }
            [[path]]
            rate = "2Mbit"
            rtt = "20ms"
            queue = "50p"
            [[path]]
            rate = "2Mbit"
            rtt = "80ms"
            queue = "50p"
            outages = [{ from = "20s", to = "30s" }]
        "#,
        bound: |result| {
            // All written data except the last blocks is delivered: 60 s of 1 Mbit/s.
            let (delivered, left) =
                (result.metrics.delivered_bytes, result.metrics.undelivered_bytes.unwrap());
            assert_eq!((delivered + left) / 8_192, 60 * 125_000 / 8_192 + 1);
            assert!(left <= 2 * 8_192, "{left}");
            // A block is six packets: 36 ms over one path, with a delay of 10 ms, and less over two
            // paths, which save at most half of the 36 ms.
            assert!(result.metrics.block_delay_ms.unwrap().p50 > 28.0);
        },
    },
    Golden {
        name: "daps, equation (1), 2 Mbit/s / 200 ms / 45 kB",
        scenario: r#"
            duration = "100s"
            warmup = "10s"
            scheduler = "daps"
            transport = { protocol = "cmt-sctp", receive_buffer = "45kB", receive_window_accounting = "outstanding" }
            [[path]]
            rate = "1Mbit"
            rtt = "20ms"
            queue = "50p"
            [[path]]
            rate = "2Mbit"
            rtt = "200ms"
            queue = "50p"
        "#,
        bound: |result| {
            // Little's law: the data in flight is at most the window, 30 chunks. A packet is in
            // flight for at least 20 ms, or for 100 ms and the return over the fast path.
            let [fast, slow] = [0, 1].map(|path: usize| result.paths[path].throughput_bps);
            assert!(fast * 0.020 + slow * 0.110 <= 30.0 * 1452.0 * 8.0, "{fast} + {slow}");
            assert!(fast <= 968_000.0 * 1.001 && slow <= 1_936_000.0 * 1.001, "{fast} + {slow}");
            // The paper's effect: fewer than the 9 packets that wait with round-robin.
            assert!(result.metrics.receive_buffer_packets.mean < 9.0);
        },
    },
    Golden {
        name: "mptcp, lia, a bottleneck shared with TCP",
        scenario: r#"
            duration = "60s"
            warmup = "10s"
            transport = { protocol = "mptcp", profile = "standard", congestion_control = "lia", receive_buffer = "2MB" }
            [[path]]
            links = ["core"]
            [[path]]
            links = ["core"]
            [[link]]
            name = "core"
            rate = "10Mbit"
            delay = "20ms"
            queue = "50p"
            forward = { loss = "0.02%" }
            [[flow]]
            kind = "tcp"
            links = ["core"]
            start = "300ms"
        "#,
        bound: |result| {
            let (ours, theirs) = (result.metrics.goodput_bps, result.flows[0].goodput_bps);
            assert!(ours + theirs < 10e6 * 1448.0 / 1500.0 && ours + theirs > 9e6, "{ours} + {theirs}");
            assert!((0.5..2.0).contains(&(ours / theirs)), "{ours} beside {theirs}");
        },
    },
    Golden {
        name: "mptcp, olia, lossy paths, file",
        scenario: r#"
            duration = "100s"
            transport = { protocol = "mptcp", profile = "standard", congestion_control = "olia", ack_every = 2, initial_path = "path2" }
            workload = { kind = "file", size = "5MB" }
            [[path]]
            rate = "4Mbit"
            rtt = "30ms"
            queue = "50p"
            loss = "0.5%"
            [[path]]
            rate = "2Mbit"
            rtt = "60ms"
            queue = "50p"
            loss = { model = "gilbert-elliott", to_bad = "0.5%", to_good = "40%" }
            jitter = { amount = "20ms", reorder = true }
            outages = [{ from = "3s", to = "5s" }]
        "#,
        bound: |result| {
            // 5 MB at 6 Mbit/s · 1448/1500 take 6.9 s. A window of 1.31/√p, 18.5 segments, in 30 ms
            // fills the first path, which alone takes 10.4 s. Coupled control may take a tenth less
            // there than TCP.
            let time = result.metrics.completion_time_s.unwrap();
            assert!((6.9..11.5).contains(&time), "{time}");
            assert_eq!(result.metrics.delivered_bytes, 5_000_000);
        },
    },
    Golden {
        name: "mptcp, balia, constant rate beside datagrams",
        scenario: r#"
            duration = "60s"
            scheduler = "round-robin"
            transport = { protocol = "mptcp", profile = "standard", congestion_control = "balia", handshake = false }
            workload = { kind = "cbr", rate = "1Mbit", block = "8KiB" }
            [[path]]
            rate = "2Mbit"
            rtt = "20ms"
            queue = "50p"
            [[path]]
            rate = "2Mbit"
            rtt = "80ms"
            queue = "50p"
            jitter = "5ms"
            [[flow]]
            kind = "on-off"
            path = "path1"
            rate = "1Mbit"
            on = "500ms"
            off = "500ms"
        "#,
        bound: |result| {
            let (delivered, left) =
                (result.metrics.delivered_bytes, result.metrics.undelivered_bytes.unwrap());
            assert_eq!((delivered + left) / 8_192, 60 * 125_000 / 8_192 + 1);
            assert!(left <= 2 * 8_192, "{left}");
        },
    },
    Golden {
        name: "tcp, cubic, hystart, 50 Mbit/s / 80 ms",
        scenario: r#"
            duration = "20s"
            transport = { protocol = "tcp", profile = "standard", congestion_control = "cubic", hystart = true, receive_buffer = "20MB" }
            [[path]]
            rate = "50Mbit"
            rtt = "80ms"
            queue = "bdp"
        "#,
        bound: |result| {
            let goodput = result.metrics.goodput_bps;
            assert!(goodput < 50e6 * 1448.0 / 1500.0 && goodput > 40e6, "{goodput}");
        },
    },
    Golden {
        name: "mptcp as in Linux, requests of three clients, a lossy path",
        scenario: r#"
            duration = "60s"
            warmup = "5s"
            transport = { protocol = "mptcp", profile = "linux", receive_buffer = "1MB" }
            [workload]
            kind = "request-response"
            request = "400B"
            response = "60kB"
            sizes = "exponential"
            think = "200ms"
            think_times = "exponential"
            parallel = 3
            [[path]]
            rate = "20Mbit"
            rtt = "30ms"
            queue = "50p"
            loss = "0.5%"
            [[path]]
            rate = "10Mbit"
            rtt = "80ms"
            queue = "50p"
        "#,
        bound: |result| {
            let metrics = &result.metrics;
            let latency = metrics.request_latency_ms.unwrap();
            // No request is faster than the shorter round trip. Little's law applies to three
            // clients that think or wait.
            let frame = result.requests.as_ref().unwrap();
            let fastest = frame.delivered.iter().zip(&frame.written).filter(|(end, _)| **end >= 0);
            assert!(fastest.map(|(end, start)| end - start).min().unwrap() > 30_000_000);
            let cycles = metrics.requests_completed.unwrap() as f64 / metrics.measured_s;
            assert!(
                (cycles * (latency.mean + 200.0) / 1e3 / 3.0 - 1.0).abs() < 0.1,
                "{cycles}, {}",
                latency.mean
            );
        },
    },
    Golden {
        name: "mpquic, two lossy paths, file",
        scenario: r#"
            duration = "100s"
            scheduler = "lowest-rtt"
            transport = { protocol = "mpquic", receive_buffer = "500kB" }
            workload = { kind = "file", size = "10MB" }
            [[path]]
            rate = "10Mbit"
            rtt = "20ms"
            queue = "50p"
            loss = "0.5%"
            [[path]]
            rate = "5Mbit"
            rtt = "60ms"
            queue = "50p"
            loss = "0.2%"
        "#,
        bound: |result| {
            // 10 MB at 15 Mbit/s take 5.3 s. Over the slower path alone, with NewReno's response to
            // its losses, they take 20 s or more.
            let time = result.metrics.completion_time_s.unwrap();
            assert!((5.4..20.0).contains(&time), "{time}");
            assert_eq!(result.metrics.delivered_bytes, 10_000_000);
        },
    },
    Golden {
        name: "mptcp with ECN, CoDel on one path",
        scenario: r#"
            duration = "60s"
            warmup = "10s"
            transport = { protocol = "mptcp", profile = "standard", ecn = true, receive_buffer = "2MB" }
            [[path]]
            rate = "10Mbit"
            rtt = "40ms"
            queue = "1000p"
            discipline = { name = "codel", ecn = true }
            [[path]]
            rate = "5Mbit"
            rtt = "80ms"
            queue = "bdp"
        "#,
        bound: |result| {
            // Marked packets are not dropped, and the queue stays near its target of 5 ms.
            // Drop-tail would hold 1.2 s.
            let queue = &result.queues[0];
            assert!(queue.packets_marked > 0 && queue.packets_dropped == 0, "{queue:?}");
            assert!(queue.sojourn_ms.unwrap().mean < 20.0, "{queue:?}");
            // A control that halves its window at every mark, with hardly any queue, uses at least
            // three quarters of its link.
            assert!(result.metrics.goodput_bps > (0.75 * 10e6 + 0.9 * 5e6) * 1448.0 / 1500.0);
        },
    },
    Golden {
        name: "mpquic with ECN, CoDel on both paths",
        scenario: r#"
            duration = "60s"
            warmup = "10s"
            transport = { protocol = "mpquic", ecn = true, receive_buffer = "4MB" }
            [[path]]
            rate = "10Mbit"
            rtt = "40ms"
            queue = "1000p"
            discipline = { name = "codel", ecn = true }
            [[path]]
            rate = "5Mbit"
            rtt = "80ms"
            queue = "1000p"
            discipline = { name = "codel", ecn = true }
        "#,
        bound: |result| {
            // There are no losses. Marks alone keep the windows from filling the queues of 1000
            // packets: they stay within a third of the links' capacity, 33 packets.
            assert_eq!(result.metrics.retransmissions, 0);
            let forward = result.queues.iter().filter(|queue| queue.direction == "forward");
            for (queue, path) in forward.zip(&result.paths) {
                assert!(queue.packets_marked > 0 && queue.packets_dropped == 0, "{queue:?}");
                assert!(queue.sojourn_ms.unwrap().mean < 20.0, "{queue:?}");
                assert!(path.cwnd_packets.unwrap() < 33.4 * 4.0 / 3.0, "{path:?}");
            }
            // A control that halves its window at every mark, with hardly any queue, uses at least
            // three quarters of its link.
            assert!(result.metrics.goodput_bps > 0.75 * 15e6 * 1433.0 / 1500.0);
        },
    },
    Golden {
        name: "tcp beside datagrams, FQ-CoDel",
        scenario: r#"
            duration = "60s"
            warmup = "10s"
            transport = { protocol = "tcp", profile = "linux", receive_buffer = "2MB" }
            [[path]]
            rate = "10Mbit"
            rtt = "40ms"
            queue = "1000p"
            discipline = "fq-codel"
            [[flow]]
            kind = "cbr"
            path = "path1"
            rate = "2Mbit"
        "#,
        bound: |result| {
            // A flow below its share is served at once. The other flow gets the rest, and datagrams
            // wait for a packet or two.
            let goodput = result.metrics.goodput_bps;
            assert!((6.8e6..8e6).contains(&goodput), "{goodput}");
            let delay = result.flows[0].delay_ms.unwrap();
            assert!(delay.p95 < 20.0 + 3.0 * 1.2 + 1.2, "{delay:?}");
        },
    },
];
