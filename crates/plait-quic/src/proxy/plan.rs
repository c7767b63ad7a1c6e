//! What a near end is to do, and what it tells.

use super::Target;
use crate::error::Error;
use crate::files::{Connect, PathStatus};
use crate::pilot::Change;
use crate::session::PathCounts;
use crate::streams::{Class, Datagrams, Near, Reason};
use plait_sched::Scheduler;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// A listener whose connections all lead to one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forward {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where the far end connects to.
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
pub struct Plan {
    /// The far end, and the paths. A recording ends when the far end is lost for the first time.
    pub connect: Connect,
    /// Where SOCKS5 is spoken.
    pub socks: Option<SocketAddr>,
    /// Listeners that lead to one target each.
    pub forwards: Vec<Forward>,
    /// UDP ports whose datagrams lead to one target each.
    pub udp: Vec<Forward>,
    /// Connections and datagrams to these ports go before others.
    pub interactive: Vec<u16>,
    /// Connections and datagrams to these ports go before all others, and on every path.
    pub redundant: Vec<u16>,
    /// A connection on which nothing moves is ended after so long: see [`IDLE`](super::IDLE).
    pub idle: Duration,
}

impl Plan {
    /// The class of connections and datagrams to a target.
    pub(super) fn class(&self, target: &Target) -> Class {
        match &target.port {
            port if self.redundant.contains(port) => Class::Redundant,
            port if self.interactive.contains(port) => Class::Interactive,
            _ => Class::Bulk,
        }
    }
}

/// What happened.
#[derive(Debug)]
pub enum Told<'a> {
    /// A path to the far end is there.
    Open {
        /// How long there was none, if there was one before.
        after: Option<Duration>,
    },
    /// How things stand: twice a second.
    Status(&'a Status),
    /// Another scheduler decides from now on.
    Changed(&'a Change),
    /// A connection came to nothing.
    Refused {
        /// Where it was to lead to.
        target: &'a Target,
        /// Why it does not.
        reason: Reason,
    },
    /// A connection on which nothing moved for too long was ended.
    Idle {
        /// Where it led to.
        target: &'a Target,
    },
    /// Why the recording is not whole.
    Unrecorded(&'a std::io::Error),
    /// The far end is lost, or was not there: connections are broken off, and it is looked for anew.
    Lost {
        /// Why.
        error: &'a Error,
        /// When that begins.
        pause: Duration,
    },
}

/// How a connection stands.
#[derive(Clone, Debug)]
pub struct Status {
    /// TCP connections at the moment, and ever.
    pub streams: usize,
    /// How many there ever were.
    pub opened: u32,
    /// Bytes that were sent to the far end, and got from it.
    pub sent: u64,
    /// Bytes that came from there.
    pub received: u64,
    /// Flows of datagrams at the moment.
    pub flows: usize,
    /// Counts of their datagrams.
    pub datagrams: Datagrams,
    /// Since the connection began.
    pub elapsed: Duration,
    /// Its paths.
    pub paths: Vec<PathStatus>,
    /// Their counters since the far end is there.
    pub counts: Vec<PathCounts>,
}

impl Status {
    pub(super) fn of<W: Scheduler>(near: &mut Near<W>, elapsed: Duration, paths: Vec<PathStatus>) -> Self {
        let counts = near.counts();
        let streams = near.streams();
        let ([received, sent], opened) = (streams.carried(), streams.opened());
        let (flows, datagrams) = (streams.flows(), streams.datagrams());
        Self { streams: streams.len(), opened, sent, received, flows, datagrams, elapsed, paths, counts }
    }
}
