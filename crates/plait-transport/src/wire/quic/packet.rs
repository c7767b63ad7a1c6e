//! Packets (RFC 9000 §17.2, §17.3), unprotected.

use super::varint::put_counted;
use super::{ConnectionId, Frame, Frames};
use crate::wire::DecodeError;
use crate::wire::number::Truncated;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

/// QUIC's version, that of RFC 9000.
pub const VERSION: u32 = 1;

/// Bytes of an AEAD's tag at the end of a packet (RFC 9001 §5.3). They are zeros, and are ignored
/// on receipt.
pub const TAG_BYTES: usize = 16;

/// The first byte's upper bits: the long form, and the bit that is always set.
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;

/// Reserved bits of either form, always 0.
const RESERVED_LONG: u8 = 0x0c;
const RESERVED_SHORT: u8 = 0x18;
const SPIN: u8 = 0x20;
const KEY_PHASE: u8 = 0x04;

/// Bytes of a long packet's length field: always two, so that the length can be filled in later.
const LENGTH_BYTES: usize = 2;

const INITIAL: u8 = 0;
const ZERO_RTT: u8 = 1;
const HANDSHAKE: u8 = 2;

/// A decoded packet.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// The header.
    pub header: Header<'a>,
    /// The frames, decoded as the iterator advances.
    pub frames: Frames<'a>,
}

/// The header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header<'a> {
    /// Long form, used during the handshake.
    Long(Long<'a>),
    /// Short form, for 1-RTT packets.
    Short(Short),
}

/// A header of the long form (§17.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Long<'a> {
    /// The packet type.
    pub kind: LongKind<'a>,
    /// The receiver's connection ID.
    pub destination: ConnectionId,
    /// The sender's connection ID.
    pub source: ConnectionId,
    /// The packet's number in its space.
    pub number: Truncated,
}

/// The supported packet types of the long form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LongKind<'a> {
    /// The first packets of either end (§17.2.2).
    Initial {
        /// A token that the server issued, or empty.
        token: &'a [u8],
    },
    /// Early data of the client (§17.2.3).
    ZeroRtt,
    /// Other packets of the handshake (§17.2.4).
    Handshake,
}

/// The header of the short form (§17.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Short {
    /// The latency spin bit.
    pub spin: bool,
    /// Selects one of two keys.
    pub key_phase: bool,
    /// The receiver's connection ID; with multipath it also identifies the path.
    pub destination: ConnectionId,
    /// The packet's number in its space; with multipath, in the path's space.
    pub number: Truncated,
}

