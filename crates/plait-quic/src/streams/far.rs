//! The accepting end. After any input ([`Far::handle_datagram`], [`Far::handle_timeout`], use of
//! [`Far::streams`]) call [`Far::poll`] until it returns `None`. Then call [`Far::transmit`], and
//! check [`Far::next_wakeup`].

use super::Streams;
use crate::clients::{Clients, Guest, Limits};
pub use crate::door::Id;
use crate::door::{Door, Heard};
use crate::error::Error;
use crate::hello::Hello;
use crate::identity::Identity;
use crate::link::{AWAY, DONE, NARROW, Outgoing, REFUSED};
use crate::pilot::{Change, Pilot};
use crate::recording::{ENDLESS, Recording};
use crate::session::{Agreed, Extent, PathCounts, Session};
use crate::settings::Settings;
use crate::terms::PathTerms;
use bytes::{Bytes, BytesMut};
use noq_proto::ConnectionHandle;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::endpoint::Side;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// An event of the accepting end.
#[derive(Debug)]
pub enum News {
    /// A client with the secret has connected.
    Came {
        /// Session of the client.
        id: Id,
        /// The client.
        from: Guest,
    },
    /// A peer presented a wrong secret.
    Rejected {
        /// Address of the peer.
        remote: SocketAddr,
    },
    /// A client has left, with all its streams.
    Left {
        /// Last state of the client.
        standing: Standing,
        /// Reason: [`Error::Stopped`] if the client ended the connection.
        error: Error,
    },
    /// Another scheduler decides on the data to a client.
    Changed {
        /// The client.
        from: Guest,
        /// The change, with its reason.
        change: Change,
    },
}

/// State of a peer.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Session of the peer.
    pub id: Id,
    /// Client of the peer.
    pub from: Guest,
    /// Number of current streams.
    pub streams: usize,
    /// Number of streams and flows ever opened.
    pub opened: u32,
    /// Bytes of streams that were sent to the peer.
    pub sent: u64,
    /// Bytes of streams that arrived from the peer.
    pub received: u64,
    /// Counters of the paths.
    pub paths: Vec<PathCounts>,
}

#[derive(Debug)]
struct Peer<W> {
    guest: Guest,
    session: Session<W>,
    /// Terms of paths that the peer reported.
    told: Vec<(usize, PathTerms)>,
    pilot: Option<Box<dyn Pilot<W>>>,
    streams: Streams,
    hello: Hello,
    links: Vec<Option<ConnectionHandle>>,
    epoch: Instant,
    /// Time at which a path last worked.
    open_at: Instant,
}

impl<W: Scheduler> Peer<W> {
    fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    /// Applies the terms of paths that the peer reports.
    fn obey(&mut self, time: Time) {
        if self.streams.told().eq(self.told.iter().copied()) {
            return;
        }
        self.told = self.streams.told().collect();
        for (path, terms) in &self.told {
            self.session.set_terms(time, PathId(*path as u8), terms);
        }
    }

    /// Asks the pilot for another scheduler.
    fn steer(&mut self, time: Time) -> Result<Option<Change>, Error> {
        let Some(pilot) = &mut self.pilot else { return Ok(None) };
        let Some(scheduler) = pilot.look(time, &self.session, None) else { return Ok(None) };
        self.session.replace_scheduler(scheduler)?;
        Ok(pilot.changes().last().cloned())
    }

    fn is_open(&self) -> bool {
        self.links.iter().any(Option::is_some)
    }

    fn standing(&self, id: &Id) -> Standing {
        let [received, sent] = self.streams.carried();
        let paths = self.session.counts(|path| self.links.get(path).is_some_and(Option::is_some));
        let (streams, opened) = (self.streams.len(), self.streams.opened());
        Standing { id: *id, from: self.guest.clone(), streams, opened, sent, received, paths }
    }
}

/// Makes a scheduler for each peer.
type Maker<W> = Box<dyn FnMut() -> Result<W, Error> + Send>;

/// Makes a pilot for each peer.
type Pilots<W> = Box<dyn FnMut() -> Box<dyn Pilot<W>> + Send>;

/// The accepting end, with all its peers.
pub struct Far<W = Builtin> {
    settings: Settings,
    door: Door,
    peers: BTreeMap<Id, Peer<W>>,
    maker: Maker<W>,
    pilots: Option<Pilots<W>>,
    /// Recording of the data to the first peer.
    recording: Option<Recording>,
    news: VecDeque<News>,
    packets: Vec<(PathId, Bytes)>,
}

