//! Random networks as users describe them, for which the bounds are close: constant rates, loads up
//! to the capacity, common transports.

use plait_sched::SCHEDULERS;
use proptest::prelude::*;

/// Kilobits per second, and the path's text.
fn path() -> impl Strategy<Value = (u64, String)> {
    let loss = prop_oneof![4 => Just(""), 1 => Just("0.01%"), 1 => Just("1%")];
    let queue = prop_oneof![3 => Just("bdp"), 1 => Just("20p"), 1 => Just("200p")];
    let more = prop_oneof![
        6 => Just(""),
        1 => Just("jitter = \"3ms\"\n"),
        1 => Just("rate_steps = [{ at = \"300ms\", rate = \"2Mbit\" }]\nrepeat = \"700ms\"\n"),
        1 => Just("outages = { every = \"900ms\", length = \"70ms\" }\n"),
        1 => Just("trace = \"../../league/traces/radio-1.trace\"\nbackward = { rate = \"5Mbit\" }\n"),
    ];
    (0.0_f64..4.0, 0.0_f64..4.0, loss, queue, more).prop_map(|(rate, rtt, loss, queue, more)| {
        let (rate, rtt) = ((1_000.0 * rate.exp()) as u64, (5_000.0 * rtt.exp()) as u64);
        let loss = if loss.is_empty() { String::new() } else { format!("loss = \"{loss}\"\n") };
        let given =
            if more.starts_with("trace") { String::new() } else { format!("rate = \"{rate}kbit\"\n") };
        (rate, format!("[[path]]\n{given}rtt = \"{rtt}us\"\nqueue = \"{queue}\"\n{loss}{more}"))
    })
}

/// Options of a transport.
fn transport() -> impl Strategy<Value = String> {
    let protocol = prop::sample::select(vec![
        "protocol = \"mptcp\"\n",
        "protocol = \"mptcp\"\nprofile = \"standard\"\n",
        "protocol = \"mptcp\"\ncongestion_control = \"bbr\"\n",
        "protocol = \"mpquic\"\ncongestion_control = \"cubic\"\n",
        "protocol = \"cmt-sctp\"\n",
    ]);
    let buffer = prop_oneof![1 => Just(None), 2 => (3.0_f64..9.0).prop_map(Some)];
    (protocol, buffer).prop_map(|(protocol, buffer)| {
        let buffer = buffer.map_or(String::new(), |kilobytes| {
            format!("receive_buffer = \"{}B\"\n", (1_000.0 * kilobytes.exp()) as u64)
        });
        format!("{protocol}{buffer}")
    })
}

/// A workload for links of some kilobits per second in all.
fn workload() -> impl Strategy<Value = (f64, u64, u8)> {
    (0.03_f64..1.0, prop_oneof![500_u64..6_000, 6_000_u64..64_000], 0_u8..3)
}

/// A scenario of some seconds, with any scheduler.
pub(crate) fn scenario() -> impl Strategy<Value = String> {
    let scheduler = prop::sample::select(SCHEDULERS).prop_map(|info| info.name);
    let paths = prop::collection::vec(path(), 1..=4);
    let warmup = prop_oneof![2 => Just(0), 1 => 10_u64..500];
    (any::<u32>(), scheduler, transport(), workload(), paths, warmup).prop_map(
        |(seed, scheduler, transport, (load, block, kind), paths, warmup)| {
            let sum: u64 = paths.iter().map(|path| path.0).sum();
            // Some thousand packets.
            let duration = (60_000_000 / sum).clamp(1_000, 6_000);
            let workload = match kind {
                0 => "kind = \"bulk\"".to_owned(),
                1 => format!("kind = \"file\"\nsize = \"{}B\"", block * block / 1_000),
                _ => {
                    let rate = ((sum as f64 * load) as u64).max(50);
                    format!("kind = \"cbr\"\nrate = \"{rate}kbit\"\nblock = \"{block}B\"")
                }
            };
            let paths: Vec<String> = paths.into_iter().map(|path| path.1).collect();
            format!(
                "seed = {seed}\nduration = \"{duration}ms\"\nwarmup = \"{warmup}ms\"\nscheduler = \"{scheduler}\"\n\
                 [transport]\n{transport}[workload]\n{workload}\n{}",
                paths.join("")
            )
        },
    )
}
