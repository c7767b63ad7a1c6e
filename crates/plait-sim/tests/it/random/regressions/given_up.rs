//! Peers that were given up for good reason, with reasons that were hard to find.

use crate::random::account::check;

/// Two paths had answered, but not the packets that they had lost before. No timeout was allowed:
/// the first timeout of the others was too many.
#[test]
fn what_was_lost_before_the_last_answer_is_a_reason_to_give_the_peer_up() {
    let scenario = r#"
        seed = 905481481
        duration = "17s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "415500B"
        receive_window_accounting = "buffer"
        initial_window = "4380B"
        initial_ssthresh = "1B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 2
        ack_delay = "2ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "loss-rate"
        fast_retransmit_threshold = 3
        rto_min = "178ms"
        rto_initial = "178ms"
        rto_max = "6691ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 0
        potentially_failed = false
        heartbeat_interval = "100ms"
        [workload]
        kind = "bulk"
        [[path]]
        backup = false
        cost = 0
        forward = { rate = "39013109bit", delay = "1us", queue = "1p", loss = "7.07%" }
        backward = { rate = "39013109bit", delay = "1us", queue = "infinite" }
        [[path]]
        links = ["link1"]
        [[path]]
        backup = false
        cost = 0
        outages = [{ from = "1ms", to = "50ms" }]
        forward = { rate = "1847865bit", delay = "33393us", queue = "infinite" }
        backward = { rate = "1847865bit", delay = "1us", queue = "infinite" }
        links = ["link1"]
        [[path]]
        links = ["link1"]
        [[link]]
        name = "link1"
        forward = { rate = "190181bit", delay = "1us", queue = "88ms" }
        backward = { rate = "190181bit", delay = "1us", queue = "infinite", loss = "9.19%", jitter = { amount = "6770us", reorder = false } }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The first of three timeouts was for packets that had been lost before the last answer.
#[test]
fn a_timer_that_began_before_the_last_answer_counts() {
    let scenario = r#"
        seed = 934544564
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "mptcp"
        profile = "linux"
        packet = "1500B"
        receive_buffer = "139500B"
        congestion_control = "lia"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = false
        ack_every = 2
        ack_delay = "16ms"
        rto_min = "138ms"
        rto_initial = "138ms"
        rto_max = "795ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 2
        potentially_failed = false
        handshake = true
        timestamp_granularity = "205193us"
        clock_offset = "0us"
        [workload]
        kind = "bulk"
        [[path]]
        backup = false
        cost = 0
        outages = [{ from = "241ms", to = "258ms" }, { from = "262ms", to = "302ms" }, { from = "562ms", to = "1605ms" }]
        forward = { rate = "984593bit", delay = "13us", queue = "infinite", loss = { model = "gilbert-elliott", to_bad = "12.35%", to_good = "50%", good_loss = "3%", bad_loss = "50%" } }
        backward = { rate = "984593bit", delay = "536us", queue = "3ms", loss = { model = "gilbert-elliott", to_bad = "3.12%", to_good = "50%", good_loss = "3%", bad_loss = "21%" } }
        [[flow]]
        direction = "backward"
        kind = "tcp"
        path = "path1"
        size = "1B"
        [[flow]]
        direction = "forward"
        kind = "tcp"
        path = "path1"
        size = "252563B"
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Datagrams filled an endless queue: packets that were sent before the last answer still waited
/// there.
#[test]
fn what_waits_in_a_queue_since_before_the_last_answer_counts() {
    let scenario = r#"
        seed = 1327549819
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "mptcp"
        profile = "standard"
        packet = "1500B"
        receive_buffer = "1500B"
        congestion_control = "newreno"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        rto_min = "216ms"
        rto_initial = "216ms"
        rto_max = "2000ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = false
        timestamp_granularity = "1us"
        clock_offset = "0us"
        [workload]
        kind = "on-off"
        rate = "10kbit"
        block = "20B"
        on = "4021ms"
        off = "1ms"
        [[path]]
        backup = false
        cost = 0
        forward = { rate = "197049bit", delay = "1us", queue = "infinite" }
        backward = { rate = "197049bit", delay = "1us", queue = "infinite" }
        [[flow]]
        direction = "forward"
        kind = "on-off"
        path = "path1"
        rate = "1165kbit"
        on = "14ms"
        off = "1ms"
        [[flow]]
        direction = "forward"
        kind = "cbr"
        path = "path1"
        rate = "2886kbit"
        packet = "20B"
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The answer waits behind another flow's packets, which never end.
#[test]
fn what_arrived_and_whose_answer_waits_in_a_queue_counts() {
    let scenario = r#"
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "1009500B"
        receive_window_accounting = "buffer"
        initial_window = "4380B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "same"
        fast_retransmit_threshold = 3
        rto_min = "769ms"
        rto_initial = "2273ms"
        rto_max = "2273ms"
        path_max_retransmissions = 1
        association_max_retransmissions = 10
        potentially_failed = false
        heartbeat_interval = "4091ms"
        [workload]
        kind = "file"
        size = "60449B"
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "46825bit", delay = "1us", queue = "infinite" }
        backward = { rate = "46825bit", delay = "1us", queue = "infinite" }
        [[flow]]
        direction = "backward"
        kind = "cbr"
        path = "path1"
        rate = "2912kbit"
        packet = "20B"
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// A timer restarted when an earlier packet was answered. It expired for a packet that had been
/// lost before.
#[test]
fn a_timer_that_was_started_anew_counts() {
    let scenario = r#"
        seed = 3334550309
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "4500B"
        receive_window_accounting = "outstanding"
        initial_window = "4380B"
        max_burst = 0
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "same"
        fast_retransmit_threshold = 3
        rto_min = "703ms"
        rto_initial = "703ms"
        rto_max = "703ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 0
        potentially_failed = false
        heartbeat_interval = "3690ms"
        [workload]
        kind = "cbr"
        rate = "62kbit"
        block = "1182B"
        start = "1869ms"
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "1267519bit", delay = "1us", queue = "infinite", loss = { model = "gilbert-elliott", to_bad = "1.20%", to_good = "50%", good_loss = "3%", bad_loss = "94%" } }
        backward = { rate = "1267519bit", delay = "1us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// The far end's segments arrived all the time, with acknowledgements that acknowledged no new
/// data. For a minute, no packet of the near end had passed an endless queue. These segments did
/// not count as answers.
#[test]
fn segments_of_the_peer_speak_for_it() {
    let scenario = r#"
        seed = 1980210496
        duration = "150s"
        scheduler = { name = "round-robin" }
        [transport]
        protocol = "mptcp"
        profile = "linux"
        packet = "1500B"
        receive_buffer = "1500B"
        congestion_control = "newreno"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = false
        ack_every = 1
        ack_delay = "1ms"
        rto_min = "729ms"
        rto_initial = "729ms"
        rto_max = "2415ms"
        path_max_retransmissions = 0
        association_max_retransmissions = 10
        potentially_failed = false
        handshake = false
        timestamp_granularity = "1us"
        clock_offset = "0us"
        ecn = false
        [workload]
        kind = "request-response"
        request = "4392B"
        response = "1B"
        sizes = "fixed"
        think = "0ms"
        think_times = "fixed"
        parallel = 1
        count = 1
        start = "0ms"
        urgent = 0
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "446359bit", delay = "1us", queue = "infinite" }
        backward = { rate = "446359bit", delay = "1us", queue = "infinite" }
        links = ["link0"]
        [[link]]
        name = "link0"
        forward = { rate = "1212731bit", delay = "1us", queue = "infinite" }
        backward = { rate = "1212731bit", delay = "225889us", queue = "infinite" }
        [[flow]]
        direction = "forward"
        kind = "on-off"
        path = "path1"
        rate = "2068kbit"
        on = "121ms"
        off = "1ms"
    "#;
    assert_eq!(check(scenario), Ok(()));
}
