//! TCP's options (RFC 9293 §3.2), with those of RFC 7323 (timestamps, window scale), RFC 2018
//! (selective acknowledgements) and MPTCP.

use crate::wire::DecodeError;
use crate::wire::mptcp::MptcpOption;
use crate::wire::reader::Reader;
use bytes::BufMut;

/// Space for options: the largest header of a four-bit data offset, without the fixed header.
pub const OPTION_BYTES: usize = 40;

/// Bytes of the header before the options.
const BEFORE: usize = super::HEADER_BYTES;

/// Bytes of an option before its value.
const KIND_AND_LENGTH: usize = 2;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MULTIPATH: u8 = 30;

/// An option of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpOption<'a> {
    /// One byte of padding between options.
    NoOperation,
    /// The largest segment that the sender of a SYN accepts, in bytes without headers.
    MaximumSegmentSize(u16),
    /// Number of bits by which the sender's window fields are shifted (RFC 7323 §2.2).
    WindowScale(u8),
    /// The sender of a SYN supports selective acknowledgements (RFC 2018 §2).
    SackPermitted,
    /// Selective acknowledgements (RFC 2018 §3, RFC 2883).
    Sack(SackBlocks),
    /// Timestamps (RFC 7323 §3.2).
    Timestamps {
        /// TSval: the sender's clock.
        value: u32,
        /// TSecr: the latest timestamp that the sender received from its peer.
        echo: u32,
    },
    /// An option of MPTCP (RFC 8684 §3).
    Mptcp(MptcpOption<'a>),
    /// An option of another kind.
    Unknown {
        /// The kind.
        kind: u8,
        /// The bytes after its length.
        value: &'a [u8],
    },
}

/// A range of received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// Sequence number of its first byte.
    pub left: u32,
    /// Sequence number after its last byte.
    pub right: u32,
}

/// SACK blocks, as many as fit a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlocks {
    blocks: [SackBlock; Self::MOST],
    count: u8,
}

impl SackBlocks {
    /// Largest number of blocks in an option.
    pub const MOST: usize = 4;
    /// Bytes of a block.
    const BLOCK: usize = 8;

    /// The blocks in their order.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Adds a block. Returns false without space for it.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.count)) else { return false };
        *place = block;
        self.count += 1;
        true
    }
}

impl<'a> TcpOption<'a> {
    /// Returns the option's bytes on the wire.
    pub fn encoded_bytes(&self) -> usize {
        let value = match self {
            Self::NoOperation => return 1,
            Self::SackPermitted => 0,
            Self::WindowScale(_) => 1,
            Self::MaximumSegmentSize(_) => 2,
            Self::Timestamps { .. } => 8,
            Self::Sack(blocks) => blocks.as_slice().len() * SackBlocks::BLOCK,
            Self::Mptcp(option) => option.encoded_bytes(),
            Self::Unknown { value, .. } => value.len(),
        };
        KIND_AND_LENGTH + value
    }

    /// Appends the option. An option longer than [`OPTION_BYTES`] is invalid.
    pub fn encode(&self, out: &mut impl BufMut) {
        let kind = match self {
            Self::NoOperation => return out.put_u8(NO_OPERATION),
            Self::MaximumSegmentSize(_) => SEGMENT_SIZE,
            Self::WindowScale(_) => WINDOW_SCALE,
            Self::SackPermitted => SACK_PERMITTED,
            Self::Sack(_) => SACK,
            Self::Timestamps { .. } => TIMESTAMPS,
            Self::Mptcp(_) => MULTIPATH,
            Self::Unknown { kind, .. } => *kind,
        };
        out.put_u8(kind);
        out.put_u8(u8::try_from(self.encoded_bytes()).unwrap_or(u8::MAX));
        match self {
            Self::NoOperation | Self::SackPermitted => {}
            Self::MaximumSegmentSize(bytes) => out.put_u16(*bytes),
            Self::WindowScale(shift) => out.put_u8(*shift),
            Self::Sack(blocks) => {
                for block in blocks.as_slice() {
                    out.put_u32(block.left);
                    out.put_u32(block.right);
                }
            }
            Self::Timestamps { value, echo } => {
                out.put_u32(*value);
                out.put_u32(*echo);
            }
            Self::Mptcp(option) => option.encode(out),
            Self::Unknown { value, .. } => out.put_slice(value),
        }
    }

