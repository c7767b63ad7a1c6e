//! Many byte streams, each in both directions, in the segments of one endless [`Session`].
//!
//! ```text
//! write ─► outgoing ─► record, chosen as a segment leaves ═► record ─► incoming ─► peek, consume
//!             ◄──────────────────────── credit ◄──────────────────────────┘
//! ```
//!
//! The transport knows only the number of waiting bytes ([`Streams::reserve`]), so that schedulers
//! see how much there is to send. The *content* of a segment is chosen when that segment, or a
//! later one, first leaves. So no queue stands between a stream and its segments. Data of a stream
//! that waits for nothing is in the next segment that leaves, even if other streams have much data.
//! Interactive streams precede bulk streams, and redundant streams precede both. Streams of one
//! class take turns, one segment each. A segment with data of a redundant stream leaves on every
//! path, and the first copy to arrive counts.
//!
//! Credit bounds the memory: a stream's reader promises room for data, and the peer sends no more.
//! All promises together never exceed [`MAX_STREAMS`]·[`MIN_CREDIT`] + [`POOL`].
//!
//! Control records precede all data. Copies of redundant streams leave under any scheduler
//! (`Endpoint::copy`). Records of a stream that is not open yet wait (`incoming.rs`).
//!
//! Datagrams of UDP are records too ([`flows`]). They leave once: a retransmitted segment goes
//! without them, and a segment with datagrams alone is replaced by an empty one, so that numbers
//! and window stay complete. If the original arrives later, it is still read
//! (`session/void_segments.rs`). Datagrams reserve at most 64 KiB of the transport's queue, because
//! a reservation cannot be taken back. A reservation is one segment, planned from the waiting
//! datagrams, so these share segments.
//!
//! The opening end knows the terms of paths: cost, backup, exhausted budgets. It sends them as a
//! record, and the other end sets them in its transport (`Endpoint::set_terms`).
//!
//! [`Near`] and [`Far`] are the two ends, with paths. After any input call [`Streams::poll`] and
//! [`Streams::next_ready`] until they return `None`, then [`Streams::transmit`].

pub mod far;
pub mod flows;
mod incoming;
pub mod near;
mod outgoing;
mod reassembly_buffer;
mod record;
mod send_queue;
mod stream;
#[cfg(test)]
mod tests;

use crate::error::Error;
use crate::session::Session;
use crate::terms::PathTerms;
use bytes::{Buf, Bytes, BytesMut};
pub use far::Far;
use flows::Flows;
pub use flows::{Datagrams, MAX_DATAGRAM, MAX_FLOWS};
pub use incoming::MAX_PROMISED;
pub use near::Near;
use plait_sched::{PathId, Scheduler, Time};
use reassembly_buffer::ReassemblyBuffer;
pub use record::{Class, MAX_TARGET, Reason};
use record::{MAX_CONTROL, Record};
use send_queue::SendQueue;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::Stream;

/// Most concurrent streams.
pub const MAX_STREAMS: usize = 256;

/// Bytes that may arrive on any stream before its reader has taken some.
pub const MIN_CREDIT: u64 = 64 << 10;

/// Most bytes that may arrive on a stream beyond those that its reader has taken.
pub const MAX_CREDIT: u64 = 4 << 20;

/// Bytes that all streams together may be promised beyond the least credit.
pub const POOL: u64 = 48 << 20;

/// Most bytes of a stream that are written and in no segment yet.
pub const BACKLOG: usize = 256 << 10;

/// An event of a stream or a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StreamEvent {
    /// The peer opens a stream: see [`Streams::accept`] and [`Streams::reset`].
    Opened {
        /// Number of the stream.
        stream: u32,
        /// Target of the stream.
        target: String,
        /// Class of the stream.
        class: Class,
    },
    /// The peer opens a flow of datagrams: see [`Streams::reset`].
    Flow {
        /// Number of the flow.
        flow: u32,
        /// Target of the flow.
        target: String,
        /// Class of the flow.
        class: Class,
    },
    /// The peer has accepted a stream.
    Accepted {
        /// Number of the stream.
        stream: u32,
    },
    /// The peer has ended a stream or a flow, which is discarded with its bytes.
    Reset {
        /// Number of the stream or flow.
        stream: u32,
        /// Reason.
        reason: Reason,
    },
}

