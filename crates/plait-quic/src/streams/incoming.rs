//! What a peer's segments say.

use super::record::{Class, Record};
use super::{Event, LEAST_CREDIT, MAX_STREAMS, Reason, Stream, Streams};
use crate::error::Error;

impl Streams {
    /// Takes the next segment, in order.
    ///
    /// # Errors
    /// [`Error::Malformed`], [`Error::Violation`]: then nothing that this peer says is of use.
    pub fn handle(&mut self, mut segment: &[u8]) -> Result<(), Error> {
        while let Some(record) = Record::decode(&mut segment)? {
            self.obey(&record)?;
        }
        if self.out.is_overwhelmed() {
            return Err(Error::Violation("it asks more than it takes answers"));
        }
        Ok(())
    }

    fn obey(&mut self, record: &Record<'_>) -> Result<(), Error> {
        let stream = match *record {
            Record::Open { stream, class, target } => return self.welcome(stream, class, target),
            Record::Accepted { stream }
            | Record::Data { stream, .. }
            | Record::Finish { stream }
            | Record::Reset { stream, .. }
            | Record::Credit { stream, .. } => stream,
        };
        if stream >= self.opened {
            return Err(Error::Violation("a stream that was never opened"));
        }
        // Of one that was ended here, more may have been on its way.
        let Some(one) = self.streams.get_mut(&stream) else { return Ok(()) };
        match *record {
            Record::Open { .. } => {}
            Record::Accepted { .. } if self.opens => self.events.push_back(Event::Accepted { stream }),
            Record::Accepted { .. } => return Err(Error::Violation("it accepts a stream of its own")),
            Record::Data { bytes, .. } => {
                let got = one.consumed + (one.incoming.len() + bytes.len()) as u64;
                if one.ended {
                    return Err(Error::Violation("data behind a stream's end"));
                }
                if got > one.granted {
                    return Err(Error::Violation("more data than it has credit for"));
                }
                one.incoming.extend_from_slice(bytes);
                self.received += bytes.len() as u64;
                self.woken.insert(stream);
            }
            Record::Finish { .. } => {
                if std::mem::replace(&mut one.ended, true) {
                    return Err(Error::Violation("a stream that ends twice"));
                }
                self.credits.remove(&stream);
                self.woken.insert(stream);
                self.clean(stream);
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
        Ok(())
    }

    /// The peer opens a stream.
    fn welcome(&mut self, stream: u32, class: Class, target: &str) -> Result<(), Error> {
        if self.opens {
            return Err(Error::Violation("it opens a stream"));
        }
        if stream != self.opened || stream == u32::MAX {
            return Err(Error::Violation("streams are not numbered one after the other"));
        }
        // What the peer has ended is none of its streams any more, though it may wait here for its reader.
        if self.streams.values().filter(|one| !one.is_closed()).count() >= MAX_STREAMS {
            return Err(Error::Violation("too many streams"));
        }
        self.opened += 1;
        if self.streams.len() >= MAX_STREAMS {
            self.out.say(&Record::Reset { stream, reason: Reason::Busy });
            return Ok(());
        }
        self.streams.insert(stream, Stream { announced: true, ..Stream::new(class) });
        self.events.push_back(Event::Opened { stream, target: target.to_owned(), class });
        Ok(())
    }

    /// Bytes that the peer may still send on all streams, with what is there and was not taken: what memory is bounded by.
    pub fn promised(&self) -> u64 {
        let promised = |one: &Stream| match one.ended {
            true => one.incoming.len() as u64,
            false => one.granted - one.consumed,
        };
        self.streams.values().map(promised).sum()
    }
}

/// All that may be promised.
pub const MOST_PROMISED: u64 = MAX_STREAMS as u64 * LEAST_CREDIT + super::POOL;
