//! Connection IDs (RFC 9000 §5.1, §17.2).

use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;
use core::fmt;

/// Identifies the connection of a packet to its receiver, and with multipath also the path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ConnectionId {
    /// The identifier, followed by zeros.
    bytes: [u8; Self::MOST],
    length: u8,
}

impl ConnectionId {
    /// Largest length in version 1.
    pub const MOST: usize = 20;

    /// Creates a connection ID. Returns `None` if `bytes` is too long.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = Self::default();
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        id.length = bytes.len() as u8;
        Some(id)
    }

    /// Returns the identifier's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Appends a length byte and the identifier.
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_u8(self.length);
        out.put_slice(self.as_bytes());
    }

    /// Reads a length byte and a connection ID of at least `least` bytes.
    pub(super) fn decode(
        reader: &mut Reader<'_>,
        least: u8,
        field: &'static str,
    ) -> Result<Self, DecodeError> {
        let before = *reader;
        let length = reader.u8(field)?;
        if usize::from(length) > Self::MOST || length < least {
            return Err(before.length(field, length));
        }
        Self::read(reader, length.into(), field)
    }

    /// Reads a connection ID of `length` bytes, at most [`Self::MOST`].
    pub(super) fn read(
        reader: &mut Reader<'_>,
        length: usize,
        field: &'static str,
    ) -> Result<Self, DecodeError> {
        let before = *reader;
        Self::new(reader.bytes(length, field)?).ok_or_else(|| before.length(field, length))
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
