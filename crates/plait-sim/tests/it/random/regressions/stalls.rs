//! Stalls.

use crate::common::run;
use crate::random::account::check;

/// A send buffer that counts memory ended within a segment. The writer waited for room, and the
/// segment waited for its remaining data.
#[test]
fn the_rest_of_what_a_waiting_writer_has_written_is_sent() {
    let scenario = r#"
        duration = "150s"
        scheduler = "round-robin"
        [transport]
        protocol = "mptcp"
        profile = "linux"
        packet = "4168B"
        receive_buffer = "4168B"
        send_buffer = "4168B"
        handshake = false
        [workload]
        kind = "file"
        size = "212598B"
        [[path]]
        forward = { rate = "1487933bit", delay = "1us", queue = "infinite" }
        backward = { rate = "1487933bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// A queue of 99 packets at 56 kbit/s takes 20 s, and the longest timeout was 8 s. Each timeout
/// suspended a path and declared all its packets lost. Later acknowledgements were for numbers that
/// the sender had forgotten. The same 42 segments were sent for ever.
#[test]
fn late_acknowledgements_count_for_what_was_taken_for_lost() {
    let scenario = r#"
        seed = 2560286618
        duration = "150s"
        scheduler = { name = "round-robin" }

        [transport]
        protocol = "mpquic"
        packet = "1500B"
        receive_buffer = "55500B"
        congestion_control = "lia"
        hystart = false
        initial_window = "78p"
        grow_in_recovery = false
        ack_every = 2
        ack_delay = "332ms"
        rto_initial = "3ms"
        rto_max = "7767ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = true

        [workload]
        kind = "request-response"
        request = "1B"
        response = "32830B"
        sizes = "fixed"
        think = "0ms"
        think_times = "fixed"
        parallel = 1
        count = 11
        start = "4343ms"


        [[path]]
        backup = true
        cost = 0
        forward = { rate = "181125bit", delay = "1us", queue = "526ms", loss = "2.48%" }
        backward = { rate = "181125bit", delay = "1us", queue = "infinite" }
        links = ["link1"]

        [[path]]
        backup = false
        cost = 0
        forward = { rate = "8046389bit", delay = "3779us", queue = "infinite" }
        backward = { rate = "8046389bit", delay = "1us", queue = "infinite" }
        links = ["link1"]

        [[path]]
        links = ["link0", "link1"]

        [[path]]
        backup = false
        cost = 0
        forward = { rate = "163413bit", delay = "12165us", queue = "1p" }
        backward = { rate = "163413bit", delay = "1us", queue = "infinite" }
        links = ["link1"]

        [[path]]
        backup = false
        cost = 0
        outages = [{ from = "1ms", to = "13795ms" }]
        forward = { rate = "3386890bit", delay = "1us", queue = "infinite" }
        backward = { rate = "3386890bit", delay = "1us", queue = "infinite" }

        [[path]]
        backup = false
        cost = 0
        forward = { rate = "326218bit", delay = "1us", queue = "bdp" }
        backward = { rate = "326218bit", delay = "1us", queue = "infinite" }

        [[link]]
        name = "link0"
        forward = { rate = "3110801bit", delay = "1us", queue = "infinite" }
        backward = { rate = "3110801bit", delay = "1us", queue = "infinite" }

        [[link]]
        name = "link1"
        forward = { rate = "56377bit", delay = "1us", queue = "99p" }
        backward = { rate = "56377bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The rest of the peer's window had no room for a full segment. The next segment was a short one,
/// but was not considered. The sender sent nothing and did not report that it was blocked.
#[test]
fn a_short_segment_goes_where_a_full_one_has_no_room() {
    let scenario = r#"
        seed = 4121527804
        duration = "150s"
        scheduler = { name = "round-robin" }

        [transport]
        protocol = "mpquic"
        packet = "1500B"
        receive_buffer = "1500B"
        congestion_control = "newreno"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = false
        ack_every = 2
        ack_delay = "1ms"
        rto_initial = "12ms"
        rto_max = "1576ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = false
        ecn = false

        [workload]
        kind = "request-response"
        request = "1031B"
        response = "1B"
        sizes = "exponential"
        think = "0ms"
        think_times = "fixed"
        parallel = 4
        count = 84
        start = "0ms"


        [[path]]
        backup = false
        cost = 0
        forward = { rate = "10000bit", delay = "1us", queue = "infinite", loss = "17.13%" }
        backward = { rate = "10000bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// A path's queue held 34 s, and the longest timeout was 4 s. The tail probe was due after two
/// round trips, without regard to the longest timeout. The connection's own timer waits as long as
/// the longest timer of its subflows. The segments that the receiver had dropped beyond its window
/// stayed missing.
#[test]
fn no_timer_of_a_subflow_runs_longer_than_the_longest_timeout() {
    let scenario = r#"
        seed = 0
        duration = "150s"
        scheduler = { name = "redundant", mode = "probing" }
        [transport]
        protocol = "mptcp"
        profile = "linux"
        packet = "1500B"
        receive_buffer = "312000B"
        congestion_control = "newreno"
        hystart = true
        initial_window = "10p"
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "62ms"
        rto_min = "523ms"
        rto_initial = "1569ms"
        rto_max = "3920ms"
        path_max_retransmissions = 3
        association_max_retransmissions = 14
        potentially_failed = true
        handshake = false
        timestamp_granularity = "418309us"
        clock_offset = "815326us"
        ecn = false
        [workload]
        kind = "cbr"
        rate = "121kbit"
        block = "47B"
        start = "4499ms"
        [[path]]
        backup = false
        cost = 1
        weight = 3
        forward = { rate = "102423bit", delay = "1371us", queue = "infinite", rate_steps = [{ at = "277ms", rate = "51211bit" }], repeat = "12405ms" }
        backward = { rate = "102423bit", delay = "24910us", queue = "infinite", discipline = { name = "fq-codel", target = "1303105ns", quantum = "11786B", memory_limit = "362200B" } }
        [[path]]
        backup = false
        cost = 0
        weight = 2
        forward = { rate = "191285bit", delay = "655us", queue = "36p", discipline = { name = "fq-codel", interval = "46802522ns", drop_batch = 50, ecn = false } }
        backward = { rate = "191285bit", delay = "4297us", queue = "14ms" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Queues held data for many seconds, and the initial timeout was 372 ms. Each timeout declared the
/// path's packets lost. Late acknowledgements gave no round-trip sample, so the timeout stayed at
/// 372 ms: one path sent 12,319 retransmissions.
#[test]
fn a_late_acknowledgement_gives_a_round_trip_sample() {
    let scenario = r#"
        seed = 1285224760
        duration = "150s"
        scheduler = { name = "delivery-delay" }
        [transport]
        protocol = "mpquic"
        packet = "1500B"
        receive_buffer = "352500B"
        congestion_control = "lia"
        hystart = true
        initial_window = "10p"
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "18ms"
        rto_initial = "372ms"
        rto_max = "5265ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = false
        ecn = false
        [workload]
        kind = "cbr"
        rate = "70kbit"
        block = "21B"
        start = "9645ms"
        deadline = "2317ms"
        [[path]]
        backup = false
        cost = 4
        weight = 1
        forward = { rate = "27218bit", delay = "1us", queue = "infinite" }
        backward = { rate = "10000bit", delay = "87894us", queue = "infinite", jitter = "4us" }
        [[path]]
        backup = false
        cost = 4
        weight = 3
        forward = { rate = "3495355bit", delay = "382us", queue = "infinite", rate_steps = [{ at = "487ms", rate = "1747677bit" }] }
        backward = { rate = "1165118bit", delay = "46580us", queue = "infinite", jitter = "350us" }
        links = ["link0"]
        [[path]]
        backup = false
        cost = 2
        weight = 1
        forward = { rate = "42985bit", delay = "1584us", queue = "infinite", rate_steps = [{ at = "6617ms", rate = "21492bit" }] }
        backward = { rate = "42985bit", delay = "2us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 4
        weight = 1
        forward = { rate = "337586bit", delay = "3026us", queue = "infinite", jitter = "44us" }
        backward = { rate = "112528bit", delay = "1us", queue = "infinite", jitter = "3441us" }
        links = ["link0"]
        [[path]]
        backup = false
        cost = 2
        weight = 2
        forward = { rate = "48981bit", delay = "2us", queue = "infinite" }
        backward = { rate = "12245bit", delay = "8036us", queue = "infinite" }
        links = ["link0"]
        [[link]]
        name = "link0"
        forward = { rate = "62421bit", delay = "53us", queue = "infinite" }
        backward = { rate = "62421bit", delay = "2us", queue = "infinite", jitter = "5972us" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The timeout doubles until the first round-trip sample, and no timeout follows that sample (RFC
/// 9002 §6.2.1).
#[test]
fn a_timeout_below_the_round_trip_grows_to_it() {
    for initial in [1_u32, 30, 400, 1_900] {
        for path_max_retransmissions in [0, 2] {
            let run = run(&format!(
                r#"
                duration = "120s"
                scheduler = "round-robin"
                [transport]
                protocol = "mpquic"
                handshake = false
                rto_initial = "{initial}ms"
                path_max_retransmissions = {path_max_retransmissions}
                association_max_retransmissions = 100
                [workload]
                kind = "file"
                size = "3MB"
                [[path]]
                rate = "200kbit"
                rtt = "2s"
                queue = "infinite"
                [[path]]
                rate = "300kbit"
                rtt = "3s"
                queue = "infinite"
                "#
            ));
            let case = format!("{initial} ms, {path_max_retransmissions} retransmissions");
            assert!(run.paths.iter().all(|path| path.srtt_ms > Some(2_000.0)), "{case}: {:?}", run.paths);
            let doublings = (3_000.0 / f64::from(initial)).log2().ceil() as u64;
            let timeouts = run.metrics.counters.timeouts;
            assert!(timeouts <= Some(2 * doublings), "{case}: {timeouts:?} timeouts, {doublings} doublings");
            assert_eq!(run.metrics.undelivered_bytes, Some(0), "{case}");
        }
    }
}

/// Pacing held back a retransmission that any path may send, with nothing in flight and no other
/// data. No timer woke the sender.
#[test]
fn a_paced_retransmission_leaves_without_other_events() {
    let scenario = r#"
        seed = 92125656
        duration = "150s"
        scheduler = { name = "round-robin" }

        [transport]
        protocol = "mpquic"
        packet = "1500B"
        receive_buffer = "3000B"
        send_buffer = "3000B"
        congestion_control = "bbr"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        rto_initial = "1ms"
        rto_max = "6263ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = false
        ecn = false

        [workload]
        kind = "bulk"

        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "475835bit", delay = "1us", queue = "infinite", loss = "11.64%", rate_steps = [{ at = "329ms", rate = "237917bit" }], repeat = "4786ms" }
        backward = { rate = "475835bit", delay = "1us", queue = "infinite", loss = "0%" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}
