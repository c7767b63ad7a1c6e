//! Errors of the links for programs.

use std::fmt;
use std::io;

/// Reason why the links or a program in them failed.
#[derive(Debug)]
pub enum Error {
    /// The system forbids namespaces or an operation in them; with its message and a remedy.
    Forbidden {
        /// The attempted operation.
        what: &'static str,
        /// The system's answer.
        reason: io::Error,
        /// The remedy.
        help: &'static str,
    },
    /// A call of the system failed.
    System {
        /// The attempted operation.
        what: String,
        /// The system's answer.
        reason: io::Error,
    },
    /// The request cannot be fulfilled.
    Input(String),
    /// The server ended, or did not listen in time.
    Server(String),
}

impl Error {
    /// Creates the error of a failed call while doing `what`.
    pub fn system(what: impl Into<String>, reason: io::Error) -> Self {
        Self::System { what: what.into(), reason }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden { what, reason, help } => {
                write!(formatter, "the system forbids {what} ({reason}): {help}")
            }
            Self::System { what, reason } => write!(formatter, "{what}: {reason}"),
            Self::Input(message) | Self::Server(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for Error {}
