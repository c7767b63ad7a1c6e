//! TCP's packets, with the options of MPTCP.

use super::{Data, GapBlock, Overhead, SegmentEcn};

/// A packet of TCP or MPTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// A segment of a subflow.
    Segment(TcpSegment),
    /// An acknowledgement without data.
    Ack(Ack),
    /// Opens a subflow (SYN with MP_CAPABLE or MP_JOIN).
    Syn {
        /// TSval.
        timestamp: u32,
    },
    /// Accepts a subflow (SYN/ACK).
    SynAck {
        /// TSval.
        timestamp: u32,
        /// TSecr.
        echo: u32,
        /// The receiver's window in bytes.
        window: u64,
    },
    /// Answers a SYN/ACK. Ends the handshake of the first subflow, or authenticates a join; the
    /// peer acknowledges a join.
    Confirm {
        /// TSval.
        timestamp: u32,
    },
}

impl Packet {
    /// Returns the data of the stream in the packet.
    #[inline]
    pub const fn data(&self) -> Option<Data> {
        match self {
            Self::Segment(segment) => Some(segment.data),
            Self::Ack(_) | Self::Syn { .. } | Self::SynAck { .. } | Self::Confirm { .. } => None,
        }
    }

    /// Returns the packet's bytes without the headers that every packet has.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn bytes_within(&self, overhead: &Overhead) -> u32 {
        match self {
            Self::Segment(TcpSegment { data, ack, .. }) => {
                overhead.data
                    + data.bytes
                    + ack.as_ref().map_or(0, |ack| overhead.of_blocks(ack.reported_blocks()))
            }
            Self::Ack(ack) => {
                overhead.acknowledgement * u32::from(!ack.plain) + overhead.of_blocks(ack.reported_blocks())
            }
            Self::Syn { .. } | Self::SynAck { .. } => overhead.control,
            Self::Confirm { .. } => overhead.confirmation,
        }
    }
}

/// A TCP segment with its mapping into the stream (RFC 8684 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpSegment {
    /// The data of the stream.
    pub data: Data,
    /// The segment's number on the subflow, counted from 0 and never wrapping. A retransmission on
    /// the subflow keeps it.
    pub number: u64,
    /// Offset of the data in the stream, in bytes (the data sequence number); 0 for data that the
    /// peer has already acknowledged.
    pub offset: u64,
    /// TSval: the sender's clock in its ticks.
    pub timestamp: u32,
    /// TSecr: the timestamp of the newest packet received on the subflow.
    pub echo: u32,
    /// PSH: no further data follows on the subflow for now.
    pub push: bool,
    /// Acknowledgement of the peer's stream, if the peer sends one.
    pub ack: Option<Ack>,
    /// ECN state of the headers.
    pub ecn: SegmentEcn,
}

/// Largest number of selective blocks in a TCP acknowledgement (RFC 2018).
pub const MAX_ACK_BLOCKS: usize = 3;

/// A TCP acknowledgement with MPTCP's data acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The first segment of the subflow that has not arrived.
    pub cumulative: u64,
    /// The first segment of the stream that has not arrived (data ACK).
    pub data: u64,
    /// The stream offset, in bytes, up to which the receiver has buffer space.
    pub window_end: u64,
    /// The window field: bytes from the data ACK to `window_end`.
    pub window: u64,
    /// TSval: the receiver's clock in its ticks.
    pub timestamp: u32,
    /// TSecr: the timestamp of the acknowledged segment (RFC 7323 §4.3).
    pub echo: u32,
    /// Number of a duplicate segment (D-SACK, RFC 2883).
    pub duplicate: Option<u64>,
    /// True without MPTCP options: the sender uses plain TCP.
    pub plain: bool,
    /// ECE: marked packets arrived, and the data's sender has not reported a reduced window since.
    pub congested: bool,
    block_count: u8,
    blocks: [GapBlock; MAX_ACK_BLOCKS],
}

impl Ack {
    /// Creates an acknowledgement without selective blocks and with a closed window.
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

    /// Sets a window of `window` bytes from stream offset `offset` on, the offset of the data ACK.
    #[must_use]
    pub fn with_window(self, offset: u64, window: u64) -> Self {
        Self { window_end: offset.saturating_add(window), window, ..self }
    }

    /// Returns the runs of the subflow's segments received beyond a gap, the newest first.
    pub fn blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let number = |offset: u32| self.cumulative + u64::from(offset);
        self.blocks[..usize::from(self.block_count)].iter().map(move |b| (number(b.first), number(b.last)))
    }

    /// True if the acknowledgement reports no selective block, duplicate or congestion.
    #[inline]
    pub const fn is_bare(&self) -> bool {
        self.block_count == 0 && self.duplicate.is_none() && !self.congested
    }

    /// Returns the number of blocks on the wire, including that of a duplicate.
    fn reported_blocks(&self) -> u32 {
        u32::from(self.block_count) + u32::from(self.duplicate.is_some())
    }

    /// Adds a block. Returns false without space for it.
    pub fn push_block(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.blocks.get_mut(usize::from(self.block_count)) else { return false };
        let offset = |number: u64| u32::try_from(number - self.cumulative).unwrap_or(u32::MAX);
        *place = GapBlock { first: offset(first), last: offset(last) };
        self.block_count += 1;
        true
    }
}

impl Overhead {
    /// TCP over IPv4 with timestamps: 20 + 20 + 12; the SACK option has 2 bytes of its own and 2 of
    /// padding.
    pub const TCP: Self = Self {
        packet: 52,
        data: 0,
        acknowledgement: 0,
        first_block: 4,
        block: 8,
        control: 8,
        confirmation: 0,
    };

    /// MPTCP over TCP with IPv4 and timestamps. DSS with 32-bit numbers and checksum takes 20, with
    /// only a data ACK 8; MP_CAPABLE or MP_JOIN takes 12, in addition to the SYN's own options.
    pub const MPTCP: Self = Self {
        packet: 52,
        data: 20,
        acknowledgement: 8,
        first_block: 4,
        block: 8,
        control: 20,
        confirmation: 20,
    };

    /// MPTCP as in Linux: numbers of 64 bits and no checksum.
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
