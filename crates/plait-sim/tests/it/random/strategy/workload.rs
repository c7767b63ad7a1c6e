//! Random workloads.

use super::log;
use crate::common::WRITES;
use proptest::prelude::*;

/// The text, and whether the workload never ends.
pub(super) fn workload() -> impl Strategy<Value = (String, bool)> {
    let file = log(1, 1_000_000).prop_map(|size| (format!("kind = \"file\"\nsize = \"{size}B\""), false));
    let constant = (log(10, 3_000), log(20, 100_000), 0_u64..10_000).prop_map(|(rate, block, start)| {
        let text =
            format!("kind = \"cbr\"\nrate = \"{rate}kbit\"\nblock = \"{block}B\"\nstart = \"{start}ms\"");
        (text, false)
    });
    let on_off = (log(10, 3_000), log(20, 100_000), on_off()).prop_map(|(rate, block, times)| {
        (format!("kind = \"on-off\"\nrate = \"{rate}kbit\"\nblock = \"{block}B\"\n{times}"), false)
    });
    let requests = requests().prop_map(|text| (text, false));
    let in_time = |workload: BoxedStrategy<(String, bool)>| {
        (workload, prop::option::of(1_u64..5_000)).prop_map(|((text, endless), deadline)| {
            let deadline = deadline.map_or(String::new(), |time| format!("\ndeadline = \"{time}ms\""));
            (text + &deadline, endless)
        })
    };
    let [file, constant, on_off, requests] =
        [file.boxed(), constant.boxed(), on_off.boxed(), requests.boxed()].map(in_time);
    let bulk = Just(("kind = \"bulk\"".to_owned(), true));
    let trace = trace().prop_map(|text| (text, false));
    prop_oneof![6 => file, 2 => constant, 1 => on_off, 2 => bulk, 3 => requests, 2 => trace]
}

/// A trace of some ten writes, once or some ten times.
fn trace() -> impl Strategy<Value = String> {
    let stream = prop_oneof![Just(0), 0_u32..4];
    let priority = prop_oneof![Just(0), 0_u8..3];
    let write = (
        prop_oneof![Just(0), log(1, 2_000)],
        log(1, 100_000),
        stream,
        priority,
        prop::option::of(1_u64..5_000),
    );
    let period = prop::option::of(1_u64..10_000);
    (prop::collection::vec(write, 1..30), 0_u64..10_000, period).prop_map(|(writes, start, period)| {
        let mut lines = vec![format!("{WRITES}time_s,bytes,stream,priority,deadline_ms")];
        let mut at = 0;
        for (after, bytes, stream, priority, deadline) in writes {
            at += after;
            let deadline = deadline.map_or(String::new(), |deadline| deadline.to_string());
            lines.push(format!(
                "{WRITES}{}.{:03},{bytes},{stream},{priority},{deadline}",
                at / 1000,
                at % 1000
            ));
        }
        let repeat =
            period.map_or(String::new(), |period| format!("repeat = \"{}ms\"\n", at + 2_000 + period));
        format!(
            "kind = \"trace\"\nfile = \"writes.csv\"\nstart = \"{start}ms\"\n{repeat}{}",
            lines.join("\n")
        )
    })
}

/// Requests and responses, some hundred at most.
fn requests() -> impl Strategy<Value = String> {
    let spread = || prop::sample::select(vec!["fixed", "exponential"]);
    let sizes = (log(1, 10_000), log(1, 300_000), spread());
    let thinking = (prop_oneof![Just(0), log(1, 10_000)], spread());
    let clients = (1_u32..=8, 0_u32..4);
    (sizes, thinking, clients, log(1, 200), 0_u64..5_000, prop::option::of(5_000_u64..150_000)).prop_map(
        |((request, response, sizes), (think, think_times), (parallel, urgent), count, start, stop)| {
            let stop = stop.map_or(String::new(), |stop| format!("stop = \"{stop}ms\"\n"));
            format!(
                "kind = \"request-response\"\nrequest = \"{request}B\"\nresponse = \"{response}B\"\nsizes = \"{sizes}\"\n\
                 think = \"{think}ms\"\nthink_times = \"{think_times}\"\nparallel = {parallel}\ncount = {count}\n\
                 start = \"{start}ms\"\nurgent = {urgent}\n{stop}"
            )
        },
    )
}

/// On and off times.
pub(super) fn on_off() -> impl Strategy<Value = String> {
    (log(1, 5_000), log(1, 5_000), prop::option::of(11_u32..50)).prop_map(|(on, off, shape)| {
        let shape = shape.map_or(String::new(), |shape| {
            format!("distribution = \"pareto\"\nshape = {:.1}\n", f64::from(shape) / 10.0)
        });
        format!("on = \"{on}ms\"\noff = \"{off}ms\"\n{shape}")
    })
}
