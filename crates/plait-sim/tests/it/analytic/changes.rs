//! Links that change, copy packets and delay them at random, compared with arithmetic.

use crate::common::{PACKETS, run, run_with, scenario, try_run};
use plait_sim::result::FlowMetrics;

/// Datagrams of 1250 bytes every 10 ms over a path without other traffic; a packet takes 1 ms.
fn datagrams(path: &str, seconds: u32) -> FlowMetrics {
    let mut result = run(&format!(
        "duration = \"{}s\"\nworkload = {{ kind = \"file\", size = \"1kB\", start = \"{seconds}s\" }}\n\
         transport = {{ protocol = \"tcp\" }}\n[[path]]\nrate = \"10Mbit\"\n{path}\n\
         [[flow]]\nkind = \"cbr\"\npath = \"path1\"\nrate = \"1Mbit\"\npacket = \"1250B\"\nstart = \"5ms\"\nstop = \"{seconds}s\"\n",
        seconds + 9
    ));
    result.flows.remove(0)
}

#[test]
fn datagrams_take_the_delay_of_their_moment() {
    let flow = datagrams(
        "delay = \"20ms\"\ndelay_steps = [{ at = \"2s\", delay = \"120ms\" }, { at = \"3s\", delay = \"20ms\" }]\nrepeat = \"4s\"\nreorder = true",
        8,
    );
    let delay = flow.delay_ms.expect("they arrive");
    assert_eq!((flow.packets_sent, flow.packets_delivered), (800, 800));
    assert!((delay.mean - (0.75 * 21.0 + 0.25 * 121.0)).abs() < 1e-6, "{delay:?}");
    // In order, the packets of the last 100 ms before the fall delay the next ten packets: by 100,
    // 90, … 10 ms.
    let flow = datagrams(
        "delay = \"20ms\"\ndelay_steps = [{ at = \"2s\", delay = \"120ms\" }, { at = \"3s\", delay = \"20ms\" }]\nrepeat = \"4s\"",
        8,
    );
    let held = 2.0 * (1..10).map(|n| f64::from(n) * 10.0).sum::<f64>() / 800.0;
    let delay = flow.delay_ms.expect("they arrive");
    assert!((delay.mean - (0.75 * 21.0 + 0.25 * 121.0 + held)).abs() < 1e-6, "{delay:?}, {held}");
}

#[test]
fn datagrams_meet_the_loss_of_their_moment() {
    let flow = datagrams(
        "rtt = \"20ms\"\nloss_steps = [{ at = \"2s\", loss = \"100%\" }, { at = \"2500ms\", loss = \"0%\" }]",
        8,
    );
    assert_eq!((flow.packets_sent, flow.packets_lost, flow.packets_delivered), (800, 50, 750));
}

#[test]
fn copies_are_delivered_beside_what_was_sent() {
    let flow = datagrams("rtt = \"20ms\"\nduplicate = \"100%\"", 8);
    assert_eq!((flow.packets_sent, flow.packets_lost, flow.packets_delivered), (800, 0, 1600));
}

/// A queue of 40 packets, then of 10, then of 40 again: the limit determines the longest wait in
/// each second.
#[test]
fn a_queue_that_shrinks_makes_the_longest_wait_shorter() {
    let result = run_with(
        "duration = \"15s\"\nscheduler = \"lowest-rtt\"\ntransport = { protocol = \"tcp\", receive_buffer = \"1MB\" }\n\
         [[path]]\nrate = \"12Mbit\"\nrtt = \"20ms\"\nqueue = \"40p\"\n\
         queue_steps = [{ at = \"5s\", queue = \"10p\" }, { at = \"10s\", queue = \"40p\" }]",
        &PACKETS,
    );
    let packets = result.packets.expect("recorded");
    let longest = |from: i64, to: i64| {
        let within = (0..packets.len())
            .filter(|&row| (from * 1_000_000_000..to * 1_000_000_000).contains(&packets.sent[row]));
        within
            .map(|row| packets.arrived[row] - packets.sent[row])
            .max()
            .expect("packets")
            .unsigned_abs()
            .div_ceil(1_000_000)
    };
    // A packet takes 1 ms, and 10 ms of delay; ahead of it wait as many packets as the limit
    // admits.
    assert_eq!([longest(1, 5), longest(6, 10), longest(11, 15)], [50, 20, 50]);
}

/// The stream stays complete with all changes at once, and two runs are equal.
#[test]
fn a_file_arrives_whole_over_links_that_do_everything() {
    for transport in [
        "protocol = \"mptcp\"",
        "protocol = \"mptcp\", profile = \"standard\"",
        "protocol = \"cmt-sctp\"",
        "protocol = \"mpquic\"",
    ] {
        for distribution in ["uniform", "normal", "pareto", "paretonormal"] {
            let scenario = scenario(&format!(
                "duration = \"300s\"\nscheduler = \"lowest-rtt\"\ntransport = {{ {transport} }}\n\
                 workload = {{ kind = \"file\", size = \"4MB\" }}\n\
                 [[path]]\nrate = \"8Mbit\"\ndelay = \"20ms\"\nduplicate = \"5%\"\nreorder = true\n\
                 loss = {{ model = \"bernoulli\", share = \"1%\", correlation = \"20%\" }}\n\
                 jitter = {{ amount = \"5ms\", distribution = \"{distribution}\", correlation = \"50%\", reorder = true }}\n\
                 delay_steps = [{{ at = \"1s\", delay = \"60ms\" }}, {{ at = \"2s\", delay = \"5ms\" }}]\n\
                 loss_steps = [{{ at = \"1500ms\", loss = \"3%\" }}]\nrepeat = \"3s\"\nbackward = {{ duplicate = \"5%\" }}\n\
                 [[path]]\nrate = \"3Mbit\"\nrtt = \"80ms\"\nqueue_steps = [{{ at = \"2s\", queue = \"8p\" }}]"
            ));
            let (one, other) = (try_run(&scenario, &PACKETS), try_run(&scenario, &PACKETS));
            let one = one.unwrap_or_else(|error| panic!("{transport}, {distribution}: {error}"));
            assert_eq!(Ok(&one), other.as_ref().map_err(|_| ()), "{transport}, {distribution}");
            assert_eq!(one.metrics.delivered_bytes, 4_000_000, "{transport}, {distribution}");
            assert!(one.metrics.completion_time_s.is_some(), "{transport}, {distribution}");
        }
    }
}
