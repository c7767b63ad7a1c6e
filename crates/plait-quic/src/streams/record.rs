//! Records: segments contain whole records, one after the other. Numbers are in network byte order.
//!
//! ```text
//! padding   0: the rest of the segment is unused
//! open      1 · stream 4 · class 1 · length 2 · target
//! accepted  2 · stream 4
//! data      3 · stream 4 · offset in the stream 8 · length 2 · bytes
//! finish    4 · stream 4 · total bytes of the stream 8
//! reset     5 · stream 4 · reason 1
//! credit    6 · stream 4 · total bytes of the stream that may be sent 8
//! terms     7 · path 4 · flags (1: backup, 2: spent) 1 · cost 4
//! flow      8 · stream 4 · class 1 · length 2 · target: as open, for datagrams
//! datagram  9 · stream 4 · length 2 · bytes
//! piece     10 · stream 4 · number of datagram 2 · total bytes of datagram 2 · offset in it 2 ·
//!           bytes up to the end of the datagram, or of the segment
//! ```

use crate::error::Error;
use crate::reader::Reader;
use crate::terms::PathTerms;
use std::fmt;

/// Most bytes of a target: a name of 255, a colon and a port.
pub const MAX_TARGET: usize = 255 + 6;

/// Bytes of records beside their data.
pub(super) const DATA: usize = 15;
pub(super) const SHORT: usize = 5;
pub(super) const CREDIT: usize = 13;
pub(super) const FINISH: usize = 13;
pub(super) const TERMS: usize = 10;
pub(super) const DATAGRAM: usize = 7;
pub(super) const PIECE: usize = 11;

/// Bytes of the longest record that is not data.
pub(super) const MAX_CONTROL: usize = 8 + MAX_TARGET;

/// Class of a stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Class {
    /// The default, without special demands.
    #[default]
    Bulk,
    /// Precedes bulk streams.
    Interactive,
    /// Precedes all other streams, and leaves on every path.
    Redundant,
}

impl Class {
    /// All classes, by their numbers.
    pub const ALL: [Self; 3] = [Self::Bulk, Self::Interactive, Self::Redundant];
}

/// Reason why a stream ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The connection that the stream carries was broken off.
    Broken,
    /// The far end does not allow the target.
    Denied,
    /// The target has no address.
    Unresolved,
    /// The target cannot be reached.
    Unreachable,
    /// The target accepts no connections.
    Refused,
    /// There are too many streams.
    Busy,
    /// The target does not answer.
    Silent,
}

impl Reason {
    /// All reasons, by their numbers.
    pub const ALL: [Self; 7] = [
        Self::Broken,
        Self::Denied,
        Self::Unresolved,
        Self::Unreachable,
        Self::Refused,
        Self::Busy,
        Self::Silent,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "the connection was broken off",
            Self::Denied => "the far end does not allow it (--allow)",
            Self::Unresolved => "no address is known for it",
            Self::Unreachable => "there is no way to it",
            Self::Refused => "nobody takes connections there",
            Self::Busy => "there are too many connections",
            Self::Silent => "it does not answer",
        })
    }
}

