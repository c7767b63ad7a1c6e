//! The end that receives transfers. [`Receiver::accept`] or [`Receiver::refuse`] answers an offer
//! ([`TransferEvent::Begun`]). After any input ([`Receiver::handle_datagrams`],
//! [`Receiver::handle_timeout`], [`Receiver::conclude`]) call [`Receiver::poll`] until it returns
//! `None`. Then call [`Receiver::transmit`], and check [`Receiver::next_wakeup`].

mod greeting;
mod streamed;

use crate::acceptor::{Acceptor, AcceptorEvent};
use crate::clients::{Allowance, Clients, ConnectedClient};
use crate::connection::{DONE, DatagramBatch, REFUSED, ReceivedBatch};
use crate::error::Error;
use crate::identity::Identity;
use crate::settings::Settings;
use crate::transfer::Transfer;
pub use crate::transfer::{Id, Summary, TransferEvent};
use bytes::Bytes;
use greeting::PendingOffer;
use noq_proto::ConnectionHandle;
use plait_sched::{Builtin, PathId};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;
use streamed::Streamed;

/// The receiving end.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    acceptor: Acceptor,
    /// Offers without an answer.
    offers: BTreeMap<Id, PendingOffer>,
    transfers: BTreeMap<Id, Transfer>,
    /// Files that arrive on a stream: mode interop.
    streamed: BTreeMap<Id, Streamed>,
    events: VecDeque<TransferEvent>,
    packets: Vec<(PathId, Bytes)>,
    scheduler: Builtin,
}

