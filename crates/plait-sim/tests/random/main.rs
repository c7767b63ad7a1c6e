//! Any valid scenario ends with all data delivered, with the peer given up for good reason, or at its end while data
//! still flows: it never stalls, panics, runs for ever or delivers twice, and every packet and byte is accounted for.
//!
//! `PROPTEST_CASES=5000 cargo test --release -p plait-sim --test random` runs more cases than usual.

#[path = "../common/mod.rs"]
mod common;

mod account;
mod regressions;
mod strategy;

use proptest::prelude::*;
use proptest::test_runner::Config;

/// How many cases, unless the environment says.
const CASES: u32 = 250;

fn config() -> Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_valid_scenario_ends_well(text in strategy::scenario()) {
        if let Err(reason) = account::check(&text) {
            return Err(TestCaseError::fail(format!("{reason}\n{text}")));
        }
    }
}
