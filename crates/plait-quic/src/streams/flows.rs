//! Flows of datagrams, beside the streams and in the same segments: unreliable and unordered.
//!
//! A datagram leaves in the next segment with room for it. It waits [`PATIENCE`] at most; then it is
//! dropped, the oldest first. So schedulers and windows are those of the streams. A
//! [redundant](Class::Redundant) flow has its copies on every path, and the receiver reads the first.
//! A lost segment is sent again without its datagrams; an empty one is told to be over.
//!
//! A datagram that is larger than a segment is cut into pieces. All of them have to come within
//! [`REASSEMBLY`].

use super::record::{DATAGRAM, MAX_TARGET, PIECE, Record};
use super::{Class, Event, Reason, Streams};
use crate::error::Error;
use bytes::Bytes;
use plait_sched::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Flows at once.
pub const MAX_FLOWS: usize = 256;

/// Bytes of a datagram at most: the payload of UDP in a jumbo frame of Ethernet.
pub const MAX_DATAGRAM: usize = 8_972;

/// A datagram waits so long for a segment.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// The pieces of a datagram come within this time.
pub const REASSEMBLY: Duration = Duration::from_millis(1_000);

/// Bytes of datagrams that wait in one flow, and in all of them.
const MOST_WAITING: [usize; 2] = [1 << 20, 8 << 20];

/// Bytes of pieces that wait for others.
const MOST_PIECES: usize = 4 << 20;

/// Bytes of received datagrams in memory.
const MOST_ARRIVED: usize = 8 << 20;

/// Bytes of a piece at least, but for the last one.
const LEAST_PIECE: usize = 64;

/// Counts of datagrams by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Datagrams {
    /// In segments.
    pub sent: u64,
    /// Handed on.
    pub received: u64,
    /// Dropped because they waited too long, or too many waited.
    pub late: u64,
    /// Dropped because they have more than [`MAX_DATAGRAM`] bytes.
    pub large: u64,
    /// Dropped at this end because some of their pieces did not come.
    pub incomplete: u64,
}

/// A datagram that waits.
#[derive(Debug)]
struct Waiting {
    since: Time,
    bytes: Bytes,
    /// So much of it is in segments.
    sent: usize,
    /// It fits into none.
    is_cut: bool,
}

/// One flow.
#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) class: Class,
    /// The peer knows it, or will before its datagrams.
    pub(super) announced: bool,
    /// It waits for its turn.
    pub(super) queued: bool,
    waiting: VecDeque<Waiting>,
    /// Bytes of these that are in no segment; of those alone that are cut into pieces, and how many are.
    bytes: usize,
    cut: [usize; 2],
    /// The number of the next datagram that is cut.
    number: u16,
    /// A segment with room for the next one was asked for.
    asked: bool,
}

impl Flow {
    pub(super) fn has_turn(&self) -> bool {
        self.announced && !self.waiting.is_empty()
    }

    /// Bytes of records for all that waits, where segments have `full` bytes at most.
    pub(super) fn needed(&self, full: usize) -> usize {
        let [cut, count] = self.cut;
        let pieces = cut / (full - PIECE) + count;
        self.bytes + (self.waiting.len() - count) * DATAGRAM + pieces * PIECE
    }

    fn push(&mut self, since: Time, bytes: &[u8], full: usize) {
        self.bytes += bytes.len();
        let is_cut = bytes.len() + DATAGRAM > full;
        if is_cut {
            self.cut = [self.cut[0] + bytes.len(), self.cut[1] + 1];
        }
        self.waiting.push_back(Waiting { since, bytes: Bytes::copy_from_slice(bytes), sent: 0, is_cut });
    }

    /// The first is not wanted any more, or has left. Bytes of it that were in no segment.
    fn drop_first(&mut self) -> usize {
        let Some(first) = self.waiting.pop_front() else { return 0 };
        let left = first.bytes.len() - first.sent;
        self.bytes -= left;
        if first.is_cut {
            self.cut = [self.cut[0] - left, self.cut[1] - 1];
            self.number = self.number.wrapping_add(1);
        }
        self.asked = false;
        left
    }

