//! A file that arrives, and what is told of it.

use crate::clients::Guest;
use crate::error::Error;
use crate::hello::{Hello, Offer, Verdict};
use crate::session::Session;
use bytes::Bytes;
use noq_proto::ConnectionHandle;
use plait_sched::Time;
use sha2::Sha256;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub use crate::door::Id;

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A file is offered by someone who knows the secret, who waits for [`Receiver::accept`](crate::Receiver::accept) or
    /// [`Receiver::refuse`](crate::Receiver::refuse).
    Begun {
        /// Which.
        id: Id,
        /// The file.
        offer: Offer,
        /// Its client.
        from: Guest,
    },
    /// The next bytes of a file, in order.
    Data {
        /// Which.
        id: Id,
        /// The bytes.
        bytes: Bytes,
    },
    /// All is there, and is what was offered: say with [`Receiver::conclude`](crate::Receiver::conclude) whether it is kept.
    Whole {
        /// Which.
        id: Id,
    },
    /// Somebody has said a wrong secret.
    Rejected {
        /// From where.
        remote: SocketAddr,
    },
    /// Nothing more happens.
    Ended {
        /// Which.
        id: Id,
        /// The file.
        offer: Offer,
        /// Its client.
        from: Guest,
        /// Whether the file is there and the sender was told, as far as that can be known.
        outcome: Result<Summary, Error>,
    },
}

/// A transfer in numbers.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes of it that were there before.
    pub resumed: u64,
    /// From the first path to the last byte.
    pub duration: Duration,
    /// Bytes that came first on each path.
    pub paths: Vec<u64>,
    /// The longest time in which nothing was handed on in order.
    pub longest_gap: Duration,
}

/// The beginning of a file that is there already, of an earlier transfer. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// How long it is.
    pub bytes: u64,
    /// The hash of it so far.
    pub hash: Sha256,
}

/// A file that arrives.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) from: Guest,
    pub(crate) session: Session,
    pub(crate) hello: Hello,
    pub(crate) links: Vec<Option<ConnectionHandle>>,
    pub(crate) epoch: Instant,
    pub(crate) heard_at: Instant,
    pub(crate) hash: Sha256,
    pub(crate) got: u64,
    pub(crate) resumed: u64,
    pub(crate) whole_at: Option<Instant>,
    /// What is said at the end; empty before.
    pub(crate) verdict: Vec<u8>,
    pub(crate) said: bool,
    pub(crate) kept: Option<Verdict>,
}

impl Transfer {
    pub(crate) fn new(now: Instant, from: Guest, session: Session, hello: Hello, prefix: Prefix) -> Self {
        Self {
            from,
            session,
            links: vec![None; hello.paths.into()],
            hello,
            epoch: now,
            heard_at: now,
            hash: prefix.hash,
            got: prefix.bytes,
            resumed: prefix.bytes,
            whole_at: None,
            verdict: Vec::new(),
            said: false,
            kept: None,
        }
    }

    /// Whether another session of the same client offers the same file.
    pub(crate) fn rivals(&self, hello: &Hello, from: &Guest) -> bool {
        self.hello.offer.digest == hello.offer.digest
            && self.hello.session != hello.session
            && self.from.number == from.number
    }

    /// A path greets, for the first time or anew.
    pub(crate) fn join(&mut self, now: Instant, path: usize, round_trip: Option<Duration>) {
        let time = self.time(now);
        self.session.join(time, path, &[]);
        self.session.measure(time, path, round_trip);
        self.links.resize(self.links.len().max(path + 1), None);
    }

    pub(crate) fn time(&self, now: Instant) -> Time {
        Time::from_nanos(now.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    pub(crate) fn say(&mut self, verdict: Verdict, digest: &[u8; 32]) {
        self.verdict = verdict.encode(digest).to_vec();
        self.kept = Some(verdict);
        self.said = true;
        self.session.write();
    }
}
