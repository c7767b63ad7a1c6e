//! The accepting end. After any input ([`Far::handle_datagrams`], [`Far::handle_timeout`], use of
//! [`Far::streams`]) call [`Far::poll`] until it returns `None`. Then call [`Far::transmit`], and
//! check [`Far::next_wakeup`].

use super::Streams;
use crate::accepted_session::AcceptedSession;
pub use crate::acceptor::Id;
use crate::acceptor::{Acceptor, AcceptorEvent};
use crate::clients::{Clients, ConnectedClient, Limits};
use crate::connection::{BLACK_HOLE, DONE, DatagramBatch, REFUSED, ReceivedBatch, UNAVAILABLE};
use crate::error::Error;
use crate::hello::Hello;
use crate::identity::Identity;
use crate::pilot::{Pilot, SchedulerChange};
use crate::recording::{ENDLESS, Recording};
use crate::session::{Delivery, PathCounts};
use crate::settings::Settings;
use crate::terms::PathTerms;
use bytes::Bytes;
use noq_proto::ConnectionHandle;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

/// An event of the accepting end.
#[derive(Debug)]
pub enum PeerEvent {
    /// A client with the secret has connected.
    Connected {
        /// Session of the client.
        id: Id,
        /// The client.
        from: ConnectedClient,
    },
    /// A peer presented a wrong secret.
    Rejected {
        /// Address of the peer.
        remote: SocketAddr,
    },
    /// A client has left, with all its streams.
    Disconnected {
        /// Last state of the client.
        status: PeerStatus,
        /// Reason: [`Error::Stopped`] if the client ended the connection.
        error: Error,
    },
    /// Another scheduler decides on the data to a client.
    Changed {
        /// The client.
        from: ConnectedClient,
        /// The change, with its reason.
        change: SchedulerChange,
    },
}

/// State of a peer.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Session of the peer.
    pub id: Id,
    /// Client of the peer.
    pub from: ConnectedClient,
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
    /// The peer's address on each path, if it is known.
    pub remotes: Vec<Option<SocketAddr>>,
}

type Peer<W> = AcceptedSession<PeerState<W>, W>;

/// State of a peer's streams.
#[derive(Debug)]
struct PeerState<W> {
    streams: Streams,
    /// Terms of paths that the peer reported.
    path_terms: Vec<(usize, PathTerms)>,
    pilot: Option<Box<dyn Pilot<W>>>,
}

impl<W: Scheduler> Peer<W> {
    /// Applies the terms of paths that the peer reports.
    fn apply_terms(&mut self, time: Time) {
        let PeerState { streams, path_terms, .. } = &mut self.state;
        if streams.peer_terms().eq(path_terms.iter().copied()) {
            return;
        }
        *path_terms = streams.peer_terms().collect();
        for (path, terms) in path_terms {
            self.session.set_terms(time, PathId(*path as u8), terms);
        }
    }

    /// Asks the pilot for another scheduler.
    fn steer(&mut self, time: Time) -> Result<Option<SchedulerChange>, Error> {
        let Some(pilot) = &mut self.state.pilot else { return Ok(None) };
        let Some(scheduler) = pilot.choose_scheduler(time, &self.session, None) else { return Ok(None) };
        self.session.replace_scheduler(scheduler)?;
        Ok(pilot.changes().last().cloned())
    }

    fn status(&self, id: &Id) -> PeerStatus {
        let streams = &self.state.streams;
        let ([received, sent], opened) = (streams.carried(), streams.opened());
        let paths = self.session.counts(|path| self.has_connection(path));
        let (streams, from, remotes) = (streams.len(), self.client.clone(), self.remotes().to_vec());
        PeerStatus { id: *id, from, streams, opened, sent, received, paths, remotes }
    }
}

/// Makes a scheduler for each peer.
type MakeScheduler<W> = Box<dyn FnMut() -> Result<W, Error> + Send>;

/// Makes a pilot for each peer.
type MakePilot<W> = Box<dyn FnMut() -> Box<dyn Pilot<W>> + Send>;

/// The accepting end, with all its peers.
pub struct Far<W = Builtin> {
    settings: Settings,
    acceptor: Acceptor,
    peers: BTreeMap<Id, Peer<W>>,
    make_scheduler: MakeScheduler<W>,
    make_pilot: Option<MakePilot<W>>,
    /// Recording of the data to the first peer.
    recording: Option<Recording>,
    events: VecDeque<PeerEvent>,
    packets: Vec<(PathId, Bytes)>,
}

