//! Errors of transfers and their ends.

use std::fmt;

/// Reason why a transfer, or an end, cannot go on.
#[derive(Debug)]
pub enum Error {
    /// A fingerprint that cannot be parsed.
    Fingerprint(String),
    /// A setting that is out of bounds.
    Setting(String),
    /// An error of keys, certificates or TLS.
    Tls(String),
    /// A path could not be opened, or the peer refused it.
    Refused(String),
    /// The peer has not answered: the network refused the connection, or no packet arrived in time.
    Absent(String),
    /// The peer has ended the connection.
    Ended(String),
    /// No path carries full datagrams.
    TooSmall(String),
    /// The peer cannot have this connection now: it is shutting down, was restarted, or has no
    /// room. Another connection may succeed.
    Unavailable(String),
    /// The peer was silent on all paths for so many seconds.
    Silent(u64),
    /// A message of the peer cannot be parsed.
    Malformed(&'static str),
    /// The peer violates the protocol.
    Violation(&'static str),
    /// All paths have used up their budgets.
    Spent,
    /// The caller stopped the transfer.
    Stopped,
    /// The received data differs from the sent data, by its SHA-256.
    Differs,
    /// The receiver could not store the data.
    NotStored(String),
    /// An error of the transport or the scheduler.
    Transport(plait_transport::Error),
    /// An error of a file or a socket.
    Io(std::io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fingerprint(text) => write!(f, "fingerprint \"{text}\": 64 hexadecimal digits are needed"),
            Self::Setting(text) => write!(f, "{text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::Refused(text) | Self::Absent(text) => write!(f, "no connection: {text}"),
            Self::Ended(text) => write!(f, "the peer has ended the connection: {text}"),
            Self::TooSmall(text) => write!(f, "{text}"),
            Self::Unavailable(text) => write!(f, "{text}"),
            Self::Silent(seconds) => write!(f, "nothing was heard from the peer on any path for {seconds} s"),
            Self::Malformed(what) => write!(f, "the peer's {what} cannot be read"),
            Self::Violation(what) => write!(f, "the peer breaks the rules: {what}"),
            Self::Spent => write!(f, "all paths have carried what their budgets allow"),
            Self::Stopped => write!(f, "the transfer was stopped"),
            Self::Differs => write!(f, "what arrived is not what was sent: its SHA-256 differs"),
            Self::NotStored(text) => write!(f, "the receiver has not kept it: {text}"),
            Self::Transport(error) => write!(f, "{error}"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<plait_transport::Error> for Error {
    fn from(error: plait_transport::Error) -> Self {
        Self::Transport(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
