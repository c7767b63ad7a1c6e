//! Settings of a recording, and the creation of its file.

use super::Local;
use crate::error::Error;
use crate::recording::{Recording, Subject};
use crate::settings::Settings;
use std::fs::File;
use std::path::PathBuf;

/// Name in a recording for data on streams, which has no name of its own.
pub(crate) const STREAMS: &str = "streams";

/// Settings of a recording.
#[derive(Clone, Debug)]
pub struct RecordSettings {
    /// Path of the recording. An existing file is replaced.
    pub path: PathBuf,
    /// The scheduler as the user named it.
    pub scheduler: String,
}

impl RecordSettings {
    /// Creates the file and begins the recording. `name` is the name of the data. A listening end
    /// does not know its paths yet.
    pub(crate) fn begin(&self, name: &str, settings: &Settings, paths: &[Local]) -> Result<Recording, Error> {
        let refused = |error| Error::of_file(&self.path.display().to_string(), &error);
        let file = File::create(&self.path).map_err(refused)?;
        let subject = Subject {
            file: name.to_owned(),
            scheduler: self.scheduler.clone(),
            congestion: settings.congestion.info().name.to_owned(),
            paths: paths.iter().map(Local::to_string).collect(),
        };
        Ok(Recording::new(file, subject))
    }
}

/// Refuses a recording if the scheduler may change.
pub(crate) fn check(is_recorded: bool, is_changed: bool) -> Result<(), Error> {
    if is_recorded && is_changed {
        let text =
            "a recording is of one scheduler, and auto changes it: name one, or leave the recording out";
        return Err(Error::Setting(text.to_owned()));
    }
    Ok(())
}
