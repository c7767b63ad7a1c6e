//! The paths of the end that is connected to: QUIC connections of whoever it is, until one has said the secret.
//!
//! Who does not know the secret gets no further than a QUIC handshake and [`MAX_HELLO`] bytes. Its connections cannot
//! keep others out: see [`Door::make_room`].

mod handshakes;
mod over;
mod streamed;

use crate::clients::{Clients, Guest, Limits};
use crate::error::Error;
use crate::hello::{Hello, MAX_HELLO, Reply};
use crate::identity::Identity;
use crate::link::{BROKEN, DONE, Link, Outgoing, REFUSED, Route};
use crate::settings::Settings;
use crate::ways::endpoint_config;
use bytes::{Bytes, BytesMut};
use handshakes::{BURST, Handshakes};
use noq_proto::{
    ConnectionError, ConnectionHandle, DatagramEvent, Endpoint, FourTuple, Incoming, ServerConfig,
};
use over::Over;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections at once that have not said the secret.
const MAX_STRANGERS: usize = 64;

/// Those of one address: as many as it may begin at once.
const MAX_OF_ADDRESS: usize = BURST as usize;

/// From so many on, addresses have to be proved before anything is kept (RFC 9000 §8.1.2).
const MAX_UNPROVED: usize = 8;

/// A connection has so long to say the secret.
const GREETING: Duration = Duration::from_secs(10);

/// Which session of a peer's: its paths have it in common.
pub type Id = [u8; 16];

#[derive(Debug)]
struct Connected {
    link: Link,
    remote: SocketAddr,
    accepted_at: Instant,
    /// A question was answered: nothing more is expected.
    answered: bool,
    /// A file comes on its stream: mode interop.
    streamed: bool,
    /// The session and the path, once the secret was said.
    joined: Option<(Id, usize)>,
}

impl Connected {
    /// Whether it has not said the secret, and still may.
    fn is_stranger(&self) -> bool {
        self.joined.is_none() && !self.answered && !self.link.is_closing() && self.link.lost().is_none()
    }
}

/// An address, or the network of /64 that one host has in IPv6.
fn network(remote: SocketAddr) -> IpAddr {
    match remote.ip().to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) >> 64 << 64)),
        ip => ip,
    }
}

/// What came of looking at a connection.
#[derive(Debug)]
pub(crate) enum Heard {
    Nothing,
    /// Somebody at this address has said a wrong secret.
    Rejected(SocketAddr),
    /// A client wants something: to be [admitted](Door::admit), [answered](Door::answer) or refused.
    Greeted(Hello, Guest),
    /// It is a path, and packets may have come.
    Packets(Id, usize),
    /// It was a path; `done` if the peer has closed it on purpose.
    Parted {
        id: Id,
        path: usize,
        done: bool,
    },
}

/// All connections.
#[derive(Debug)]
pub(crate) struct Door {
    settings: Settings,
    clients: Clients,
    endpoint: Endpoint,
    /// For who wants to send a file on a stream.
    streamed: Option<Arc<ServerConfig>>,
    links: BTreeMap<ConnectionHandle, Connected>,
    handshakes: Handshakes,
    over: Over,
    replies: Vec<Outgoing>,
}

