//! Records of a transfer, one ordered byte stream in each direction. Numbers are in network byte
//! order.
//!
//! ```text
//! sender    entry    1 · kind 1 · permissions 4 · modified: seconds 8, nanoseconds 4 · size 8 · length 2 · path
//!           prefix   2 · entry 4 · SHA-256 of the first bytes 32
//!           data     3 · entry 4 · length 8, and so many bytes of the file
//!           end      4 · entry 4 · 1: the file was read without error · SHA-256 of the whole file 32
//!           finish   5 · number of entries 4
//! receiver  want     1 · entry 4 · offset of the first byte to send 8
//!           have     2 · entry 4 · number of bytes that are there 8: asks for a prefix
//!           verdict  3 · entry 4 · 0 kept, 1 differs, 2 not kept: 1 · SHA-256 32 · length 2 · reason
//!           finished 4: every entry has its verdict
//! ```
//!
//! Entries are numbered from 0 in the order of their records. A zero byte in place of a record is
//! padding. It fills the last segment, because the transport carries full segments only.

mod reader;

use crate::error::Error;
use crate::reader::Reader;
pub use reader::{Piece, ReceiverRecordReader, SenderRecordReader};

/// Largest number of entries without a verdict.
pub const MAX_OPEN: usize = 1_024;

/// Largest length of a path in bytes, with slashes.
pub const MAX_PATH: usize = 4_096;

/// Largest length of a reason in bytes; a receiver of the record drops the rest.
const MAX_REASON: usize = 1_000;

/// The size of an entry whose end is not known yet.
pub const UNKNOWN: u64 = u64::MAX;

/// A SHA-256.
pub type Digest = [u8; 32];

/// The kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// An offered file or folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Whether the entry is a file or a folder.
    pub kind: Kind,
    /// Permissions, as in `st_mode`.
    pub mode: u32,
    /// Modification time: seconds since 1970, and nanoseconds.
    pub modified: (i64, u32),
    /// Size of a file in bytes; [`UNKNOWN`] for a stream.
    pub size: u64,
    /// Names of the parent folders and of the entry, separated by slashes. Names are usually UTF-8,
    /// but need not be.
    pub path: Vec<u8>,
}

/// The receiver's final result for an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The receiver has the entry, and both ends have the same SHA-256 of it.
    Stored,
    /// The received file has another SHA-256.
    Differs,
    /// The receiver did not want the entry, or could not write it.
    NotStored,
}

/// A record of the sender.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the module's documentation has every field")]
pub enum SenderRecord {
    /// Offers a file or folder.
    Entry(Entry),
    /// The SHA-256 of the bytes that the receiver already has.
    Prefix { entry: u32, digest: Digest },
    /// Announces that `length` bytes of the file follow.
    Data { entry: u32, length: u64 },
    /// The end of a file.
    End { entry: u32, sound: bool, digest: Digest },
    /// Announces that no more entries follow.
    Finish { count: u32 },
}

/// A record of the receiver.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the module's documentation has every field")]
pub enum ReceiverRecord {
    /// Asks for the file from an offset on.
    Want { entry: u32, from: u64 },
    /// Asks for the SHA-256 of the first `bytes`.
    Have { entry: u32, bytes: u64 },
    /// The final result for an entry.
    Verdict { entry: u32, verdict: Verdict, digest: Digest, reason: String },
    /// Announces that every entry has its verdict.
    Finished,
}

const MESSAGE: &str = "record";
const MALFORMED: Error = Error::Malformed(MESSAGE);

impl SenderRecord {
    /// Appends the encoded record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Entry(entry) => {
                out.extend([1, entry.kind as u8]);
                out.extend(entry.mode.to_be_bytes());
                out.extend(entry.modified.0.to_be_bytes());
                out.extend(entry.modified.1.to_be_bytes());
                out.extend(entry.size.to_be_bytes());
                out.extend((entry.path.len() as u16).to_be_bytes());
                out.extend(&entry.path);
            }
            Self::Prefix { entry, digest } => {
                out.push(2);
                out.extend(entry.to_be_bytes());
                out.extend(digest);
            }
            Self::Data { entry, length } => {
                out.push(3);
                out.extend(entry.to_be_bytes());
                out.extend(length.to_be_bytes());
            }
            Self::End { entry, sound, digest } => {
                out.push(4);
                out.extend(entry.to_be_bytes());
                out.push((*sound).into());
                out.extend(digest);
            }
            Self::Finish { count } => {
                out.push(5);
                out.extend(count.to_be_bytes());
            }
        }
    }

    /// Returns the length of the record, or a lower bound while its length field is missing.
    fn length(bytes: &[u8]) -> Result<usize, Error> {
        Ok(match bytes[0] {
            1 => {
                28 + bytes
                    .get(26..28)
                    .map_or(0, |length| usize::from(length[0]) << 8 | usize::from(length[1]))
            }
            2 => 37,
            3 => 13,
            4 => 38,
            5 => 5,
            _ => return Err(MALFORMED),
        })
    }

    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(&bytes[1..], MESSAGE);
        Ok(match bytes[0] {
            1 => {
                let kind = match reader.array()? {
                    [0] => Kind::File,
                    [1] => Kind::Folder,
                    _ => return Err(MALFORMED),
                };
                let mode = reader.u32()?;
                let modified = (i64::from_be_bytes(reader.array()?), reader.u32()?);
                let size = reader.u64()?;
                let _length = reader.u16()?;
                let path = reader.rest().to_vec();
                // Offsets in QUIC have 62 bits.
                let sized = size == UNKNOWN || size < 1 << 60;
                if path.len() > MAX_PATH || modified.1 >= 1_000_000_000 || !sized {
                    return Err(MALFORMED);
                }
                Self::Entry(Entry { kind, mode, modified, size, path })
            }
            2 => Self::Prefix { entry: reader.u32()?, digest: reader.array()? },
            3 => Self::Data { entry: reader.u32()?, length: reader.u64()? },
            4 => {
                let (entry, [sound]) = (reader.u32()?, reader.array()?);
                Self::End { entry, sound: sound == 1, digest: reader.array()? }
            }
            _ => Self::Finish { count: reader.u32()? },
        })
    }
}

