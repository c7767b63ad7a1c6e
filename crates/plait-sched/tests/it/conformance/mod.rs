//! Every built-in scheduler keeps the rules, and each rule detects a scheduler that breaks it.

mod built_in;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use plait_sched::conformance::{Failure, Options, Report, Rule, check};
use plait_sched::{Capabilities, Connection, Decision, Event, Path, PathId, Scheduler, Time, usable};

/// Counts the allocations of each thread, so that tests in parallel do not disturb each other.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "a global allocator is the only way to see allocations")]
// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc` above, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn run<S: Scheduler + 'static>(name: &str, make: impl Fn() -> S) -> Result<Report, Box<Failure>> {
    let count = || ALLOCATIONS.with(Cell::get);
    let options = Options { allocations: Some(&count), cases: 400, ..Options::default() };
    check(name, &mut || Box::new(make()), options)
}

/// A scheduler from a closure and its declared needs.
struct With<F>(Capabilities, F);

impl<F: FnMut(Time, &Connection, &[Path]) -> Decision> Scheduler for With<F> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        (self.1)(now, connection, paths)
    }

    fn needs(&self) -> Capabilities {
        self.0
    }
}

/// The decision of a correct scheduler; the broken ones differ in one point.
fn decent(connection: &Connection, paths: &[Path]) -> Decision {
    match usable(paths).find(|path| path.is_open()) {
        Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
        _ => Decision::WAIT,
    }
}

fn assert_breaks<F>(rule: Rule, needs: Capabilities, make: impl Fn() -> F)
where
    F: FnMut(Time, &Connection, &[Path]) -> Decision + 'static,
{
    let failure = run("broken", || With(needs, make())).expect_err("it breaks a rule");
    assert_eq!(failure.rule, rule, "{failure}");
    // The seed in the failure repeats it.
    let count = || ALLOCATIONS.with(Cell::get);
    let options = Options { allocations: Some(&count), cases: 1, seed: failure.seed, ..Options::default() };
    let again = check("broken", &mut || Box::new(With(needs, make())), options).expect_err("again");
    assert_eq!((again.rule, again.step, again.seed), (rule, failure.step, failure.seed));
}

#[test]
fn the_decent_scheduler_conforms() {
    run("decent", || With(Capabilities::NONE, |_, c: &Connection, p: &[Path]| decent(c, p)))
        .unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_path_that_does_not_exist_is_caught() {
    assert_breaks(Rule::KnownPath, Capabilities::NONE, || {
        |_, _: &Connection, paths: &[Path]| Decision::Assign { path: PathId(paths.len() as u8), segments: 1 }
    });
}

#[test]
fn a_failed_path_is_caught() {
    assert_breaks(Rule::UsablePath, Capabilities { reinject: false, ..Capabilities::ALL }, || {
        |_, _: &Connection, _: &[Path]| Decision::Assign { path: PathId(0), segments: 1 }
    });
}

#[test]
fn a_backup_path_beside_an_active_one_is_caught() {
    assert_breaks(Rule::UsablePath, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match paths.iter().find(|path| path.is_open()) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn an_assignment_of_nothing_is_caught() {
    assert_breaks(Rule::SomeSegments, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match decent(connection, paths) {
            Decision::Assign { path, .. } => Decision::Assign { path, segments: 0 },
            other => other,
        }
    });
}

#[test]
fn more_than_there_is_is_caught() {
    assert_breaks(Rule::EnoughData, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match decent(connection, paths) {
            Decision::Assign { path, .. } => {
                Decision::Assign { path, segments: connection.unassigned as u32 + 1 }
            }
            other => other,
        }
    });
}

#[test]
fn more_than_the_congestion_window_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| !path.in_recovery) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn more_than_the_receivers_window_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| {
            let open = usable(paths).find(|path| path.is_open());
            open.map_or(Decision::WAIT, |path| {
                let segments = path.room().min(connection.unassigned as u32);
                Decision::Assign { path: path.id, segments }
            })
        }
    });
}

#[test]
fn a_path_in_recovery_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| path.room() > 0) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn an_undeclared_recall_is_caught() {
    assert_breaks(Rule::Declared, Capabilities { recall: false, ..Capabilities::ALL }, || {
        |_, _: &Connection, paths: &[Path]| match (usable(paths).next(), paths.iter().find(|p| p.queued > 0))
        {
            (_, Some(path)) => Decision::Recall { path: path.id },
            (Some(path), None) => Decision::Assign { path: path.id, segments: 1 },
            (None, None) => Decision::WAIT,
        }
    });
}

/// Limits the first path once, then assigns to it.
fn limiting(in_flight: u32) -> impl FnMut(Time, &Connection, &[Path]) -> Decision {
    move |_, connection, paths| match usable(paths).find(|path| path.is_open()) {
        _ if paths[0].limit != in_flight => Decision::Limit { path: PathId(0), in_flight },
        Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
        _ => Decision::WAIT,
    }
}

#[test]
fn an_undeclared_limit_is_caught() {
    assert_breaks(Rule::Declared, Capabilities { limit: false, ..Capabilities::ALL }, || limiting(1));
}

#[test]
fn a_limit_of_nothing_is_caught() {
    assert_breaks(Rule::OpenLimit, Capabilities::ALL, || limiting(0));
}

#[test]
fn an_undeclared_reinjection_is_caught() {
    assert_breaks(Rule::Declared, Capabilities::NONE, || reinjecting);
}

#[test]
fn a_copy_on_the_path_that_carries_the_segment_is_caught() {
    assert_breaks(Rule::UsefulCopy, Capabilities::ALL, || reinjecting);
}

#[test]
fn a_copy_of_what_was_never_sent_is_caught() {
    assert_breaks(Rule::UsefulCopy, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| path.is_open()) {
            Some(path) => Decision::Reinject { path: path.id, segment: connection.next_segment + 5 },
            None => Decision::WAIT,
        }
    });
}

#[test]
fn an_undeclared_penalty_is_caught() {
    assert_breaks(Rule::Declared, Capabilities::NONE, || {
        |_, _: &Connection, _: &[Path]| Decision::Penalize { path: PathId(0) }
    });
}

fn reinjecting(_: Time, connection: &Connection, paths: &[Path]) -> Decision {
    match (connection.oldest_unacked, usable(paths).find(|path| path.is_open())) {
        (Some(oldest), Some(path)) => Decision::Reinject { path: path.id, segment: oldest.segment },
        _ => decent(connection, paths),
    }
}

#[test]
fn the_recall_of_an_empty_queue_is_caught() {
    assert_breaks(Rule::FullQueue, Capabilities::ALL, || {
        |_, _: &Connection, _: &[Path]| Decision::Recall { path: PathId(0) }
    });
}

#[test]
fn assigning_and_recalling_for_ever_is_caught() {
    assert_breaks(Rule::Ends, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match paths.iter().find(|path| path.queued > 0) {
            Some(path) => Decision::Recall { path: path.id },
            // Some segments are left, so that it is asked again.
            None => usable(paths).next().map_or(Decision::WAIT, |path| {
                let segments = (connection.unassigned as u32 / 2).max(1);
                Decision::Assign { path: path.id, segments }
            }),
        }
    });
}

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
