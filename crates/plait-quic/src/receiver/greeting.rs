//! First message of a connection, and its answer.

use super::Receiver;
use crate::clients::{Allowance, ConnectedClient, Limits};
use crate::connection::{REFUSED, UNAVAILABLE};
use crate::error::Error;
use crate::hello::Hello;
use crate::session::Delivery;
use crate::transfer::{Id, Transfer, TransferEvent, TransferState};
use noq_proto::ConnectionHandle;
use std::time::{Duration, Instant};

/// Time of silence after which another sender of the same files takes over.
const TAKE_OVER_AFTER: Duration = Duration::from_secs(2);

/// An offer without an answer, and the paths that wait for it.
#[derive(Debug)]
pub(super) struct PendingOffer {
    pub(super) from: ConnectedClient,
    pub(super) hello: Hello,
    pub(super) handles: Vec<ConnectionHandle>,
    pub(super) since: Instant,
}

impl Receiver {
    /// Handles the greeting of a connection.
    pub(super) fn greet(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        hello: Hello,
        from: ConnectedClient,
    ) {
        let (id, path) = (hello.session, usize::from(hello.path));
        if hello.offer.is_question() {
            self.acceptor.answer(now, handle);
            return;
        }
        if !hello.continues {
            self.end_replaced(now, Some((&hello, &from)));
        }
        let known = self.transfers.get(&id).map(|transfer| &transfer.hello);
        let known = known.or(self.streamed.get(&id).map(|streamed| &streamed.hello));
        let known = known.or(self.offers.get(&id).map(|pending| &pending.hello));
        let limits = self.acceptor.limits(&from);
        let Limits { at_once, paths, .. } = limits;
        let refusal = if hello.offer.is_streams() {
            Some(
                "this is a receiver of files (plait recv); streams are taken by plait proxy --serve"
                    .to_owned(),
            )
        } else if path >= paths {
            Some(format!("{paths} paths are allowed"))
        } else if known.is_some() && self.acceptor.is_streamed(handle) {
            Some("a transfer on a stream has one connection".to_owned())
        } else if let Some(first) = known {
            (!first.agrees(&hello)).then(|| "the greetings of one transfer's paths differ".to_owned())
        } else if hello.continues {
            let reason = "the receiver has restarted: the same command continues with its part";
            return self.acceptor.close(now, handle, UNAVAILABLE, reason);
        } else if self.transfers_of(from.number) >= at_once {
            Some(format!("the receiver is busy: {at_once} transfers at once are allowed"))
        } else {
            Allowance::of(limits).add(hello.offer.size).err()
        };
        if let Some(refusal) = refusal {
            return self.acceptor.close(now, handle, REFUSED, &refusal);
        }
        self.acceptor.admit(handle, id, path);
        if self.transfers.contains_key(&id) {
            if self.acceptor.answer(now, handle) {
                self.join(now, handle, &id, path);
            }
        } else if let Some(pending) = self.offers.get_mut(&id) {
            // One handle for each path, and one more whenever a path is opened anew meanwhile.
            pending.handles.push(handle);
        } else {
            let (offer, client) = (hello.offer.clone(), from.clone());
            self.offers.insert(id, PendingOffer { from, hello, handles: vec![handle], since: now });
            self.events.push_back(TransferEvent::Begun { id, offer, from: client });
        }
    }

    /// Number of a client's transfers, including offers without an answer.
    fn transfers_of(&self, client: usize) -> usize {
        let pending = self.offers.values().map(|pending| &pending.from);
        let streamed = self.streamed.values().map(|streamed| &streamed.from);
        let transfers = self.transfers.values().map(|transfer| &transfer.client);
        pending.chain(streamed).chain(transfers).filter(|from| from.number == client).count()
    }

    /// Ends a silent transfer if the same client sends the same files in another session. The other
    /// session is not silent, or began after the silent one was last heard. A new sender is silent,
    /// too, while it waits for an answer.
    pub(super) fn end_replaced(&mut self, now: Instant, new: Option<(&Hello, &ConnectedClient)>) {
        let silent = |transfer: &Transfer| transfer.is_silent(now, TAKE_OVER_AFTER);
        let is_same = |transfer: &Transfer, hello: &Hello, from: &ConnectedClient| {
            hello.session != transfer.hello.session
                && hello.offer.identity == transfer.hello.offer.identity
                && from.number == transfer.client.number
        };
        let since = |transfer: &Transfer| if silent(transfer) { transfer.epoch } else { now };
        let others = self.transfers.values().map(|one| (since(one), &one.hello, &one.client));
        let others: Vec<_> = others.chain(new.map(|(hello, from)| (now, hello, from))).collect();
        let replaced = |transfer: &Transfer| {
            let newer = |at: Instant| at >= transfer.heard_at;
            silent(transfer)
                && others.iter().any(|&(at, hello, from)| newer(at) && is_same(transfer, hello, from))
        };
        let gone = self.transfers.iter().find(|(_, transfer)| replaced(transfer)).map(|(id, _)| *id);
        if let Some(id) = gone {
            self.end(now, &id, Err(Error::Ended("a new sender of the same files continues".to_owned())));
        }
    }

    /// Accepts an offer.
    pub fn accept(&mut self, now: Instant, id: &Id) {
        let Some(PendingOffer { hello, from, .. }) = self.offers.get(id) else { return };
        if let Some(handle) = self.streamed_offer(id) {
            return self.accept_stream(now, handle, id);
        }
        let (offered, scheduler) = ((hello.clone(), from.clone()), self.scheduler.clone());
        let state = TransferState::default();
        match Transfer::new(now, &self.settings, offered, Delivery::Ordered, scheduler, state) {
            Ok(transfer) => self.transfers.insert(*id, transfer),
            Err(error) => return self.refuse(now, id, &error.to_string()),
        };
        let handles = self.offers.remove(id).map(|pending| pending.handles).unwrap_or_default();
        for handle in handles {
            if let Some(path) = self.acceptor.path_of(handle, id)
                && self.acceptor.answer(now, handle)
            {
                self.join(now, handle, id, path);
            }
        }
    }

    /// Adds a working path to a transfer.
    fn join(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        transfer.join(now, path, handle, &mut self.acceptor);
        self.take(now, handle, id, path);
        self.deliver(now, id);
    }
}
