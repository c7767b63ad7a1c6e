//! What can go wrong with links for programs.

use std::fmt;
use std::io;

/// Why there are no links, or no program in them.
#[derive(Debug)]
pub enum Error {
    /// The system forbids namespaces, or what has to be done in them; what it said, and what helps.
    Forbidden {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        reason: io::Error,
        /// What somebody can do about it.
        help: &'static str,
    },
    /// A call of the system failed.
    System {
        /// What was tried.
        what: String,
        /// The system's answer.
        reason: io::Error,
    },
    /// What was asked for cannot be.
    Input(String),
    /// The server ended, or did not listen in time.
    Server(String),
}

impl Error {
    /// A call failed while doing `what`.
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
