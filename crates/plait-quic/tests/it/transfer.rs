//! Whole transfers with real TLS, in virtual time.

use crate::network::{Case, FAST, Path, Run, SLOW, address, content, run};
use plait_quic::sender::AddressChange;
use plait_quic::{Error, Fingerprint, Terms};
use plait_sched::SCHEDULERS;
use std::time::Duration;

pub(crate) const LOSSY: [Path; 2] = [
    Path { lost: 20, jitter: Duration::from_millis(5), ..FAST },
    Path { lost: 50, jitter: Duration::from_millis(20), ..SLOW },
];

pub(crate) fn assert_whole(case: &Case<'_>, run: &Run) {
    assert!(run.outcome.is_ok(), "{}: {:?}", case.scheduler, run.outcome);
    let (got, ended) = run.received.as_ref().expect("the receiver has ended");
    assert!(ended.is_ok(), "{}: {ended:?}", case.scheduler);
    assert!(*got == content(case.bytes, case.seed), "{}: bytes differ", case.scheduler);
    assert_eq!(run.oversized, 0, "every packet fits");
    assert!(run.changes.is_empty(), "who was chosen decides");
}

#[test]
fn every_scheduler_gets_every_byte_across() {
    for scheduler in SCHEDULERS {
        let case = Case { scheduler: scheduler.name, bytes: 700_001, paths: &LOSSY, ..Case::default() };
        assert_whole(&case, &run(&case));
    }
}

#[test]
fn two_paths_carry_more_than_the_better_one() {
    let both = run(&Case { bytes: 8_000_000, ..Case::default() });
    let alone = run(&Case { bytes: 8_000_000, paths: &[FAST], ..Case::default() });
    let goodput = |run: &Run| 64.0 / run.duration.as_secs_f64();
    // 20 Mbit/s, of which headers take a twelfth; both together 30.
    assert!(goodput(&alone) < 20.0 && goodput(&alone) > 15.0, "{}", goodput(&alone));
    assert!(goodput(&both) > 22.0 && goodput(&both) < 30.0, "{}", goodput(&both));
    assert!(both.sent.iter().all(|&bytes| bytes > 1_000_000), "{:?}", both.sent);
}

#[test]
fn a_run_is_the_same_each_time() {
    let case = Case { paths: &LOSSY, ..Case::default() };
    let [one, other, another] =
        [run(&case), run(&case), run(&Case { seed: 2, paths: &LOSSY, ..Case::default() })];
    assert_whole(&case, &one);
    assert_eq!(one.trace, other.trace);
    assert_eq!(one.duration, other.duration);
    assert_ne!(one.trace, another.trace);
}

/// Both paths fail just before the sender finishes. The sender already has the verdict, but its
/// last packets are lost. The receiver has kept the file.
#[test]
fn a_file_that_is_kept_is_not_reported_as_failed_when_the_last_word_is_lost() {
    let whole = run(&Case::default());
    let dark = Some([whole.duration - Duration::from_micros(1), Duration::from_secs(100)]);
    let paths = [FAST, SLOW].map(|path| Path { outage: dark, ..path });
    let case = Case { paths: &paths, ..Case::default() };
    let cut = run(&case);
    assert_eq!(cut.duration, whole.duration);
    assert_whole(&case, &cut);
}

#[test]
fn an_outage_of_a_path_loses_nothing_and_stops_little() {
    for path in [0, 1] {
        let mut paths = [FAST, SLOW];
        paths[path].outage = Some([Duration::from_millis(800), Duration::from_secs(100)]);
        let case = Case { bytes: 6_000_000, paths: &paths, ..Case::default() };
        let run = run(&case);
        assert_whole(&case, &run);
        let gap = run.received.and_then(|received| received.1.ok()).map(|summary| summary.longest_gap);
        assert!(gap < Some(Duration::from_millis(500)), "path {path}: {gap:?}");
    }
}

