//! A transfer at the receiver, and its events.

use crate::clients::Guest;
use crate::error::Error;
use crate::hello::{Hello, Offer};
use crate::session::Session;
use crate::source::Source;
use bytes::Bytes;
use noq_proto::ConnectionHandle;
use plait_sched::Time;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub use crate::door::Id;

/// An event of a receiver.
#[derive(Debug)]
pub enum Event {
    /// A sender with the secret offers a transfer, and waits for
    /// [`Receiver::accept`](crate::Receiver::accept) or
    /// [`Receiver::refuse`](crate::Receiver::refuse).
    Begun {
        /// Identifier of the transfer.
        id: Id,
        /// The offered files.
        offer: Offer,
        /// Client of the sender.
        from: Guest,
    },
    /// The next bytes of a transfer's stream, in order: see [`Receiver::say`](crate::Receiver::say)
    /// and [`Receiver::conclude`](crate::Receiver::conclude).
    Data {
        /// Identifier of the transfer.
        id: Id,
        /// The bytes.
        bytes: Bytes,
    },
    /// A peer presented a wrong secret.
    Rejected {
        /// Address of the peer.
        remote: SocketAddr,
    },
    /// A transfer has ended.
    Ended {
        /// Identifier of the transfer.
        id: Id,
        /// The offered files.
        offer: Offer,
        /// Client of the sender.
        from: Guest,
        /// `Ok` if the transfer was concluded and the sender was told, as far as this can be known.
        outcome: Result<Summary, Error>,
    },
}

/// Figures of a transfer.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Time from the first path to the end.
    pub duration: Duration,
    /// Bytes that arrived first on each path.
    pub paths: Vec<u64>,
    /// Longest time without data delivered in order.
    pub longest_gap: Duration,
}

/// Stream to the sender, from the first unacknowledged byte on.
#[derive(Debug, Default)]
pub(crate) struct Said {
    base: u64,
    bytes: Vec<u8>,
}

/// Size of the pieces in which acknowledged bytes are discarded.
const FORGOTTEN: u64 = 64 << 10;

impl Said {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Fills up the last segment of `unit` bytes. Returns the length of the stream.
    fn pad(&mut self, unit: u64) -> u64 {
        let end = (self.base + self.bytes.len() as u64).next_multiple_of(unit);
        self.bytes.resize((end - self.base) as usize, 0);
        end
    }

    fn forget(&mut self, acknowledged: u64) {
        if acknowledged >= self.base + FORGOTTEN {
            self.bytes.drain(..(acknowledged - self.base) as usize);
            self.base = acknowledged;
        }
    }
}

impl Source for Said {
    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = offset.checked_sub(self.base).and_then(|from| usize::try_from(from).ok());
        let found = from.and_then(|from| self.bytes.get(from..)?.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An incoming transfer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) from: Guest,
    pub(crate) session: Session,
    pub(crate) hello: Hello,
    pub(crate) links: Vec<Option<ConnectionHandle>>,
    pub(crate) epoch: Instant,
    pub(crate) heard_at: Instant,
    pub(crate) got: u64,
    pub(crate) said: Said,
    /// Bytes of `said` that the transport knows.
    written: u64,
    /// Outcome of the transfer, with its time.
    pub(crate) concluded: Option<(Instant, Result<(), Error>)>,
}

impl Transfer {
    pub(crate) fn new(now: Instant, from: Guest, session: Session, hello: Hello) -> Self {
        Self {
            from,
            session,
            links: vec![None; hello.paths.into()],
            hello,
            epoch: now,
            heard_at: now,
            got: 0,
            said: Said::default(),
            written: 0,
            concluded: None,
        }
    }

    /// Adds a path that greets, for the first time or anew.
    pub(crate) fn join(&mut self, now: Instant, path: usize, round_trip: Option<Duration>) {
        let time = self.time(now);
        self.session.join(time, path, &[]);
        self.session.measure(time, path, round_trip);
        self.links.resize(self.links.len().max(path + 1), None);
    }

    pub(crate) fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    /// Hands new bytes for the sender to the transport.
    pub(crate) fn extend(&mut self) {
        self.said.forget(self.session.acknowledged());
        let end = self.said.pad(self.session.agreed().segment.into());
        self.session.extend(end - self.written);
        self.written = end;
    }

    /// True if the transfer is concluded and the sender has received all bytes for it.
    pub(crate) fn is_over(&self) -> bool {
        let end = self.said.base + self.said.bytes.len() as u64;
        self.concluded.is_some() && self.written == end && self.session.is_drained()
    }
}
