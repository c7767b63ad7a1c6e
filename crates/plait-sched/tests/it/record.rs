//! Recorded calls are complete and always the same, and facts of all sizes are no problem for any
//! scheduler.

use plait_sched::conformance::{Call, Record, record, record_extremes};
use plait_sched::{
    Builtin, Capabilities, Connection, Decision, Event, Interest, Path, SCHEDULERS, Scheduler, Time,
};
use std::cell::Cell;
use std::rc::Rc;

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

/// A scheduler that is always asked for its reasons. `written` counts them.
struct Explained {
    scheduler: Builtin,
    written: Rc<Cell<u64>>,
}

impl Scheduler for Explained {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let mut reason = String::new();
        let decision = self.scheduler.decide_with_reason(now, connection, paths, &mut reason);
        self.written.set(self.written.get() + u64::from(!reason.is_empty()));
        decision
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.scheduler.on_event(event, connection, paths);
    }

    fn needs(&self) -> Capabilities {
        self.scheduler.needs()
    }

    fn interest(&self) -> Interest {
        self.scheduler.interest()
    }

    fn waits_without_room(&self) -> bool {
        self.scheduler.waits_without_room()
    }
}

#[test]
fn a_decision_with_its_reason_is_the_same() {
    for name in SCHEDULERS.iter().flat_map(|info| ["", "+rp+bm"].map(|s| format!("{}{s}", info.name))) {
        let written = Rc::new(Cell::new(0));
        let explained = || {
            let scheduler = Builtin::new(&name, &[]).expect("defaults");
            Box::new(Explained { scheduler, written: Rc::clone(&written) })
        };
        for seed in 1..=5 {
            let [plain, other] = [false, true].map(|asked| {
                let mut shown = String::new();
                let mut make = || -> Box<dyn Scheduler> { if asked { explained() } else { make(&name) } };
                let mut observer = |record: &Record<'_>| shown += &format!("{:?}", record.call);
                record(&name, &mut make, seed, &mut observer).expect("it keeps the rules");
                shown
            });
            assert!(plain == other, "{name}, seed {seed}");
        }
        let has_reasons =
            ["blest", "ecf", "daps", "plait"].contains(&name.split('+').next().unwrap_or_default());
        assert_eq!(written.get() > 0, has_reasons, "{name}");
    }
}