#[test]
fn a_path_that_comes_back_is_used_again() {
    let paths = [Path { outage: Some([Duration::from_millis(500), Duration::from_secs(3)]), ..FAST }, SLOW];
    let case = Case { bytes: 12_000_000, paths: &paths, ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    // The slow path alone would take at least ten seconds. The fast path sent less than two
    // megabytes before its outage.
    assert!(run.sent[0] > 4_000_000, "{:?}", run.sent);
}

/// The path's connection continues: the receiver replies to the latest source address (RFC 9000
/// §9).
#[test]
fn a_translator_that_forgets_a_path_stops_nothing() {
    for paths in [&[FAST][..], &[FAST, SLOW]] {
        let rebound = Some(Duration::from_millis(700));
        let case = Case { bytes: 6_000_000, paths, rebound, ..Case::default() };
        let run = run(&case);
        assert_whole(&case, &run);
        assert!(run.opened.iter().all(|&times| times == 1), "{:?}", run.opened);
        let gap = run.received.and_then(|received| received.1.ok()).map(|summary| summary.longest_gap);
        assert!(gap < Some(Duration::from_millis(500)), "{gap:?}");
        assert!(run.sent[0] > 3_000_000, "it is used as before: {:?}", run.sent);
    }
}

#[test]
fn a_path_whose_interface_gets_another_address_goes_on_from_there() {
    for paths in [&[FAST][..], &[FAST, SLOW]] {
        let moved = Some(Duration::from_millis(700));
        let case = Case { bytes: 6_000_000, paths, moved, ..Case::default() };
        let run = run(&case);
        assert_whole(&case, &run);
        assert_eq!(run.opened[0], 2);
        let gap = run.received.and_then(|received| received.1.ok()).map(|summary| summary.longest_gap);
        assert!(gap < Some(Duration::from_secs(1)), "{gap:?}");
        assert!(run.sent[0] > 3_000_000, "it is used as before: {:?}", run.sent);
    }
}

#[test]
fn a_path_that_appears_is_used_from_then_on() {
    let appears = [(Duration::from_millis(700), AddressChange::Added(address(1).ip(), Terms::default()))];
    for interop in [false, true] {
        let case = |address_changes| Case {
            bytes: 8_000_000,
            begins_with: Some(1),
            address_changes,
            interop,
            ..Case::default()
        };
        let alone = run(&case(&[]));
        let run = run(&case(&appears));
        assert_whole(&case(&appears), &run);
        assert_eq!(run.opened, [1, 1], "interop: {interop}");
        assert!(run.sent[1] > 1_000_000, "interop: {interop}: {:?}", run.sent);
        assert!(run.duration + Duration::from_millis(300) < alone.duration, "{:?}", run.duration);
    }
}

#[test]
fn more_paths_come_one_after_the_other_and_all_are_used() {
    let appear: Vec<_> = (1..8)
        .map(|path| {
            let at = Duration::from_millis(200 * path as u64);
            (at, AddressChange::Added(address(path).ip(), Terms { cost: path as u32, ..Terms::default() }))
        })
        .collect();
    let path = Path { megabits: 4.0, ..FAST };
    let paths = [path; 8];
    let case = Case {
        bytes: 12_000_000,
        scheduler: "round-robin",
        paths: &paths,
        begins_with: Some(1),
        address_changes: &appear,
        ..Case::default()
    };
    let run = run(&case);
    assert_whole(&case, &run);
    assert!(run.sent.len() == 8 && run.sent.iter().all(|&bytes| bytes > 500_000), "{:?}", run.sent);
}

/// If the machine reports a lost interface, no probe timeout is needed to detect the loss.
#[test]
fn a_path_that_is_known_to_be_gone_stops_nothing() {
    let mut gaps = Vec::new();
    for path in [0, 1] {
        for millis in (600..1_600).step_by(100) {
            let at = Duration::from_millis(millis);
            let mut paths = [FAST, SLOW];
            paths[path].outage = Some([at, Duration::from_secs(100)]);
            let gone = [(at, AddressChange::Removed(path))];
            let case = Case { bytes: 6_000_000, paths: &paths, address_changes: &gone, ..Case::default() };
            let run = run(&case);
            assert_whole(&case, &run);
            let gap = run.received.and_then(|received| received.1.ok()).map(|summary| summary.longest_gap);
            gaps.push((gap.unwrap_or(Duration::MAX), path, millis));
        }
    }
    gaps.sort_unstable();
    // If a loss on the other path coincides with the cut, the gap includes both.
    assert!(gaps[10].0 < Duration::from_millis(150) && gaps[16].0 < Duration::from_millis(200), "{gaps:?}");
}

#[test]
fn a_path_that_is_known_to_be_back_is_used_at_once() {
    let dark = [500, 3_000].map(Duration::from_millis);
    let paths = [Path { outage: Some(dark), ..FAST }, SLOW];
    let known = [(dark[0], AddressChange::Removed(0)), (dark[1], AddressChange::Restored(0))];
    let case = |address_changes| Case { bytes: 6_000_000, paths: &paths, address_changes, ..Case::default() };
    let [report, found_out] = [run(&case(&known)), run(&case(&[]))];
    assert_whole(&case(&known), &report);
    assert_eq!(report.opened, [1, 1], "without another handshake");
    assert!(report.duration < found_out.duration, "{:?} and {:?}", report.duration, found_out.duration);
}

#[test]
fn a_path_whose_place_is_given_away_is_another_one_from_then_on() {
    let moved = Some(Duration::from_millis(700));
    let gone = [(Duration::from_millis(600), AddressChange::Removed(0))];
    let terms = [Terms { budget: Some(500_000), ..Terms::default() }];
    let case = |terms| Case {
        bytes: 6_000_000,
        moved,
        replaced: true,
        address_changes: &gone,
        terms,
        ..Case::default()
    };
    for terms in [&[][..], &terms] {
        let run = run(&case(terms));
        assert_whole(&case(terms), &run);
        assert_eq!(run.opened[0], 2);
        assert!(run.sent[0] > 3_000_000, "the budget was the other's: {:?}", run.sent);
    }
}

/// The outage is so long that noq closes the path's connection. The path is opened again in its old
/// place.
#[test]
fn a_path_that_was_given_up_is_opened_anew() {
    let slow = Path { megabits: 1.0, ..SLOW };
    let paths = [Path { outage: Some([Duration::from_millis(500), Duration::from_secs(14)]), ..FAST }, slow];
    let case = Case { bytes: 6_000_000, paths: &paths, ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    assert_eq!(run.opened, [2, 1]);
    assert!(run.sent[0] > 3_000_000, "{:?}", run.sent);
}

#[test]
fn the_first_path_need_not_work() {
    let dead = Path { outage: Some([Duration::ZERO, Duration::from_secs(1_000)]), ..FAST };
    let case = Case { bytes: 1_000_000, paths: &[dead, SLOW], ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    assert_eq!(run.opened, [0, 1]);
    assert!(run.duration < Duration::from_secs(3), "{:?}", run.duration);
}

/// The cut may also fall between the path's handshake and the transport's handshake, when other
/// paths wait for it.
#[test]
fn a_path_that_is_cut_while_a_transfer_begins_stops_nothing() {
    for path in [0, 1] {
        for cut in (0..250).step_by(5).map(Duration::from_millis) {
            let mut paths = [FAST, SLOW];
            paths[path].outage = Some([cut, Duration::from_secs(1_000)]);
            let case = Case { bytes: 1_000_000, paths: &paths, ..Case::default() };
            let run = run(&case);
            assert!(
                run.outcome.is_ok(),
                "path {path}, {cut:?}: {:?} {:?} {:?}",
                run.outcome,
                run.opened,
                run.sent
            );
            assert_whole(&case, &run);
            assert!(run.duration < Duration::from_secs(3), "path {path}, {cut:?}: {:?}", run.duration);
        }
    }
}

#[test]
fn everything_dark_for_a_while_is_survived() {
    let outage = Some([Duration::from_millis(400), Duration::from_secs(12)]);
    let paths = [Path { outage, ..FAST }, Path { outage, ..SLOW }];
    let case = Case { bytes: 3_000_000, paths: &paths, ..Case::default() };
    assert_whole(&case, &run(&case));
}

#[test]
fn a_peer_that_is_gone_is_given_up() {
    let outage = Some([Duration::from_millis(400), Duration::from_secs(1_000)]);
    let paths = [Path { outage, ..FAST }, Path { outage, ..SLOW }];
    let run = run(&Case { bytes: 3_000_000, paths: &paths, ..Case::default() });
    assert!(matches!(run.outcome, Err(Error::Silent(30))), "{:?}", run.outcome);
}

#[test]
fn empty_and_small_files_arrive() {
    for bytes in [0, 1, 1_152, 1_153, 1_154] {
        let case = Case { bytes, ..Case::default() };
        assert_whole(&case, &run(&case));
    }
}

/// The second path greets after the transfer has finished over the first one. It is neither a new
/// offer nor a failure.
#[test]
fn a_path_that_comes_when_all_is_over_begins_nothing() {
    let slower = Path { delay: Duration::from_millis(50), ..SLOW };
    let case = Case { bytes: 1, paths: &[FAST, slower], ..Case::default() };
    let whole = run(&case);
    assert_whole(&case, &whole);
    assert_eq!(whole.opened, [1, 0], "the second path was late");
}

#[test]
fn another_certificate_is_not_believed() {
    let run = run(&Case { fingerprint: Some(Fingerprint([0; 32])), ..Case::default() });
    assert!(matches!(&run.outcome, Err(Error::Refused(_))), "{:?}", run.outcome);
    assert!(run.received.is_none() && run.duration < Duration::from_secs(1), "{:?}", run.duration);
}

#[test]
fn who_does_not_know_the_secret_is_refused() {
    let run = run(&Case { secret: "guessed", ..Case::default() });
    let text = run.outcome.map_err(|error| error.to_string());
    assert!(text.as_ref().is_err_and(|text| text.contains("secret")), "{text:?}");
    assert!(run.received.is_none());
}

#[test]
fn what_stands_by_is_left_alone_until_it_is_needed() {
    let terms = [Terms::default(), Terms { backup: true, ..Terms::default() }];
    let case = Case { terms: &terms, ..Case::default() };
    let stood_by = run(&case);
    assert_whole(&case, &stood_by);
    assert_eq!(stood_by.sent[1], 0);
    let dead = Path { outage: Some([Duration::from_millis(500), Duration::from_secs(1_000)]), ..FAST };
    let case = Case { terms: &terms, paths: &[dead, SLOW], ..Case::default() };
    let needed = run(&case);
    assert_whole(&case, &needed);
    assert!(needed.sent[1] > 500_000, "{:?}", needed.sent);
}

#[test]
fn a_transfer_goes_on_from_what_is_there() {
    let whole = content(2_000_000, 1);
    for there in [1, 999_999, 1_999_999, 2_000_000] {
        let case = Case { there: &whole[..there], paths: &LOSSY, ..Case::default() };
        let run = run(&case);
        assert_whole(&case, &run);
        let summary = run.received.and_then(|received| received.1.ok()).expect("it is whole");
        assert_eq!(run.resumed, there as u64);
        // Records take less than a segment each time.
        let delivered = summary.paths.iter().sum::<u64>();
        assert!(delivered < (2_000_000 - there) as u64 + 4_000, "{delivered}: no byte twice");
    }
}

#[test]
fn a_part_of_another_file_is_of_no_use() {
    let mut there = content(2_000_000, 1)[..1_000_000].to_vec();
    there[5] ^= 1;
    let case = Case { there: &there, ..Case::default() };
    let run = run(&case);
    assert_whole(&case, &run);
    assert_eq!(run.resumed, 0);
}

#[test]
fn who_only_asks_is_answered_on_every_path_and_no_transfer_begins() {
    let asked = run(&Case { asks: true, ..Case::default() });
    assert!(asked.outcome.is_ok(), "{:?}", asked.outcome);
    assert_eq!((asked.opened, asked.sent), (vec![1, 1], vec![0, 0]));
    assert!(asked.received.is_none() && asked.duration < Duration::from_secs(1), "{:?}", asked.duration);
    let refused = run(&Case { asks: true, secret: "guessed", ..Case::default() });
    assert!(matches!(refused.outcome, Err(Error::Refused(_))), "{:?}", refused.outcome);
}

#[test]
fn a_file_that_changed_on_its_way_is_told() {
    let run = run(&Case { damaged: Some(1_000_000), ..Case::default() });
    assert!(matches!(run.outcome, Err(Error::Differs)), "{:?}", run.outcome);
    assert!(matches!(run.received.map(|received| received.1), Some(Err(Error::Differs))));
}

#[test]
fn random_networks_get_every_byte_across() {
    for seed in 0..100_u64 {
        let part = |bits: u64, most: u64| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> bits) % most;
        let path = |at: u64| Path {
            megabits: 1.0 + part(at, 40) as f64,
            delay: Duration::from_millis(1 + part(at + 3, 100)),
            lost: part(at + 5, 120) as u32,
            jitter: Duration::from_millis(part(at + 7, 30)),
            queue: 15_000 + part(at + 9, 100_000),
            outage: Some([100, 100 + part(at + 11, 5_000)].map(Duration::from_millis)),
            narrow: None,
        };
        let paths: Vec<Path> = (0..1 + part(40, 4)).map(|index| path(index * 7)).collect();
        let scheduler = SCHEDULERS[seed as usize % SCHEDULERS.len()].name;
        let case = Case { scheduler, bytes: 500_000, seed, paths: &paths, ..Case::default() };
        assert_whole(&case, &run(&case));
    }
}