impl<W: Scheduler> Far<W> {
    /// Creates an end that waits for clients with their secrets. `make_scheduler` makes the
    /// scheduler for the data to each peer.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(
        settings: Settings,
        identity: &Identity,
        clients: impl Into<Clients>,
        make_scheduler: impl FnMut() -> Result<W, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        Ok(Self {
            settings,
            acceptor: Acceptor::new(settings, identity, clients.into())?,
            peers: BTreeMap::new(),
            make_scheduler: Box::new(make_scheduler),
            make_pilot: None,
            recording: None,
            events: VecDeque::new(),
            packets: Vec::new(),
        })
    }

    /// Sets the pilots, which may change the schedulers. `make_pilot` makes one for each peer.
    pub fn set_pilots(&mut self, make_pilot: impl FnMut() -> Box<dyn Pilot<W>> + Send + 'static) {
        self.make_pilot = Some(Box::new(make_pilot));
    }

    /// Records the data to the first peer that connects, and its fate. A write error ends the
    /// recording.
    pub fn record(&mut self, recording: Recording) {
        self.recording = Some(recording);
    }

    /// Handles UDP datagrams. The work that follows is done once for all of them.
    pub fn handle_datagrams(&mut self, now: Instant, batch: &ReceivedBatch<'_>) {
        for handle in self.acceptor.handle_datagrams(now, batch) {
            // Without data, only packets that keep the path open show that the peer is there.
            let id = self.acceptor.session_of(handle);
            if let Some(peer) = id.and_then(|id| self.peers.get_mut(&id)) {
                peer.heard_at = now;
            }
            self.work(now, handle);
        }
    }

    /// Handles timers. Call it when [`Far::next_wakeup`] has come; it is harmless at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for handle in self.acceptor.handles() {
            self.work(now, handle);
        }
        let mut ended = Vec::new();
        for (id, peer) in &mut self.peers {
            if let Err(error) = peer.session.handle_timeout(peer.time(now)) {
                ended.push((*id, error));
            } else if peer.is_silent(now, self.settings.patience) {
                ended.push((*id, Error::Silent(self.settings.patience.as_secs())));
            }
        }
        for (id, error) in ended {
            self.end(now, &id, error);
        }
    }

    /// Works on one connection: its timers, its greeting, its packets.
    fn work(&mut self, now: Instant, handle: ConnectionHandle) {
        match self.acceptor.work(now, handle) {
            AcceptorEvent::Nothing => {}
            AcceptorEvent::Rejected(remote) => self.events.push_back(PeerEvent::Rejected { remote }),
            AcceptorEvent::Greeted(hello, client) => self.greet(now, handle, hello, client),
            AcceptorEvent::Packets(id, path) => self.take(now, handle, &id, path),
            AcceptorEvent::Disconnected { id, path, done } => {
                let Some(peer) = self.peers.get_mut(&id) else { return };
                peer.leave(path, handle);
                if done {
                    self.end(now, &id, Error::Stopped);
                }
            }
        }
    }

    /// Handles the greeting of a client on a path.
    fn greet(&mut self, now: Instant, handle: ConnectionHandle, hello: Hello, client: ConnectedClient) {
        let (id, path) = (hello.session, usize::from(hello.path));
        if !hello.offer.is_streams() {
            let reason = "this is a proxy (plait proxy --serve); files are taken by plait recv";
            return self.acceptor.close(now, handle, REFUSED, reason);
        }
        let limits = self.acceptor.limits(&client);
        let same = || self.peers.values().filter(|peer| peer.client.number == client.number).count();
        let refusal = match self.peers.get(&id) {
            _ if path >= limits.paths => Some((REFUSED, format!("{} paths are allowed", limits.paths))),
            Some(peer) if !peer.hello.agrees(&hello) => {
                Some((REFUSED, "the greetings of the paths differ".to_owned()))
            }
            None if hello.continues => Some((UNAVAILABLE, "the far end was restarted".to_owned())),
            None if same() >= limits.at_once => {
                Some((UNAVAILABLE, format!("the far end is busy: {} near ends are allowed", limits.at_once)))
            }
            _ => None,
        };
        if let Some((code, refusal)) = refusal {
            return self.acceptor.close(now, handle, code, &refusal);
        }
        self.acceptor.admit(handle, id, path);
        if !self.peers.contains_key(&id) {
            match self.new_peer(now, hello, client.clone()) {
                Ok(peer) => {
                    self.peers.insert(id, peer);
                    self.events.push_back(PeerEvent::Connected { id, from: client });
                }
                Err(error) => return self.acceptor.close(now, handle, REFUSED, &error.to_string()),
            }
        }
        if self.acceptor.answer(now, handle)
            && let Some(peer) = self.peers.get_mut(&id)
        {
            peer.join(now, path, handle, &mut self.acceptor);
            // The reported terms of the path hold for its new connection, too.
            peer.state.path_terms.clear();
            self.take(now, handle, &id, path);
        }
    }

    fn new_peer(&mut self, now: Instant, hello: Hello, client: ConnectedClient) -> Result<Peer<W>, Error> {
        let scheduler = (self.make_scheduler)()?;
        let state = PeerState {
            streams: Streams::new(false, hello.segment),
            path_terms: Vec::new(),
            pilot: self.make_pilot.as_mut().map(|make| make()),
        };
        let mut peer =
            Peer::new(now, &self.settings, (hello, client), Delivery::Unordered, scheduler, state)?;
        if let Some(mut recording) = self.recording.take() {
            recording.number_paths(peer.session.agreed().paths);
            peer.session.record(Time::ZERO, recording, self.settings.mtu, ENDLESS);
        }
        Ok(peer)
    }

    /// Handles the packets that arrived on a path.
    fn take(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.receive(now, path, handle, &mut self.acceptor);
        if let Err(error) = peer.state.streams.take(&mut peer.session) {
            return self.end(now, id, error);
        }
        peer.apply_terms(peer.time(now));
    }

    fn end(&mut self, now: Instant, id: &Id, error: Error) {
        if let Some(mut peer) = self.peers.remove(id) {
            let _ = peer.session.end_recording(peer.time(now), false);
            let (code, reason) = match &error {
                Error::Stopped => (DONE, "done".to_owned()),
                // The peer may connect again with another session.
                Error::Silent(_) | Error::Unavailable(_) => (UNAVAILABLE, error.to_string()),
                other => (REFUSED, other.to_string()),
            };
            self.acceptor.end(now, id, code, &reason);
            self.events.push_back(PeerEvent::Disconnected { status: peer.status(id), error });
        }
    }

    /// Ends the sessions of all peers.
    pub fn stop(&mut self, now: Instant) {
        for id in self.ids() {
            self.end(now, &id, Error::Unavailable("the far end has ended".to_owned()));
        }
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<PeerEvent> {
        self.events.pop_front()
    }

    /// Returns the sessions of all peers.
    pub fn ids(&self) -> Vec<Id> {
        self.peers.keys().copied().collect()
    }

    /// Returns the client of a peer.
    pub fn client(&self, id: &Id) -> Option<&ConnectedClient> {
        self.peers.get(id).map(|peer| &peer.client)
    }

    /// Returns the limits of a client.
    pub fn limits(&self, client: &ConnectedClient) -> Limits {
        self.acceptor.limits(client)
    }

    /// Returns the states of all peers.
    pub fn statuses(&self) -> Vec<PeerStatus> {
        self.peers.iter().map(|(id, peer)| peer.status(id)).collect()
    }

    /// Returns a peer's streams.
    pub fn streams(&mut self, id: &Id) -> Option<&mut Streams> {
        self.peers.get_mut(id).map(|peer| &mut peer.state.streams)
    }

    /// Queues a datagram on a flow of a peer.
    pub fn send_datagram(&mut self, now: Instant, id: &Id, flow: u32, bytes: &[u8]) {
        if let Some(peer) = self.peers.get_mut(id) {
            let time = peer.time(now);
            peer.state.streams.send_datagram(time, flow, bytes);
        }
    }

    /// Payload bytes of a peer by path: sent bytes, duplicates included, and received bytes,
    /// without duplicates.
    pub fn carried(&self, id: &Id) -> Option<(&[u64], &[u64])> {
        self.peers.get(id).map(|peer| peer.session.carried())
    }

    /// Appends all datagrams that leave now to `out`.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let mut ended = Vec::new();
        for (id, peer) in &mut self.peers {
            let time = peer.time(now);
            if let Some(path) = peer.session.take_black_hole(time, |_, _| false)
                && let Some(handle) = peer.take_handle(path)
            {
                self.acceptor.close(now, handle, BLACK_HOLE, "full datagrams back do not get through");
            }
            match peer.steer(time) {
                Ok(None) => {}
                Ok(Some(change)) => {
                    self.events.push_back(PeerEvent::Changed { from: peer.client.clone(), change });
                }
                Err(error) => ended.push((*id, error)),
            }
            if let Err(error) = peer.state.streams.transmit(time, &mut peer.session, &mut self.packets) {
                ended.push((*id, error));
            }
            peer.send(now, &mut self.packets, &mut self.acceptor, out);
        }
        for (id, error) in ended {
            self.end(now, &id, error);
        }
        self.acceptor.transmit(now, out);
    }

    /// Returns the time at which [`Far::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let peers = self
            .peers
            .values()
            .flat_map(|peer| [peer.next_wakeup(), Some(peer.heard_at + self.settings.patience)]);
        peers.flatten().chain(self.acceptor.next_wakeup()).min()
    }

    /// Number of connections, with or without the secret; for tests of the limits.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }
}
