//! Reads fields in sequence, and keeps the offset of each for errors.

use super::DecodeError;

/// Input of a decoder. A copy of the reader looks ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes of the input before `rest`.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    /// Creates a reader of `bytes` that begin at offset `at` of the input.
    pub(super) const fn starting_at(bytes: &'a [u8], at: usize) -> Self {
        Self { rest: bytes, at }
    }

    /// Returns the offset of the next field.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        match self.rest.split_first_chunk::<N>() {
            Some((array, rest)) => {
                (self.rest, self.at) = (rest, self.at + N);
                Ok(*array)
            }
            None => Err(self.short(field, N)),
        }
    }

    #[inline]
    pub(super) fn bytes(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(length) {
            Some((bytes, rest)) => {
                (self.rest, self.at) = (rest, self.at + length);
                Ok(bytes)
            }
            None => Err(self.short(field, length)),
        }
    }

    /// Returns a reader of the next `length` bytes.
    #[inline]
    pub(super) fn part(&mut self, length: usize, field: &'static str) -> Result<Self, DecodeError> {
        let at = self.at;
        self.bytes(length, field).map(|bytes| Self::starting_at(bytes, at))
    }

    /// Takes all remaining bytes.
    #[inline]
    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = core::mem::take(&mut self.rest);
        self.at += rest.len();
        rest
    }

    /// Skips consecutive bytes equal to `byte`. Returns their number.
    pub(super) fn skip(&mut self, byte: u8) -> usize {
        let length = self.rest.iter().take_while(|&&other| other == byte).count();
        (self.rest, self.at) = (&self.rest[length..], self.at + length);
        length
    }

    #[inline]
    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_be_bytes)
    }

    #[inline]
    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_be_bytes)
    }

    #[inline]
    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_be_bytes)
    }

    /// Returns the error for `length` bytes from here on of which some are missing.
    #[cold]
    fn short(&self, field: &'static str, length: usize) -> DecodeError {
        DecodeError::Short { field, at: self.at, missing: length.saturating_sub(self.rest.len()) }
    }

    /// Returns the error for an invalid length of `field`, which begins here.
    #[cold]
    pub(super) fn length(&self, field: &'static str, length: impl TryInto<u64>) -> DecodeError {
        DecodeError::Length { field, at: self.at, length: length.try_into().unwrap_or(u64::MAX) }
    }
}
