//! Paths of the opening end: a QUIC connection from each local address. It begins with a greeting,
//! and is opened anew when it is lost.

mod width;

use crate::error::Error;
use crate::hello::{Hello, Offer, REPLY_BYTES, Reply};
use crate::identity::{self, Fingerprint, NAME, Secret};
use crate::link::{BROKEN, DONE, Link, Outgoing, Route, is_away, is_meant, is_narrow, words};
use crate::reroute::{NO_ROUTE, Reroute};
use crate::session::{Session, smoothed};
use crate::settings::{MAX_LINKS, NEXT_SEARCH, Settings};
use crate::terms::Terms;
use bytes::{Bytes, BytesMut};
use noq_proto::{ClientConfig, ConnectionError, DatagramEvent, Endpoint, EndpointConfig, FourTuple};
use plait_sched::{PathId, PathState, Scheduler};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
pub(crate) use width::Look;
use width::Width;

/// Time after which a path that could not be opened is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Longest time that the first path waits for the others. It waits as long as it took itself to
/// open, but no longer than this.
const GRACE: Duration = Duration::from_millis(200);

/// Trouble of a path whose address is gone.
const GONE: &str = "its interface or address is gone";

/// Time that a question waits for further paths, because its caller wants to know all paths that
/// work.
const ANSWERS: Duration = Duration::from_secs(1);

