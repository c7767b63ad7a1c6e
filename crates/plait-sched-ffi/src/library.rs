//! Shared libraries that provide classes of the user, loaded while a program runs (feature `load`).

use std::ffi::{CStr, c_char};
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::class::Class;
use crate::controller::ControllerClass;
use crate::workload::WorkloadClass;

/// More classes than any library has: a library whose function never returns null is broken.
const MOST_CLASSES: u32 = 1024;

/// A loaded shared library. It stays loaded until the process ends, because instances of its
/// classes may still exist.
#[derive(Debug)]
pub struct Library {
    schedulers: Vec<Class>,
    controllers: Vec<ControllerClass>,
    workloads: Vec<WorkloadClass>,
    source: Option<String>,
}

impl Library {
    /// Loads the library at `path`.
    ///
    /// # Errors
    /// One line, without the path: the file is not a shared library, lacks a symbol, or provides an
    /// incomplete class.
    ///
    /// # Safety
    /// Loading runs the library's code, which has to conform to `plait_sched.h`: its classes do not
    /// change, and may be used as their documentation says.
    pub unsafe fn open(path: &Path) -> Result<Self, String> {
        // All symbols are resolved at once, so a missing one is found here, and not in a run.
        // SAFETY: by contract.
        let handle =
            unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| said(&error))?;
        // SAFETY: by contract these symbols are functions that return such classes.
        let (schedulers, controllers, workloads) = unsafe {
            (
                classes(&handle, c"plait_scheduler_class_at", |from| Class::at(from))?,
                classes(&handle, c"plait_controller_class_at", |from| ControllerClass::at(from))?,
                classes(&handle, c"plait_workload_class_at", |from| WorkloadClass::at(from))?,
            )
        };
        // SAFETY: by contract the symbol, if it exists, is this function, and the text ends in a
        // zero.
        let source = unsafe {
            handle.get::<unsafe extern "C" fn() -> *const c_char>(b"plait_scheduler_source\0").ok().and_then(
                |source| {
                    let text = source();
                    (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
                },
            )
        };
        std::mem::forget(handle);
        Ok(Self { schedulers, controllers, workloads, source })
    }

    /// The schedulers of the library, in its order.
    pub fn schedulers(&self) -> &[Class] {
        &self.schedulers
    }

    /// The congestion controllers of the library, in its order.
    pub fn controllers(&self) -> &[ControllerClass] {
        &self.controllers
    }

    /// The workloads of the library, in its order.
    pub fn workloads(&self) -> &[WorkloadClass] {
        &self.workloads
    }

    /// The source of the library, if it provides that too
    /// ([`export_source`](crate::export_source)).
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

/// The classes that the function `symbol` of a library returns; none without such a function.
///
/// # Safety
/// The symbol, if it exists, is a function that returns the classes by index, and null after the
/// last. `read` accepts these classes.
unsafe fn classes<T>(
    handle: &Handle,
    symbol: &CStr,
    read: impl Fn(*const T) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    // SAFETY: by contract the symbol is this function.
    let found = unsafe { handle.get::<unsafe extern "C" fn(u32) -> *const T>(symbol.to_bytes_with_nul()) };
    let Ok(class_at) = found else { return Ok(Vec::new()) };
    let mut classes = Vec::new();
    for index in 0..MOST_CLASSES {
        // SAFETY: by contract.
        let class = unsafe { class_at(index) };
        if class.is_null() {
            break;
        }
        classes.push(read(class).map_err(|reason| format!("class {index}: {reason}"))?);
    }
    Ok(classes)
}

/// The message of the loader, in one line.
fn said(error: &libloading::Error) -> String {
    let text = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    text.lines().collect::<Vec<_>>().join("; ")
}