/// One end of all streams.
#[derive(Debug)]
pub struct Streams {
    /// True if this end opens the streams.
    opens: bool,
    /// Number of streams and flows ever opened, which are numbered consecutively.
    opened: u32,
    streams: BTreeMap<u32, Stream>,
    out: SendQueue,
    /// Streams whose peer may get more credit.
    credits: BTreeSet<u32>,
    pool: u64,
    events: VecDeque<StreamEvent>,
    ready: BTreeSet<u32>,
    received: u64,
    /// Rests of segments that wait for an earlier segment, by number.
    deferred: BTreeMap<u64, Bytes>,
    /// Pieces of all streams that arrived early.
    early: usize,
    /// Terms of paths, as the opening end reports them.
    terms: BTreeMap<u32, PathTerms>,
    flows: Flows,
}

impl Streams {
    /// Creates an end that `opens` streams, or its peer; segments have at most `segment` bytes.
    pub fn new(opens: bool, segment: u16) -> Self {
        Self {
            opens,
            opened: 0,
            streams: BTreeMap::new(),
            out: SendQueue::new(segment.into()),
            credits: BTreeSet::new(),
            pool: POOL,
            events: VecDeque::new(),
            ready: BTreeSet::new(),
            received: 0,
            deferred: BTreeMap::new(),
            early: 0,
            terms: BTreeMap::new(),
            flows: Flows::default(),
        }
    }

