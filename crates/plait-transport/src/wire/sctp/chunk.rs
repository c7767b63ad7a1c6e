//! A chunk: type, flags, length and value, padded to words (RFC 9260 §3.2).

use super::{Changes, Data, Init, Sack};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

const DATA: u8 = 0;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const SACK: u8 = 3;
const HEARTBEAT: u8 = 4;
const HEARTBEAT_ACK: u8 = 5;
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;
const SHUTDOWN_ACK: u8 = 8;
const ERROR: u8 = 9;
const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;
const SHUTDOWN_COMPLETE: u8 = 14;

/// Bytes before a chunk's or a parameter's value.
const HEADER: usize = 4;

/// A parameter or chunk is padded with zeros to a multiple of this size.
const WORD: usize = 4;

/// The flag T: the verification tag is the receiver's own (RFC 9260 §8.5.1).
const REFLECTED: u8 = 1;

/// A chunk of an SCTP packet (RFC 9260 §3.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// Data of the stream.
    Data(Data<'a>),
    /// Opens an association.
    Init(Init<'a>),
    /// Answers an INIT.
    InitAck(Init<'a>),
    /// A selective acknowledgement.
    Sack(Sack),
    /// Asks the peer to send the same information back (§3.3.6).
    Heartbeat(&'a [u8]),
    /// Returns the information of a HEARTBEAT.
    HeartbeatAck(&'a [u8]),
    /// Ends the association at once (§3.3.7).
    Abort {
        /// True if the verification tag is the receiver's own.
        reflected: bool,
        /// Error causes, undecoded.
        causes: &'a [u8],
    },
    /// The sender has no more data (§3.3.8).
    Shutdown {
        /// The last TSN up to which all data has arrived.
        cumulative: u32,
    },
    /// Answers a SHUTDOWN.
    ShutdownAck,
    /// Reports errors that do not end the association (§3.3.10).
    Error(&'a [u8]),
    /// Returns the cookie of an INIT ACK.
    CookieEcho(&'a [u8]),
    /// Ends the handshake.
    CookieAck,
    /// Ends the association after a SHUTDOWN ACK.
    ShutdownComplete {
        /// True if the verification tag is the receiver's own.
        reflected: bool,
    },
    /// The changes in the SACK of the same packet. A private chunk that other implementations
    /// ignore.
    Changes(Changes),
    /// A chunk of an unknown type.
    Unknown(Unknown<'a>),
}

/// An unknown chunk, undecoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown<'a> {
    /// The type.
    pub kind: u8,
    /// The flags.
    pub flags: u8,
    /// The bytes after the header.
    pub value: &'a [u8],
}

impl Unknown<'_> {
    /// Returns the action for this chunk.
    pub const fn action(&self) -> Unrecognized {
        Unrecognized::of(self.kind >> 6)
    }
}

/// The action for an unknown chunk or parameter, by the upper two bits of its type (RFC 9260 §3.2,
/// §3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unrecognized {
    /// 00: the rest of the packet is not processed.
    Stop,
    /// 01: the rest of the packet is not processed, and the type is reported.
    StopAndReport,
    /// 10: the chunk or parameter is skipped.
    Skip,
    /// 11: the chunk or parameter is skipped and reported.
    SkipAndReport,
}

impl Unrecognized {
    pub(super) const fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Stop,
            1 => Self::StopAndReport,
            2 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }

    /// True if the rest is not processed.
    pub const fn stops(self) -> bool {
        matches!(self, Self::Stop | Self::StopAndReport)
    }

    /// True if the type must be reported to the peer.
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }
}

impl<'a> Chunk<'a> {
    /// Appends the chunk with its padding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Data(data) => put(out, DATA, data.flags(), |out| data.encode(out)),
            Self::Init(init) => put(out, INIT, 0, |out| init.encode(out)),
            Self::InitAck(init) => put(out, INIT_ACK, 0, |out| init.encode(out)),
            Self::Sack(sack) => put(out, SACK, sack.flags(), |out| sack.encode(out)),
            Self::Heartbeat(info) => put(out, HEARTBEAT, 0, |out| super::heartbeat::encode(info, out)),
            Self::HeartbeatAck(info) => put(out, HEARTBEAT_ACK, 0, |out| super::heartbeat::encode(info, out)),
            Self::Abort { reflected, causes } => {
                put(out, ABORT, u8::from(*reflected), |out| out.put_slice(causes));
            }
            Self::Shutdown { cumulative } => put(out, SHUTDOWN, 0, |out| out.put_u32(*cumulative)),
            Self::ShutdownAck => put(out, SHUTDOWN_ACK, 0, |_| {}),
            Self::Error(causes) => put(out, ERROR, 0, |out| out.put_slice(causes)),
            Self::CookieEcho(cookie) => put(out, COOKIE_ECHO, 0, |out| out.put_slice(cookie)),
            Self::CookieAck => put(out, COOKIE_ACK, 0, |_| {}),
            Self::ShutdownComplete { reflected } => {
                put(out, SHUTDOWN_COMPLETE, u8::from(*reflected), |_| {});
            }
            Self::Changes(changes) => put(out, Changes::KIND, 0, |out| changes.encode(out)),
            Self::Unknown(unknown) => {
                put(out, unknown.kind, unknown.flags, |out| out.put_slice(unknown.value));
            }
        }
    }

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let kind = reader.u8("chunk type")?;
        let flags = reader.u8("chunk flags")?;
        let mut value = value(reader, "chunk")?;
        let chunk = match kind {
            DATA => Self::Data(Data::decode(flags, &mut value)?),
            INIT => Self::Init(Init::decode(&mut value)?),
            INIT_ACK => Self::InitAck(Init::decode(&mut value)?),
            SACK => Self::Sack(Sack::decode(flags, &mut value)?),
            HEARTBEAT => Self::Heartbeat(super::heartbeat::decode(&mut value)?),
            HEARTBEAT_ACK => Self::HeartbeatAck(super::heartbeat::decode(&mut value)?),
            ABORT => Self::Abort { reflected: flags & REFLECTED != 0, causes: value.rest() },
            SHUTDOWN => Self::Shutdown { cumulative: value.u32("SHUTDOWN's cumulative TSN")? },
            SHUTDOWN_ACK => Self::ShutdownAck,
            ERROR => Self::Error(value.rest()),
            COOKIE_ECHO => Self::CookieEcho(value.rest()),
            COOKIE_ACK => Self::CookieAck,
            SHUTDOWN_COMPLETE => Self::ShutdownComplete { reflected: flags & REFLECTED != 0 },
            Changes::KIND => Self::Changes(Changes::decode(&mut value)?),
            _ => return Ok(Self::Unknown(Unknown { kind, flags, value: value.rest() })),
        };
        if !value.is_empty() {
            return Err(value.length("chunk with more than its type has", value.left()));
        }
        Ok(chunk)
    }
}

