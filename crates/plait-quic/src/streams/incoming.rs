//! Reading of a peer's segments.
//!
//! A segment is read when it arrives, even if earlier segments are missing, so a loss in one stream
//! does not block another one. The rest of a segment waits if it depends on a missing one, for
//! example for a stream that is not open yet.

use super::reassembly_buffer::MAX_EARLY;
use super::record::Record;
use super::{Class, MAX_STREAMS, MIN_CREDIT, Reason, Stream, StreamEvent, Streams};
use crate::error::Error;
use crate::settings::MAX_PATHS;
use crate::terms::PathTerms;
use bytes::Bytes;

/// Whether all earlier segments have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Arrival {
    /// All have arrived: a record without its requirements breaks the protocol.
    InOrder,
    /// Some are missing, and may have the requirements.
    OutOfOrder,
}

/// Result of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Execution {
    Done,
    /// The record waits for an earlier segment.
    Deferred,
}

impl Streams {
    /// Handles the next segment, in order.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Violation`]: from then on the peer's messages are of no use.
    pub fn handle(&mut self, segment: &[u8]) -> Result<(), Error> {
        self.read(&Bytes::copy_from_slice(segment), Arrival::InOrder)?;
        self.check_answers()
    }

    /// Handles the segment with this number, in any order; each number once.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn handle_early(&mut self, number: u64, segment: &Bytes) -> Result<(), Error> {
        let opened = self.opened;
        if let Some(rest) = self.read(segment, Arrival::OutOfOrder)? {
            self.deferred.insert(number, rest);
        }
        if self.opened > opened {
            self.read_deferred()?;
        }
        self.check_answers()
    }

    /// Notes that all segments before this number have arrived.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn advance(&mut self, next: u64) -> Result<(), Error> {
        while let Some(first) = self.deferred.first_entry().filter(|first| *first.key() < next) {
            let rest = first.remove();
            self.read(&rest, Arrival::InOrder)?;
        }
        self.check_answers()
    }

    /// Reads waiting segments in order, after streams were opened.
    fn read_deferred(&mut self) -> Result<(), Error> {
        loop {
            let opened = self.opened;
            for (number, rest) in std::mem::take(&mut self.deferred) {
                if let Some(rest) = self.read(&rest, Arrival::OutOfOrder)? {
                    self.deferred.insert(number, rest);
                }
            }
            if self.opened == opened {
                return Ok(());
            }
        }
    }

    fn check_answers(&self) -> Result<(), Error> {
        if self.out.exceeds_control_queue() {
            return Err(Error::Violation("it asks more than it takes answers"));
        }
        Ok(())
    }

    /// Executes the records of a segment. Returns the rest of the segment if a record has to wait.
    fn read(&mut self, segment: &Bytes, arrival: Arrival) -> Result<Option<Bytes>, Error> {
        let mut left = &segment[..];
        loop {
            let from = left;
            let Some(record) = Record::decode(&mut left)? else { return Ok(None) };
            if self.execute(&record, arrival)? == Execution::Deferred {
                return Ok(Some(segment.slice_ref(from)));
            }
        }
    }

    fn execute(&mut self, record: &Record<'_>, arrival: Arrival) -> Result<Execution, Error> {
        let stream = match *record {
            Record::Open { stream, class, target } => {
                return self.handle_open(stream, class, target, arrival);
            }
            Record::Flow { stream, class, target } => {
                let execution = self.check_number(stream, arrival)?;
                if execution == Execution::Done {
                    self.handle_open_flow(stream, class, target);
                }
                return Ok(execution);
            }
            Record::Terms { path, terms } => return self.note_terms(path, terms),
            Record::Accepted { stream }
            | Record::Data { stream, .. }
            | Record::Datagram { stream, .. }
            | Record::Piece { stream, .. }
            | Record::Finish { stream, .. }
            | Record::Reset { stream, .. }
            | Record::Credit { stream, .. } => stream,
        };
        if stream >= self.opened {
            // This end's own streams are open before the peer can refer to them.
            return match arrival {
                Arrival::OutOfOrder if !self.opens => Ok(Execution::Deferred),
                _ => Err(Error::Violation("a stream that was never opened")),
            };
        }
        if self.flows.all.contains_key(&stream) {
            return self.execute_flow(stream, record);
        }
        // More data of a stream that was ended here may have been in flight.
        let Some(one) = self.streams.get_mut(&stream) else { return Ok(Execution::Done) };
        match *record {
            Record::Open { .. } | Record::Terms { .. } | Record::Flow { .. } => {}
            Record::Datagram { .. } | Record::Piece { .. } => {
                return Err(Error::Violation("a datagram of a stream"));
            }
            Record::Accepted { .. } if self.opens => {
                one.reassembly.accept();
                self.early -= one.absorb();
                self.events.push_back(StreamEvent::Accepted { stream });
                self.note_received(stream);
            }
            Record::Accepted { .. } => return Err(Error::Violation("it accepts a stream of its own")),
            Record::Data { offset, bytes, .. } => {
                let early = self.early;
                let added = one.take(offset, bytes, || match arrival {
                    Arrival::InOrder => {
                        Err(Error::Violation("data that leaves some out, or of a stream not accepted"))
                    }
                    Arrival::OutOfOrder => Ok(early < MAX_EARLY),
                })?;
                let Some(added) = added else { return Ok(Execution::Deferred) };
                self.early = self.early.saturating_add_signed(added);
                self.received += bytes.len() as u64;
                self.note_received(stream);
            }
            Record::Finish { size, .. } => {
                one.end_at(size)?;
                self.credits.remove(&stream);
                self.note_received(stream);
            }
            Record::Reset { reason, .. } => {
                self.forget(stream);
                self.events.push_back(StreamEvent::Reset { stream, reason });
            }
            Record::Credit { limit, .. } => {
                one.limit = one.limit.max(limit);
                self.queue(stream);
            }
        }
        Ok(Execution::Done)
    }

    /// Executes a record of a flow.
    fn execute_flow(&mut self, flow: u32, record: &Record<'_>) -> Result<Execution, Error> {
        match *record {
            Record::Datagram { bytes, .. } => self.flows.take(flow, Bytes::copy_from_slice(bytes)),
            Record::Piece { piece, .. } => self.flows.take_piece(flow, &piece)?,
            Record::Reset { reason, .. } => {
                self.flows.remove(flow);
                self.out.forget(flow);
                self.events.push_back(StreamEvent::Reset { stream: flow, reason });
            }
            Record::Open { .. }
            | Record::Flow { .. }
            | Record::Terms { .. }
            | Record::Accepted { .. }
            | Record::Data { .. }
            | Record::Finish { .. }
            | Record::Credit { .. } => return Err(Error::Violation("a flow is no stream")),
        }
        Ok(Execution::Done)
    }

    /// Notes the terms of a path that the peer reports.
    fn note_terms(&mut self, path: u32, terms: PathTerms) -> Result<Execution, Error> {
        if self.opens || path as usize >= MAX_PATHS {
            return Err(Error::Violation("it sets the terms of a path that it did not open"));
        }
        // Segments may arrive out of order: a spent path stays spent.
        let spent = terms.spent || self.terms.get(&path).is_some_and(|before| before.spent);
        self.terms.insert(path, PathTerms { spent, ..terms });
        Ok(Execution::Done)
    }

    /// Notes that something arrived on a stream.
    fn note_received(&mut self, stream: u32) {
        self.ready.insert(stream);
        self.clean(stream);
    }

    /// Checks the number of a stream or a flow that the peer opens.
    fn check_number(&self, stream: u32, arrival: Arrival) -> Result<Execution, Error> {
        if self.opens {
            return Err(Error::Violation("it opens a stream"));
        }
        if stream > self.opened && arrival == Arrival::OutOfOrder {
            return Ok(Execution::Deferred);
        }
        if stream != self.opened || stream == u32::MAX {
            return Err(Error::Violation("streams are not numbered one after the other"));
        }
        Ok(Execution::Done)
    }

    /// Handles the opening of a stream by the peer.
    fn handle_open(
        &mut self,
        stream: u32,
        class: Class,
        target: &str,
        arrival: Arrival,
    ) -> Result<Execution, Error> {
        if self.check_number(stream, arrival)? == Execution::Deferred {
            return Ok(Execution::Deferred);
        }
        // A stream that the peer has ended is not counted, though its data may still wait for the
        // reader here.
        if self.streams.values().filter(|one| !one.is_closed()).count() >= MAX_STREAMS {
            return match arrival {
                // The end of a stream may be missing.
                Arrival::OutOfOrder => Ok(Execution::Deferred),
                Arrival::InOrder => Err(Error::Violation("too many streams")),
            };
        }
        self.opened += 1;
        if self.streams.len() >= MAX_STREAMS {
            self.out.push_control(&Record::Reset { stream, reason: Reason::Busy }, class);
            return Ok(Execution::Done);
        }
        self.streams.insert(stream, Stream { announced: true, ..Stream::new(class) });
        self.events.push_back(StreamEvent::Opened { stream, target: target.to_owned(), class });
        Ok(Execution::Done)
    }

    /// Bytes that the peer may still send on all streams, and bytes that were not taken. Their sum
    /// bounds the memory.
    pub fn promised(&self) -> u64 {
        let promised = |one: &Stream| one.reassembly.size().unwrap_or(one.granted) - one.consumed;
        self.streams.values().map(promised).sum()
    }
}

/// Upper bound of [`Streams::promised`].
pub const MAX_PROMISED: u64 = MAX_STREAMS as u64 * MIN_CREDIT + super::POOL;
