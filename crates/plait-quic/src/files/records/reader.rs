//! Reading of records from a stream whose bytes arrive in pieces of any size.

use super::{ReceiverRecord, SenderRecord};
use crate::error::Error;

/// The bytes of an incomplete record.
#[derive(Debug, Default)]
struct Pending(Vec<u8>);

impl Pending {
    /// Takes the next record off `input`. If it is incomplete, keeps its bytes and returns `None`.
    fn take(
        &mut self,
        input: &mut &[u8],
        length: fn(&[u8]) -> Result<usize, Error>,
    ) -> Result<Option<Vec<u8>>, Error> {
        if self.0.is_empty() {
            let padding = input.iter().take_while(|byte| **byte == 0).count();
            *input = &input[padding..];
        }
        while let Some(first) = self.0.first().or(input.first()) {
            let needed = length(if self.0.is_empty() { std::slice::from_ref(first) } else { &self.0 })?;
            if self.0.len() == needed {
                return Ok(Some(std::mem::take(&mut self.0)));
            }
            if input.is_empty() {
                break;
            }
            let (taken, rest) = input.split_at(input.len().min(needed - self.0.len()));
            self.0.extend_from_slice(taken);
            *input = rest;
        }
        Ok(None)
    }
}

/// A piece of a sender's stream.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A record.
    Record(SenderRecord),
    /// Bytes of a file.
    Bytes {
        /// Number of the entry.
        entry: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
}

/// Reads a sender's stream.
#[derive(Debug, Default)]
pub struct SenderRecordReader {
    pending: Pending,
    /// The entry whose bytes follow, and their number.
    data: (u32, u64),
}

impl SenderRecordReader {
    /// Takes the next piece off `input`. Returns `None` if more bytes are needed.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] for an invalid record.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Error> {
        let (entry, left) = &mut self.data;
        if *left > 0 {
            let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
            let (bytes, rest) = input.split_at(count);
            *input = rest;
            *left -= count as u64;
            return Ok((count > 0).then_some(Piece::Bytes { entry: *entry, bytes }));
        }
        let Some(bytes) = self.pending.take(input, SenderRecord::length)? else { return Ok(None) };
        let record = SenderRecord::decode(&bytes)?;
        if let SenderRecord::Data { entry, length } = record {
            self.data = (entry, length);
        }
        Ok(Some(Piece::Record(record)))
    }
}

/// Reads a receiver's stream.
#[derive(Debug, Default)]
pub struct ReceiverRecordReader(Pending);

impl ReceiverRecordReader {
    /// Takes the next record off `input`. Returns `None` if more bytes are needed.
    ///
    /// # Errors
    /// Returns [`Error::Malformed`] for an invalid record.
    pub fn next(&mut self, input: &mut &[u8]) -> Result<Option<ReceiverRecord>, Error> {
        self.0.take(input, ReceiverRecord::length)?.map(|bytes| ReceiverRecord::decode(&bytes)).transpose()
    }
}
