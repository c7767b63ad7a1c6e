//! Every built-in scheduler keeps the rules.

use super::run;
use plait_sched::conformance::{Options, check};
use plait_sched::{
    Builtin, Connection, Decision, Domain, MAX_PATHS, Path, PathId, SCHEDULERS, Scheduler, Time, Value,
};

/// Every value of every choice and boolean parameter, one at a time.
fn variants(info: &'static plait_sched::SchedulerInfo) -> Vec<Vec<(&'static str, Value<'static>)>> {
    let mut variants = vec![vec![]];
    for parameter in info.parameters {
        let values: Vec<Value<'static>> = match parameter.domain {
            Domain::Choice(words) => words.iter().map(|word| Value::Text(word)).collect(),
            Domain::Boolean => vec![Value::Boolean(false), Value::Boolean(true)],
            Domain::Integer { min, max } => vec![Value::Integer(min), Value::Integer(max)],
            Domain::Number { min, max } => vec![Value::Number(min), Value::Number(max)],
        };
        let combined = variants.iter().flat_map(|variant: &Vec<_>| {
            values.iter().map(|&value| {
                let mut variant = variant.clone();
                variant.push((parameter.name, value));
                variant
            })
        });
        variants = combined.collect();
    }
    variants
}

#[test]
fn every_builtin_conforms_with_every_combination_of_parameters() {
    for info in SCHEDULERS {
        for given in variants(info) {
            let report = run(info.name, || Builtin::new(info.name, &given).expect("in its domain"));
            let report = report.unwrap_or_else(|failure| panic!("{given:?}: {failure}"));
            assert!(report.decisions > 10_000 && report.segments > 10_000, "{report:?}");
        }
    }
}

#[test]
fn every_builtin_conforms_with_every_option() {
    for info in SCHEDULERS {
        for suffixes in ["+rp", "+bm", "+rp+bm"] {
            for (lambda, interval) in [(1.0, "fast"), (3.0, "fast"), (1.0, "slow"), (3.0, "slow")] {
                let name = format!("{}{suffixes}", info.name);
                let given = [
                    ("bufferbloat_lambda", Value::Number(lambda)),
                    ("penalization_interval", Value::Text(interval)),
                ];
                let report = run(&name, || Builtin::new(&name, &given).expect("it takes options"));
                let report =
                    report.unwrap_or_else(|failure| panic!("{name}, {lambda}, {interval}: {failure}"));
                assert!(report.decisions > 10_000 && report.segments > 10_000, "{report:?}");
            }
        }
    }
}

#[test]
fn every_builtin_conforms_with_wrong_round_trip_times() {
    for info in SCHEDULERS {
        for (suffix, error) in [("", 0.9), ("", -0.2), ("+rp+bm", -0.5)] {
            let name = format!("{}{suffix}", info.name);
            let given = [("rtt_error", Value::Number(error))];
            let report = run(&name, || Builtin::new(&name, &given).expect("it takes options"));
            let report = report.unwrap_or_else(|failure| panic!("{name}, {error}: {failure}"));
            assert!(report.decisions > 10_000 && report.segments > 10_000, "{report:?}");
        }
    }
}

#[test]
fn the_longest_list_of_paths_is_no_problem() {
    let mut paths: Vec<Path> = (0..MAX_PATHS as u8)
        .map(|id| Path {
            cwnd: 4,
            srtt: plait_sched::Duration::from_millis(10 + 7 * u64::from(id)),
            ..Path::new(PathId(id), 1000)
        })
        .collect();
    let connection = Connection { unassigned: 1 << 40, window_left: 1 << 40, ..Connection::default() };
    for name in SCHEDULERS.iter().flat_map(|info| ["", "+rp+bm"].map(|s| format!("{}{s}", info.name))) {
        let mut scheduler = Builtin::new(&name, &[]).expect("defaults");
        let mut decision = scheduler.decide(Time::ZERO, &connection, &paths);
        while let Decision::Limit { path, in_flight } = decision {
            paths[path.index()].limit = in_flight;
            decision = scheduler.decide(Time::ZERO, &connection, &paths);
        }
        assert!(matches!(decision, Decision::Assign { .. }), "{name}: {decision:?}");
        assert_eq!(scheduler.decide(Time::ZERO, &Connection::default(), &[]), Decision::WAIT);
    }
}

/// Hundreds of thousands of segments and windows of thousands. A scheduler that decides once per
/// segment must end within few enough decisions at one moment, and deliver all data.
fn check_many(name: &str) {
    let mut make = || Box::new(Builtin::new(name, &[]).unwrap()) as Box<dyn Scheduler>;
    let options = Options { cases: 1, segments: 100_000, ..Options::default() };
    let report = check(name, &mut make, options).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(report.segments >= 50_000, "{name}: {report:?}");
}

#[test]
fn built_in_schedulers_keep_the_rules_in_large_windows() {
    SCHEDULERS.iter().for_each(|info| check_many(info.name));
}