/// A piece of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DatagramPiece<'a> {
    /// Distinguishes the datagrams of a flow.
    pub(super) number: u16,
    /// Bytes of the whole datagram.
    pub(super) total: u16,
    /// Offset of the piece in the datagram.
    pub(super) offset: u16,
    pub(super) bytes: &'a [u8],
}

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Record<'a> {
    Open { stream: u32, class: Class, target: &'a str },
    Accepted { stream: u32 },
    Data { stream: u32, offset: u64, bytes: &'a [u8] },
    Finish { stream: u32, size: u64 },
    Reset { stream: u32, reason: Reason },
    Credit { stream: u32, limit: u64 },
    Terms { path: u32, terms: PathTerms },
    Flow { stream: u32, class: Class, target: &'a str },
    Datagram { stream: u32, bytes: &'a [u8] },
    Piece { stream: u32, piece: DatagramPiece<'a> },
}

impl<'a> Record<'a> {
    /// Length in bytes.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Open { target, .. } | Self::Flow { target, .. } => 8 + target.len(),
            Self::Data { bytes, .. } => DATA + bytes.len(),
            Self::Accepted { .. } => SHORT,
            Self::Finish { .. } => FINISH,
            Self::Reset { .. } => SHORT + 1,
            Self::Credit { .. } => CREDIT,
            Self::Terms { .. } => TERMS,
            Self::Datagram { bytes, .. } => DATAGRAM + bytes.len(),
            Self::Piece { piece, .. } => PIECE + piece.bytes.len(),
        }
    }

    /// Appends the record. A target has at most [`MAX_TARGET`] bytes, and data fits into a segment.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let mut head = |kind: u8, stream: u32| {
            out.push(kind);
            out.extend(stream.to_be_bytes());
        };
        match *self {
            Self::Open { stream, class, target } | Self::Flow { stream, class, target } => {
                head(if matches!(self, Self::Open { .. }) { 1 } else { 8 }, stream);
                out.push(class as u8);
                out.extend((target.len() as u16).to_be_bytes());
                out.extend(target.as_bytes());
            }
            Self::Datagram { stream, bytes } => {
                head(9, stream);
                out.extend((bytes.len() as u16).to_be_bytes());
                out.extend(bytes);
            }
            Self::Piece { stream, piece } => {
                head(10, stream);
                for number in [piece.number, piece.total, piece.offset] {
                    out.extend(number.to_be_bytes());
                }
                out.extend(piece.bytes);
            }
            Self::Accepted { stream } => head(2, stream),
            Self::Data { stream, offset, bytes } => {
                head(3, stream);
                out.extend(offset.to_be_bytes());
                out.extend((bytes.len() as u16).to_be_bytes());
                out.extend(bytes);
            }
            Self::Finish { stream, size } => {
                head(4, stream);
                out.extend(size.to_be_bytes());
            }
            Self::Reset { stream, reason } => {
                head(5, stream);
                out.push(reason as u8);
            }
            Self::Credit { stream, limit } => {
                head(6, stream);
                out.extend(limit.to_be_bytes());
            }
            Self::Terms { path, terms } => {
                head(7, path);
                out.push(u8::from(terms.backup) | u8::from(terms.spent) << 1);
                out.extend(terms.cost.to_be_bytes());
            }
        }
    }

    /// Reads the next record off a segment; `None` after the last one.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no record, or only a part of one.
    pub(super) fn decode(segment: &mut &'a [u8]) -> Result<Option<Self>, Error> {
        const MESSAGE: &str = "record";
        const MALFORMED: Error = Error::Malformed(MESSAGE);
        let Some((&kind, rest)) = segment.split_first() else { return Ok(None) };
        if kind == 0 {
            return Ok(None);
        }
        let mut reader = Reader::new(rest, MESSAGE);
        let stream = reader.u32()?;
        let record = match kind {
            1 | 8 => {
                let class = Class::ALL.get(usize::from(reader.u8()?)).copied().ok_or(MALFORMED)?;
                let target = reader.counted()?;
                if target.len() > MAX_TARGET {
                    return Err(MALFORMED);
                }
                let target = std::str::from_utf8(target).map_err(|_| MALFORMED)?;
                match kind {
                    1 => Self::Open { stream, class, target },
                    _ => Self::Flow { stream, class, target },
                }
            }
            2 => Self::Accepted { stream },
            3 => Self::Data { stream, offset: reader.u64()?, bytes: reader.counted()? },
            4 => Self::Finish { stream, size: reader.u64()? },
            5 => {
                let reason = Reason::ALL.get(usize::from(reader.u8()?)).copied().ok_or(MALFORMED)?;
                Self::Reset { stream, reason }
            }
            6 => Self::Credit { stream, limit: reader.u64()? },
            7 => {
                let (flags, cost) = (reader.u8()?, reader.u32()?);
                if flags >= 4 {
                    return Err(MALFORMED);
                }
                let terms = PathTerms { cost, backup: flags & 1 != 0, spent: flags & 2 != 0 };
                Self::Terms { path: stream, terms }
            }
            9 => Self::Datagram { stream, bytes: reader.counted()? },
            10 => {
                let (number, total, offset) = (reader.u16()?, reader.u16()?, reader.u16()?);
                let bytes = reader.most(total.saturating_sub(offset).into());
                Self::Piece { stream, piece: DatagramPiece { number, total, offset, bytes } }
            }
            _ => return Err(MALFORMED),
        };
        *segment = reader.rest();
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(mut segment: &[u8]) -> Result<Vec<Record<'_>>, Error> {
        std::iter::from_fn(|| Record::decode(&mut segment).transpose()).collect()
    }

    #[test]
    fn what_was_written_is_read() {
        let records = [
            Record::Open { stream: 7, class: Class::Interactive, target: "example.org:443" },
            Record::Open { stream: 8, class: Class::Redundant, target: "" },
            Record::Accepted { stream: 1 },
            Record::Data { stream: u32::MAX, offset: 1 << 40, bytes: b"abc" },
            Record::Data { stream: 0, offset: 0, bytes: b"" },
            Record::Credit { stream: 5, limit: 1 << 50 },
            Record::Finish { stream: 2, size: u64::MAX },
            Record::Reset { stream: 3, reason: Reason::Silent },
            Record::Terms { path: 7, terms: PathTerms { cost: u32::MAX, backup: true, spent: false } },
            Record::Terms { path: 0, terms: PathTerms { cost: 0, backup: false, spent: true } },
            Record::Flow { stream: 9, class: Class::Redundant, target: "example.org:53" },
            Record::Datagram { stream: 9, bytes: b"" },
            Record::Piece {
                stream: 9,
                piece: DatagramPiece { number: 65_535, total: 5, offset: 3, bytes: b"de" },
            },
            Record::Datagram { stream: 9, bytes: b"abc" },
        ];
        let mut bytes = Vec::new();
        for record in &records {
            let before = bytes.len();
            record.encode(&mut bytes);
            assert_eq!(bytes.len() - before, record.length());
        }
        let whole = bytes.len();
        bytes.extend([0, 99, 99]);
        assert_eq!(read(&bytes).expect("they are well formed"), records);
        for length in 0..whole {
            let cut = read(&bytes[..length]);
            assert!(cut.is_err() || cut.is_ok_and(|some| some.len() < records.len()), "{length}");
        }
    }

    #[test]
    fn a_piece_ends_with_its_datagram_or_its_segment() {
        for (bytes, offset) in [(&b"abc"[..], 0), (b"de", 3), (b"", 5)] {
            let piece =
                Record::Piece { stream: 1, piece: DatagramPiece { number: 7, total: 5, offset, bytes } };
            let mut segment = Vec::new();
            piece.encode(&mut segment);
            assert_eq!(read(&segment).expect("it is well formed"), [piece]);
        }
    }

    #[test]
    fn reasons_and_classes_are_numbered_as_they_are_listed() {
        for (number, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
        }
        for (number, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, number);
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let long = "a".repeat(MAX_TARGET + 1);
        let mut bytes = Vec::new();
        Record::Open { stream: 0, class: Class::Bulk, target: &long }.encode(&mut bytes);
        assert!(read(&bytes).is_err());
        for wrong in [
            &[11, 0, 0, 0, 0][..],
            &[8, 0, 0, 0, 0, 3, 0, 0],
            &[9, 0, 0, 0, 0, 0, 1],
            &[7, 0, 0, 0, 0, 4, 0, 0, 0, 0],
            &[5, 0, 0, 0, 0, 7],
            &[1, 0, 0, 0, 0, 3, 0, 0],
            &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert!(read(&[1, 0, 0, 0, 0, 0, 0, 1, 0xff]).is_err(), "names are text");
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_nothing_panics_and_what_is_read_is_written_alike(
            bytes in prop::collection::vec(prop_oneof![0..11u8, any::<u8>()], 0..300),
        ) {
            let mut rest = &bytes[..];
            while let Ok(Some(record)) = { let before = rest; let read = Record::decode(&mut rest);
                if let Ok(Some(record)) = &read {
                    let mut again = Vec::new();
                    record.encode(&mut again);
                    prop_assert_eq!(&before[..before.len() - rest.len()], &again[..]);
                }
                read
            } {
                prop_assert!(record.length() <= bytes.len());
            }
        }
    }
}
