//! Many streams of bytes, each both ways, in the segments of one [`Session`] without end.
//!
//! ```text
//! write ─► outgoing of a stream ─► which record next? (as a segment leaves) ─► segment ═► record ─► incoming of a stream ─► peek, consume
//!            ◄──────────────────────────── credit ◄───────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The transport is told how many bytes wait ([`Streams::reserve`]), so that schedulers see what there is to send; *which* bytes a segment holds is decided
//! when the first segment from it on leaves. So nothing queues in between: what is written to a stream that waits for nobody is in the next segment that
//! leaves, however much others have. Interactive streams go before bulk ones, redundant ones before both; streams of one class take turns, a segment each. What holds
//! something of a redundant stream goes on every path: the copy counts that comes first.
//!
//! Memory is bounded by credit: a stream's reader has promised room for what comes, and no more comes. All promises together are never more than
//! [`MAX_STREAMS`]·[`LEAST_CREDIT`] + [`POOL`].
//!
//! [`Near`] and [`Far`] are the two ends, with paths. After any input call [`Streams::poll`] and [`Streams::woken`] until they have nothing, then
//! [`Streams::transmit`].

mod early;
pub mod far;
pub mod flows;
mod incoming;
pub mod near;
mod outgoing;
mod record;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::session::Session;
use crate::terms::PathTerms;
use bytes::{Buf, Bytes, BytesMut};
use early::Early;
pub use far::Far;
use flows::Flows;
pub use flows::{Datagrams, MAX_FLOWS};
pub use incoming::MOST_PROMISED;
pub use near::Near;
use outgoing::Outgoing;
use plait_sched::{PathId, Scheduler, Time};
pub use record::{Class, MAX_TARGET, Reason};
use record::{MAX_CONTROL, Record};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Streams at once.
pub const MAX_STREAMS: usize = 256;

/// Bytes that may come on any stream before its reader has taken some.
pub const LEAST_CREDIT: u64 = 64 << 10;

/// Likewise at most, once it has.
pub const MOST_CREDIT: u64 = 4 << 20;

/// What all streams together may be promised beyond the least.
pub const POOL: u64 = 48 << 20;

/// Bytes of a stream that are written and not in a segment yet, at most.
pub const BACKLOG: usize = 256 << 10;

/// What happened to a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The peer opens one: see [`Streams::accept`] and [`Streams::reset`].
    Opened {
        /// Which.
        stream: u32,
        /// Where it is to lead to.
        target: String,
        /// What it is for.
        class: Class,
    },
    /// The peer opens a flow of datagrams: see [`Streams::reset`].
    Flow {
        /// Which.
        flow: u32,
        /// Its target.
        target: String,
        /// Its class.
        class: Class,
    },
    /// The peer has accepted it.
    Accepted {
        /// Which.
        stream: u32,
    },
    /// The peer has ended it, or a flow. It is forgotten, and so are its bytes.
    Reset {
        /// Which.
        stream: u32,
        /// Why.
        reason: Reason,
    },
}

/// One stream.
#[derive(Debug, Default)]
struct Stream {
    class: Class,
    /// The peer knows it, or will before what is written to it.
    announced: bool,
    outgoing: BytesMut,
    /// Bytes that are in segments, and how many may be.
    sent: u64,
    limit: u64,
    /// Nothing more is written; the peer was told so.
    finishing: bool,
    finished: bool,
    /// It waits for its turn.
    queued: bool,
    incoming: BytesMut,
    early: Early,
    /// Bytes that were taken, and how many the peer may send.
    consumed: u64,
    granted: u64,
    /// What it has of the pool.
    lent: u64,
    /// All that the peer sends is there, or was taken.
    ended: bool,
}

impl Stream {
    fn new(class: Class) -> Self {
        Self { class, limit: LEAST_CREDIT, granted: LEAST_CREDIT, ..Self::default() }
    }

    /// Bytes that may be in segments now.
    fn sendable(&self) -> usize {
        let allowed = usize::try_from(self.limit - self.sent).unwrap_or(usize::MAX);
        self.outgoing.len().min(allowed)
    }

