//! SCTP's packets and chunks.

use super::{Data, GapBlock, Overhead};
use plait_sched::Time;

/// A packet of SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation per packet")]
pub enum Packet {
    /// A DATA chunk. The segment's number is its TSN, counted from 0 and never wrapping.
    Data(Data),
    /// A segment with several messages, and the bytes of the chunk headers of all but the first
    /// (RFC 9260 §6.10).
    Bundle(Data, u16),
    /// An acknowledgement.
    Sack(Sack),
    /// Asks the peer for an answer; carries the transmission time (RFC 9260 §8.3).
    Heartbeat {
        /// Transmission time of the heartbeat.
        sent_at: Time,
    },
    /// Answers a heartbeat, with the time copied.
    HeartbeatAck {
        /// Transmission time of the heartbeat.
        sent_at: Time,
    },
}

impl Packet {
    /// Returns the data of the stream in the packet.
    #[inline]
    pub const fn data(&self) -> Option<Data> {
        match self {
            Self::Data(data) | Self::Bundle(data, _) => Some(*data),
            Self::Sack(_) | Self::Heartbeat { .. } | Self::HeartbeatAck { .. } => None,
        }
    }

    /// Returns the packet's bytes without the headers that every packet has.
    #[inline]
    pub(super) fn bytes_within(&self, overhead: &Overhead) -> u32 {
        match self {
            Self::Data(data) => overhead.data + data.bytes,
            Self::Bundle(data, headers) => overhead.data + data.bytes + u32::from(*headers),
            Self::Sack(sack) => {
                let blocks = u32::from(sack.gap_blocks) + u32::from(sack.duplicate_count);
                overhead.acknowledgement + overhead.of_blocks(blocks)
            }
            Self::Heartbeat { .. } | Self::HeartbeatAck { .. } => overhead.control,
        }
    }
}

/// Largest number of gap blocks that a [`Sack`] holds in memory; see [`Sack::blocks`].
pub const MAX_GAP_BLOCKS: usize = 32;

/// Largest number of duplicates that a [`Sack`] lists.
pub const MAX_DUPLICATES: usize = 2;

/// A selective acknowledgement (RFC 9260 §3.3.4).
#[derive(Clone, Copy, Debug)]
pub struct Sack {
    /// The first segment that has not arrived (cumulative TSN + 1); all earlier ones have.
    pub cumulative: u64,
    /// The advertised receiver window in bytes.
    pub window: u64,
    /// Number of gap blocks in the chunk on the wire.
    pub gap_blocks: u16,
    /// Data packets received since the last acknowledgement, limited to two bits: at most
    /// [`Sack::MAX_PACKETS`] (delayed acknowledgement for CMT).
    pub packets: u8,
    /// The first change, in the receiver's count, that the blocks in memory report; 0 if they
    /// report all runs.
    pub changes_from: u64,
    /// The number after the last reported change: the receiver's count when the acknowledgement
    /// left.
    pub changes_end: u64,
    blocks: [GapBlock; MAX_GAP_BLOCKS],
    block_count: u8,
    duplicates: [u64; MAX_DUPLICATES],
    duplicate_count: u8,
}

/// Compares all fields, but only the used entries of arrays.
impl PartialEq for Sack {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |sack: &Self| (sack.cumulative, sack.window, sack.gap_blocks, sack.packets);
        let changes = |sack: &Self| (sack.changes_from, sack.changes_end);
        numbers(self) == numbers(other)
            && changes(self) == changes(other)
            && self.blocks() == other.blocks()
            && self.duplicates() == other.duplicates()
    }
}

impl Eq for Sack {}

impl Sack {
    /// Largest number of packets that an acknowledgement can report (Iyengar et al. 2006, section
    /// 5).
    pub const MAX_PACKETS: u8 = 3;

    /// Creates an acknowledgement without gap blocks and duplicates.
    pub fn new(cumulative: u64, window: u64, packets: u8) -> Self {
        Self {
            cumulative,
            window,
            gap_blocks: 0,
            packets,
            changes_from: 0,
            changes_end: 0,
            blocks: [GapBlock::default(); MAX_GAP_BLOCKS],
            block_count: 0,
            duplicates: [0; MAX_DUPLICATES],
            duplicate_count: 0,
        }
    }

    /// Copies `other`, except for unused array entries.
    pub fn overwrite(&mut self, other: &Self) {
        let Self { cumulative, window, gap_blocks, packets, changes_from, changes_end, .. } = *other;
        (self.cumulative, self.window, self.gap_blocks, self.packets) =
            (cumulative, window, gap_blocks, packets);
        (self.changes_from, self.changes_end) = (changes_from, changes_end);
        let blocks = other.blocks().len();
        self.blocks[..blocks].copy_from_slice(&other.blocks[..blocks]);
        self.block_count = other.block_count;
        (self.duplicates, self.duplicate_count) = (other.duplicates, other.duplicate_count);
    }

    /// Resets to an acknowledgement without gap blocks and duplicates.
    pub fn restart(&mut self, cumulative: u64, window: u64, packets: u8) {
        (self.cumulative, self.window, self.packets) = (cumulative, window, packets);
        (self.gap_blocks, self.changes_from, self.changes_end) = (0, 0, 0);
        (self.block_count, self.duplicate_count) = (0, 0);
    }

    /// Returns the gap blocks that may be new to the sender. On the wire a SACK reports all gap
    /// blocks. In memory it carries those that changed since the last acknowledgements on its path,
    /// newest first, and one older block in turn. The cost of processing a SACK is therefore the
    /// same in every window. Each change is repeated in the following acknowledgements, as RFC 2018
    /// does for TCP.
    pub fn blocks(&self) -> &[GapBlock] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// True if the SACK reports `segment` as received, by the cumulative number or by a block in
    /// memory.
    #[inline]
    pub fn covers(&self, segment: u64) -> bool {
        let Some(offset) = segment.checked_sub(self.cumulative) else { return true };
        let Ok(offset) = u32::try_from(offset) else { return false };
        self.blocks().iter().any(|block| block.first <= offset && offset <= block.last)
    }

    /// Returns the duplicates received since the last acknowledgement.
    pub fn duplicates(&self) -> &[u64] {
        &self.duplicates[..usize::from(self.duplicate_count)]
    }

    /// Adds a block. Returns false without space for it.
    pub fn push_block(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.block_count)) else { return false };
        let offset = |number: u64| u32::try_from(number - self.cumulative).unwrap_or(u32::MAX);
        *place = GapBlock { first: offset(first), last: offset(last) };
        self.block_count += 1;
        true
    }

    /// Adds a duplicate. Ignores it without space for it.
    pub fn push_duplicate(&mut self, segment: u64) {
        if let Some(place) = self.duplicates.get_mut(usize::from(self.duplicate_count)) {
            *place = segment;
            self.duplicate_count += 1;
        }
    }
}

impl Overhead {
    /// SCTP over IPv4: 20 + 12, DATA 16, SACK 16, HEARTBEAT 24.
    pub const SCTP: Self = Self {
        packet: 32,
        data: 16,
        acknowledgement: 16,
        first_block: 0,
        block: 4,
        control: 24,
        confirmation: 0,
    };
}