/// Contents, paths and receiver of a transfer.
#[derive(Debug)]
pub struct Order {
    /// Address of the receiver, for each path that has none of its own ([`Reroute::Aimed`]).
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

/// State of a path.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Local address.
    pub local: IpAddr,
    /// True if the path carries data now.
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
struct Way {
    local: IpAddr,
    remote: SocketAddr,
    endpoint: Endpoint,
    width: Width,
    /// Time of the last datagram that belonged to the path.
    heard_at: Option<Instant>,
    link: Option<Link>,
    greeted: bool,
    joined: bool,
    retry_at: Option<Instant>,
    /// True if the peer, or TLS, refuses the path: it is not tried again.
    refused: bool,
    trouble: Option<String>,
    opened: u32,
}

/// All paths of the opening end.
#[derive(Debug)]
pub(crate) struct Ways {
    settings: Settings,
    /// TLS part of a connection's configuration.
    client: ClientConfig,
    remote: SocketAddr,
    hello: Hello,
    ways: Vec<Way>,
    begun: Instant,
    /// First open path, the peer's Reply there, and the time until which the others are awaited.
    first: Option<(usize, Reply, Instant)>,
    /// Reason why the peer cannot have the session now.
    away: Option<String>,
    scratch: Vec<u8>,
}

impl Ways {
    /// Creates paths that are opened from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub(crate) fn new(now: Instant, settings: Settings, order: &Order) -> Result<Self, Error> {
        settings.check()?;
        let count = order.locals.len();
        if !(1..=MAX_LINKS).contains(&count) {
            return Err(Error::Setting(format!("{count} local addresses: choose 1 to {MAX_LINKS}")));
        }
        let client = ClientConfig::new(Arc::new(identity::client(order.fingerprint)?));
        let ways = order
            .locals
            .iter()
            .enumerate()
            .map(|(index, &local)| Way::new(now, local, order.remote, endpoint(&settings, index as u8)));
        let hello = Hello {
            secret: order.secret,
            session: order.session,
            path: 0,
            continues: false,
            paths: count as u8,
            segment: if order.offer.is_streams() { settings.shared_segment() } else { settings.segment() },
            offer: order.offer.clone(),
        };
        Ok(Self {
            settings,
            client,
            remote: order.remote,
            hello,
            ways: ways.collect(),
            begun: now,
            first: None,
            away: None,
            scratch: Vec::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.ways.len()
    }

    fn route(&self, path: usize) -> Route {
        Route { path, burst: NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Handles a UDP datagram that arrived at a path's local address. Returns true if it belongs to
    /// the path.
    pub(crate) fn handle_datagram(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagram: BytesMut,
    ) -> bool {
        let Some(way) = self.ways.get_mut(path) else { return false };
        let tuple = FourTuple::new(remote, Some(way.local));
        self.scratch.clear();
        let event = way.endpoint.handle(now, tuple, None, datagram, &mut self.scratch);
        let Some(DatagramEvent::ConnectionEvent(handle, event)) = event else { return false };
        let mut links = way.link.iter_mut().chain(way.width.probe());
        let Some(link) = links.find(|link| link.is(handle)) else { return false };
        link.handle_event(event);
        way.heard_at = Some(now);
        true
    }

    /// Handles UDP datagrams that arrived together, of `each` bytes except the last. Returns true
    /// if any of them belongs to the path.
    pub(crate) fn handle_datagrams(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagrams: &[u8],
        each: usize,
    ) -> bool {
        let mut any = false;
        for datagram in datagrams.chunks(each.max(1)) {
            any |= self.handle_datagram(now, path, remote, BytesMut::from(datagram));
        }
        any
    }

    /// Notes that the network takes nothing more from a path's local address. The path is opened
    /// anew as soon as that works.
    pub(crate) fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(way) = self.ways.get_mut(path) {
            way.trouble = Some(trouble.to_owned());
        }
    }

    /// Handles a change of local addresses. Returns the path to work on.
    pub(crate) fn reroute(&mut self, now: Instant, reroute: &Reroute) -> usize {
        match *reroute {
            Reroute::Added(local, _) => self.add(now, local),
            Reroute::Moved(path, local) | Reroute::Replaced(path, local, _) => {
                let remote = self.ways.get(path).map_or(self.remote, |way| way.remote);
                self.relocate(now, path, local, remote)
            }
            Reroute::Aimed(path, local, remote) => self.relocate(now, path, local, remote),
            Reroute::Gone(path) => {
                self.handle_failure(path, GONE);
                path
            }
            Reroute::Limited { path, bytes, own } => {
                self.limit(now, path, bytes, own);
                path
            }
            Reroute::Unreachable(path) => {
                self.handle_failure(path, NO_ROUTE);
                path
            }
            Reroute::Back(path) => {
                if let Some(way) = self.ways.get_mut(path) {
                    way.trouble = way.trouble.take().filter(|trouble| trouble != GONE);
                    way.retry_at = way.retry_at.map(|at| at.min(now));
                }
                path
            }
        }
    }

    fn add(&mut self, now: Instant, local: IpAddr) -> usize {
        let path = self.ways.len();
        self.ways.push(Way::new(now, local, self.remote, endpoint(&self.settings, path as u8)));
        self.hello.paths = self.ways.len() as u8;
        path
    }

    /// Gives a path another local or remote address: a new connection takes the place of the old
    /// one.
    fn relocate(&mut self, now: Instant, path: usize, local: IpAddr, remote: SocketAddr) -> usize {
        if let Some(way) = self.ways.get_mut(path) {
            // Nothing that is sent to the old address arrives, so noq's state of it is of no use.
            let which = path + MAX_LINKS * (1 + way.opened as usize);
            let endpoint = endpoint(&self.settings, which as u8);
            *way = Way { opened: way.opened, ..Way::new(now, local, remote, endpoint) };
        }
        path
    }

    /// Works on one path: its timers, its handshake, its MTU.
    pub(crate) fn work(&mut self, now: Instant, path: usize) -> Look {
        let needed = self.settings.mtu;
        let way = &mut self.ways[path];
        if way.link.is_none() && !way.refused && way.retry_at.is_some_and(|due| due <= now) {
            way.open(now, &self.client, &self.settings);
        }
        way.search(now, &self.client, &self.settings);
        let Some(link) = &mut way.link else { return Look::Same };
        link.work(now, &mut way.endpoint, REPLY_BYTES + 1);
        if let Some(reason) = link.lost() {
            let meant = is_meant(reason);
            way.trouble = Some(words(reason));
            way.refused |= meant;
            self.away = self.away.take().or_else(|| is_away(reason).then(|| words(reason)));
            // A restarted peer resets the connection, and can be tried again at once.
            let pause = match reason {
                ConnectionError::Reset => Duration::ZERO,
                reason if is_narrow(reason) => NEXT_SEARCH,
                _ => RETRY,
            };
            way.retry_at = way.retry_at.or(Some(now + pause));
            way.joined = false;
            if link.is_drained() {
                way.link = None;
            }
            return Look::Same;
        }
        if way.joined {
            if way.is_wide(now, needed) {
                return Look::Same;
            }
            self.doubt(now, path);
            return Look::Narrowed;
        }
        if link.is_connected() && !way.greeted {
            way.greeted = true;
            (self.hello.path, self.hello.continues) = (path as u8, self.first.is_some());
            if link.say(&self.hello.encode()).is_err() {
                link.close(now, BROKEN, "the stream is not open");
            }
        }
        if !way.greeted {
            return Look::Same;
        }
        match Reply::decode(link.heard()) {
            Ok(Some(reply)) => {
                if !way.is_wide(now, needed) {
                    return Look::Same;
                }
                way.joined = true;
                way.opened += 1;
                way.trouble = None;
                let took = now.saturating_duration_since(self.begun).min(GRACE);
                let others = if self.hello.offer.is_question() { ANSWERS } else { took };
                self.first.get_or_insert((path, reply, now + others));
                return Look::Joined;
            }
            Ok(None) => {}
            Err(error) => {
                way.trouble = Some(error.to_string());
                way.refused = true;
                link.close(now, BROKEN, "the answer cannot be read");
            }
        }
        Look::Same
    }

    /// Returns the first open path and the peer's Reply, once the others work, too, or take long.
    pub(crate) fn ready(&self, now: Instant) -> Option<(usize, Reply)> {
        let (path, reply, until) = self.first?;
        let all = self.ways.iter().all(|way| way.joined || way.refused);
        (all || until <= now).then_some((path, reply))
    }

    /// Returns the paths that work.
    pub(crate) fn joined(&self) -> impl Iterator<Item = usize> {
        (0..self.ways.len()).filter(|path| self.ways[*path].joined)
    }

    /// Returns the time at which [`Ways::ready`] may change.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        self.first.map(|(_, _, until)| until)
    }

    /// Returns the next packet that arrived on a path.
    pub(crate) fn receive(&mut self, path: usize) -> Option<Bytes> {
        let way = &mut self.ways[path];
        // A packet that comes before its path has joined belongs to no path of the transport.
        let packet = way.link.as_mut().and_then(Link::receive).filter(|_| way.joined)?;
        // The path works, so its trouble is over.
        way.trouble = None;
        Some(packet)
    }

    /// True if a path works.
    pub(crate) fn any_joined(&self) -> bool {
        self.ways.iter().any(|way| way.joined)
    }

    /// True if the peer refuses a path.
    pub(crate) fn is_refused(&self, path: usize) -> bool {
        self.ways[path].refused
    }

    /// Returns the reason why the peer cannot have this session now. Another session may succeed.
    pub(crate) fn away(&self) -> Option<&str> {
        self.away.as_deref()
    }

    /// Returns the reason if all paths were refused.
    pub(crate) fn hopeless(&self) -> Option<String> {
        let none = self.ways.iter().all(|way| way.refused);
        none.then(|| self.trouble().unwrap_or_default())
    }

    /// Returns the reason why a path does not work.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.ways.iter().find_map(|way| way.trouble.clone())
    }

