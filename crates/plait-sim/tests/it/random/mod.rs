//! Random valid scenarios end in one of three ways: with all data delivered, with the peer given up
//! for good reason, or at their end while data still flows. They never stall, panic, run for ever
//! or deliver data twice. Every packet and byte is accounted for.
//!
//! `PLAIT_CASES=5000 PLAIT_SEED=7 cargo test --release -p plait-sim --test it random` runs more and
//! other cases; `make random-torture` runs 150,000.

mod account;
mod insurance;
mod regressions;
mod round_trips;
mod silence;
pub(crate) mod strategy;
mod windows;

use crate::common;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::cell::Cell;
use strategy::Network;

/// Number of cases of each kind in `make test`; `make random-torture` draws 25,000 new ones.
const CASES: u32 = 300;

/// The same `PLAIT_SEED` draws the same cases; a larger `PLAIT_CASES` appends to them.
fn config() -> Config {
    Config {
        cases: wanted("PLAIT_CASES", CASES),
        rng_seed: RngSeed::Fixed(wanted("PLAIT_SEED", 9260)),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    }
}

/// The same scenario with the TCP of Linux.
pub(crate) fn linux(text: &str) -> String {
    text.replacen("profile = \"standard\"\n", "profile = \"linux\"\n", 1)
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

    /// With the profile of Linux.
    #[test]
    fn with_the_profile_of_linux_too(text in strategy::scenario(Network::Any)) {
        check(&linux(&text))?;
    }

    #[test]
    fn nor_with_the_profile_of_linux(text in strategy::scenario(Network::Orderly)) {
        check(&linux(&text))?;
    }

    /// With Multipath QUIC.
    #[test]
    fn with_multipath_quic_too(text in strategy::mpquic_scenario(Network::Any)) {
        check(&text)?;
    }

    /// With paths of any difference, packets that were not lost are not retransmitted, except after
    /// a timeout or as a tail probe.
    #[test]
    fn nothing_is_sent_again_where_nothing_gets_lost(text in strategy::scenario(Network::Orderly)) {
        check(&text)?;
    }

    #[test]
    fn nor_with_multipath_quic(text in strategy::mpquic_scenario(Network::Orderly)) {
        check(&text)?;
    }
}

