//! Paths of the opening end: a QUIC connection from each local address. It begins with a greeting,
//! and is opened anew when it is lost.

mod dialed_path;
mod path_mtu;

use crate::address_change::{AddressChange, NO_ROUTE};
use crate::connection::{
    BROKEN, DONE, DatagramBatch, Egress, PathConnection, ReceivedBatch, describe, is_unavailable,
};
use crate::error::Error;
use crate::hello::{Hello, Offer, REPLY_BYTES, Reply};
use crate::identity::{self, Fingerprint, Secret};
use crate::session::Session;
use crate::settings::{MAX_PATHS, Settings};
use crate::terms::Terms;
use bytes::{Bytes, BytesMut};
use dialed_path::DialedPath;
pub use dialed_path::Progress;
use noq_proto::{ClientConfig, DatagramEvent, FourTuple};
pub(crate) use path_mtu::PathUpdate;
use plait_sched::{PathId, Scheduler};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time that the first path waits for the others. It waits as long as it took itself to
/// open, but no longer than this.
const GRACE: Duration = Duration::from_millis(200);

/// Trouble of a path whose address is gone.
const REMOVED: &str = "its interface or address is gone";

/// Time that a question waits for further paths, because its caller wants to know all paths that
/// work.
const QUESTION_GRACE: Duration = Duration::from_secs(1);

/// Contents, paths and receiver of a transfer.
#[derive(Debug)]
pub struct SessionConfig {
    /// Address of the receiver, for each path that has none of its own
    /// ([`AddressChange::Redirected`]).
    pub remote: SocketAddr,
    /// Local address of each path.
    pub locals: Vec<IpAddr>,
    /// Terms of each path; further paths have the default.
    pub terms: Vec<Terms>,
    /// Fingerprint of the receiver's certificate.
    pub fingerprint: Fingerprint,
    /// Secret that the receiver expects.
    pub secret: Secret,
    /// Random identifier that separates this transfer's paths from others.
    pub session: [u8; 16],
    /// Offered files, or a question. A question ends once the paths are open, or take too long.
    pub offer: Offer,
}

/// All paths of the opening end.
#[derive(Debug)]
pub(crate) struct Connector {
    settings: Settings,
    /// TLS part of a connection's configuration.
    client: ClientConfig,
    remote: SocketAddr,
    hello: Hello,
    paths: Vec<DialedPath>,
    started_at: Instant,
    /// First open path, the peer's Reply there, and the time until which the others are awaited.
    first: Option<(usize, Reply, Instant)>,
    /// Reason why the peer cannot have the session now.
    unavailable: Option<String>,
    scratch: Vec<u8>,
}

