//! A transfer over one stream, with the messages of mode full ([`hello`](crate::hello),
//! [records](crate::files::records)).
//!
//! ```text
//! sender    Hello · records
//! receiver  Reply · records
//! ```

use super::connection::{Connection, ConnectionEvent, Peer};
use super::{ConnectionError, Dir, PROTOCOL, StreamId};
use crate::address_change::AddressChange;
use crate::connection::{DONE, DatagramBatch, ReceivedBatch, describe};
use crate::connector::{Progress, SessionConfig};
use crate::error::Error;
use crate::hello::{Hello, REPLY_BYTES, Reply};
use crate::identity::{self, NAME};
use crate::opening_end::OpeningEnd;
use crate::settings::Settings;
use crate::source::Application;
use plait_sched::{Builtin, Scheduler};
use plait_transport::Counters;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of one read of the source. noq holds at least as many while there are more.
const CHUNK: usize = 256 << 10;

/// The sending end of the application `S`, with the scheduler `W`.
pub struct Sender<S, W = Builtin> {
    settings: Settings,
    connection: Connection<W>,
    hello: Hello,
    application: S,
    stream: Option<StreamId>,
    /// Bytes that arrived from the receiver.
    received: Vec<u8>,
    reply: Option<Reply>,
    /// Bytes that were read of the application's stream.
    read: u64,
    /// Last bytes read, of which noq has taken the first `taken`.
    buffer: Vec<u8>,
    taken: usize,
    outcome: Option<Result<(), Error>>,
}

impl<S: Application, W: Scheduler> Sender<S, W> {
    /// Creates an end that has sent nothing yet.
    ///
    /// # Errors
    /// [`Error::Setting`] if a setting is out of bounds, or if the scheduler [cannot decide
    /// here](super::check); [`Error::Tls`].
    pub fn new(
        now: Instant,
        settings: Settings,
        config: SessionConfig,
        scheduler: W,
        application: S,
    ) -> Result<Self, Error> {
        let hello = Hello {
            secret: config.secret,
            session: config.session,
            path: 0,
            continues: false,
            paths: 1,
            segment: settings.segment(),
            offer: config.offer,
        };
        let peer = Peer {
            remote: config.remote,
            name: NAME.to_owned(),
            tls: Arc::new(identity::client_of(config.fingerprint, PROTOCOL)?),
            locals: config.locals,
            terms: config.terms,
        };
        Ok(Self {
            settings,
            connection: Connection::new(now, settings, peer, scheduler)?,
            hello,
            application,
            stream: None,
            received: Vec::new(),
            reply: None,
            read: 0,
            buffer: Vec::new(),
            taken: 0,
            outcome: None,
        })
    }

    fn work(&mut self) {
        while let Some(event) = self.connection.poll() {
            match event {
                ConnectionEvent::Connected => self.send_hello(),
                ConnectionEvent::Readable(id) if Some(id) == self.stream => self.read_stream(id),
                ConnectionEvent::Stopped(..) => self.end(Err(Error::Ended("it wants no more".to_owned()))),
                ConnectionEvent::Lost(reason) => self.lost(&reason),
                // `transmit` writes whenever the stream has room.
                ConnectionEvent::Writable(_)
                | ConnectionEvent::Readable(_)
                | ConnectionEvent::Finished(_)
                | ConnectionEvent::Incoming(_)
                | ConnectionEvent::Available(_)
                | ConnectionEvent::Opened(_)
                | ConnectionEvent::Closed(_) => {}
            }
        }
    }

    fn send_hello(&mut self) {
        const NOT_WRITTEN: Error = Error::Malformed("stream limit");
        self.stream = self.connection.open(Dir::Bi);
        let hello = self.hello.encode();
        let result = self.stream.map(|id| self.connection.write(id, &hello));
        if !matches!(result, Some(Ok(written)) if written == hello.len()) {
            self.end(Err(NOT_WRITTEN));
        }
    }

    fn read_stream(&mut self, id: StreamId) {
        while let Some(bytes) = self.connection.read(id, CHUNK) {
            self.received.extend_from_slice(&bytes);
        }
        if self.reply.is_none()
            && let Some((reply, rest)) = self.received.split_at_checked(REPLY_BYTES)
        {
            let (reply, rest) = (Reply::decode(reply), rest.to_vec());
            self.received = rest;
            match reply {
                Ok(reply) => self.begin(reply),
                Err(error) => self.end(Err(error)),
            }
        }
        if self.reply.is_some() {
            let received = self.application.receive(&std::mem::take(&mut self.received));
            if let Some(outcome) = received.err().map(Err).or_else(|| self.application.outcome()) {
                self.end(outcome);
            }
        }
    }

