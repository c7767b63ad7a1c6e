//! A scheduler as a table of callbacks, and its use as a scheduler in Rust.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::mem::offset_of;
use std::ptr;
use std::sync::{Arc, OnceLock};

use plait_sched::{Capabilities, Connection, Decision, Event, Interest, Path, Scheduler, Time};

use crate::connection::CConnection;
use crate::decision::{CDecision, CEvent, interest_of, needs_of};
use crate::error::{Error, PLAIT_ERROR_CALLBACK, PLAIT_OK, Result};
use crate::path::{CPath, PLAIT_MAX_PATHS};
use crate::sized::{self, Sized32};
use crate::table::{self, Table, class_methods};

/// The declarations of a scheduler when it is created.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The size of this struct as the library knows it, in bytes.
    pub size: u32,
    /// Bits PLAIT_NEEDS_…; initially 0.
    pub needs: u32,
    /// Bits PLAIT_INTEREST_…; initially both.
    pub interest: u32,
    /// Not 0 if the scheduler waits and keeps its state whenever no path has room; initially 0.
    pub waits_without_room: u32,
}

// SAFETY: integers only, 4 times 4 bytes.
unsafe impl Sized32 for Traits {
    const FIRST: u32 = 16;
    const DEFAULT: Self =
        Self { size: size_of::<Self>() as u32, needs: 0, interest: 3, waits_without_room: 0 };
    const WRONG: &'static str = "the size of a plait_traits is none that a version of this interface has";
}

/// Creates an instance and stores it in `*state`. Writes its declarations to `*traits`, which
/// initially holds those of most schedulers.
///
/// `parameters` is a text `parameter=value:parameter=value`, empty for none. Parameters that are
/// not given have their defaults; an unknown parameter is an error. Returns PLAIT_OK. Any other
/// value is an error; `message`, which has `capacity` bytes, then holds one line of UTF-8 and a
/// zero.
pub type Create = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        parameters: *const c_char,
        traits: *mut Traits,
        state: *mut *mut c_void,
        message: *mut c_char,
        capacity: u32,
    ) -> i32,
>;

/// Frees an instance.
pub type Destroy = Option<unsafe extern "C" fn(state: *mut c_void)>;

/// Decides, as plait_scheduler_decide() does. `*decision` is initially PLAIT_WAIT. Any return value
/// but PLAIT_OK ends the run.
pub type Decide = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        now: u64,
        connection: *const CConnection,
        paths: *const CPath,
        count: u32,
        decision: *mut CDecision,
    ) -> i32,
>;

/// Decides as `decide` does, and writes the reason to `reason`, which has `capacity` bytes: one line
/// of UTF-8 and a zero. A path is written as `{0}`: its number in braces. An engine that records
/// decisions with their reasons calls this function instead of `decide`. May be NULL.
pub type DecideWithReason = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        now: u64,
        connection: *const CConnection,
        paths: *const CPath,
        count: u32,
        decision: *mut CDecision,
        reason: *mut c_char,
        capacity: u32,
    ) -> i32,
>;

/// Receives an event, as plait_scheduler_on_event() does. May be NULL.
pub type OnEvent = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        event: *const CEvent,
        connection: *const CConnection,
        paths: *const CPath,
        count: u32,
    ),
>;

/// A scheduler of one's own. The rules are those of the built-in schedulers: no clock, no memory
/// beyond its own state, the same answers to the same calls.
///
/// A shared library provides its classes through a function `const plait_scheduler_class
/// *plait_scheduler_class_at(uint32_t index)`, which returns NULL for all indices after the last
/// class. To keep the source in the results, it provides it through `const char
/// *plait_scheduler_source(void)` (PLAIT_SCHEDULER_SOURCE).
///
/// Each instance is used on one thread; several instances may be in use at the same time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// The size of this struct as its author knows it, in bytes.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// The name: letters, digits and hyphens.
    pub name: *const c_char,
    /// The rule in a sentence; may be NULL.
    pub summary: *const c_char,
    /// Passed to `create` unchanged.
    pub context: *mut c_void,
    /// Creates an instance.
    pub create: Create,
    /// Frees an instance; may be NULL.
    pub destroy: Destroy,
    /// Decides.
    pub decide: Decide,
    /// Receives events; may be NULL.
    pub on_event: OnEvent,
    /// Decides and gives the reason; may be NULL.
    pub decide_with_reason: DecideWithReason,
}

// SAFETY: nothing writes to the table. The author of the class owns the target of `context`, and
// accepts calls from any thread, one at a time.
unsafe impl Sync for Class {}
// SAFETY: any thread may own the table, for the reasons given for `Sync`.
unsafe impl Send for Class {}

// SAFETY: integers and nullable pointers, beginning with the size.
unsafe impl Table for Class {
    const FIRST: usize = offset_of!(Self, decide_with_reason);
    const NULL: &'static str = "the plait_scheduler_class is a null pointer";
    const WRONG: &'static str =
        "the size of a plait_scheduler_class is none that a version of this interface has";
    const NEEDS: &'static str = "a plait_scheduler_class needs name, create and decide";

    fn is_complete(&self) -> bool {
        !self.name.is_null() && self.create.is_some() && self.decide.is_some()
    }
}

class_methods!(Class);

/// The first failure of a user's class. After a failure the class is not called any more, and the
/// caller finds the reason here.
#[derive(Clone, Debug, Default)]
pub struct Fault(Arc<OnceLock<String>>);

