//! Flows of datagrams, beside the streams and in the same segments: unreliable and unordered.
//!
//! A datagram leaves in the next segment with room for it. It waits at most [`PATIENCE`]; then it
//! is dropped, the oldest first. So flows use the schedulers and windows of the streams. Segments
//! of a [redundant](Class::Redundant) flow are duplicated on every path, and the receiver reads the
//! first copy. A lost segment is retransmitted without its datagrams. If nothing remains in it, the
//! peer is told that it is void.
//!
//! A datagram that is larger than a segment is cut into pieces, which all have to arrive within
//! [`REASSEMBLY`]. The rest of a segment holds the next datagrams: whole ones, and the beginning of
//! one more unless that datagram would then need an additional segment. Segments are planned
//! (`Flows::plan`) from waiting datagrams, and no datagram waits for another one.

mod flow;
#[cfg(test)]
mod tests;

use super::record::{DatagramPiece, MAX_TARGET, Record};
use super::{Class, Reason, StreamEvent, Streams};
use crate::error::Error;
use bytes::Bytes;
pub(super) use flow::Flow;
use flow::{record_bytes, share};
use plait_sched::{Duration, Time};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Most concurrent flows.
pub const MAX_FLOWS: usize = 256;

/// Most bytes of a datagram: the UDP payload of an Ethernet jumbo frame.
pub const MAX_DATAGRAM: usize = 8_972;

/// Longest wait of a datagram for its place in a segment, and of the segment for room in a window.
pub const PATIENCE: Duration = Duration::from_millis(100);

/// Time within which all pieces of a datagram must arrive.
pub const REASSEMBLY: Duration = Duration::from_millis(1_000);

/// Most bytes of waiting datagrams, in one flow and in all flows.
const MAX_QUEUED: [usize; 2] = [1 << 20, 8 << 20];

/// Most bytes of pieces that wait for other pieces.
const MAX_PIECES: usize = 4 << 20;

/// Most bytes of received datagrams in memory.
const MAX_ARRIVED: usize = 8 << 20;

/// Counts of datagrams by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Datagrams {
    /// Put into segments.
    pub sent: u64,
    /// Delivered.
    pub received: u64,
    /// Dropped because they waited too long, or too many waited.
    pub late: u64,
    /// Dropped because they have more than [`MAX_DATAGRAM`] bytes.
    pub large: u64,
    /// Dropped at this end because some of their pieces did not arrive.
    pub incomplete: u64,
}

/// A datagram with missing pieces.
#[derive(Debug)]
struct PartialDatagram {
    since: Time,
    total: usize,
    bytes: usize,
    pieces: BTreeMap<usize, Bytes>,
}

impl PartialDatagram {
    /// Adds a piece unless it overlaps another one.
    fn insert(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        let before = self.pieces.range(..end).next_back();
        if before.is_none_or(|(offset_before, piece)| offset_before + piece.len() <= offset) {
            self.pieces.insert(offset, Bytes::copy_from_slice(bytes));
            self.bytes += bytes.len();
        }
    }
}

/// All flows of one end.
#[derive(Debug, Default)]
pub(super) struct Flows {
    pub(super) all: BTreeMap<u32, Flow>,
    pub(super) now: Time,
    queued_bytes: usize,
    partial: BTreeMap<(u32, u16), PartialDatagram>,
    /// In the order in which they began; some are complete by now.
    begun: VecDeque<(u32, u16)>,
    partial_bytes: usize,
    arrived: VecDeque<(u32, Bytes)>,
    arrived_bytes: usize,
    counts: Datagrams,
}

impl Flows {
    pub(super) fn memory(&self) -> usize {
        self.queued_bytes + self.partial_bytes + self.arrived_bytes
    }

    /// Takes a whole datagram, which has arrived.
    pub(super) fn take(&mut self, flow: u32, bytes: Bytes) {
        if self.arrived_bytes + bytes.len() > MAX_ARRIVED {
            self.counts.late += 1;
            return;
        }
        self.arrived_bytes += bytes.len();
        self.arrived.push_back((flow, bytes));
    }