impl Door {
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, [`Error::Tls`].
    pub(crate) fn new(settings: Settings, identity: &Identity, clients: Clients) -> Result<Self, Error> {
        settings.check()?;
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server()?));
        server
            .transport_config(settings.far_tunnel())
            .max_incoming(MAX_STRANGERS)
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(1 << 20);
        let mut config = endpoint_config(&settings, 0xff);
        identity.mark(&mut config);
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), true);
        let (links, handshakes, over) = (BTreeMap::new(), Handshakes::default(), Over::default());
        let (streamed, replies) = (None, Vec::new());
        Ok(Self { settings, clients, endpoint, streamed, links, handshakes, over, replies })
    }

    /// The limits of a client.
    pub(crate) fn limits(&self, guest: &Guest) -> Limits {
        self.clients.limits(guest.number)
    }

    /// Takes a UDP datagram that came from `remote` to the address `local`; the connection to look at.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagram: BytesMut,
    ) -> Option<ConnectionHandle> {
        let mut bytes = Vec::new();
        match self.endpoint.handle(now, FourTuple::new(remote, local), None, datagram, &mut bytes)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                self.links.get_mut(&handle)?.link.handle_event(event);
                Some(handle)
            }
            DatagramEvent::NewConnection(incoming) => self.meet(now, incoming),
            DatagramEvent::Response(transmit) => {
                self.reply(&transmit, bytes);
                None
            }
        }
    }

    /// Likewise of several that came together, of `each` bytes but for the last; the connections to look at, each once where they are one's.
    pub(crate) fn handle_datagrams(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagrams: &[u8],
        each: usize,
    ) -> Vec<ConnectionHandle> {
        let pieces = datagrams.chunks(each.max(1)).map(BytesMut::from);
        let mut handles: Vec<_> =
            pieces.filter_map(|datagram| self.handle_datagram(now, remote, local, datagram)).collect();
        handles.dedup();
        handles
    }

    fn reply(&mut self, transmit: &noq_proto::Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let (remote, source) = (transmit.destination, transmit.src_ip);
        self.replies.push(Outgoing { path: 0, remote, source, bytes, segment: None });
    }

    /// Somebody wants to connect.
    fn meet(&mut self, now: Instant, incoming: Incoming) -> Option<ConnectionHandle> {
        let mut bytes = Vec::new();
        let remote = incoming.remote_address();
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        let address = network(remote);
        if !self.handshakes.has_room(now, address) {
            // An answer would cost time, and its client would try again at once. Without one it waits.
            self.endpoint.ignore(incoming);
            return None;
        }
        let strangers = self.links.values().filter(|connected| connected.is_stranger()).count();
        if strangers >= MAX_UNPROVED && !incoming.remote_address_validated() && incoming.may_retry() {
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut bytes) {
                self.reply(&transmit, bytes);
            }
        } else {
            self.handshakes.begin(now, address);
            self.make_room(now, address);
            let config = self.streamed.clone().filter(|_| streamed::is_asked_for(&incoming));
            let streamed = config.is_some();
            match self.endpoint.accept(incoming, now, &mut bytes, config) {
                Ok(accepted) => {
                    let (handle, link) = (accepted.0, Link::new(accepted));
                    let connected =
                        Connected { link, remote, accepted_at: now, answered: false, streamed, joined: None };
                    self.links.insert(handle, connected);
                    return Some(handle);
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.reply(&transmit, bytes);
                    }
                }
            }
        }
        None
    }

    /// Ends the oldest connection without the secret, of the address that has most of these, if another one would be
    /// too many. So an address with few of them always gets in.
    fn make_room(&mut self, now: Instant, address: IpAddr) {
        let strangers = || self.links.iter().filter(|(_, connected)| connected.is_stranger());
        let mut by_address: BTreeMap<IpAddr, usize> = BTreeMap::from([(address, 0)]);
        for (_, connected) in strangers() {
            *by_address.entry(network(connected.remote)).or_default() += 1;
        }
        let crowded = if by_address[&address] >= MAX_OF_ADDRESS {
            address
        } else if by_address.values().sum::<usize>() >= MAX_STRANGERS {
            by_address.into_iter().max_by_key(|(_, count)| *count).map_or(address, |(most, _)| most)
        } else {
            return;
        };
        let own = strangers().filter(|(_, connected)| network(connected.remote) == crowded);
        if let Some(handle) =
            own.min_by_key(|(_, connected)| connected.accepted_at).map(|(handle, _)| *handle)
        {
            self.close(now, handle, BROKEN, "too many connections without the secret");
        }
    }

    /// All connections, to be looked at when time has passed.
    pub(crate) fn handles(&self) -> Vec<ConnectionHandle> {
        self.links.keys().copied().collect()
    }

    /// One connection: its timers, its greeting, its end.
    pub(crate) fn work(&mut self, now: Instant, handle: ConnectionHandle) -> Heard {
        let Some(connected) = self.links.get_mut(&handle) else { return Heard::Nothing };
        let link = &mut connected.link;
        link.work(now, &mut self.endpoint, MAX_HELLO + 1);
        if let Some(reason) = link.lost() {
            let done = matches!(reason, ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == u64::from(DONE));
            let joined = connected.joined.take();
            if link.is_drained() {
                self.links.remove(&handle);
            }
            return joined.map_or(Heard::Nothing, |(id, path)| Heard::Parted { id, path, done });
        }
        if link.is_drained() {
            self.links.remove(&handle);
            return Heard::Nothing;
        }
        match connected.joined {
            _ if link.is_closing() => {}
            Some((id, path)) => return Heard::Packets(id, path),
            None => match Hello::decode(link.heard()) {
                Ok(Some(hello)) if !connected.answered => {
                    let Some(client) = self.clients.find(&hello.secret) else {
                        link.close(now, REFUSED, "the secret is not the receiver's");
                        return Heard::Rejected(connected.remote);
                    };
                    self.handshakes.give_back(network(connected.remote));
                    if let Some((code, reason)) = self.over.find(now, &hello.session) {
                        link.close(now, code, reason);
                    } else {
                        let guest = self.clients.guest(client, connected.remote);
                        return Heard::Greeted(hello, guest);
                    }
                }
                Ok(_) if now.saturating_duration_since(connected.accepted_at) < GREETING => {}
                Ok(_) => link.close(now, BROKEN, "no greeting"),
                Err(error) => link.close(now, REFUSED, &error.to_string()),
            },
        }
        Heard::Nothing
    }

    /// The next packet that came on a path.
    pub(crate) fn receive(&mut self, handle: ConnectionHandle) -> Option<Bytes> {
        self.links.get_mut(&handle).and_then(|connected| connected.link.receive())
    }

    /// A connection is a path of a session's from now on.
    pub(crate) fn admit(&mut self, handle: ConnectionHandle, id: Id, path: usize) {
        if let Some(connected) = self.links.get_mut(&handle) {
            connected.joined = Some((id, path));
        }
    }

    /// The path of this session that a connection is.
    pub(crate) fn path_of(&self, handle: ConnectionHandle, id: &Id) -> Option<usize> {
        let (of, path) = self.links.get(&handle)?.joined?;
        (of == *id).then_some(path)
    }

    /// A connection's round trip, which its handshake has measured.
    pub(crate) fn round_trip(&self, handle: ConnectionHandle) -> Option<Duration> {
        self.links.get(&handle)?.link.round_trip()
    }

    /// Says the answer to a greeting.
    pub(crate) fn answer(&mut self, now: Instant, handle: ConnectionHandle) -> bool {
        let Some(connected) = self.links.get_mut(&handle) else { return false };
        let window = if connected.streamed { self.settings.streamed_window() } else { self.settings.window };
        let said = connected.link.say(&Reply { window }.encode());
        connected.answered = true;
        if said.is_err() {
            connected.joined = None;
            connected.link.close(now, BROKEN, "the stream is not open");
        }
        said.is_ok()
    }

    /// A connection is a path in the place of what was there: that is as dead as its peer takes it for.
    pub(crate) fn replace(
        &mut self,
        now: Instant,
        place: &mut Option<ConnectionHandle>,
        handle: ConnectionHandle,
    ) {
        if let Some(old) = place.replace(handle).filter(|old| *old != handle) {
            self.close(now, old, BROKEN, "replaced");
        }
    }

    /// A connection is none of ours, and its peer told why.
    pub(crate) fn close(&mut self, now: Instant, handle: ConnectionHandle, code: u32, reason: &str) {
        if let Some(connected) = self.links.get_mut(&handle) {
            connected.joined = None;
            if !connected.link.is_closing() {
                connected.link.close(now, code, reason);
            }
        }
    }

    /// Likewise all of a session, which is over: paths of it that come late are told the same. After so long none comes any more, because its peer has given up.
    pub(crate) fn end(&mut self, now: Instant, id: &Id, code: u32, reason: &str) {
        self.over.remember(now, now + self.settings.patience + GREETING, id, code, reason);
        for handle in self.handles() {
            if self.path_of(handle, id).is_some() {
                self.close(now, handle, code, reason);
            }
        }
    }

    fn route(&self) -> Route {
        Route { path: 0, burst: NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Sends a packet of a path.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        packet: Bytes,
        out: &mut Vec<Outgoing>,
    ) {
        let route = self.route();
        if let Some(connected) = self.links.get_mut(&handle) {
            connected.link.send(now, packet, route, out);
        }
    }

    /// All datagrams that leave now.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        out.append(&mut self.replies);
        let route = self.route();
        for connected in self.links.values_mut() {
            connected.link.transmit(now, route, out);
        }
    }

    /// When connections must be looked at next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let links = self.links.values().flat_map(|connected| {
            let greeting =
                connected.joined.is_none() && connected.link.lost().is_none() && !connected.link.is_closing();
            [connected.link.next_wakeup(), greeting.then(|| connected.accepted_at + GREETING)]
        });
        links.flatten().min()
    }

    /// Connections at the moment, of whoever it is.
    pub(crate) fn connections(&self) -> usize {
        self.links.len()
    }
}
