//! What a connection says first, and what it is answered.

use super::Receiver;
use crate::clients::{Guest, Limits};
use crate::error::Error;
use crate::hello::{Hello, VERDICT_BYTES};
use crate::link::{AWAY, REFUSED};
use crate::session::{Agreed, Extent, Session};
use crate::transfer::{Event, Id, Prefix, Transfer};
use noq_proto::ConnectionHandle;
use plait_transport::endpoint::Side;
use std::time::{Duration, Instant};

/// A sender that was not heard for so long can be taken over from.
const SILENT: Duration = Duration::from_secs(2);

/// An offer that nobody has answered, and the paths that wait for that.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) from: Guest,
    pub(super) hello: Hello,
    pub(super) handles: Vec<ConnectionHandle>,
    pub(super) since: Instant,
    /// The event was told. An offer of a file that arrives waits until the silence of its sender shows.
    pub(super) told: bool,
}

impl Receiver {
    /// A connection has said who it is.
    pub(super) fn greet(&mut self, now: Instant, handle: ConnectionHandle, hello: Hello, from: Guest) {
        let (id, path) = (hello.session, usize::from(hello.path));
        if hello.offer.is_question() {
            self.door.answer(now, handle, 0);
            return;
        }
        if !hello.continues {
            self.give_way(now, &hello, &from);
        }
        let known = self.transfers.get(&id).map(|transfer| &transfer.hello);
        let known = known.or(self.streamed.get(&id).map(|streamed| &streamed.hello));
        let known = known.or(self.waiting.get(&id).map(|waiting| &waiting.hello));
        let Limits { at_once, paths, bytes, .. } = self.door.limits(&from);
        let refusal = if hello.offer.is_streams() {
            Some(
                "this is a receiver of files (plait recv); streams are taken by plait proxy --serve"
                    .to_owned(),
            )
        } else if path >= paths {
            Some(format!("{paths} paths are allowed"))
        } else if known.is_some() && self.door.is_streamed(handle) {
            Some("a transfer on a stream has one connection".to_owned())
        } else if let Some(first) = known {
            (!first.agrees(&hello)).then(|| "the paths of one transfer differ in what they offer".to_owned())
        } else if hello.continues {
            let reason = "the receiver was started anew: the same command goes on from what it has";
            return self.door.close(now, handle, AWAY, reason);
        } else if self.transfers_of(from.number) >= at_once {
            Some(format!("the receiver is busy: {at_once} transfers at once are allowed"))
        } else {
            let size = hello.offer.size;
            bytes
                .filter(|most| size > *most)
                .map(|most| format!("a file of {size} bytes: {most} are allowed"))
        };
        if let Some(refusal) = refusal {
            return self.door.close(now, handle, REFUSED, &refusal);
        }
        self.door.admit(handle, id, path);
        if let Some(transfer) = self.transfers.get(&id) {
            if self.door.answer(now, handle, transfer.resumed) {
                self.join(now, handle, &id, path);
            }
        } else if let Some(waiting) = self.waiting.get_mut(&id) {
            // As many as there are paths, and one more for each that is opened anew meanwhile.
            waiting.handles.push(handle);
        } else {
            let same = |transfer: &Transfer| transfer.rivals(&hello, &from);
            let told = !self.transfers.values().any(same);
            if told {
                let (offer, from) = (hello.offer.clone(), from.clone());
                self.events.push_back(Event::Begun { id, offer, from });
            }
            self.waiting.insert(id, Waiting { from, hello, handles: vec![handle], since: now, told });
        }
    }

    /// Tells of offers whose file was arriving: from now on its sender is silent, or they are refused.
    pub(super) fn retell(&mut self, now: Instant) {
        let mut offers = Vec::new();
        for (id, waiting) in &mut self.waiting {
            if !waiting.told && now.saturating_duration_since(waiting.since) >= SILENT {
                waiting.told = true;
                offers.push((*id, waiting.hello.clone(), waiting.from.clone()));
            }
        }
        for (id, hello, from) in offers {
            self.give_way(now, &hello, &from);
            self.events.push_back(Event::Begun { id, offer: hello.offer, from });
        }
    }

    /// When [`Receiver::retell`] has something to do.
    pub(super) fn retell_at(&self) -> Option<Instant> {
        self.waiting.values().filter(|waiting| !waiting.told).map(|waiting| waiting.since + SILENT).min()
    }

    /// Transfers of a client, those included that were not answered yet.
    fn transfers_of(&self, client: usize) -> usize {
        let waiting = self.waiting.values().map(|waiting| &waiting.from);
        let streamed = self.streamed.values().map(|streamed| &streamed.from);
        let transfers = self.transfers.values().map(|transfer| &transfer.from);
        waiting.chain(streamed).chain(transfers).filter(|from| from.number == client).count()
    }

    /// A client's new sender of a file takes over from one that has gone silent.
    fn give_way(&mut self, now: Instant, hello: &Hello, from: &Guest) {
        let is_silent = |transfer: &Transfer| {
            transfer.rivals(hello, from) && now.saturating_duration_since(transfer.heard_at) >= SILENT
        };
        let silent = self.transfers.iter().find(|(_, transfer)| is_silent(transfer)).map(|(id, _)| *id);
        if let Some(id) = silent {
            self.end(now, &id, Err(Error::Ended("another sender of the file has taken over".to_owned())));
        }
    }

    /// Answers an offer: the file is wanted, but for what is there of it, which is no more than what is offered.
    pub fn accept(&mut self, now: Instant, id: &Id, prefix: Prefix) {
        let Some(hello) = self.waiting.get(id).map(|waiting| &waiting.hello) else { return };
        let resumed = prefix.bytes;
        if let Some(handle) = self.waits_for_stream(id) {
            return self.accept_stream(now, handle, id, prefix);
        }
        let gets = hello.offer.size.checked_sub(resumed).ok_or(Error::Malformed("offer"));
        let agreed = gets.map(|gets| Agreed {
            paths: hello.paths.into(),
            initial: hello.path.into(),
            segment: hello.segment,
            window: self.settings.window,
            // Written when it is known what it says; its size is.
            extent: Extent::Piece { sends: VERDICT_BYTES as u64, gets },
        });
        let session = agreed
            .and_then(|agreed| Session::silent(Side::Server, &self.settings, agreed, self.scheduler.clone()));
        let session = match session {
            Ok(session) => session,
            Err(error) => return self.refuse(now, id, &error.to_string()),
        };
        let Some(Waiting { from, hello, handles, .. }) = self.waiting.remove(id) else { return };
        self.transfers.insert(*id, Transfer::new(now, from, session, hello, prefix));
        for handle in handles {
            if let Some(path) = self.door.path_of(handle, id)
                && self.door.answer(now, handle, resumed)
            {
                self.join(now, handle, id, path);
            }
        }
        // There may be nothing left to come.
        self.deliver(now, id);
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
