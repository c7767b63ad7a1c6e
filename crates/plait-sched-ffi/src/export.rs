//! A scheduler in Rust as a shared library. Plait, or any other program that knows
//! `plait_scheduler_class_at`, loads it by path.
//!
//! A crate of one's own, `crate-type = ["cdylib"]`, that depends on this one:
//! ```
//! use plait_sched_ffi::export::Exported;
//! use plait_sched_ffi::plait_sched::{Connection, Decision, Path, Scheduler, Time, usable};
//! use plait_sched_ffi::{Given, export_schedulers};
//! use std::ffi::CStr;
//!
//! struct Cheapest {
//!     segments: u32,
//! }
//!
//! impl Scheduler for Cheapest {
//!     fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
//!         match usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.cost) {
//!             Some(path) if connection.sendable() > 0 => {
//!                 let most = self.segments.min(path.room());
//!                 Decision::Assign { path: path.id, segments: most.min(connection.sendable() as u32) }
//!             }
//!             _ => Decision::WAIT,
//!         }
//!     }
//! }
//!
//! impl Exported for Cheapest {
//!     const NAME: &'static CStr = c"Cheapest";
//!     const SUMMARY: &'static CStr = c"The cheapest open path, some segments at a time.";
//!
//!     fn create(given: &mut Given<'_>) -> Result<Self, String> {
//!         Ok(Self { segments: given.take("segments", 1)? })
//!     }
//! }
//!
//! export_schedulers!(Cheapest);
//! # let class = unsafe { plait_sched_ffi::Class::at(plait_scheduler_class_at(0)) }.unwrap();
//! # let fault = plait_sched_ffi::Fault::default();
//! # plait_sched_ffi::Foreign::new(class, "segments=2", fault.clone()).unwrap();
//! # assert!(plait_sched_ffi::Foreign::new(class, "segments=-2", fault).is_err());
//! # assert!(plait_scheduler_class_at(1).is_null());
//! ```
//! Then `plait compare links.toml --schedulers lowest-rtt,./libcheapest.so:Cheapest:segments=2`.
//! With `export_source!("lib.rs");` results also keep the source.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use plait_sched::{Scheduler, Time};

use crate::class::{Class, Traits, declare, failed};
use crate::connection::CConnection;
use crate::decision::{CDecision, CEvent, interest_bits, needs_bits};
use crate::error::{PLAIT_OK, guard};
use crate::path::{CPath, Paths};
use crate::sized::{self, Sized32};
use crate::text::{self, Given};

/// A scheduler that a shared library provides.
pub trait Exported: Scheduler + Sized + 'static {
    /// The name that users write after the library's path.
    const NAME: &'static CStr;
    /// The rule in a sentence.
    const SUMMARY: &'static CStr;

    /// Creates a scheduler. Parameters that were given and not taken are refused afterwards.
    ///
    /// # Errors
    /// One line that names the parameter with the wrong value.
    fn create(given: &mut Given<'_>) -> Result<Self, String>;
}

/// The target of a scheduler's state pointer.
struct Instance<S> {
    scheduler: S,
    paths: Paths,
}

/// The table of callbacks of a scheduler.
pub const fn class_of<S: Exported>() -> Class {
    Class {
        size: size_of::<Class>() as u32,
        reserved: 0,
        name: S::NAME.as_ptr(),
        summary: S::SUMMARY.as_ptr(),
        context: ptr::null_mut(),
        create: Some(create::<S>),
        destroy: Some(destroy::<S>),
        decide: Some(decide::<S>),
        on_event: Some(on_event::<S>),
        decide_with_reason: Some(decide_with_reason::<S>),
    }
}

/// # Safety
/// See [`crate::class::Create`].
unsafe extern "C" fn create<S: Exported>(
    _context: *mut c_void,
    parameters: *const c_char,
    traits: *mut Traits,
    state: *mut *mut c_void,
    message: *mut c_char,
    capacity: u32,
) -> i32 {
    let code = guard(|| {
        // SAFETY: by contract.
        let parameters = unsafe { text::utf8(parameters, "the parameters are a null pointer")? };
        let mut given = Given::read(parameters).map_err(failed)?;
        let scheduler = S::create(&mut given).map_err(failed)?;
        given.finish().map_err(failed)?;
        let declared = Traits {
            needs: needs_bits(scheduler.needs()),
            interest: interest_bits(scheduler.interest()),
            waits_without_room: scheduler.waits_without_room().into(),
            ..Traits::DEFAULT
        };
        let instance = Box::new(Instance { scheduler, paths: Paths::new() });
        // SAFETY: by contract both can be written to.
        unsafe {
            declare(traits, declared)?;
            *state = Box::into_raw(instance).cast();
        }
        Ok(())
    });
    if code != PLAIT_OK {
        // SAFETY: the thread's message ends in a zero. The rest by contract.
        unsafe { put(CStr::from_ptr(crate::error::plait_error_message()).to_bytes(), message, capacity) };
    }
    code
}

