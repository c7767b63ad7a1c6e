//! Schedulers in Rust, exported as tables of callbacks and imported again: they decide the same,
//! and panics do not cross the interface.

#![allow(unsafe_code, reason = "it calls what a loader calls")]

use plait_sched::conformance::{Options, Record, record};
use plait_sched::{
    Builtin, Capabilities, Connection, Decision, Duration, Event, Path, PathId, Scheduler, Time,
};
use plait_sched_ffi::connection::CConnection;
use plait_sched_ffi::decision::CDecision;
use plait_sched_ffi::error::PLAIT_OK;
use plait_sched_ffi::export::{Exported, class_of};
use plait_sched_ffi::path::CPath;
use plait_sched_ffi::{Class, Fault, Foreign, Given, export_schedulers};
use std::ffi::{CStr, c_char, c_void};
use std::{fmt, mem};

/// A built-in scheduler by name, to compare with.
struct Named(Builtin);

impl Scheduler for Named {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.0.decide(now, connection, paths)
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.0.decide_with_reason(now, connection, paths, reason)
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.0.on_event(event, connection, paths);
    }

    fn needs(&self) -> Capabilities {
        self.0.needs()
    }
}

impl Exported for Named {
    const NAME: &'static CStr = c"Named";
    const SUMMARY: &'static CStr = c"A built-in one.";

    fn create(given: &mut Given<'_>) -> Result<Self, String> {
        let name = given.take("name", "lowest-rtt".to_owned())?;
        Builtin::new(&name, &[]).map(Self).map_err(|error| error.to_string())
    }
}

/// A scheduler that panics when it is asked.
struct Panics;

impl Scheduler for Panics {
    fn decide(&mut self, _now: Time, _connection: &Connection, _paths: &[Path]) -> Decision {
        panic!("as it was told to")
    }
}

impl Exported for Panics {
    const NAME: &'static CStr = c"Panics";
    const SUMMARY: &'static CStr = c"Never decides.";

    fn create(_given: &mut Given<'_>) -> Result<Self, String> {
        Ok(Self)
    }
}

export_schedulers!(Named, Panics);

fn class(index: u32) -> Class {
    // SAFETY: it is a table of this file, or null.
    unsafe { Class::at(plait_scheduler_class_at(index)) }.unwrap()
}

fn calls(name: &str, make: &mut dyn FnMut() -> Box<dyn Scheduler>) -> Vec<String> {
    let mut calls = Vec::new();
    for seed in 1..20 {
        let mut keep = |record: &Record<'_>| calls.push(format!("{:?}", record.call));
        record(name, make, seed, &mut keep).unwrap_or_else(|failure| panic!("{failure}"));
    }
    calls
}

#[test]
fn a_scheduler_decides_the_same_on_both_sides_of_the_border() {
    for info in plait_sched::SCHEDULERS {
        let mut direct = || -> Box<dyn Scheduler> { Box::new(Builtin::new(info.name, &[]).unwrap()) };
        let fault = Fault::default();
        let parameters = format!("name={}", info.name);
        let mut through = || -> Box<dyn Scheduler> {
            Box::new(Foreign::new(class(0), &parameters, fault.clone()).unwrap())
        };
        assert!(calls(info.name, &mut direct) == calls(info.name, &mut through), "{}", info.name);
        assert_eq!(fault.message(), None);
    }
}

#[test]
fn a_reason_is_the_same_on_both_sides_of_the_border() {
    let connection = Connection { unassigned: 8, window_left: 100, ..Connection::default() };
    let full = Path { srtt: Duration::from_millis(20), cwnd: 4, in_flight: 4, ..Path::new(PathId(0), 1448) };
    let open = Path { srtt: Duration::from_millis(90), cwnd: 9, in_flight: 0, ..Path::new(PathId(1), 1448) };
    let paths = [full, open];
    let asked = |mut scheduler: Box<dyn Scheduler>| {
        let mut reason = String::new();
        let decision = scheduler.decide_with_reason(Time::from_nanos(1), &connection, &paths, &mut reason);
        (decision, reason)
    };
    for name in ["ecf", "blest", "lowest-rtt"] {
        let direct = asked(Box::new(Builtin::new(name, &[]).unwrap()));
        let through = Foreign::new(class(0), &format!("name={name}"), Fault::default()).unwrap();
        assert_eq!(asked(Box::new(through)), direct);
        assert_eq!(direct.1.is_empty(), name == "lowest-rtt", "{}", direct.1);
    }
}

