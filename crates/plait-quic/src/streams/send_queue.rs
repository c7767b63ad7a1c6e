//! Segments that may need a retransmission, and records that leave before data.

use super::record::Record;
use super::{Class, MAX_CONTROL};
use plait_sched::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// Most bytes of answers that a peer may request without taking any.
const MAX_CONTROL_QUEUE: usize = 256 << 10;

/// Shortest write: any record but that of an opening fits into it.
pub(super) const MIN_WRITE: usize = 16;

/// A record that leaves before data.
#[derive(Debug)]
pub(super) struct ControlRecord {
    pub(super) encoded: Vec<u8>,
    /// Stream or flow that it opens.
    pub(super) opens: Option<u32>,
    pub(super) class: Class,
}

/// A segment with chosen content.
#[derive(Debug, Default)]
pub(super) struct BuiltSegment {
    /// Offset among all reserved bytes.
    pub(super) offset: u64,
    /// Content; empty if the segment is void.
    pub(super) bytes: Vec<u8>,
    pub(super) size: usize,
    /// True if it has something of a redundant stream.
    pub(super) redundant: bool,
    /// Ranges of its datagrams, which are never retransmitted.
    pub(super) datagrams: Vec<Range<usize>>,
    /// Time at which the oldest of these datagrams arrived.
    pub(super) since: Time,
    /// True if the segment waits on a path and a later one has left. Its datagrams are chosen when
    /// it leaves.
    pub(super) waiting: bool,
}

impl BuiltSegment {
    /// Removes the datagrams. The other records move to the front.
    pub(super) fn cut(&mut self) {
        let (mut rest, mut from) = (Vec::with_capacity(self.size), 0);
        for Range { start, end } in std::mem::take(&mut self.datagrams) {
            rest.extend_from_slice(&self.bytes[from..start]);
            from = end;
        }
        rest.extend_from_slice(&self.bytes[from..]);
        if rest.first().is_none_or(|kind| *kind == 0) {
            rest.clear();
        } else {
            rest.resize(self.size, 0);
        }
        self.bytes = rest;
    }
}

/// Segments, and records that leave before data.
#[derive(Debug)]
pub(super) struct SendQueue {
    /// Bytes of a full segment.
    pub(super) full: usize,
    /// Writes to the transport that are in no segment yet, in order.
    pub(super) writes: VecDeque<u64>,
    pub(super) reserved: u64,
    /// Sizes of writes to reserve beside all others, for records that must stay in one piece.
    pub(super) pieces: VecDeque<u64>,
    pub(super) control: VecDeque<ControlRecord>,
    pub(super) control_bytes: usize,
    /// Streams and flows with something for a segment, by class; some may be discarded.
    pub(super) turns: [VecDeque<u32>; Class::ALL.len()],
    /// Segments from the oldest unacknowledged one on.
    pub(super) segments: VecDeque<BuiltSegment>,
    pub(super) first: u64,
    pub(super) end: u64,
    pub(super) unacked: u64,
    pub(super) carried: u64,
}

impl SendQueue {
    pub(super) fn new(full: usize) -> Self {
        debug_assert!(full >= MAX_CONTROL, "every record fits");
        Self {
            full,
            writes: VecDeque::new(),
            reserved: 0,
            pieces: VecDeque::new(),
            control: VecDeque::new(),
            control_bytes: 0,
            turns: Default::default(),
            segments: VecDeque::new(),
            first: 0,
            end: 0,
            unacked: 0,
            carried: 0,
        }
    }

    /// Requests a write of so many bytes in one piece, unless no segment is that large.
    pub(super) fn reserve_piece(&mut self, bytes: usize) {
        if bytes > MIN_WRITE && bytes <= self.full {
            self.pieces.push_back(bytes as u64);
        }
    }

    /// Queues a record that precedes all data, and belongs to a stream of this class.
    pub(super) fn push_control(&mut self, record: &Record<'_>, class: Class) {
        let mut encoded = Vec::with_capacity(record.length());
        record.encode(&mut encoded);
        let opens = match *record {
            Record::Open { stream, .. } | Record::Flow { stream, .. } => Some(stream),
            Record::Accepted { .. }
            | Record::Data { .. }
            | Record::Finish { .. }
            | Record::Reset { .. }
            | Record::Credit { .. }
            | Record::Terms { .. }
            | Record::Datagram { .. }
            | Record::Piece { .. } => None,
        };
        self.reserve_piece(encoded.len());
        self.control_bytes += encoded.len();
        self.control.push_back(ControlRecord { encoded, opens, class });
    }

    /// True if the peer requests more answers than it takes.
    pub(super) fn exceeds_control_queue(&self) -> bool {
        self.control_bytes > MAX_CONTROL_QUEUE
    }

    pub(super) fn forget(&mut self, stream: u32) {
        self.turns.iter_mut().for_each(|turns| turns.retain(|other| *other != stream));
    }

    /// Bytes of segments that may need a retransmission.
    pub(super) fn unacked(&self) -> u64 {
        self.unacked
    }

    pub(super) fn reserve(&mut self, bytes: u64) -> u64 {
        self.writes.push_back(bytes);
        self.reserved += bytes;
        bytes
    }

    /// Bytes of the next segment.
    pub(super) fn next(&mut self) -> Option<usize> {
        let left = self.writes.front_mut()?;
        let bytes = (*left).min(self.full as u64);
        *left -= bytes;
        if *left == 0 {
            self.writes.pop_front();
        }
        self.reserved -= bytes;
        Some(bytes as usize)
    }
}