    /// Appends all datagrams that leave now; those of `packets` first.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        packets: &mut Vec<(PathId, Bytes)>,
        out: &mut Vec<Outgoing>,
    ) {
        for (path, packet) in packets.drain(..) {
            let route = self.route(path.index());
            let way = &mut self.ways[path.index()];
            if let Some(link) = way.link.as_mut().filter(|_| way.joined) {
                link.send(now, packet, route, out);
            }
        }
        for path in 0..self.ways.len() {
            let route = self.route(path);
            let way = &mut self.ways[path];
            for link in way.link.iter_mut().chain(way.width.probe()) {
                link.transmit(now, route, out);
            }
        }
    }

    /// Closes all paths. The appended datagrams tell the peer.
    pub(crate) fn close(&mut self, now: Instant, reason: &str, out: &mut Vec<Outgoing>) {
        for path in 0..self.ways.len() {
            let route = self.route(path);
            let way = &mut self.ways[path];
            for link in way.link.iter_mut().chain(way.width.probe()) {
                link.close(now, DONE, reason);
                link.transmit(now, route, out);
            }
        }
    }

    /// Returns the time at which [`Ways::work`] must be called next.
    pub(crate) fn next_wakeup(&self) -> Option<Instant> {
        let links = self.ways.iter().flat_map(|way| {
            let link = match &way.link {
                Some(link) => link.next_wakeup(),
                None => way.retry_at.filter(|_| !way.refused),
            };
            [link, way.width.next_wakeup()]
        });
        links.flatten().min()
    }

