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
