//! Files in mode interop, in virtual time. The receiver accepts both modes.

use crate::network::{Case, FAST, Path, SLOW, content, run};
use plait_quic::{Error, Fingerprint, interop};
use std::time::Duration;

fn assert_whole(case: &Case<'_>) {
    let run = run(case);
    assert!(run.outcome.is_ok(), "{}: {:?}", case.scheduler, run.outcome);
    let (got, ended) = run.received.as_ref().expect("the receiver has ended");
    let summary = ended.as_ref().expect("it is kept");
    assert!(*got == content(case.bytes, case.seed), "{}: bytes differ", case.scheduler);
    assert_eq!(run.resumed, case.there.len() as u64);
    assert!(summary.paths.iter().sum::<u64>() >= (case.bytes - case.there.len()) as u64, "{summary:?}");
}

#[test]
fn every_scheduler_gets_every_byte_across() {
    let lossy = [Path { lost: 20, ..FAST }, Path { lost: 20, jitter: Duration::from_millis(5), ..SLOW }];
    for scheduler in interop::schedulers() {
        assert_whole(&Case { scheduler, bytes: 700_001, paths: &lossy, interop: true, ..Case::default() });
    }
}

#[test]
fn two_paths_carry_more_than_the_better_one() {
    let case = Case { bytes: 8_000_000, interop: true, ..Case::default() };
    let [both, alone] = [run(&case), run(&Case { paths: &[FAST], ..case })];
    let goodput = |run: &crate::network::Run| 64.0 / run.duration.as_secs_f64();
    // 20 Mbit/s, of which headers take a twentieth; both together 30.
    assert!(goodput(&alone) > 15.0 && goodput(&alone) < 20.0, "{}", goodput(&alone));
    assert!(goodput(&both) > 22.0 && goodput(&both) < 30.0, "{}", goodput(&both));
    assert!(both.sent.iter().all(|&bytes| bytes > 1_000_000), "{:?}", both.sent);
    assert_eq!((both.opened, both.oversized), (vec![1, 1], 0));
    // The payload that is estimated from packet sizes is close to the real one.
    let [sent, bytes] = [both.sent.iter().sum::<u64>() as f64, case.bytes as f64];
    assert!((0.99..1.05).contains(&(sent / bytes)), "{sent} of {bytes}");
}

#[test]
fn a_run_is_the_same_each_time() {
    let case = Case { interop: true, ..Case::default() };
    assert_eq!(run(&case).trace, run(&case).trace);
}

#[test]
fn small_files_and_what_is_there_already_arrive() {
    for bytes in [0, 1, 1_000, 300_000] {
        assert_whole(&Case { bytes, interop: true, ..Case::default() });
    }
    let all = content(300_000, 1);
    for there in [100_000, 299_999, 300_000] {
        assert_whole(&Case { bytes: 300_000, there: &all[..there], interop: true, ..Case::default() });
    }
}

#[test]
fn what_arrives_damaged_is_not_kept() {
    let run = run(&Case { damaged: Some(1_000), interop: true, ..Case::default() });
    assert!(matches!(run.outcome, Err(Error::Differs)), "{:?}", run.outcome);
    assert!(matches!(run.received, Some((_, Err(Error::Differs)))));
}

#[test]
fn only_who_knows_the_secret_is_listened_to_and_only_the_right_receiver_hears_it() {
    let guessed = run(&Case { secret: "guessed", interop: true, ..Case::default() });
    let error = guessed.outcome.expect_err("refused").to_string();
    assert!(error.contains("the secret is wrong"), "{error}");
    assert!(guessed.received.is_none());
    let wrong = Some(Fingerprint([7; 32]));
    let other = run(&Case { fingerprint: wrong, interop: true, ..Case::default() });
    assert!(matches!(other.outcome, Err(Error::Refused(_))) && other.received.is_none());
}

#[test]
fn a_path_that_fails_or_gets_another_address_costs_no_byte() {
    for dead in [0, 1] {
        let mut paths = [Path { megabits: 10.0, ..FAST }, SLOW];
        paths[dead].outage = Some([Duration::from_secs(1), Duration::from_secs(100)]);
        assert_whole(&Case { paths: &paths, bytes: 4_000_000, interop: true, ..Case::default() });
    }
    let second = Some(Duration::from_secs(1));
    assert_whole(&Case { moved: second, bytes: 4_000_000, interop: true, ..Case::default() });
    assert_whole(&Case { rebound: second, bytes: 4_000_000, interop: true, ..Case::default() });
}

#[test]
fn a_silent_receiver_is_given_up() {
    let dark = Some([Duration::from_millis(500), Duration::from_secs(200)]);
    let paths = [FAST, SLOW].map(|path| Path { outage: dark, ..path });
    let run = run(&Case { paths: &paths, interop: true, ..Case::default() });
    assert!(matches!(run.outcome, Err(Error::Silent(30))), "{:?}", run.outcome);
    assert!(matches!(run.received, Some((_, Err(_)))), "the receiver gives up, too");
}

/// noq keeps at most 2,048 packets of a stream behind a gap, and these paths have room for more.
#[test]
fn no_more_is_under_way_than_noq_keeps() {
    let long = Path { megabits: 300.0, delay: Duration::from_millis(80), queue: 10_000_000, ..FAST };
    let paths = [Path { delay: Duration::from_millis(5), ..long }, long];
    let case = Case { paths: &paths, bytes: 30_000_000, interop: true, ..Case::default() };
    assert_whole(&Case { scheduler: "round-robin", ..case });
}
