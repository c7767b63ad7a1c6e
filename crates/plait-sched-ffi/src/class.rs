//! A scheduler as a table of callbacks, and what makes a scheduler of Rust of it.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::{Arc, OnceLock};

use plait_sched::{Capabilities, Connection, Decision, Event, Interest, Path, Scheduler, Time};

use crate::decision::{CDecision, CEvent, interest_of, needs_of};
use crate::error::{Error, PLAIT_ERROR_CALLBACK, PLAIT_OK, Result};
use crate::facts::{CConnection, CPath, PLAIT_MAX_PATHS};
use crate::sized::{self, Sized32};

/// What a scheduler declares when it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The size of this struct as the library knows it, in bytes.
    pub size: u32,
    /// Bits PLAIT_NEEDS_…; 0 as it comes.
    pub needs: u32,
    /// Bits PLAIT_INTEREST_…; both as it comes.
    pub interest: u32,
    /// Not 0 if it waits, and nothing changes in it, whenever no path has room; 0 as it comes.
    pub waits_without_room: u32,
}

// SAFETY: integers only, 4 times 4 bytes.
unsafe impl Sized32 for Traits {
    const FIRST: u32 = 16;
    const DEFAULT: Self =
        Self { size: size_of::<Self>() as u32, needs: 0, interest: 3, waits_without_room: 0 };
    const WRONG: &'static str = "the size of a plait_traits is none that a version of this interface has";
}

/// Makes an instance: puts it into `*state` and what it declares into `*traits`, which comes with what most declare. `parameters` is a text
/// `parameter=value:parameter=value`, empty for none; what is not given has its default, and what is not known is an error. Returns PLAIT_OK; anything
/// else is an error, with one line of UTF-8 and a zero in `message`, which has `capacity` bytes.
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

/// Decides, as plait_scheduler_decide() does. `*decision` comes as PLAIT_WAIT. What it returns but PLAIT_OK ends the run.
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

/// Is told of an event, as plait_scheduler_on_event() is. May be NULL.
pub type OnEvent = Option<
    unsafe extern "C" fn(
        state: *mut c_void,
        event: *const CEvent,
        connection: *const CConnection,
        paths: *const CPath,
        count: u32,
    ),
>;

/// A scheduler of one's own. The rules are those of the built-in ones: no clock, no memory beyond its own state, the same calls give the same
/// answers. A shared library hands them out through a function
/// `const plait_scheduler_class *plait_scheduler_class_at(uint32_t index)`, which returns NULL from some number on; and, if its results are to keep
/// the source, that through `const char *plait_scheduler_source(void)` (PLAIT_SCHEDULER_SOURCE). Instances are used on one thread each, several at the same time.
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
    /// Handed to `create` as it is.
    pub context: *mut c_void,
    /// Makes an instance.
    pub create: Create,
    /// Frees it; may be NULL.
    pub destroy: Destroy,
    /// Decides.
    pub decide: Decide,
    /// Is told of events; may be NULL.
    pub on_event: OnEvent,
}

// SAFETY: a class is a table that nobody writes to; what `context` points to is its author's, who may be called from any thread, one at a time.
unsafe impl Sync for Class {}
// SAFETY: as above.
unsafe impl Send for Class {}

impl Class {
    /// A copy of what C wrote, complete.
    ///
    /// # Safety
    /// `from` is null or points to a class that begins with its true size, whose texts end in zeros, and whose functions are what they are said to be.
    pub(crate) unsafe fn read(from: *const Self) -> Result<Self> {
        if from.is_null() {
            return Err(Error::argument("the plait_scheduler_class is a null pointer"));
        }
        // SAFETY: not null, so by contract there is a size at least.
        if (unsafe { from.cast::<u32>().read() } as usize) < size_of::<Self>() {
            let wrong = "the size of a plait_scheduler_class is none that a version of this interface has";
            return Err(Error::size(wrong));
        }
        // SAFETY: by contract all of its size is there.
        let class = unsafe { from.read() };
        if class.name.is_null() || class.create.is_none() || class.decide.is_none() {
            return Err(Error::argument("a plait_scheduler_class needs name, create and decide"));
        }
        Ok(class)
    }

