//! Settings and events of the far end.

use super::Allowed;
use crate::clients::ConnectedClient;
use crate::error::Error;
use crate::files::Listen;
use crate::files::record::RecordSettings;
use crate::pilot::SchedulerChange;
use crate::streams::Reason;
use crate::streams::far::PeerStatus;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Settings of a far end: where it listens, and which targets it allows.
#[derive(Clone, Debug)]
pub struct FarSettings {
    /// The listening end.
    pub listen: Listen,
    /// Allowed targets; all others are refused.
    pub allowed: Vec<Allowed>,
    /// Allowed targets of clients with their own list, by client name.
    pub allowed_of: BTreeMap<String, Vec<Allowed>>,
    /// Time after which an idle connection is ended; see [`IDLE`](super::IDLE).
    pub idle: Duration,
    /// Recording of the packets sent to the first peer.
    pub record: Option<RecordSettings>,
}

/// An event that the watcher receives.
#[derive(Debug)]
pub enum FarEvent<'a> {
    /// A client has connected.
    ClientConnected {
        /// The client.
        from: &'a ConnectedClient,
    },
    /// A client used a wrong secret.
    Rejected {
        /// Address of the client.
        remote: SocketAddr,
    },
    /// A client has left.
    ClientDisconnected {
        /// Its last state.
        status: &'a PeerStatus,
        /// The reason; [`Error::Stopped`] if the client ended the connection itself.
        error: &'a Error,
    },
    /// The scheduler for data to a client was replaced.
    Changed {
        /// The client.
        from: &'a ConnectedClient,
        /// The new scheduler and the reason.
        change: &'a SchedulerChange,
    },
    /// State of all connected clients, twice a second.
    Status(&'a [PeerStatus]),
    /// A connection to a target is established.
    TargetConnected {
        /// The client.
        from: &'a ConnectedClient,
        /// The target.
        target: &'a str,
        /// Whether it gets datagrams.
        udp: bool,
    },
    /// A datagram from a target was dropped because it has more than
    /// [`MAX_DATAGRAM`](crate::streams::MAX_DATAGRAM) bytes. Further ones of its flow cause no
    /// event.
    TooLarge {
        /// The client that would get it.
        from: &'a ConnectedClient,
        /// The target that sent it.
        target: &'a str,
        /// Its size.
        bytes: usize,
    },
    /// A connection was ended because it was idle for too long.
    Idle {
        /// The client.
        from: &'a ConnectedClient,
        /// The target.
        target: &'a str,
    },
    /// A connection was refused.
    Refused {
        /// The client.
        from: &'a ConnectedClient,
        /// The target.
        target: &'a str,
        /// The reason.
        reason: Reason,
    },
}
