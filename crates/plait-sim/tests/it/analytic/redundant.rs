//! With all data on every path, goodput is no less than over the best path alone.

use crate::common::run;

fn goodput(transport: &str, paths: &[(&str, &str)]) -> f64 {
    let paths: String = (paths.iter())
        .map(|(rate, rtt)| format!("[[path]]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"bdp\"\n"))
        .collect();
    let scenario = format!(
        "duration = \"30s\"\nwarmup = \"5s\"\nscheduler = \"redundant\"\n\
         transport = {{ {transport}, receive_buffer = \"4MB\" }}\n{paths}"
    );
    run(&scenario).metrics.goodput_bps
}

#[test]
fn copies_on_a_slow_path_cost_the_fast_one_nothing() {
    for transport in ["protocol = \"cmt-sctp\"", "protocol = \"mptcp\", profile = \"standard\""] {
        for slow in [("1Mbit", "60ms"), ("1Mbit", "400ms"), ("10Mbit", "150ms")] {
            let fast = ("47Mbit", "30ms");
            let (alone, both) = (goodput(transport, &[fast]), goodput(transport, &[fast, slow]));
            println!("{transport}, {slow:?}: {:.3} of the fast path alone", both / alone);
            assert!(both > 0.97 * alone, "{transport}, {slow:?}: {both} with both, {alone} alone");
        }
    }
}
