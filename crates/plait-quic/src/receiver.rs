//! The end that takes transfers. An offer ([`Event::Begun`]) is answered by [`Receiver::accept`] or [`Receiver::refuse`]. After any input ([`Receiver::handle_datagram`], [`Receiver::handle_timeout`], [`Receiver::conclude`]) call
//! [`Receiver::poll`] until it has nothing, then [`Receiver::transmit`], and look at [`Receiver::next_wakeup`].

mod greeting;
mod streamed;

use crate::clients::{Allowance, Clients, Guest};
use crate::door::{Door, Heard};
use crate::error::Error;
use crate::identity::Identity;
use crate::link::{DONE, Outgoing, REFUSED};
use crate::settings::Settings;
use crate::transfer::Transfer;
pub use crate::transfer::{Event, Id, Summary};
use bytes::{Bytes, BytesMut};
use greeting::Waiting;
use noq_proto::ConnectionHandle;
use plait_sched::{Builtin, PathId};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use streamed::Streamed;

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    door: Door,
    /// Offers that nobody has answered.
    waiting: BTreeMap<Id, Waiting>,
    transfers: BTreeMap<Id, Transfer>,
    /// Files that come on a stream: mode interop.
    streamed: BTreeMap<Id, Streamed>,
    events: VecDeque<Event>,
    packets: Vec<(PathId, Bytes)>,
    scheduler: Builtin,
}

