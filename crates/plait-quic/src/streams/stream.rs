//! One stream.

use super::reassembly_buffer::ReassemblyBuffer;
use super::{Class, MIN_CREDIT};
use bytes::BytesMut;

/// State of a stream at one end.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) class: Class,
    /// True if the peer knows the stream, or learns of it before its data.
    pub(super) announced: bool,
    pub(super) send_buffer: BytesMut,
    /// Bytes that are in segments, and bytes that may be.
    pub(super) sent: u64,
    pub(super) limit: u64,
    /// Whether no more data is written, and whether the peer was told so.
    pub(super) finishing: bool,
    pub(super) finished: bool,
    /// True if the stream waits for its turn.
    pub(super) queued: bool,
    pub(super) receive_buffer: BytesMut,
    pub(super) reassembly: ReassemblyBuffer,
    /// Bytes that the reader took, and bytes that the peer may send.
    pub(super) consumed: u64,
    pub(super) granted: u64,
    /// Bytes of the pool that the stream holds.
    pub(super) lent: u64,
    /// True if all data of the peer has arrived.
    pub(super) ended: bool,
}

impl Stream {
    pub(super) fn new(class: Class) -> Self {
        Self { class, limit: MIN_CREDIT, granted: MIN_CREDIT, ..Self::default() }
    }

    /// Bytes that may go into segments now.
    pub(super) fn sendable(&self) -> usize {
        let allowed = usize::try_from(self.limit - self.sent).unwrap_or(usize::MAX);
        self.send_buffer.len().min(allowed)
    }

    /// True if the stream has something for a segment.
    pub(super) fn has_turn(&self) -> bool {
        self.announced
            && (self.sendable() > 0 || self.finishing && !self.finished && self.send_buffer.is_empty())
    }

    /// True if both directions have ended.
    pub(super) fn is_closed(&self) -> bool {
        self.finished && self.ended
    }
}
