//! Sending and receiving ends with files, sockets and a clock, for the program and the Python
//! package.
//!
//! [`Sending::open`] and [`Receiving::open`] bind the sockets. [`Sending::run`] and
//! [`Receiving::run`] then run on the calling thread. They call a watcher, which returns a
//! [`ControlFlow`](std::ops::ControlFlow), in every turn of the loop, and twice a second with a
//! [`Status`].
//!
//! ```text
//! Tree ──► Upload: entries, data, SHA-256 ──► Sender ═ ordered stream each way ═ Receiver ──► Download ──► Folder
//!            ◄──────── want from an offset · have so many bytes · verdict ────────────────┘
//! ```
//!
//! A transfer is a list of numbered entries: files and folders with path, size, permissions and
//! modification time. The sender offers entries ahead, at most [`MAX_OPEN`](records::MAX_OPEN)
//! without a verdict, and the receiver answers each after it has looked at it. So 10,000 small
//! files take a few round trips and one connection. Records of different entries may alternate.
//!
//! - *Missing file*: the receiver wants it from 0. *A file of the same name and size, or a part*:
//!   both ends hash the same number of bytes and the receiver compares. *A different file*: the
//!   receiver refuses it before any byte is sent.
//! - *The verdict* compares SHA-256 over all bytes at both ends. The sender hashes data as it
//!   leaves (`spans.rs`). A part is named by the hash of its path, because its content is not known
//!   yet.
//! - *Two transfers of the same entries* have the same identity in their Hellos: a hash of names,
//!   sizes and times. The second takes over from a first one that has been silent for two seconds.
//!   Otherwise the second transfer of a name is refused.
//! - *Standard input* is data in pieces until its end record. It stays in memory until it is
//!   acknowledged, 32 MiB at most.
//! - *Files may be received into any folder.* Paths are opened name by name without following
//!   symbolic links, each name is checked, and only the receiver's own files and folders are used
//!   (`folder.rs`).
//!
//! One tar stream would be the alternative. It cannot express that the receiver has a file, so
//! resumption would need a second protocol. A transfer per file would take a handshake, or at least
//! a round trip, each.
//!
//! | file | content |
//! |---|---|
//! | `records.rs`, `upload.rs`, `download.rs` | the messages of both ends about files |
//! | `entry_content.rs`, `spans.rs`, `hashing.rs` | content of entries; the sender's stream from the first unacknowledged byte, and its SHA-256; hashes of existing files |
//! | `tree.rs`, `receive_folder.rs`, `folder.rs`, `partial.rs` | entries; shared state of a folder's transfers; folders by handles; incomplete files |
//! | `ends.rs`, `send.rs`, `receive.rs`, `sockets.rs` | both ends with their sockets and loops |
//! | `address_pairs.rs`, `route_lookup.rs`, `error_queue.rs` | addresses of the peer, tried in turn; routes (netlink); errors about packets (`IP_RECVERR`) |
//! | `interfaces.rs`, `interface_changes.rs`, `local_paths.rs`, `notices.rs` | interfaces; their changes, as a pure function; effect on sockets and paths; notices of the system |
//! | `advisor.rs`, `record.rs` | the thread that simulates schedulers; settings of a recording |

mod address_pairs;
#[cfg(feature = "simulation")]
mod advisor;
mod download;
mod ends;
mod entry_content;
mod error_queue;
mod folder;
mod hashing;
mod interface_changes;
mod interfaces;
pub(crate) mod local_paths;
mod notices;
mod partial;
mod receive;
mod receive_folder;
pub(crate) mod record;
pub mod records;
mod route_lookup;
mod send;
pub(crate) mod sockets;
mod spans;
mod tree;
mod upload;

pub use address_pairs::{address, anywhere};
#[cfg(feature = "simulation")]
pub use advisor::{Advisor, pilot};
pub use download::Download;
pub(crate) use ends::Listening;
pub use ends::{Connect, Listen};
pub use entry_content::EntryContent;
pub(crate) use interfaces::own_addresses;
pub use local_paths::Term;
pub use receive::{CompletedTransfer, ReceiveEvent, ReceiveSettings, Receiving};
pub use receive_folder::{Modes, ReceivedFile};
pub use record::RecordSettings;
pub use send::{SendOutcome, SendSettings, Sending};
pub(crate) use sockets::Sockets;
pub use tree::STREAM;
pub use upload::{EntryOutcome, Upload};