    /// The next piece of the first, of `most` bytes at most, and its bytes.
    fn cut_first(&mut self, flow: u32, most: usize, out: &mut Vec<u8>) -> usize {
        let Some(first) = self.waiting.front_mut() else { return 0 };
        let (begin, end) = (first.sent, first.bytes.len().min(first.sent + most));
        let (number, total) = (self.number, first.bytes.len() as u16);
        let piece = Piece { number, total, place: begin as u16, bytes: &first.bytes[begin..end] };
        Record::Piece { stream: flow, piece }.encode(out);
        first.sent = end;
        self.bytes -= end - begin;
        self.cut[0] -= end - begin;
        end - begin
    }
}

/// A datagram of which pieces are missing.
#[derive(Debug)]
struct Partial {
    since: Time,
    total: usize,
    bytes: usize,
    pieces: BTreeMap<usize, Bytes>,
}

impl Partial {
    /// Adds a piece that overlaps none.
    fn insert(&mut self, place: usize, bytes: &[u8]) {
        let end = place + bytes.len();
        let before = self.pieces.range(..end).next_back();
        if before.is_none_or(|(place_before, piece)| place_before + piece.len() <= place) {
            self.pieces.insert(place, Bytes::copy_from_slice(bytes));
            self.bytes += bytes.len();
        }
    }
}

/// All flows of one end.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub(super) all: BTreeMap<u32, Flow>,
    pub(super) now: Time,
    waiting: usize,
    partial: BTreeMap<(u32, u16), Partial>,
    /// In the order in which they began; some are whole by now.
    begun: VecDeque<(u32, u16)>,
    partial_bytes: usize,
    arrived: VecDeque<(u32, Bytes)>,
    arrived_bytes: usize,
    counts: Datagrams,
}

impl Flows {
    /// Datagrams that wait.
    pub(super) fn waiting(&self) -> usize {
        self.all.values().map(|one| one.waiting.len()).sum()
    }

    pub(super) fn memory(&self) -> usize {
        self.waiting + self.partial_bytes + self.arrived_bytes
    }

    /// A whole datagram came.
    pub(super) fn take(&mut self, flow: u32, bytes: Bytes) {
        if self.arrived_bytes + bytes.len() > MOST_ARRIVED {
            self.counts.late += 1;
            return;
        }
        self.arrived_bytes += bytes.len();
        self.arrived.push_back((flow, bytes));
    }

    /// A piece of one came.
    pub(super) fn take_piece(&mut self, flow: u32, piece: &Piece<'_>) -> Result<(), Error> {
        let &Piece { number, total, place, bytes } = piece;
        let [total, place] = [total, place].map(usize::from);
        if bytes.is_empty() || total > MAX_DATAGRAM || place + bytes.len() > total {
            return Err(Error::Violation("a piece that is in no datagram"));
        }
        self.forget_partial();
        let key = (flow, number);
        if self.partial.get(&key).is_some_and(|partial| partial.total != total)
            && let Some(partial) = self.partial.remove(&key)
        {
            self.partial_bytes -= partial.bytes;
            self.counts.incomplete += 1;
        }
        if !self.partial.contains_key(&key) {
            self.begun.push_back(key);
        }
        let (since, none) = (self.now, BTreeMap::new());
        let partial = self.partial.entry(key).or_insert(Partial { since, total, bytes: 0, pieces: none });
        let before = partial.bytes;
        partial.insert(place, bytes);
        self.partial_bytes += partial.bytes - before;
        if partial.bytes == partial.total
            && let Some(whole) = self.partial.remove(&key)
        {
            self.partial_bytes -= whole.bytes;
            self.take(flow, whole.pieces.into_values().collect::<Vec<_>>().concat().into());
        }
        Ok(())
    }

    /// Those that have waited too long for their other pieces, or take too much room.
    fn forget_partial(&mut self) {
        while let Some(first) = self.begun.front() {
            let stays = self.partial.get(first).is_some_and(|partial| {
                self.partial_bytes <= MOST_PIECES && self.now.since(partial.since) < REASSEMBLY
            });
            if stays {
                return;
            }
            if let Some(partial) = self.partial.remove(first) {
                self.partial_bytes -= partial.bytes;
                self.counts.incomplete += 1;
            }
            self.begun.pop_front();
        }
    }

    pub(super) fn remove(&mut self, flow: u32) -> Option<Flow> {
        let gone = self.all.remove(&flow)?;
        self.waiting -= gone.bytes;
        Some(gone)
    }

