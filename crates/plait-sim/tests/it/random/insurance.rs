//! Copies of all data are an insurance: with any second path, data is not later than over the
//! better path alone.
//!
//! `PLAIT_CASES=3000 cargo test --release -p plait-sim --test it insurance -- --nocapture` draws
//! 1,000 pairs for each protocol.

use super::wanted;
use crate::common::run;
use plait_transport::packet::Overhead;

/// A number from 0 to 1 by SplitMix64.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / 2_f64.powi(53)
    }

    /// Uniform in the logarithm.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }
}

/// A path, or a workload, that differs in each repetition of a run: a path alone without random
/// losses would repeat the same run. As in `python/plait/scenarios/repetition.py`, delays differ by
/// half a percent at most, and the application begins up to 10 ms later.
struct Perturbed {
    before: String,
    written: f64,
    /// Largest change of `written` in a repetition; its factor is from -1 to 1, or from 0 to 1.
    most: f64,
    after: String,
    stream: u64,
}

impl Perturbed {
    /// The text for a repetition; repetition 1 is as written.
    fn text(&self, repetition: u32) -> String {
        let share = Draw(u64::from(repetition) << 8 | self.stream).next();
        let share = if self.stream == WORKLOAD { share } else { 2.0 * share - 1.0 };
        let value = self.written + if repetition == 1 { 0.0 } else { share * self.most };
        format!("{}{value:.3}{}", self.before, self.after)
    }
}

/// The stream of a workload's numbers. Streams 0 and 1 are those of the paths.
const WORKLOAD: u64 = 2;

/// Two paths of 64 kbit/s to 20 Mbit/s and 10 to 600 ms. Losses are up to 5 % or none; queues have
/// half to three times the bandwidth-delay product.
fn paths(draw: &mut Draw) -> ([Perturbed; 2], f64) {
    // A link's losses follow from its name: they are the same alone and beside another path.
    let mut names = [("one", 0), ("two", 1)].into_iter();
    let mut rates = [draw.log(64e3, 20e6), draw.log(64e3, 20e6)];
    rates.sort_by(|a, b| b.total_cmp(a));
    let paths = rates.map(|rate| {
        let rtt = draw.log(10.0, 600.0);
        let loss = [0.0, 0.0, draw.next(), 5.0 * draw.next()][(4.0 * draw.next()) as usize];
        let queue = (rate * rtt / 12e6 * (0.5 + 2.5 * draw.next())).max(10.0);
        let (name, stream) = names.next().unwrap_or_default();
        Perturbed {
            before: format!("[[path]]\nname = \"{name}\"\nrate = \"{rate:.0}bit\"\nrtt = \""),
            written: rtt,
            most: 0.005 * rtt,
            after: format!("ms\"\nloss = \"{loss:.3}%\"\nqueue = \"{queue:.0}p\"\n"),
            stream,
        }
    });
    (paths, rates[1])
}

/// A file, or blocks that take a quarter of the slower path at most; and the size of a block in
/// bytes.
fn workload(draw: &mut Draw, slower: f64) -> (Perturbed, Option<u32>) {
    let (duration, text, block) = if draw.next() < 0.5 {
        let size = draw.log(10e3, 1.5e6);
        (1000, format!("kind = \"file\", size = \"{size:.0}B\""), None)
    } else {
        let block = [100, 160, 500, 1200][(4.0 * draw.next()) as usize];
        let rate = slower * (0.02 + 0.23 * draw.next());
        let text = format!("kind = \"cbr\", rate = \"{rate:.0}bit\", block = \"{block}B\", stop = \"60s\"");
        (120, text, Some(block))
    };
    let workload = Perturbed {
        before: format!("duration = \"{duration}s\"\nworkload = {{ {text}, start = \""),
        written: 0.0,
        most: 10.0,
        after: "ms\" }\n".to_owned(),
        stream: WORKLOAD,
    };
    (workload, block)
}

/// The completion time of a file, or the 95th percentile of the blocks' delay, in seconds. Infinite
/// if data was undelivered.
fn late(transport: &str, repetition: u32, workload: &Perturbed, paths: &[Perturbed]) -> f64 {
    let paths: String = paths.iter().map(|path| path.text(repetition)).collect();
    let workload = workload.text(repetition);
    let metrics = run(&format!(
        "seed = {repetition}\nscheduler = \"redundant\"\ntransport = {{ {transport} }}\n{workload}{paths}"
    ))
    .metrics;
    if metrics.undelivered_bytes != Some(0) {
        return f64::INFINITY;
    }
    let blocks = || metrics.block_delay_ms.as_ref().map(|delay| delay.p95 / 1e3);
    metrics.completion_time_s.or_else(blocks).unwrap_or(f64::INFINITY)
}

/// The ratio above which data counts as later.
const LATER: f64 = 1.05;

/// Largest number of repetitions of a pair that was later once. A loss at the end of a file, or one
/// more than a twentieth of the blocks, changes a single run by half. The mean of this many runs is
/// known to some percent.
const REPETITIONS: u32 = 40;

