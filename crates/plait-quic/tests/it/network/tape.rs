//! A recording in memory.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Shared bytes: one owner writes them, another reads them.
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
