//! The end that has a file: opens the paths, and sends.
//!
//! After any input ([`Sender::handle_datagram`], [`Sender::handle_timeout`]) call [`Sender::transmit`], and look at
//! [`Sender::outcome`] and [`Sender::next_wakeup`].

mod way;

use crate::error::Error;
use crate::hello::{Hello, Offer, REPLY_BYTES, Reply, VERDICT_BYTES, Verdict};
use crate::identity::{self, Fingerprint, Secret};
use crate::link::{BROKEN, DONE, Link, Outgoing, Route};
use crate::session::{Agreed, Session};
use crate::settings::{MAX_LINKS, Settings};
use crate::source::{Rest, Source};
use crate::terms::{Budgeted, Spent, Terms};
use bytes::{Bytes, BytesMut};
use noq_proto::{ClientConfig, DatagramEvent, Endpoint, EndpointConfig, FourTuple};
use plait_sched::{Builtin, PathId, PathState, Scheduler, Time};
use plait_transport::endpoint::Side;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use way::{RETRY, Way, is_meant};

/// The first path waits for the others as long again as it took itself to open, and no longer than this: who comes later is asked for only when its
/// question is repeated.
const GRACE: Duration = Duration::from_millis(200);

/// Who only asks wants to know which paths there are.
const ANSWERS: Duration = Duration::from_secs(1);

/// When all paths have carried what they may: for so long an answer may still be on its way.
const LAST_WORD: Duration = Duration::from_secs(3);

/// What is to be sent, from where, to whom.
#[derive(Debug)]
pub struct Order {
    /// The receiver's address.
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
    /// The file, or the question whether one would be taken: then all is done once the paths are open, or take longer than others.
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

/// The sending end, of what `S` has, on the paths that `W` decides for.
#[derive(Debug)]
pub struct Sender<S, W = Builtin> {
    settings: Settings,
    order: Order,
    client: ClientConfig,
    ways: Vec<Way>,
    /// Who decides which path carries what, until the transport has it.
    scheduler: Option<W>,
    session: Option<Session<Budgeted<W>>>,
    spent: Spent,
    /// The path that was there first, what the receiver said, and until when the others are waited for.
    first: Option<(usize, Reply, Instant)>,
    source: S,
    epoch: Instant,
    heard_at: Instant,
    verdict: Vec<u8>,
    outcome: Option<Result<(), Error>>,
    packets: Vec<(PathId, Bytes)>,
    scratch: Vec<u8>,
}

impl<S: Source, W: Scheduler> Sender<S, W> {
    /// An end that has sent nothing yet.
    ///
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, [`Error::Tls`].
    pub fn new(
        now: Instant,
        settings: Settings,
        order: Order,
        scheduler: W,
        source: S,
    ) -> Result<Self, Error> {
        settings.check()?;
        let count = order.locals.len();
        if !(1..=MAX_LINKS).contains(&count) {
            return Err(Error::Setting(format!("{count} local addresses: choose 1 to {MAX_LINKS}")));
        }
        let mut client = ClientConfig::new(Arc::new(identity::client(order.fingerprint)?));
        client.transport_config(settings.tunnel());
        let ways = order.locals.iter().enumerate().map(|(index, &local)| {
            let config = endpoint_config(&settings, index as u8);
            Way::new(now, local, Endpoint::new(Arc::new(config), None, false))
        });
        Ok(Self {
            settings,
            client,
            ways: ways.collect(),
            order,
            scheduler: Some(scheduler),
            session: None,
            spent: Spent::default(),
            first: None,
            source,
            epoch: now,
            heard_at: now,
            verdict: Vec::new(),
            outcome: None,
            packets: Vec::new(),
            scratch: Vec::new(),
        })
    }

    fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    fn route(&self, path: usize) -> Route {
        Route { path, burst: NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN) }
    }

    /// Takes a UDP datagram that came to a path's local address.
    pub fn handle_datagram(&mut self, now: Instant, path: usize, remote: SocketAddr, datagram: BytesMut) {
        if self.let_in(now, path, remote, datagram) {
            self.work(now, path);
        }
    }