impl Receiver {
    /// An end that waits for clients with their secrets.
    ///
    /// # Errors
    /// [`Error::Setting`] for what is out of bounds, [`Error::Tls`].
    pub fn new(settings: Settings, identity: &Identity, clients: impl Into<Clients>) -> Result<Self, Error> {
        // Its own data is short, and leaves on the path with the shortest round trip.
        let scheduler = Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()))?;
        Ok(Self {
            settings,
            door: Door::new(settings, identity, clients.into())?.with_streams(identity)?,
            waiting: BTreeMap::new(),
            transfers: BTreeMap::new(),
            streamed: BTreeMap::new(),
            events: VecDeque::new(),
            packets: Vec::new(),
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
        if let Some(handle) = self.door.handle_datagram(now, remote, local, datagram) {
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
        for handle in self.door.handle_datagrams(now, remote, local, datagrams, each) {
            self.work(now, handle);
        }
    }

    /// Call when [`Receiver::next_wakeup`] has come; harmless at any other time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for handle in self.door.handles() {
            self.work(now, handle);
        }
        let (mut over, mut silent) = (Vec::new(), Vec::new());
        for (id, transfer) in &mut self.transfers {
            if let Err(error) = transfer.session.handle_timeout(transfer.time(now)) {
                over.push((*id, Err(error)));
            } else if now.saturating_duration_since(transfer.heard_at) >= self.settings.patience {
                silent.push((*id, transfer.concluded.is_some()));
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
        over.extend(self.silent_streams(now));
        let silent = || Error::Silent(self.settings.patience.as_secs());
        let late = |waiting: &Waiting| now.saturating_duration_since(waiting.since) >= self.settings.patience;
        over.extend(
            self.waiting.iter().filter(|(_, waiting)| late(waiting)).map(|(id, _)| (*id, Err(silent()))),
        );
        for (id, outcome) in over {
            self.end(now, &id, outcome);
        }
        self.give_way(now, None);
    }

    /// One connection: its timers, its greeting, what arrived on it.
    fn work(&mut self, now: Instant, handle: ConnectionHandle) {
        match self.door.work(now, handle) {
            Heard::Nothing => {}
            Heard::Rejected(remote) => self.events.push_back(Event::Rejected { remote }),
            Heard::Greeted(hello, guest) => self.greet(now, handle, hello, guest),
            Heard::Packets(id, path) => self.take(now, handle, &id, path),
            Heard::Parted { id, path, done } => self.part(now, &id, path, handle, done),
        }
    }

    /// The packets that came on a path.
    fn take(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(transfer) = self.transfers.get_mut(id) else { return self.pull(now, handle, id) };
        let time = transfer.time(now);
        let mut any = false;
        while let Some(packet) = self.door.receive(handle) {
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
            transfer.got += bytes.len() as u64;
            self.events.push_back(Event::Data { id: *id, bytes });
        }
        if transfer.is_over() {
            self.finish(now, id);
        }
    }

    /// The bytes that a client may send in a transfer.
    pub(crate) fn allowance(&self, from: &Guest) -> Allowance {
        Allowance::of(self.door.limits(from))
    }

    /// Says something to the sender of a transfer.
    pub fn say(&mut self, id: &Id, bytes: &[u8]) {
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.said.push(bytes);
        } else if let Some(streamed) = self.streamed.get_mut(id) {
            streamed.unsaid.extend_from_slice(bytes);
        }
    }

    /// Ends a transfer with this outcome, as soon as its sender has everything that was said.
    pub fn conclude(&mut self, now: Instant, id: &Id, outcome: Result<(), Error>) {
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.concluded.get_or_insert((now, outcome));
        } else if let Some(streamed) = self.streamed.get_mut(id) {
            streamed.concluded.get_or_insert((now, outcome));
        }
    }

    /// A transfer is not wanted, or cannot go on: the sender is told why.
    pub fn refuse(&mut self, now: Instant, id: &Id, reason: &str) {
        self.door.end(now, id, REFUSED, reason);
        self.end(now, id, Err(Error::NotKept(reason.to_owned())));
    }

    /// A path's connection is gone. If the sender closed it, having heard the verdict, all is done.
    fn part(&mut self, now: Instant, id: &Id, path: usize, handle: ConnectionHandle, done: bool) {
        let Some(transfer) = self.transfers.get_mut(id) else { return self.part_stream(now, id, done) };
        if transfer.links.get(path).copied().flatten() == Some(handle) {
            transfer.links[path] = None;
        }
        if done {
            if transfer.concluded.is_some() {
                self.finish(now, id);
            } else {
                self.end(now, id, Err(Error::Refused("the sender gave up".to_owned())));
            }
        }
    }

    fn finish(&mut self, now: Instant, id: &Id) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        let Some((at, outcome)) = transfer.concluded.take() else { return };
        let summary = Summary {
            duration: at.saturating_duration_since(transfer.epoch),
            paths: transfer.session.carried().1.to_vec(),
            longest_gap: transfer.session.longest_gap(),
        };
        self.end(now, id, outcome.map(|()| summary));
    }

    fn end(&mut self, now: Instant, id: &Id, outcome: Result<Summary, Error>) {
        let waited = self.waiting.remove(id).map(|waiting| (waiting.hello, waiting.from));
        let streamed = self.streamed.remove(id).map(|streamed| (streamed.hello, streamed.from));
        let transfer = self.transfers.remove(id).map(|transfer| (transfer.hello, transfer.from));
        let Some((hello, from)) = transfer.or(streamed).or(waited) else { return };
        self.door.end(now, id, DONE, "done");
        self.events.push_back(Event::Ended { id: *id, offer: hello.offer, from, outcome });
    }

    /// What happened next.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// All datagrams that leave now.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<Outgoing>) {
        let mut over = Vec::new();
        for (id, transfer) in &mut self.transfers {
            let time = transfer.time(now);
            transfer.extend();
            if let Err(error) = transfer.session.transmit(time, &mut transfer.said, &mut self.packets) {
                over.push((*id, Err(error)));
            }
            for (path, packet) in self.packets.drain(..) {
                if let Some(handle) = transfer.links[path.index()] {
                    self.door.send(now, handle, packet, out);
                }
            }
        }
        for (id, outcome) in over {
            self.end(now, &id, outcome);
        }
        for streamed in self.streamed.values_mut() {
            streamed.say(&mut self.door);
        }
        self.door.transmit(now, out);
    }

    /// When [`Receiver::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let transfers = self.transfers.values().flat_map(|transfer| {
            let wakeup = transfer.session.next_wakeup();
            let wakeup = wakeup.map(|time| transfer.epoch + Duration::from_nanos(time.as_nanos()));
            [wakeup, Some(transfer.heard_at + self.settings.patience)]
        });
        let waiting = self.waiting.values().map(|waiting| Some(waiting.since + self.settings.patience));
        let streamed =
            self.streamed.values().map(|streamed| Some(streamed.heard_at + self.settings.patience));
        transfers.chain(waiting).chain(streamed).chain([self.door.next_wakeup()]).flatten().min()
    }

    /// Connections at the moment, of whoever it is; for looking at its limits.
    pub fn connections(&self) -> usize {
        self.door.connections()
    }

    /// Transfers at the moment.
    pub fn transfers(&self) -> usize {
        self.transfers.len() + self.streamed.len()
    }

    /// Bytes of a transfer's stream that have come, in order, and those that came on each path.
    pub fn got(&self, id: &Id) -> Option<(u64, &[u64])> {
        let streamed = || self.streamed.get(id).map(|streamed| (streamed.got, &streamed.paths[..]));
        let transfer = self.transfers.get(id);
        transfer.map(|transfer| (transfer.got, transfer.session.carried().1)).or_else(streamed)
    }
}
