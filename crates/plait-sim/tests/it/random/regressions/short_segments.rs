//! Segments that end at the end of a write.

use crate::random::account::check;
use crate::random::linux;

/// A copy of the stream's last, short segment was in a write queue when the application wrote more
/// data. The copy grew by the new data, but the receiver had the shorter original.
#[test]
fn a_copy_in_a_write_queue_stays_as_long_as_its_original() {
    let scenario = r#"
        seed = 13248
        duration = "150s"
        scheduler = { name = "linux-default" }
        [transport]
        protocol = "mptcp"
        profile = "standard"
        packet = "1500B"
        receive_buffer = "10500B"
        congestion_control = "balia"
        hystart = true
        initial_window = "10p"
        grow_in_recovery = true
        ack_every = 2
        ack_delay = "2ms"
        rto_min = "61ms"
        rto_initial = "61ms"
        rto_max = "61ms"
        path_max_retransmissions = 2
        association_max_retransmissions = 10
        potentially_failed = true
        handshake = false
        timestamp_granularity = "1us"
        clock_offset = "-34034us"
        ecn = true
        [workload]
        kind = "file"
        size = "642819B"
        [[path]]
        backup = false
        cost = 2
        weight = 2
        forward = { rate = "414628bit", delay = "54275us", queue = "1181ms", loss = { model = "gilbert-elliott", to_bad = "4.74%", to_good = "59%", good_loss = "2%", bad_loss = "74%" }, duplicate = { share = "1.30%", correlation = "14%" } }
        backward = { rate = "414628bit", delay = "5762us", queue = "28375B", loss = "0.38%" }
        [[path]]
        backup = false
        cost = 0
        weight = 4
        forward = { rate = "26611bit", delay = "1us", queue = "infinite", loss = "0.04%" }
        backward = { rate = "26611bit", delay = "52us", queue = "bdp", loss = "0%", jitter = { amount = "1060us", distribution = "normal", correlation = "0%", reorder = true }, discipline = { name = "codel", target = "3ns" } }
        [[path]]
        backup = false
        cost = 1
        weight = 3
        forward = { rate = "119684bit", delay = "70us", queue = "45431B", loss = { model = "gilbert-elliott", to_bad = "12.99%", to_good = "61%", good_loss = "3%", bad_loss = "54%" }, discipline = { name = "codel", interval = "742ns" }, duplicate = { share = "0.03%", correlation = "0%" }, rate_steps = [{ at = "168ms", rate = "59842bit" }], loss_steps = [{ at = "168ms", loss = "7.74%" }] }
        backward = { rate = "119684bit", delay = "48us", queue = "8ms", loss = "0%", jitter = { amount = "43us", distribution = "uniform", correlation = "0%", reorder = true } }
        [[path]]
        backup = true
        cost = 3
        weight = 1
        forward = { rate = "99051bit", delay = "102us", queue = "bdp", loss = "0%", jitter = { amount = "3us", distribution = "uniform", correlation = "5%", reorder = false }, rate_steps = [{ at = "91ms", rate = "49525bit" }], delay_steps = [{ at = "91ms", delay = "42us" }], loss_steps = [{ at = "91ms", loss = "0.15%" }], queue_steps = [{ at = "91ms", queue = "11p" }] }
        backward = { rate = "10000bit", delay = "110284us", queue = "bdp", loss = "0%" }
        [[path]]
        backup = false
        cost = 4
        weight = 2
        forward = { rate = "40415bit", delay = "16597us", queue = "23ms", loss = { model = "gilbert-elliott", to_bad = "10.49%", to_good = "76%", good_loss = "4%", bad_loss = "65%" }, jitter = { amount = "729us", distribution = "pareto", correlation = "43%", reorder = false } }
        backward = { rate = "40415bit", delay = "55us", queue = "33908B", loss = "0%", jitter = { amount = "3681us", distribution = "uniform", correlation = "0%", reorder = true } }
        [[flow]]
        direction = "backward"
        kind = "cbr"
        path = "path1"
        rate = "20kbit"
        packet = "231B"
    "#;
    assert_eq!(check(&linux(scenario)), Ok(()));
}