use crate::pilot::SchedulerChange;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

/// Interval between two status reports.
pub(crate) const STATUS_INTERVAL: Duration = Duration::from_millis(500);

/// The longest sleep, and the longest time between two calls of a watcher.
pub(crate) const MAX_SLEEP: Duration = Duration::from_millis(100);

/// The local end of a path: an address to send from, and optionally the interface for its packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Local {
    /// The local address.
    pub address: IpAddr,
    /// The interface for the packets, regardless of the routing table (Linux). With `None` the
    /// routing table chooses it.
    pub interface: Option<String>,
}

impl FromStr for Local {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, interface) = match text.split_once('%') {
            Some((address, interface)) => (address, Some(interface.to_owned())),
            None => (text, None),
        };
        let address = address.parse().map_err(|_| format!("\"{address}\" is no IP address"))?;
        Ok(Self { address, interface })
    }
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.interface.as_ref().map_or(Ok(()), |interface| write!(f, "%{interface}"))
    }
}

/// Progress of a transfer.
#[derive(Clone, Debug)]
pub struct Status {
    /// Name of the file.
    pub name: String,
    /// Bytes that the receiver has, as far as this end knows.
    pub bytes: u64,
    /// Total bytes.
    pub size: u64,
    /// Time since the transfer began.
    pub elapsed: Duration,
    /// The paths of the transfer.
    pub paths: Vec<PathStatus>,
    /// Changes of the scheduler since the last status, at the sender.
    pub changes: Vec<SchedulerChange>,
}

/// State of a path.
#[derive(Clone, Debug)]
pub struct PathStatus {
    /// The local address at the sender; the path number at the receiver.
    pub name: String,
    /// Whether the path works: it carries data, or may as a backup. A receiver of files reports
    /// whether data arrives.
    pub usable: bool,
    /// Payload bytes so far. The sender counts transmitted bytes, including copies. The receiver
    /// counts bytes that arrived first on this path.
    pub bytes: u64,
    /// Growth of `bytes` since the last status, in bit/s.
    pub rate_bps: f64,
    /// Smoothed round-trip time, known to the sender only and after the first sample.
    pub srtt: Option<Duration>,
    /// Why the path carries no data, if the reason is known.
    pub trouble: Option<String>,
}

/// Computes rates from counters.
#[derive(Debug)]
pub(crate) struct Meter {
    at: Instant,
    before: Vec<u64>,
}

impl Meter {
    pub(crate) fn new(now: Instant) -> Self {
        Self { at: now, before: Vec::new() }
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= STATUS_INTERVAL
    }

    /// Returns the growth of each counter since the last call, in bit/s.
    pub(crate) fn rates(&mut self, now: Instant, counts: &[u64]) -> Vec<f64> {
        let over = now.saturating_duration_since(self.at).as_secs_f64().max(1e-9);
        self.before.resize(counts.len(), 0);
        let grown = counts.iter().zip(&self.before).map(|(count, before)| count.saturating_sub(*before));
        let rates = grown.map(|bytes| bytes as f64 * 8.0 / over).collect();
        self.at = now;
        self.before.copy_from_slice(counts);
        rates
    }
}

#[expect(clippy::disallowed_methods, reason = "here is where the clock is")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Returns the time of day, for files and logs.
#[expect(clippy::disallowed_methods, reason = "here is where the clock is")]
pub(crate) fn system_now() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_may_name_their_interface() {
        let local = "10.0.0.1%wlan0".parse::<Local>().expect("it is one");
        assert_eq!(
            (local.address.to_string().as_str(), local.interface.as_deref()),
            ("10.0.0.1", Some("wlan0"))
        );
        assert_eq!(local.to_string(), "10.0.0.1%wlan0");
        assert_eq!("::1".parse::<Local>().expect("it is one").interface, None);
        assert!("wlan0".parse::<Local>().is_err());
    }

    #[test]
    fn rates_are_of_what_came_since_the_last_time() {
        let start = now();
        let mut meter = Meter::new(start);
        assert!(!meter.is_due(start) && meter.is_due(start + STATUS_INTERVAL));
        assert_eq!(meter.rates(start + Duration::from_secs(2), &[1_000_000, 0]), [4e6, 0.0]);
        assert_eq!(meter.rates(start + Duration::from_secs(3), &[1_000_000, 125]), [0.0, 1_000.0]);
    }
}
