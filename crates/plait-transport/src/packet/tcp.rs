//! Segments of TCP, with the options of MPTCP.

use super::{Data, GapBlock, Overhead, SegmentEcn};

/// A TCP segment with its mapping into the stream (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// What it carries of the stream.
    pub data: Data,
    /// Its number on the subflow, counted from 0 and never wrapping. A retransmission on the subflow keeps it.
    pub number: u64,
    /// Where it begins in the stream, in bytes (its data sequence number); 0 of what the peer has already acknowledged.
    pub offset: u64,
    /// TSval: the sender's clock in its ticks.
    pub timestamp: u32,
    /// TSecr: the timestamp of the newest packet that came back on the subflow.
    pub echo: u32,
    /// PSH: nothing follows it on the subflow for now.
    pub push: bool,
    /// What its sender acknowledges of the peer's stream, if that sends one.
    pub ack: Option<Ack>,
    /// What its headers say of congestion.
    pub ecn: SegmentEcn,
}

/// Selective blocks that a TCP acknowledgement has room for (RFC 2018), at most.
pub const MAX_ACK_BLOCKS: usize = 3;

/// A TCP acknowledgement with MPTCP's data acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The first segment of the subflow that has not arrived.
    pub cumulative: u64,
    /// The first segment of the stream that has not arrived (data ACK).
    pub data: u64,
    /// The offset of the stream, in bytes, up to which the receiver has room.
    pub window_end: u64,
    /// The window field: how far that is beyond the data ACK, in bytes.
    pub window: u64,
    /// TSval: the receiver's clock in its ticks.
    pub timestamp: u32,
    /// TSecr: the timestamp of the segment that this acknowledges (RFC 7323 §4.3).
    pub echo: u32,
    /// The number of a segment that arrived again (D-SACK, RFC 2883).
    pub duplicate: Option<u64>,
    /// It has none of MPTCP's options: its sender speaks TCP.
    pub plain: bool,
    /// ECE: marked packets arrived, and the sender has not said that it reduced its window since.
    pub congested: bool,
    block_count: u8,
    blocks: [GapBlock; MAX_ACK_BLOCKS],
}

impl Ack {
    /// An acknowledgement without selective blocks, which leaves no window.
    pub fn new(cumulative: u64, data: u64, timestamp: u32, echo: u32) -> Self {
        let blocks = [GapBlock::default(); MAX_ACK_BLOCKS];
        let (window_end, window) = (0, 0);
        Self {
            cumulative,
            data,
            window_end,
            window,
            timestamp,
            echo,
            duplicate: None,
            plain: false,
            congested: false,
            block_count: 0,
            blocks,
        }
    }

    /// With room for `window` bytes from `offset` of the stream on, which is that of the data ACK.
    #[must_use]
    pub fn with_window(self, offset: u64, window: u64) -> Self {
        Self { window_end: offset.saturating_add(window), window, ..self }
    }

    /// Runs of segments of the subflow that arrived beyond a gap, the newest first.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let number = |offset: u32| self.cumulative + u64::from(offset);
        self.blocks[..usize::from(self.block_count)].iter().map(move |b| (number(b.first), number(b.last)))
    }

    /// Blocks on the wire, with that of a duplicate.
    pub(super) fn reported_blocks(&self) -> u32 {
        u32::from(self.block_count) + u32::from(self.duplicate.is_some())
    }

    /// Adds a block; false if there is no room.
    pub fn push_block(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.block_count)) else { return false };
        let offset = |number: u64| u32::try_from(number - self.cumulative).unwrap_or(u32::MAX);
        *place = GapBlock { first: offset(first), last: offset(last) };
        self.block_count += 1;
        true
    }
}

impl Overhead {
    /// TCP over IPv4 with timestamps: 20 + 20 + 12; the SACK option has 2 bytes of its own and 2 of padding.
    pub const TCP: Self = Self {
        packet: 52,
        data: 0,
        acknowledgement: 0,
        first_block: 4,
        block: 8,
        control: 8,
        confirmation: 0,
    };

    /// MPTCP likewise: DSS with 32-bit numbers and checksum 20, with a data ACK alone 8, MP_CAPABLE or MP_JOIN 12 beside
    /// the SYN's own options.
    pub const MPTCP: Self = Self {
        packet: 52,
        data: 20,
        acknowledgement: 8,
        first_block: 4,
        block: 8,
        control: 20,
        confirmation: 20,
    };

    /// As Linux sends it: numbers of 64 bits and no checksum.
    pub const LINUX_MPTCP: Self = Self {
        packet: 52,
        data: 24,
        acknowledgement: 12,
        first_block: 4,
        block: 8,
        control: 20,
        confirmation: 20,
    };
}
