//! Requests and responses over idle links, exact to the nanosecond.

use crate::common::{run, scenario};
use plait_sim::recorder::frames::RequestFrame;
use plait_sim::result::RunResult;

const MILLISECOND: i64 = 1_000_000;

/// Transports with delayed acknowledgements, which do not leave before the response.
const TRANSPORTS: [&str; 5] = [
    "protocol = \"cmt-sctp\", ack_every = 2",
    "protocol = \"tcp\", profile = \"standard\", ack_every = 2",
    "protocol = \"mptcp\", profile = \"standard\", ack_every = 2",
    "protocol = \"tcp\", profile = \"standard\", handshake = false, ack_every = 2",
    "protocol = \"mptcp\", profile = \"standard\", handshake = false, ack_every = 2",
];

/// 10 Mbit/s and 20 ms towards the client, 2 Mbit/s and 30 ms from the client.
fn text(transport: &str, workload: &str) -> String {
    format!(
        "duration = \"10s\"\ntransport = {{ {transport} }}\n\
         workload = {{ kind = \"request-response\", start = \"1s\", {workload} }}\n\
         [[path]]\nqueue = \"50p\"\nforward = {{ rate = \"10Mbit\", delay = \"20ms\" }}\nbackward = {{ rate = \"2Mbit\", delay = \"30ms\" }}"
    )
}

fn asked(transport: &str, workload: &str) -> (RunResult, RequestFrame, i64) {
    let text = text(transport, workload);
    let headers = i64::from(scenario(&text).transport.overhead().of_data());
    let result = run(&text);
    let frame = result.requests.clone().expect("requests");
    (result, frame, headers)
}

#[test]
fn one_request_takes_both_packets_and_both_delays() {
    for transport in TRANSPORTS {
        let (result, frame, headers) =
            asked(transport, "request = \"100B\", response = \"1000B\", count = 1");
        let answered = 1_000 * MILLISECOND + (100 + headers) * 8 * 500 + 30 * MILLISECOND;
        let delivered = answered + (1000 + headers) * 8 * 100 + 20 * MILLISECOND;
        let expected = RequestFrame {
            written: vec![1_000 * MILLISECOND],
            answered: vec![answered],
            delivered: vec![delivered],
            request_bytes: vec![100],
            response_bytes: vec![1000],
        };
        assert_eq!(frame, expected, "{transport}");
        let metrics = &result.metrics;
        let latency = metrics.request_latency_ms.expect("one request");
        let exact = (delivered - 1_000 * MILLISECOND) as f64 / 1e6;
        assert_eq!((latency.mean, latency.max, latency.p50, latency.p99), (exact, exact, exact, exact));
        assert_eq!((metrics.requests_begun, metrics.requests_completed), (Some(1), Some(1)));
        assert_eq!((metrics.delivered_bytes, metrics.undelivered_bytes), (1000, Some(0)));
        assert_eq!(
            metrics.completion_time_s,
            Some(delivered as f64 / 1e9),
            "the run ends with the last response"
        );
    }
}

#[test]
fn a_client_thinks_from_the_end_of_a_response_on() {
    for transport in TRANSPORTS {
        let workload = "request = \"100B\", response = \"1000B\", think = \"400ms\", count = 5";
        let (_, frame, headers) = asked(transport, workload);
        let latency = (100 + headers) * 8 * 500 + (1000 + headers) * 8 * 100 + 50 * MILLISECOND;
        let expected: Vec<i64> =
            (0..5).map(|number| 1_000 * MILLISECOND + number * (latency + 400 * MILLISECOND)).collect();
        assert_eq!(frame.written, expected, "{transport}");
    }
}

#[test]
fn requests_of_one_moment_share_a_packet() {
    let workload = "request = \"100B\", response = \"500B\", parallel = 3, count = 3";
    let (_, frame, headers) = asked(TRANSPORTS[0], workload);
    // Two further DATA chunks have a header of 16 bytes each.
    let answered = 1_000 * MILLISECOND + (300 + 2 * 16 + headers) * 8 * 500 + 30 * MILLISECOND;
    assert_eq!(frame.answered, [answered; 3]);
    assert_eq!(frame.written, [1_000 * MILLISECOND; 3]);
    let response = answered + (500 + headers) * 8 * 100 + 20 * MILLISECOND;
    assert!(frame.delivered[0] >= response && frame.delivered.is_sorted(), "{:?}", frame.delivered);
    // Three responses, each with at most its own headers, and a SACK.
    assert!(frame.delivered[2] <= answered + 3 * (500 + headers) * 8 * 100 + 20 * MILLISECOND + 100_000);
}

#[test]
fn nothing_is_asked_from_the_stop_on_and_what_is_under_way_is_answered() {
    let workload = "request = \"1B\", response = \"100kB\", stop = \"1500ms\", parallel = 2";
    let (result, frame, _) = asked(TRANSPORTS[1], workload);
    assert!(frame.written.iter().all(|&at| at < 1_500 * MILLISECOND));
    assert!(*frame.delivered.last().expect("some") > 1_500 * MILLISECOND);
    assert_eq!(result.metrics.requests_begun, result.metrics.requests_completed);
    assert_eq!(result.metrics.completion_time_s, None, "without a count there is no last one");
}

#[test]
fn what_was_written_in_the_warm_up_counts_where_it_ends() {
    let workload = "request = \"100B\", response = \"1000B\", think = \"400ms\", count = 5";
    // The first two requests are complete by then; the third is in progress.
    let text = text(TRANSPORTS[0], workload).replacen("duration", "warmup = \"1940ms\"\nduration", 1);
    let metrics = run(&text).metrics;
    assert_eq!((metrics.requests_begun, metrics.requests_completed), (Some(2), Some(3)));
}

#[test]
fn random_sizes_and_times_have_their_means_and_are_the_same_for_every_scheduler() {
    let workload = "request = \"300B\", response = \"2kB\", sizes = \"exponential\", think = \"5ms\", \
                    think_times = \"exponential\", parallel = 4";
    let runs = ["lowest-rtt", "round-robin"].map(|scheduler| {
        let text = format!(
            "duration = \"100s\"\nscheduler = \"{scheduler}\"\nworkload = {{ kind = \"request-response\", {workload} }}\ntransport = {{ protocol = \"cmt-sctp\" }}\n\
             [[path]]\nrate = \"100Mbit\"\nrtt = \"10ms\"\nqueue = \"50p\"\n[[path]]\nrate = \"50Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\""
        );
        run(&text).requests.expect("requests")
    });
    let mean = |sizes: &[u64]| sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    for frame in &runs {
        assert!(frame.written.len() > 10_000, "{}", frame.written.len());
        assert!((mean(&frame.request_bytes) / 300.0 - 1.0).abs() < 0.03);
        assert!((mean(&frame.response_bytes) / 2000.0 - 1.0).abs() < 0.03);
    }
    // The first request of every client. The order of the later requests differs.
    assert_eq!(runs[0].response_bytes[..4], runs[1].response_bytes[..4]);
    let mut sorted = runs.map(|frame| frame.response_bytes[..4000].to_vec());
    sorted.iter_mut().for_each(|sizes| sizes.sort_unstable());
    let common = sorted[0].iter().filter(|size| sorted[1].binary_search(size).is_ok()).count();
    assert!(common > 3_800, "{common} of 4000 requests are asked by both");
}
