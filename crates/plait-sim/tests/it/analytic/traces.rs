//! Traces of writes: delays and deadlines worked by hand, and the same traffic as other workloads.

use crate::common::{ALL, WRITES, run, run_with};
use plait_sim::result::{Metrics, RunResult};

const NETWORK: &str = "[[path]]\nrate = \"12Mbit\"\nrtt = \"20ms\"\nqueue = \"100p\"\nloss = \"1%\"\n\
                       [[path]]\nrate = \"4Mbit\"\nrtt = \"60ms\"\nqueue = \"100p\"\n";

const PROTOCOLS: [&str; 3] = ["cmt-sctp", "mptcp", "mpquic"];

/// A trace with these lines, and more keys.
fn trace(lines: &[&str], keys: &str) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("{WRITES}{line}")).collect();
    format!("kind = \"trace\"\nfile = \"writes.csv\"\n{keys}\n{}", lines.join("\n"))
}

fn with(protocol: &str, workload: &str) -> RunResult {
    let transport = format!("transport = {{ protocol = \"{protocol}\" }}");
    run_with(
        &format!("duration = \"5s\"\nwarmup = \"1s\"\n{transport}\n[workload]\n{workload}\n{NETWORK}"),
        &ALL,
    )
}

#[test]
fn delays_and_deadlines_are_those_of_the_hand() {
    // A packet of 1500 bytes, 1452 of them payload, takes 1 ms, and 10 ms to the other end. The
    // third message waits for the two packets of the second one.
    let lines = ["time_s,bytes,deadline_ms", "0.5,1452,11", "0.75,2904,11.999999", "0.75,1452,"];
    let workload = trace(&lines, "start = \"500ms\"");
    let result = run(&format!(
        "duration = \"9s\"\ntransport = {{ protocol = \"cmt-sctp\" }}\n[workload]\n{workload}\n\
         [[path]]\nrate = \"12Mbit\"\nrtt = \"20ms\"\nqueue = \"100p\""
    ));
    let Metrics { block_delay_ms, delay_variance_ms, messages_in_time, messages_late, .. } = result.metrics;
    let (delay, variance) = (block_delay_ms.unwrap(), delay_variance_ms.unwrap());
    assert_eq!((delay.mean, delay.max, variance.mean), (12.0, 13.0, 1.0));
    assert_eq!((messages_in_time, messages_late), (Some(1), Some(1)));
    assert_eq!(result.metrics.in_time_share, Some(0.5));
    assert_eq!((result.metrics.completion_time_s, result.metrics.measured_s), (Some(1.263), 1.263));
}

#[test]
fn equal_writes_at_equal_intervals_are_a_constant_rate() {
    for protocol in PROTOCOLS {
        let keys = "start = \"50ms\"\nrepeat = \"200ms\"";
        let lines = ["time_s,bytes,deadline_ms", "0,50000,106", "0.1,50000,106"];
        let constant =
            "kind = \"cbr\"\nrate = \"4Mbit\"\nblock = \"50kB\"\nstart = \"50ms\"\ndeadline = \"106ms\"";
        let constant = with(protocol, constant);
        let share = constant.metrics.in_time_share.expect("blocks are judged");
        assert!(protocol != "mptcp" || 0.0 < share && share < 1.0, "{share}");
        assert!(constant == with(protocol, &trace(&lines, keys)), "{protocol}");
    }
}

#[test]
fn one_write_is_a_file() {
    for protocol in PROTOCOLS {
        let file = with(protocol, "kind = \"file\"\nsize = \"3MB\"\ndeadline = \"2500ms\"");
        let mut write = with(protocol, &trace(&["time_s,bytes,deadline_ms", "0,3000000,2500"], ""));
        let delay = write.metrics.block_delay_ms.take().expect("a block");
        assert!((delay.max / 1e3 - file.metrics.completion_time_s.expect("it arrives")).abs() < 1e-6);
        assert!(file == write, "{protocol}");
    }
}

/// The mean delay of a picture of 300 kB and of a word behind it.
fn both(protocol: &str, word: &str) -> (f64, f64) {
    let lines = ["time_s,bytes,stream,priority", "2,300000,,", word];
    let result = with(protocol, &trace(&lines, ""));
    let delay = result.metrics.block_delay_ms.expect("both arrive");
    (2.0 * delay.mean - delay.max, delay.max)
}

#[test]
fn a_message_of_a_higher_priority_overtakes_where_there_are_streams() {
    for protocol in PROTOCOLS {
        let (first, last) = both(protocol, "2.02,100,1,1");
        let (other_first, other_last) = both(protocol, "2.02,100,,");
        assert!(other_first > 100.0, "{protocol}: the word waits for the picture: {other_first} ms");
        if protocol == "mptcp" {
            assert_eq!((first, last), (other_first, other_last), "it has one stream");
        } else {
            assert!(first < 70.0 && last > 100.0, "{protocol}: {first} and {last} ms");
        }
    }
}
