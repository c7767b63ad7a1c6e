//! A scheduler that violates its contract is stopped with an error.

use crate::common::{By, Pair, at, config, in_turns};
use plait_sched::{Capabilities, Connection, Decision, Path, PathId, PathState, Scheduler, Time};
use plait_transport::endpoint::{Endpoint, Side};
use plait_transport::{Error, MAX_QUEUED, PathConfig, SchedulerFault};

/// Returns the fault of a scheduler with a constant decision, at time zero.
fn fault_of(decision: Decision) -> Option<SchedulerFault> {
    fault_of_scheduler(By(move |_, _: &Connection, _: &[Path]| decision), &[PathConfig::default(); 2])
}

fn fault_of_scheduler(scheduler: impl Scheduler + 'static, paths: &[PathConfig]) -> Option<SchedulerFault> {
    let round_trips = vec![20; paths.len()];
    let mut pair = Pair::with_paths(config(), &round_trips, paths, scheduler);
    pair.send_file(100 * 1452);
    pair.run_until(at(0));
    match pair.error() {
        Some(Error::Scheduler { at: when, fault }) => {
            assert_eq!(*when, Time::ZERO);
            Some(*fault)
        }
        None => None,
        other => panic!("{other:?}"),
    }
}

const fn assign(path: u8, segments: u32) -> Decision {
    Decision::Assign { path: PathId(path), segments }
}

#[test]
fn a_path_that_does_not_exist() {
    let expected = Some(SchedulerFault::UnknownPath { path: PathId(2), paths: 2 });
    assert_eq!(fault_of(assign(2, 1)), expected);
    assert_eq!(fault_of(Decision::Recall { path: PathId(2) }), expected);
    assert_eq!(fault_of(Decision::Reinject { path: PathId(2), segment: 0 }), expected);
}

#[test]
fn a_path_that_has_failed() {
    let mut config = config();
    config.connection.path_max_retransmissions = 0;
    let stubborn = By(|_, connection: &Connection, _: &[Path]| match connection.sendable() {
        0 => Decision::WAIT,
        _ => assign(0, 1),
    });
    let mut pair = Pair::new(config, &[20, 20], stubborn);
    pair.send_file(100 * 1452);
    pair.cut(0, at(0), at(10_000));
    pair.run_until(at(2_000));
    let fault = SchedulerFault::UnusablePath(PathId(0), PathState::Failed);
    assert_eq!(pair.error(), Some(&Error::Scheduler { at: at(1_000), fault }));
}

#[test]
fn nothing_assigned() {
    assert_eq!(fault_of(assign(1, 0)), Some(SchedulerFault::NothingAssigned(PathId(1))));
}

#[test]
fn more_than_there_is() {
    let fault = SchedulerFault::OverAssigned { wanted: 101, unassigned: 100 };
    assert_eq!(fault_of(assign(0, 101)), Some(fault));
}

/// A full queue takes no more segments; the rest waits until the queue has space.
#[test]
fn an_absurdly_long_queue_takes_no_more() {
    let greedy =
        By(
            |_, connection: &Connection, _: &[Path]| {
                if connection.unassigned > 0 { assign(1, MAX_QUEUED as u32 / 2 + 1) } else { Decision::WAIT }
            },
        );
    let mut pair = Pair::new(config(), &[20, 20], greedy);
    pair.sender.write_endlessly();
    pair.run_until(at(100));
    assert_eq!(pair.error(), None);
    let queued = pair.path(1).queued as usize;
    assert!(queued <= MAX_QUEUED && queued > MAX_QUEUED - 100, "{queued}");
}

#[test]
fn a_copy_of_what_was_never_sent() {
    for segment in [0, 7, u64::MAX] {
        let fault = SchedulerFault::NeverSent(segment);
        assert_eq!(fault_of(Decision::Reinject { path: PathId(0), segment }), Some(fault));
    }
}

/// Assigns single segments to two paths in turn, more of them than the allowed number of decisions
/// without effect.
#[test]
fn as_many_decisions_as_segments() {
    let single = By(|_, connection: &Connection, _: &[Path]| match connection.next_segment {
        100_000.. => Decision::WAIT,
        segment => assign((segment % 2) as u8, 1),
    });
    let mut pair = Pair::new(config(), &[20, 20], single);
    pair.sender.write_endlessly();
    pair.run_until(at(0));
    assert_eq!(pair.error(), None);
}

