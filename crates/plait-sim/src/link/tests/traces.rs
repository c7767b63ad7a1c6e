//! Links that follow a recorded trace.

use super::*;

fn following(trace: &[u8], delay: Duration) -> Link<u64> {
    let trace = Trace::parse("trace", trace).expect("a valid trace");
    let config = LinkConfig { capacity: Capacity::Trace(Arc::new(trace)), ..LinkConfig::new(1, delay) };
    Link::new(&config, 1, "test")
}
#[test]
fn a_trace_shares_and_spans_its_opportunities_and_repeats() {
    let mut link = following(b"2\n2\n5\n", Duration::from_millis(1));
    let sizes = [500, 500, 500, 2000, 1000, 1500, 3000, 4500];
    for (n, &bytes) in (0..).zip(&sizes) {
        assert_ne!(link.send(Time::ZERO, bytes, n, n), Admission::DroppedFull);
    }
    let exits: Vec<_> = drain(&mut link).iter().map(|(time, _)| time.as_nanos() / 1_000_000 - 1).collect();
    // Opportunities: 2 2 5 7 7 10 12 12 15 …; the packets take 1, –, –, 1⅓, ⅔, 1, 2, 3 of them.
    assert_eq!(exits, [2, 2, 2, 5, 5, 7, 10, 15]);
}

#[test]
fn what_a_trace_offers_to_nobody_is_gone() {
    let mut link = following(b"1\n3\n4\n", Duration::ZERO);
    let mut exit = |at: u64, bytes| {
        let _ = link.send(time(at), bytes, 0, 0);
        let exit = link.head().map(|key| key.time.as_nanos() / 1_000_000);
        link.pop();
        exit
    };
    assert_eq!(exit(0, 100), Some(1));
    assert_eq!(exit(1_000_000, 1400), Some(1)); // the same opportunity, at its very moment
    assert_eq!(exit(1_000_001, 100), Some(3));
    assert_eq!(exit(3_500_000, 1500), Some(4));
    assert_eq!(exit(8_000_000, 1500), Some(8)); // the last of the second period
    assert_eq!(exit(8_000_000, 1500), Some(9));
    assert_eq!(exit(4_000_000_000_000_000, 1500), Some(4_000_000_000));
    assert_eq!(exit(4_000_000_000_000_001, 1500), Some(4_000_000_001));
}

#[test]
fn a_trace_with_opportunities_at_zero_offers_them_when_it_repeats() {
    let mut link = following(b"0\n2\n", Duration::ZERO);
    for n in 0..5 {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let exits: Vec<_> = drain(&mut link).iter().map(|(time, _)| time.as_nanos() / 1_000_000).collect();
    assert_eq!(exits, [0, 2, 2, 4, 4]);
}

#[test]
fn a_trace_limits_its_queue_like_any_link() {
    let trace = Trace::parse("trace", b"10\n").expect("valid");
    let capacity = Capacity::Trace(Arc::new(trace));
    let queue = QueueLimit::Wait(Duration::from_millis(20));
    let mut link = Link::new(
        &LinkConfig { capacity, queue: queue.into(), ..LinkConfig::new(1, Duration::ZERO) },
        1,
        "t",
    );
    let sent: Vec<_> = (0..3).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::DroppedFull]); // at 10, 20 and 30 ms
    assert_eq!(link.queue_packets(Time::ZERO), 1);
}

#[test]
fn bad_traces_are_refused_with_line_and_rule() {
    let refused = |bytes: &[u8]| Trace::parse("lte.up", bytes).expect_err("a bad trace").to_string();
    for (bytes, expected) in [
        (&b""[..], "lte.up: a trace has at least one timestamp"),
        (b"# nothing\n\n", "lte.up: a trace has at least one timestamp"),
        (b"0\n0\n", "lte.up: the last timestamp is the period and must be more than 0 ms"),
        (b"5\n4\n", "lte.up: line 2: timestamps never decrease: 4 after 5"),
        (b"\n# c\n1\nx\n", "lte.up: line 4: expected a whole number of milliseconds, got x"),
        (b"1.5\n", "lte.up: line 1: expected a whole number of milliseconds, got 1.5"),
        (b"-1\n", "lte.up: line 1: expected a whole number of milliseconds, got -1"),
        (b"1 2\n", "lte.up: line 1: expected a whole number of milliseconds, got 1 2"),
        (
            b"99999999999999999999999999\n",
            "lte.up: line 1: 18446744073709551615 is more than the largest timestamp, 1000000000 ms",
        ),
    ] {
        assert_eq!(refused(bytes), expected);
    }
    assert!(refused(b"\xff\xfe\0").contains("line 1: expected a whole number"));
    let trace = Trace::parse("ok", b"# two\r\n1\r\n\n 2 \n").expect("a valid trace");
    assert_eq!(
        (trace.opportunities(), trace.period_millis(), trace.mean_rate()),
        (&[1, 2][..], 2, 12_000_000)
    );
}

#[test]
fn a_trace_that_is_no_file_is_refused() {
    let refused = |path: &str| Trace::load(path, std::path::Path::new(path)).expect_err("no file");
    assert!(matches!(refused("/no/such/file"), ScenarioError::Trace { line: None, .. }));
    assert_eq!(refused("/").to_string(), "/: a trace is a regular file");
}

/// Recorded LTE traces, if the checkout has them: the busy link delivers the trace's bytes in every
/// period.
#[test]
fn recorded_traces_deliver_what_they_say() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: there is no folder of recorded traces at {}", folder.display());
        return;
    };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let trace =
            Arc::new(Trace::load(&path.display().to_string(), &path).expect("a recorded trace is valid"));
        let capacity = Capacity::Trace(Arc::clone(&trace));
        let mut link: Link<u64> =
            Link::new(&LinkConfig { capacity, ..LinkConfig::new(1, Duration::ZERO) }, 1, "t");
        let count = trace.opportunities().len() as u64;
        for n in 0..3 * count {
            let _ = link.send(Time::ZERO, 1500, n, n);
        }
        let exits = drain(&mut link);
        for (n, (exit, _)) in exits.iter().enumerate() {
            let (cycle, index) = (n as u64 / count, n % count as usize);
            let expected = cycle * trace.period_millis() + u64::from(trace.opportunities()[index]);
            assert_eq!(*exit, millis(expected), "{}", path.display());
        }
    }
}
