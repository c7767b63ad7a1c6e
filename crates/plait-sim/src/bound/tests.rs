//! Bounds worked by hand. A packet of 1500 bytes takes 1 ms at 12 Mbit/s.

use super::{Bound, Runs, bounds};
use crate::scenario::Scenario;
use std::path::Path;

const STANDARD: &str = "[transport]\nprofile = \"standard\"\n";

fn found(text: &str) -> Vec<Bound> {
    bounds(&Scenario::from_toml(text, "test.toml", Path::new(".")).expect("a scenario"))
}

fn value(bounds: &[Bound], name: &str) -> f64 {
    bounds.iter().find(|bound| bound.name == name).map_or(f64::NAN, |bound| bound.value)
}

/// A path without queues' limits, with more keys in both directions.
fn path(rate: &str, rtt: &str, more: &str) -> String {
    format!("[[path]]\nrate = \"{rate}\"\nrtt = \"{rtt}\"\nqueue = \"infinite\"\n{more}")
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-5, "{found}, expected {expected}");
}

fn file(size: u64, paths: &str) -> Vec<Bound> {
    let workload = format!("[workload]\nkind = \"file\"\nsize = \"{size}B\"\n");
    found(&format!("duration = \"10s\"\n{STANDARD}{workload}{paths}"))
}

#[test]
fn a_file_takes_its_packets_and_a_delay() {
    // Two packets of 1428 bytes and one of 144 + 72 bytes: 2 ms, 0.144 ms, 10 ms of delay.
    close(value(&file(3_000, &path("12Mbit", "20ms", "")), "L0"), 0.012_144);
    // The second path, 2 ms longer, takes the third packet.
    let both = path("12Mbit", "20ms", "") + &path("12Mbit", "24ms", "");
    close(value(&file(2 * 1428, &both), "L0"), 0.012);
    close(value(&file(4 * 1428, &both), "L0"), 0.013);
    close(value(&file(3 * 1428, &both), "L0"), 0.013);
}

#[test]
fn paths_over_one_link_share_it() {
    let link = "[[link]]\nname = \"core\"\nrate = \"12Mbit\"\nqueue = \"infinite\"\n";
    let path = "[[path]]\nlinks = [\"core\"]\nrate = \"120Mbit\"\nrtt = \"20ms\"\nqueue = \"infinite\"\n";
    // The first packet takes 0.1 ms on its own wire; the link then sends ten.
    let bounds = file(10 * 1428, &format!("{link}{path}{path}"));
    close(value(&bounds, "L0"), 0.020_1);
}

#[test]
fn handshakes_and_slow_start_delay_a_file() {
    let bounds = file(30 * 1428, &path("1Gbit", "20ms", ""));
    // SYN and SYN/ACK of 72 bytes: 20 ms. Ten packets, then twenty: one round trip later.
    let packet = 1500.0 * 8e-9;
    let handshake = 0.020 + 2.0 * 72.0 * 8e-9;
    let round = 0.020 + packet + 52.0 * 8e-9;
    close(value(&bounds, "L2a"), handshake + round + 0.010 + packet);
    assert_eq!(bounds[0].name, "L2a");
}

#[test]
fn a_window_passes_once_per_round_trip() {
    // Ten packets per 20 ms, 1 ms of serialization, and the acknowledgement of 52 bytes.
    let transport = "[transport]\nprofile = \"standard\"\nreceive_buffer = \"14280B\"\n";
    let bounds = found(&format!("duration = \"21s\"\n{transport}{}", path("12Mbit", "20ms", "")));
    let round = 0.021 + 52.0 * 8.0 / 12e6;
    close(value(&bounds, "L1"), (21.0_f64 / round).ceil() * 14_280.0 * 8.0 / 21.0);
    assert_eq!((bounds[0].name, bounds[0].runs), ("L1", Runs::All));
}

#[test]
fn a_credit_passes_once_per_round_trip_and_per_timeout() {
    // Ten chunks and one that exceeds the credit, per 20 ms, 1 ms of serialization, and the
    // acknowledgement of 32 bytes. A timeout per second may free a credit.
    let transport = "[transport]\nprotocol = \"cmt-sctp\"\nreceive_buffer = \"14680B\"\n";
    let text = |warmup| {
        let paths = path("12Mbit", "20ms", "");
        found(&format!("duration = \"21s\"\nwarmup = \"{warmup}\"\n{transport}{paths}"))
    };
    let bounds = text("0s");
    let round = 0.021 + 32.0 * 8.0 / 12e6;
    let windows = 21.0 / round + 1.0 + (21.0 + 1.0);
    close(value(&bounds, "L1"), windows * 11.0 * 1452.0 * 8.0 / 21.0);
    close(value(&bounds, "L1-credit"), (21.0 / round + 1.0) * 11.0 * 1452.0 * 8.0 / 21.0);
    let credit = bounds.iter().find(|bound| bound.name == "L1-credit").expect("a bound");
    assert_eq!((credit.runs, credit.is_valid()), (Runs::WithoutRetransmissions, false));
    // Data that was lost in a warm-up may arrive after it, beyond the window.
    let bounds = text("7s");
    close(value(&bounds, "L1"), windows * 11.0 * 1452.0 * 8.0 / 14.0);
    assert!(value(&bounds, "L1-credit").is_nan());
}