    /// Begins the transfer when the receiver has answered.
    fn begin(&mut self, reply: Option<Reply>) {
        let Some(Reply { window }) = reply else { return };
        self.reply = reply;
        self.connection.expect_window(window);
        if self.hello.offer.is_question() {
            self.end(Ok(()));
        }
    }

    fn lost(&mut self, reason: &ConnectionError) {
        self.end(Err(match reason {
            _ if self.reply.is_none() => {
                let known = self.connection.progress().into_iter().find_map(|path| path.trouble);
                match reason {
                    ConnectionError::TimedOut => Error::Absent(known.unwrap_or_else(|| describe(reason))),
                    reason => Error::Refused(describe(reason)),
                }
            }
            ConnectionError::TimedOut => Error::Silent(self.settings.patience.as_secs()),
            reason => Error::Ended(describe(reason)),
        }));
    }

    fn end(&mut self, outcome: Result<(), Error>) {
        self.outcome.get_or_insert(outcome);
    }

    /// Gives noq enough data to send, or all that there is. Returns true if noq got some.
    fn top_up(&mut self, now: Instant) -> Result<bool, Error> {
        let Some(id) = self.stream.filter(|_| self.reply.is_some()) else {
            return Ok(false);
        };
        let size = self.application.advance(now, self.acknowledged(), 1);
        let mut any = false;
        while self.connection.backlog() < CHUNK as u64 {
            if self.taken == self.buffer.len() {
                if self.read == size {
                    break;
                }
                self.buffer.resize(CHUNK.min(usize::try_from(size - self.read).unwrap_or(CHUNK)), 0);
                self.application.read_at(self.read, &mut self.buffer)?;
                self.read += self.buffer.len() as u64;
                self.taken = 0;
            }
            match self.connection.write(id, &self.buffer[self.taken..]) {
                Ok(written) => {
                    self.taken += written;
                    any = true;
                }
                Err(_) => break,
            }
        }
        self.connection.announce(size - self.read + (self.buffer.len() - self.taken) as u64);
        Ok(any)
    }

    /// Returns the application.
    pub fn application(&self) -> &S {
        &self.application
    }

    /// Bytes of the application's stream that the receiver has, as far as known.
    fn acknowledged(&self) -> u64 {
        let held = self.connection.unacknowledged() + (self.buffer.len() - self.taken) as u64;
        self.read.saturating_sub(held)
    }
}

impl<S: Application, W: Scheduler> OpeningEnd for Sender<S, W> {
    fn handle_datagrams(&mut self, now: Instant, path: usize, batch: &ReceivedBatch<'_>) {
        self.connection.handle_datagrams(now, path, batch);
        self.work();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.work();
    }

    fn handle_failure(&mut self, path: usize, trouble: &str) {
        self.connection.handle_failure(path, trouble);
    }

    fn give_up(&mut self, reason: String) {
        self.end(Err(Error::Absent(reason)));
    }

    fn handle_address_change(&mut self, now: Instant, address_change: &AddressChange) {
        self.connection.handle_address_change(now, address_change);
    }

    fn stop(&mut self) {
        self.end(Err(Error::Stopped));
    }

    fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        loop {
            let more = match self.top_up(now) {
                Ok(more) => more,
                Err(error) => {
                    self.end(Err(error));
                    false
                }
            };
            if self.outcome.is_some() {
                self.connection.close(now, DONE, "done");
            }
            self.connection.transmit(now, out);
            // The data in noq waits for room.
            if !more || self.connection.backlog() >= CHUNK as u64 {
                return;
            }
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let application = self.application.next_wakeup().filter(|_| self.reply.is_some());
        [self.connection.next_wakeup(), application].into_iter().flatten().min()
    }

    fn outcome(&self) -> Option<&Result<(), Error>> {
        self.outcome.as_ref()
    }

    fn into_outcome(self) -> Option<Result<(), Error>> {
        self.outcome
    }

    fn counters(&self) -> Counters {
        self.connection.counters()
    }

    fn progress(&self) -> Vec<Progress> {
        self.connection.progress()
    }
}
