//! Flows of datagrams, beside the streams and in the same segments: unreliable and unordered.
//!
//! A datagram leaves in the next segment with room for it. It waits [`PATIENCE`] at most; then it is
//! dropped, the oldest first. So schedulers and windows are those of the streams. A
//! [redundant](Class::Redundant) flow has its copies on every path, and the receiver reads the first.
//! A lost segment is sent again without its datagrams; an empty one is told to be over.
//!
//! A datagram that is larger than a segment is cut into pieces. All of them have to come within
//! [`REASSEMBLY`]. The rest of a segment holds what follows: whole datagrams, and the beginning of the
//! next one unless that would put it into more segments than it needs. Segments are
//! planned (`Flows::plan`) from what waits, and none waits for another datagram.

#[cfg(test)]
mod tests;

use super::outgoing::LEAST;
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

/// A datagram waits so long for its place in a segment, and the segment as long for room in a window.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// The pieces of a datagram come within this time.
pub const REASSEMBLY: Duration = Duration::from_millis(1_000);

/// Bytes of datagrams that wait in one flow, and in all of them.
const MOST_WAITING: [usize; 2] = [1 << 20, 8 << 20];

/// Bytes of pieces that wait for others.
const MOST_PIECES: usize = 4 << 20;

/// Bytes of received datagrams in memory.
const MOST_ARRIVED: usize = 8 << 20;

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
    /// When it came, was planned, or was begun.
    since: Time,
    bytes: Bytes,
    /// So much of it has a place in planned segments, and so much is in segments.
    planned: usize,
    sent: usize,
    /// Bytes of records that are planned for it and have not left.
    reserved: usize,
}

/// Bytes of a datagram for a segment with so much room: it has `total`, of which `left` are in none.
///
/// `Err` has the least room that is enough. With less the datagram would be in one segment more than it
/// needs, and be lost with it.
fn share([total, left]: [usize; 2], room: usize, full: usize) -> Result<usize, usize> {
    let is_cut = total + DATAGRAM > full;
    let most = full - PIECE;
    let needs = match is_cut {
        true => PIECE + left - (left.div_ceil(most) - 1) * most,
        false => DATAGRAM + left,
    };
    let needs = needs.max(LEAST);
    match room >= needs {
        true if is_cut => Ok(left.min(room - PIECE)),
        true => Ok(left),
        false => Err(needs),
    }
}

/// Bytes of a segment for the record of a datagram's part.
fn record_bytes(total: usize, share: usize, full: usize) -> usize {
    let head = if total + DATAGRAM > full { PIECE } else { DATAGRAM };
    (head + share).max(LEAST)
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
    /// Bytes of these that are in no segment.
    bytes: usize,
    /// The first of these that are wholly planned.
    planned: usize,
    /// Bytes of records that are planned and have not left.
    pub(super) reserved: usize,
    /// The number of the next datagram that is cut.
    number: u16,
    /// A segment with room for the next one was asked for.
    asked: bool,
}

impl Flow {
    pub(super) fn has_turn(&self) -> bool {
        self.announced && !self.waiting.is_empty()
    }

    fn push(&mut self, since: Time, bytes: &[u8]) {
        self.bytes += bytes.len();
        let bytes = Bytes::copy_from_slice(bytes);
        self.waiting.push_back(Waiting { since, bytes, planned: 0, sent: 0, reserved: 0 });
    }

    /// One is not wanted any more, or has left. Bytes of it that were in no segment.
    fn remove(&mut self, at: usize) -> usize {
        let Some(gone) = self.waiting.remove(at) else { return 0 };
        let left = gone.bytes.len() - gone.sent;
        self.bytes -= left;
        self.reserved -= gone.reserved;
        self.planned -= usize::from(at < self.planned);
        if at == 0 {
            self.asked = false;
            self.number = self.number.wrapping_add(u16::from(gone.sent > 0));
        }
        left
    }

    /// The first without a place in a segment has waited too long.
    fn is_late(&self, now: Time) -> bool {
        let next = self.waiting.get(self.planned).filter(|next| next.planned == 0);
        next.is_some_and(|next| now.since(next.since) > PATIENCE)
    }

