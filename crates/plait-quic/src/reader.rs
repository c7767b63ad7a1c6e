//! Reads numbers in network byte order.

use crate::error::Error;

/// Bytes of a message that are not read yet.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    /// Name of the message in errors.
    message: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], message: &'static str) -> Self {
        Self { bytes, message }
    }

    /// # Errors
    /// [`Error::Malformed`] if there are fewer bytes; the same holds for the methods below.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(Error::Malformed(self.message))?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    /// Takes bytes that follow their length.
    pub(crate) fn counted(&mut self) -> Result<&'a [u8], Error> {
        let length = self.u16()?.into();
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Error::Malformed(self.message))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Takes so many bytes, or all that are left.
    pub(crate) fn most(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(bytes.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// Returns all bytes that are left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes
    }
}
