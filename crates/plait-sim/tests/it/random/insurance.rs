//! Copies of everything insure: with a second path, whatever it is like, data is not later than over the better path alone.
//!
//! `PLAIT_CASES=3000 cargo test --release -p plait-sim --test it insurance -- --nocapture` draws 1,000 pairs for each protocol.

use super::wanted;
use crate::common::run;

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

    /// Evenly in the logarithm.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.next())
    }
}

/// Two paths of 64 kbit/s to 20 Mbit/s and 10 to 600 ms, with losses up to 5 % or none, and queues of half to three times the
/// bandwidth-delay product.
fn paths(draw: &mut Draw) -> ([String; 2], f64) {
    let mut rates = [draw.log(64e3, 20e6), draw.log(64e3, 20e6)];
    rates.sort_by(|a, b| b.total_cmp(a));
    let paths = rates.map(|rate| {
        let rtt = draw.log(10.0, 600.0);
        let loss = [0.0, 0.0, draw.next(), 5.0 * draw.next()][(4.0 * draw.next()) as usize];
        let queue = (rate * rtt / 12e6 * (0.5 + 2.5 * draw.next())).max(10.0);
        format!("[[path]]\nrate = \"{rate:.0}bit\"\nrtt = \"{rtt:.1}ms\"\nloss = \"{loss:.3}%\"\nqueue = \"{queue:.0}p\"\n")
    });
    (paths, rates[1])
}

/// A file, or blocks that take a quarter of the slower path at most.
fn workload(draw: &mut Draw, slower: f64) -> String {
    if draw.next() < 0.5 {
        format!(
            "duration = \"1000s\"\nworkload = {{ kind = \"file\", size = \"{:.0}B\" }}\n",
            draw.log(10e3, 1.5e6)
        )
    } else {
        let block = ["100B", "160B", "500B", "1200B"][(4.0 * draw.next()) as usize];
        let rate = slower * (0.02 + 0.23 * draw.next());
        format!(
            "duration = \"120s\"\nworkload = {{ kind = \"cbr\", rate = \"{rate:.0}bit\", block = \"{block}\", stop = \"60s\" }}\n"
        )
    }
}

/// When a file is complete, or the 95th percentile of the blocks' delay, in seconds; `None` if data was left over.
fn late(transport: &str, workload: &str, paths: &str) -> Option<f64> {
    let metrics =
        run(&format!("scheduler = \"redundant\"\ntransport = {{ {transport} }}\n{workload}{paths}")).metrics;
    if metrics.undelivered_bytes != Some(0) {
        return None;
    }
    metrics.completion_time_s.or_else(|| metrics.block_delay_ms.map(|delay| delay.p95 / 1e3))
}

/// How often data was more than 5 % later, and how often twice as late.
fn compare(transport: &str, cases: u32, seed: u64) -> (f64, f64) {
    let mut draw = Draw(seed);
    let (mut later, mut twice, mut worst, mut count) = (0, 0, 1.0_f64, 0);
    for case in 0..cases {
        let (paths, slower) = paths(&mut draw);
        let workload = workload(&mut draw, slower);
        let alone = paths.iter().filter_map(|path| late(transport, &workload, path));
        let Some(better) = alone.min_by(f64::total_cmp) else { continue };
        let both = late(transport, &workload, &paths.concat()).unwrap_or(f64::INFINITY);
        count += 1;
        later += u32::from(both > 1.05 * better);
        twice += u32::from(both > 2.0 * better);
        if both > worst * better {
            worst = both / better;
            println!(
                "{transport}, case {case}: {both:.3} s, {better:.3} s alone\n{workload}{}",
                paths.concat()
            );
        }
    }
    (f64::from(later) / f64::from(count), f64::from(twice) / f64::from(count))
}

/// All paths are open from the start: to open a second one takes a round trip of the first.
///
/// What copies cost: blocks leave as they were cut for the path that took them first, where one path alone would have merged them; and in
/// CMT-SCTP, whose paths share one sequence of TSNs, losses among copies are found by the timer where reports do not tell which copy arrived.
#[test]
fn with_copies_of_everything_data_is_not_later_than_over_the_better_path_alone() {
    let (cases, seed) = (wanted("PLAIT_CASES", 300_u32) / 3, wanted("PLAIT_SEED", 9260_u64));
    for (transport, share) in [
        ("protocol = \"mptcp\", profile = \"standard\", handshake = false", 0.05),
        ("protocol = \"mptcp\", profile = \"linux\", handshake = false", 0.05),
        ("protocol = \"mpquic\", handshake = false", 0.05),
        ("protocol = \"cmt-sctp\"", 0.15),
    ] {
        let (later, twice) = compare(transport, cases, seed);
        println!(
            "{transport}: {:.1} % more than 5 % later, {:.1} % twice as late",
            100.0 * later,
            100.0 * twice
        );
        assert!(later <= share && twice <= 0.03, "{transport}: {later}, {twice}");
    }
}