impl Receiver {
    /// Creates an end that waits for clients with their secrets.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds; [`Error::Tls`].
    pub fn new(settings: Settings, identity: &Identity, clients: impl Into<Clients>) -> Result<Self, Error> {
        // The receiver's own data is short, and leaves on the path with the shortest round-trip
        // time.
        let scheduler = Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()))?;
        Ok(Self {
            settings,
            acceptor: Acceptor::new(settings, identity, clients.into())?.with_streams(identity)?,
            offers: BTreeMap::new(),
            transfers: BTreeMap::new(),
            streamed: BTreeMap::new(),
            events: VecDeque::new(),
            packets: Vec::new(),
            scheduler,
        })
    }

    /// Handles UDP datagrams. The work that follows is done once for all of them.
    pub fn handle_datagrams(&mut self, now: Instant, batch: &ReceivedBatch<'_>) {
        for handle in self.acceptor.handle_datagrams(now, batch) {
            self.work(now, handle);
        }
    }

    /// Handles timers. Call it when [`Receiver::next_wakeup`] has come; it is harmless at any other
    /// time.
    pub fn handle_timeout(&mut self, now: Instant) {
        for handle in self.acceptor.handles() {
            self.work(now, handle);
        }
        let (mut ended, mut silent) = (Vec::new(), Vec::new());
        for (id, transfer) in &mut self.transfers {
            if let Err(error) = transfer.session.handle_timeout(transfer.time(now)) {
                ended.push((*id, Err(error)));
            } else if transfer.is_silent(now, self.settings.patience) {
                silent.push((*id, transfer.state.concluded.is_some()));
            }
        }
        for (id, concluded) in silent {
            if concluded {
                // The outcome is settled; only the sender's last message was lost.
                self.finish(now, &id);
            } else {
                ended.push((id, Err(Error::Silent(self.settings.patience.as_secs()))));
            }
        }
        ended.extend(self.silent_streams(now));
        let silent = || Error::Silent(self.settings.patience.as_secs());
        let late =
            |pending: &PendingOffer| now.saturating_duration_since(pending.since) >= self.settings.patience;
        ended.extend(
            self.offers.iter().filter(|(_, pending)| late(pending)).map(|(id, _)| (*id, Err(silent()))),
        );
        for (id, outcome) in ended {
            self.end(now, &id, outcome);
        }
        self.end_replaced(now, None);
    }

    /// Works on one connection: its timers, its greeting, its packets.
    fn work(&mut self, now: Instant, handle: ConnectionHandle) {
        match self.acceptor.work(now, handle) {
            AcceptorEvent::Nothing => {}
            AcceptorEvent::Rejected(remote) => self.events.push_back(TransferEvent::Rejected { remote }),
            AcceptorEvent::Greeted(hello, client) => self.greet(now, handle, hello, client),
            AcceptorEvent::Packets(id, path) => self.take(now, handle, &id, path),
            AcceptorEvent::Disconnected { id, path, done } => {
                self.handle_disconnect(now, &id, path, handle, done);
            }
        }
    }

    /// Handles the packets that arrived on a path.
    fn take(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(transfer) = self.transfers.get_mut(id) else { return self.read_stream(now, handle, id) };
        if transfer.receive(now, path, handle, &mut self.acceptor) {
            self.deliver(now, id);
        }
    }

    /// Delivers the bytes that are in order.
    fn deliver(&mut self, now: Instant, id: &Id) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        while let Some(bytes) = transfer.session.read() {
            transfer.state.received += bytes.len() as u64;
            self.events.push_back(TransferEvent::Data { id: *id, bytes });
        }
        if transfer.is_over() {
            self.finish(now, id);
        }
    }

    /// Returns the allowance of a client for one transfer.
    pub(crate) fn allowance(&self, from: &ConnectedClient) -> Allowance {
        Allowance::of(self.acceptor.limits(from))
    }

    /// Queues bytes for the sender of a transfer.
    pub fn write(&mut self, id: &Id, bytes: &[u8]) {
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.state.send_buffer.push(bytes);
        } else if let Some(streamed) = self.streamed.get_mut(id) {
            streamed.unsent.extend_from_slice(bytes);
        }
    }

    /// Ends a transfer with this outcome, once its sender has received all queued bytes.
    pub fn conclude(&mut self, now: Instant, id: &Id, outcome: Result<(), Error>) {
        if let Some(transfer) = self.transfers.get_mut(id) {
            transfer.state.concluded.get_or_insert((now, outcome));
        } else if let Some(streamed) = self.streamed.get_mut(id) {
            streamed.concluded.get_or_insert((now, outcome));
        }
    }

    /// Ends a transfer that is not wanted, or cannot go on, and tells the sender the reason.
    pub fn refuse(&mut self, now: Instant, id: &Id, reason: &str) {
        self.acceptor.end(now, id, REFUSED, reason);
        self.end(now, id, Err(Error::NotStored(reason.to_owned())));
    }

    /// Handles the loss of a path's connection. If the sender closed it after the outcome, the
    /// transfer is finished.
    fn handle_disconnect(
        &mut self,
        now: Instant,
        id: &Id,
        path: usize,
        handle: ConnectionHandle,
        done: bool,
    ) {
        let Some(transfer) = self.transfers.get_mut(id) else {
            return self.handle_stream_disconnect(now, id, done);
        };
        transfer.leave(path, handle);
        if done {
            if transfer.state.concluded.is_some() {
                self.finish(now, id);
            } else {
                self.end(now, id, Err(Error::Refused("the sender gave up".to_owned())));
            }
        }
    }

    fn finish(&mut self, now: Instant, id: &Id) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        let Some((at, outcome)) = transfer.state.concluded.take() else { return };
        let summary = Summary {
            duration: at.saturating_duration_since(transfer.epoch),
            paths: transfer.session.carried().1.to_vec(),
            longest_gap: transfer.session.longest_gap(),
        };
        self.end(now, id, outcome.map(|()| summary));
    }

    fn end(&mut self, now: Instant, id: &Id, outcome: Result<Summary, Error>) {
        let waited = self.offers.remove(id).map(|pending| (pending.hello, pending.from));
        let streamed = self.streamed.remove(id).map(|streamed| (streamed.hello, streamed.from));
        let transfer = self.transfers.remove(id).map(|transfer| (transfer.hello, transfer.client));
        let Some((hello, from)) = transfer.or(streamed).or(waited) else { return };
        self.acceptor.end(now, id, DONE, "done");
        self.events.push_back(TransferEvent::Ended { id: *id, offer: hello.offer, from, outcome });
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<TransferEvent> {
        self.events.pop_front()
    }

    /// Appends all datagrams that leave now to `out`.
    pub fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        let mut ended = Vec::new();
        for (id, transfer) in &mut self.transfers {
            let time = transfer.time(now);
            transfer.extend();
            if let Err(error) =
                transfer.session.transmit(time, &mut transfer.state.send_buffer, &mut self.packets)
            {
                ended.push((*id, Err(error)));
            }
            transfer.send(now, &mut self.packets, &mut self.acceptor, out);
        }
        for (id, outcome) in ended {
            self.end(now, &id, outcome);
        }
        for streamed in self.streamed.values_mut() {
            streamed.write(&mut self.acceptor);
        }
        self.acceptor.transmit(now, out);
    }

    /// Returns the time at which [`Receiver::handle_timeout`] must be called next.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let transfers = self
            .transfers
            .values()
            .flat_map(|transfer| [transfer.next_wakeup(), Some(transfer.heard_at + self.settings.patience)]);
        let pending = self.offers.values().map(|pending| Some(pending.since + self.settings.patience));
        let streamed =
            self.streamed.values().map(|streamed| Some(streamed.received_at + self.settings.patience));
        transfers.chain(pending).chain(streamed).chain([self.acceptor.next_wakeup()]).flatten().min()
    }

    /// Number of connections, with or without the secret; for tests of the limits.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }

    /// Number of running transfers.
    pub fn transfers(&self) -> usize {
        self.transfers.len() + self.streamed.len()
    }

    /// Returns the bytes of a transfer's stream that arrived in order, and the bytes that arrived
    /// on each path.
    pub fn received(&self, id: &Id) -> Option<(u64, &[u64])> {
        let streamed = || self.streamed.get(id).map(|streamed| (streamed.received, &streamed.paths[..]));
        let transfer = self.transfers.get(id);
        transfer.map(|transfer| (transfer.state.received, transfer.session.carried().1)).or_else(streamed)
    }
}