#[test]
fn assigning_and_taking_back_for_ever() {
    let undecided = By(|_, _: &Connection, paths: &[Path]| match paths[0].queued {
        0 => assign(0, 50),
        _ => Decision::Recall { path: PathId(0) },
    });
    let mut pair = Pair::new(config(), &[20, 20], undecided);
    pair.sender.write_endlessly();
    pair.run_until(at(0));
    let fault = SchedulerFault::NeverWaits;
    assert_eq!(pair.error(), Some(&Error::Scheduler { at: Time::ZERO, fault }));
}

#[test]
fn deciding_for_ever() {
    assert_eq!(fault_of(Decision::Recall { path: PathId(0) }), Some(SchedulerFault::NeverWaits));
}

#[test]
fn waiting_until_now_is_not_waiting() {
    let at_once = By(|now, _: &Connection, _: &[Path]| Decision::Wait { until: Some(now) });
    assert_eq!(
        fault_of_scheduler(at_once, &[PathConfig::default()]),
        Some(SchedulerFault::PastWait(Time::ZERO))
    );
}

#[test]
fn a_limit_of_nothing() {
    let limit = |path, in_flight| fault_of(Decision::Limit { path: PathId(path), in_flight });
    assert_eq!(limit(0, 0), Some(SchedulerFault::ClosedLimit(PathId(0))));
    assert_eq!(limit(2, 1), Some(SchedulerFault::UnknownPath { path: PathId(2), paths: 2 }));
}

/// A scheduler without declared needs.
struct Modest(Decision);

impl Scheduler for Modest {
    fn decide(&mut self, _: Time, _: &Connection, _: &[Path]) -> Decision {
        self.0
    }
}

#[test]
fn what_was_not_declared() {
    let fault = |decision| fault_of_scheduler(Modest(decision), &[PathConfig::default()]);
    assert_eq!(fault(assign(0, 4)), Some(SchedulerFault::Undeclared("assign-ahead")), "the window is 3");
    assert_eq!(fault(Decision::Recall { path: PathId(0) }), Some(SchedulerFault::Undeclared("recall")));
    let reinject = Decision::Reinject { path: PathId(0), segment: 0 };
    assert_eq!(fault(reinject), Some(SchedulerFault::Undeclared("reinject")));
    let limit = Decision::Limit { path: PathId(0), in_flight: 1 };
    assert_eq!(fault(limit), Some(SchedulerFault::Undeclared("limit")));
}

#[test]
fn a_faultless_scheduler_has_no_fault() {
    assert_eq!(fault_of_scheduler(in_turns(), &[PathConfig::default(); 3]), None);
}

#[test]
fn waiting_is_asked_again_at_the_wished_moment() {
    let patient = By(|now: Time, connection: &Connection, _: &[Path]| match connection.unassigned {
        0 => Decision::WAIT,
        _ if now < at(70) => Decision::Wait { until: Some(at(70)) },
        _ => assign(0, 100),
    });
    let mut pair = Pair::new(config(), &[20], patient);
    pair.send_file(100 * 1452);
    pair.run_until(at(100));
    assert_eq!(pair.log.sent[0].0, at(70));
}

#[test]
fn needs_are_compared_with_what_the_transport_offers() {
    struct Needy;
    impl Scheduler for Needy {
        fn decide(&mut self, _: Time, _: &Connection, _: &[Path]) -> Decision {
            Decision::WAIT
        }
        fn needs(&self) -> Capabilities {
            Capabilities::ALL
        }
    }
    let end = Endpoint::new(&config().into(), Side::Client, &[PathConfig::default()], Needy);
    assert!(end.is_ok(), "CMT-SCTP offers everything");
}

#[test]
fn every_fault_says_what_was_wrong() {
    let faults = [
        (
            SchedulerFault::UnknownPath { path: PathId(7), paths: 2 },
            "path 7, which does not exist; choose 0 to 1",
        ),
        (SchedulerFault::UnusablePath(PathId(3), PathState::Failed), "not established yet, or given up"),
        (SchedulerFault::NothingAssigned(PathId(1)), "0 segments"),
        (SchedulerFault::OverAssigned { wanted: 9, unassigned: 4 }, "9"),
        (SchedulerFault::NeverSent(77), "77"),
        (SchedulerFault::Undeclared("recall"), "recall"),
        (SchedulerFault::NeverWaits, "65536"),
        (SchedulerFault::ClosedLimit(PathId(5)), "5"),
        (SchedulerFault::PastWait(at(1_250)), "1.250"),
    ];
    for (fault, word) in faults {
        let text = Error::Scheduler { at: at(1_500), fault }.to_string();
        assert!(text.contains(word) && text.starts_with("at 1.500000000 s the scheduler"), "{text}");
    }
}