    /// Fills a segment of `size` bytes with the datagrams of a flow. `Err` if none fits, with the bytes
    /// that the next one needs, told once.
    pub(super) fn pack(
        &mut self,
        flow: u32,
        size: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<Packed, Option<usize>> {
        let (from, mut since) = (bytes.len(), self.now);
        let Some(one) = self.all.get_mut(&flow) else { return Ok(Packed { range: from..from, since }) };
        while let Some(first) = one.waiting.front() {
            if self.now.since(first.since) > PATIENCE {
                self.counts.late += 1;
                self.waiting -= one.drop_first();
                continue;
            }
            let (room, left) = (size - bytes.len(), first.bytes.len() - first.sent);
            let needs = if first.is_cut { PIECE + left.min(LEAST_PIECE) } else { DATAGRAM + left };
            if needs > room {
                if bytes.len() > from {
                    break;
                }
                return Err((!std::mem::replace(&mut one.asked, true)).then_some(needs));
            }
            since = since.min(first.since);
            if first.is_cut {
                self.waiting -= one.cut_first(flow, room - PIECE, bytes);
                if room - PIECE < left {
                    break;
                }
            } else {
                Record::Datagram { stream: flow, bytes: &first.bytes }.encode(bytes);
            }
            self.counts.sent += 1;
            self.waiting -= one.drop_first();
        }
        Ok(Packed { range: from..bytes.len(), since })
    }
}

/// Where datagrams are in a segment, and when the oldest came.
pub(super) struct Packed {
    pub(super) range: Range<usize>,
    pub(super) since: Time,
}

/// A part of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece<'a> {
    /// Tells the pieces of a flow's datagrams apart.
    pub(super) number: u16,
    /// Bytes of the datagram.
    pub(super) total: u16,
    /// Where the piece begins in it.
    pub(super) place: u16,
    pub(super) bytes: &'a [u8],
}

impl Streams {
    /// Opens a flow of datagrams that is to lead somewhere. It can be sent on at once.
    ///
    /// # Errors
    /// [`Reason::Busy`] if there are too many, [`Reason::Unresolved`] if the target is too long.
    pub fn open_flow(&mut self, target: &str, class: Class) -> Result<u32, Reason> {
        debug_assert!(self.opens, "the other end opens flows");
        if target.len() > MAX_TARGET {
            return Err(Reason::Unresolved);
        }
        if self.flows.all.len() >= MAX_FLOWS || self.opened == u32::MAX {
            return Err(Reason::Busy);
        }
        let stream = self.opened;
        self.opened += 1;
        self.flows.all.insert(stream, Flow { class, ..Flow::default() });
        self.out.say(&Record::Flow { stream, class, target }, class);
        Ok(stream)
    }

    /// A datagram is to leave on a flow.
    pub fn send_datagram(&mut self, now: Time, flow: u32, bytes: &[u8]) {
        let flows = &mut self.flows;
        let Some(one) = flows.all.get_mut(&flow) else { return };
        if bytes.len() > MAX_DATAGRAM {
            flows.counts.large += 1;
            return;
        }
        if flows.waiting + bytes.len() > MOST_WAITING[1] {
            flows.counts.late += 1;
            return;
        }
        while one.bytes + bytes.len() > MOST_WAITING[0] {
            flows.counts.late += 1;
            flows.waiting -= one.drop_first();
        }
        flows.waiting += bytes.len();
        one.push(now, bytes, self.out.segment());
        self.out.reserve_whole(DATAGRAM + bytes.len());
        self.queue(flow);
    }

    /// The next datagram that came, and its flow.
    pub fn receive_datagram(&mut self) -> Option<(u32, Bytes)> {
        let (flow, bytes) = self.flows.arrived.pop_front()?;
        self.flows.arrived_bytes -= bytes.len();
        self.flows.counts.received += 1;
        Some((flow, bytes))
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.all.len()
    }

    /// The datagrams so far.
    pub fn datagrams(&self) -> Datagrams {
        self.flows.counts
    }

    /// The peer opens a flow, whose number is the next one.
    pub(super) fn welcome_flow(&mut self, stream: u32, class: Class, target: &str) {
        self.opened += 1;
        if self.flows.all.len() >= MAX_FLOWS {
            return self.out.say(&Record::Reset { stream, reason: Reason::Busy }, class);
        }
        self.flows.all.insert(stream, Flow { class, announced: true, ..Flow::default() });
        self.events.push_back(Event::Flow { flow: stream, target: target.to_owned(), class });
    }
}
