//! Gain of `--scheduler auto`: transfers over random pairs of links in virtual time, with real TLS.
//!
//! ```text
//! cargo run --release --example auto -- 40 1
//! ```
//!
//! Prints one line of JSON per pair: the links, the measurements if the scheduler changed, and the
//! seconds of every candidate and of `auto`. The arguments are the number of pairs and the number
//! of the first one.

#[path = "../tests/it/network/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod network;

use network::{Case, Path, run};
use plait_quic::Settings;
use plait_quic::auto::CANDIDATES;
use plait_sim::random::RandomStream;
use serde_json::{Value, json};
use std::time::Duration;

/// Draws file size, window, links and queues from a wide range.
fn draw(seed: u64) -> ([Path; 2], usize, u64) {
    let mut random = RandomStream::new(seed, "links");
    let mut between = |low: f64, high: f64| low * (high / low).powf(random.uniform());
    let mut link = || {
        let (megabits, delay) = (between(2.0, 100.0), between(0.0025, 0.15));
        let wait = between(0.01, 0.5);
        let lost = between(0.1, 200.0);
        // Half of the links lose nothing: less than 4.5 in ten thousand becomes 0.
        let lost = if lost < 4.5 { 0 } else { (lost / 10.0).round() as u32 };
        Path {
            megabits,
            delay: Duration::from_secs_f64(delay),
            lost,
            jitter: Duration::ZERO,
            queue: (megabits * 125_000.0 * wait).max(6_000.0) as u64,
            outage: None,
            narrow: None,
        }
    };
    let paths = [link(), link()];
    let bytes = between(2e6, 50e6) as usize;
    let window = if between(1.0, 4.0) < 2.0 { 16 << 20 } else { between(128e3, 4e6) as u64 };
    (paths, bytes, window)
}

fn seconds(name: &str, seed: u64) -> (f64, Value) {
    let (paths, bytes, window) = draw(seed);
    let settings = Settings { window, ..Settings::default() };
    let run = run(&Case { scheduler: name, paths: &paths, bytes, seed, settings, ..Case::default() });
    let changes: Vec<Value> = run.changes.iter().map(|change| change.to_json(&[])).collect();
    let seconds = if run.outcome.is_ok() { run.duration.as_secs_f64() } else { f64::INFINITY };
    (seconds, changes.into())
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (count, first) = (numbers.first().copied().unwrap_or(40), numbers.get(1).copied().unwrap_or(1));
    for seed in first..first + count {
        let (paths, bytes, window) = draw(seed);
        let links = paths.map(|path| {
            let queue = path.queue as f64 / path.megabits / 125.0;
            json!({"megabits": path.megabits, "rtt_ms": 2e3 * path.delay.as_secs_f64(), "loss": f64::from(path.lost) / 1e3, "queue_ms": queue})
        });
        let fixed: serde_json::Map<String, Value> =
            CANDIDATES.iter().map(|name| ((*name).to_owned(), seconds(name, seed).0.into())).collect();
        let (auto, changes) = seconds("auto", seed);
        let line = json!({"seed": seed, "links": links, "bytes": bytes, "window": window, "fixed": fixed, "auto": auto, "changes": changes});
        println!("{line}");
    }
}
