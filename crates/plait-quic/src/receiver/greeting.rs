//! What a connection says first, and what it is answered.

use super::{MAX_TRANSFERS, Receiver};
use crate::error::Error;
use crate::hello::Hello;
use crate::link::REFUSED;
use crate::session::{Agreed, Extent, Session};
use crate::transfer::{Event, Id, Transfer};
use noq_proto::ConnectionHandle;
use plait_transport::endpoint::Side;
use std::time::{Duration, Instant};

/// Another sender of the same takes over from one that was not heard for so long.
const SILENT: Duration = Duration::from_secs(2);

/// An offer that nobody has answered, and the paths that wait for that.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) hello: Hello,
    pub(super) handles: Vec<ConnectionHandle>,
    pub(super) since: Instant,
}

impl Receiver {
    /// A connection has said who it is.
    pub(super) fn greet(&mut self, now: Instant, handle: ConnectionHandle, hello: Hello) {
        let (id, path) = (hello.session, usize::from(hello.path));
        if hello.offer.is_question() {
            self.door.answer(now, handle);
            return;
        }
        let known = self.transfers.get(&id).map(|transfer| &transfer.hello);
        let known = known.or(self.streamed.get(&id).map(|streamed| &streamed.hello));
        let known = known.or(self.waiting.get(&id).map(|waiting| &waiting.hello));
        let refusal = if hello.offer.is_streams() {
            Some("this is a receiver of files (plait recv); streams are taken by plait proxy --serve")
        } else if known.is_some() && self.door.is_streamed(handle) {
            Some("a transfer on a stream has one connection")
        } else if let Some(first) = known {
            (!first.agrees(&hello)).then_some("the paths of one transfer differ in what they offer")
        } else if self.transfers() + self.waiting.len() >= MAX_TRANSFERS {
            Some("the receiver is busy")
        } else {
            None
        };
        if let Some(refusal) = refusal {
            return self.door.close(now, handle, REFUSED, refusal);
        }
        let Some(remote) = self.door.admit(handle, id, path) else { return };
        if self.transfers.contains_key(&id) {
            if self.door.answer(now, handle) {
                self.join(now, handle, &id, path);
            }
        } else if let Some(waiting) = self.waiting.get_mut(&id) {
            // As many as there are paths, and one more for each that is opened anew meanwhile.
            waiting.handles.push(handle);
        } else {
            self.give_way(now, Some(&hello));
            let offer = hello.offer.clone();
            self.waiting.insert(id, Waiting { hello, handles: vec![handle], since: now });
            self.events.push_back(Event::Begun { id, offer, remote });
        }
    }

    /// A new sender takes over from one of the same files that has gone silent.
    pub(super) fn give_way(&mut self, now: Instant, hello: Option<&Hello>) {
        let silent = |transfer: &Transfer| now.saturating_duration_since(transfer.heard_at) >= SILENT;
        let is_same = |transfer: &Transfer, other: &Hello| {
            other.session != transfer.hello.session && other.offer.identity == transfer.hello.offer.identity
        };
        let others =
            self.transfers.values().filter(|transfer| !silent(transfer)).map(|transfer| &transfer.hello);
        let others: Vec<_> = others.chain(hello).collect();
        let replaced =
            |transfer: &Transfer| silent(transfer) && others.iter().any(|other| is_same(transfer, other));
        let gone = self.transfers.iter().find(|(_, transfer)| replaced(transfer)).map(|(id, _)| *id);
        if let Some(id) = gone {
            self.end(now, &id, Err(Error::Ended("another sender of the same has taken over".to_owned())));
        }
    }

    /// Answers an offer: it is wanted.
    pub fn accept(&mut self, now: Instant, id: &Id) {
        let Some(hello) = self.waiting.get(id).map(|waiting| &waiting.hello) else { return };
        if let Some(handle) = self.waits_for_stream(id) {
            return self.accept_stream(now, handle, id);
        }
        let agreed = Agreed {
            paths: hello.paths.into(),
            initial: hello.path.into(),
            segment: hello.segment,
            window: self.settings.window,
            extent: Extent::Ordered,
        };
        let session = match Session::new(Side::Server, &self.settings, agreed, self.scheduler.clone()) {
            Ok(session) => session,
            Err(error) => return self.refuse(now, id, &error.to_string()),
        };
        let Some(Waiting { hello, handles, .. }) = self.waiting.remove(id) else { return };
        self.transfers.insert(*id, Transfer::new(now, session, hello));
        for handle in handles {
            if let Some(path) = self.door.path_of(handle, id)
                && self.door.answer(now, handle)
            {
                self.join(now, handle, id, path);
            }
        }
    }

    /// A path of a transfer works.
    fn join(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, path: usize) {
        let Some(transfer) = self.transfers.get_mut(id) else { return };
        transfer.heard_at = now;
        transfer.join(now, path, self.door.round_trip(handle));
        self.door.replace(now, &mut transfer.links[path], handle);
        self.take(now, handle, id, path);
        self.deliver(now, id);
    }
}