/// Decides nothing, and gives a reason of two lines.
unsafe extern "C" fn two_lines(
    _state: *mut c_void,
    _now: u64,
    _connection: *const CConnection,
    _paths: *const CPath,
    _count: u32,
    _decision: *mut CDecision,
    reason: *mut c_char,
    capacity: u32,
) -> i32 {
    let text = c"one\ntwo".to_bytes_with_nul();
    assert!(text.len() <= capacity as usize);
    // SAFETY: there are `capacity` bytes.
    unsafe { text.as_ptr().copy_to(reason.cast(), text.len()) };
    PLAIT_OK
}

#[test]
fn a_reason_of_two_lines_is_a_fault_where_reasons_are_asked_for() {
    let fault = Fault::default();
    let wrong = Class { decide_with_reason: Some(two_lines), ..class(0) };
    let mut scheduler = Foreign::new(wrong, "", fault.clone()).unwrap();
    let (connection, paths, mut reason) =
        (Connection::default(), [Path::new(PathId(0), 1448)], String::new());
    scheduler.decide(Time::ZERO, &connection, &paths);
    assert_eq!(fault.message(), None);
    scheduler.decide_with_reason(Time::ZERO, &connection, &paths, &mut reason);
    assert_eq!(reason, "");
    let said = "scheduler Named: decide_with_reason: expected one line of text without control characters, got \"one\\ntwo\"";
    assert_eq!(fault.message(), Some(said));
}

#[test]
fn a_class_of_the_first_version_has_no_reasons() {
    let size = mem::offset_of!(Class, decide_with_reason) as u32;
    let old = Class { size, ..class_of::<Named>() };
    // SAFETY: it is a complete table, of which the first version is read.
    assert!(unsafe { Class::at(&raw const old) }.unwrap().decide_with_reason.is_none());
    // Too short, and a size within a pointer.
    for wrong in [size - 8, size + 4] {
        let class = Class { size: wrong, ..old };
        // SAFETY: as above.
        assert!(unsafe { Class::at(&raw const class) }.is_err(), "{wrong}");
    }
}

#[test]
fn the_suite_takes_such_a_scheduler_like_any_other() {
    let mut make =
        || -> Box<dyn Scheduler> { Box::new(Foreign::new(class(0), "", Fault::default()).unwrap()) };
    let options = Options { cases: 20, ..Options::default() };
    assert_eq!(plait_sched::conformance::check("Named", &mut make, options).unwrap().cases, 20);
}

#[test]
fn what_cannot_be_made_says_why() {
    let made = |parameters| Foreign::new(class(0), parameters, Fault::default()).err().unwrap_or_default();
    assert!(made("name=none").starts_with("scheduler Named: unknown scheduler \"none\": choose "));
    assert_eq!(made("nam=daps"), "scheduler Named: unknown parameter \"nam\": choose name");
    assert_eq!(made("name"), "scheduler Named: expected parameter=value, got \"name\"");
    assert_eq!(made("name=daps:name=dqs"), "scheduler Named: parameter name is given twice");
}

#[test]
fn a_panic_becomes_a_fault_and_the_scheduler_waits() {
    let fault = Fault::default();
    let mut scheduler = Foreign::new(class(1), "", fault.clone()).unwrap();
    let paths = [Path { cwnd: 9, ..Path::new(PathId(0), 1448) }];
    for _ in 0..2 {
        assert_eq!(scheduler.decide(Time::ZERO, &Connection::default(), &paths), Decision::WAIT);
    }
    assert_eq!(fault.message(), Some("scheduler Panics: decide failed with error 4"));
}