    /// The class at `from`.
    ///
    /// # Errors
    /// A message, if it is null, of no known size, or incomplete.
    ///
    /// # Safety
    /// `from` is null or points to a class that begins with its true size, and that stays what it is.
    pub unsafe fn at(from: *const Self) -> std::result::Result<Self, String> {
        // SAFETY: by contract.
        unsafe { Self::read(from) }.map_err(Error::text)
    }

    /// The rule in a sentence; empty if its author says nothing.
    pub fn summary(&self) -> String {
        if self.summary.is_null() {
            return String::new();
        }
        // SAFETY: the texts of a class that was read end in zeros.
        unsafe { CStr::from_ptr(self.summary) }.to_string_lossy().into_owned()
    }

    /// Its name.
    pub fn name(&self) -> String {
        // SAFETY: a class that was read has a name, which ends in a zero.
        unsafe { CStr::from_ptr(self.name) }.to_string_lossy().into_owned()
    }
}

/// Where a scheduler's failure is kept: it can only wait then, and whoever runs it looks here.
#[derive(Clone, Debug, Default)]
pub struct Fault(Arc<OnceLock<String>>);

impl Fault {
    /// What went wrong first, if anything did.
    pub fn message(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    pub(crate) fn keep(&self, message: String) {
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
    /// An instance with the given parameters (`parameter=value:parameter=value`); when it fails later, it waits, and `fault` says why.
    ///
    /// # Errors
    /// What the class says of the parameters; or that it needs what this version does not know.
    pub fn new(class: Class, parameters: &str, fault: Fault) -> std::result::Result<Self, String> {
        let name = class.name();
        let create = class.create.ok_or("the class has no create")?;
        let parameters = CString::new(parameters)
            .map_err(|_| format!("scheduler {name}: there is a zero in its parameters"))?;
        let (mut traits, mut state, mut message) = (Traits::DEFAULT, ptr::null_mut(), [0_u8; 512]);
        // SAFETY: what is handed over is as `Create` says, and the class is what it says by the contract of `read`.
        let code = unsafe {
            create(
                class.context,
                parameters.as_ptr(),
                &raw mut traits,
                &raw mut state,
                message.as_mut_ptr().cast(),
                message.len() as u32 - 1,
            )
        };
        if code != PLAIT_OK {
            let said = CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy();
            let said = if said.is_empty() { "it cannot be made".into() } else { said };
            return Err(format!("scheduler {name}: {said}"));
        }
        let needs = needs_of(traits.needs);
        let made = Self {
            class,
            state,
            needs: needs.unwrap_or_default(),
            // Without the callback there is nobody to tell.
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
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(destroy) = self.class.destroy {
            // SAFETY: the state came from `create`, and this is the last that is heard of it.
            unsafe { destroy(self.state) };
        }
    }
}

impl Scheduler for Foreign {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let Some(decide) = self.class.decide.filter(|_| self.fault.message().is_none()) else {
            return Decision::WAIT;
        };
        let count = self.show(paths);
        let (connection, mut decision) = (CConnection::of(connection), CDecision::DEFAULT);
        // SAFETY: structs with their sizes, and the state that `create` made.
        let code = unsafe {
            decide(
                self.state,
                now.as_nanos(),
                &raw const connection,
                self.paths.as_ptr(),
                count,
                &raw mut decision,
            )
        };
        let decided = decision.decision().filter(|_| code == PLAIT_OK);
        decided.unwrap_or_else(|| {
            self.fault.keep(if code == PLAIT_OK {
                format!(
                    "scheduler {}: decide answered {}, which is no decision",
                    self.class.name(),
                    decision.kind
                )
            } else {
                format!("scheduler {}: decide failed with error {code}", self.class.name())
            });
            Decision::WAIT
        })
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

/// Writes what a scheduler declares to where C keeps it.
///
/// # Safety
/// `to` is null or points to a writable struct that begins with its true size.
pub(crate) unsafe fn declare(to: *mut Traits, traits: Traits) -> Result<()> {
    // SAFETY: by contract.
    unsafe { sized::write(to, traits, "the plait_traits is a null pointer") }
}

/// A callback failed.
pub(crate) fn failed(message: impl std::fmt::Display) -> Error {
    Error::said(PLAIT_ERROR_CALLBACK, message)
}
