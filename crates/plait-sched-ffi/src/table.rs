//! Tables of callbacks: reads those that C wrote, and creates instances of them.

use std::ffi::{CStr, CString, c_char};
use std::mem::zeroed;
use std::ptr;

use crate::error::{Error, PLAIT_OK, Result};

/// A table of callbacks.
///
/// # Safety
/// It is `repr(C)`, begins with its size as a `u32`, and holds integers and nullable pointers only,
/// so that zeros are a value.
pub(crate) unsafe trait Table: Copy {
    /// The size of the first version, in bytes.
    const FIRST: usize;
    /// The message for a null pointer.
    const NULL: &'static str;
    /// The message for a size that no version has.
    const WRONG: &'static str;
    /// The message for an incomplete table.
    const NEEDS: &'static str;

    /// Whether the table has all that it needs.
    fn is_complete(&self) -> bool;
}

/// Returns a copy of the table that C wrote, if it is complete. Callbacks that its version lacks
/// are null.
///
/// # Safety
/// `from` is null or points to a table that begins with its true size. Its texts end in zeros, and
/// its functions have the declared types.
pub(crate) unsafe fn read<T: Table>(from: *const T) -> Result<T> {
    if from.is_null() {
        return Err(Error::argument(T::NULL));
    }
    // SAFETY: not null, so by contract there is a size at least.
    let size = unsafe { from.cast::<u32>().read() } as usize;
    // A size within a pointer is of no version.
    if size < T::FIRST || !size.is_multiple_of(align_of::<T>()) {
        return Err(Error::size(T::WRONG));
    }
    // SAFETY: integers and nullable pointers, so zeros are a value. By contract there are `size`
    // bytes at `from`.
    let table = unsafe {
        let mut table: T = zeroed();
        let known = size.min(size_of::<T>());
        ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut table).cast(), known);
        table
    };
    if table.is_complete() { Ok(table) } else { Err(Error::argument(T::NEEDS)) }
}

/// A text of a table; empty if it is null.
///
/// # Safety
/// `text` is null or ends in a zero.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, so by contract it ends in a zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Generates the methods that every class has.
macro_rules! class_methods {
    ($class:ident) => {
        impl $class {
            /// Returns the class at `from`.
            ///
            /// # Errors
            /// A message, if the pointer is null, or if the class has an unknown size or is
            /// incomplete.
            ///
            /// # Safety
            /// `from` is null or points to a class that begins with its true size, and that does
            /// not change.
            pub unsafe fn at(from: *const Self) -> ::std::result::Result<Self, String> {
                // SAFETY: by contract.
                unsafe { $crate::table::read(from) }.map_err($crate::error::Error::text)
            }

            /// The name of the class.
            pub fn name(&self) -> String {
                // SAFETY: the texts of a class that was read end in zeros.
                unsafe { $crate::table::text(self.name) }
            }

            /// The summary of the class; empty if the author gives none.
            pub fn summary(&self) -> String {
                // SAFETY: as above.
                unsafe { $crate::table::text(self.summary) }
            }
        }
    };
}
pub(crate) use class_methods;

/// Calls a `create` with the parameters, and with a place for its message and the size of that
/// place. Returns the message as an error, after the role and the name of the class.
pub(crate) fn create(
    role: &str,
    name: &str,
    parameters: &str,
    call: impl FnOnce(*const c_char, *mut c_char, u32) -> i32,
) -> std::result::Result<(), String> {
    let parameters =
        CString::new(parameters).map_err(|_| format!("{role} {name}: there is a zero in its parameters"))?;
    let mut message = [0_u8; 512];
    let code = call(parameters.as_ptr(), message.as_mut_ptr().cast(), message.len() as u32 - 1);
    if code == PLAIT_OK {
        return Ok(());
    }
    let said = CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy();
    let said = if said.is_empty() { "it cannot be made".into() } else { said };
    Err(format!("{role} {name}: {said}"))
}
