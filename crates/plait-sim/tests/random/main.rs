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
use proptest::test_runner::{Config, RngSeed};
use strategy::Network;

/// How many cases, always the same ones, unless the environment asks for more; those are new ones each time.
const CASES: u32 = 2_000;

fn config() -> Config {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    Config {
        cases: wanted.unwrap_or(CASES),
        rng_seed: if wanted.is_some() { RngSeed::Random } else { RngSeed::Fixed(9260) },
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    }
}

/// The same scenario with TCP as in Linux.
fn linux(text: &str) -> String {
    text.replacen("protocol = \"mptcp\"\n", "protocol = \"mptcp\"\nprofile = \"linux\"\n", 1)
}

fn check(text: &str) -> Result<(), TestCaseError> {
    account::check(text).map_err(|reason| TestCaseError::fail(format!("{reason}\n{text}")))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_valid_scenario_ends_well(text in strategy::scenario(Network::Any)) {
        check(&text)?;
    }

    /// With the profile of Linux instead.
    #[test]
    fn with_the_profile_of_linux_too(text in strategy::scenario(Network::Any)) {
        check(&linux(&text))?;
    }

    #[test]
    fn nor_with_the_profile_of_linux(text in strategy::scenario(Network::Orderly)) {
        check(&linux(&text))?;
    }

    /// However unequal the paths are, what nobody lost is not sent again, unless a timer ran out or a tail was probed.
    #[test]
    fn nothing_is_sent_again_where_nothing_gets_lost(text in strategy::scenario(Network::Orderly)) {
        check(&text)?;
    }
}