impl<W: Scheduler> Far<W> {
    /// Creates an end that waits for clients with their secrets. `maker` makes the scheduler for
    /// the data to each peer.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(
        settings: Settings,
        identity: &Identity,
        clients: impl Into<Clients>,
        maker: impl FnMut() -> Result<W, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        Ok(Self {
            settings,
            door: Door::new(settings, identity, clients.into())?,
            peers: BTreeMap::new(),
            maker: Box::new(maker),
            pilots: None,
            recording: None,
            news: VecDeque::new(),
            packets: Vec::new(),
        })
    }

    /// Sets the pilots, which may change the schedulers. `pilots` makes one for each peer.
    pub fn set_pilots(&mut self, pilots: impl FnMut() -> Box<dyn Pilot<W>> + Send + 'static) {
        self.pilots = Some(Box::new(pilots));
    }

    /// Records the data to the first peer that connects, and its fate. A write error ends the
    /// recording.
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// Handles a UDP datagram from `remote` to the local address `local`.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagram: BytesMut,
    ) {
        if let Some(handle) = self.door.handle_datagram(now, remote, local, datagram) {
            self.work(now, handle);
        }
    }

    /// Handles UDP datagrams that arrived together, of `each` bytes except the last. The work that
    /// follows is done once for all of them.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        local: Option<IpAddr>,
        datagrams: &[u8],
        each: usize,
    ) {
        for handle in self.door.handle_datagrams(now, remote, local, datagrams, each) {
            self.work(now, handle);
        }
    }

    /// Handles timers. Call it when [`Far::next_wakeup`] has come; it is harmless at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for handle in self.door.handles() {
            self.work(now, handle);
        }
        let mut over = Vec::new();
        for (id, peer) in &mut self.peers {
            if peer.is_open() {
                peer.open_at = now;
            }
            if let Err(error) = peer.session.handle_timeout(peer.time(now)) {
                over.push((*id, error));
            } else if now.saturating_duration_since(peer.open_at) >= self.settings.patience {
                over.push((*id, Error::Silent(self.settings.patience.as_secs())));
            }
        }
        for (id, error) in over {
            self.end(now, &id, error);
        }
    }

    /// Works on one connection: its timers, its greeting, its packets.
    fn work(&mut self, now: Instant, handle: ConnectionHandle) {
        match self.door.work(now, handle) {
            Heard::Nothing => {}
            Heard::Rejected(remote) => self.news.push_back(News::Rejected { remote }),
            Heard::Greeted(hello, guest) => self.greet(now, handle, hello, guest),
            Heard::Packets(id, path) => self.take(now, handle, &id, path),
            Heard::Parted { id, path, done } => {
                let Some(peer) = self.peers.get_mut(&id) else { return };
                if peer.links[path] == Some(handle) {
                    peer.links[path] = None;
                }
                if done {
                    self.end(now, &id, Error::Stopped);
                }
            }
        }
    }

    /// Handles the greeting of a client on a path.
    fn greet(&mut self, now: Instant, handle: ConnectionHandle, hello: Hello, guest: Guest) {
        let (id, path) = (hello.session, usize::from(hello.path));
        if !hello.offer.is_streams() {
            let reason = "this is a proxy (plait proxy --serve); files are taken by plait recv";
            return self.door.close(now, handle, REFUSED, reason);
        }
        let limits = self.door.limits(&guest);
        let same = || self.peers.values().filter(|peer| peer.guest.number == guest.number).count();
        let refusal = match self.peers.get(&id) {
            _ if path >= limits.paths => Some((REFUSED, format!("{} paths are allowed", limits.paths))),
            Some(peer) if !peer.hello.agrees(&hello) => {
                Some((REFUSED, "the paths differ in what they say".to_owned()))
            }
            None if hello.continues => Some((AWAY, "the proxy was started anew".to_owned())),
            None if same() >= limits.at_once => {
                Some((AWAY, format!("the proxy is busy: {} near ends are allowed", limits.at_once)))
            }
            _ => None,
        };
        if let Some((code, refusal)) = refusal {
            return self.door.close(now, handle, code, &refusal);
        }
        self.door.admit(handle, id, path);
        if !self.peers.contains_key(&id) {
            match self.meet(now, hello, guest.clone()) {
                Ok(peer) => {
                    self.peers.insert(id, peer);
                    self.news.push_back(News::Came { id, from: guest });
                }
                Err(error) => return self.door.close(now, handle, REFUSED, &error.to_string()),
            }
        }
        if self.door.answer(now, handle)
            && let Some(peer) = self.peers.get_mut(&id)
        {
            let time = peer.time(now);
            peer.session.join(time, path, &[]);
            peer.session.measure(time, path, self.door.round_trip(handle));
            // The reported terms of the path hold for its new connection, too.
            peer.told.clear();
            peer.links.resize(peer.links.len().max(path + 1), None);
            self.door.replace(now, &mut peer.links[path], handle);
            peer.open_at = now;
            self.take(now, handle, &id, path);
        }
    }

    fn meet(&mut self, now: Instant, hello: Hello, guest: Guest) -> Result<Peer<W>, Error> {
        let agreed = Agreed {
            paths: hello.paths.into(),
            initial: hello.path.into(),
            segment: hello.segment,
            window: self.settings.window,
            extent: Extent::Endless,
        };
        let mut session = Session::new(Side::Server, &self.settings, agreed, (self.maker)()?)?;
        if let Some(mut recording) = self.recording.take() {
            recording.number_paths(agreed.paths);
            session.record(Time::ZERO, recording, self.settings.mtu, ENDLESS);
        }
        let pilot = self.pilots.as_mut().map(|make| make());
        let (streams, links) = (Streams::new(false, hello.segment), vec![None; agreed.paths]);
        Ok(Peer { guest, session, told: Vec::new(), pilot, streams, hello, links, epoch: now, open_at: now })
    }

    /// Handles the packets that arrived on a path.
    fn take(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let time = peer.time(now);
        while let Some(packet) = self.door.receive(handle) {
            peer.session.handle(time, PathId(path as u8), &packet);
        }
        if let Err(error) = peer.streams.take(&mut peer.session) {
            return self.end(now, id, error);
        }
        peer.obey(time);
    }

    fn end(&mut self, now: Instant, id: &Id, error: Error) {
        if let Some(mut peer) = self.peers.remove(id) {
            let _ = peer.session.end_recording(peer.time(now), false);
            let (code, reason) = match &error {
                Error::Stopped => (DONE, "done".to_owned()),
                // The peer may connect again with another session.
                Error::Silent(_) | Error::Away(_) => (AWAY, error.to_string()),
                other => (REFUSED, other.to_string()),
            };
            self.door.end(now, id, code, &reason);
            self.news.push_back(News::Left { standing: peer.standing(id), error });
        }
    }

    /// Ends the sessions of all peers.
    pub fn stop(&mut self, now: Instant) {
        for id in self.ids() {
            self.end(now, &id, Error::Away("the proxy was ended".to_owned()));
        }
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Returns the sessions of all peers.
    pub fn ids(&self) -> Vec<Id> {
        self.peers.keys().copied().collect()
    }

    /// Returns the client of a peer.
    pub fn guest(&self, id: &Id) -> Option<&Guest> {
        self.peers.get(id).map(|peer| &peer.guest)
    }

    /// Returns the limits of a client.
    pub fn limits(&self, guest: &Guest) -> Limits {
        self.door.limits(guest)
    }

    /// Returns the states of all peers.
    pub fn standings(&self) -> Vec<Standing> {
        self.peers.iter().map(|(id, peer)| peer.standing(id)).collect()
    }

    /// Returns a peer's streams.
    pub fn streams(&mut self, id: &Id) -> Option<&mut Streams> {
        self.peers.get_mut(id).map(|peer| &mut peer.streams)
    }

    /// Queues a datagram on a flow of a peer.
    pub fn send_datagram(&mut self, now: Instant, id: &Id, flow: u32, bytes: &[u8]) {
        if let Some(peer) = self.peers.get_mut(id) {
            let time = peer.time(now);
            peer.streams.send_datagram(time, flow, bytes);
        }
    }

    /// Payload bytes of a peer by path: sent bytes, duplicates included, and received bytes,
    /// without duplicates.
    pub fn carried(&self, id: &Id) -> Option<(&[u64], &[u64])> {
        self.peers.get(id).map(|peer| peer.session.carried())
    }

    /// Appends all datagrams that leave now to `out`.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        let mut over = Vec::new();
        for (id, peer) in &mut self.peers {
            let time = peer.time(now);
            if let Some(path) = peer.session.take_hole(time, |_, _| false)
                && let Some(handle) = peer.links[path].take()
            {
                self.door.close(now, handle, NARROW, "full datagrams back do not get through");
            }
            match peer.steer(time) {
                Ok(None) => {}
                Ok(Some(change)) => {
                    self.news.push_back(News::Changed { from: peer.guest.clone(), change });
                }
                Err(error) => over.push((*id, error)),
            }
            if let Err(error) = peer.streams.transmit(time, &mut peer.session, &mut self.packets) {
                over.push((*id, error));
            }
            for (path, packet) in self.packets.drain(..) {
                if let Some(handle) = peer.links[path.index()] {
                    self.door.send(now, handle, packet, out);
                }
            }
        }
        for (id, error) in over {
            self.end(now, &id, error);
        }
        self.door.transmit(now, out);
    }

    /// Returns the time at which [`Far::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let peers = self.peers.values().flat_map(|peer| {
            let session = peer.session.next_wakeup();
            let session = session.map(|time| peer.epoch + Duration::from_nanos(time.as_nanos()));
            [session, (!peer.is_open()).then(|| peer.open_at + self.settings.patience)]
        });
        peers.flatten().chain(self.door.next_wakeup()).min()
    }

    /// Number of connections, with or without the secret; for tests of the limits.
    pub fn connections(&self) -> usize {
        self.door.connections()
    }
}