    /// Reads the next option. Returns `None` at the end of the list. Inlined, so that a caller that
    /// looks for a few options moves none.
    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        let kind = reader.u8("TCP option")?;
        // Only these two kinds have no length (RFC 9293 §3.1).
        if kind == END {
            return Ok(None);
        }
        if kind == NO_OPERATION {
            return Ok(Some(Self::NoOperation));
        }
        let before = *reader;
        let length = usize::from(reader.u8("TCP option")?);
        let bytes = length.checked_sub(2).ok_or_else(|| before.length("TCP option", length))?;
        let mut value = reader.part(bytes, "TCP option")?;
        let option = match kind {
            SEGMENT_SIZE => Self::MaximumSegmentSize(value.u16("maximum segment size")?),
            WINDOW_SCALE => Self::WindowScale(value.u8("window scale")?),
            SACK_PERMITTED => Self::SackPermitted,
            SACK => Self::Sack(sack_blocks(&mut value)?),
            TIMESTAMPS => {
                Self::Timestamps { value: value.u32("timestamp")?, echo: value.u32("timestamp's echo")? }
            }
            MULTIPATH => Self::Mptcp(MptcpOption::decode(&mut value)?),
            kind => Self::Unknown { kind, value: value.rest() },
        };
        if value.is_empty() { Ok(Some(option)) } else { Err(before.length("TCP option", length)) }
    }
}

fn sack_blocks(value: &mut Reader<'_>) -> Result<SackBlocks, DecodeError> {
    if value.is_empty() || !value.left().is_multiple_of(SackBlocks::BLOCK) {
        return Err(value.length("SACK option's blocks", value.left()));
    }
    let mut blocks = SackBlocks::default();
    while !value.is_empty() {
        let block = SackBlock { left: value.u32("SACK block")?, right: value.u32("SACK block")? };
        if !blocks.push(block) {
            return Err(value.length("SACK option's blocks", value.left()));
        }
    }
    Ok(blocks)
}

/// The options of a header under construction, as bytes in their order.
#[derive(Clone, Copy)]
pub struct Options {
    /// The encoded options, followed by zeros.
    bytes: [u8; OPTION_BYTES],
    length: u8,
}

impl Options {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self { bytes: [0; OPTION_BYTES], length: 0 }
    }

    /// Adds an option. Returns false without space for it.
    pub fn push(&mut self, option: &TcpOption<'_>) -> bool {
        let start = usize::from(self.length);
        let end = start + option.encoded_bytes();
        let Some(mut place) = self.bytes.get_mut(start..end) else { return false };
        option.encode(&mut place);
        self.length = end as u8;
        true
    }

    /// Returns the options as in a header: whole words, padded with the end of the list (RFC 9293
    /// §3.2, kind 0).
    pub fn padded(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length).next_multiple_of(4)]
    }

    /// Returns an iterator over the options.
    pub fn iter(&self) -> OptionIter<'_> {
        OptionIter::of(Reader::starting_at(&self.bytes[..self.length.into()], BEFORE))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Options {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a Options {
    type Item = Result<TcpOption<'a>, DecodeError>;
    type IntoIter = OptionIter<'a>;

    fn into_iter(self) -> OptionIter<'a> {
        self.iter()
    }
}

/// An iterator over the options of a header. It ends at the end of the list, and after the first
/// malformed option.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    reader: Reader<'a>,
    ended: bool,
}

impl<'a> OptionIter<'a> {
    pub(super) const fn of(reader: Reader<'a>) -> Self {
        Self { reader, ended: false }
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = Result<TcpOption<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended || self.reader.is_empty() {
            return None;
        }
        let option = TcpOption::decode(&mut self.reader).transpose();
        self.ended = !matches!(option, Some(Ok(_)));
        option
    }
}

impl core::iter::FusedIterator for OptionIter<'_> {}