    /// There is something for a segment.
    fn has_turn(&self) -> bool {
        self.announced
            && (self.sendable() > 0 || self.finishing && !self.finished && self.outgoing.is_empty())
    }

    /// Both ends have said their last.
    fn is_closed(&self) -> bool {
        self.finished && self.ended
    }
}

/// One end of all streams.
#[derive(Debug)]
pub struct Streams {
    /// This end opens them.
    opens: bool,
    /// How many were ever opened: their numbers follow each other.
    opened: u32,
    streams: BTreeMap<u32, Stream>,
    out: Outgoing,
    /// Streams whose peer may be told of more credit.
    credits: BTreeSet<u32>,
    pool: u64,
    events: VecDeque<Event>,
    woken: BTreeSet<u32>,
    received: u64,
    /// What is left of segments that wait for an earlier one, by number.
    waiting: BTreeMap<u64, Bytes>,
    /// Pieces that came early, of all streams.
    early: usize,
    /// What the peer says of paths.
    terms: BTreeMap<u32, PathTerms>,
    flows: Flows,
}

impl Streams {
    /// Of an end that `opens` streams, or of its peer; segments have `segment` bytes at most.
    pub fn new(opens: bool, segment: u16) -> Self {
        Self {
            opens,
            opened: 0,
            streams: BTreeMap::new(),
            out: Outgoing::new(segment.into()),
            credits: BTreeSet::new(),
            pool: POOL,
            events: VecDeque::new(),
            woken: BTreeSet::new(),
            received: 0,
            waiting: BTreeMap::new(),
            early: 0,
            terms: BTreeMap::new(),
            flows: Flows::default(),
        }
    }

    /// Opens a stream that is to lead somewhere. It can be written to at once.
    ///
    /// # Errors
    /// [`Reason::Busy`] if there are too many, [`Reason::Unresolved`] if the target is too long.
    pub fn open(&mut self, target: &str, class: Class) -> Result<u32, Reason> {
        debug_assert!(self.opens, "the other end opens streams");
        if target.len() > MAX_TARGET {
            return Err(Reason::Unresolved);
        }
        if self.streams.len() >= MAX_STREAMS || self.opened == u32::MAX {
            return Err(Reason::Busy);
        }
        let stream = self.opened;
        self.opened += 1;
        self.streams.insert(stream, Stream { early: Early::unaccepted(), ..Stream::new(class) });
        self.out.say(&Record::Open { stream, class, target }, class);
        Ok(stream)
    }

    /// Tells the peer what a path is for.
    pub(crate) fn say_terms(&mut self, path: usize, terms: PathTerms) {
        debug_assert!(self.opens, "the other end has no terms");
        self.out.say(&Record::Terms { path: path as u32, terms }, Class::Bulk);
    }

    /// What the peer says of its paths.
    pub(crate) fn told(&self) -> impl Iterator<Item = (usize, PathTerms)> {
        self.terms.iter().map(|(path, terms)| (*path as usize, *terms))
    }

    /// The stream leads where it is to.
    pub fn accept(&mut self, stream: u32) {
        if let Some(one) = self.streams.get(&stream) {
            self.out.say(&Record::Accepted { stream }, one.class);
        }
    }

    /// Bytes that can be written now.
    pub fn room(&self, stream: u32) -> usize {
        let writable = self.streams.get(&stream).filter(|one| !one.finishing);
        writable.map_or(0, |one| BACKLOG - one.outgoing.len())
    }