#[test]
fn known_losses_thin_a_path() {
    let lossy = path("12Mbit", "20ms", "loss = \"25%\"\n");
    let bounds = found(&format!("duration = \"10s\"\n{STANDARD}{lossy}"));
    let share = value(&bounds, "L3") / value(&bounds, "L0");
    assert!((share - 0.75).abs() < 0.02, "{share}");
    let short = format!("duration = \"10s\"\n{lossy}");
    assert!(found(&short).iter().all(|bound| bound.name != "L3"), "packets of Linux may be short");
}

#[test]
fn a_block_takes_its_packets_and_a_delay() {
    let blocks = "[workload]\nkind = \"cbr\"\nrate = \"571200bit\"\nblock = \"2856B\"\n";
    let bounds = found(&format!("duration = \"2s\"\n{STANDARD}{blocks}{}", path("12Mbit", "20ms", "")));
    assert_eq!(bounds.len(), 1);
    close(value(&bounds, "L0"), 12.0);
}

#[test]
fn in_overload_of_all_paths_later_blocks_wait_longer() {
    // A block of two packets per 1 ms: block j waits 12 + j ms. At least 99 of 100 are delivered.
    let blocks = "[workload]\nkind = \"cbr\"\nrate = \"22848kbit\"\nblock = \"2856B\"\n";
    let bounds = found(&format!("duration = \"100ms\"\n{STANDARD}{blocks}{}", path("12Mbit", "20ms", "")));
    close(value(&bounds, "L0"), 12.0);
    close(value(&bounds, "L0-joint"), 12.0 + 98.0 / 2.0);
    assert_eq!((bounds[0].name, bounds[0].runs), ("L0", Runs::All));
    assert_eq!((bounds[1].name, bounds[1].runs), ("L0-joint", Runs::Delivered(0.99)));
}

#[test]
fn blocks_that_begin_late_wait_as_long() {
    // The fast path carries ten packets of twelve.
    let joint = |start: &str, duration: &str| {
        let blocks = format!(
            "[workload]\nkind = \"cbr\"\nrate = \"13708800bit\"\nblock = \"1428B\"\nstart = \"{start}\"\n"
        );
        let paths = path("12Mbit", "20ms", "") + &path("12Mbit", "400ms", "");
        value(&found(&format!("duration = \"{duration}\"\n{STANDARD}{blocks}{paths}")), "L0-joint")
    };
    let (early, late) = (joint("0s", "20s"), joint("30s", "50s"));
    assert!(early > 20.0 && (late / early - 1.0).abs() < 0.02, "{early}, {late}");
}

#[test]
fn an_outage_delays_the_blocks_within_it() {
    // A block every 10 ms for 400 ms. From 100 ms to 200 ms nothing leaves.
    let blocks = "[workload]\nkind = \"cbr\"\nrate = \"1142400bit\"\nblock = \"1428B\"\n";
    let outage = "outages = [{ from = \"100ms\", to = \"200ms\" }]\n";
    let bounds =
        found(&format!("duration = \"400ms\"\n{STANDARD}{blocks}{}", path("12Mbit", "20ms", outage)));
    // Eleven blocks arrive from 210 ms on: one leaves as the outage ends, the others in turn.
    let late: f64 = (0..10).map(|block| 210.0 - (100.0 + 10.0 * f64::from(block))).sum();
    let joint = value(&bounds, "L0-joint");
    // All of 40 count, or 39.
    assert!(joint > (late + 29.0 * 11.0) / 39.0 - 1.0, "{joint}");
    assert!(joint < (late + 45.0 + 30.0 * 11.0) / 40.0 + 0.5, "{joint}");
    close(value(&bounds, "L0"), 11.0);
}

#[test]
fn each_of_many_blocks_takes_the_least_time() {
    // 90,000 blocks of a packet, in groups of 45: 10 ms and 1 ms at 12 Mbit/s, never less.
    let blocks = "[workload]\nkind = \"cbr\"\nrate = \"3427200bit\"\nblock = \"1428B\"\n";
    let slower = "rate_steps = [{ at = \"2s\", rate = \"6Mbit\" }]\nrepeat = \"4s\"\n";
    let bounds = found(&format!("duration = \"300s\"\n{STANDARD}{blocks}{}", path("12Mbit", "20ms", slower)));
    let least = value(&bounds, "L0");
    assert!((10.99..11.01).contains(&least), "{least}");
}

#[test]
fn random_workloads_have_no_bound() {
    let workload = "[workload]\nkind = \"request-response\"\nrequest = \"100B\"\nresponse = \"1kB\"\n";
    assert_eq!(found(&format!("{workload}{}", path("12Mbit", "20ms", ""))), []);
}
