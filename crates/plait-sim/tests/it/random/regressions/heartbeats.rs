//! Peers that were given up because of heartbeats without an answer.

use crate::random::account::check;

/// A HEARTBEAT arrived, and its answer was lost. A SACK that left later arrived. The heartbeat's
/// timer counts in spite of the SACK.
#[test]
fn a_sack_does_not_answer_a_heartbeat() {
    let scenario = r#"
        seed = 36858552
        duration = "150s"
        scheduler = { name = "lowest-rtt" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "3000B"
        receive_window_accounting = "outstanding"
        initial_window = "4380B"
        initial_ssthresh = "213B"
        max_burst = 0
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "164ms"
        delayed_ack_for_cmt = true
        retransmission_policy = "same"
        fast_retransmit_threshold = 3
        rto_min = "794ms"
        rto_initial = "794ms"
        rto_max = "794ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 2
        potentially_failed = true
        heartbeat_interval = "580ms"
        [workload]
        kind = "cbr"
        rate = "96kbit"
        block = "12348B"
        start = "9682ms"
        deadline = "1005ms"
        [[path]]
        backup = false
        cost = 1
        weight = 2
        forward = { rate = "11588bit", delay = "8208us", queue = "470112B", loss = "0.02%" }
        backward = { rate = "11588bit", delay = "3us", queue = "104ms", jitter = { amount = "233us", reorder = true } }
        [[path]]
        backup = false
        cost = 3
        weight = 2
        outages = { every = "34ms", length = "15ms" }
        forward = { rate = "2478786bit", delay = "29032us", queue = "infinite", discipline = { name = "fq-codel", target = "726408ns", quantum = "3521B", memory_limit = "72197B", drop_batch = 26, ecn = false } }
        backward = { rate = "309848bit", delay = "1752us", queue = "167p", loss = { model = "gilbert-elliott", to_bad = "0.18%", to_good = "91%", good_loss = "4%", bad_loss = "47%" }, jitter = { amount = "169us", reorder = false } }
        [[path]]
        backup = false
        cost = 0
        weight = 4
        forward = { rate = "8546225bit", delay = "5911us", queue = "12p" }
        backward = { rate = "4273112bit", delay = "72964us", queue = "62ms", loss = { model = "gilbert-elliott", to_bad = "4.03%", to_good = "67%", good_loss = "1%", bad_loss = "75%" } }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// A queue was longer than every timeout. Both timers of a path, for data and for heartbeats, ran
/// for packets that were sent before the last answer.
#[test]
fn both_timers_of_a_path_count() {
    let scenario = r#"
        seed = 3920272440
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "1438500B"
        receive_window_accounting = "buffer"
        initial_window = "4380B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "same"
        fast_retransmit_threshold = 3
        rto_min = "215ms"
        rto_initial = "215ms"
        rto_max = "215ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 2
        potentially_failed = false
        heartbeat_interval = "100ms"
        [workload]
        kind = "request-response"
        request = "1B"
        response = "268881B"
        sizes = "exponential"
        think = "0ms"
        think_times = "fixed"
        parallel = 2
        count = 43
        start = "1ms"
        urgent = 0
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "3361146bit", delay = "1us", queue = "infinite" }
        backward = { rate = "3361146bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The far end's own heartbeats waited behind data in an endless queue, and their answers took
/// longer than any timeout. The data that the far end received did not answer them.
#[test]
fn the_data_of_the_peer_answers_no_heartbeat() {
    let scenario = r#"
        seed = 3927517911
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "1438500B"
        receive_window_accounting = "buffer"
        initial_window = "4380B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 2
        ack_delay = "2ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "same"
        fast_retransmit_threshold = 3
        rto_min = "215ms"
        rto_initial = "215ms"
        rto_max = "215ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 2
        potentially_failed = false
        heartbeat_interval = "107ms"
        [workload]
        kind = "request-response"
        request = "1B"
        response = "268881B"
        sizes = "exponential"
        think = "0ms"
        think_times = "fixed"
        parallel = 5
        count = 43
        start = "2428ms"
        urgent = 0
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "3361146bit", delay = "62146us", queue = "infinite" }
        backward = { rate = "3361146bit", delay = "1us", queue = "infinite", loss = { model = "gilbert-elliott", to_bad = "6.18%", to_good = "50%", good_loss = "0%", bad_loss = "20%" } }
    "#;
    assert_eq!(check(scenario), Ok(()));
}
