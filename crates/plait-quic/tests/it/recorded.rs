//! Recordings of whole transfers, converted to results.

use crate::network::{Case, FAST, Path, Run, SLOW, Tape, run};
use plait_quic::recording::read::ReadError;
use plait_quic::recording::result::{Recorded, result};
use plait_sched::Time;
use plait_sim::result::{Engine, RunResult};
use plait_sim::scenario::Scenario;
use std::time::Duration;

/// Runs a case with a recording. Returns the bytes of the recording, and the run.
fn recorded(case: &Case<'_>) -> (Vec<u8>, Run) {
    let tape = Tape::default();
    let run = run(&Case {
        tape: Some(tape.clone()),
        paths: case.paths,
        terms: case.terms,
        there: case.there,
        ..*case
    });
    let bytes = tape.0.lock().expect("nobody panicked").clone();
    (bytes, run)
}

fn result_of(bytes: &[u8], size: usize, paths: usize) -> RunResult {
    let path = "[[path]]\nrate = \"1Mbit\"\nrtt = \"1ms\"\n".repeat(paths);
    let text = format!(
        "[transport]\nprotocol = \"mpquic\"\npacket = \"1220B\"\n[workload]\nkind = \"file\"\nsize = \"{size}B\"\n{path}"
    );
    let scenario = Scenario::from_toml(&text, "links.toml", std::path::Path::new("")).expect("it is valid");
    result(&scenario, bytes).expect("it is a recording")
}

fn millis(time: i64) -> f64 {
    time as f64 / 1e6
}

#[test]
fn a_recording_has_everything_that_was_sent_and_what_became_of_it() {
    let case = Case::default();
    let (bytes, run) = recorded(&case);
    let plain = crate::network::run(&case);
    assert_eq!(run.trace, plain.trace, "who records changes nothing");
    let result = result_of(&bytes, case.bytes, 2);
    assert_eq!(result.engine, Engine::Sockets);
    // Records, and the padding of the last segment.
    let delivered = result.metrics.delivered_bytes;
    assert!((case.bytes as u64..case.bytes as u64 + 4_000).contains(&delivered), "{delivered}");
    let packets = result.packets.expect("they are recorded");
    let sent = |path: u8| {
        let of_path = packets.path.iter().zip(&packets.bytes).filter(|(at, _)| **at == path);
        of_path.map(|(_, &bytes)| u64::from(bytes)).sum::<u64>()
    };
    assert_eq!([sent(0), sent(1)], run.sent[..]);
    // Nothing was lost on the wire, so each packet that was not retransmitted arrived, and no
    // earlier than the link's delay.
    for (path, least) in [(0, 10.0), (1, 40.0)] {
        let ways = packets.path.iter().zip(packets.sent.iter().zip(&packets.arrived));
        let ways: Vec<f64> = ways
            .filter(|(at, (_, arrived))| **at == path && **arrived >= 0)
            .map(|(_, (sent, arrived))| millis(arrived - sent))
            .collect();
        let shortest = ways.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(shortest > least && shortest < least + 3.0, "path {path}: {shortest} ms");
        // The longest delay includes a full queue of 60 kB: 24 ms at 20 Mbit/s, 48 ms at 10.
        let longest = ways.iter().copied().fold(0.0, f64::max);
        assert!(longest < 2.0 * least + 60.0, "path {path}: {longest} ms");
    }
    assert!(packets.delivered.iter().any(|&at| at >= 0));
    let decisions = result.decisions.expect("they are recorded");
    let assigned = decisions.decision.iter().zip(&decisions.segments).filter(|(kind, _)| **kind == 0);
    let assigned: u64 = assigned.map(|(_, segments)| u64::from(segments.unwrap_or(0))).sum();
    assert_eq!(assigned, delivered / 1_153);
    let facts = result.decision_paths.expect("they are recorded");
    assert_eq!(facts.path.len(), 2 * decisions.len());
    assert!(result.path_series.expect("it is recorded").link_queue.iter().all(|&queue| queue == u32::MAX));
}

#[test]
fn losses_are_told_and_what_they_hold_up_waits() {
    let paths = [Path { lost: 20, ..FAST }, Path { lost: 20, ..SLOW }];
    let case = Case { paths: &paths, ..Case::default() };
    let (bytes, run) = recorded(&case);
    assert!(run.outcome.is_ok());
    let result = result_of(&bytes, case.bytes, 2);
    let lost: u64 = result.paths.iter().map(|path| path.packets_lost).sum();
    // 2 % of some 1,750 packets.
    assert!((15..120).contains(&lost), "{lost}");
    assert!(result.paths.iter().all(|path| path.packets_dropped.is_none()), "nobody knows of queues");
    assert!(result.metrics.retransmissions > 10, "{}", result.metrics.retransmissions);
    assert!(result.metrics.blocking_ms.expect("something was delivered").max > 20.0);
    assert!(result.metrics.aggregation_benefit.is_nan(), "nobody knows capacities");
}

