//! Reading of a peer's segments.
//!
//! A segment is read when it arrives, even if earlier segments are missing, so a loss in one stream
//! does not block another one. The rest of a segment waits if it depends on a missing one, for
//! example for a stream that is not open yet.

use super::early::MOST_EARLY;
use super::record::Record;
use super::{Event, LEAST_CREDIT, MAX_STREAMS, Reason, Stream, Streams};
use crate::error::Error;
use crate::settings::MAX_LINKS;
use crate::terms::PathTerms;
use bytes::Bytes;

/// Whether all earlier segments have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// All have arrived: a record without its requirements breaks the protocol.
    Kept,
    /// Some are missing, and may have the requirements.
    Open,
}

/// Result of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    Obeyed,
    /// The record waits for an earlier segment.
    Early,
}

impl Streams {
    /// Handles the next segment, in order.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Violation`]: from then on the peer's messages are of no use.
    pub fn handle(&mut self, segment: &[u8]) -> Result<(), Error> {
        self.read(&Bytes::copy_from_slice(segment), Order::Kept)?;
        self.check_answers()
    }

    /// Handles the segment with this number, in any order; each number once.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn handle_early(&mut self, number: u64, segment: &Bytes) -> Result<(), Error> {
        let opened = self.opened;
        if let Some(rest) = self.read(segment, Order::Open)? {
            self.waiting.insert(number, rest);
        }
        if self.opened > opened {
            self.read_waiting()?;
        }
        self.check_answers()
    }

    /// Notes that all segments before this number have arrived.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn advance(&mut self, next: u64) -> Result<(), Error> {
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() < next) {
            let rest = first.remove();
            self.read(&rest, Order::Kept)?;
        }
        self.check_answers()
    }

    /// Reads waiting segments in order, after streams were opened.
    fn read_waiting(&mut self) -> Result<(), Error> {
        loop {
            let opened = self.opened;
            for (number, rest) in std::mem::take(&mut self.waiting) {
                if let Some(rest) = self.read(&rest, Order::Open)? {
                    self.waiting.insert(number, rest);
                }
            }
            if self.opened == opened {
                return Ok(());
            }
        }
    }

    fn check_answers(&self) -> Result<(), Error> {
        if self.out.is_overwhelmed() {
            return Err(Error::Violation("it asks more than it takes answers"));
        }
        Ok(())
    }

    /// Executes the records of a segment. Returns the rest of the segment if a record has to wait.
    fn read(&mut self, segment: &Bytes, order: Order) -> Result<Option<Bytes>, Error> {
        let mut left = &segment[..];
        loop {
            let from = left;
            let Some(record) = Record::decode(&mut left)? else { return Ok(None) };
            if self.obey(&record, order)? == Came::Early {
                return Ok(Some(segment.slice_ref(from)));
            }
        }
    }

    fn obey(&mut self, record: &Record<'_>, order: Order) -> Result<Came, Error> {
        let stream = match *record {
            Record::Open { stream, .. } | Record::Flow { stream, .. } => {
                return self.welcome(stream, record, order);
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
            return match order {
                Order::Open if !self.opens => Ok(Came::Early),
                _ => Err(Error::Violation("a stream that was never opened")),
            };
        }
        if self.flows.all.contains_key(&stream) {
            return self.obey_flow(stream, record);
        }
        // More data of a stream that was ended here may have been in flight.
        let Some(one) = self.streams.get_mut(&stream) else { return Ok(Came::Obeyed) };
        match *record {
            Record::Open { .. } | Record::Terms { .. } | Record::Flow { .. } => {}
            Record::Datagram { .. } | Record::Piece { .. } => {
                return Err(Error::Violation("a datagram of a stream"));
            }
            Record::Accepted { .. } if self.opens => {
                one.early.accept();
                self.early -= one.absorb();
                self.events.push_back(Event::Accepted { stream });
                self.heard(stream);
            }
            Record::Accepted { .. } => return Err(Error::Violation("it accepts a stream of its own")),
            Record::Data { offset, bytes, .. } => {
                let early = self.early;
                let added = one.take(offset, bytes, || match order {
                    Order::Kept => {
                        Err(Error::Violation("data that leaves some out, or of a stream not accepted"))
                    }
                    Order::Open => Ok(early < MOST_EARLY),
                })?;
                let Some(added) = added else { return Ok(Came::Early) };
                self.early = self.early.saturating_add_signed(added);
                self.received += bytes.len() as u64;
                self.heard(stream);
            }
            Record::Finish { size, .. } => {
                one.end_at(size)?;
                self.credits.remove(&stream);
                self.heard(stream);
            }
            Record::Reset { reason, .. } => {
                self.forget(stream);
                self.events.push_back(Event::Reset { stream, reason });
            }
            Record::Credit { limit, .. } => {
                one.limit = one.limit.max(limit);
                self.queue(stream);
            }
        }
        Ok(Came::Obeyed)
    }

    /// Executes a record of a flow.
    fn obey_flow(&mut self, flow: u32, record: &Record<'_>) -> Result<Came, Error> {
        match *record {
            Record::Datagram { bytes, .. } => self.flows.take(flow, Bytes::copy_from_slice(bytes)),
            Record::Piece { piece, .. } => self.flows.take_piece(flow, &piece)?,
            Record::Reset { reason, .. } => {
                self.flows.remove(flow);
                self.out.forget(flow);
                self.events.push_back(Event::Reset { stream: flow, reason });
            }
            _ => return Err(Error::Violation("a flow is no stream")),
        }
        Ok(Came::Obeyed)
    }

    /// Notes the terms of a path that the peer reports.
    fn note_terms(&mut self, path: u32, terms: PathTerms) -> Result<Came, Error> {
        if self.opens || path as usize >= MAX_LINKS {
            return Err(Error::Violation("it says what a path is for that is none of its own"));
        }
        // Segments may arrive out of order: a spent path stays spent.
        let spent = terms.spent || self.terms.get(&path).is_some_and(|before| before.spent);
        self.terms.insert(path, PathTerms { spent, ..terms });
        Ok(Came::Obeyed)
    }

    /// Notes that something arrived on a stream.
    fn heard(&mut self, stream: u32) {
        self.woken.insert(stream);
        self.clean(stream);
    }

    /// Handles the opening of a stream or a flow by the peer.
    fn welcome(&mut self, stream: u32, record: &Record<'_>, order: Order) -> Result<Came, Error> {
        if self.opens {
            return Err(Error::Violation("it opens a stream"));
        }
        if stream > self.opened && order == Order::Open {
            return Ok(Came::Early);
        }
        if stream != self.opened || stream == u32::MAX {
            return Err(Error::Violation("streams are not numbered one after the other"));
        }
        let (class, target) = match *record {
            Record::Flow { class, target, .. } => {
                self.welcome_flow(stream, class, target);
                return Ok(Came::Obeyed);
            }
            Record::Open { class, target, .. } => (class, target),
            _ => return Ok(Came::Obeyed),
        };
        // A stream that the peer has ended is not counted, though its data may still wait for the
        // reader here.
        if self.streams.values().filter(|one| !one.is_closed()).count() >= MAX_STREAMS {
            return match order {
                // The end of a stream may be missing.
                Order::Open => Ok(Came::Early),
                Order::Kept => Err(Error::Violation("too many streams")),
            };
        }
        self.opened += 1;
        if self.streams.len() >= MAX_STREAMS {
            self.out.say(&Record::Reset { stream, reason: Reason::Busy }, class);
            return Ok(Came::Obeyed);
        }
        self.streams.insert(stream, Stream { announced: true, ..Stream::new(class) });
        self.events.push_back(Event::Opened { stream, target: target.to_owned(), class });
        Ok(Came::Obeyed)
    }

    /// Bytes that the peer may still send on all streams, and bytes that were not taken. Their sum
    /// bounds the memory.
    pub fn promised(&self) -> u64 {
        let promised = |one: &Stream| one.early.size().unwrap_or(one.granted) - one.consumed;
        self.streams.values().map(promised).sum()
    }
}

/// Upper bound of [`Streams::promised`].
pub const MOST_PROMISED: u64 = MAX_STREAMS as u64 * LEAST_CREDIT + super::POOL;