proptest! {
    #![proptest_config(Config { cases: config().cases / 8, ..config() })]

    /// The run is the same if every packet of the connection goes through bytes, with numbers that
    /// wrap.
    #[test]
    fn through_bytes_everything_is_the_same(text in strategy::cmt_sctp_scenario(Network::Any)) {
        common::same_through_bytes(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn through_bytes_of_multipath_quic_everything_is_the_same(text in strategy::mpquic_scenario(Network::Any)) {
        common::same_through_bytes(&text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn through_bytes_of_mptcp_everything_is_the_same(text in strategy::mptcp_scenario(Network::Any)) {
        common::same_through_bytes(&text).map_err(TestCaseError::fail)?;
    }

    /// A recorder of decisions makes the core ask such schedulers more often, and pass their
    /// segments through a queue. The run is the same.
    #[test]
    fn recording_changes_nothing(
        text in strategy::with_a_scheduler_that_waits_without_room(Network::Any),
        as_in_linux in any::<bool>(),
    ) {
        let text = if as_in_linux { linux(&text) } else { text };
        common::same_when_recorded(&text).map_err(TestCaseError::fail)?;
    }
}

/// The value of an environment variable, or `otherwise`.
pub(crate) fn wanted<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// Runs `PLAIT_CASES` scenarios (25,000) of each of six kinds, in parallel, drawn from `PLAIT_SEED`
/// (1; never the clock). `PLAIT_KINDS` = "45" selects the kinds of Multipath QUIC alone.
/// `PLAIT_ONLY` keeps scenarios whose text has all of these words, separated by commas. Prints its
/// progress after each tenth.
#[test]
#[ignore = "150,000 runs: 20 minutes to an hour on two cores; make random-torture"]
fn torture() {
    let kinds: String = wanted("PLAIT_KINDS", "012345".to_owned());
    let kinds: Vec<u64> = (0..6).filter(|kind| kinds.contains(&kind.to_string())).collect();
    std::thread::scope(|scope| {
        let all: Vec<_> = kinds.iter().map(|&kind| scope.spawn(move || torture_of(kind))).collect();
        let failed: Vec<String> = all
            .into_iter()
            .filter_map(|one| one.join().unwrap_or_else(|_| Err("a check panicked".to_owned())).err())
            .collect();
        assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    });
}

/// The scenarios of a kind. Even kinds have any network, odd kinds orderly ones. The kinds are
/// CMT-SCTP and MPTCP, then the profile of Linux, then Multipath QUIC.
fn scenarios_of(kind: u64) -> BoxedStrategy<String> {
    let network = if kind.is_multiple_of(2) { Network::Any } else { Network::Orderly };
    if kind < 4 {
        let text = move |text: String| if kind < 2 { text } else { linux(&text) };
        strategy::scenario(network).prop_map(text).boxed()
    } else {
        strategy::mpquic_scenario(network).boxed()
    }
}

fn torture_of(kind: u64) -> Result<(), String> {
    let (cases, seed) = (wanted("PLAIT_CASES", 25_000_u32), wanted("PLAIT_SEED", 1_u64));
    let only: String = wanted("PLAIT_ONLY", String::new());
    let words: Vec<&str> = only.split(',').filter(|word| !word.is_empty()).collect();
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(seed * 6 + kind),
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let (done, failed) = (Cell::new(0_u32), Cell::new(false));
    let result = TestRunner::new(config).run(&scenarios_of(kind), |text| {
        prop_assume!(words.iter().all(|word| text.contains(word)));
        done.set(done.get() + 1);
        if done.get().is_multiple_of((cases / 10).max(1)) {
            println!("seed {seed}, kind {kind}: {} scenarios", done.get());
        }
        check(&text).inspect_err(|error| {
            // A scenario that takes long also takes long to shrink.
            if !failed.replace(true) {
                println!("seed {seed}, kind {kind}, scenario {}: {error}", done.get());
            }
        })
    });
    // The other kinds go on for long.
    result
        .map_err(|error| format!("seed {seed}, kind {kind}: {error}"))
        .inspect_err(|error| println!("{error}"))
}

/// Writes hashes of runs into the file `PLAIT_FINGERPRINTS`: of all records of `PLAIT_CASES`
/// scenarios (2,000) of each of six kinds, and of the scenario files. Two versions with equal files
/// behave equally. Prints the scenario of the line that begins with `PLAIT_SHOW`, such as "0 17".
#[test]
#[ignore = "for changes that are to keep the behavior: make fingerprints"]
fn fingerprints() {
    let file: String = wanted("PLAIT_FINGERPRINTS", "fingerprints.txt".to_owned());
    let of_kinds: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|kind| scope.spawn(move || fingerprints_of(kind))).collect();
        all.into_iter().map(|one| one.join().expect("no panic")).collect()
    });
    let of_files = crate::scenarios::files().into_iter().map(|path| {
        let text = std::fs::read_to_string(&path).expect("a scenario file");
        format!("{} {:016x}\n", path.file_name().unwrap_or_default().display(), common::fingerprint(&text))
    });
    let lines: String = of_kinds.into_iter().chain(of_files).collect();
    std::fs::write(&file, lines).unwrap_or_else(|error| panic!("{file}: {error}"));
}

fn fingerprints_of(kind: u64) -> String {
    let config = Config {
        cases: wanted("PLAIT_CASES", 2_000),
        rng_seed: RngSeed::Fixed(wanted("PLAIT_SEED", 1_u64) * 6 + kind),
        failure_persistence: None,
        ..Config::default()
    };
    let lines = std::cell::RefCell::new(String::new());
    let result = TestRunner::new(config).run(&scenarios_of(kind), |text| {
        let mut lines = lines.borrow_mut();
        let number = lines.lines().count();
        if wanted("PLAIT_SHOW", String::new()) == format!("{kind} {number}") {
            println!("{text}");
            println!("{:#?}", common::try_run(&common::scenario(&text), &common::ALL));
        }
        *lines += &format!("{kind} {number} {:016x}\n", common::fingerprint(&text));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("kind {kind}: {error}"));
    lines.into_inner()
}
