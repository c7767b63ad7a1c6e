//! A transfer on a QUIC stream. QUIC replaces the transport.

use super::{Id, Receiver, Summary, TransferEvent};
use crate::acceptor::Acceptor;
use crate::clients::ConnectedClient;
use crate::error::Error;
use crate::hello::Hello;
use noq_proto::{ConnectionHandle, PathId};
use std::time::{Duration, Instant};

/// An incoming transfer on a stream.
#[derive(Debug)]
pub(super) struct Streamed {
    pub(super) from: ConnectedClient,
    pub(super) hello: Hello,
    handle: ConnectionHandle,
    begun: Instant,
    pub(super) received_at: Instant,
    pub(super) received: u64,
    /// Time of the last delivery, and the longest time between two deliveries.
    delivered_at: Option<Instant>,
    longest_gap: Duration,
    /// Bytes of UDP datagrams by path, in the order in which the paths appeared.
    pub(super) paths: Vec<u64>,
    /// QUIC's identifiers of these paths.
    ids: Vec<PathId>,
    /// Bytes for the sender for which QUIC has no room yet.
    pub(super) unsent: Vec<u8>,
    /// Outcome of the transfer, with its time.
    pub(super) concluded: Option<(Instant, Result<(), Error>)>,
}

impl Receiver {
    /// Returns the connection of an offer without an answer, if the offer is on a stream.
    pub(super) fn streamed_offer(&self, id: &Id) -> Option<ConnectionHandle> {
        let handle = *self.offers.get(id)?.handles.first()?;
        self.acceptor.is_streamed(handle).then_some(handle)
    }

    pub(super) fn accept_stream(&mut self, now: Instant, handle: ConnectionHandle, id: &Id) {
        let Some(pending) = self.offers.remove(id) else { return };
        self.acceptor.begin_stream(handle);
        let streamed = Streamed {
            from: pending.from,
            hello: pending.hello,
            handle,
            begun: now,
            received_at: now,
            received: 0,
            delivered_at: None,
            longest_gap: Duration::ZERO,
            paths: Vec::new(),
            ids: Vec::new(),
            unsent: Vec::new(),
            concluded: None,
        };
        self.streamed.insert(*id, streamed);
        if !self.acceptor.answer(now, handle) {
            self.end(now, id, Err(Error::Ended("it was gone before it was answered".to_owned())));
        }
    }

    /// Reads new bytes of a transfer.
    pub(super) fn read_stream(&mut self, now: Instant, handle: ConnectionHandle, id: &Id) {
        let Some(streamed) = self.streamed.get_mut(id).filter(|streamed| streamed.handle == handle) else {
            return;
        };
        let events = &mut self.events;
        let before = streamed.received;
        let carried = self.acceptor.drain(handle, |bytes| {
            streamed.received += bytes.len() as u64;
            events.push_back(TransferEvent::Data { id: *id, bytes });
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
        if streamed.received > before {
            streamed.received_at = now;
            let since = streamed.delivered_at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
            streamed.longest_gap = streamed.longest_gap.max(since);
            streamed.delivered_at = Some(now);
        }
    }

    /// Ends a transfer whose connection is lost. Another connection may continue the transfer.
    pub(super) fn handle_stream_disconnect(&mut self, now: Instant, id: &Id, done: bool) {
        let Some(streamed) = self.streamed.get_mut(id) else { return };
        let outcome = streamed.outcome().unwrap_or_else(|| {
            Err(match done {
                true => Error::Refused("the sender gave up".to_owned()),
                false => Error::Ended("its connection is lost".to_owned()),
            })
        });
        self.end(now, id, outcome);
    }

    /// Returns the transfers that were silent for too long, with their outcomes. A concluded
    /// transfer keeps its outcome, because only the sender's last message may be lost.
    pub(super) fn silent_streams(&mut self, now: Instant) -> Vec<(Id, Result<Summary, Error>)> {
        let patience = self.settings.patience;
        let late = |streamed: &Streamed| now.saturating_duration_since(streamed.received_at) >= patience;
        let silent = self.streamed.iter_mut().filter(|(_, streamed)| late(streamed));
        let error = || Err(Error::Silent(patience.as_secs()));
        silent.map(|(id, streamed)| (*id, streamed.outcome().unwrap_or_else(error))).collect()
    }
}

impl Streamed {
    /// Writes as many queued bytes to the sender as there is room for.
    pub(super) fn write(&mut self, acceptor: &mut Acceptor) {
        if !self.unsent.is_empty() {
            let count = acceptor.write(self.handle, &self.unsent);
            self.unsent.drain(..count);
        }
    }

    fn outcome(&mut self) -> Option<Result<Summary, Error>> {
        let (at, outcome) = self.concluded.take()?;
        Some(outcome.map(|()| Summary {
            duration: at.saturating_duration_since(self.begun),
            paths: self.paths.clone(),
            longest_gap: self.longest_gap,
        }))
    }
}
