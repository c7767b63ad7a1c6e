//! Variable-length integers (RFC 9000 §16).

use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;
use core::fmt;

/// An integer of 62 bits. On the wire, its two uppermost bits tell its length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VarInt(u64);

impl VarInt {
    /// 0.
    pub const ZERO: Self = Self(0);
    /// The largest value.
    pub const MAX: Self = Self((1 << 62) - 1);

    /// Creates an integer. Returns `None` from 2⁶² on.
    pub const fn new(value: u64) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// Creates an integer from 32 bits.
    pub const fn from_u32(value: u32) -> Self {
        Self(value as u64)
    }

    /// Returns the value.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sum if it fits 62 bits.
    pub const fn checked_add(self, other: u64) -> Option<Self> {
        match self.0.checked_add(other) {
            Some(sum) => Self::new(sum),
            None => None,
        }
    }

    /// Returns the length of the shortest encoding: 1, 2, 4 or 8 bytes.
    pub const fn encoded_bytes(self) -> usize {
        match self.0 {
            0..0x40 => 1,
            0x40..0x4000 => 2,
            0x4000..0x4000_0000 => 4,
            _ => 8,
        }
    }

    /// Appends the shortest encoding.
    pub fn encode(self, out: &mut impl BufMut) {
        match self.encoded_bytes() {
            1 => out.put_u8(self.0 as u8),
            2 => out.put_u16(1 << 14 | self.0 as u16),
            4 => out.put_u32(2 << 30 | self.0 as u32),
            _ => out.put_u64(3 << 62 | self.0),
        }
    }

    /// Decodes an integer of any encoding at the start of `bytes`. Returns the integer and its
    /// length in bytes.
    ///
    /// # Errors
    /// If the integer is cut off.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = reader.varint("integer")?;
        Ok((value, reader.at()))
    }
}

impl From<u32> for VarInt {
    fn from(value: u32) -> Self {
        Self::from_u32(value)
    }
}

impl fmt::Debug for VarInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for VarInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn varint(&mut self, field: &'static str) -> Result<VarInt, DecodeError> {
        let mut ahead = *self;
        Ok(VarInt(match ahead.u8(field)? >> 6 {
            0 => u64::from(self.u8(field)?),
            1 => u64::from(self.u16(field)? & 0x3fff),
            2 => u64::from(self.u32(field)? & 0x3fff_ffff),
            _ => self.u64(field)? & VarInt::MAX.0,
        }))
    }

    /// Reads an integer, and as many bytes as it tells.
    pub(super) fn counted(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let length = self.varint(field)?.get();
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX), field)
    }
}

/// Appends the number of bytes, and then the bytes.
pub(super) fn put_counted(bytes: &[u8], out: &mut impl BufMut) {
    VarInt(bytes.len() as u64).encode(out);
    out.put_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9000 A.1.
    #[test]
    fn the_examples_of_the_rfc() {
        let cases: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            // Not the shortest encoding, but valid.
            (&[0x40, 0x25], 37),
        ];
        for (place, (bytes, value)) in cases.into_iter().enumerate() {
            assert_eq!(VarInt::decode(bytes), Ok((VarInt(value), bytes.len())));
            let mut out = Vec::new();
            VarInt(value).encode(&mut out);
            assert_eq!(out == bytes, place < 4, "{value}");
        }
    }

    #[test]
    fn lengths_change_where_they_should() {
        let edges = [(0, 1), (63, 1), (64, 2), (16_383, 2), (16_384, 4), ((1 << 30) - 1, 4), (1 << 30, 8)];
        for (value, bytes) in edges {
            let mut out = Vec::new();
            VarInt(value).encode(&mut out);
            assert_eq!((out.len(), VarInt::decode(&out)), (bytes, Ok((VarInt(value), bytes))));
        }
        assert_eq!((VarInt::new(1 << 62), VarInt::MAX.checked_add(1)), (None, None));
        assert_eq!(VarInt::MAX.encoded_bytes(), 8);
    }
}
