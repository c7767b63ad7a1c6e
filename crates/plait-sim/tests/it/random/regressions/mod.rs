//! Failures of random scenarios, in reduced form.

mod given_up;
mod heartbeats;
mod short_segments;
mod stalls;
mod timeouts;

use crate::random::account::check;

/// The only path was suspected. A heartbeat left with each retransmission, at the same time and
/// before it, and took the only place in the queue. The run repeated this for ever.
#[test]
fn a_heartbeat_does_not_take_the_place_of_the_data_that_probes_the_path() {
    let scenario = r#"
        duration = "150s"
        scheduler = "round-robin"
        [transport]
        protocol = "cmt-sctp"
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
        queue = "50p"
        forward = { rate = "82Mbit", delay = "1us", queue = "1p" }
        backward = { rate = "82Mbit", delay = "1us" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Segments 74 and 75 waited in the write queue of a slow path, which always had another
/// retransmission to make for the lossy path. No more data was delivered.
#[test]
fn retransmissions_do_not_hold_back_the_segment_that_all_wait_for() {
    let scenario = r#"
        seed = 7155
        duration = "150s"
        scheduler = "round-robin"
        [transport]
        protocol = "cmt-sctp"
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

/// Every path had a copy of all data. When one copy arrived, all copies counted as arrived: on the
/// slow paths, they seemed to have overtaken earlier segments.
#[test]
fn a_copy_that_arrived_elsewhere_overtakes_nothing() {
    let scenario = r#"
        duration = "150s"
        seed = 392114244
        scheduler = { name = "redundant" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1408B"
        receive_buffer = "14080B"
        receive_window_accounting = "buffer"
        initial_window = "3399B"
        initial_ssthresh = "1159B"
        grow_in_recovery = true
        ack_every = 13
        ack_delay = "88ms"
        delayed_ack_for_cmt = true
        retransmission_policy = "asap"
        fast_retransmit_threshold = 1
        rto_min = "42ms"
        rto_initial = "252ms"
        rto_max = "1973ms"
        path_max_retransmissions = 1
        association_max_retransmissions = 100000
        potentially_failed = true
        heartbeat_interval = "1502ms"
        [workload]
        kind = "cbr"
        rate = "24kbit"
        block = "41775B"
        start = "287ms"
        [[path]]
        forward = { rate = "25799381bit", delay = "2546us", queue = "infinite", jitter = "3403us" }
        backward = { rate = "25799381bit", delay = "253us", queue = "infinite", jitter = "166us" }
        [[path]]
        forward = { rate = "349431bit", delay = "237us", queue = "infinite" }
        backward = { rate = "349431bit", delay = "1030us", queue = "infinite", jitter = "3215us" }
        [[path]]
        forward = { rate = "1190995bit", delay = "1us", queue = "infinite" }
        backward = { rate = "1190995bit", delay = "6631us", queue = "infinite", jitter = "688us" }
        [[path]]
        backup = true
        forward = { rate = "24436441bit", delay = "108us", queue = "infinite" }
        backward = { rate = "24436441bit", delay = "212673us", queue = "infinite", jitter = "6006us" }
        [[path]]
        backup = true
        forward = { rate = "37202399bit", delay = "813us", queue = "infinite" }
        backward = { rate = "9300599bit", delay = "64411us", queue = "infinite", jitter = "35us" }
        [[path]]
        forward = { rate = "39233055bit", delay = "1711us", queue = "infinite" }
        backward = { rate = "39233055bit", delay = "714us", queue = "infinite" }
        [[path]]
        backup = true
        forward = { rate = "1025543bit", delay = "5473us", queue = "infinite" }
        backward = { rate = "1025543bit", delay = "80082us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Two paths share one link whose queue holds a probe or a segment. With each retransmission of the
/// segment, the other path's heartbeat left at the same time and before it.
#[test]
fn a_heartbeat_of_another_path_does_not_take_the_place_of_data_on_a_shared_link() {
    for heartbeat in [100, 152, 1_000] {
        for policy in ["same", "cwnd", "asap", "ssthresh", "loss-rate"] {
            for queue in ["1ms", "1p"] {
                let scenario = format!(
                    r#"
                    duration = "150s"
                    scheduler = {{ name = "intelligent-delivery-delay" }}
                    [transport]
                    protocol = "cmt-sctp"
                    ack_every = 1
                    ack_delay = "1ms"
                    retransmission_policy = "{policy}"
                    rto_min = "400ms"
                    rto_initial = "400ms"
                    rto_max = "400ms"
                    path_max_retransmissions = 0
                    association_max_retransmissions = 100000
                    heartbeat_interval = "{heartbeat}ms"
                    [workload]
                    kind = "file"
                    size = "71519B"
                    [[path]]
                    links = ["shared"]
                    [[path]]
                    links = ["shared"]
                    [[link]]
                    name = "shared"
                    forward = {{ rate = "300kbit", delay = "1us", queue = "{queue}" }}
                    backward = {{ rate = "300kbit", delay = "1us", queue = "{queue}" }}
                    "#
                );
                assert_eq!(check(&scenario), Ok(()), "{heartbeat} ms, {policy}, {queue}");
            }
        }
    }
}

/// Suspended paths were probed before data left on other paths. A probe always took the only place
/// in their shared queue, since all timers were backed off equally.
#[test]
fn a_probe_never_takes_the_place_of_data() {
    let scenario = r#"
        seed = 0
        duration = "150s"
        scheduler = { name = "daps-rounds" }

        [transport]
        protocol = "mpquic"
        packet = "1500B"
        receive_buffer = "4500B"
        congestion_control = "balia"
        hystart = false
        initial_window = "10p"
        grow_in_recovery = true
        ack_every = 1
        ack_delay = "32ms"
        rto_initial = "21ms"
        rto_max = "3573ms"
        path_max_retransmissions = 2
        association_max_retransmissions = 9
        potentially_failed = true
        handshake = true

        [workload]
        kind = "file"
        size = "20727B"

        [[path]]
        backup = false
        cost = 2
        forward = { rate = "74254bit", delay = "229us", queue = "9ms", loss = { model = "gilbert-elliott", to_bad = "4.71%", to_good = "68%", good_loss = "0%", bad_loss = "46%" }, rate_steps = [{ at = "137ms", rate = "37127bit" }], repeat = "14695ms" }
        backward = { rate = "74254bit", delay = "180us", queue = "bdp", loss = { model = "gilbert-elliott", to_bad = "0.12%", to_good = "68%", good_loss = "5%", bad_loss = "52%" } }

        [[path]]
        links = ["link1"]

        [[path]]
        links = ["link1"]

        [[path]]
        backup = false
        cost = 2
        outages = [{ from = "19ms", to = "20ms" }]
        forward = { rate = "1905714bit", delay = "17139us", queue = "66p", loss = { model = "gilbert-elliott", to_bad = "0.31%", to_good = "96%", good_loss = "4%", bad_loss = "92%" }, jitter = { amount = "1615us", reorder = true } }
        backward = { rate = "1905714bit", delay = "1us", queue = "infinite", loss = { model = "gilbert-elliott", to_bad = "1.08%", to_good = "67%", good_loss = "3%", bad_loss = "42%" }, jitter = { amount = "197us", reorder = false } }
        links = ["link0"]

        [[path]]
        links = ["link0", "link1"]

        [[path]]
        backup = false
        cost = 3
        forward = { rate = "102742bit", delay = "182346us", queue = "88742B", loss = "0.10%", jitter = { amount = "4298us", reorder = false } }
        backward = { rate = "102742bit", delay = "4us", queue = "infinite" }
        links = ["link0"]

        [[link]]
        name = "link0"
        forward = { rate = "72502bit", delay = "15199us", queue = "88897B" }
        backward = { rate = "72502bit", delay = "2706us", queue = "64p", jitter = { amount = "48459us", reorder = true } }

        [[link]]
        name = "link1"
        forward = { rate = "399281bit", delay = "33us", queue = "1p" }
        backward = { rate = "399281bit", delay = "4367us", queue = "242678B", jitter = { amount = "3us", reorder = true } }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// A SACK of a fast path reported segments that had arrived over slower paths, whose own SACKs were
/// still in flight. Copies of these segments on the fast path counted as arrived, and earlier
/// segments there as overtaken.
#[test]
fn what_a_sack_tells_of_other_paths_overtakes_nothing_on_its_own() {
    let scenario = r#"
        seed = 0
        duration = "15s"
        scheduler = { name = "raven" }
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "109500B"
        receive_window_accounting = "outstanding"
        initial_window = "4380B"
        max_burst = 2
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "3ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "asap"
        fast_retransmit_threshold = 1
        rto_min = "694ms"
        rto_initial = "694ms"
        rto_max = "694ms"
        path_max_retransmissions = 3
        association_max_retransmissions = 100000
        potentially_failed = true
        heartbeat_interval = "3992ms"
        [workload]
        kind = "bulk"
        [[path]]
        backup = false
        cost = 2
        weight = 4
        forward = { rate = "1386327bit", delay = "71744us", queue = "infinite", rate_steps = [{ at = "43ms", rate = "693163bit" }], repeat = "44ms" }
        backward = { rate = "1386327bit", delay = "5us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 3
        weight = 3
        forward = { rate = "33058bit", delay = "1815us", queue = "infinite", jitter = "3us" }
        backward = { rate = "33058bit", delay = "72378us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 3
        weight = 2
        forward = { rate = "17671bit", delay = "203us", queue = "infinite", jitter = "3439us" }
        backward = { rate = "10000bit", delay = "16us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 0
        weight = 1
        forward = { rate = "3465378bit", delay = "89602us", queue = "infinite", rate_steps = [{ at = "1246ms", rate = "1732689bit" }] }
        backward = { rate = "3465378bit", delay = "2us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 1
        weight = 2
        forward = { rate = "2562710bit", delay = "3us", queue = "infinite" }
        backward = { rate = "854236bit", delay = "309us", queue = "infinite", jitter = "269us" }
        [[path]]
        backup = false
        cost = 2
        weight = 2
        forward = { rate = "715055bit", delay = "1238us", queue = "infinite", jitter = "68us" }
        backward = { rate = "715055bit", delay = "36578us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 4
        weight = 1
        forward = { rate = "38694184bit", delay = "2077us", queue = "infinite", rate_steps = [{ at = "6316ms", rate = "19347092bit" }], repeat = "15525ms" }
        backward = { rate = "38694184bit", delay = "44us", queue = "infinite" }
        [[path]]
        backup = false
        cost = 3
        weight = 2
        forward = { rate = "164404bit", delay = "46us", queue = "infinite", jitter = "1134us" }
        backward = { rate = "164404bit", delay = "205us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}

/// Slow paths held a segment each, and the receiver held 41 segments behind them: the send buffer
/// was full. No window could grow.
#[test]
fn a_full_send_buffer_limits_the_sender() {
    let scenario = r#"
        duration = "77s"
        scheduler = "delivery-delay"
        [transport]
        protocol = "cmt-sctp"
        packet = "1500B"
        receive_buffer = "1090500B"
        send_buffer = "63000B"
        receive_window_accounting = "outstanding"
        initial_window = "1B"
        initial_ssthresh = "42B"
        max_burst = 0
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "34ms"
        delayed_ack_for_cmt = false
        retransmission_policy = "loss-rate"
        fast_retransmit_threshold = 2
        rto_min = "191ms"
        rto_initial = "573ms"
        rto_max = "7680ms"
        path_max_retransmissions = 3
        association_max_retransmissions = 100000
        potentially_failed = false
        heartbeat_interval = "1115ms"
        [workload]
        kind = "bulk"
        [[path]]
        cost = 0
        weight = 4
        forward = { rate = "103663bit", delay = "268837us", queue = "infinite" }
        backward = { rate = "103663bit", delay = "550us", queue = "infinite" }
        [[path]]
        cost = 0
        weight = 2
        forward = { rate = "9155403bit", delay = "2us", queue = "infinite" }
        backward = { rate = "9155403bit", delay = "1us", queue = "infinite" }
        [[path]]
        cost = 2
        weight = 2
        forward = { rate = "49595bit", delay = "87703us", queue = "infinite", delay_steps = [{ at = "1260ms", delay = "32242us" }] }
        backward = { rate = "49595bit", delay = "84us", queue = "infinite" }
    "#;
    assert_eq!(check(scenario), Ok(()));
}
