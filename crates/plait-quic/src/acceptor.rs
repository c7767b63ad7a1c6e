//! Paths of the accepting end: QUIC connections of any peer, until one presents the secret.
//!
//! A peer without the secret gets no further than a QUIC handshake and [`MAX_HELLO`] bytes. Its
//! connections cannot exclude other peers: see `incoming.rs`.

mod closed_sessions;
mod handshakes;
mod incoming;
mod streamed;

use crate::clients::{Clients, ConnectedClient, Limits};
use crate::connection::{BROKEN, DONE, DatagramBatch, Egress, PathConnection, REFUSED, ReceivedBatch};
use crate::error::Error;
use crate::hello::{Hello, MAX_HELLO, Reply};
use crate::identity::Identity;
use crate::settings::Settings;
use bytes::{Bytes, BytesMut};
use closed_sessions::ClosedSessions;
use handshakes::HandshakeLimits;
use incoming::network;
use noq_proto::{ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, FourTuple, ServerConfig};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most concurrent connections that have not presented the secret.
const MAX_UNAUTHENTICATED: usize = 64;

/// Time that a connection has to present the secret.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);

/// Identifier of a peer's session, which all its paths share.
pub type Id = [u8; 16];

#[derive(Debug)]
struct AcceptedConnection {
    connection: PathConnection,
    remote: SocketAddr,
    accepted_at: Instant,
    /// True once the greeting was answered. After a question nothing more is expected.
    answered: bool,
    /// True if a file arrives on the connection's stream: mode interop.
    streamed: bool,
    /// Session and path, once the secret was presented.
    joined: Option<(Id, usize)>,
}

impl AcceptedConnection {
    /// True if the connection has not presented the secret, and still may.
    fn is_unauthenticated(&self) -> bool {
        self.joined.is_none()
            && !self.answered
            && !self.connection.is_closing()
            && self.connection.lost().is_none()
    }
}

/// Result of the work on a connection.
#[derive(Debug)]
pub(crate) enum AcceptorEvent {
    Nothing,
    /// A peer at this address presented a wrong secret.
    Rejected(SocketAddr),
    /// A client presented a secret: the caller [admits](Acceptor::admit),
    /// [answers](Acceptor::answer) or refuses it.
    Greeted(Hello, ConnectedClient),
    /// The connection is a path, and packets may have arrived.
    Packets(Id, usize),
    /// The connection was a path and is lost; `done` if the peer closed it with the code `DONE`.
    Disconnected {
        id: Id,
        path: usize,
        done: bool,
    },
}

/// All connections of the accepting end.
#[derive(Debug)]
pub(crate) struct Acceptor {
    settings: Settings,
    clients: Clients,
    endpoint: Endpoint,
    /// Configuration of connections that carry a file on a stream.
    streamed: Option<Arc<ServerConfig>>,
    connections: BTreeMap<ConnectionHandle, AcceptedConnection>,
    handshakes: HandshakeLimits,
    closed_sessions: ClosedSessions,
    replies: Vec<DatagramBatch>,
}