    /// Writes to a stream as much as there is room for: how much that was.
    pub fn write(&mut self, stream: u32, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room(stream));
        if let Some(one) = self.streams.get_mut(&stream) {
            one.outgoing.extend_from_slice(&bytes[..count]);
        }
        self.queue(stream);
        count
    }

    /// Nothing more is written to it; what is there still leaves, and the peer may go on.
    pub fn finish(&mut self, stream: u32) {
        if let Some(one) = self.streams.get_mut(&stream) {
            one.finishing = true;
        }
        self.queue(stream);
    }

    /// Ends a stream before its end, both ways, or a flow: it is forgotten, and the peer told why.
    pub fn reset(&mut self, stream: u32, reason: Reason) {
        if let Some(flow) = self.flows.remove(stream) {
            self.out.say(&Record::Reset { stream, reason }, flow.class);
            self.out.forget(stream);
        }
        if let Some(one) = self.streams.get(&stream) {
            if !one.is_closed() {
                self.out.say(&Record::Reset { stream, reason }, one.class);
            }
            self.forget(stream);
        }
    }

    /// What has come of a stream and was not taken.
    pub fn peek(&self, stream: u32) -> &[u8] {
        self.streams.get(&stream).map_or(&[], |one| &one.incoming)
    }

    /// Takes the first bytes of what has come: there is room for others.
    pub fn consume(&mut self, stream: u32, count: usize) {
        let open = self.streams.len() as u64;
        let Some(one) = self.streams.get_mut(&stream) else { return };
        one.incoming.advance(count);
        one.consumed += count as u64;
        if one.incoming.is_empty() {
            // A burst's memory is not kept.
            one.incoming = BytesMut::new();
        }
        // The pool is shared alike, but what was promised stays so.
        let free = self.pool + one.lent;
        let share = (POOL / open).min(MOST_CREDIT - LEAST_CREDIT).min(free);
        let limit = (one.consumed + LEAST_CREDIT + share).max(one.granted);
        let worthwhile = limit - one.granted >= (LEAST_CREDIT + share) / 4;
        // The peer has to know of the stream before.
        if worthwhile && one.announced && one.early.size().is_none() {
            one.granted = limit;
            self.credits.insert(stream);
        }
        one.lent = (one.granted - one.consumed).saturating_sub(LEAST_CREDIT);
        self.pool = free - one.lent;
        self.clean(stream);
    }

    /// Nothing more comes, and all that came was taken.
    pub fn is_ended(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_none_or(|one| one.ended && one.incoming.is_empty())
    }

    /// There is no such stream, or none any more.
    pub fn is_over(&self, stream: u32) -> bool {
        !self.streams.contains_key(&stream)
    }

    /// What happened next.
    pub fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A stream of which something came, or that has room again.
    pub fn woken(&mut self) -> Option<u32> {
        self.woken.pop_first()
    }

    /// What has come to a session, in any order.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn take<W: Scheduler>(&mut self, session: &mut Session<W>) -> Result<(), Error> {
        while let Some((number, segment)) = session.read_any() {
            self.handle_early(number, &segment)?;
        }
        self.advance(session.next_expected())
    }

    /// All packets that leave a session now, with their paths.
    ///
    /// # Errors
    /// If the scheduler broke its contract.
    pub fn transmit<W: Scheduler>(
        &mut self,
        now: Time,
        session: &mut Session<W>,
        packets: &mut Vec<(PathId, Bytes)>,
    ) -> Result<(), Error> {
        self.flows.now = now;
        self.settle(session.settled());
        loop {
            let mut more = false;
            while let Some(bytes) = self.reserve() {
                session.extend(bytes);
                more = true;
            }
            session.transmit(now, self, packets)?;
            // What has left may have made room for more: an opening, which data waits for.
            if !more {
                return Ok(());
            }
        }
    }

    /// Bytes of streams that came, and that are in segments.
    pub fn carried(&self) -> [u64; 2] {
        [self.received, self.out.carried]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// How many were ever opened.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    /// Bytes in memory: what came and was not taken, what was written and is in no segment, and segments that may have to be sent again.
    pub fn memory(&self) -> u64 {
        let of = |one: &Stream| one.incoming.len() + one.early.bytes() + one.outgoing.len();
        let streams = self.streams.values().map(of).sum::<usize>();
        let waiting = self.waiting.values().map(Bytes::len).sum::<usize>();
        (streams + waiting + self.flows.memory()) as u64 + self.out.kept()
    }

    /// Both ends have said their last, and nothing is left to be taken.
    fn clean(&mut self, stream: u32) {
        if self.streams.get(&stream).is_some_and(|one| one.is_closed() && one.incoming.is_empty()) {
            self.forget(stream);
        }
    }

    fn forget(&mut self, stream: u32) {
        if let Some(one) = self.streams.remove(&stream) {
            self.early -= one.early.pieces();
            self.pool += one.lent;
            self.credits.remove(&stream);
            self.out.forget(stream);
        }
    }
}
