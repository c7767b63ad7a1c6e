//! The functions that a browser calls, and the one that it gives. Texts pass as bytes in the
//! module's memory.
#![expect(unsafe_code, reason = "the caller is JavaScript: addresses and lengths are all it has")]

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Gets the packets of a preview, which it must copy.
    fn preview(place: *const u8, length: usize);
}

/// Allocates room for a request of this length.
#[unsafe(no_mangle)]
pub extern "C" fn plait_room(length: usize) -> *mut u8 {
    Box::leak(vec![0_u8; length].into_boxed_slice()).as_mut_ptr()
}

/// Answers the request in this room, and releases the room. Returns the answer's address in the
/// upper and its length in the lower 32 bits; [`plait_release`] releases it.
///
/// # Safety
/// The room is from [`plait_room`], with the same length, and holds UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_answer(room: *mut u8, length: usize) -> u64 {
    // SAFETY: the caller's promise.
    let request = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(room, length)) };
    // SAFETY: the text lives longer than the call.
    let pass = &mut |text: &str| unsafe { preview(text.as_ptr(), text.len()) };
    let answer = crate::answer(&String::from_utf8_lossy(&request), pass);
    let answer = Box::leak(answer.into_bytes().into_boxed_slice());
    ((answer.as_ptr() as u64) << 32) | answer.len() as u64
}

/// Releases an answer.
///
/// # Safety
/// Address and length are those of an answer of [`plait_answer`] that was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn plait_release(answer: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(answer, length)) });
}
