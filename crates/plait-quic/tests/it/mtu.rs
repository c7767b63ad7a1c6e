//! Paths that carry no full datagrams, from the beginning or later.

use crate::network::{Case, FAST, Path, Run, SLOW, content, run};
use plait_quic::sender::AddressChange;
use plait_quic::{Error, Settings};
use std::time::Duration;

/// UDP payload in bytes of a full Ethernet frame (IPv4).
const ETHERNET: u16 = 1472;

fn narrow(path: Path, from: u64, bytes: usize) -> Path {
    Path { narrow: Some(([Duration::from_millis(from), Duration::MAX], bytes)), ..path }
}

fn send(paths: &[Path], mtu: u16, seed: u64) -> Run {
    let settings = Settings { mtu, ..Settings::default() };
    run(&Case { paths, settings, seed, bytes: 4_000_000, ..Case::default() })
}

/// Returns the longest time without in-order data, for a complete file.
fn gap(run: &Run, seed: u64) -> Duration {
    assert!(run.outcome.is_ok(), "{:?}", run.outcome);
    let (bytes, outcome) = run.received.as_ref().expect("it has come");
    assert!(*bytes == content(4_000_000, seed), "bytes differ");
    outcome.as_ref().expect("it is whole").longest_gap
}

#[test]
fn a_path_that_is_too_small_carries_nothing_and_stalls_nothing() {
    let alone = send(&[SLOW], ETHERNET, 1).duration;
    for bytes in [1_280 - 28, 1_372, usize::from(ETHERNET) - 1] {
        for paths in [[narrow(FAST, 0, bytes), SLOW], [SLOW, narrow(FAST, 0, bytes)]] {
            let small = usize::from(paths[0].narrow.is_none());
            let run = send(&paths, ETHERNET, 1);
            assert!(gap(&run, 1) < Duration::from_millis(300), "{bytes}: {:?}", gap(&run, 1));
            assert_eq!((run.sent[small], run.opened[small]), (0, 0), "{bytes}");
            assert!(run.duration < alone + Duration::from_millis(500), "{bytes}: {:?}", run.duration);
        }
    }
}

#[test]
fn paths_that_are_all_too_small_are_an_error_within_seconds_that_names_what_fits() {
    for paths in [vec![narrow(FAST, 0, 1_372)], vec![narrow(FAST, 0, 1_400), narrow(SLOW, 0, 1_300)]] {
        let run = send(&paths, ETHERNET, 1);
        let Err(Error::TooSmall(text)) = &run.outcome else { panic!("{:?}", run.outcome) };
        assert!(text.starts_with("no path carries datagrams of 1472 bytes: 10.0.0.1 carries 13"), "{text}");
        assert!(run.duration < Duration::from_secs(5), "{:?}", run.duration);
        let choice =
            text.split("choose --mtu ").nth(1).expect("there is one").parse::<u16>().expect("a number");
        let again = send(&paths, choice, 1);
        assert!(again.outcome.is_ok(), "{choice}: {:?}", again.outcome);
    }
}

#[test]
fn a_path_that_gets_too_small_gives_what_it_holds_to_the_others() {
    for (mtu, bytes) in [(1_232, 1_200), (ETHERNET, 1_372)] {
        for seed in 0..10 {
            let run = send(&[narrow(FAST, 600, bytes), SLOW], mtu, seed);
            assert!(gap(&run, seed) < Duration::from_secs(1), "{mtu}, {seed}: {:?}", gap(&run, seed));
            assert_eq!(run.opened[0], 1, "{mtu}, {seed}");
        }
    }
}

#[test]
fn a_path_that_is_large_enough_again_is_used_again() {
    let between = [600, 5_000].map(Duration::from_millis);
    let path = Path { narrow: Some((between, 1_372)), ..FAST };
    let settings = Settings { mtu: ETHERNET, ..Settings::default() };
    let run = run(&Case { paths: &[path, SLOW], settings, bytes: 24_000_000, ..Case::default() });
    assert!(run.outcome.is_ok() && run.opened == [2, 1], "{:?} {:?}", run.outcome, run.opened);
    assert!(run.sent[0] > 4_000_000, "{:?}", run.sent);
}

#[test]
fn the_only_path_that_gets_too_small_is_an_error_within_seconds() {
    let run = send(&[narrow(FAST, 600, 1_200)], 1_232, 1);
    let Err(Error::TooSmall(text)) = &run.outcome else { panic!("{:?}", run.outcome) };
    assert!(text.contains("choose --mtu 1200"), "{text}");
    assert!(run.duration < Duration::from_secs(15), "{:?}", run.duration);
}

#[test]
fn a_routers_word_ends_no_path_that_works_and_the_systems_word_asks_for_another_proof() {
    for (own, opened) in [(false, [1, 1]), (true, [2, 1])] {
        let limit = AddressChange::MtuLimited { path: 0, bytes: 1_000, own };
        let address_changes = [(Duration::from_millis(600), limit)];
        let run = run(&Case { address_changes: &address_changes, bytes: 4_000_000, ..Case::default() });
        assert!(gap(&run, 1) < Duration::from_secs(1) && run.opened == opened, "{own}: {:?}", run.opened);
    }
}

#[test]
fn full_queues_and_random_losses_are_no_black_holes() {
    for seed in 0..10 {
        let lossy = Path { lost: 50, queue: 6_000, ..FAST };
        let run = send(&[lossy, Path { queue: 4_000, ..SLOW }], ETHERNET, seed);
        assert!(run.outcome.is_ok() && run.opened == [1, 1], "{seed}: {:?} {:?}", run.outcome, run.opened);
    }
}
