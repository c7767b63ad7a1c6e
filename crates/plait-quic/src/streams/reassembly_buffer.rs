//! Data of a stream that arrived before missing data.

use super::stream::Stream;
use crate::error::Error;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Most pieces that are stored for all streams of a peer. Further pieces wait with their segments,
/// so tiny pieces cost no more memory than full ones.
pub(super) const MAX_EARLY: usize = 8_192;

/// Pieces by their offsets in the stream; they do not overlap.
#[derive(Debug, Default)]
pub(super) struct ReassemblyBuffer {
    pieces: BTreeMap<u64, Bytes>,
    bytes: usize,
    /// Total bytes of the stream, once the peer has reported them.
    size: Option<u64>,
    /// True until the peer has accepted the stream. Nothing is delivered before that.
    unaccepted: bool,
}

impl ReassemblyBuffer {
    /// Creates the store of a stream that the peer has to accept.
    pub(super) fn unaccepted() -> Self {
        Self { unaccepted: true, ..Self::default() }
    }

    pub(super) fn accept(&mut self) {
        self.unaccepted = false;
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Offset at which the last piece ends.
    fn end(&self) -> u64 {
        self.pieces.last_key_value().map_or(0, |(offset, bytes)| offset + bytes.len() as u64)
    }

    fn overlaps(&self, from: u64, to: u64) -> bool {
        let before = self.pieces.range(..to).next_back();
        before.is_some_and(|(offset, bytes)| offset + bytes.len() as u64 > from)
    }

    fn insert(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes += bytes.len();
        // A copy: a slice would keep the whole segment.
        self.pieces.insert(offset, Bytes::copy_from_slice(bytes));
    }

    /// Removes the piece at an offset, if that is the next piece.
    fn next(&mut self, offset: u64) -> Option<Bytes> {
        let first = self.pieces.first_entry().filter(|first| !self.unaccepted && *first.key() == offset)?;
        let bytes = first.remove();
        self.bytes -= bytes.len();
        Some(bytes)
    }
}

impl Stream {
    /// Offset up to which all data has arrived.
    fn arrived(&self) -> u64 {
        self.consumed + self.receive_buffer.len() as u64
    }

    /// Takes data at an offset. Returns the change in the number of early pieces. Early data is
    /// stored if `may_keep` returns true; if not, the result is `None`.
    pub(super) fn take(
        &mut self,
        offset: u64,
        bytes: &[u8],
        may_keep: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<Option<isize>, Error> {
        let arrived = self.arrived();
        let end = offset.checked_add(bytes.len() as u64).ok_or(Error::Malformed("place"))?;
        if self.reassembly.size.is_some_and(|size| end > size) {
            return Err(Error::Violation("data behind a stream's end"));
        }
        if end > self.granted {
            return Err(Error::Violation("more data than it has credit for"));
        }
        if offset < arrived || self.reassembly.overlaps(offset, end) {
            return Err(Error::Violation("data that it has sent before"));
        }
        if bytes.is_empty() {
            return Ok(Some(0));
        }
        if offset == arrived && !self.reassembly.unaccepted {
            self.receive_buffer.extend_from_slice(bytes);
            let absorbed = self.absorb();
            return Ok(Some(-(absorbed as isize)));
        }
        if !may_keep()? {
            return Ok(None);
        }
        self.reassembly.insert(offset, bytes);
        Ok(Some(1))
    }

    /// Sets the total bytes of the stream.
    pub(super) fn end_at(&mut self, size: u64) -> Result<(), Error> {
        if self.reassembly.size.is_some() {
            return Err(Error::Violation("a stream that ends twice"));
        }
        if size > self.granted {
            return Err(Error::Violation("more data than it has credit for"));
        }
        if size < self.arrived().max(self.reassembly.end()) {
            return Err(Error::Violation("data behind a stream's end"));
        }
        self.reassembly.size = Some(size);
        self.note_end();
        Ok(())
    }

    fn note_end(&mut self) {
        self.ended = !self.reassembly.unaccepted && self.reassembly.size == Some(self.arrived());
    }

    /// Delivers pieces that are not early any more, and returns their number.
    pub(super) fn absorb(&mut self) -> usize {
        let before = self.reassembly.pieces();
        while let Some(bytes) = self.reassembly.next(self.arrived()) {
            self.receive_buffer.extend_from_slice(&bytes);
        }
        self.note_end();
        before - self.reassembly.pieces()
    }
}
