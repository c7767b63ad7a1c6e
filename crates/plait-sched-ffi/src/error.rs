//! Errors as numbers, with the message of the last one.

use std::cell::RefCell;
use std::ffi::c_char;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The call succeeded.
pub const PLAIT_OK: i32 = 0;
/// A pointer is null, a text is not UTF-8, or a number is out of range.
pub const PLAIT_ERROR_ARGUMENT: i32 = 1;
/// No version of this interface has a struct of this size.
pub const PLAIT_ERROR_SIZE: i32 = 2;
/// There is no such scheduler or parameter, or a parameter may not have this value.
pub const PLAIT_ERROR_SCHEDULER: i32 = 3;
/// A panic was caught. If it happened in a scheduler, that scheduler is unusable and must be freed.
pub const PLAIT_ERROR_PANIC: i32 = 4;
/// The scheduler broke a rule of the conformance suite.
pub const PLAIT_ERROR_CONFORMANCE: i32 = 5;
/// A scheduler's own callback reported a failure.
pub const PLAIT_ERROR_CALLBACK: i32 = 6;

/// Largest size of a message in bytes, the final zero included.
const CAPACITY: usize = 4096;

/// An error before its conversion to a number: its code and its message.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) code: i32,
    pub(crate) message: Message,
}

/// The message of an error. [`store`] copies it into the thread's buffer, so that nothing is
/// allocated.
#[derive(Debug)]
pub(crate) enum Message {
    /// A constant text.
    Fixed(&'static str),
    /// A text that was composed where allocations are allowed.
    Owned(String),
}

impl Error {
    pub(crate) const fn argument(message: &'static str) -> Self {
        Self { code: PLAIT_ERROR_ARGUMENT, message: Message::Fixed(message) }
    }

    pub(crate) const fn size(message: &'static str) -> Self {
        Self { code: PLAIT_ERROR_SIZE, message: Message::Fixed(message) }
    }

    /// The message without the code.
    pub(crate) fn text(self) -> String {
        match self.message {
            Message::Fixed(text) => text.to_owned(),
            Message::Owned(text) => text,
        }
    }

    pub(crate) fn said(code: i32, message: impl fmt::Display) -> Self {
        Self { code, message: Message::Owned(message.to_string()) }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// A text with a zero at its end, in a fixed buffer.
struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A zero would end the text for C. Only whole characters are copied.
        for c in text.chars().filter(|&c| c != '\0') {
            let end = self.len + c.len_utf8();
            if end >= CAPACITY {
                return Err(fmt::Error);
            }
            c.encode_utf8(&mut self.bytes[self.len..end]);
            self.len = end;
        }
        Ok(())
    }
}

thread_local! {
    static LAST: RefCell<Text> = const { RefCell::new(Text { bytes: [0; CAPACITY], len: 0 }) };
}

fn store(message: &str) {
    LAST.with_borrow_mut(|text| {
        text.len = 0;
        // An error means that the buffer is full; the message is then cut.
        let _ = text.write_str(message);
        let end = text.len;
        text.bytes[end] = 0;
    });
}

/// Runs the body of a function that C calls, and converts its error or panic to a number.
pub(crate) fn guard(body: impl FnOnce() -> Result<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => PLAIT_OK,
        Ok(Err(Error { code, message })) => {
            match message {
                Message::Fixed(text) => store(text),
                Message::Owned(text) => store(&text),
            }
            code
        }
        Err(_) => {
            store("a panic was caught: this is a bug of the scheduler or of the library");
            PLAIT_ERROR_PANIC
        }
    }
}

/// The message of this thread's last error: usually one line, in UTF-8. Empty before the first
/// error. Valid until the thread's next error; must not be freed.
#[unsafe(no_mangle)]
pub extern "C" fn plait_error_message() -> *const c_char {
    LAST.with_borrow(|text| text.bytes.as_ptr().cast())
}
