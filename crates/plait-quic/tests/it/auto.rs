//! Tests of `--scheduler auto` in virtual time: the measurements match the links, the report
//! matches the measurements, and a change of the scheduler helps if there is something to gain.

use crate::network::{Case, FAST, Path, Run, SLOW, content, run};
use plait_quic::Settings;
use plait_quic::auto::FIRST;
use std::time::Duration;

/// A fast path, and a slow path with thirty times its round-trip time. The window is small enough
/// for the slow path to fill, so too much data on the slow path blocks the fast one.
const UNEQUAL: [Path; 2] = [
    Path { delay: Duration::from_millis(5), queue: 60_000, ..FAST },
    Path { megabits: 4.0, delay: Duration::from_millis(150), queue: 100_000, ..FAST },
];

fn narrow(scheduler: &str) -> Case<'_> {
    let settings = Settings { window: 200_000, ..Settings::default() };
    Case { scheduler, paths: &UNEQUAL, bytes: 12_000_000, settings, ..Case::default() }
}

fn assert_whole(case: &Case<'_>, run: &Run) {
    assert!(run.outcome.is_ok(), "{}: {:?}", case.scheduler, run.outcome);
    let (got, ended) = run.received.as_ref().expect("the receiver has ended");
    assert!(ended.is_ok() && *got == content(case.bytes, case.seed), "{}", case.scheduler);
}

#[test]
fn it_changes_where_that_helps_and_says_why() {
    let (auto, first) = (run(&narrow("auto")), run(&narrow(FIRST)));
    assert_whole(&narrow("auto"), &auto);
    assert!(first.changes.is_empty());
    assert!(auto.duration.mul_f64(1.1) < first.duration, "{:?} {:?}", auto.duration, first.duration);
    let change = auto.changes.first().expect("there is much to gain");
    assert_eq!(change.from, FIRST);
    assert_ne!(change.to, FIRST);
    // The slow path needs four round trips to be measured, and seldom carries a packet.
    assert!(change.at.as_secs_f64() < 5.0, "{change}");
    // The measurements match the links.
    for (measured, link) in change.paths.iter().zip(UNEQUAL) {
        let megabits = measured.rate_bps / 1e6;
        assert!((0.8..1.1).contains(&(megabits / link.megabits)) || !measured.busy, "{measured:?}");
        let round_trip = 2.0 * link.delay.as_secs_f64();
        assert!(
            (round_trip..round_trip + 0.008).contains(&measured.round_trip.as_secs_f64()),
            "{measured:?}"
        );
        assert!(measured.loss < 0.002, "{measured:?}");
    }
    // The text matches the numbers.
    let gain = change.gain;
    assert!(gain.low >= 1.0 && gain.percent >= 3.0 && gain.low <= gain.percent && gain.percent <= gain.high);
    let json = change.to_json(&["dsl".to_owned()]);
    assert_eq!((&json["paths"][0]["name"], &json["paths"][1]["name"]), (&"dsl".into(), &"1".into()));
    let number = |key: &str| json[key].as_f64().expect("a number");
    let paths = json["paths"].as_array().expect("they are listed").iter().map(|path| {
        let (rate, round_trip) = (path["rate_bps"].as_f64(), path["rtt_s"].as_f64());
        format!("{:.1} Mbit/s {:.0} ms", rate.expect("a rate") / 1e6, round_trip.expect("a round trip") * 1e3)
    });
    let expected = format!(
        "{} → {} after {:.1} s: {:.0} % more in the simulator ({:.0}–{:.0} %, {} seeds) on paths measured as {}",
        json["before"].as_str().expect("a name"),
        json["after"].as_str().expect("a name"),
        number("seconds"),
        number("gain_percent"),
        number("gain_low_percent"),
        number("gain_high_percent"),
        number("seeds"),
        paths.collect::<Vec<_>>().join(", ")
    );
    assert_eq!(json["reason"].as_str(), Some(expected.as_str()));
}

#[test]
fn it_is_the_same_each_time() {
    let [one, other] = [run(&narrow("auto")), run(&narrow("auto"))];
    assert_eq!((one.trace, one.changes), (other.trace, other.changes));
}

#[test]
fn it_leaves_alone_what_cannot_be_bettered() {
    let case = Case { scheduler: "auto", paths: &[FAST, FAST], bytes: 10_000_000, ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    assert!(run.changes.is_empty(), "{:?}", run.changes);
}

#[test]
fn one_path_is_no_question() {
    let case = Case { scheduler: "auto", paths: &[SLOW], bytes: 5_000_000, ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    assert!(run.changes.is_empty(), "{:?}", run.changes);
}

/// Paths lose packets, fail, recover and change their address, while the scheduler changes.
#[test]
fn whatever_happens_meanwhile_every_byte_arrives() {
    for seed in 0..12 {
        let lossy = |path: Path| Path {
            lost: 5 * (seed % 3) as u32,
            jitter: Duration::from_millis(seed % 4),
            ..path
        };
        let outage = Some([1_000 + 100 * seed, 2_000 + 200 * seed].map(Duration::from_millis));
        let paths = [lossy(UNEQUAL[0]), Path { outage, ..lossy(UNEQUAL[1]) }];
        let moved = Some(Duration::from_millis(2_500));
        let case = Case { seed, paths: &paths, bytes: 5_000_000, moved, ..narrow("auto") };
        assert_whole(&case, &run(&case));
    }
}