impl Fault {
    /// The message of the first failure, if any.
    pub fn message(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// Keeps a message, unless there is one.
    pub fn keep(&self, message: String) {
        // The first one counts.
        let _ = self.0.set(message);
    }
}

/// An instance of a class, as a scheduler for the engines of this project.
#[derive(Debug)]
pub struct Foreign {
    class: Class,
    state: *mut c_void,
    needs: Capabilities,
    interest: Interest,
    waits_without_room: bool,
    paths: [CPath; PLAIT_MAX_PATHS as usize],
    fault: Fault,
}

impl Foreign {
    /// Creates an instance with the given parameters (`parameter=value:parameter=value`). After a
    /// later failure the instance waits, and `fault` holds the reason.
    ///
    /// # Errors
    /// The class's message about the parameters, or a need that this version does not know.
    pub fn new(class: Class, parameters: &str, fault: Fault) -> std::result::Result<Self, String> {
        let name = class.name();
        let create = class.create.ok_or("the class has no create")?;
        let (mut traits, mut state) = (Traits::DEFAULT, ptr::null_mut());
        table::create("scheduler", &name, parameters, |parameters, message, capacity| {
            let (traits, state) = (&raw mut traits, &raw mut state);
            // SAFETY: the arguments are as `Create` requires, and the class is valid by the contract
            // of `table::read`.
            unsafe { create(class.context, parameters, traits, state, message, capacity) }
        })?;
        let needs = needs_of(traits.needs);
        let made = Self {
            class,
            state,
            needs: needs.unwrap_or_default(),
            // Without the callback, events cannot be reported.
            interest: if class.on_event.is_some() { interest_of(traits.interest) } else { Interest::NONE },
            waits_without_room: traits.waits_without_room != 0,
            paths: [CPath::DEFAULT; PLAIT_MAX_PATHS as usize],
            fault,
        };
        match needs {
            // Dropping it frees the instance.
            None => Err(format!("scheduler {name}: it needs {:#x}, which is not known here", traits.needs)),
            Some(_) => Ok(made),
        }
    }

    fn show(&mut self, paths: &[Path]) -> u32 {
        for (place, path) in self.paths.iter_mut().zip(paths) {
            *place = CPath::of(path);
        }
        paths.len().min(self.paths.len()) as u32
    }

    /// Asks for a decision, and for its reason if the class gives reasons.
    fn ask(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: Option<&mut dyn fmt::Write>,
    ) -> Decision {
        let Some(decide) = self.class.decide.filter(|_| self.fault.message().is_none()) else {
            return Decision::WAIT;
        };
        let (state, now, count) = (self.state, now.as_nanos(), self.show(paths));
        let (connection, mut decision) = (CConnection::of(connection), CDecision::DEFAULT);
        let (connection, paths, decided) = (&raw const connection, self.paths.as_ptr(), &raw mut decision);
        let mut text = [0_u8; 512];
        let with_reason = self.class.decide_with_reason.filter(|_| reason.is_some());
        let function = if with_reason.is_some() { "decide_with_reason" } else { "decide" };
        let code = match with_reason {
            None => {
                // SAFETY: structs with their sizes, and the state that `create` made.
                unsafe { decide(state, now, connection, paths, count, decided) }
            }
            Some(decide) => {
                let (to, capacity) = (text.as_mut_ptr().cast(), text.len() as u32 - 1);
                // SAFETY: as above, and `text` has more than `capacity` bytes.
                unsafe { decide(state, now, connection, paths, count, decided, to, capacity) }
            }
        };
        let said = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
        let wrong = match decision.decision() {
            _ if code != PLAIT_OK => format!("{function} failed with error {code}"),
            None => format!("{function} answered {}, which is no decision", decision.kind),
            Some(_) if said.contains(breaks_line) => {
                format!(
                    "decide_with_reason: expected one line of text without control characters, got {said:?}"
                )
            }
            Some(decided) => {
                // A writer that fails keeps no reason; the decision is the same.
                let _ = reason.map(|reason| reason.write_str(&said));
                return decided;
            }
        };
        self.fault.keep(format!("scheduler {}: {wrong}", self.class.name()));
        Decision::WAIT
    }
}

/// Whether a letter ends a line wherever it is printed.
fn breaks_line(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}')
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(destroy) = self.class.destroy {
            // SAFETY: the state came from `create`, and it is not used after this call.
            unsafe { destroy(self.state) };
        }
    }
}

impl Scheduler for Foreign {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.ask(now, connection, paths, None)
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        self.ask(now, connection, paths, Some(reason))
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        let Some(on_event) = self.class.on_event.filter(|_| self.fault.message().is_none()) else { return };
        let Some(event) = CEvent::of(event) else { return };
        let count = self.show(paths);
        let connection = CConnection::of(connection);
        // SAFETY: structs with their sizes, and the state that `create` made.
        unsafe { on_event(self.state, &raw const event, &raw const connection, self.paths.as_ptr(), count) };
    }

    fn needs(&self) -> Capabilities {
        self.needs
    }

    fn interest(&self) -> Interest {
        self.interest
    }

    fn waits_without_room(&self) -> bool {
        self.waits_without_room
    }
}

/// Writes the declarations of a scheduler to C's struct.
///
/// # Safety
/// `to` is null or points to a writable struct that begins with its true size.
pub(crate) unsafe fn declare(to: *mut Traits, traits: Traits) -> Result<()> {
    // SAFETY: by contract.
    unsafe { sized::write(to, traits, "the plait_traits is a null pointer") }
}

/// The error of a failed callback.
pub(crate) fn failed(message: impl std::fmt::Display) -> Error {
    Error::said(PLAIT_ERROR_CALLBACK, message)
}
