//! A recording in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Bytes that are written by one and read by another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