impl Connector {
    /// Creates paths that are opened from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub(crate) fn new(now: Instant, settings: Settings, config: &SessionConfig) -> Result<Self, Error> {
        settings.check()?;
        let count = config.locals.len();
        if !(1..=MAX_PATHS).contains(&count) {
            return Err(Error::Setting(format!("{count} local addresses: choose 1 to {MAX_PATHS}")));
        }
        let client = ClientConfig::new(Arc::new(identity::client(config.fingerprint)?));
        let paths = config
            .locals
            .iter()
            .enumerate()
            .map(|(index, &local)| DialedPath::new(now, local, config.remote, &settings, index));
        let hello = Hello {
            secret: config.secret,
            session: config.session,
            path: 0,
            continues: false,
            paths: count as u8,
            segment: if config.offer.is_streams() { settings.shared_segment() } else { settings.segment() },
            offer: config.offer.clone(),
        };
        Ok(Self {
            settings,
            client,
            remote: config.remote,
            hello,
            paths: paths.collect(),
            started_at: now,
            first: None,
            unavailable: None,
            scratch: Vec::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Returns the greeting of the paths.
    pub(crate) fn hello(&self) -> &Hello {
        &self.hello
    }

    fn egress(&self, path: usize) -> Egress {
        Egress { path, burst: NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Handles a UDP datagram that arrived at a path's local address. Returns true if it belongs to
    /// the path.
    fn handle_datagram(&mut self, now: Instant, path: usize, remote: SocketAddr, datagram: BytesMut) -> bool {
        let Some(dialed) = self.paths.get_mut(path) else { return false };
        let tuple = FourTuple::new(remote, Some(dialed.local));
        self.scratch.clear();
        let event = dialed.endpoint.handle(now, tuple, None, datagram, &mut self.scratch);
        let Some(DatagramEvent::ConnectionEvent(handle, event)) = event else { return false };
        let mut connections = dialed.connection.iter_mut().chain(dialed.path_mtu.probe());
        let Some(connection) = connections.find(|connection| connection.is(handle)) else { return false };
        connection.handle_event(event);
        dialed.received_at = Some(now);
        true
    }

    /// Handles UDP datagrams that arrived at a path's local address. Returns true if any of them
    /// belongs to the path.
    pub(crate) fn handle_datagrams(&mut self, now: Instant, path: usize, batch: &ReceivedBatch<'_>) -> bool {
        let handle = |datagram| self.handle_datagram(now, path, batch.remote, datagram);
        batch.datagrams().map(handle).fold(false, |any, belongs| any | belongs)
    }

    /// Notes that the network takes nothing more from a path's local address. The path is opened
    /// anew as soon as that works.
    pub(crate) fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(dialed) = self.paths.get_mut(path) {
            dialed.trouble = Some(trouble.to_owned());
        }
    }

    /// Handles a change of local addresses. Returns the path to work on.
    pub(crate) fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) -> usize {
        match *address_change {
            AddressChange::Added(local, _) => self.add(now, local),
            AddressChange::Moved(path, local) | AddressChange::Replaced(path, local, _) => {
                let remote = self.paths.get(path).map_or(self.remote, |dialed| dialed.remote);
                self.relocate(now, path, local, remote)
            }
            AddressChange::Redirected(path, local, remote) => self.relocate(now, path, local, remote),
            AddressChange::Removed(path) => {
                self.handle_failure(path, REMOVED);
                path
            }
            AddressChange::MtuLimited { path, bytes, own } => {
                self.note_mtu_report(now, path, bytes, own);
                path
            }
            AddressChange::Unreachable(path) => {
                self.handle_failure(path, NO_ROUTE);
                path
            }
            AddressChange::Restored(path) => {
                if let Some(dialed) = self.paths.get_mut(path) {
                    dialed.trouble = dialed.trouble.take().filter(|trouble| trouble != REMOVED);
                    dialed.retry_at = dialed.retry_at.map(|at| at.min(now));
                }
                path
            }
        }
    }

    fn add(&mut self, now: Instant, local: IpAddr) -> usize {
        let path = self.paths.len();
        self.paths.push(DialedPath::new(now, local, self.remote, &self.settings, path));
        self.hello.paths = self.paths.len() as u8;
        path
    }

    /// Gives a path another local or remote address: a new connection takes the place of the old
    /// one.
    fn relocate(&mut self, now: Instant, path: usize, local: IpAddr, remote: SocketAddr) -> usize {
        if let Some(dialed) = self.paths.get_mut(path) {
            // Nothing that is sent to the old address arrives, so noq's state of it is of no use.
            let which = path + MAX_PATHS * (1 + dialed.opened as usize);
            let new = DialedPath::new(now, local, remote, &self.settings, which);
            *dialed = DialedPath { opened: dialed.opened, heard_at: dialed.heard_at, ..new };
        }
        path
    }

    /// Works on one path: its timers, its handshake, its MTU.
    pub(crate) fn work(&mut self, now: Instant, path: usize) -> PathUpdate {
        let needed = self.settings.mtu;
        let dialed = &mut self.paths[path];
        if dialed.connection.is_none() && !dialed.refused && dialed.retry_at.is_some_and(|due| due <= now) {
            dialed.open(now, &self.client, &self.settings);
        }
        dialed.search(now, &self.client, &self.settings);
        let Some(connection) = &mut dialed.connection else { return PathUpdate::Unchanged };
        connection.work(now, &mut dialed.endpoint, REPLY_BYTES + 1);
        let (lost, is_drained) = (connection.lost().cloned(), connection.is_drained());
        dialed.note_silence(now, lost.as_ref());
        let Some(connection) = &mut dialed.connection else { return PathUpdate::Unchanged };
        if let Some(reason) = lost {
            dialed.handle_loss(now, &reason);
            if is_unavailable(&reason) && self.unavailable.is_none() {
                self.unavailable = Some(describe(&reason));
            }
            if is_drained {
                dialed.connection = None;
            }
            return PathUpdate::Unchanged;
        }
        if dialed.joined {
            if dialed.carries_full_datagrams(now, needed) {
                return PathUpdate::Unchanged;
            }
            self.reprobe(now, path);
            return PathUpdate::BlackHole;
        }
        if connection.is_connected() && !dialed.greeted {
            dialed.greeted = true;
            (self.hello.path, self.hello.continues) = (path as u8, self.first.is_some());
            if connection.write_message(&self.hello.encode()).is_err() {
                connection.close(now, BROKEN, "the stream is not open");
            }
        }
        if !dialed.greeted {
            return PathUpdate::Unchanged;
        }
        match Reply::decode(connection.received()) {
            Ok(Some(reply)) => {
                if !dialed.carries_full_datagrams(now, needed) {
                    return PathUpdate::Unchanged;
                }
                dialed.joined = true;
                dialed.opened += 1;
                dialed.trouble = None;
                let took = now.saturating_duration_since(self.started_at).min(GRACE);
                let others = if self.hello.offer.is_question() { QUESTION_GRACE } else { took };
                self.first.get_or_insert((path, reply, now + others));
                return PathUpdate::Joined;
            }
            Ok(None) => {}
            Err(error) => {
                dialed.trouble = Some(error.to_string());
                dialed.refused = true;
                connection.close(now, BROKEN, "the answer cannot be read");
            }
        }
        PathUpdate::Unchanged
    }

    /// Returns the first open path and the peer's Reply, once the others work, too, or take long.
    pub(crate) fn ready(&self, now: Instant) -> Option<(usize, Reply)> {
        let (path, reply, until) = self.first?;
        let all = self.paths.iter().all(|dialed| dialed.joined || dialed.refused);
        (all || until <= now).then_some((path, reply))
    }

    /// Returns the paths that work.
    pub(crate) fn joined(&self) -> impl Iterator<Item = usize> {
        (0..self.paths.len()).filter(|path| self.paths[*path].joined)
    }

    /// Returns the time at which [`Connector::ready`] may change.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        self.first.map(|(_, _, until)| until)
    }

    /// Returns the next packet that arrived on a path.
    pub(crate) fn receive(&mut self, path: usize) -> Option<Bytes> {
        let dialed = &mut self.paths[path];
        // A packet that comes before its path has joined belongs to no path of the transport.
        let packet =
            dialed.connection.as_mut().and_then(PathConnection::receive).filter(|_| dialed.joined)?;
        // The path works, so its trouble is over.
        dialed.trouble = None;
        Some(packet)
    }

    /// Returns the paths that work and are not silent.
    pub(crate) fn answering(&self) -> impl Iterator<Item = usize> {
        self.joined().filter(|path| !self.paths[*path].is_silent)
    }

    /// Returns the time of the last datagram of the peer with this session.
    pub(crate) fn heard_at(&self) -> Option<Instant> {
        self.paths.iter().filter_map(|dialed| dialed.heard_at).max()
    }

    /// True if the peer refuses a path.
    pub(crate) fn is_refused(&self, path: usize) -> bool {
        self.paths[path].refused
    }

    /// Returns the reason why the peer cannot have this session now. Another session may succeed.
    pub(crate) fn unavailable(&self) -> Option<&str> {
        self.unavailable.as_deref()
    }

    /// Returns the reason if all paths were refused.
    pub(crate) fn all_refused_reason(&self) -> Option<String> {
        let none = self.paths.iter().all(|dialed| dialed.refused);
        none.then(|| self.trouble().unwrap_or_default())
    }

    /// Returns the reason why a path does not work.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.paths.iter().find_map(|dialed| dialed.trouble.clone())
    }

