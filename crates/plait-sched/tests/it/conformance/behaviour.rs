//! Each rule about several decisions (progress, repetition, allocations) detects a scheduler that
//! breaks it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{With, assert_breaks, decent, run};
use plait_sched::conformance::{Options, Rule, check};
use plait_sched::{Capabilities, Connection, Decision, Event, Path, Scheduler, Time, usable};

#[test]
fn waiting_until_now_is_caught() {
    assert_breaks(Rule::FutureWait, Capabilities::NONE, || {
        |now, _: &Connection, _: &[Path]| Decision::Wait { until: Some(now) }
    });
}

#[test]
fn waiting_for_nothing_is_caught() {
    assert_breaks(Rule::Progress, Capabilities::NONE, || |_, _: &Connection, _: &[Path]| Decision::WAIT);
}

#[test]
fn waiting_for_a_measurement_that_never_comes_is_caught() {
    assert_breaks(Rule::Progress, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| {
            if usable(paths).all(Path::has_rtt) { decent(connection, paths) } else { Decision::WAIT }
        }
    });
}

#[test]
fn putting_off_for_ever_is_caught() {
    assert_breaks(Rule::Delivery, Capabilities::NONE, || {
        |now, _: &Connection, _: &[Path]| Decision::Wait {
            until: Some(now + plait_sched::Duration::from_millis(1)),
        }
    });
}

#[test]
fn chance_is_caught() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    // Not `assert_breaks`: a random failure cannot be repeated.
    let failure = run("chance", || {
        With(Capabilities::NONE, |_, connection: &Connection, paths: &[Path]| {
            match CALLS.fetch_add(1, Ordering::Relaxed) % 3 {
                0 => Decision::WAIT,
                _ => decent(connection, paths),
            }
        })
    })
    .expect_err("it depends on something else than its arguments and state");
    assert!(matches!(failure.rule, Rule::Repeatable | Rule::Progress), "{failure}");
}

#[test]
fn state_shared_by_two_instances_is_caught() {
    static TURN: AtomicU64 = AtomicU64::new(0);
    let failure = run("shared", || {
        With(Capabilities::NONE, |_, connection: &Connection, paths: &[Path]| {
            let open: Vec<_> = usable(paths).filter(|path| path.is_open()).map(|path| path.id).collect();
            let turn = TURN.fetch_add(1, Ordering::Relaxed) as usize;
            if open.is_empty() || connection.sendable() == 0 {
                return Decision::WAIT;
            }
            Decision::Assign { path: open[turn % open.len()], segments: 1 }
        })
    });
    assert!(matches!(failure, Err(ref f) if matches!(f.rule, Rule::NoAllocation)), "the list of open paths");

    let options = Options::default();
    let mut make = || -> Box<dyn Scheduler> {
        Box::new(With(Capabilities::NONE, |_, connection: &Connection, paths: &[Path]| {
            let open = || usable(paths).filter(|path| path.is_open());
            let turn = TURN.fetch_add(1, Ordering::Relaxed) as usize;
            match open().nth(turn % open().count().max(1)) {
                Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
                _ => Decision::WAIT,
            }
        }))
    };
    assert_eq!(check("shared", &mut make, options).expect_err("shared").rule, Rule::Repeatable);
}

#[test]
fn an_allocation_is_caught() {
    assert_breaks(Rule::NoAllocation, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| {
            std::hint::black_box(Box::new(1));
            decent(connection, paths)
        }
    });
}

/// A scheduler that promises to wait without room.
struct Resting<F>(Capabilities, F);

impl<F: FnMut(&Connection, &[Path]) -> Decision> Scheduler for Resting<F> {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        (self.1)(connection, paths)
    }

    fn needs(&self) -> Capabilities {
        self.0
    }

    fn waits_without_room(&self) -> bool {
        true
    }
}

#[test]
fn one_that_says_it_waits_without_room_and_does_not_is_caught() {
    let needs = Capabilities { assign_ahead: true, ..Capabilities::NONE };
    let ahead = |connection: &Connection, paths: &[Path]| match usable(paths).next() {
        Some(path) if connection.unassigned > 0 && path.queued < 4 => {
            Decision::Assign { path: path.id, segments: 1 }
        }
        _ => Decision::WAIT,
    };
    assert_eq!(run("ahead", || Resting(needs, ahead)).expect_err("it assigns").rule, Rule::Rests);
}

#[test]
fn one_that_counts_how_often_it_waits_without_room_is_caught() {
    let failure = run("counting", || {
        let mut calls = 0_u32;
        Resting(Capabilities::NONE, move |connection: &Connection, paths: &[Path]| {
            calls += 1;
            let open = || usable(paths).filter(|path| path.is_open());
            match open().nth(calls as usize % open().count().max(1)) {
                Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
                _ => Decision::WAIT,
            }
        })
    });
    assert_eq!(failure.expect_err("it matters whether it was asked").rule, Rule::Repeatable);
}

#[test]
fn an_allocation_for_an_event_is_caught() {
    struct Remembering(Vec<u8>);
    impl Scheduler for Remembering {
        fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
            decent(connection, paths)
        }
        fn on_event(&mut self, _event: &Event, _connection: &Connection, _paths: &[Path]) {
            self.0.push(0);
        }
    }
    let failure = run("remembering", || Remembering(Vec::new())).expect_err("its list grows");
    assert_eq!(failure.rule, Rule::NoAllocation);
}

#[test]
fn a_panic_is_caught_and_named() {
    std::panic::set_hook(Box::new(|_| {}));
    assert_breaks(Rule::NoPanic, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| {
            assert!(connection.window_left > 0, "never met a closed window");
            decent(connection, paths)
        }
    });
    let _ = std::panic::take_hook();
}

/// Assigns all segments to the first usable path, one at a time.
struct OneByOne;

impl Scheduler for OneByOne {
    fn decide(&mut self, _: Time, connection: &Connection, paths: &[Path]) -> Decision {
        match usable(paths).next() {
            Some(path) if connection.unassigned > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    }

    fn needs(&self) -> Capabilities {
        Capabilities { assign_ahead: true, ..Capabilities::NONE }
    }
}

#[test]
fn a_decision_for_every_segment_of_a_large_window_is_caught() {
    let mut make = || Box::new(OneByOne) as Box<dyn Scheduler>;
    assert!(check("one-by-one", &mut make, Options::default()).is_ok());
    let many = Options { cases: 1, segments: 400_000, ..Options::default() };
    assert_eq!(check("one-by-one", &mut make, many).unwrap_err().rule, Rule::Ends);
}
