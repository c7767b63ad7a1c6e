//! What goes over the wire, without payload bytes: the stream is described by segment numbers and lengths.

use plait_sched::Time;

/// Gap blocks that a [`Sack`] carries in memory; see [`Sack::blocks`].
pub const MAX_GAP_BLOCKS: usize = 32;

/// Duplicate numbers that a [`Sack`] lists.
pub const MAX_DUPLICATES: usize = 2;

/// A packet, as handed to and taken from the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a packet is handed on at once; engines that keep many store them as they like"
)]
pub enum Packet {
    /// One segment of the stream.
    Data(Data),
    /// An acknowledgement.
    Sack(Sack),
    /// Asks the other end to answer; carries the time it left (RFC 9260 §8.3).
    Heartbeat {
        /// When it was sent.
        sent_at: Time,
    },
    /// The answer, with the time copied.
    HeartbeatAck {
        /// When the heartbeat was sent.
        sent_at: Time,
    },
}

/// A DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The segment's number in the stream (the TSN, counted from 0 and never wrapping).
    pub segment: u64,
    /// Payload bytes.
    pub bytes: u32,
}

/// A run of received segments above the cumulative acknowledgement, as offsets from [`Sack::cumulative`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapBlock {
    /// Offset of the first received segment.
    pub first: u32,
    /// Offset of the last received segment.
    pub last: u32,
}

/// A selective acknowledgement (RFC 9260 §3.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sack {
    /// The first segment that has not arrived: everything below has (cumulative TSN + 1).
    pub cumulative: u64,
    /// The advertised receiver window in bytes.
    pub window: u64,
    /// How many gap blocks the chunk reports on the wire.
    pub gap_blocks: u16,
    /// Data packets that arrived since the last acknowledgement (delayed acknowledgement for CMT).
    pub packets: u8,
    /// The blocks in memory hold everything that arrived since the last acknowledgement on the same path. Otherwise what
    /// they do not report is not to be taken as missing.
    pub complete: bool,
    blocks: [GapBlock; MAX_GAP_BLOCKS],
    block_count: u8,
    duplicates: [u64; MAX_DUPLICATES],
    duplicate_count: u8,
}

impl Sack {
    /// An acknowledgement without gap blocks and duplicates.
    pub fn new(cumulative: u64, window: u64, packets: u8) -> Self {
        Self {
            cumulative,
            window,
            gap_blocks: 0,
            packets,
            complete: true,
            blocks: [GapBlock::default(); MAX_GAP_BLOCKS],
            block_count: 0,
            duplicates: [0; MAX_DUPLICATES],
            duplicate_count: 0,
        }
    }

    /// The gap blocks that can be news to the sender. On the wire a SACK reports all of them; in memory it carries those
    /// that changed since the last acknowledgements on its path, newest first, and one older block in turn, so that
    /// handling one costs the same in every window. Each change is repeated in the following acknowledgements, as
    /// RFC 2018 does for TCP.
    pub fn blocks(&self) -> &[GapBlock] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// Segments that arrived again since the last acknowledgement.
    pub fn duplicates(&self) -> &[u64] {
        &self.duplicates[..usize::from(self.duplicate_count)]
    }

    /// Adds a block; false if there is no room.
    pub fn push_block(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.block_count)) else { return false };
        let offset = |number: u64| u32::try_from(number - self.cumulative).unwrap_or(u32::MAX);
        *place = GapBlock { first: offset(first), last: offset(last) };
        self.block_count += 1;
        true
    }

    /// Adds a duplicate; ignored if there is no room.
    pub fn push_duplicate(&mut self, segment: u64) {
        if let Some(place) = self.duplicates.get_mut(usize::from(self.duplicate_count)) {
            *place = segment;
            self.duplicate_count += 1;
        }
    }
}

/// Bytes of headers around payload; what a packet occupies on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Network and transport headers of every packet (IPv4 20 + SCTP common header 12).
    pub packet: u32,
    /// Header of a DATA chunk (16), which SCTP implementations count in windows.
    pub data: u32,
    /// A SACK chunk without blocks (16).
    pub sack: u32,
    /// A heartbeat chunk with its information (24).
    pub heartbeat: u32,
}

impl Overhead {
    /// SCTP over IPv4.
    pub const SCTP: Self = Self { packet: 32, data: 16, sack: 16, heartbeat: 24 };

    /// The size of `packet` on the wire, in bytes.
    pub fn wire_bytes(&self, packet: &Packet) -> u32 {
        self.packet
            + match packet {
                Packet::Data(data) => self.data + data.bytes,
                Packet::Sack(sack) => {
                    self.sack + 4 * (u32::from(sack.gap_blocks) + u32::from(sack.duplicate_count))
                }
                Packet::Heartbeat { .. } | Packet::HeartbeatAck { .. } => self.heartbeat,
            }
    }
}
