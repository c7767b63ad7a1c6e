//! Recorded calls are complete and always the same, and facts of all sizes are no problem for any
//! scheduler.

use plait_sched::conformance::{Call, Record, record, record_extremes};
use plait_sched::{Builtin, SCHEDULERS, Scheduler};

fn make(name: &str) -> Box<dyn Scheduler> {
    Box::new(Builtin::new(name, &[]).expect("defaults"))
}

#[test]
fn every_call_of_a_case_is_recorded() {
    let case = || {
        let (mut decisions, mut shown) = (0, String::new());
        let mut observer = |record: &Record<'_>| {
            decisions += u64::from(matches!(record.call, Call::Decide { .. }));
            shown += &format!("{record:?}");
        };
        let report = record("daps", &mut || make("daps"), 7, &mut observer).expect("it keeps the rules");
        assert_eq!(report.decisions, decisions);
        shown
    };
    let shown = case();
    assert!(shown.contains("Assign") && shown.contains("Acked"));
    assert_eq!(shown, case());
}

#[test]
fn no_arithmetic_overflows_with_facts_of_all_sizes() {
    for name in SCHEDULERS.iter().flat_map(|info| ["", "+rp+bm"].map(|s| format!("{}{s}", info.name))) {
        let mut largest = 0;
        for seed in 1..=200 {
            record_extremes(make(&name), seed, 20, &mut |record| {
                largest = record.paths.iter().map(|path| path.srtt.as_nanos()).fold(largest, u64::max);
            });
        }
        assert!(largest > 1 << 50, "{largest}");
    }
}