/// An iterator over the chunks of a packet. It ends after the first malformed chunk, and after an
/// unknown one whose type stops processing.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    reader: Reader<'a>,
    ended: bool,
}

impl<'a> Chunks<'a> {
    pub(super) const fn new(reader: Reader<'a>) -> Self {
        Self { reader, ended: false }
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended || self.reader.is_empty() {
            return None;
        }
        let chunk = Chunk::decode(&mut self.reader);
        self.ended = match &chunk {
            Ok(Chunk::Unknown(unknown)) => unknown.action().stops(),
            Ok(_) => false,
            Err(_) => true,
        };
        Some(chunk)
    }
}

impl core::iter::FusedIterator for Chunks<'_> {}

fn put(out: &mut Vec<u8>, kind: u8, flags: u8, value: impl FnOnce(&mut Vec<u8>)) {
    out.put_slice(&[kind, flags]);
    put_value(out, value);
}

/// Appends a length, a value and padding. The length includes the bytes before it, but not the
/// padding.
pub(super) fn put_value(out: &mut Vec<u8>, value: impl FnOnce(&mut Vec<u8>)) {
    let place = out.len();
    out.put_u16(0);
    value(out);
    let length = out.len() - place - 2 + HEADER;
    debug_assert!(length <= usize::from(u16::MAX), "{length} bytes are no chunk");
    out[place..place + 2].copy_from_slice(&u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes());
    out.put_bytes(0, length.next_multiple_of(WORD) - length);
}

/// Reads a length, the value of that length, and the padding if it is there.
pub(super) fn value<'a>(reader: &mut Reader<'a>, field: &'static str) -> Result<Reader<'a>, DecodeError> {
    let before = *reader;
    let length = usize::from(reader.u16(field)?);
    let bytes = length.checked_sub(HEADER).ok_or_else(|| before.length(field, length))?;
    let value = reader.part(bytes, field)?;
    // The padding of the last chunk may be missing; no information is lost.
    let padding = (length.next_multiple_of(WORD) - length).min(reader.left());
    reader.bytes(padding, field)?;
    Ok(value)
}