    /// Takes a piece of a datagram, which has arrived.
    pub(super) fn take_piece(&mut self, flow: u32, piece: &DatagramPiece<'_>) -> Result<(), Error> {
        let &DatagramPiece { number, total, offset, bytes } = piece;
        let [total, offset] = [total, offset].map(usize::from);
        if bytes.is_empty() || total > MAX_DATAGRAM || offset + bytes.len() > total {
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
        let partial =
            self.partial.entry(key).or_insert(PartialDatagram { since, total, bytes: 0, pieces: none });
        let before = partial.bytes;
        partial.insert(offset, bytes);
        self.partial_bytes += partial.bytes - before;
        if partial.bytes == partial.total
            && let Some(whole) = self.partial.remove(&key)
        {
            self.partial_bytes -= whole.bytes;
            self.take(flow, whole.pieces.into_values().collect::<Vec<_>>().concat().into());
        }
        Ok(())
    }

    /// Drops datagrams that have waited too long for missing pieces, or take too much memory.
    fn forget_partial(&mut self) {
        while let Some(first) = self.begun.front() {
            let stays = self.partial.get(first).is_some_and(|partial| {
                self.partial_bytes <= MAX_PIECES && self.now.since(partial.since) < REASSEMBLY
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
        let removed = self.all.remove(&flow)?;
        self.queued_bytes -= removed.bytes;
        Some(removed)
    }

    /// Plans the next segment, of at most `full` bytes, for datagrams of these flows without a
    /// place. Returns its bytes. Drops datagrams that have waited too long.
    pub(super) fn plan(&mut self, turns: impl Iterator<Item = u32>, full: usize) -> usize {
        let mut bytes = 0;
        for flow in turns {
            let Some(one) = self.all.get_mut(&flow) else { continue };
            loop {
                while one.is_late(self.now) {
                    self.counts.late += 1;
                    self.queued_bytes -= one.remove(one.planned);
                }
                let Some(more) = one.plan(self.now, full - bytes, full) else { break };
                bytes += more;
            }
        }
        bytes
    }

    /// Fills a segment of `size` bytes with the datagrams of a flow. If none fits, `Err` has the
    /// bytes that the next one needs, but only once.
    pub(super) fn pack(
        &mut self,
        flow: u32,
        [size, full]: [usize; 2],
        bytes: &mut Vec<u8>,
    ) -> Result<Packed, Option<usize>> {
        let (from, mut since) = (bytes.len(), self.now);
        let nothing = Packed { range: from..from, since, is_begun: false };
        let Some(one) = self.all.get_mut(&flow) else { return Ok(nothing) };
        while let Some(first) = one.queue.front() {
            if self.now.since(first.since) > PATIENCE {
                self.counts.late += 1;
                self.queued_bytes -= one.remove(0);
                continue;
            }
            let (total, left) = (first.bytes.len(), first.bytes.len() - first.sent);
            let is_planned = first.planned > first.sent || total == 0;
            let share = match share([total, left], size - bytes.len(), full) {
                Ok(share) => share,
                Err(_) if bytes.len() > from => break,
                Err(_) if !is_planned || one.requested => return Err(None),
                Err(needs) => {
                    one.requested = true;
                    return Err(Some(needs));
                }
            };
            since = since.min(first.since);
            one.encode_first(flow, share, full, bytes);
            one.note_sent(self.now, share, record_bytes(total, share, full));
            self.queued_bytes -= share;
            if share < left {
                return Ok(Packed { range: from..bytes.len(), since, is_begun: true });
            }
            self.counts.sent += 1;
            self.queued_bytes -= one.remove(0);
        }
        Ok(Packed { range: from..bytes.len(), since, is_begun: false })
    }
}

/// Range of datagrams in a segment, and the time at which the oldest arrived or was planned.
pub(super) struct Packed {
    pub(super) range: Range<usize>,
    pub(super) since: Time,
    /// True if the rest of the last datagram follows in the next segment.
    pub(super) is_begun: bool,
}

impl Streams {
    /// Opens a flow of datagrams to a target. Datagrams can be sent on it at once.
    ///
    /// # Errors
    /// [`Reason::Busy`] if there are too many flows, [`Reason::Unresolved`] if the target is too
    /// long.
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
        self.out.push_control(&Record::Flow { stream, class, target }, class);
        Ok(stream)
    }

    /// Queues a datagram on a flow.
    pub fn send_datagram(&mut self, now: Time, flow: u32, bytes: &[u8]) {
        let flows = &mut self.flows;
        let Some(one) = flows.all.get_mut(&flow) else { return };
        if bytes.len() > MAX_DATAGRAM {
            flows.counts.large += 1;
            return;
        }
        if flows.queued_bytes + bytes.len() > MAX_QUEUED[1] {
            flows.counts.late += 1;
            return;
        }
        while one.bytes + bytes.len() > MAX_QUEUED[0] {
            flows.counts.late += 1;
            // The oldest datagram without a planned part.
            let is_begun = one.queue.get(one.planned).is_some_and(|next| next.planned > 0);
            flows.queued_bytes -= one.remove(one.planned + usize::from(is_begun));
        }
        flows.queued_bytes += bytes.len();
        one.push(now, bytes);
        self.queue(flow);
    }

    /// Returns the next datagram that arrived, with its flow.
    pub fn receive_datagram(&mut self) -> Option<(u32, Bytes)> {
        let (flow, bytes) = self.flows.arrived.pop_front()?;
        self.flows.arrived_bytes -= bytes.len();
        self.flows.counts.received += 1;
        Some((flow, bytes))
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.all.len()
    }

    /// Returns the counts of datagrams so far.
    pub fn datagrams(&self) -> Datagrams {
        self.flows.counts
    }

    /// Handles the opening of a flow by the peer. Its number is the next one.
    pub(super) fn handle_open_flow(&mut self, stream: u32, class: Class, target: &str) {
        self.opened += 1;
        if self.flows.all.len() >= MAX_FLOWS {
            return self.out.push_control(&Record::Reset { stream, reason: Reason::Busy }, class);
        }
        self.flows.all.insert(stream, Flow { class, announced: true, ..Flow::default() });
        self.events.push_back(StreamEvent::Flow { flow: stream, target: target.to_owned(), class });
    }
}
