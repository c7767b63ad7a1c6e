//! Files of writes, and the writes of a run.

use super::*;

/// Records an application's writes with their times, in milliseconds.
#[derive(Default)]
struct Writes {
    now: u64,
    writes: Vec<(u64, u64, u32, u8, Option<u64>)>,
    finished: Option<u64>,
}

impl ConnectionWriter for Writes {
    fn write(&mut self, end: ConnectionEnd, bytes: u64, options: &WriteOptions) {
        assert_eq!(end, ConnectionEnd::Near);
        let deadline = options.deadline.map(|deadline| deadline.as_nanos() / 1_000_000);
        self.writes.push((self.now, bytes, options.stream, options.priority, deadline));
    }

    fn write_endlessly(&mut self, _end: ConnectionEnd) {
        panic!("a trace has an end");
    }

    fn finish(&mut self, _end: ConnectionEnd) {
        assert_eq!(self.finished.replace(self.now), None);
    }

    fn note(&mut self, _event: ApplicationEvent) {}
}

fn trace(text: &str, start: u64, repeat: Option<u64>) -> WriteTrace {
    let writes: Arc<[TracedWrite]> = parse("writes.csv", text.as_bytes()).expect(text).into();
    let bytes = writes.iter().map(|write| write.bytes).sum();
    let repeat = repeat.map(Duration::from_millis);
    WriteTrace { file: "writes.csv".to_owned(), writes, bytes, start: Duration::from_millis(start), repeat }
}

/// The first wakeups of a trace.
fn run(trace: &WriteTrace, wakeups: usize) -> Writes {
    let (mut writer, mut found) = (trace.start(1), Writes::default());
    for _ in 0..wakeups {
        let Some(now) = writer.next_wakeup() else { break };
        found.now = now.as_nanos() / 1_000_000;
        writer.handle(now, ApplicationInput::Timer, &mut found);
    }
    found
}

const TEXT: &str = "\u{feff}# A call, then a picture.\n bytes, time_s ,deadline_ms,priority,stream\r\n\r\n160,0.02,150,1,\n\
                    160,4e-2,150,1,0\n90000,0.04,,,3\n";

#[test]
fn a_line_is_a_write_with_its_options() {
    let trace = trace(TEXT, 100, None);
    let found = run(&trace, 9);
    assert_eq!(
        found.writes,
        [(120, 160, 0, 1, Some(270)), (140, 160, 0, 1, Some(290)), (140, 90_000, 3, 0, None)]
    );
    assert_eq!(found.finished, Some(140));
    assert_eq!((trace.begin(), trace.blocks()), (Duration::from_millis(120), Some(BlockOrder::Any)));
    assert!(trace.has_deadlines());
    assert!(trace.is_complete(90_320, 0) && !trace.is_complete(90_319, 0));
}

#[test]
fn a_repeated_trace_never_ends() {
    let trace = trace("time_s,bytes\n0,1\n0.5,2\n", 0, Some(2_000));
    let found = run(&trace, 5);
    let writes: Vec<_> = found.writes.iter().map(|write| (write.0, write.1)).collect();
    assert_eq!(writes, [(0, 1), (500, 2), (2_000, 1), (2_500, 2), (4_000, 1)]);
    assert_eq!((found.finished, trace.is_complete(3, 0)), (None, false));
    assert_eq!((trace.blocks(), trace.has_deadlines()), (Some(BlockOrder::Written), false));
}

#[test]
fn decimal_times_are_exact_to_the_nanosecond() {
    for (cell, nanos) in [("0.1", 100_000_000), ("999999.999999999", 999_999_999_999_999), ("1E-9", 1)] {
        assert_eq!(span(cell, 1e9), Some(Duration::from_nanos(nanos)), "{cell}");
    }
    for cell in ["", "-1", "nan", "inf", "1000000.1", "1s", "1,5", "0x1"] {
        assert_eq!(span(cell, 1e9), None, "{cell}");
    }
}

#[test]
fn a_wrong_line_is_refused_in_one_sentence() {
    for (text, expected) in [
        ("", "writes.csv: it has no line; expected time_s,bytes first"),
        ("time_s,bytes\n# nothing\n", "writes.csv: it has no write; expected one a line"),
        (
            "time_s,byte\n0,1\n",
            "writes.csv: line 1: column \"byte\": unknown (did you mean bytes? valid: time_s, bytes, stream, priority, deadline_ms)",
        ),
        (
            "0.5,1200\n",
            "writes.csv: line 1: column \"0.5\": unknown (valid: time_s, bytes, stream, priority, deadline_ms)",
        ),
        (
            "time_s,stream\n0,1\n",
            "writes.csv: line 1: column \"bytes\" is missing (valid: time_s, bytes, stream, priority, deadline_ms)",
        ),
        ("time_s;bytes\n0;1\n", "writes.csv: line 1: \"time_s;bytes\": expected commas between columns"),
        ("time_s\tbytes\n", "writes.csv: line 1: \"time_s\\tbytes\": expected commas between columns"),
        ("time_s,bytes,bytes\n", "writes.csv: line 1: column \"bytes\": it is there twice"),
        ("time_s,bytes\n0,1,2\n", "writes.csv: line 2: \"0,1,2\": expected 2 values, got 3"),
        ("time_s,bytes\n\n1s,1\n", "writes.csv: line 3: time_s = \"1s\": expected seconds from 0 to 1000000"),
        (
            "time_s,bytes\n0,0\n",
            "writes.csv: line 2: bytes = \"0\": expected a whole number from 1 to 1000000000000000",
        ),
        (
            "time_s,bytes\n0,\n",
            "writes.csv: line 2: bytes = \"\": expected a whole number from 1 to 1000000000000000",
        ),
        (
            "time_s,bytes,stream\n0,1,1000\n",
            "writes.csv: line 2: stream = \"1000\": expected a whole number from 0 to 999",
        ),
        (
            "time_s,bytes,priority\n0,1,high\n",
            "writes.csv: line 2: priority = \"high\": expected a whole number from 0 to 255",
        ),
        (
            "time_s,bytes,deadline_ms\n0,1,0\n",
            "writes.csv: line 2: deadline_ms = \"0\": expected milliseconds from 0.000001 to 1000000000",
        ),
        ("time_s,bytes\n2,1\n1.5,1\n", "writes.csv: line 3: times never decrease: 1500ms after 2s"),
        (
            "time_s,bytes\n0,1000000000000000\n0,1\n",
            "writes.csv: line 3: all writes together have at most 1000000GB",
        ),
    ] {
        assert_eq!(parse("writes.csv", text.as_bytes()).expect_err(text).to_string(), expected);
    }
    let error = parse("writes.csv", b"time_s,bytes\n\xff").expect_err("no text");
    assert_eq!(error.to_string(), "writes.csv: it is no text in UTF-8");
}
