//! Built-in schedulers as handles.

use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use plait_sched::{Builtin, SCHEDULERS, Scheduler, Time};

use crate::connection::CConnection;
use crate::decision::{CDecision, CEvent, interest_bits, needs_bits};
use crate::error::{Error, PLAIT_ERROR_PANIC, Result, guard};
use crate::path::{CPath, Paths};
use crate::{sized, text};

/// The version of this interface. A new version only adds: struct sizes and new functions show the
/// additions.
pub const PLAIT_SCHED_VERSION: u32 = 1;

/// A scheduler.
#[derive(Debug)]
pub struct Handle {
    scheduler: Builtin,
    paths: Paths,
    /// True after a panic: the state may be inconsistent.
    broken: bool,
}

impl Handle {
    /// Calls the scheduler, unless it is broken.
    fn using<T>(&mut self, act: impl FnOnce(&mut Builtin, &mut Paths) -> Result<T>) -> Result<T> {
        if self.broken {
            let message = "the scheduler is of no use after a panic: free it";
            return Err(Error { code: PLAIT_ERROR_PANIC, ..Error::argument(message) });
        }
        let Self { scheduler, paths, broken } = self;
        catch_unwind(AssertUnwindSafe(|| act(scheduler, paths))).unwrap_or_else(|panic| {
            *broken = true;
            resume_unwind(panic)
        })
    }
}

/// The target of a handle.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile.
unsafe fn opened<'a>(scheduler: *mut Handle) -> Result<&'a mut Handle> {
    // SAFETY: by contract.
    unsafe { scheduler.as_mut() }.ok_or_else(|| Error::argument("the scheduler is a null pointer"))
}

/// The version of the interface that the library has. It is at least that of the header, unless
/// header and library do not match.
#[unsafe(no_mangle)]
pub extern "C" fn plait_sched_version() -> u32 {
    PLAIT_SCHED_VERSION
}

/// The names of all built-in schedulers, in the order in which users see them.
static NAMES: [[u8; 64]; SCHEDULERS_AT_MOST] = names();
const SCHEDULERS_AT_MOST: usize = 64;

const fn names() -> [[u8; 64]; SCHEDULERS_AT_MOST] {
    let mut names = [[0; 64]; SCHEDULERS_AT_MOST];
    let mut index = 0;
    while index < SCHEDULERS.len() {
        let name = SCHEDULERS[index].name.as_bytes();
        let mut at = 0;
        while at < name.len() {
            names[index][at] = name[at];
            at += 1;
        }
        assert!(at < 64, "a zero ends the name");
        index += 1;
    }
    names
}

/// The name of a built-in scheduler; NULL for all indices after the last one. Must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn plait_scheduler_name(index: u32) -> *const c_char {
    match NAMES.get(index as usize) {
        Some(name) if name[0] != 0 => name.as_ptr().cast(),
        _ => ptr::null(),
    }
}

/// Creates a scheduler from a text: a name, options, parameters, as in "round-robin",
/// "lowest-rtt+rp", "round-robin:cwnd_limited=false".
///
/// Returns PLAIT_OK and stores the scheduler in `*scheduler`; free it with plait_scheduler_free().
/// On an error it returns PLAIT_ERROR_ARGUMENT or PLAIT_ERROR_SCHEDULER, and stores NULL.
///
/// # Safety
/// `text` is null or ends in a zero; `scheduler` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_new(text: *const c_char, scheduler: *mut *mut Handle) -> i32 {
    guard(|| {
        // SAFETY: by contract.
        let place = unsafe { scheduler.as_mut() };
        let place = place.ok_or_else(|| Error::argument("there is no place for the scheduler"))?;
        *place = ptr::null_mut();
        // SAFETY: by contract.
        let text = unsafe { text::utf8(text, "the scheduler's text is a null pointer")? };
        let scheduler = text::builtin(text)?;
        *place = Box::into_raw(Box::new(Handle { scheduler, paths: Paths::new(), broken: false }));
        Ok(())
    })
}

/// Frees a scheduler. NULL has no effect.
///
/// # Safety
/// `scheduler` is null or came from plait_scheduler_new() and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_free(scheduler: *mut Handle) {
    guard(|| {
        if !scheduler.is_null() {
            // SAFETY: by contract it is a box of this library, and nothing else owns it.
            drop(unsafe { Box::from_raw(scheduler) });
        }
        Ok(())
    });
}

