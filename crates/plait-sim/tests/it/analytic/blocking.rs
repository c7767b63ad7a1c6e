//! The longest blocking time of the DAPS paper (Table I, Fig. 3): r_s/2 + 8L/c_s − r_f/2 − 8L/c_f.

use crate::common::run;

/// (c_f, c_s, r_s) in Mbit/s and ms; L = 1500 B, r_f = 20 ms. The labels of Table I.
const CASES: [(u32, u32, u32); 12] = [
    (10, 10, 100),
    (50, 10, 100),
    (10, 50, 100),
    (100, 100, 100),
    (50, 100, 100),
    (150, 50, 100),
    (10, 10, 200),
    (50, 10, 200),
    (10, 50, 200),
    (100, 100, 200),
    (50, 150, 200),
    (150, 50, 200),
];

fn model((c_f, c_s, r_s): (u32, u32, u32)) -> f64 {
    f64::from(r_s - 20) / 2.0 + 12.0 / f64::from(c_s) - 12.0 / f64::from(c_f)
}

/// A sender like the paper's simulator, ns-2, where windows also grow in recovery. With RFC 9260's
/// rule, (10;50/100) ends in another steady state, in which bursts of eight packets queue on the
/// slow path: 5 % above the model.
fn simulated((c_f, c_s, r_s): (u32, u32, u32), accounting: &str) -> f64 {
    let result = run(&format!(
        "duration = \"100s\"\nwarmup = \"10s\"\nscheduler = \"round-robin\"\n\
         [transport]\nprotocol = \"cmt-sctp\"\nreceive_buffer = \"65kB\"\nreceive_window_accounting = \"{accounting}\"\n\
         initial_ssthresh = \"65536B\"\ngrow_in_recovery = true\n\
         [[path]]\nrate = \"{c_f}Mbit\"\nrtt = \"20ms\"\nqueue = \"bdp\"\n\
         [[path]]\nrate = \"{c_s}Mbit\"\nrtt = \"{r_s}ms\"\nqueue = \"bdp\""
    ));
    result.metrics.blocking_ms.map_or(0.0, |blocking| blocking.max)
}

#[test]
fn longest_blocking_is_that_of_the_model_where_the_slow_path_is_not_congested() {
    for case in CASES {
        let (model, charged, outstanding) =
            (model(case), simulated(case, "buffer"), simulated(case, "outstanding"));
        println!(
            "{case:?}: model {model:.2} ms, charged {charged:.2} ms, outstanding only {outstanding:.2} ms"
        );
        for simulated in [charged, outstanding] {
            // The model is a lower bound by geometry if a packet of each path leaves at the same
            // time.
            assert!(
                simulated >= 0.98 * model,
                "{case:?}: {simulated} ms are less than the {model} ms of the geometry"
            );
        }
        if case.1 >= 50 {
            assert!(charged <= 1.02 * model, "{case:?}: {charged} ms, by the model {model} ms");
        }
    }
}
