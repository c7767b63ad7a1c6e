//! Structs that begin with their size; only the fields that both sides know are read and written.

use std::mem::size_of;
use std::ptr;

use crate::error::{Error, Result};

/// A struct of the interface.
///
/// # Safety
/// It is `repr(C)`, begins with its size as a `u32`, holds integers and nullable pointers only (so
/// that zeros are a value), and has no padding. `FIRST` is the size of its first version.
pub(crate) unsafe trait Sized32: Copy {
    /// The size of the first version, in bytes.
    const FIRST: u32;
    /// The default values; `size` is that of this version.
    const DEFAULT: Self;
    /// The message for a size that no version has.
    const WRONG: &'static str;
}

/// Checks a size that a caller wrote.
pub(crate) fn check<T: Sized32>(size: u32) -> Result<usize> {
    // Arrays of such structs are read with this stride, and their fields have up to 8 bytes.
    if size < T::FIRST || !size.is_multiple_of(8) || size > 1 << 16 {
        return Err(Error::size(T::WRONG));
    }
    Ok(size as usize)
}

/// Reads a struct that C wrote; fields that its version lacks have their defaults.
///
/// # Safety
/// `from` is null or points to a struct that begins with its true size.
pub(crate) unsafe fn read<T: Sized32>(from: *const T, null: &'static str) -> Result<T> {
    if from.is_null() {
        return Err(Error::argument(null));
    }
    // SAFETY: not null, so by contract there is a size at least.
    let size = check::<T>(unsafe { from.cast::<u32>().read() })?;
    // SAFETY: by contract the whole struct is there.
    Ok(unsafe { read_part(from, size) })
}

/// Reads the struct of `size` bytes at `from`.
///
/// # Safety
/// There are `size` readable bytes, and [`check`] has accepted the size.
pub(crate) unsafe fn read_part<T: Sized32>(from: *const T, size: usize) -> T {
    let mut value = T::DEFAULT;
    // SAFETY: both are at least this long, they do not overlap, and all bytes of such a struct are
    // valid.
    unsafe {
        ptr::copy_nonoverlapping(from.cast::<u8>(), (&raw mut value).cast::<u8>(), size.min(size_of::<T>()));
    }
    value
}

/// Reads the struct that has these bytes, whose number [`check`] has accepted.
pub(crate) fn from_bytes<T: Sized32>(bytes: &[u8]) -> T {
    // SAFETY: this many bytes are readable.
    unsafe { read_part(bytes.as_ptr().cast(), bytes.len()) }
}

/// Returns the bytes of a struct.
pub(crate) fn to_bytes<T: Sized32>(value: &T) -> Vec<u8> {
    // SAFETY: such a struct has no padding, so all of its bytes are initialized.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// Writes a struct without its size to C's struct, as far as the caller knows its fields.
///
/// # Safety
/// `to` is null or points to a writable struct that begins with its true size.
pub(crate) unsafe fn write<T: Sized32>(to: *mut T, value: T, null: &'static str) -> Result<()> {
    if to.is_null() {
        return Err(Error::argument(null));
    }
    // SAFETY: not null, so by contract there is a size at least.
    let size = check::<T>(unsafe { to.cast::<u32>().read() })?;
    let begin = size_of::<u32>();
    let len = size.min(size_of::<T>()) - begin;
    // SAFETY: by contract this many bytes follow the size; `value` is on this stack and does not
    // overlap.
    unsafe {
        ptr::copy_nonoverlapping((&raw const value).cast::<u8>().add(begin), to.cast::<u8>().add(begin), len);
    }
    Ok(())
}

/// Fills a struct of `size` bytes, which may be of another version, with defaults. Fields that are
/// unknown here become zero.
///
/// # Safety
/// `to` is null or points to `size` writable bytes.
pub(crate) unsafe fn initialize<T: Sized32>(
    to: *mut T,
    size: u32,
    value: T,
    null: &'static str,
) -> Result<()> {
    if to.is_null() {
        return Err(Error::argument(null));
    }
    let bytes = check::<T>(size)?;
    // SAFETY: by contract this many bytes are there; the size is written first, then the known
    // fields.
    unsafe {
        ptr::write_bytes(to.cast::<u8>(), 0, bytes);
        to.cast::<u32>().write(size);
        write(to, value, null)
    }
}
