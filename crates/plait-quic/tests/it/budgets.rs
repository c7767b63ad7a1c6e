//! Transfers over paths with budgets.

use crate::network::{Case, FAST, SLOW, run};
use crate::transfer::{LOSSY, assert_whole};
use plait_quic::{Error, Terms};
use plait_sched::SCHEDULERS;
use std::time::Duration;

#[test]
fn a_path_carries_no_more_than_its_budget() {
    for scheduler in SCHEDULERS {
        let terms = [Terms { budget: Some(400_000), ..Terms::default() }];
        let case = Case { scheduler: scheduler.name, bytes: 3_000_000, terms: &terms, ..Case::default() };
        let run = run(&case);
        assert_whole(&case, &run);
        // The receiver's answers count, too: segments of 1,153 bytes.
        assert!((396_000..402_000).contains(&run.sent[0]), "{}: {:?}", scheduler.name, run.sent);
    }
}

/// When a budget ends, the path's last losses and all further data leave on the other path at once.
#[test]
fn a_budget_that_ends_stops_nothing() {
    let longest_gap = |case: &Case<'_>| {
        let run = run(case);
        assert_whole(case, &run);
        run.received.and_then(|received| received.1.ok()).map_or(Duration::MAX, |summary| summary.longest_gap)
    };
    for paths in [[FAST, SLOW], LOSSY] {
        let bytes = 4_000_000;
        let alone = paths.map(|path| longest_gap(&Case { bytes, paths: &[path], ..Case::default() }));
        // The last losses of a path are found by its probe timeout. Then the transfer is as fast as
        // on the other path alone.
        let most = alone[0].max(alone[1]) + Duration::from_millis(200);
        for path in [0, 1] {
            let gaps = (1..=8).map(|part| {
                let mut terms = [Terms::default(); 2];
                terms[path].budget = Some(part * 250_000);
                longest_gap(&Case { bytes, paths: &paths, terms: &terms, ..Case::default() })
            });
            let mean = gaps.sum::<Duration>() / 8;
            assert!(mean <= most, "path {path}: {mean:?}, {alone:?} alone");
        }
    }
}

#[test]
fn a_file_beyond_all_budgets_ends_when_they_are_spent() {
    for (budget, most) in [(0, 300), (200_000, 900)] {
        let terms = [Terms { budget: Some(budget), ..Terms::default() }; 2];
        let run = run(&Case { terms: &terms, ..Case::default() });
        assert!(matches!(run.outcome, Err(Error::Spent)), "{:?}", run.outcome);
        assert!(run.duration < Duration::from_millis(most), "{budget}: {:?}", run.duration);
    }
}
