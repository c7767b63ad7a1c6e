//! A private chunk that lists the new runs of a SACK. It makes the cost of processing a SACK
//! independent of the window.

use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

/// Changes at the receiver since earlier SACKs. The chunk follows the SACK in the packet.
///
/// A SACK reports all gap blocks, hundreds of them in large windows. A sender that supports this
/// chunk processes only those gap blocks that the chunk names. Its type has the upper bits 10: a
/// peer that does not know the chunk skips it silently (RFC 9260 §3.2), and nothing relies on it.
/// Blocks have offsets of 32 bits, so that they can also report runs for which the SACK has no
/// space.
///
/// Value: 64 bits of `from`, 64 bits of `end`, then 32 and 32 bits of each block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// The first change that the blocks report, in the receiver's count of changes. With 0, the
    /// blocks are all existing runs.
    pub from: u64,
    /// The number after the last reported change.
    pub end: u64,
    /// New runs beyond a gap, the newest first.
    pub blocks: Vec<ChangedBlock>,
}

/// A run of received TSNs, as offsets from the SACK's cumulative TSN, like
/// [`GapBlock`](super::GapBlock).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangedBlock {
    /// Offset of the first TSN.
    pub start: u32,
    /// Offset of the last TSN.
    pub end: u32,
}

impl Changes {
    /// The type of the chunk, which RFC 9260 (§15.1) leaves unassigned.
    pub const KIND: u8 = 0xbe;

    /// Bytes of a block.
    const BLOCK: usize = 8;

    /// Bytes of the chunk.
    pub const fn chunk_bytes(&self) -> usize {
        4 + 16 + Self::BLOCK * self.blocks.len()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.from);
        out.put_u64(self.end);
        for block in &self.blocks {
            out.put_u32(block.start);
            out.put_u32(block.end);
        }
    }

    pub(super) fn decode(value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let from = value.u64("first change")?;
        let end = value.u64("end of changes")?;
        if !value.left().is_multiple_of(Self::BLOCK) {
            return Err(value.length("changed blocks", value.left()));
        }
        let mut blocks = Vec::with_capacity(value.left() / Self::BLOCK);
        while !value.is_empty() {
            let before = *value;
            let block = ChangedBlock { start: value.u32("changed block")?, end: value.u32("changed block")? };
            if block.start == 0 || block.end < block.start {
                let bits = u64::from(block.start) << 32 | u64::from(block.end);
                return Err(DecodeError::Value { field: "changed block", at: before.at(), value: bits });
            }
            blocks.push(block);
        }
        Ok(Self { from, end, blocks })
    }
}
