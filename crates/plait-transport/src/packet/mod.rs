//! What goes over the wire, without payload bytes: the stream is described by segment numbers and lengths.

mod quic;
mod sctp;
mod tcp;

pub use quic::{Challenge, EcnCounts, MAX_ACK_RANGES, OneRtt, PathAck, Stream};
pub use sctp::{MAX_DUPLICATES, MAX_GAP_BLOCKS, Sack};
pub use tcp::{Ack, MAX_ACK_BLOCKS, TcpSegment};

use plait_sched::Time;

/// A packet, as handed to and taken from the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// One segment of the stream.
    Data(Data),
    /// One that holds several messages, and the bytes of the chunk headers of all but the first (RFC 9260 §6.10).
    Bundle(Data, u16),
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
    /// A segment of a TCP subflow.
    Segment(TcpSegment),
    /// A TCP acknowledgement.
    Ack(Ack),
    /// Opens a subflow (SYN with MP_CAPABLE or MP_JOIN).
    Syn {
        /// TSval.
        timestamp: u32,
    },
    /// Accepts it (SYN/ACK).
    SynAck {
        /// TSval.
        timestamp: u32,
        /// TSecr.
        echo: u32,
        /// The receiver's window in bytes.
        window: u64,
    },
    /// A QUIC packet with a short header.
    OneRtt(OneRtt),
    /// Begins a QUIC connection (RFC 9000 §17.2.2).
    Initial {
        /// When it was sent.
        sent_at: Time,
    },
    /// The answer, after which both ends may send data; with the time copied.
    InitialReply {
        /// When the question was sent.
        sent_at: Time,
    },
    /// Answers a SYN/ACK: ends the handshake of the first subflow, and authenticates a join, which is acknowledged.
    Confirm {
        /// TSval.
        timestamp: u32,
    },
}

impl Packet {
    /// Bytes of the stream that it carries.
    pub fn payload_bytes(&self) -> u32 {
        match self {
            Self::Data(data) | Self::Bundle(data, _) | Self::Segment(TcpSegment { data, .. }) => data.bytes,
            Self::OneRtt(OneRtt { stream: Some(stream), .. }) => stream.data.bytes,
            _ => 0,
        }
    }

    /// Whether it carries data of the stream.
    #[inline]
    pub const fn carries_data(&self) -> bool {
        match self {
            Self::Data(_) | Self::Bundle(..) | Self::Segment(_) => true,
            Self::OneRtt(packet) => packet.stream.is_some(),
            _ => false,
        }
    }

    /// What its headers say of congestion, if they can say anything.
    #[inline]
    pub fn ecn(&self) -> Option<SegmentEcn> {
        match self {
            Self::Segment(segment) => Some(segment.ecn),
            Self::OneRtt(packet) => Some(packet.ecn),
            _ => None,
        }
    }

    /// Likewise, to be marked on the way.
    #[inline]
    pub fn ecn_mut(&mut self) -> Option<&mut SegmentEcn> {
        match self {
            Self::Segment(segment) => Some(&mut segment.ecn),
            Self::OneRtt(packet) => Some(&mut packet.ecn),
            _ => None,
        }
    }
}

/// What the headers of a packet say of congestion (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentEcn {
    /// ECT(0): who met congestion may mark it.
    pub capable: bool,
    /// CE: somebody did.
    pub congested: bool,
    /// CWR: its sender has reduced its window. Of TCP.
    pub reduced: bool,
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

/// Bytes of headers around payload; what a packet occupies on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Network and transport headers of every packet.
    pub packet: u32,
    /// What comes with data on top: SCTP's DATA chunk header, which is counted in windows; MPTCP's DSS option.
    pub data: u32,
    /// What comes with an acknowledgement: SCTP's SACK chunk without blocks; MPTCP's data ACK.
    pub acknowledgement: u32,
    /// What the first selective block takes on top of each one's own bytes.
    pub first_block: u32,
    /// A selective block.
    pub block: u32,
    /// What comes with packets that open a path or probe it.
    pub control: u32,
    /// What comes with the one that ends the first handshake: MPTCP's keys.
    pub confirmation: u32,
}

impl Overhead {
    /// Headers of a packet with data.
    pub const fn of_data(&self) -> u32 {
        self.packet + self.data
    }

    /// The size of `packet` on the wire, in bytes.
    #[inline]
    pub fn wire_bytes(&self, packet: &Packet) -> u32 {
        let blocks = |count: u32| if count == 0 { 0 } else { self.first_block + count * self.block };
        self.packet
            + match packet {
                Packet::Data(data) => self.data + data.bytes,
                Packet::Bundle(data, headers) => self.data + data.bytes + u32::from(*headers),
                Packet::Segment(TcpSegment { data, ack, .. }) => {
                    self.data + data.bytes + ack.map_or(0, |ack| blocks(ack.reported_blocks()))
                }
                Packet::Sack(sack) => {
                    self.acknowledgement
                        + blocks(u32::from(sack.gap_blocks) + u32::from(sack.duplicate_count))
                }
                Packet::Ack(ack) => {
                    self.acknowledgement * u32::from(!ack.plain) + blocks(ack.reported_blocks())
                }
                Packet::Heartbeat { .. }
                | Packet::HeartbeatAck { .. }
                | Packet::Syn { .. }
                | Packet::SynAck { .. }
                | Packet::Initial { .. }
                | Packet::InitialReply { .. } => self.control,
                Packet::Confirm { .. } => self.confirmation,
                Packet::OneRtt(packet) => self.frames(packet),
            }
    }
}
