//! A path of the opening end: its connection, which is opened anew when it is lost.

use super::path_mtu::PathMtu;
use crate::connection::{PathConnection, describe, is_black_hole, is_deliberate};
use crate::identity::NAME;
use crate::session::smoothed;
use crate::settings::{KEEP_ALIVE, NEXT_SEARCH, Settings};
use noq_proto::{ClientConfig, ConnectionError, Endpoint};
use plait_sched::{Path, PathState};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time after which a path that could not be opened is tried again.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// Time without a datagram after which a path is silent. An idle path is asked for an answer every
/// [`KEEP_ALIVE`].
const SILENCE: Duration = Duration::from_secs(KEEP_ALIVE.as_secs() + 2);

/// Trouble of a path without answers.
const SILENT: &str = "no answer";

/// State of a path.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Local address.
    pub local: IpAddr,
    /// True if the path works: it carries data, or may as a backup.
    pub usable: bool,
    /// Payload bytes sent on the path, duplicates included.
    pub sent: u64,
    /// Smoothed round-trip time, once there is one.
    pub srtt: Option<Duration>,
    /// Number of times that the path was opened.
    pub opened: u32,
    /// Reason why the path does not work, if known.
    pub trouble: Option<String>,
}

#[derive(Debug)]
pub(super) struct DialedPath {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
    pub(super) endpoint: Endpoint,
    pub(super) path_mtu: PathMtu,
    /// Time of the last datagram that belonged to the path.
    pub(super) received_at: Option<Instant>,
    /// True if no datagram has arrived for [`SILENCE`].
    pub(super) is_silent: bool,
    /// Time of the last datagram of this session's peer.
    pub(super) heard_at: Option<Instant>,
    pub(super) connection: Option<PathConnection>,
    pub(super) greeted: bool,
    pub(super) joined: bool,
    pub(super) retry_at: Option<Instant>,
    /// True if the peer, or TLS, refuses the path: it is not tried again.
    pub(super) refused: bool,
    pub(super) trouble: Option<String>,
    pub(super) opened: u32,
}

impl DialedPath {
    /// Creates a path that is opened from now on. `which` separates the endpoints of one seed.
    pub(super) fn new(
        now: Instant,
        local: IpAddr,
        remote: SocketAddr,
        settings: &Settings,
        which: usize,
    ) -> Self {
        let mut config = settings.endpoint(which as u8);
        // The peer's datagrams are no larger than those of this end.
        let _ = config.max_udp_payload_size(settings.mtu);
        let endpoint = Endpoint::new(Arc::new(config), None, true);
        Self {
            local,
            remote,
            endpoint,
            path_mtu: PathMtu::default(),
            received_at: None,
            is_silent: false,
            heard_at: None,
            connection: None,
            greeted: false,
            joined: false,
            retry_at: Some(now),
            refused: false,
            trouble: None,
            opened: 0,
        }
    }

    /// Opens the path's connection.
    pub(super) fn open(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        self.greeted = false;
        self.joined = false;
        self.is_silent = false;
        self.probe(now, client, settings);
        let mut client = client.clone();
        client.transport_config(settings.connector_transport());
        match self.endpoint.connect(now, client, self.remote, NAME) {
            Ok(connected) => {
                self.connection = Some(PathConnection::new(connected));
                self.retry_at = None;
            }
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.retry_at = Some(now + RETRY);
            }
        }
    }

    /// Notes when the peer was heard, and whether the path is silent. A stateless reset does not
    /// count: it comes from a peer that was restarted.
    pub(super) fn note_silence(&mut self, now: Instant, lost: Option<&ConnectionError>) {
        if self.joined {
            self.is_silent = self.received_at.is_none_or(|at| now >= at + SILENCE);
            if !matches!(lost, Some(ConnectionError::Reset)) {
                self.heard_at = self.received_at;
            }
        }
    }

    /// Handles the loss of the path's connection for this reason. Another one is opened later,
    /// unless the peer has refused the path.
    pub(super) fn handle_loss(&mut self, now: Instant, reason: &ConnectionError) {
        self.trouble = Some(describe(reason));
        self.refused |= is_deliberate(reason);
        // A restarted peer resets the connection, and can be tried again at once.
        let pause = match reason {
            ConnectionError::Reset => Duration::ZERO,
            reason if is_black_hole(reason) => NEXT_SEARCH,
            _ => RETRY,
        };
        self.retry_at = self.retry_at.or(Some(now + pause));
        self.joined = false;
    }

    /// Returns the state of the path, with the transport's figures if it knows the path.
    pub(super) fn progress(&self, facts: Option<&Path>, sent: u64) -> Progress {
        let is_suspected = facts.is_some_and(|path| path.state == PathState::PotentiallyFailed);
        let silence = || (self.joined && (self.is_silent || is_suspected)).then(|| SILENT.to_owned());
        Progress {
            local: self.local,
            usable: self.joined && !self.is_silent && facts.is_some_and(Path::is_usable),
            sent,
            srtt: facts.and_then(smoothed),
            opened: self.opened,
            trouble: self.trouble.clone().or_else(silence),
        }
    }
}
