//! The paths of the end that opens them: a QUIC connection from each local address, greeted, and opened anew when it is lost.

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

/// A path that could not be opened is tried again after so long.
const RETRY: Duration = Duration::from_secs(1);

/// The first path waits for the others as long again as it took itself to open, and no longer than this: who comes later is asked for only when its
/// question is repeated.
const GRACE: Duration = Duration::from_millis(200);

/// Why a path carries nothing whose address is not there.
const GONE: &str = "its interface or address is gone";

/// Who only asks wants to know which paths there are.
const ANSWERS: Duration = Duration::from_secs(1);

/// What is to be sent, from where, to whom.
#[derive(Debug)]
pub struct Order {
    /// The receiver's address, to which each path leads that has none of its own ([`Reroute::Aimed`]).
    pub remote: SocketAddr,
    /// A local address for each path.
    pub locals: Vec<IpAddr>,
    /// What each is for; paths beyond these have none.
    pub terms: Vec<Terms>,
    /// The receiver's certificate.
    pub fingerprint: Fingerprint,
    /// What the receiver wants to hear.
    pub secret: Secret,
    /// Random: tells this transfer's paths from others'.
    pub session: [u8; 16],
    /// The offered files, or a question. A question is answered once the paths are open, or take longer than others.
    pub offer: Offer,
}

/// How a path is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Its local address.
    pub local: IpAddr,
    /// Whether it carries data now.
    pub usable: bool,
    /// Payload bytes that left on it, copies included.
    pub sent: u64,
    /// Its smoothed round trip, once there is one.
    pub srtt: Option<Duration>,
    /// How often it was opened.
    pub opened: u32,
    /// Why it is not, where that is known.
    pub trouble: Option<String>,
}

#[derive(Debug)]
struct Way {
    local: IpAddr,
    remote: SocketAddr,
    endpoint: Endpoint,
    width: Width,
    /// When a datagram of it was understood last.
    heard_at: Option<Instant>,
    link: Option<Link>,
    greeted: bool,
    joined: bool,
    retry_at: Option<Instant>,
    /// The peer, or TLS, will not have it: it is not tried again.
    refused: bool,
    trouble: Option<String>,
    opened: u32,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Ways {
    settings: Settings,
    /// TLS' part of a connection's configuration.
    client: ClientConfig,
    remote: SocketAddr,
    hello: Hello,
    ways: Vec<Way>,
    begun: Instant,
    /// The path that was there first, what the peer said, and until when the others are waited for.
    first: Option<(usize, Reply, Instant)>,
    /// Why the peer cannot have the session now.
    away: Option<String>,
    scratch: Vec<u8>,
}

impl Ways {
    /// Paths that are opened from now on.
    ///
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, [`Error::Tls`].
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

    /// Takes a UDP datagram that came to a path's local address; whether it was for the path.
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

    /// Likewise of several that came together, of `each` bytes but for the last; whether any was for the path.
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

    /// The network takes nothing more from a path's local address: it is opened anew as soon as that works.
    pub(crate) fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(way) = self.ways.get_mut(path) {
            way.trouble = Some(trouble.to_owned());
        }
    }

    /// Local addresses have changed; the path to look at.
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

    /// A path's packets leave from another address, or to another one, from now on: its connection is made anew, and takes its place.
    fn relocate(&mut self, now: Instant, path: usize, local: IpAddr, remote: SocketAddr) -> usize {
        if let Some(way) = self.ways.get_mut(path) {
            // Nothing that is sent to the old address arrives: what noq remembers of it is of no use.
            let which = path + MAX_LINKS * (1 + way.opened as usize);
            let endpoint = endpoint(&self.settings, which as u8);
            *way = Way { opened: way.opened, ..Way::new(now, local, remote, endpoint) };
        }
        path
    }

    /// One path: its timers, its handshake, its MTU.
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
            // A peer that was started anew has said so, and can be asked at once.
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

    /// The path that was there first and what the peer said, once the others work, too, or take long.
    pub(crate) fn ready(&self, now: Instant) -> Option<(usize, Reply)> {
        let (path, reply, until) = self.first?;
        let all = self.ways.iter().all(|way| way.joined || way.refused);
        (all || until <= now).then_some((path, reply))
    }

    /// The paths that work.
    pub(crate) fn joined(&self) -> impl Iterator<Item = usize> {
        (0..self.ways.len()).filter(|path| self.ways[*path].joined)
    }

    /// When [`Ways::ready`] is worth asking.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        self.first.map(|(_, _, until)| until)
    }

    /// The next packet that arrived on a path.
    pub(crate) fn receive(&mut self, path: usize) -> Option<Bytes> {
        let way = &mut self.ways[path];
        // A packet that comes before its path has joined belongs to no path of the transport.
        let packet = way.link.as_mut().and_then(Link::receive).filter(|_| way.joined)?;
        // Whatever it was, it is over.
        way.trouble = None;
        Some(packet)
    }

    /// A path works.
    pub(crate) fn any_joined(&self) -> bool {
        self.ways.iter().any(|way| way.joined)
    }

    /// The peer will not have a path.
    pub(crate) fn is_refused(&self, path: usize) -> bool {
        self.ways[path].refused
    }

    /// Why the peer cannot have this session now; another one may succeed.
    pub(crate) fn away(&self) -> Option<&str> {
        self.away.as_deref()
    }

    /// Why no path is left that may be tried, if none is.
    pub(crate) fn hopeless(&self) -> Option<String> {
        let none = self.ways.iter().all(|way| way.refused);
        none.then(|| self.trouble().unwrap_or_default())
    }

    /// Why a path does not work.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.ways.iter().find_map(|way| way.trouble.clone())
    }

    /// All datagrams that leave now; these packets first.
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

    /// Ends all paths; the peer is told by what is appended.
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

    /// When [`Ways::work`] must be called next.
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

    /// Packets that did not fit into noq's datagrams, which has to be none.
    pub(crate) fn oversized(&self) -> u64 {
        self.ways.iter().filter_map(|way| way.link.as_ref()).map(Link::oversized).sum()
    }

    /// How the paths are, of which the transport may know more.
    pub(crate) fn progress<W: Scheduler>(&self, session: Option<&Session<W>>) -> Vec<Progress> {
        // A path that came later is one of the session's once it has joined.
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

/// The endpoint of one path. The peer's datagrams are no larger than this end's.
fn endpoint(settings: &Settings, which: u8) -> Endpoint {
    let mut config = endpoint_config(settings, which);
    let _ = config.max_udp_payload_size(settings.mtu);
    Endpoint::new(Arc::new(config), None, true)
}

/// The configuration of noq's endpoints; `which` keeps those of a seed apart.
pub(crate) fn endpoint_config(settings: &Settings, which: u8) -> EndpointConfig {
    let mut config = EndpointConfig::default();
    // A larger one than any peer's setting: ours is what limits our datagrams.
    let _ = config.max_udp_payload_size(*crate::settings::MTUS.end());
    config.rng_seed(settings.seed.map(|mut seed| {
        seed[0] ^= which;
        seed
    }));
    config
}
