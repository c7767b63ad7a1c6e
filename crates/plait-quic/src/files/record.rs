//! A recording that is wanted, and its file.

use super::Local;
use crate::error::Error;
use crate::recording::{Recording, Subject};
use crate::settings::Settings;
use std::fs::File;
use std::path::PathBuf;

/// The name of data on streams in a recording, which has none of its own.
pub(crate) const STREAMS: &str = "streams";

/// A recording that is wanted.
#[derive(Clone, Debug)]
pub struct Record {
    /// The recording's place; a file that is there is replaced.
    pub place: PathBuf,
    /// The scheduler as the user named it.
    pub scheduler: String,
}

impl Record {
    /// Makes its file. `name` is that of the data; the paths of an end that is connected to are not known yet.
    pub(crate) fn begin(&self, name: &str, settings: &Settings, paths: &[Local]) -> Result<Recording, Error> {
        let refused = |error| Error::Setting(format!("{}: {error}", self.place.display()));
        let file = File::create(&self.place).map_err(refused)?;
        let subject = Subject {
            file: name.to_owned(),
            scheduler: self.scheduler.clone(),
            congestion: settings.congestion.info().name.to_owned(),
            paths: paths.iter().map(Local::to_string).collect(),
        };
        Ok(Recording::new(file, subject))
    }
}

/// Refuses a recording where schedulers are changed.
pub(crate) fn check(is_recorded: bool, is_changed: bool) -> Result<(), Error> {
    if is_recorded && is_changed {
        let text =
            "a recording is of one scheduler, and auto changes it: name one, or leave the recording out";
        return Err(Error::Setting(text.to_owned()));
    }
    Ok(())
}