/// Writes a text and a zero. A text that is too long loses its end.
///
/// # Safety
/// There are `capacity` writable bytes at `to`, which do not belong to this library.
unsafe fn put(text: &[u8], to: *mut c_char, capacity: u32) {
    if capacity > 0 {
        let len = text.len().min(capacity as usize - 1);
        // SAFETY: by contract.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
            to.add(len).write(0);
        }
    }
}

/// # Safety
/// `state` came from [`create`] of the same scheduler and was not freed.
unsafe extern "C" fn destroy<S: Exported>(state: *mut c_void) {
    if !state.is_null() {
        // SAFETY: by contract. A panic during the drop must not cross the interface.
        let instance = unsafe { Box::from_raw(state.cast::<Instance<S>>()) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(instance)));
    }
}

/// # Safety
/// See [`crate::class::Decide`].
unsafe extern "C" fn decide<S: Exported>(
    state: *mut c_void,
    now: u64,
    connection: *const CConnection,
    paths: *const CPath,
    count: u32,
    decision: *mut CDecision,
) -> i32 {
    // SAFETY: by contract.
    guard(|| unsafe { ask::<S>(state, now, connection, (paths, count), decision, None) })
}

/// # Safety
/// See [`crate::class::DecideWithReason`].
unsafe extern "C" fn decide_with_reason<S: Exported>(
    state: *mut c_void,
    now: u64,
    connection: *const CConnection,
    paths: *const CPath,
    count: u32,
    decision: *mut CDecision,
    reason: *mut c_char,
    capacity: u32,
) -> i32 {
    guard(|| {
        let mut text = String::new();
        // SAFETY: by contract.
        unsafe {
            ask::<S>(state, now, connection, (paths, count), decision, Some(&mut text))?;
            put(text.as_bytes(), reason, capacity);
        }
        Ok(())
    })
}

/// # Safety
/// `state` came from [`create`] of the same scheduler. The pointers are null or point to structs
/// that begin with their true size, and the path's pointer to `count` of them.
unsafe fn ask<S: Exported>(
    state: *mut c_void,
    now: u64,
    connection: *const CConnection,
    (paths, count): (*const CPath, u32),
    decision: *mut CDecision,
    reason: Option<&mut String>,
) -> crate::error::Result<()> {
    // SAFETY: by contract; nothing else uses the state meanwhile.
    let Instance { scheduler, paths: known } = unsafe { &mut *state.cast::<Instance<S>>() };
    // SAFETY: by contract.
    let (connection, paths) = unsafe { (CConnection::read(connection)?, known.read(paths, count)?) };
    let now = Time::from_nanos(now);
    let decided = match reason {
        None => scheduler.decide(now, &connection, paths),
        Some(reason) => scheduler.decide_with_reason(now, &connection, paths, reason),
    };
    // SAFETY: by contract.
    unsafe { sized::write(decision, CDecision::of(&decided), "the plait_decision is a null pointer") }
}

/// # Safety
/// See [`crate::class::OnEvent`].
unsafe extern "C" fn on_event<S: Exported>(
    state: *mut c_void,
    event: *const CEvent,
    connection: *const CConnection,
    paths: *const CPath,
    count: u32,
) {
    guard(|| {
        // SAFETY: by contract; nothing else uses the state meanwhile.
        let Instance { scheduler, paths: known } = unsafe { &mut *state.cast::<Instance<S>>() };
        // SAFETY: by contract.
        let (event, connection) = unsafe { (CEvent::read(event)?, CConnection::read(connection)?) };
        // SAFETY: by contract.
        let paths = unsafe { known.read(paths, count)? };
        scheduler.on_event(&event, &connection, paths);
        Ok(())
    });
}

/// Provides the text of source files through `plait_scheduler_source`, so that results keep it.
/// Paths are those of `include_str!`. Use it once per library.
#[macro_export]
macro_rules! export_source {
    ($($file:literal),+ $(,)?) => {
        /// The source of this library.
        #[allow(unsafe_code, reason = "a name that a loader can find")]
        #[unsafe(no_mangle)]
        pub extern "C" fn plait_scheduler_source() -> *const ::core::ffi::c_char {
            concat!($(include_str!($file)),+, "\0").as_ptr().cast()
        }
    };
}

/// Provides schedulers, which have to be [`Exported`], through `plait_scheduler_class_at`. Use it
/// once per library.
#[macro_export]
macro_rules! export_schedulers {
    ($($scheduler:ty),+ $(,)?) => {
        /// The schedulers of this library by index; null after the last.
        #[allow(unsafe_code, reason = "a name that a loader can find")]
        #[unsafe(no_mangle)]
        pub extern "C" fn plait_scheduler_class_at(index: u32) -> *const $crate::Class {
            static CLASSES: &[$crate::Class] = &[$($crate::export::class_of::<$scheduler>()),+];
            CLASSES.get(index as usize).map_or(::core::ptr::null(), ::core::ptr::from_ref)
        }
    };
}
