//! The end that takes files. An offer ([`Event::Begun`]) is answered by [`Receiver::accept`] or [`Receiver::refuse`]. After any input ([`Receiver::handle_datagram`], [`Receiver::handle_timeout`], [`Receiver::conclude`]) call
//! [`Receiver::poll`] until it has nothing, then [`Receiver::transmit`], and look at [`Receiver::next_wakeup`].
//!
//! Who does not know the secret gets no further than a QUIC handshake and [`MAX_HELLO`] bytes.

mod greeting;

use crate::error::Error;
use crate::hello::{Hello, MAX_HELLO, Verdict};
use crate::identity::{Identity, Secret};
use crate::link::{BROKEN, DONE, Link, Outgoing, REFUSED, Route};
use crate::sender::endpoint_config;
use crate::session::Session;
use crate::settings::Settings;
use crate::transfer::Transfer;
pub use crate::transfer::{Event, Id, Prefix, Summary};
use bytes::{Bytes, BytesMut};
use greeting::Waiting;
use noq_proto::{ConnectionHandle, DatagramEvent, Endpoint, FourTuple, Incoming, ServerConfig};
use plait_sched::{Builtin, PathId};
use sha2::Digest;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections at once, of whoever it is.
const MAX_CONNECTIONS: usize = 64;

/// From so many that have not said the secret on, addresses have to be proved before anything is kept (RFC 9000 §8.1.2).
const MAX_UNPROVED: usize = 8;

/// Transfers at once.
pub const MAX_TRANSFERS: usize = 4;

/// A connection has so long to say the secret.
const GREETING: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Connected {
    link: Link,
    remote: SocketAddr,
    accepted_at: Instant,
    /// A question was answered: nothing more is expected.
    answered: bool,
    /// The transfer and the path, once the secret was said.
    joined: Option<(Id, usize)>,
}

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    secret: Secret,
    endpoint: Endpoint,
    links: BTreeMap<ConnectionHandle, Connected>,
    /// Offers that nobody has answered.
    waiting: BTreeMap<Id, Waiting>,
    transfers: BTreeMap<Id, Transfer>,
    events: VecDeque<Event>,
    replies: Vec<Outgoing>,
    packets: Vec<(PathId, Bytes)>,
    scratch: Vec<u8>,
    scheduler: Builtin,
}

