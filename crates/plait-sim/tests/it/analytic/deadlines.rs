//! Messages with deadlines, priorities and lengths: the order of service, and deliveries in time.

use crate::common::run;
use plait_sim::result::RunResult;

const NETWORK: &str = "[[path]]\nname = \"cheap\"\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"\n\
                       [[path]]\nname = \"dear\"\nrate = \"10Mbit\"\nrtt = \"40ms\"\nqueue = \"50p\"\ncost = 1\n";

const CMT_SCTP: &str = "protocol = \"cmt-sctp\"";
const MPQUIC: &str = "protocol = \"mpquic\"";
/// TCP by the RFCs.
const MPTCP: &str = "protocol = \"mptcp\"\nprofile = \"standard\"";

fn with(transport: &str, scheduler: &str, workload: &str) -> RunResult {
    run(&format!(
        "duration = \"30s\"\nwarmup = \"5s\"\nscheduler = {scheduler}\n[transport]\n{transport}\n\
         [workload]\n{workload}\n{NETWORK}"
    ))
}

/// 100 bytes to the server and 1000 back, over one idle path: the latency and the metrics of the
/// deadline.
fn answered(deadline: &str) -> (f64, Option<f64>, Option<u64>, Option<u64>) {
    let result = run(&format!(
        "duration = \"10s\"\ntransport = {{ protocol = \"cmt-sctp\" }}\n[workload]\nkind = \"request-response\"\nrequest = \"100B\"\nresponse = \"1000B\"\n\
         count = 1\n{deadline}\n[[path]]\nrate = \"10Mbit\"\nrtt = \"50ms\"\nqueue = \"50p\""
    ));
    let metrics = &result.metrics;
    let latency = metrics.request_latency_ms.expect("requests").max;
    (latency, metrics.in_time_share, metrics.messages_in_time, metrics.messages_late)
}

#[test]
fn a_message_is_in_time_to_the_nanosecond() {
    let (latency, share, in_time, late) = answered("");
    assert_eq!((share, in_time, late), (None, None, None), "nobody asked");
    let nanos = (latency * 1e6).round() as u64;
    let judged = |nanos| {
        let (_, share, in_time, late) = answered(&format!("deadline = \"{nanos}ns\""));
        (share, in_time, late)
    };
    assert_eq!(judged(nanos), (Some(1.0), Some(1), Some(0)));
    assert_eq!(judged(nanos - 1), (Some(0.0), Some(0), Some(1)));
}

#[test]
fn a_file_is_a_message_and_so_is_a_block() {
    // 1 MB over 10 Mbit/s takes more than 800 ms.
    let file = |deadline: &str| {
        run(&format!(
            "duration = \"9s\"\ntransport = {{ protocol = \"cmt-sctp\" }}\n[workload]\nkind = \"file\"\nsize = \"1MB\"\ndeadline = \"{deadline}\"\n\
             [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\""
        ))
    };
    assert_eq!(file("2s").metrics.messages_in_time, Some(1));
    assert_eq!(file("800ms").metrics.messages_late, Some(1));
    // Blocks at twice the rate of the path: each block arrives half a block later than its
    // predecessor, and few are in time. One deadline passes every 100 ms, and blocks that have not
    // arrived are judged, too.
    let blocks = run(
        "duration = \"10s\"\nwarmup = \"5s\"\ntransport = { protocol = \"cmt-sctp\" }\n[workload]\nkind = \"cbr\"\nrate = \"20Mbit\"\nblock = \"250kB\"\ndeadline = \"1s\"\n\
         [[path]]\nrate = \"10Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"",
    );
    assert_eq!((blocks.metrics.in_time_share, blocks.metrics.messages_late), (Some(0.0), Some(50)));
}

const PAGES: &str =
    "kind = \"request-response\"\nresponse = \"200kB\"\nsizes = \"exponential\"\nparallel = 6";

fn latency(result: &RunResult) -> f64 {
    result.metrics.request_latency_ms.expect("requests").mean
}

#[test]
fn the_shortest_first_lowers_the_mean_where_there_are_streams() {
    for transport in [CMT_SCTP, MPQUIC] {
        let [shortest, written] =
            ["\"srpt\"", "\"lowest-rtt\""].map(|scheduler| latency(&with(transport, scheduler, PAGES)));
        assert!(shortest < 0.8 * written, "{transport}: {shortest} and {written} ms");
    }
}

#[test]
fn over_one_stream_the_shortest_first_is_lowest_rtt() {
    let [shortest, written] = ["\"srpt\"", "\"lowest-rtt\""].map(|scheduler| with(MPTCP, scheduler, PAGES));
    assert_eq!(shortest.requests, written.requests);
}

/// The first quartile of the requests' latencies, in milliseconds.
fn quickest(transport: &str, urgent: u32) -> f64 {
    let workload =
        format!("kind = \"request-response\"\nresponse = \"200kB\"\nparallel = 6\nurgent = {urgent}");
    let frame = with(transport, "\"lowest-rtt\"", &workload).requests.expect("requests");
    let mut latencies: Vec<i64> =
        frame.written.iter().zip(&frame.delivered).map(|(from, to)| to - from).collect();
    latencies.retain(|latency| *latency > 0);
    latencies.sort_unstable();
    latencies[latencies.len() / 4] as f64 / 1e6
}

#[test]
fn urgent_clients_do_not_wait_for_the_others_where_there_are_streams() {
    for transport in [CMT_SCTP, MPQUIC] {
        let (one, none) = (quickest(transport, 1), quickest(transport, 0));
        assert!(one < 0.5 * none, "{transport}: {one} and {none} ms");
    }
    assert_eq!(quickest(MPTCP, 1), quickest(MPTCP, 0), "one stream");
}

/// Blocks of 250 kB, two per second. The cheap path delivers a block in 200 ms and a few round
/// trips.
fn blocks(scheduler: &str, deadline: &str) -> (f64, f64) {
    let workload = format!("kind = \"cbr\"\nrate = \"4Mbit\"\nblock = \"250kB\"\ndeadline = \"{deadline}\"");
    let result = with(MPTCP, scheduler, &workload);
    let sent: u64 = result.paths.iter().map(|path| path.packets_sent).sum();
    (result.paths[1].packets_sent as f64 / sent as f64, result.metrics.in_time_share.expect("deadlines"))
}

#[test]
fn the_dear_path_is_used_as_far_as_deadlines_ask_for_it() {
    let (dear, in_time) = blocks("\"mp-dash\"", "450ms");
    assert!(dear < 0.05 && in_time == 1.0, "{dear}, {in_time}");
    // The cheap path alone needs 200 ms for the payload.
    let (dear, in_time) = blocks("\"mp-dash\"", "220ms");
    assert!(dear > 0.1 && in_time > 0.95, "{dear}, {in_time}");
    let (dear, _) = blocks("\"lowest-rtt\"", "450ms");
    assert!(dear > 0.3, "{dear}");
    // With a plan for a fifth of the time, it needs the dear path even for this deadline.
    let (dear, in_time) = blocks("{ name = \"mp-dash\", alpha = 0.2 }", "450ms");
    assert!(dear > 0.2 && in_time == 1.0, "{dear}, {in_time}");
}
