//! A path that joins later: schedulers that assign ahead leave it its share.

use crate::common::run;
use plait_sched::SCHEDULERS;

const PROTOCOLS: [&str; 4] = [
    "protocol = \"cmt-sctp\"",
    "protocol = \"mptcp\", profile = \"standard\"",
    "protocol = \"mptcp\", profile = \"linux\"",
    "protocol = \"mpquic\"",
];

/// Goodput over 20 s with default buffers and paths of equal delay.
fn goodput(transport: &str, scheduler: &str, rates: (u32, u32), joins: u32) -> f64 {
    let path = |rate: u32| format!("[[path]]\nrate = \"{rate}Mbit\"\nrtt = \"40ms\"\n");
    let outages = match joins {
        0 => String::new(),
        joins => format!("outages = [{{ from = \"0s\", to = \"{joins}s\" }}]\n"),
    };
    run(&format!(
        "duration = \"20s\"\nscheduler = \"{scheduler}\"\ntransport = {{ {transport} }}\n{}{}{outages}",
        path(rates.0),
        path(rates.1)
    ))
    .metrics
    .goodput_bps
}

/// Assigned data stays on its path, or is recalled: in both cases the second path must find data to
/// send. OTIAS' interpretation "real", which is not its default, gives nearly all data to one path
/// whenever the other joins.
#[test]
fn a_path_that_joins_later_carries_its_share() {
    // With its handshake alone, the second path joins a round trip or two later.
    for (rates, joins) in [((2, 6), 0), ((5, 5), 0), ((5, 5), 3)] {
        for transport in PROTOCOLS {
            let reference = goodput(transport, "lowest-rtt", rates, joins);
            let ahead = SCHEDULERS.iter().filter(|info| info.needs.assign_ahead);
            for scheduler in ahead.map(|info| info.name) {
                let share = goodput(transport, scheduler, rates, joins) / reference;
                // OTIAS divides its first plan by congestion windows, which are initially equal on
                // unequal paths.
                let least = if scheduler == "otias" && rates == (2, 6) { 0.8 } else { 0.9 };
                assert!(
                    share >= least,
                    "{transport}, {scheduler}, {rates:?} Mbit/s, {joins} s later: {share:.3} of lowest-rtt"
                );
            }
        }
    }
}
