//! Forward delays from timestamps, compared with the links' delays: the estimate of the
//! delivery-delay paper.

use crate::common::run;

/// Backward delays of subflow 1 in the scenarios H_1 to H_12, in milliseconds.
const BACKWARD: [u32; 12] = [10, 20, 40, 60, 80, 100, 125, 150, 175, 200, 225, 250];

/// A tick of the timestamps' clocks, in milliseconds.
const TICK: f64 = 1.0;

#[test]
fn the_difference_of_the_forward_delays_is_known_whatever_the_way_back_and_the_clocks() {
    for backward in BACKWARD {
        for offset in ["0ms", "-12345ms", "777ms"] {
            // 1 Gbit/s and little data: no packet waits for another, and the 12 µs of a packet are
            // less than a tick.
            let result = run(&format!(
                "duration = \"60s\"\nwarmup = \"5s\"\nscheduler = \"round-robin\"\n\
                 transport = {{ protocol = \"mptcp\", profile = \"standard\", clock_offset = \"{offset}\", receive_buffer = \"1MB\" }}\n\
                 workload = {{ kind = \"cbr\", rate = \"100kbit\", block = \"2800B\" }}\n\
                 [[path]]\nrate = \"1Gbit\"\nqueue = \"50p\"\nforward = {{ delay = \"10ms\" }}\nbackward = {{ delay = \"{backward}ms\" }}\n\
                 [[path]]\nrate = \"1Gbit\"\nqueue = \"50p\"\nforward = {{ delay = \"50ms\" }}\nbackward = {{ delay = \"10ms\" }}"
            ));
            let shift: f64 = offset.trim_end_matches("ms").parse().unwrap();
            let [first, second] = [0, 1].map(|path: usize| {
                let path = &result.paths[path];
                (path.forward_delay_ms.unwrap() - shift, path.backward_delay_ms.unwrap() + shift)
            });
            let close = |value: f64, delay: f64| (value - delay).abs() <= TICK;
            let what = format!("back {backward} ms, offset {offset}: {first:?}, {second:?}");
            assert!(close(first.0, 10.0) && close(second.0, 50.0), "forward: {what}");
            assert!(close(first.1, f64::from(backward)) && close(second.1, 10.0), "backward: {what}");
            assert!(close(first.0 - second.0, -40.0), "difference: {what}");
        }
    }
}

#[test]
fn sctp_tells_no_one_way_delay() {
    let result = run(
        "duration = \"5s\"\ntransport = { protocol = \"cmt-sctp\" }\n[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"",
    );
    assert_eq!((result.paths[0].forward_delay_ms, result.paths[0].backward_delay_ms), (None, None));
}