/// The capabilities beyond assignments within the window that the scheduler needs from its engine:
/// bits PLAIT_NEEDS_… An engine that lacks or does not know one of them refuses the scheduler. 0 if
/// the handle is NULL.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_needs(scheduler: *mut Handle) -> u32 {
    let mut needs = 0;
    guard(|| {
        // SAFETY: by contract.
        needs = needs_bits(unsafe { opened(scheduler)? }.scheduler.needs());
        Ok(())
    });
    needs
}

/// The frequent events, caused by every packet, that the scheduler wants to receive: bits
/// PLAIT_INTEREST_… It always receives the other events. 0 if the handle is NULL.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_interest(scheduler: *mut Handle) -> u32 {
    let mut interest = 0;
    guard(|| {
        // SAFETY: by contract.
        interest = interest_bits(unsafe { opened(scheduler)? }.scheduler.interest());
        Ok(())
    });
    interest
}

/// 1 if the scheduler waits and keeps its state whenever no path has room: it need not be asked
/// then. Otherwise, and if the handle is NULL, 0.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_waits_without_room(scheduler: *mut Handle) -> u32 {
    let mut waits = 0;
    guard(|| {
        // SAFETY: by contract.
        waits = unsafe { opened(scheduler)? }.scheduler.waits_without_room().into();
        Ok(())
    });
    waits
}

/// Asks for one decision at the time `now` (nanoseconds from an origin of the engine's choice;
/// never earlier than before). Call it after each event, repeatedly with facts that contain the
/// previous decision, until the decision is PLAIT_WAIT.
///
/// The caller sets `decision->size`. Returns PLAIT_OK. On an error it returns PLAIT_ERROR_ARGUMENT,
/// _SIZE or _PANIC, and does not change the decision.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile. `connection`, `paths` and
/// `decision` are null or point to structs that begin with their true size, `paths` to `count` of
/// them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_decide(
    scheduler: *mut Handle,
    now: u64,
    connection: *const CConnection,
    paths: *const CPath,
    count: u32,
    decision: *mut CDecision,
) -> i32 {
    guard(|| {
        // SAFETY: by contract.
        let (handle, connection) = unsafe { (opened(scheduler)?, CConnection::read(connection)?) };
        let decided = handle.using(|scheduler, known| {
            // SAFETY: by contract.
            let paths = unsafe { known.read(paths, count)? };
            Ok(scheduler.decide(Time::from_nanos(now), &connection, paths))
        })?;
        // SAFETY: by contract.
        unsafe { sized::write(decision, CDecision::of(&decided), "the plait_decision is a null pointer") }
    })
}

/// Reports an event, after the facts contain it. Returns PLAIT_OK, or PLAIT_ERROR_ARGUMENT, _SIZE
/// or _PANIC.
///
/// # Safety
/// `scheduler` is null or a handle that nothing else uses meanwhile. `event`, `connection` and
/// `paths` are null or point to structs that begin with their true size, `paths` to `count` of
/// them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_scheduler_on_event(
    scheduler: *mut Handle,
    event: *const CEvent,
    connection: *const CConnection,
    paths: *const CPath,
    count: u32,
) -> i32 {
    guard(|| {
        // SAFETY: by contract.
        let (handle, event) = unsafe { (opened(scheduler)?, CEvent::read(event)?) };
        // SAFETY: by contract.
        let connection = unsafe { CConnection::read(connection)? };
        handle.using(|scheduler, known| {
            // SAFETY: by contract.
            let paths = unsafe { known.read(paths, count)? };
            if event.path().index() >= paths.len() {
                return Err(Error::argument("the path of a plait_event is none of those that are there"));
            }
            scheduler.on_event(&event, &connection, paths);
            Ok(())
        })
    })
}

/// The name as a Rust string, for tests.
#[doc(hidden)]
pub fn name_of(index: u32) -> Option<&'static str> {
    let name = plait_scheduler_name(index);
    // SAFETY: a name ends in a zero and exists forever.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }).and_then(|name| name.to_str().ok())
}