impl Header<'_> {
    /// Returns the packet's number as sent.
    pub const fn number(&self) -> Truncated {
        match self {
            Self::Long(long) => long.number,
            Self::Short(short) => short.number,
        }
    }

    /// Appends a packet with these frames, at least one, and with space for the tag. Packets of the
    /// long form must be smaller than 2¹⁴ bytes. A packet of the short form must be the last of its
    /// datagram.
    pub fn encode(&self, frames: &[Frame<'_>], out: &mut Vec<u8>) {
        let length_at = match self {
            Self::Long(long) => Some(long.encode(out)),
            Self::Short(short) => {
                short.encode(out);
                None
            }
        };
        let start = out.len();
        put_number(self.number(), out);
        frames.iter().for_each(|frame| frame.encode(out));
        out.put_bytes(0, TAG_BYTES);
        if let Some(place) = length_at {
            let length = out.len() - start;
            debug_assert!(length < 1 << 14, "{length} bytes are too long for a packet of the handshake");
            let length = 1u16 << 14 | length as u16 & 0x3fff;
            out[place..place + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        }
    }
}

impl<'a> Packet<'a> {
    /// Decodes the first packet of a datagram. Returns the packet and the rest of the datagram
    /// (§12.2). `id_bytes` is the length of the connection IDs that the receiver issued, because
    /// the short form does not include a length.
    ///
    /// # Errors
    /// If the packet is cut off, of another version or an unknown type, or has bits that version 1
    /// forbids.
    pub fn decode(datagram: &'a [u8], id_bytes: usize) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(datagram);
        let first = reader.u8("first byte")?;
        let value = u64::from(first);
        let refused = |field: &'static str| DecodeError::Value { field, at: 0, value };
        if first & FIXED == 0 {
            return Err(refused("fixed bit"));
        }
        let number_bytes = (first & 3) + 1;
        if first & LONG == 0 {
            if first & RESERVED_SHORT != 0 {
                return Err(refused("reserved bits"));
            }
            let destination = ConnectionId::read(&mut reader, id_bytes, "destination connection ID")?;
            let number = number(number_bytes, &mut reader)?;
            let (spin, key_phase) = (first & SPIN != 0, first & KEY_PHASE != 0);
            let header = Header::Short(Short { spin, key_phase, destination, number });
            return Ok((Self { header, frames: frames(&mut reader)? }, &[]));
        }
        if first & RESERVED_LONG != 0 {
            return Err(refused("reserved bits"));
        }
        let at = reader.at();
        let version = reader.u32("version")?;
        if version != VERSION {
            return Err(DecodeError::Value { field: "version", at, value: version.into() });
        }
        let destination = ConnectionId::decode(&mut reader, 0, "destination connection ID")?;
        let source = ConnectionId::decode(&mut reader, 0, "source connection ID")?;
        let kind = match first >> 4 & 3 {
            INITIAL => LongKind::Initial { token: reader.counted("token")? },
            ZERO_RTT => LongKind::ZeroRtt,
            HANDSHAKE => LongKind::Handshake,
            _ => return Err(refused("packet type")),
        };
        let length = reader.varint("packet's length")?.get();
        let mut packet = reader.part(usize::try_from(length).unwrap_or(usize::MAX), "packet")?;
        let number = number(number_bytes, &mut packet)?;
        let header = Header::Long(Long { kind, destination, source, number });
        Ok((Self { header, frames: frames(&mut packet)? }, reader.rest()))
    }
}

impl Long<'_> {
    /// Appends the header up to its length field, which is filled in later. Returns the offset of
    /// this field.
    fn encode(&self, out: &mut Vec<u8>) -> usize {
        let kind = match self.kind {
            LongKind::Initial { .. } => INITIAL,
            LongKind::ZeroRtt => ZERO_RTT,
            LongKind::Handshake => HANDSHAKE,
        };
        out.put_u8(LONG | FIXED | kind << 4 | (self.number.bytes - 1) & 3);
        out.put_u32(VERSION);
        self.destination.encode(out);
        self.source.encode(out);
        if let LongKind::Initial { token } = self.kind {
            put_counted(token, out);
        }
        out.put_bytes(0, LENGTH_BYTES);
        out.len() - LENGTH_BYTES
    }
}

impl Short {
    fn encode(&self, out: &mut Vec<u8>) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        out.put_u8(
            FIXED | bit(self.spin, SPIN) | bit(self.key_phase, KEY_PHASE) | (self.number.bytes - 1) & 3,
        );
        out.put_slice(self.destination.as_bytes());
    }
}

fn put_number(number: Truncated, out: &mut Vec<u8>) {
    out.put_uint(number.low.into(), number.bytes.into());
}

fn number(bytes: u8, reader: &mut Reader<'_>) -> Result<Truncated, DecodeError> {
    let low = reader.bytes(bytes.into(), "packet number")?;
    Ok(Truncated { low: low.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)), bytes })
}

/// Reads the frames before the tag.
fn frames<'a>(reader: &mut Reader<'a>) -> Result<Frames<'a>, DecodeError> {
    let Some(bytes) = reader.left().checked_sub(TAG_BYTES) else {
        let missing = TAG_BYTES - reader.left();
        return Err(DecodeError::Short { field: "authentication tag", at: reader.at(), missing });
    };
    reader.part(bytes, "frames").map(Frames::of)
}
