//! SACK chunks (RFC 9260 §3.3.4).

use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;

/// A selective acknowledgement.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    /// The last TSN up to which all data has arrived.
    pub cumulative: u32,
    /// The advertised receiver window, in bytes.
    pub window: u32,
    /// Number of data packets that the SACK answers: 1 to 3, or 0 if unknown. The upper two bits of
    /// the flags hold it, as in delayed acknowledgement for CMT (Iyengar et al. 2006, section 5);
    /// RFC 9260 leaves these bits unused.
    pub packets: u8,
    /// Runs received beyond a gap, at most 65,535.
    pub blocks: Vec<GapBlock>,
    /// Duplicates received since the last SACK, at most 65,535.
    pub duplicates: Vec<u32>,
}

/// A run of received TSNs, as offsets from the cumulative TSN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapBlock {
    /// Offset of the first TSN.
    pub start: u16,
    /// Offset of the last TSN.
    pub end: u16,
}

impl Sack {
    /// Bytes of the chunk without blocks and duplicates.
    pub const HEADER_BYTES: usize = 16;
    /// Bytes of a block or duplicate.
    pub const ITEM_BYTES: usize = 4;

    pub(super) fn flags(&self) -> u8 {
        self.packets.min(3) << 6
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.cumulative);
        out.put_u32(self.window);
        let count = |items: usize| u16::try_from(items).unwrap_or(u16::MAX);
        out.put_u16(count(self.blocks.len()));
        out.put_u16(count(self.duplicates.len()));
        for block in self.blocks.iter().take(count(self.blocks.len()).into()) {
            out.put_u16(block.start);
            out.put_u16(block.end);
        }
        for tsn in self.duplicates.iter().take(count(self.duplicates.len()).into()) {
            out.put_u32(*tsn);
        }
    }

    pub(super) fn decode(flags: u8, value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let cumulative = value.u32("SACK's cumulative TSN")?;
        let window = value.u32("SACK's window")?;
        let blocks = usize::from(value.u16("SACK's number of gap blocks")?);
        let duplicates = usize::from(value.u16("SACK's number of duplicates")?);
        // Checks the length before anything is allocated: the chunk holds exactly the announced
        // blocks and duplicates.
        let announced = (blocks + duplicates) * Self::ITEM_BYTES;
        if announced != value.left() {
            return Err(value.length("SACK's gap blocks and duplicates", announced));
        }
        let block = |value: &mut Reader<'_>| {
            let before = *value;
            let block = GapBlock { start: value.u16("gap block")?, end: value.u16("gap block")? };
            // An offset of 0 is the cumulative TSN itself.
            if block.start == 0 || block.end < block.start {
                let bits = u64::from(block.start) << 16 | u64::from(block.end);
                return Err(DecodeError::Value { field: "gap block", at: before.at(), value: bits });
            }
            Ok(block)
        };
        Ok(Self {
            cumulative,
            window,
            packets: flags >> 6,
            blocks: (0..blocks).map(|_| block(value)).collect::<Result<_, _>>()?,
            duplicates: (0..duplicates).map(|_| value.u32("duplicate")).collect::<Result<_, _>>()?,
        })
    }
}
