//! TCP segments (RFC 9293 §3.1): a header with options, and payload.

mod options;

pub use options::{OPTION_BYTES, OptionIter, Options, SackBlock, SackBlocks, TcpOption};

use super::DecodeError;
use super::checksum::Addresses;
use super::reader::Reader;
use bytes::BufMut as _;

/// IP protocol number of TCP.
pub const PROTOCOL: u8 = 6;

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;

/// Offset of the checksum in the header.
const CHECKSUM_AT: usize = 16;

/// A segment's header, without its options and its checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first byte of the payload, or of the SYN.
    pub sequence: u32,
    /// Next expected sequence number, if the flag ACK is set.
    pub acknowledgement: u32,
    /// Control bits.
    pub flags: Flags,
    /// The window field, in units of the window scale.
    pub window: u16,
    /// End of urgent data, if the flag URG is set.
    pub urgent: u16,
}

/// The control bits of a segment (RFC 9293 §3.1, RFC 3168 §6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(1);
    /// Synchronizes sequence numbers.
    pub const SYN: Self = Self(2);
    /// Resets the connection.
    pub const RST: Self = Self(4);
    /// The receiver shall pass the data on at once.
    pub const PSH: Self = Self(8);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(16);
    /// The urgent pointer is valid.
    pub const URG: Self = Self(32);
    /// ECN-Echo: congestion was experienced.
    pub const ECE: Self = Self(64);
    /// The congestion window was reduced.
    pub const CWR: Self = Self(128);

    /// True if all bits of `others` are set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl core::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Header {
    /// Appends the header of a segment with these options and this payload, which the caller
    /// appends afterwards. The checksum covers all three, and the addresses of the packet. Their
    /// lengths together must fit 16 bits.
    pub fn encode(&self, options: &Options, addresses: &Addresses, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let options = options.padded();
        out.put_u16(self.source_port);
        out.put_u16(self.destination_port);
        out.put_u32(self.sequence);
        out.put_u32(self.acknowledgement);
        out.put_u8(((HEADER_BYTES + options.len()) as u8 / 4) << 4);
        out.put_u8(self.flags.0);
        out.put_u16(self.window);
        out.put_u16(0);
        out.put_u16(self.urgent);
        out.put_slice(options);
        let length = out.len() - start + payload.len();
        let pseudo = addresses.pseudo_header(PROTOCOL, u32::try_from(length).unwrap_or(u32::MAX));
        let sum = pseudo.with(&out[start..]).with(payload).checksum();
        out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// A decoded segment.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    /// The header.
    pub header: Header,
    /// The options, decoded as the iterator advances.
    pub options: OptionIter<'a>,
    /// Bytes of header and options.
    pub header_bytes: usize,
    /// The payload, as far as it was captured.
    pub payload: &'a [u8],
}

impl<'a> Segment<'a> {
    /// Decodes a segment without checking the checksum, since captures truncate the data that it
    /// covers; [`verify`] checks it.
    ///
    /// # Errors
    /// If the header is cut off, or shorter than the minimum.
    #[inline]
    pub fn decode(segment: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(segment);
        let source_port = reader.u16("TCP source port")?;
        let destination_port = reader.u16("TCP destination port")?;
        let sequence = reader.u32("sequence number")?;
        let acknowledgement = reader.u32("acknowledgement number")?;
        let offset = reader;
        let header_bytes = usize::from(reader.u8("data offset")? >> 4) * 4;
        let flags = Flags(reader.u8("control bits")?);
        let window = reader.u16("window")?;
        reader.u16("TCP checksum")?;
        let urgent = reader.u16("urgent pointer")?;
        let options = header_bytes.checked_sub(HEADER_BYTES);
        let options = options.ok_or_else(|| offset.length("data offset", header_bytes))?;
        let options = OptionIter::of(reader.part(options, "TCP options")?);
        let header =
            Header { source_port, destination_port, sequence, acknowledgement, flags, window, urgent };
        Ok(Self { header, options, header_bytes, payload: reader.rest() })
    }
}

/// Verifies the checksum of a whole segment that arrived with these addresses.
///
/// # Errors
/// If the segment is damaged or too short.
pub fn verify(addresses: &Addresses, segment: &[u8]) -> Result<(), DecodeError> {
    let mut reader = Reader::new(segment);
    let before = reader.bytes(CHECKSUM_AT, "TCP header")?;
    let stored = reader.u16("TCP checksum")?;
    let length = u32::try_from(segment.len()).unwrap_or(u32::MAX);
    let sum = addresses.pseudo_header(PROTOCOL, length).with(before).with(reader.rest());
    let computed = sum.checksum();
    // 0 and 0xffff are the same number in one's complement.
    if sum.with_word(stored).checksum() == 0 {
        return Ok(());
    }
    let (stored, computed) = (stored.into(), computed.into());
    Err(DecodeError::Checksum { field: "TCP checksum", at: CHECKSUM_AT, stored, computed })
}
