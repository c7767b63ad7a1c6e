//! Every built-in scheduler keeps the rules, and each rule detects a scheduler that breaks it.

mod behaviour;
mod built_in;
mod decisions;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use plait_sched::conformance::{Failure, Options, Report, Rule, check};
use plait_sched::{Capabilities, Connection, Decision, Path, Scheduler, Time, usable};

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
