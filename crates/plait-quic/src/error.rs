//! Errors of transfers and their ends.

use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Reason why a transfer, or an end, cannot go on.
#[derive(Debug)]
pub enum Error {
    /// A fingerprint that cannot be parsed.
    Fingerprint(String),
    /// A wrong option, setting or input file.
    Setting(String),
    /// An error of keys, certificates or TLS.
    Tls(String),
    /// A path could not be opened, or the peer refused it.
    Refused(String),
    /// The peer cannot be reached now: its name, a route, an address or an interface is missing, the
    /// network refused the connection, or no packet arrived in time.
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
    Io(io::Error),
}

impl Error {
    /// Whether the input is wrong, so that no later attempt succeeds. This is the only error with
    /// exit status 2; every other one has 1. In particular, nothing that may come late at boot is
    /// wrong input: a name, a route, an address, an interface, a folder, a port, the peer.
    pub fn is_bad_input(&self) -> bool {
        matches!(self, Self::Setting(_) | Self::Fingerprint(_))
    }

    /// Returns the error of a local address that cannot be bound. `option` is the option that gives
    /// the address.
    pub(crate) fn unbound(option: &str, address: SocketAddr, error: &io::Error) -> Self {
        let kind = error.kind();
        let text = match kind {
            io::ErrorKind::AddrInUse => format!(
                "{option} {address}: another program has port {}: end it, or choose another port",
                address.port()
            ),
            io::ErrorKind::AddrNotAvailable => {
                format!("{option} {address}: this machine does not have the address now")
            }
            _ => format!("{option} {address}: {error}"),
        };
        Self::Io(io::Error::new(kind, text))
    }

    /// Returns the error of a folder or file that cannot be made. Only a name of something else is
    /// wrong input.
    pub(crate) fn of_file(name: &str, error: &io::Error) -> Self {
        let (kind, text) = (error.kind(), format!("{name}: {error}"));
        match kind {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                Self::Setting(text)
            }
            _ => Self::Io(io::Error::new(kind, text)),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fingerprint(text) => write!(f, "fingerprint \"{text}\": 64 hexadecimal digits are needed"),
            Self::Setting(text) => write!(f, "{text}"),
            Self::Tls(text) => write!(f, "TLS: {text}"),
            Self::Refused(text) | Self::Absent(text) => write!(f, "no connection: {text}"),
            Self::Ended(text) => write!(f, "the other end has ended the connection: {text}"),
            Self::TooSmall(text) => write!(f, "{text}"),
            Self::Unavailable(text) => write!(f, "{text}"),
            Self::Silent(seconds) => {
                write!(f, "nothing was heard from the other end on any path for {seconds} s")
            }
            Self::Malformed(what) => write!(f, "the other end's {what} cannot be read"),
            Self::Violation(what) => write!(f, "the other end breaks the rules: {what}"),
            Self::Spent => write!(f, "all paths have carried what their budgets allow"),
            Self::Stopped => write!(f, "the transfer was stopped"),
            Self::Differs => write!(f, "what arrived is not what was sent: its SHA-256 differs"),
            Self::NotStored(text) => write!(f, "the receiver refused it: {text}"),
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

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