impl Receiver {
    /// An end that waits. Only who says the secret is listened to.
    ///
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, [`Error::Tls`].
    pub fn new(settings: Settings, identity: &Identity, secret: Secret) -> Result<Self, Error> {
        settings.check()?;
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server()?));
        server
            .transport_config(settings.tunnel())
            .max_incoming(MAX_CONNECTIONS)
            .incoming_buffer_size(64 << 10)
            .incoming_buffer_size_total(1 << 20);
        let config = Arc::new(endpoint_config(&settings, 0xff));
        // What it sends itself are 33 bytes, which leave where the answer comes from soonest.
        let scheduler = Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()))?;
        Ok(Self {
            settings,
            secret,
            endpoint: Endpoint::new(config, Some(Arc::new(server)), false),
            links: BTreeMap::new(),
            waiting: BTreeMap::new(),
            transfers: BTreeMap::new(),
            events: VecDeque::new(),
            replies: Vec::new(),
            packets: Vec::new(),
            scratch: Vec::new(),
            scheduler,
        })
    }

    /// Takes a UDP datagram that came from `remote` to the address `local`.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagram: BytesMut,
    ) {
        if let Some(handle) = self.let_in(now, FourTuple::new(remote, local), datagram) {
            self.work(now, handle);
        }
    }

    /// Takes several that came together, of `each` bytes but for the last: what follows from them is done once for all.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagrams: &[u8],
        each: usize,
    ) {
        let mut open = None;
        for datagram in datagrams.chunks(each.max(1)) {
            let handle = self.let_in(now, FourTuple::new(remote, local), BytesMut::from(datagram));
            if let Some(before) = open.filter(|_| open != handle) {
                self.work(now, before);
            }
            open = handle;
        }
        if let Some(handle) = open {
            self.work(now, handle);
        }
    }

    /// Hands a datagram to its connection, which is to be worked on then.
    fn let_in(&mut self, now: Instant, tuple: FourTuple, datagram: BytesMut) -> Option<ConnectionHandle> {
        self.scratch.clear();
        match self.endpoint.handle(now, tuple, None, datagram, &mut self.scratch)? {
            DatagramEvent::ConnectionEvent(handle, event) => {
                self.links.get_mut(&handle)?.link.handle_event(event);
                return Some(handle);
            }
            DatagramEvent::NewConnection(incoming) => self.meet(now, incoming),
            DatagramEvent::Response(transmit) => {
                let bytes = self.scratch.clone();
                self.reply(&transmit, bytes);
            }
        }
        None
    }

    fn reply(&mut self, transmit: &noq_proto::Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let (remote, source) = (transmit.destination, transmit.src_ip);
        self.replies.push(Outgoing { path: 0, remote, source, bytes, segment: None });
    }

    /// Somebody wants to connect.
    fn meet(&mut self, now: Instant, incoming: Incoming) {
        let mut bytes = Vec::new();
        let unproved = self.links.values().filter(|connected| connected.joined.is_none()).count();
        if self.links.len() >= MAX_CONNECTIONS {
            let transmit = self.endpoint.refuse(incoming, &mut bytes);
            self.reply(&transmit, bytes);
        } else if unproved >= MAX_UNPROVED && !incoming.remote_address_validated() && incoming.may_retry() {
            if let Ok(transmit) = self.endpoint.retry(incoming, &mut bytes) {
                self.reply(&transmit, bytes);
            }
        } else {
            let remote = incoming.remote_address();
            match self.endpoint.accept(incoming, now, &mut bytes, None) {
                Ok(accepted) => {
                    let handle = accepted.0;
                    let link = Link::new(accepted);
                    self.links.insert(
                        handle,
                        Connected { link, remote, accepted_at: now, answered: false, joined: None },
                    );
                    self.work(now, handle);
                }
                Err(error) => {
                    if let Some(transmit) = error.response {
                        self.reply(&transmit, bytes);
                    }
                }
            }
        }
    }

    /// Call when [`Receiver::next_wakeup`] has come; harmless at any other time.
    pub fn handle_timeout(&mut self, now: Instant) {
        let handles: Vec<ConnectionHandle> = self.links.keys().copied().collect();
        for handle in handles {
            self.work(now, handle);
        }
        let (mut over, mut silent) = (Vec::new(), Vec::new());
        for (id, transfer) in &mut self.transfers {
            if let Err(error) = transfer.session.handle_timeout(transfer.time(now)) {
                over.push((*id, Err(error)));
            } else if now.saturating_duration_since(transfer.heard_at) >= self.settings.patience {
                silent.push((*id, transfer.said));
            }
        }
        for (id, said) in silent {
            if said {
                // What became of the file is settled; only the sender's last word got lost.
                self.finish(now, &id);
            } else {
                over.push((id, Err(Error::Silent(self.settings.patience.as_secs()))));
            }
        }
        let silent = || Error::Silent(self.settings.patience.as_secs());
        let late = |waiting: &Waiting| now.saturating_duration_since(waiting.since) >= self.settings.patience;
        over.extend(
            self.waiting.iter().filter(|(_, waiting)| late(waiting)).map(|(id, _)| (*id, Err(silent()))),
        );
        for (id, outcome) in over {
            self.end(now, &id, outcome);
        }
    }

    /// One connection: its timers, its greeting, what arrived on it.
    fn work(&mut self, now: Instant, handle: ConnectionHandle) {
        let Some(connected) = self.links.get_mut(&handle) else { return };
        let link = &mut connected.link;
        link.work(now, &mut self.endpoint, MAX_HELLO + 1);
        if link.lost().is_some() {
            let done = matches!(link.lost(), Some(noq_proto::ConnectionError::ApplicationClosed(close)) if close.error_code.into_inner() == u64::from(DONE));
            let joined = connected.joined.take();
            if link.is_drained() {
                self.links.remove(&handle);
            }
            if let Some((id, path)) = joined {
                self.part(now, &id, path, handle, done);
            }
            return;
        }
        if link.is_drained() {
            self.links.remove(&handle);
            return;
        }
        match connected.joined {
            _ if link.is_closing() => {}
            Some((id, path)) => self.take(now, handle, &id, path),
            None => match Hello::decode(link.heard()) {
                Ok(Some(hello)) if !connected.answered => self.greet(now, handle, hello),
                Ok(_) if now.saturating_duration_since(connected.accepted_at) < GREETING => {}
                Ok(_) => link.close(now, BROKEN, "no greeting"),
                Err(error) => link.close(now, REFUSED, &error.to_string()),
            },
        }
    }

    /// The packets that came on a path.
    fn take(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        let Some(connected) = self.links.get_mut(&handle) else { return };
        let time = transfer.time(now);
        let mut any = false;
        while let Some(packet) = connected.link.receive() {
            transfer.session.handle(time, PathId(path as u8), &packet);
            any = true;
        }
        if any {
            transfer.heard_at = now;
            self.deliver(now, id);
        }
    }

    /// What is in order goes on.
    fn deliver(&mut self, now: Instant, id: &Id) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        while let Some(bytes) = transfer.session.read() {
            transfer.hash.update(&bytes);
            transfer.got += bytes.len() as u64;
            self.events.push_back(Event::Data { id: *id, bytes });
        }
        if transfer.got == transfer.hello.offer.size && transfer.whole_at.is_none() {
            transfer.whole_at = Some(now);
            let digest: [u8; 32] = transfer.hash.clone().finalize().into();
            if digest == transfer.hello.offer.digest {
                self.events.push_back(Event::Whole { id: *id });
            } else {
                transfer.say(Verdict::Differs, &digest);
            }
        }
        if transfer.said && transfer.session.is_drained() {
            self.finish(now, id);
        }
    }

    /// Whether a whole file is kept, which the sender is told.
    pub fn conclude(&mut self, id: &Id, kept: bool) {
        if let Some(transfer) = self.transfers.get_mut(id)
            && transfer.whole_at.is_some()
            && !transfer.said
        {
            let digest = transfer.hello.offer.digest;
            transfer.say(if kept { Verdict::Kept } else { Verdict::NotKept }, &digest);
        }
    }

    /// A file is not wanted, or cannot be kept: the sender is told why.
    pub fn refuse(&mut self, now: Instant, id: &Id, reason: &str) {
        for connected in self.links.values_mut().filter(|one| one.joined.is_some_and(|(of, _)| of == *id)) {
            connected.joined = None;
            connected.link.close(now, REFUSED, reason);
        }
        self.end(now, id, Err(Error::NotKept(reason.to_owned())));
    }

    /// A path's connection is gone. If the sender closed it, having heard the verdict, all is done.
    fn part(&mut self, now: Instant, id: &Id, path: usize, handle: ConnectionHandle, done: bool) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        if transfer.links.get(path).copied().flatten() == Some(handle) {
            transfer.links[path] = None;
        }
        if done {
            if transfer.said {
                self.finish(now, id);
            } else {
                self.end(now, id, Err(Error::Refused("the sender gave up".to_owned())));
            }
        }
    }

    fn finish(&mut self, now: Instant, id: &Id) {
        let Some(transfer) = self.transfers.get(id) else { return };
        let summary = Summary {
            bytes: transfer.got,
            resumed: transfer.resumed,
            duration: transfer.whole_at.unwrap_or(now).saturating_duration_since(transfer.epoch),
            paths: transfer.session.carried().1.to_vec(),
            longest_gap: transfer.session.longest_gap(),
        };
        let outcome = match transfer.kept {
            Some(Verdict::Kept) => Ok(summary),
            Some(Verdict::NotKept) => Err(Error::NotKept(transfer.hello.offer.name.clone())),
            _ => Err(Error::Differs),
        };
        self.end(now, id, outcome);
    }

    fn end(&mut self, now: Instant, id: &Id, outcome: Result<Summary, Error>) {
        let waited = self.waiting.remove(id).map(|waiting| waiting.hello);
        let Some(hello) = self.transfers.remove(id).map(|transfer| transfer.hello).or(waited) else { return };
        for connected in self.links.values_mut().filter(|one| one.joined.is_some_and(|(of, _)| of == *id)) {
            connected.joined = None;
            if !connected.link.is_closing() {
                connected.link.close(now, DONE, "done");
            }
        }
        self.events.push_back(Event::Ended { id: *id, offer: hello.offer, outcome });
    }

    /// What happened next.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// All datagrams that leave now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        out.append(&mut self.replies);
        let burst = NonZeroUsize::new(self.settings.burst()).unwrap_or(NonZeroUsize::MIN);
        let route = Route { path: 0, burst };
        let mut over = Vec::new();
        for (id, transfer) in &mut self.transfers {
            let time = transfer.time(now);
            if let Err(error) = transfer.session.transmit(time, &mut transfer.verdict, &mut self.packets) {
                over.push((*id, Err(error)));
            }
            for (path, packet) in self.packets.drain(..) {
                if let Some(handle) = transfer.links[path.index()]
                    && let Some(connected) = self.links.get_mut(&handle)
                {
                    connected.link.send(now, packet, route, out);
                }
            }
        }
        for (id, outcome) in over {
            self.end(now, &id, outcome);
        }
        for connected in self.links.values_mut() {
            connected.link.transmit(now, route, out);
        }
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let links = self.links.values().flat_map(|connected| {
            let greeting =
                connected.joined.is_none() && connected.link.lost().is_none() && !connected.link.is_closing();
            [connected.link.next_wakeup(), greeting.then(|| connected.accepted_at + GREETING)]
        });
        let transfers = self.transfers.values().flat_map(|transfer| {
            let wakeup = transfer.session.next_wakeup();
            let wakeup = wakeup.map(|time| transfer.epoch + Duration::from_nanos(time.as_nanos()));
            [wakeup, Some(transfer.heard_at + self.settings.patience)]
        });
        let waiting = self.waiting.values().map(|waiting| Some(waiting.since + self.settings.patience));
        links.chain(transfers).flatten().chain(waiting.flatten()).min()
    }

    /// Connections at the moment, of whoever it is; for looking at its limits.
    pub fn connections(&self) -> usize {
        self.links.len()
    }

    /// Transfers at the moment.
    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    /// Bytes of a transfer that have come, in order.
    pub fn got(&self, id: &Id) -> Option<(u64, &Session)> {
        self.transfers.get(id).map(|transfer| (transfer.got, &transfer.session))
    }
}