/// The delay over both paths in units of the delay over the better path alone, as the mean of runs
/// with other losses. `None` if the delay does not exceed [`LATER`] by two standard errors after
/// `REPETITIONS`. Stops earlier if three standard errors decide.
fn lateness(transport: &str, workload: &Perturbed, paths: &[Perturbed; 2]) -> Option<f64> {
    let networks = [&paths[..1], &paths[1..], &paths[..]];
    let mut times: [Vec<f64>; 3] = Default::default();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    for repetition in 1..=REPETITIONS {
        for (times, paths) in times.iter_mut().zip(networks) {
            times.push(late(transport, 1 + repetition, workload, paths));
        }
        if repetition % 10 > 0 {
            continue;
        }
        let [one, two, both] = &times;
        let alone = if mean(one) <= mean(two) { one } else { two };
        if mean(alone).is_infinite() {
            return None;
        }
        let beyond: Vec<f64> = both.iter().zip(alone).map(|(both, alone)| both - LATER * alone).collect();
        let centre = mean(&beyond);
        let squares: f64 = beyond.iter().map(|value| (value - centre).powi(2)).sum();
        let error = (squares / f64::from(repetition * (repetition - 1))).sqrt();
        let enough = if repetition < REPETITIONS { 3.0 } else { 2.0 };
        if mean(both).is_infinite() || centre > enough * error {
            return Some(mean(both) / mean(alone));
        }
        if centre < -3.0 * error {
            return None;
        }
    }
    None
}

/// Contents of a packet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packets {
    /// One block beside headers of this size in bytes, or a part of a file.
    OneBlock(u32),
    /// All blocks that waited together. Files are left out, since they do not differ.
    Merged,
}

/// Shares of the pairs with data more than 5 % later, and twice as late.
///
/// One run selects the pairs for a closer look, and other runs judge them: the same chance cannot
/// do both.
fn compare(transport: &str, packets: Packets, cases: u32, seed: u64) -> (f64, f64) {
    let mut draw = Draw(seed);
    let (mut later, mut twice, mut worst, mut count, mut repeated) = (0, 0, 1.0_f64, 0, 0);
    for case in 0..cases {
        let (paths, slower) = paths(&mut draw);
        let (workload, block) = workload(&mut draw, slower);
        let transport = match (packets, block) {
            (Packets::OneBlock(headers), Some(block)) => {
                format!("{transport}, packet = \"{}B\"", block + headers)
            }
            (Packets::Merged, None) => continue,
            _ => transport.to_owned(),
        };
        let alone =
            paths.chunks(1).map(|path| late(&transport, 1, &workload, path)).fold(f64::INFINITY, f64::min);
        if alone.is_infinite() {
            continue;
        }
        count += 1;
        if late(&transport, 1, &workload, &paths) <= LATER * alone {
            continue;
        }
        repeated += 1;
        let Some(lateness) = lateness(&transport, &workload, &paths) else { continue };
        later += 1;
        twice += u32::from(lateness > 2.0);
        if lateness > worst {
            worst = lateness;
            let network: String = [&workload, &paths[0], &paths[1]].map(|part| part.text(1)).concat();
            println!("{transport}, case {case}: {lateness:.2} times as late\n{network}");
        }
    }
    let packets = if packets == Packets::Merged { "blocks merged" } else { "a block a packet" };
    println!(
        "{transport}, {packets}: {later} of {count} pairs more than 5 % later, {twice} twice as late, the worst {worst:.2} times; {repeated} repeated"
    );
    (f64::from(later) / f64::from(count), f64::from(twice) / f64::from(count))
}

const STANDARD: &str = "protocol = \"mptcp\", profile = \"standard\", handshake = false";
const LINUX: &str = "protocol = \"mptcp\", profile = \"linux\", handshake = false";
const QUIC: &str = "protocol = \"mpquic\", handshake = false";
const SCTP: &str = "protocol = \"cmt-sctp\"";

/// All paths are open from the start, because opening a second path takes a round trip of the
/// first. Chance affects less than one pair of a hundred.
#[test]
fn with_copies_of_everything_data_is_not_later_than_over_the_better_path_alone() {
    let (cases, seed) = (wanted("PLAIT_CASES", 300_u32) / 3, wanted("PLAIT_SEED", 9260_u64));
    for (transport, overhead, limit) in [
        (STANDARD, Overhead::MPTCP, 0.01),
        (LINUX, Overhead::LINUX_MPTCP, 0.01),
        (QUIC, Overhead::MPQUIC, 0.01),
        (SCTP, Overhead::SCTP, 0.01),
    ] {
        let (later, twice) = compare(transport, Packets::OneBlock(overhead.of_data()), cases, seed);
        assert!(later <= limit && twice <= 0.03, "{transport}: {later}, {twice}");
    }
}

/// Bounds the cost of copies with blocks that are smaller than packets. A copy is the packet that
/// another path has sent. A path alone merges the blocks that wait for its window.
///
/// Windows of bytes pay headers only. Windows of Linux count packets of any size (`tcp_snd_cwnd`).
/// A path with short round trips and a small window, which carries single blocks, therefore falls
/// behind a long path with a large window. The kernel merges the copies of one round
/// (`mptcp_skb_can_collapse_to` in `mptcp_sendmsg_frag`). With room for one packet, its scheduler
/// decides one copy too, so it pays most of this cost.
#[test]
fn copies_of_small_blocks_are_not_merged() {
    let (cases, seed) = (wanted("PLAIT_CASES", 300_u32) / 3, wanted("PLAIT_SEED", 9260_u64));
    for (transport, limit) in [(STANDARD, 0.05), (LINUX, 0.15), (QUIC, 0.05), (SCTP, 0.01)] {
        let (later, twice) = compare(transport, Packets::Merged, cases, seed);
        assert!(later <= limit && twice <= 0.05, "{transport}: {later}, {twice}");
    }
}
