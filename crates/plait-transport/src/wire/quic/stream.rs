//! STREAM frames (RFC 9000 §19.8).

use super::VarInt;
use super::varint::put_counted;
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

/// The types are 0x08 to 0x0f; these bits tell which fields the frame has.
pub(super) const TYPE: u8 = 0x08;
const FIN: u8 = 1;
const LENGTH: u8 = 2;
const OFFSET: u8 = 4;

/// Data of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream<'a> {
    /// The stream.
    pub id: VarInt,
    /// Offset of the data in the stream, in bytes. The data ends within 62 bits.
    pub offset: VarInt,
    /// The data.
    pub data: &'a [u8],
    /// True if the stream ends with this data.
    pub fin: bool,
    /// True if the frame is the packet's last one, and has no length.
    pub to_end: bool,
}

impl<'a> Stream<'a> {
    /// Returns the bytes of the frame before its data.
    pub fn header_bytes(&self) -> usize {
        let length = VarInt::new(self.data.len() as u64).map_or(0, VarInt::encoded_bytes);
        1 + self.id.encoded_bytes()
            + if self.offset == VarInt::ZERO { 0 } else { self.offset.encoded_bytes() }
            + if self.to_end { 0 } else { length }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let offset = self.offset != VarInt::ZERO;
        out.put_u8(TYPE | bit(self.fin, FIN) | bit(!self.to_end, LENGTH) | bit(offset, OFFSET));
        self.id.encode(out);
        if offset {
            self.offset.encode(out);
        }
        if self.to_end { out.put_slice(self.data) } else { put_counted(self.data, out) }
    }

    /// Reads a STREAM frame after its type.
    pub(super) fn decode(kind: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = reader.varint("STREAM's identifier")?;
        let before = *reader;
        let offset = if kind & OFFSET != 0 { reader.varint("STREAM's offset")? } else { VarInt::ZERO };
        let to_end = kind & LENGTH == 0;
        let data = if to_end { reader.rest() } else { reader.counted("STREAM's data")? };
        ends_within(offset, data, &before, "STREAM's offset")?;
        Ok(Self { id, offset, data, fin: kind & FIN != 0, to_end })
    }
}

/// RFC 9000 §19.6, §19.8: the data of a frame must end within 62 bits.
pub(super) fn ends_within(
    offset: VarInt,
    data: &[u8],
    place: &Reader<'_>,
    field: &'static str,
) -> Result<(), DecodeError> {
    match offset.checked_add(data.len() as u64) {
        Some(_) => Ok(()),
        None => Err(DecodeError::Value { field, at: place.at(), value: offset.get() }),
    }
}