impl Acceptor {
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub(crate) fn new(settings: Settings, identity: &Identity, clients: Clients) -> Result<Self, Error> {
        settings.check()?;
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server()?));
        server
            .transport_config(settings.acceptor_transport())
            .max_incoming(MAX_UNAUTHENTICATED)
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(1 << 20);
        let mut config = settings.endpoint(0xff);
        identity.mark(&mut config);
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), true);
        let (connections, handshakes, closed_sessions) =
            (BTreeMap::new(), HandshakeLimits::default(), ClosedSessions::default());
        let (streamed, replies) = (None, Vec::new());
        Ok(Self { settings, clients, endpoint, streamed, connections, handshakes, closed_sessions, replies })
    }

    /// Returns the limits of a client.
    pub(crate) fn limits(&self, client: &ConnectedClient) -> Limits {
        self.clients.limits(client.number)
    }

    /// Handles a UDP datagram. Returns the connection to work on.
    fn handle_datagram(
        &mut self,
        now: Instant,
        batch: &ReceivedBatch<'_>,
        datagram: BytesMut,
    ) -> Option<ConnectionHandle> {
        let (tuple, mut bytes) = (FourTuple::new(batch.remote, batch.local), Vec::new());
        match self.endpoint.handle(now, tuple, None, datagram, &mut bytes)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                self.connections.get_mut(&handle)?.connection.handle_event(event);
                Some(handle)
            }
            DatagramEvent::NewConnection(incoming) => self.handle_incoming(now, incoming),
            DatagramEvent::Response(transmit) => {
                self.reply(&transmit, bytes);
                None
            }
        }
    }

    /// Handles UDP datagrams. Returns the connections to work on; a connection with successive
    /// datagrams appears once.
    pub(crate) fn handle_datagrams(
        &mut self,
        now: Instant,
        batch: &ReceivedBatch<'_>,
    ) -> Vec<ConnectionHandle> {
        let handle = |datagram| self.handle_datagram(now, batch, datagram);
        let mut handles: Vec<_> = batch.datagrams().filter_map(handle).collect();
        handles.dedup();
        handles
    }

    fn reply(&mut self, transmit: &noq_proto::Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let (remote, source) = (transmit.destination, transmit.src_ip);
        self.replies.push(DatagramBatch { path: 0, remote, source, bytes, segment: None });
    }

    /// Returns all connections, to work on when time has passed.
    pub(crate) fn handles(&self) -> Vec<ConnectionHandle> {
        self.connections.keys().copied().collect()
    }

    /// Works on one connection: its timers, its greeting, its end.
    pub(crate) fn work(&mut self, now: Instant, handle: ConnectionHandle) -> AcceptorEvent {
        let Some(accepted) = self.connections.get_mut(&handle) else { return AcceptorEvent::Nothing };
        let connection = &mut accepted.connection;
        connection.work(now, &mut self.endpoint, MAX_HELLO + 1);
        if let Some(reason) = connection.lost() {
            let done = matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(DONE));
            let joined = accepted.joined.take();
            if connection.is_drained() {
                self.connections.remove(&handle);
            }
            return joined.map_or(AcceptorEvent::Nothing, |(id, path)| AcceptorEvent::Disconnected {
                id,
                path,
                done,
            });
        }
        if connection.is_drained() {
            self.connections.remove(&handle);
            return AcceptorEvent::Nothing;
        }
        match accepted.joined {
            _ if connection.is_closing() => {}
            Some((id, path)) => return AcceptorEvent::Packets(id, path),
            None => match Hello::decode(connection.received()) {
                Ok(Some(hello)) if !accepted.answered => {
                    let Some(index) = self.clients.find(&hello.secret) else {
                        connection.close(now, REFUSED, "the secret is wrong: the other end has another one");
                        return AcceptorEvent::Rejected(accepted.remote);
                    };
                    self.handshakes.refund(network(accepted.remote));
                    if let Some((code, reason)) = self.closed_sessions.find(now, &hello.session) {
                        connection.close(now, code, reason);
                    } else {
                        let client = self.clients.connected(index, accepted.remote);
                        return AcceptorEvent::Greeted(hello, client);
                    }
                }
                Ok(_) if now.saturating_duration_since(accepted.accepted_at) < GREETING_TIMEOUT => {}
                Ok(_) => connection.close(now, BROKEN, "no greeting"),
                Err(error) => connection.close(now, REFUSED, &error.to_string()),
            },
        }
        AcceptorEvent::Nothing
    }

    /// Returns the next packet that arrived on a path.
    pub(crate) fn receive(&mut self, handle: ConnectionHandle) -> Option<Bytes> {
        self.connections.get_mut(&handle).and_then(|accepted| accepted.connection.receive())
    }

    /// Makes a connection a path of a session.
    pub(crate) fn admit(&mut self, handle: ConnectionHandle, id: Id, path: usize) {
        if let Some(accepted) = self.connections.get_mut(&handle) {
            accepted.joined = Some((id, path));
        }
    }

    /// Returns the session of a connection that is a path.
    pub(crate) fn session_of(&self, handle: ConnectionHandle) -> Option<Id> {
        Some(self.connections.get(&handle)?.joined?.0)
    }

    /// Returns the peer's address on a connection, as it began.
    pub(crate) fn remote(&self, handle: ConnectionHandle) -> Option<SocketAddr> {
        Some(self.connections.get(&handle)?.remote)
    }

    /// Returns the path of session `id` that this connection is.
    pub(crate) fn path_of(&self, handle: ConnectionHandle, id: &Id) -> Option<usize> {
        let (of, path) = self.connections.get(&handle)?.joined?;
        (of == *id).then_some(path)
    }

    /// Returns the round-trip time of a connection, as its handshake measured it.
    pub(crate) fn round_trip(&self, handle: ConnectionHandle) -> Option<Duration> {
        self.connections.get(&handle)?.connection.round_trip()
    }

    /// Sends the answer to a greeting. Returns false if the connection is gone, or its stream is
    /// not open.
    pub(crate) fn answer(&mut self, now: Instant, handle: ConnectionHandle) -> bool {
        let Some(accepted) = self.connections.get_mut(&handle) else { return false };
        let window = if accepted.streamed { self.settings.stream_window() } else { self.settings.window };
        let written = accepted.connection.write_message(&Reply { window }.encode());
        accepted.answered = true;
        if written.is_err() {
            accepted.joined = None;
            accepted.connection.close(now, BROKEN, "the stream is not open");
        }
        written.is_ok()
    }

    /// Makes a connection the current one of a path, and closes the previous one, which the peer
    /// considers dead.
    pub(crate) fn replace(
        &mut self,
        now: Instant,
        current: &mut Option<ConnectionHandle>,
        handle: ConnectionHandle,
    ) {
        if let Some(old) = current.replace(handle).filter(|old| *old != handle) {
            self.close(now, old, BROKEN, "replaced");
        }
    }

    /// Closes a connection, and tells the peer the reason.
    pub(crate) fn close(&mut self, now: Instant, handle: ConnectionHandle, code: u32, reason: &str) {
        if let Some(accepted) = self.connections.get_mut(&handle) {
            accepted.joined = None;
            if !accepted.connection.is_closing() {
                accepted.connection.close(now, code, reason);
            }
        }
    }

    /// Closes all connections of a session that is over. Paths that join later get the same code
    /// and reason, until the peer must have given up.
    pub(crate) fn end(&mut self, now: Instant, id: &Id, code: u32, reason: &str) {
        self.closed_sessions.remember(now, now + self.settings.patience + GREETING_TIMEOUT, id, code, reason);
        for handle in self.handles() {
            if self.path_of(handle, id).is_some() {
                self.close(now, handle, code, reason);
            }
        }
    }

    fn egress(&self) -> Egress {
        Egress { path: 0, burst: NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Sends a packet on a path.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        packet: Bytes,
        out: &mut Vec<DatagramBatch>,
    ) {
        let egress = self.egress();
        if let Some(accepted) = self.connections.get_mut(&handle) {
            accepted.connection.send(now, packet, egress, out);
        }
    }

    /// Appends all datagrams that leave now to `out`.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        out.append(&mut self.replies);
        let egress = self.egress();
        for accepted in self.connections.values_mut() {
            accepted.connection.transmit(now, egress, out);
        }
    }

    /// Returns the time at which connections need work next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let connections = self.connections.values().flat_map(|accepted| {
            let greeting = accepted.joined.is_none()
                && accepted.connection.lost().is_none()
                && !accepted.connection.is_closing();
            [accepted.connection.next_wakeup(), greeting.then(|| accepted.accepted_at + GREETING_TIMEOUT)]
        });
        connections.flatten().min()
    }

    /// Number of connections, with or without the secret.
    pub(crate) fn connections(&self) -> usize {
        self.connections.len()
    }
}