    /// Takes several that came together, of `each` bytes but for the last: what follows from them is done once for all.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        path: usize,
        remote: SocketAddr,
        datagrams: &[u8],
        each: usize,
    ) {
        let mut any = false;
        for datagram in datagrams.chunks(each.max(1)) {
            any |= self.let_in(now, path, remote, BytesMut::from(datagram));
        }
        if any {
            self.work(now, path);
        }
    }

    /// Hands a datagram to the path's connection; whether that is to be worked on then.
    fn let_in(&mut self, now: Instant, path: usize, remote: SocketAddr, datagram: BytesMut) -> bool {
        let Some(way) = self.ways.get_mut(path) else { return false };
        let tuple = FourTuple::new(remote, Some(way.local));
        self.scratch.clear();
        let event = way.endpoint.handle(now, tuple, None, datagram, &mut self.scratch);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event
            && let Some(link) = &mut way.link
        {
            link.handle_event(event);
            return true;
        }
        false
    }

    /// The network takes nothing more from a path's local address: it is opened anew as soon as that works.
    pub fn handle_failure(&mut self, path: usize, trouble: &str) {
        if let Some(way) = self.ways.get_mut(path) {
            way.trouble = Some(trouble.to_owned());
        }
    }

    /// A path's packets leave from another address from now on: its connection is made anew, and takes its place.
    pub fn relocate(&mut self, now: Instant, path: usize, local: IpAddr) {
        let Some(way) = self.ways.get_mut(path) else { return };
        // Nothing that is sent to the old address arrives: what noq remembers of it is of no use.
        let which = path + MAX_LINKS * (1 + way.opened as usize);
        let endpoint = Endpoint::new(Arc::new(endpoint_config(&self.settings, which as u8)), None, false);
        *way = Way { opened: way.opened, ..Way::new(now, local, endpoint) };
        self.work(now, path);
    }

    /// Call when [`Sender::next_wakeup`] has come; harmless at any other time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for path in 0..self.ways.len() {
            self.work(now, path);
        }
        self.begin(now);
        let time = self.time(now);
        let timeout = self.session.as_mut().map_or(Ok(()), |session| session.handle_timeout(time));
        if let Err(error) = timeout {
            self.end(Err(error));
        }
        if self.is_spent(now) {
            self.end(Err(Error::Spent));
        }
        if now.saturating_duration_since(self.heard_at) >= self.settings.patience {
            let trouble = self.ways.iter().find_map(|way| way.trouble.clone());
            self.end(Err(match trouble.filter(|_| self.session.is_none()) {
                Some(trouble) => Error::Refused(trouble),
                None => Error::Silent(self.settings.patience.as_secs()),
            }));
        }
    }

    /// One path: its timers, its handshake, what arrived on it.
    fn work(&mut self, now: Instant, path: usize) {
        let way = &mut self.ways[path];
        if way.link.is_none() && !way.refused && way.retry_at.is_some_and(|due| due <= now) {
            way.open(now, &self.client, self.order.remote);
        }
        let Some(link) = &mut way.link else { return };
        link.work(now, &mut way.endpoint, REPLY_BYTES + 1);
        if let Some(reason) = link.lost() {
            let meant = is_meant(reason);
            way.trouble = Some(reason.to_string());
            way.refused |= meant;
            way.retry_at = way.retry_at.or(Some(now + RETRY));
            way.joined = false;
            if link.is_drained() {
                way.link = None;
            }
            self.look_for_hope();
            return;
        }
        if link.is_connected() && !way.greeted {
            way.greeted = true;
            let hello = Hello {
                secret: self.order.secret,
                session: self.order.session,
                path: path as u8,
                paths: self.order.locals.len() as u8,
                segment: self.settings.segment(),
                offer: self.order.offer.clone(),
            };
            if link.say(&hello.encode()).is_err() {
                link.close(now, BROKEN, "the stream is not open");
            }
        }
        if !way.joined && way.greeted {
            match Reply::decode(link.heard(), self.order.offer.size) {
                Ok(Some(reply)) => {
                    way.joined = true;
                    way.opened += 1;
                    way.trouble = None;
                    self.heard_at = now;
                    let took = now.saturating_duration_since(self.epoch).min(GRACE);
                    let others = if self.order.offer.is_question() { ANSWERS } else { took };
                    self.first.get_or_insert((path, reply, now + others));
                    self.begin(now);
                }
                Ok(None) => {}
                Err(error) => {
                    way.trouble = Some(error.to_string());
                    way.refused = true;
                    link.close(now, BROKEN, "the answer cannot be read");
                }
            }
        }
        self.take(now, path);
    }

    /// The first path works, and so do the others or they take long: the transport begins.
    fn begin(&mut self, now: Instant) {
        let Some((path, reply, until)) = self.first else { return };
        let all = self.ways.iter().all(|way| way.joined || way.refused);
        if self.session.is_some() || !(all || until <= now) {
            return;
        }
        if self.order.offer.is_question() {
            self.end(Ok(()));
            return;
        }
        let agreed = Agreed {
            paths: self.ways.len(),
            initial: path,
            segment: self.settings.segment(),
            window: reply.window,
            sends: self.order.offer.size - reply.offset,
            gets: VERDICT_BYTES as u64,
        };
        let Some(scheduler) = self.scheduler.take() else { return };
        self.order.terms.resize(self.ways.len(), Terms::default());
        let scheduler = Budgeted::new(scheduler, self.spent.clone());
        match Session::over(Side::Client, &self.settings, agreed, &self.order.terms, scheduler) {
            Ok(mut session) => {
                session.write();
                self.session = Some(session);
            }
            Err(error) => self.end(Err(error)),
        }
    }

    /// The packets that came on a path, and what follows from them.
    fn take(&mut self, now: Instant, path: usize) {
        let time = self.time(now);
        let way = &mut self.ways[path];
        let Some(link) = &mut way.link else { return };
        let Some(session) = &mut self.session else { return };
        while let Some(packet) = link.receive() {
            session.handle(time, PathId(path as u8), &packet);
            self.heard_at = now;
            // Whatever it was, it is over.
            way.trouble = None;
        }
        while let Some(piece) = session.read() {
            self.verdict.extend_from_slice(&piece);
        }
        if self.verdict.len() == VERDICT_BYTES {
            let verdict = Verdict::decode(&self.verdict, &self.order.offer.digest);
            self.end(match verdict {
                Ok(Verdict::Kept) => Ok(()),
                Ok(Verdict::Differs) => Err(Error::Differs),
                Ok(Verdict::NotKept) => Err(Error::NotKept(self.order.offer.name.clone())),
                Err(error) => Err(error),
            });
        }
    }

    /// Nothing may leave any more, and what left was answered or will not be; and the receiver lacks something.
    fn is_spent(&self, now: Instant) -> bool {
        let over = |path: usize| self.spent.has(path) || self.ways[path].refused;
        let waits = self.session.as_ref().is_some_and(|session| !session.is_drained());
        let quiet = now.saturating_duration_since(self.heard_at) >= LAST_WORD;
        waits && quiet && self.spent.paths().0 != 0 && (0..self.ways.len()).all(over)
    }

    /// If no path is left that may be tried, there is nothing to wait for.
    fn look_for_hope(&mut self) {
        if self.ways.iter().all(|way| way.refused) {
            let trouble = self.ways.iter().find_map(|way| way.trouble.clone());
            self.end(Err(Error::Refused(trouble.unwrap_or_default())));
        }
    }

    fn end(&mut self, outcome: Result<(), Error>) {
        self.outcome.get_or_insert(outcome);
    }

    /// Ends it before its end: [`Error::Stopped`]. The receiver is told by what [`Sender::transmit`] gives.
    pub fn stop(&mut self) {
        self.end(Err(Error::Stopped));
    }

    /// All datagrams that leave now. Once there is an [`Sender::outcome`] it closes the paths: then send these, and stop.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        let time = self.time(now);
        let mut packets = std::mem::take(&mut self.packets);
        let place = self.resumed();
        let mut source = Rest { place, source: &mut self.source };
        if let Some(session) = &mut self.session
            && let Err(error) = session.transmit(time, &mut source, &mut packets)
        {
            self.end(Err(error));
        }
        if let Some(session) = &self.session {
            self.spent.count(&self.order.terms, session.carried().0);
        }
        for (path, packet) in packets.drain(..) {
            let route = self.route(path.index());
            let way = &mut self.ways[path.index()];
            if let Some(link) = way.link.as_mut().filter(|_| way.joined) {
                link.send(now, packet, route, out);
            }
        }
        self.packets = packets;
        for path in 0..self.ways.len() {
            let route = self.route(path);
            if let Some(link) = &mut self.ways[path].link {
                link.transmit(now, route, out);
                if self.outcome.is_some() {
                    link.close(now, DONE, "done");
                    link.transmit(now, route, out);
                }
            }
        }
    }

    /// When [`Sender::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let links = self.ways.iter().filter_map(|way| match &way.link {
            Some(link) => link.next_wakeup(),
            None => way.retry_at.filter(|_| !way.refused),
        });
        let session = self.session.as_ref().and_then(Session::next_wakeup);
        let session = session.map(|time| self.epoch + Duration::from_nanos(time.as_nanos()));
        let begin = self.first.filter(|_| self.session.is_none()).map(|(_, _, until)| until);
        links.chain(session).chain(begin).chain([self.heard_at + self.settings.patience]).min()
    }

    /// How it ended, once it has: `Ok` if the receiver has the file, by its SHA-256.
    pub fn outcome(&self) -> Option<&Result<(), Error>> {
        self.outcome.as_ref()
    }

    /// Likewise, taken.
    pub fn into_outcome(self) -> Option<Result<(), Error>> {
        self.outcome
    }

    /// Bytes of the file that the receiver had before.
    pub fn resumed(&self) -> u64 {
        self.first.map_or(0, |(_, reply, _)| reply.offset)
    }

    /// Bytes of the file that the receiver has, as far as that is known.
    pub fn acknowledged(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| self.resumed() + session.acknowledged())
    }

    /// The transport, once a path is open.
    pub fn session(&self) -> Option<&Session<Budgeted<W>>> {
        self.session.as_ref()
    }

    /// Packets that did not fit into noq's datagrams, which has to be none.
    pub fn oversized(&self) -> u64 {
        self.ways.iter().filter_map(|way| way.link.as_ref()).map(Link::oversized).sum()
    }

    /// The paths.
    pub fn progress(&self) -> Vec<Progress> {
        let facts = self.session.as_ref().map(Session::paths).unwrap_or_default();
        let path = |(index, way): (usize, &Way)| Progress {
            local: way.local,
            usable: way.joined && facts.get(index).is_some_and(|path| path.state == PathState::Active),
            sent: self.session.as_ref().map_or(0, |session| session.carried().0[index]),
            srtt: facts
                .get(index)
                .filter(|path| path.has_rtt())
                .map(|path| Duration::from_nanos(path.srtt.as_nanos())),
            opened: way.opened,
            trouble: way.trouble.clone(),
        };
        self.ways.iter().enumerate().map(path).collect()
    }
}

/// noq's endpoint; `which` keeps those of a seed apart.
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