impl ReceiverRecord {
    /// Appends the encoded record to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Want { entry, from } => {
                out.push(1);
                out.extend(entry.to_be_bytes());
                out.extend(from.to_be_bytes());
            }
            Self::Have { entry, bytes } => {
                out.push(2);
                out.extend(entry.to_be_bytes());
                out.extend(bytes.to_be_bytes());
            }
            Self::Verdict { entry, verdict, digest, reason } => {
                out.push(3);
                out.extend(entry.to_be_bytes());
                out.push(*verdict as u8);
                out.extend(digest);
                let end =
                    (0..=reason.len().min(4 * MAX_REASON)).rev().find(|end| reason.is_char_boundary(*end));
                let reason = &reason.as_bytes()[..end.unwrap_or(0)];
                out.extend((reason.len() as u16).to_be_bytes());
                out.extend(reason);
            }
            Self::Finished => out.push(4),
        }
    }

    fn length(bytes: &[u8]) -> Result<usize, Error> {
        Ok(match bytes[0] {
            1 | 2 => 13,
            4 => 1,
            3 => {
                40 + bytes
                    .get(38..40)
                    .map_or(0, |length| usize::from(length[0]) << 8 | usize::from(length[1]))
            }
            _ => return Err(MALFORMED),
        })
    }

    fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes[0] == 4 {
            return Ok(Self::Finished);
        }
        let mut reader = Reader::new(&bytes[1..], MESSAGE);
        let entry = reader.u32()?;
        Ok(match bytes[0] {
            1 => Self::Want { entry, from: reader.u64()? },
            2 => Self::Have { entry, bytes: reader.u64()? },
            _ => {
                let verdict = match reader.array()? {
                    [0] => Verdict::Stored,
                    [1] => Verdict::Differs,
                    [2] => Verdict::NotStored,
                    _ => return Err(MALFORMED),
                };
                let digest = reader.array()?;
                let _length = reader.u16()?;
                let reason = reader.most(MAX_REASON);
                let reason = String::from_utf8_lossy(reason).into_owned();
                Self::Verdict { entry, verdict, digest, reason }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offers() -> Vec<SenderRecord> {
        let entry = Entry {
            kind: Kind::Folder,
            mode: 0o40_755,
            modified: (-7, 999_999_999),
            size: UNKNOWN,
            path: b"a b/\xff.txt".to_vec(),
        };
        vec![
            SenderRecord::Entry(entry),
            SenderRecord::Prefix { entry: 1, digest: [7; 32] },
            SenderRecord::Data { entry: u32::MAX, length: 3 },
            SenderRecord::End { entry: 0, sound: false, digest: [0; 32] },
            SenderRecord::Finish { count: 9 },
        ]
    }

    /// Reads a stream in chunks of `step` bytes and returns its records and file bytes.
    fn read(bytes: &[u8], step: usize) -> Result<(Vec<SenderRecord>, Vec<u8>), Error> {
        let (mut reader, mut records, mut data) = (SenderRecordReader::default(), Vec::new(), Vec::new());
        for mut input in bytes.chunks(step) {
            while let Some(piece) = reader.next(&mut input)? {
                match piece {
                    Piece::Record(record) => records.push(record),
                    Piece::Bytes { bytes, .. } => data.extend_from_slice(bytes),
                }
            }
            assert!(input.is_empty());
        }
        Ok((records, data))
    }

    #[test]
    fn records_are_read_as_they_were_written_however_they_are_cut() {
        let mut bytes = vec![0; 3];
        for record in offers() {
            record.encode(&mut bytes);
            if matches!(record, SenderRecord::Data { .. }) {
                bytes.extend([0, 1, 2]);
            }
            bytes.extend([0; 2]);
        }
        for step in [1, 2, 7, 1_000] {
            let (records, data) = read(&bytes, step).expect("they are well formed");
            assert_eq!((records, data), (offers(), vec![0, 1, 2]), "{step}");
        }
        let answers = [
            ReceiverRecord::Want { entry: 1, from: 1 << 40 },
            ReceiverRecord::Have { entry: 2, bytes: 0 },
            ReceiverRecord::Verdict {
                entry: 3,
                verdict: Verdict::NotStored,
                digest: [1; 32],
                reason: "full".to_owned(),
            },
            ReceiverRecord::Verdict {
                entry: 4,
                verdict: Verdict::Stored,
                digest: [2; 32],
                reason: String::new(),
            },
            ReceiverRecord::Finished,
        ];
        let mut bytes = Vec::new();
        answers.iter().for_each(|answer| answer.encode(&mut bytes));
        let (mut reader, mut found) = (ReceiverRecordReader::default(), Vec::new());
        for mut input in bytes.chunks(5) {
            while let Some(answer) = reader.next(&mut input).expect("they are well formed") {
                found.push(answer);
            }
        }
        assert_eq!(found, answers);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(prop_oneof![0..6_u8, any::<u8>()], 0..300)) {
            let whole = read(&bytes, 1_000).ok();
            let cut = read(&bytes, 3).ok();
            prop_assert_eq!(whole, cut);
        }
    }
}
