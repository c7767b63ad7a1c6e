//! Settings and events of a near end.

use super::Target;
use crate::error::Error;
use crate::files::{Connect, PathStatus};
use crate::pilot::SchedulerChange;
use crate::session::PathCounts;
use crate::streams::{Class, Datagrams, Near, Reason};
use plait_sched::Scheduler;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// A listener whose connections all have the same target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forward {
    /// Local address of the listener.
    pub listen: SocketAddr,
    /// Target to which the far end connects.
    pub target: Target,
}

impl FromStr for Forward {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let read = || {
            let (listen, target) = text.split_once('=')?;
            Some(Self { listen: listen.parse().ok()?, target: target.parse().ok()? })
        };
        let needed = || Error::Setting(format!("\"{text}\": ADDR:PORT=HOST:PORT is needed"));
        read().ok_or_else(needed)
    }
}

/// Connections to carry, and the far end.
#[derive(Clone, Debug)]
pub struct NearSettings {
    /// The far end and the paths. A recording ends with the first loss of the far end.
    pub connect: Connect,
    /// Address of the SOCKS5 listener.
    pub socks: Option<SocketAddr>,
    /// TCP listeners with one target each.
    pub forwards: Vec<Forward>,
    /// UDP ports with one target each.
    pub udp: Vec<Forward>,
    /// Target ports whose connections and datagrams are sent before others.
    pub interactive: Vec<u16>,
    /// Target ports whose connections and datagrams are sent before all others, and on every path.
    pub redundant: Vec<u16>,
    /// Time after which an idle connection is ended; see [`IDLE`](super::IDLE).
    pub idle: Duration,
}

impl NearSettings {
    /// Returns the class of connections and datagrams to a target.
    pub(super) fn class(&self, target: &Target) -> Class {
        match &target.port {
            port if self.redundant.contains(port) => Class::Redundant,
            port if self.interactive.contains(port) => Class::Interactive,
            _ => Class::Bulk,
        }
    }
}

/// An event that the watcher receives.
#[derive(Debug)]
pub enum NearEvent<'a> {
    /// A path to the far end is open.
    Open {
        /// Duration of the interruption, if the far end was lost before.
        after: Option<Duration>,
        /// The paths that are open.
        paths: Vec<String>,
    },
    /// State of the connection, twice a second.
    Status(&'a NearStatus),
    /// The scheduler was replaced.
    Changed(&'a SchedulerChange),
    /// A connection was refused.
    Refused {
        /// The target.
        target: &'a Target,
        /// The reason.
        reason: Reason,
    },
    /// A datagram was dropped because it has more than
    /// [`MAX_DATAGRAM`](crate::streams::MAX_DATAGRAM) bytes. Further ones of its flow cause no
    /// event.
    TooLarge {
        /// The program that sent it.
        from: SocketAddr,
        /// The target.
        target: &'a Target,
        /// Its size.
        bytes: usize,
    },
    /// A connection was ended because it was idle for too long.
    Idle {
        /// The target.
        target: &'a Target,
    },
    /// The recording is incomplete for this reason.
    Unrecorded(&'a std::io::Error),
    /// The far end is lost or was never reached. Connections are reset, and the search for it
    /// starts again.
    Lost {
        /// The reason.
        error: &'a Error,
        /// Time until the next search.
        pause: Duration,
    },
}

/// State of a connection to the far end.
#[derive(Clone, Debug)]
pub struct NearStatus {
    /// Number of open TCP connections.
    pub streams: usize,
    /// Number of TCP connections opened so far.
    pub opened: u32,
    /// Bytes sent to the far end.
    pub sent: u64,
    /// Bytes received from the far end.
    pub received: u64,
    /// Number of open flows of datagrams.
    pub flows: usize,
    /// Counters of datagrams.
    pub datagrams: Datagrams,
    /// Time since the connection began.
    pub elapsed: Duration,
    /// The paths of the connection.
    pub paths: Vec<PathStatus>,
    /// Counters of the paths since the far end was reached.
    pub counts: Vec<PathCounts>,
}

impl NearStatus {
    pub(super) fn of<W: Scheduler>(near: &mut Near<W>, elapsed: Duration, paths: Vec<PathStatus>) -> Self {
        let counts = near.counts();
        let streams = near.streams();
        let ([received, sent], opened) = (streams.carried(), streams.opened());
        let (flows, datagrams) = (streams.flows(), streams.datagrams());
        Self { streams: streams.len(), opened, sent, received, flows, datagrams, elapsed, paths, counts }
    }
}
