//! One flow, with the datagrams that wait for a place in a segment.

use super::PATIENCE;
use crate::streams::Class;
use crate::streams::record::{DATAGRAM, DatagramPiece, PIECE, Record};
use crate::streams::send_queue::MIN_WRITE;
use bytes::Bytes;
use plait_sched::Time;
use std::collections::VecDeque;

/// A waiting datagram.
#[derive(Debug)]
pub(super) struct QueuedDatagram {
    /// Time at which it arrived, was planned, or was begun.
    pub(super) since: Time,
    pub(super) bytes: Bytes,
    /// Bytes with a place in planned segments, and bytes in segments.
    pub(super) planned: usize,
    pub(super) sent: usize,
    /// Bytes of its planned records that have not left.
    pub(super) reserved: usize,
}

/// Returns the bytes of a datagram for a segment with so much room. The datagram has `total` bytes,
/// of which `left` are in no segment.
///
/// `Err` has the least sufficient room. With less room the datagram would need one segment more,
/// and could be lost with it.
pub(super) fn share([total, left]: [usize; 2], room: usize, full: usize) -> Result<usize, usize> {
    let is_cut = total + DATAGRAM > full;
    let most = full - PIECE;
    let needs = match is_cut {
        true => PIECE + left - (left.div_ceil(most) - 1) * most,
        false => DATAGRAM + left,
    };
    let needs = needs.max(MIN_WRITE);
    match room >= needs {
        true if is_cut => Ok(left.min(room - PIECE)),
        true => Ok(left),
        false => Err(needs),
    }
}

/// Bytes of a segment that the record of a datagram's part takes.
pub(super) fn record_bytes(total: usize, share: usize, full: usize) -> usize {
    let head = if total + DATAGRAM > full { PIECE } else { DATAGRAM };
    (head + share).max(MIN_WRITE)
}

/// One flow.
#[derive(Debug, Default)]
pub(in crate::streams) struct Flow {
    pub(in crate::streams) class: Class,
    /// True if the peer knows the flow, or learns of it before its datagrams.
    pub(in crate::streams) announced: bool,
    /// True if the flow waits for its turn.
    pub(in crate::streams) queued: bool,
    pub(super) queue: VecDeque<QueuedDatagram>,
    /// Bytes of waiting datagrams that are in no segment.
    pub(super) bytes: usize,
    /// Number of waiting datagrams, from the first on, that are wholly planned.
    pub(super) planned: usize,
    /// Bytes of planned records that have not left.
    pub(in crate::streams) reserved: usize,
    /// Number of the next datagram that is cut.
    pub(super) number: u16,
    /// True if a segment with room for the next datagram was requested.
    pub(super) requested: bool,
}

impl Flow {
    pub(in crate::streams) fn has_turn(&self) -> bool {
        self.announced && !self.queue.is_empty()
    }

    pub(super) fn push(&mut self, since: Time, bytes: &[u8]) {
        self.bytes += bytes.len();
        let bytes = Bytes::copy_from_slice(bytes);
        self.queue.push_back(QueuedDatagram { since, bytes, planned: 0, sent: 0, reserved: 0 });
    }

    /// Removes a datagram that is not wanted any more, or has left. Returns its bytes that were in
    /// no segment.
    pub(super) fn remove(&mut self, at: usize) -> usize {
        let Some(removed) = self.queue.remove(at) else { return 0 };
        let left = removed.bytes.len() - removed.sent;
        self.bytes -= left;
        self.reserved -= removed.reserved;
        self.planned -= usize::from(at < self.planned);
        if at == 0 {
            self.requested = false;
            self.number = self.number.wrapping_add(u16::from(removed.sent > 0));
        }
        left
    }

    /// True if the first datagram without a place in a segment has waited too long.
    pub(super) fn is_late(&self, now: Time) -> bool {
        let next = self.queue.get(self.planned).filter(|next| next.planned == 0);
        next.is_some_and(|next| now.since(next.since) > PATIENCE)
    }

    /// Plans more of the first datagram that is not wholly planned. Returns the bytes of the
    /// record; `None` if there is no datagram, or too little room.
    pub(super) fn plan(&mut self, now: Time, room: usize, full: usize) -> Option<usize> {
        let next = self.queue.get_mut(self.planned)?;
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

    /// Notes that `share` bytes of the first datagram are in a segment, in a record of `record`
    /// bytes.
    pub(super) fn note_sent(&mut self, now: Time, share: usize, record: usize) {
        let Some(first) = self.queue.front_mut() else { return };
        let total = first.bytes.len();
        if first.sent + share < total {
            // The part that has left is of no use without the rest, so the wait begins anew.
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
        self.requested = false;
    }

    /// Writes `share` bytes of the first datagram into a segment.
    pub(super) fn encode_first(&self, flow: u32, share: usize, full: usize, out: &mut Vec<u8>) {
        let Some(first) = self.queue.front() else { return };
        let total = first.bytes.len();
        let bytes = &first.bytes[first.sent..first.sent + share];
        let record = if total + DATAGRAM > full {
            let (number, total, offset) = (self.number, total as u16, first.sent as u16);
            Record::Piece { stream: flow, piece: DatagramPiece { number, total, offset, bytes } }
        } else {
            Record::Datagram { stream: flow, bytes }
        };
        record.encode(out);
    }
}