    /// Plans more of the first that is not wholly planned: the bytes of the record. `None` if there is
    /// none, or too little room.
    fn plan(&mut self, now: Time, room: usize, full: usize) -> Option<usize> {
        let next = self.waiting.get_mut(self.planned)?;
        let total = next.bytes.len();
        let share = share([total, total - next.planned], room, full).ok()?;
        let reserved = record_bytes(total, share, full);
        if next.planned == 0 {
            next.since = now;
        }
        next.planned += share;
        next.reserved += reserved;
        self.planned += usize::from(next.planned == total);
        self.reserved += reserved;
        Some(reserved)
    }

    /// So many bytes of the first are in a segment, in a record of so many.
    fn note_sent(&mut self, now: Time, share: usize, record: usize) {
        let Some(first) = self.waiting.front_mut() else { return };
        let total = first.bytes.len();
        if first.sent + share < total {
            // Without the rest, the part that has left would be of no use: the patience begins anew.
            first.since = now;
        }
        first.sent += share;
        if first.planned < first.sent {
            first.planned = first.sent;
            self.planned += usize::from(first.planned == total);
        }
        let reserved = first.reserved.min(record);
        first.reserved -= reserved;
        self.reserved -= reserved;
        self.bytes -= share;
        self.asked = false;
    }

    /// Writes so many bytes of the first into a segment.
    fn encode_first(&self, flow: u32, share: usize, full: usize, out: &mut Vec<u8>) {
        let Some(first) = self.waiting.front() else { return };
        let total = first.bytes.len();
        let bytes = &first.bytes[first.sent..first.sent + share];
        let record = if total + DATAGRAM > full {
            let (number, total, place) = (self.number, total as u16, first.sent as u16);
            Record::Piece { stream: flow, piece: Piece { number, total, place, bytes } }
        } else {
            Record::Datagram { stream: flow, bytes }
        };
        record.encode(out);
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

    /// Plans the next segment, of `full` bytes at most, for datagrams of these flows without a place: its
    /// bytes. Those that have waited too long are dropped.
    pub(super) fn plan(&mut self, turns: impl Iterator<Item = u32>, full: usize) -> usize {
        let mut bytes = 0;
        for flow in turns {
            let Some(one) = self.all.get_mut(&flow) else { continue };
            loop {
                while one.is_late(self.now) {
                    self.counts.late += 1;
                    self.waiting -= one.remove(one.planned);
                }
                let Some(more) = one.plan(self.now, full - bytes, full) else { break };
                bytes += more;
            }
        }
        bytes
    }

    /// Fills a segment of `size` bytes with the datagrams of a flow. `Err` if none fits, with the bytes
    /// that the next one needs, told once.
    pub(super) fn pack(
        &mut self,
        flow: u32,
        [size, full]: [usize; 2],
        bytes: &mut Vec<u8>,
    ) -> Result<Packed, Option<usize>> {
        let (from, mut since) = (bytes.len(), self.now);
        let nothing = Packed { range: from..from, since, is_begun: false };
        let Some(one) = self.all.get_mut(&flow) else { return Ok(nothing) };
        while let Some(first) = one.waiting.front() {
            if self.now.since(first.since) > PATIENCE {
                self.counts.late += 1;
                self.waiting -= one.remove(0);
                continue;
            }
            let (total, left) = (first.bytes.len(), first.bytes.len() - first.sent);
            let is_planned = first.planned > first.sent || total == 0;
            let share = match share([total, left], size - bytes.len(), full) {
                Ok(share) => share,
                Err(_) if bytes.len() > from => break,
                Err(_) if !is_planned || one.asked => return Err(None),
                Err(needs) => {
                    one.asked = true;
                    return Err(Some(needs));
                }
            };
            since = since.min(first.since);
            one.encode_first(flow, share, full, bytes);
            one.note_sent(self.now, share, record_bytes(total, share, full));
            self.waiting -= share;
            if share < left {
                return Ok(Packed { range: from..bytes.len(), since, is_begun: true });
            }
            self.counts.sent += 1;
            self.waiting -= one.remove(0);
        }
        Ok(Packed { range: from..bytes.len(), since, is_begun: false })
    }
}

/// Where datagrams are in a segment, and when the oldest came or was planned.
pub(super) struct Packed {
    pub(super) range: Range<usize>,
    pub(super) since: Time,
    /// The rest of the last one follows in the next segment.
    pub(super) is_begun: bool,
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
            // The oldest of which nothing is planned.
            let is_begun = one.waiting.get(one.planned).is_some_and(|next| next.planned > 0);
            flows.waiting -= one.remove(one.planned + usize::from(is_begun));
        }
        flows.waiting += bytes.len();
        one.push(now, bytes);
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