#[test]
fn a_path_that_is_cut_is_one_that_failed() {
    let paths = [Path { outage: Some([Duration::from_millis(800), Duration::from_secs(100)]), ..FAST }, SLOW];
    let case = Case { bytes: 6_000_000, paths: &paths, ..Case::default() };
    let (bytes, run) = recorded(&case);
    assert!(run.outcome.is_ok());
    let whole = Recorded::read(&bytes).expect("it is a recording");
    let arrivals = whole.arrivals();
    let last =
        whole.transmissions.iter().zip(&arrivals).filter(|(sent, at)| sent.path.0 == 0 && **at < Time::MAX);
    let last =
        last.map(|(_, at)| at.as_nanos() + whole.start.opening.as_nanos()).max().expect("something arrived");
    // The queue drains in 24 ms, plus 10 ms of delay. The acknowledgement comes over the other
    // path, which takes 30 ms longer.
    assert!(last < 864_000_000, "{last}");
    assert!(!whole.full);
}

#[test]
fn one_that_breaks_off_anywhere_is_read_as_far_as_it_goes() {
    let (bytes, _) = recorded(&Case { bytes: 60_000, ..Case::default() });
    let whole = Recorded::read(&bytes).expect("it is a recording");
    let mut least = 0;
    for end in 0..bytes.len() {
        match Recorded::read(&bytes[..end]) {
            Ok(part) => {
                assert!(part.transmissions.len() >= least, "nothing that was read is lost");
                least = part.transmissions.len();
                result_of(&bytes[..end], 60_000, 2);
            }
            Err(error) => {
                assert!(matches!(error, ReadError::Empty | ReadError::Foreign), "{end}: {error}");
                assert_eq!(least, 0);
            }
        }
    }
    assert_eq!(least, whole.transmissions.len());
}

/// Arbitrary rows: a stopped clock, receivers that delay longer than a round trip, and runs in
/// which all packets are lost.
mod values {
    use super::{Tape, result_of};
    use plait_quic::recording::result::Recorded;
    use plait_quic::recording::{Beginning, Recording, Subject};
    use plait_sched::{Duration, PathId, Time};
    use plait_transport::{Counters, Observer, SendReason, Sent};
    use proptest::prelude::*;

    const SPANS: [u64; 6] = [0, 1, 999, 1_000_000, 400_000_000, 7_000_000_000];

    fn packet() -> impl Strategy<Value = (u64, Option<u64>, u64, bool)> {
        let span = || prop::sample::select(&SPANS[..]);
        (span(), prop::option::of(span()), span(), any::<bool>())
    }

    proptest! {
        #[test]
        fn are_read_as_a_result(
            paths in prop::collection::vec(prop::collection::vec(packet(), 0..40), 1..4),
            whole in any::<bool>(),
        ) {
            let tape = Tape::default();
            let names = (0..paths.len()).map(|path| path.to_string()).collect();
            let [file, scheduler, congestion] = ["file", "lowest-rtt", "cubic"].map(str::to_owned);
            let mut recording = Recording::new(tape.clone(), Subject { file, scheduler, congestion, paths: names });
            let beginning = Beginning { initial: 0, segment: 1_153, window: 1 << 20, sends: 1_000, mtu: 1_232 };
            recording.begin(Time::ZERO, &beginning);
            let mut events = Vec::new();
            let mut segment = 0;
            for (path, packets) in paths.iter().enumerate() {
                let mut now = 0;
                for (number, &(gap, trip, waited, lost)) in packets.iter().enumerate() {
                    now += gap;
                    events.push((now, 0, path, number as u64, segment, waited));
                    events.extend(trip.map(|trip| (now + trip, 1, path, number as u64, segment, waited)));
                    events.extend(lost.then_some((now, 2, path, number as u64, segment, waited)));
                    segment += 1;
                }
            }
            events.sort_unstable();
            let last = events.last().map_or(0, |event| event.0);
            for (transmission, (now, kind, path, number, segment, waited)) in events.into_iter().enumerate() {
                let (now, path) = (Time::from_nanos(now), PathId(path as u8));
                let transmission = transmission as u64;
                let sent = Sent { path, transmission, number, segment, bytes: 1_153, reason: SendReason::New };
                match kind {
                    0 => recording.sent(now, &sent),
                    1 => recording.acknowledged(now, path, number, Duration::from_nanos(waited)),
                    _ => recording.lost(now, path, number),
                }
            }
            recording.end(Time::from_nanos(last), &Counters::default(), whole).expect("memory can be written");
            let bytes = tape.0.lock().expect("nobody panicked").clone();
            let recorded = Recorded::read(&bytes).expect("it is a recording");
            prop_assert_eq!(recorded.transmissions.len() as u64, segment);
            // The workload of a replay: all bytes up to the first gap.
            let mut came: Vec<u64> = recorded.transmissions.iter()
                .filter(|sent| whole || sent.acknowledged.is_some())
                .map(|sent| sent.segment)
                .collect();
            came.sort_unstable();
            let in_order = came.iter().zip(0_u64..).take_while(|(segment, directory)| *segment == directory).count();
            let result = result_of(&bytes, (1_153 * in_order).max(1), paths.len());
            prop_assert!(result.paths.iter().all(|path| path.packets_lost <= path.packets_sent));
        }
    }
}