    /// Appends all datagrams that leave now; those of `packets` first.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        packets: &mut Vec<(PathId, Bytes)>,
        out: &mut Vec<DatagramBatch>,
    ) {
        for (path, packet) in packets.drain(..) {
            let egress = self.egress(path.index());
            let dialed = &mut self.paths[path.index()];
            if let Some(connection) = dialed.connection.as_mut().filter(|_| dialed.joined) {
                connection.send(now, packet, egress, out);
            }
        }
        for path in 0..self.paths.len() {
            let egress = self.egress(path);
            let dialed = &mut self.paths[path];
            for connection in dialed.connection.iter_mut().chain(dialed.path_mtu.probe()) {
                connection.transmit(now, egress, out);
            }
        }
    }

    /// Closes all paths. The appended datagrams tell the peer.
    pub(crate) fn close(&mut self, now: Instant, reason: &str, out: &mut Vec<DatagramBatch>) {
        for path in 0..self.paths.len() {
            let egress = self.egress(path);
            let dialed = &mut self.paths[path];
            for connection in dialed.connection.iter_mut().chain(dialed.path_mtu.probe()) {
                connection.close(now, DONE, reason);
                connection.transmit(now, egress, out);
            }
        }
    }

    /// Returns the time at which [`Connector::work`] must be called next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let connections = self.paths.iter().flat_map(|dialed| {
            let connection = match &dialed.connection {
                Some(connection) => connection.next_wakeup(),
                None => dialed.retry_at.filter(|_| !dialed.refused),
            };
            [connection, dialed.path_mtu.next_wakeup()]
        });
        connections.flatten().min()
    }

    /// Number of packets that did not fit into noq's datagrams. It must be 0.
    pub(crate) fn oversized(&self) -> u64 {
        self.paths.iter().filter_map(|dialed| dialed.connection.as_ref()).map(PathConnection::oversized).sum()
    }

    /// Returns the state of the paths, with the transport's figures if there is a session.
    pub(crate) fn progress<W: Scheduler>(&self, session: Option<&Session<W>>) -> Vec<Progress> {
        // A path that came later belongs to the session once it has joined.
        let facts = session.map(Session::paths).unwrap_or_default();
        let sent = session.map(|session| session.carried().0).unwrap_or_default();
        let path = |(index, dialed): (usize, &DialedPath)| {
            dialed.progress(facts.get(index), sent.get(index).copied().unwrap_or(0))
        };
        self.paths.iter().enumerate().map(path).collect()
    }
}
