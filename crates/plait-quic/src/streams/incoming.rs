//! What a peer's segments say.
//!
//! A segment is read as it comes, whatever is missing before it: what was lost of one stream holds up no other. The rest of a segment waits if it needs what a
//! missing one must have said, for example of a stream that is not open yet.

use super::early::MOST_EARLY;
use super::record::Record;
use super::{Event, LEAST_CREDIT, MAX_STREAMS, Reason, Stream, Streams};
use crate::error::Error;
use crate::settings::MAX_LINKS;
use crate::terms::PathTerms;
use bytes::Bytes;

/// Whether everything before a segment has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// Then what it needs is there, or the peer breaks the rules.
    Kept,
    /// Something is missing, which may say what it needs.
    Open,
}

/// What came of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    Obeyed,
    /// It waits for an earlier segment.
    Early,
}

impl Streams {
    /// Takes the next segment, in order.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Violation`]: then nothing that this peer says is of use.
    pub fn handle(&mut self, segment: &[u8]) -> Result<(), Error> {
        self.read(&Bytes::copy_from_slice(segment), Order::Kept)?;
        self.check_answers()
    }

    /// Takes the segment of this number, whatever came before it; each number once.
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

    /// All segments before this number have come.
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

    /// What waits, in order: streams were opened.
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

    /// Obeys the records of a segment; what is left of it if one has to wait.
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
            // This end's own streams are open before anybody can say anything of them.
            return match order {
                Order::Open if !self.opens => Ok(Came::Early),
                _ => Err(Error::Violation("a stream that was never opened")),
            };
        }
        if self.flows.all.contains_key(&stream) {
            return self.obey_flow(stream, record);
        }
        // Of one that was ended here, more may have been on its way.
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

    /// A record of a flow.
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

    /// The peer says what a path is for.
    fn note_terms(&mut self, path: u32, terms: PathTerms) -> Result<Came, Error> {
        if self.opens || path as usize >= MAX_LINKS {
            return Err(Error::Violation("it says what a path is for that is none of its own"));
        }
        // Segments overtake each other: what was spent once stays so.
        let spent = terms.spent || self.terms.get(&path).is_some_and(|before| before.spent);
        self.terms.insert(path, PathTerms { spent, ..terms });
        Ok(Came::Obeyed)
    }

    /// Something came of a stream.
    fn heard(&mut self, stream: u32) {
        self.woken.insert(stream);
        self.clean(stream);
    }

    /// The peer opens a stream or a flow.
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
        // What the peer has ended is none of its streams any more, though it may wait here for its reader.
        if self.streams.values().filter(|one| !one.is_closed()).count() >= MAX_STREAMS {
            return match order {
                // The end of one may be missing.
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

    /// Bytes that the peer may still send on all streams, with what is there and was not taken: what memory is bounded by.
    pub fn promised(&self) -> u64 {
        let promised = |one: &Stream| one.early.size().unwrap_or(one.granted) - one.consumed;
        self.streams.values().map(promised).sum()
    }
}

/// All that may be promised.
pub const MOST_PROMISED: u64 = MAX_STREAMS as u64 * LEAST_CREDIT + super::POOL;
