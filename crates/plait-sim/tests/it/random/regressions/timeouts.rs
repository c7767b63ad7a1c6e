//! Timeouts below the round trip.

use crate::random::account::check;

/// SACKs of path 0's data returned in turn after 97 ms, on path 1, and after 195 ms. The timeout of
/// 98 ms expired for the second kind, which then gave no round-trip sample although its data was
/// not retransmitted yet. So the timeout stayed, and the window at its minimum.
#[test]
fn a_timeout_below_the_round_trip_grows() {
    let scenario = r#"
        seed = 0
        duration = "150s"
        scheduler = { name = "daps-rounds", guard = true }

        [transport]
        protocol = "cmt-sctp"
        packet = "3576B"
        receive_buffer = "443424B"
        receive_window_accounting = "outstanding"
        initial_window = "4380B"
        initial_ssthresh = "36728B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "28ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "cwnd"
        fast_retransmit_threshold = 2
        rto_min = "11ms"
        rto_initial = "55ms"
        rto_max = "276ms"
        path_max_retransmissions = 4
        association_max_retransmissions = 13
        potentially_failed = false
        heartbeat_interval = "208ms"

        [workload]
        kind = "cbr"
        rate = "1647kbit"
        block = "765B"
        start = "4559ms"
        deadline = "284ms"

        [[path]]
        backup = false
        cost = 0
        weight = 3
        forward = { rate = "66870520bit", delay = "1124us", queue = "infinite" }
        backward = { rate = "4179407bit", delay = "188889us", queue = "infinite", jitter = "224us" }

        [[path]]
        backup = false
        cost = 0
        weight = 4
        forward = { rate = "129217bit", delay = "34us", queue = "infinite", jitter = "17us" }
        backward = { rate = "129217bit", delay = "14854us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}
