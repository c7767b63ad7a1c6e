//! What random scenarios found, made small.

use crate::account::check;

/// With the only path suspected, a heartbeat left with each retransmission, at the same moment and before it, and took the
/// one place that the queue has. For ever.
#[test]
fn a_heartbeat_does_not_take_the_place_of_the_data_that_probes_the_path() {
    let scenario = r#"
        duration = "150s"
        scheduler = "round-robin"
        [transport]
        ack_delay = "1ms"
        rto_min = "432ms"
        rto_initial = "432ms"
        rto_max = "432ms"
        potentially_failed = true
        path_max_retransmissions = 1
        heartbeat_interval = "100ms"
        [workload]
        kind = "file"
        size = "71519B"
        [[path]]
        forward = { rate = "82Mbit", delay = "1us", queue = "1p" }
        backward = { rate = "82Mbit", delay = "1us" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Segments 74 and 75 waited in the queue of a slow path, which had always another retransmission to make for the lossy
/// one. Nothing was delivered any more.
#[test]
fn retransmissions_do_not_hold_back_the_segment_that_all_wait_for() {
    let scenario = r#"
        seed = 7155
        duration = "150s"
        scheduler = "round-robin"
        [transport]
        receive_window_accounting = "outstanding"
        initial_ssthresh = "1B"
        delayed_ack_for_cmt = false
        ack_delay = "1ms"
        rto_min = "455ms"
        rto_initial = "455ms"
        rto_max = "7138ms"
        path_max_retransmissions = 0
        heartbeat_interval = "100ms"
        receive_buffer = "154500B"
        [workload]
        kind = "cbr"
        rate = "329kbit"
        block = "12570B"
        [[path]]
        forward = { rate = "461923bit", delay = "1us", queue = "1ms" }
        backward = { rate = "461923bit", delay = "1us", queue = "infinite" }
        [[path]]
        forward = { rate = "16694bit", delay = "1us", queue = "infinite" }
        backward = { rate = "16694bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}
