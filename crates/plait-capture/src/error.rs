//! Errors in a run folder. The message of each is one line that names the file, the record and the
//! rule.

use std::fmt;

/// Reason why a run folder has no result. `file` is a name in the folder; records are counted from
/// 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObservationError {
    /// A file cannot be read.
    File {
        /// The file.
        file: String,
        /// The message of the operating system.
        reason: String,
    },
    /// A file is not of its expected format, or ends in the middle of a record.
    Format {
        /// The file.
        file: String,
        /// The faulty record, if a single one is at fault.
        record: Option<u64>,
        /// The rule that is broken.
        reason: String,
    },
    /// Files that are each valid contradict each other or the scenario.
    Mismatch {
        /// The file.
        file: String,
        /// The faulty record, if a single one is at fault.
        record: Option<u64>,
        /// The contradiction.
        reason: String,
    },
}

impl ObservationError {
    pub(crate) fn format(file: &str, record: u64, reason: impl Into<String>) -> Self {
        Self::Format { file: file.to_owned(), record: Some(record), reason: reason.into() }
    }

    pub(crate) fn mismatch(file: &str, record: u64, reason: impl Into<String>) -> Self {
        Self::Mismatch { file: file.to_owned(), record: Some(record), reason: reason.into() }
    }

    pub(crate) fn whole(file: &str, reason: impl Into<String>) -> Self {
        Self::Mismatch { file: file.to_owned(), record: None, reason: reason.into() }
    }
}

impl fmt::Display for ObservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, reason } => write!(f, "{file}: cannot be read: {reason}"),
            Self::Format { file, record: Some(record), reason }
            | Self::Mismatch { file, record: Some(record), reason } => {
                write!(f, "{file}: record {record}: {reason}")
            }
            Self::Format { file, record: None, reason } | Self::Mismatch { file, record: None, reason } => {
                write!(f, "{file}: {reason}")
            }
        }
    }
}

impl std::error::Error for ObservationError {}