    /// Opens a stream to a target. It can be written to at once.
    ///
    /// # Errors
    /// [`Reason::Busy`] if there are too many streams, [`Reason::Unresolved`] if the target is too
    /// long.
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
        self.streams
            .insert(stream, Stream { reassembly: ReassemblyBuffer::unaccepted(), ..Stream::new(class) });
        self.out.push_control(&Record::Open { stream, class, target }, class);
        Ok(stream)
    }

    /// Tells the peer the terms of a path, if they are new to it.
    pub(crate) fn queue_terms(&mut self, path: usize, terms: PathTerms) {
        debug_assert!(self.opens, "the other end has no terms");
        let path = path as u32;
        if self.terms.insert(path, terms).unwrap_or_default() != terms {
            self.out.push_control(&Record::Terms { path, terms }, Class::Bulk);
        }
    }

    /// Returns the terms of the peer's paths, as the peer reports them.
    pub(crate) fn peer_terms(&self) -> impl Iterator<Item = (usize, PathTerms)> {
        self.terms.iter().map(|(path, terms)| (*path as usize, *terms))
    }

    /// Accepts a stream, which has reached its target.
    pub fn accept(&mut self, stream: u32) {
        if let Some(one) = self.streams.get(&stream) {
            self.out.push_control(&Record::Accepted { stream }, one.class);
        }
    }

    /// Bytes that can be written to a stream now.
    pub fn room(&self, stream: u32) -> usize {
        let writable = self.streams.get(&stream).filter(|one| !one.finishing);
        writable.map_or(0, |one| BACKLOG - one.send_buffer.len())
    }

    /// Writes as many bytes to a stream as there is room for, and returns their number.
    pub fn write(&mut self, stream: u32, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room(stream));
        if let Some(one) = self.streams.get_mut(&stream) {
            one.send_buffer.extend_from_slice(&bytes[..count]);
        }
        self.queue(stream);
        count
    }

    /// Ends the data of a stream. Written data still leaves, and the peer may go on.
    pub fn finish(&mut self, stream: u32) {
        if let Some(one) = self.streams.get_mut(&stream) {
            one.finishing = true;
        }
        self.queue(stream);
    }

    /// Ends a stream early, in both directions, or a flow. It is discarded, and the peer gets the
    /// reason.
    pub fn reset(&mut self, stream: u32, reason: Reason) {
        if let Some(flow) = self.flows.remove(stream) {
            self.out.push_control(&Record::Reset { stream, reason }, flow.class);
            self.out.forget(stream);
        }
        if let Some(one) = self.streams.get(&stream) {
            if !one.is_closed() {
                self.out.push_control(&Record::Reset { stream, reason }, one.class);
            }
            self.forget(stream);
        }
    }

    /// Returns the bytes that arrived on a stream and were not taken.
    pub fn peek(&self, stream: u32) -> &[u8] {
        self.streams.get(&stream).map_or(&[], |one| &one.receive_buffer)
    }

    /// Takes the first `count` of the bytes that arrived on a stream, so that there is room for
    /// others.
    pub fn consume(&mut self, stream: u32, count: usize) {
        let open = self.streams.len() as u64;
        let Some(one) = self.streams.get_mut(&stream) else { return };
        one.receive_buffer.advance(count);
        one.consumed += count as u64;
        if one.receive_buffer.is_empty() {
            // The memory of a burst is released.
            one.receive_buffer = BytesMut::new();
        }
        // The streams share the pool equally, but promises are kept.
        let free = self.pool + one.lent;
        let share = (POOL / open).min(MAX_CREDIT - MIN_CREDIT).min(free);
        let limit = (one.consumed + MIN_CREDIT + share).max(one.granted);
        let worthwhile = limit - one.granted >= (MIN_CREDIT + share) / 4;
        // The peer must know the stream before.
        if worthwhile && one.announced && one.reassembly.size().is_none() {
            one.granted = limit;
            self.credits.insert(stream);
        }
        one.lent = (one.granted - one.consumed).saturating_sub(MIN_CREDIT);
        self.pool = free - one.lent;
        self.clean(stream);
    }

    /// True if no more data arrives, and all data was taken.
    pub fn is_ended(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_none_or(|one| one.ended && one.receive_buffer.is_empty())
    }

    /// True if there is no such stream, or no longer.
    pub fn is_over(&self, stream: u32) -> bool {
        !self.streams.contains_key(&stream)
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// Returns a stream that got data, or has room again.
    pub fn next_ready(&mut self) -> Option<u32> {
        self.ready.pop_first()
    }

    /// Handles the segments that arrived at a session, in any order.
    ///
    /// # Errors
    /// Those of [`Streams::handle`].
    pub fn take<W: Scheduler>(&mut self, session: &mut Session<W>) -> Result<(), Error> {
        while let Some((number, segment)) = session.read_unordered() {
            self.handle_early(number, &segment)?;
        }
        self.advance(session.next_expected())
    }

    /// Appends all packets that leave a session now, with their paths.
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
        self.discard_acknowledged(session.acknowledged_segments());
        loop {
            let mut more = false;
            while let Some(bytes) = self.reserve() {
                session.extend(bytes);
                more = true;
            }
            session.transmit(now, self, packets)?;
            // A packet that left may have made room for more: data waits for the opening of its
            // stream.
            if !more {
                return Ok(());
            }
        }
    }

    /// Bytes of streams that arrived, and bytes that are in segments.
    pub fn carried(&self) -> [u64; 2] {
        [self.received, self.out.carried]
    }

    /// Number of streams.
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// True if there are no streams.
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// Number of streams and flows ever opened.
    pub fn opened(&self) -> u32 {
        self.opened
    }

    /// Bytes in memory: data that arrived and was not taken, written data in no segment, and
    /// segments that may need a retransmission.
    pub fn memory(&self) -> u64 {
        let of = |one: &Stream| one.receive_buffer.len() + one.reassembly.bytes() + one.send_buffer.len();
        let streams = self.streams.values().map(of).sum::<usize>();
        let deferred = self.deferred.values().map(Bytes::len).sum::<usize>();
        (streams + deferred + self.flows.memory()) as u64 + self.out.unacked()
    }

    /// Discards a stream if both directions have ended and all data was taken.
    fn clean(&mut self, stream: u32) {
        if self.streams.get(&stream).is_some_and(|one| one.is_closed() && one.receive_buffer.is_empty()) {
            self.forget(stream);
        }
    }

    fn forget(&mut self, stream: u32) {
        if let Some(one) = self.streams.remove(&stream) {
            self.early -= one.reassembly.pieces();
            self.pool += one.lent;
            self.credits.remove(&stream);
            self.out.forget(stream);
        }
    }
}
