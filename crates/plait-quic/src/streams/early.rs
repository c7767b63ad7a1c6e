//! What came of a stream before something that is missing.

use super::Stream;
use crate::error::Error;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Pieces that are kept for all streams of a peer at most: what comes beyond waits with its segment, so tiny ones cost no more memory than full ones.
pub(super) const MOST_EARLY: usize = 8_192;

/// Pieces by their places in the stream, which do not overlap.
#[derive(Debug, Default)]
pub(super) struct Early {
    pieces: BTreeMap<u64, Bytes>,
    bytes: usize,
    /// How much there is in all, once the peer has said so.
    size: Option<u64>,
    /// Nothing is handed on before the peer has accepted the stream.
    unaccepted: bool,
}

impl Early {
    /// Of a stream that the peer has to accept.
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

    /// Where the last piece ends.
    fn end(&self) -> u64 {
        self.pieces.last_key_value().map_or(0, |(place, bytes)| place + bytes.len() as u64)
    }

    fn overlaps(&self, from: u64, to: u64) -> bool {
        let before = self.pieces.range(..to).next_back();
        before.is_some_and(|(place, bytes)| place + bytes.len() as u64 > from)
    }

    fn insert(&mut self, place: u64, bytes: &[u8]) {
        self.bytes += bytes.len();
        // A copy: a slice would keep the whole segment.
        self.pieces.insert(place, Bytes::copy_from_slice(bytes));
    }

    /// The piece at a place, if the next is there.
    fn next(&mut self, place: u64) -> Option<Bytes> {
        let first = self.pieces.first_entry().filter(|first| !self.unaccepted && *first.key() == place)?;
        let bytes = first.remove();
        self.bytes -= bytes.len();
        Some(bytes)
    }
}

impl Stream {
    /// Where what is there ends.
    fn arrived(&self) -> u64 {
        self.consumed + self.incoming.len() as u64
    }

    /// Takes data of a place: how many more early pieces there are now. If it cannot be handed on now, `may_keep` is asked; `None` if it may not be kept.
    pub(super) fn take(
        &mut self,
        offset: u64,
        bytes: &[u8],
        may_keep: impl FnOnce() -> Result<bool, Error>,
    ) -> Result<Option<isize>, Error> {
        let arrived = self.arrived();
        let end = offset.checked_add(bytes.len() as u64).ok_or(Error::Malformed("place"))?;
        if self.early.size.is_some_and(|size| end > size) {
            return Err(Error::Violation("data behind a stream's end"));
        }
        if end > self.granted {
            return Err(Error::Violation("more data than it has credit for"));
        }
        if offset < arrived || self.early.overlaps(offset, end) {
            return Err(Error::Violation("data that it has sent before"));
        }
        if bytes.is_empty() {
            return Ok(Some(0));
        }
        if offset == arrived && !self.early.unaccepted {
            self.incoming.extend_from_slice(bytes);
            let absorbed = self.absorb();
            return Ok(Some(-(absorbed as isize)));
        }
        if !may_keep()? {
            return Ok(None);
        }
        self.early.insert(offset, bytes);
        Ok(Some(1))
    }

    /// There are so many bytes in all.
    pub(super) fn end_at(&mut self, size: u64) -> Result<(), Error> {
        if self.early.size.is_some() {
            return Err(Error::Violation("a stream that ends twice"));
        }
        if size > self.granted {
            return Err(Error::Violation("more data than it has credit for"));
        }
        if size < self.arrived().max(self.early.end()) {
            return Err(Error::Violation("data behind a stream's end"));
        }
        self.early.size = Some(size);
        self.note_end();
        Ok(())
    }

    fn note_end(&mut self) {
        self.ended = !self.early.unaccepted && self.early.size == Some(self.arrived());
    }

    /// Hands on what is not early any more: how many pieces that were.
    pub(super) fn absorb(&mut self) -> usize {
        let before = self.early.pieces();
        while let Some(bytes) = self.early.next(self.arrived()) {
            self.incoming.extend_from_slice(&bytes);
        }
        self.note_end();
        before - self.early.pieces()
    }
}
