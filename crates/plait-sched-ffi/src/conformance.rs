//! Checks whether a scheduler of callbacks keeps the rules on which every engine relies.

use std::ffi::c_char;

use plait_sched::conformance;
use plait_sched::{Connection, Decision, Path, Scheduler, Time};

use crate::class::{Class, Fault, Foreign, failed};
use crate::error::{Error, PLAIT_ERROR_CONFORMANCE, guard};
use crate::sized::{self, Sized32};
use crate::{table, text};

/// The extent of a check; 0 selects the default amounts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The size of this struct as the caller knows it, in bytes.
    pub size: u32,
    /// Number of random cases; 0 for 200.
    pub cases: u32,
    /// The seed of the first case, the next ones count up; 0 for 1.
    pub seed: u64,
    /// Segments of a case at most; 0 for 200. With more, windows grow too.
    pub segments: u64,
}

// SAFETY: integers only, without padding: 2 times 4 bytes, 2 times 8.
unsafe impl Sized32 for Options {
    const FIRST: u32 = 24;
    const DEFAULT: Self = Self { size: size_of::<Self>() as u32, cases: 0, seed: 0, segments: 0 };
    const WRONG: &'static str =
        "the size of a plait_conformance_options is none that a version of this interface has";
}

/// Statistics of a check.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The size of this struct as the caller knows it, in bytes.
    pub size: u32,
    /// Number of random cases.
    pub cases: u32,
    /// Number of moments with an event.
    pub steps: u64,
    /// Number of decisions, waits included.
    pub decisions: u64,
    /// Number of delivered segments.
    pub segments: u64,
}

// SAFETY: integers only, without padding: 2 times 4 bytes, 3 times 8.
unsafe impl Sized32 for Report {
    const FIRST: u32 = 32;
    const DEFAULT: Self =
        Self { size: size_of::<Self>() as u32, cases: 0, steps: 0, decisions: 0, segments: 0 };
    const WRONG: &'static str =
        "the size of a plait_conformance_report is none that a version of this interface has";
}

/// Replaces an instance that could not be created.
struct Silent;

impl Scheduler for Silent {
    fn decide(&mut self, _now: Time, _connection: &Connection, _paths: &[Path]) -> Decision {
        Decision::WAIT
    }
}

/// Drives two instances of a class at a time through random situations in a model of an engine:
/// paths that fail and return, timeouts, losses, tiny windows, data that trickles in. The
/// documentation of the Rust crate lists the rules, `plait_sched::conformance::Rule`. The rule
/// against allocations is not checked, because only the class's author can count them.
///
/// `parameters` may be NULL for none, `options` for the default amounts, `report` if it is not
/// wanted. Returns PLAIT_OK and the report; PLAIT_ERROR_CONFORMANCE, with a message that names the
/// rule, the seed and the facts; PLAIT_ERROR_CALLBACK if a callback failed; PLAIT_ERROR_ARGUMENT or
/// _SIZE.
///
/// # Safety
/// `scheduler_class` is null or as its documentation says; texts end in zeros; the structs begin
/// with their true sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_conformance_check(
    scheduler_class: *const Class,
    parameters: *const c_char,
    options: *const Options,
    report: *mut Report,
) -> i32 {
    guard(|| {
        // SAFETY: by contract.
        let class = unsafe { table::read(scheduler_class)? };
        let parameters = if parameters.is_null() {
            ""
        } else {
            // SAFETY: by contract.
            unsafe { text::utf8(parameters, "")? }
        };
        let asked = if options.is_null() {
            Options::DEFAULT
        } else {
            // SAFETY: by contract.
            unsafe { sized::read(options, "")? }
        };
        let found = check(class, parameters, asked)?;
        if !report.is_null() {
            let conformance::Report { cases, steps, decisions, segments, .. } = found;
            let told = Report { cases, steps, decisions, segments, ..Report::DEFAULT };
            // SAFETY: by contract.
            unsafe { sized::write(report, told, "")? };
        }
        Ok(())
    })
}

fn check(class: Class, parameters: &str, asked: Options) -> crate::error::Result<conformance::Report> {
    let usual = conformance::Options::default();
    let options = conformance::Options {
        cases: if asked.cases == 0 { usual.cases } else { asked.cases },
        seed: if asked.seed == 0 { usual.seed } else { asked.seed },
        segments: if asked.segments == 0 { usual.segments } else { asked.segments },
        ..usual
    };
    let fault = Fault::default();
    let mut make = || -> Box<dyn Scheduler> {
        match Foreign::new(class, parameters, fault.clone()) {
            Ok(scheduler) => Box::new(scheduler),
            Err(message) => {
                fault.keep(message);
                Box::new(Silent)
            }
        }
    };
    // Creates an instance first, so that a failure to create one is reported as such.
    drop(make());
    let checked = match fault.message() {
        None => conformance::check(&class.name(), &mut make, options),
        Some(message) => return Err(failed(message)),
    };
    match (fault.message(), checked) {
        (Some(message), _) => Err(failed(message)),
        (None, Ok(report)) => Ok(report),
        (None, Err(failure)) => Err(Error::said(PLAIT_ERROR_CONFORMANCE, failure)),
    }
}