    /// Number of packets that did not fit into noq's datagrams. It must be 0.
    pub(crate) fn oversized(&self) -> u64 {
        self.ways.iter().filter_map(|way| way.link.as_ref()).map(Link::oversized).sum()
    }

    /// Returns the state of the paths, with the transport's figures if there is a session.
    pub(crate) fn progress<W: Scheduler>(&self, session: Option<&Session<W>>) -> Vec<Progress> {
        // A path that came later belongs to the session once it has joined.
        let facts = session.map(Session::paths).unwrap_or_default();
        let sent = session.map(|session| session.carried().0).unwrap_or_default();
        let path = |(index, way): (usize, &Way)| Progress {
            local: way.local,
            usable: way.joined && facts.get(index).is_some_and(|path| path.state == PathState::Active),
            sent: sent.get(index).copied().unwrap_or(0),
            srtt: facts.get(index).and_then(smoothed),
            opened: way.opened,
            trouble: way.trouble.clone(),
        };
        self.ways.iter().enumerate().map(path).collect()
    }
}

impl Way {
    fn new(now: Instant, local: IpAddr, remote: SocketAddr, endpoint: Endpoint) -> Self {
        Self {
            local,
            remote,
            endpoint,
            width: Width::default(),
            heard_at: None,
            link: None,
            greeted: false,
            joined: false,
            retry_at: Some(now),
            refused: false,
            trouble: None,
            opened: 0,
        }
    }

    fn open(&mut self, now: Instant, client: &ClientConfig, settings: &Settings) {
        self.greeted = false;
        self.joined = false;
        self.probe(now, client, settings);
        let mut client = client.clone();
        client.transport_config(settings.tunnel());
        match self.endpoint.connect(now, client, self.remote, NAME) {
            Ok(connected) => {
                self.link = Some(Link::new(connected));
                self.retry_at = None;
            }
            Err(error) => {
                self.trouble = Some(error.to_string());
                self.retry_at = Some(now + RETRY);
            }
        }
    }
}

/// Creates the endpoint of one path. The peer's datagrams are no larger than those of this end.
fn endpoint(settings: &Settings, which: u8) -> Endpoint {
    let mut config = endpoint_config(settings, which);
    let _ = config.max_udp_payload_size(settings.mtu);
    Endpoint::new(Arc::new(config), None, true)
}

/// Configuration of noq's endpoints; `which` separates the endpoints of one seed.
pub(crate) fn endpoint_config(settings: &Settings, which: u8) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    // Larger than any setting of a peer: our own setting limits our datagrams.
    let _ = config.max_udp_payload_size(*crate::settings::MTUS.end());
    config.rng_seed(settings.seed.map(|mut seed| {
        seed[0] ^= which;
        seed
    }));
    config
}
