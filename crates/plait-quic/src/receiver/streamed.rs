//! A file that comes on a stream: what the transport does for the others, QUIC does here.

use super::{Event, Id, Prefix, Receiver, Summary};
use crate::clients::Guest;
use crate::error::Error;
use crate::hello::{Hello, Verdict};
use noq_proto::{ConnectionHandle, PathId};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// A file that arrives.
#[derive(Debug)]
pub(super) struct Streamed {
    pub(super) from: Guest,
    pub(super) hello: Hello,
    handle: ConnectionHandle,
    begun: Instant,
    pub(super) heard_at: Instant,
    hash: Sha256,
    pub(super) got: u64,
    resumed: u64,
    whole_at: Option<Instant>,
    /// When something was handed on last, and the longest time between.
    delivered_at: Option<Instant>,
    longest_gap: Duration,
    /// Bytes of UDP datagrams by path, in the order in which these were seen.
    pub(super) paths: Vec<u64>,
    /// QUIC's numbers of them.
    ids: Vec<PathId>,
    /// What the sender was told.
    said: Option<Verdict>,
}

impl Receiver {
    /// The connection of an offer that nobody has answered, if it is one on a stream.
    pub(super) fn waits_for_stream(&self, id: &Id) -> Option<ConnectionHandle> {
        let handle = *self.waiting.get(id)?.handles.first()?;
        self.door.is_streamed(handle).then_some(handle)
    }

    pub(super) fn accept_stream(&mut self, now: Instant, handle: ConnectionHandle, id: &Id, prefix: Prefix) {
        let Some(waiting) = self.waiting.remove(id) else { return };
        self.door.begin_stream(handle);
        let resumed = prefix.bytes;
        let streamed = Streamed {
            from: waiting.from,
            hello: waiting.hello,
            handle,
            begun: now,
            heard_at: now,
            hash: prefix.hash,
            got: resumed,
            resumed,
            whole_at: None,
            delivered_at: None,
            longest_gap: Duration::ZERO,
            paths: Vec::new(),
            ids: Vec::new(),
            said: None,
        };
        self.streamed.insert(*id, streamed);
        if self.door.answer(now, handle, resumed) {
            // There may be nothing left to come.
            self.pull(now, handle, id);
        } else {
            self.end(now, id, Err(Error::Ended("it was gone before it was answered".to_owned())));
        }
    }

    /// What came of a file.
    pub(super) fn pull(&mut self, now: Instant, handle: ConnectionHandle, id: &Id) {
        let Some(streamed) = self.streamed.get_mut(id).filter(|streamed| streamed.handle == handle) else {
            return;
        };
        let events = &mut self.events;
        let before = streamed.got;
        let carried = self.door.drain(handle, |bytes| {
            streamed.got += bytes.len() as u64;
            if streamed.got <= streamed.hello.offer.size {
                streamed.hash.update(&bytes);
                events.push_back(Event::Data { id: *id, bytes });
            }
        });
        for (id, bytes) in carried {
            match streamed.ids.iter().position(|known| *known == id) {
                Some(path) => streamed.paths[path] = bytes,
                None => {
                    streamed.ids.push(id);
                    streamed.paths.push(bytes);
                }
            }
        }
        if streamed.got > before {
            streamed.heard_at = now;
            let since = streamed.delivered_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
            streamed.longest_gap = streamed.longest_gap.max(since);
            streamed.delivered_at = Some(now);
        }
        if streamed.got > streamed.hello.offer.size {
            return self.refuse(now, id, "more came than was offered");
        }
        if streamed.got == streamed.hello.offer.size && streamed.whole_at.is_none() {
            streamed.whole_at = Some(now);
            let digest: [u8; 32] = streamed.hash.clone().finalize().into();
            if digest == streamed.hello.offer.digest {
                self.events.push_back(Event::Whole { id: *id });
            } else {
                self.tell_stream(id, Verdict::Differs, &digest);
            }
        }
    }

    fn tell_stream(&mut self, id: &Id, verdict: Verdict, digest: &[u8; 32]) {
        if let Some(streamed) = self.streamed.get_mut(id) {
            streamed.said = Some(verdict);
            self.door.say(streamed.handle, &verdict.encode(digest));
        }
    }

    /// Whether a whole file is kept, which the sender is told.
    pub(super) fn conclude_stream(&mut self, id: &Id, kept: bool) {
        let Some(streamed) = self.streamed.get(id) else { return };
        if streamed.whole_at.is_some() && streamed.said.is_none() {
            let digest = streamed.hello.offer.digest;
            self.tell_stream(id, if kept { Verdict::Kept } else { Verdict::NotKept }, &digest);
        }
    }

    /// The connection is gone, and with it the transfer, which may go on with another one.
    pub(super) fn part_stream(&mut self, now: Instant, id: &Id, done: bool) {
        let Some(streamed) = self.streamed.get(id) else { return };
        let outcome = match streamed.said {
            Some(_) => streamed.outcome(now),
            None if done => Err(Error::Refused("the sender gave up".to_owned())),
            None => Err(Error::Ended("its connection is lost".to_owned())),
        };
        self.end(now, id, outcome);
    }

    /// Those of which nothing was heard for too long. What was told to a sender stays true if only its last word got lost.
    pub(super) fn silent_streams(&self, now: Instant) -> Vec<(Id, Result<Summary, Error>)> {
        let patience = self.settings.patience;
        let late = |streamed: &Streamed| now.saturating_duration_since(streamed.heard_at) >= patience;
        let silent = self.streamed.iter().filter(|(_, streamed)| late(streamed));
        let outcome = |streamed: &Streamed| match streamed.said {
            Some(_) => streamed.outcome(now),
            None => Err(Error::Silent(patience.as_secs())),
        };
        silent.map(|(id, streamed)| (*id, outcome(streamed))).collect()
    }
}

impl Streamed {
    fn outcome(&self, now: Instant) -> Result<Summary, Error> {
        match self.said {
            Some(Verdict::Kept) => Ok(Summary {
                bytes: self.got,
                resumed: self.resumed,
                duration: self.whole_at.unwrap_or(now).saturating_duration_since(self.begun),
                paths: self.paths.clone(),
                longest_gap: self.longest_gap,
            }),
            Some(Verdict::NotKept) => Err(Error::NotKept(self.hello.offer.name.clone())),
            _ => Err(Error::Differs),
        }
    }
}
