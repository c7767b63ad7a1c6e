//! The program around the commands: `plait-quic`, or Python's `plait`.

use crate::error::Error;
use plait_sched::Scheduler;
use std::path::Path;

/// The program around a command.
pub trait Host {
    /// Returns the program's name, for messages and for commands to copy.
    fn name(&self) -> &str;

    /// Returns a scheduler from a file, `FILE.py:CLASS` or `LIBRARY.so:CLASS`, for paths of these
    /// names.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] if there is none.
    fn scheduler(&self, text: &str, paths: &[String]) -> Result<Box<dyn Scheduler>, Error>;

    /// Whether the command continues. Called in each turn.
    fn goes_on(&self) -> bool;

    /// Handles the end of the recording in this folder. `text` names its scheduler.
    ///
    /// # Errors
    /// Returns the reason why the recording is unusable.
    fn recorded(&self, folder: &Path, text: &str) -> Result<(), Error>;
}

/// The host of `plait-quic`, which has the built-in schedulers only.
pub(super) struct Plain;

impl Host for Plain {
    fn name(&self) -> &str {
        "plait-quic"
    }

    fn scheduler(&self, text: &str, _paths: &[String]) -> Result<Box<dyn Scheduler>, Error> {
        Err(Error::Setting(format!(
            "scheduler {text}: only plait, the Python program, runs schedulers from files"
        )))
    }

    fn goes_on(&self) -> bool {
        true
    }

    fn recorded(&self, _folder: &Path, _text: &str) -> Result<(), Error> {
        Ok(())
    }
}
