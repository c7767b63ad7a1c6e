//! Packets without payload bytes: segment numbers and lengths describe the stream.

mod quic;
mod sctp;
mod tcp;

pub use quic::{Challenge, EcnCounts, MAX_ACK_RANGES, OneRtt, PathAck, PathBackup, Stream};
pub use sctp::{MAX_DUPLICATES, MAX_GAP_BLOCKS, Sack};
pub use tcp::{Ack, MAX_ACK_BLOCKS, TcpSegment};

use plait_sched::Time;

/// A packet, as exchanged with the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packet {
    /// One segment of the stream.
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
    /// A segment of a TCP subflow.
    Segment(TcpSegment),
    /// A TCP acknowledgement.
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
    /// A QUIC packet with a short header.
    OneRtt(OneRtt),
    /// Begins a QUIC connection (RFC 9000 §17.2.2).
    Initial {
        /// Transmission time.
        sent_at: Time,
    },
    /// Answers an Initial, with its time copied. Afterwards both ends may send data.
    InitialReply {
        /// Transmission time of the Initial.
        sent_at: Time,
    },
    /// Answers a SYN/ACK. Ends the handshake of the first subflow, or authenticates a join; the
    /// peer acknowledges a join.
    Confirm {
        /// TSval.
        timestamp: u32,
    },
}

impl Packet {
    /// Returns the bytes of the stream in the packet.
    pub fn payload_bytes(&self) -> u32 {
        match self {
            Self::Data(data) | Self::Bundle(data, _) | Self::Segment(TcpSegment { data, .. }) => data.bytes,
            Self::OneRtt(OneRtt { stream: Some(stream), .. }) => stream.data.bytes,
            _ => 0,
        }
    }

    /// Whether the packet carries data of the stream.
    #[inline]
    pub const fn carries_data(&self) -> bool {
        match self {
            Self::Data(_) | Self::Bundle(..) | Self::Segment(_) => true,
            Self::OneRtt(packet) => packet.stream.is_some(),
            _ => false,
        }
    }

    /// Returns the ECN state of the packet's headers, for packets that have one.
    #[inline]
    pub fn ecn(&self) -> Option<SegmentEcn> {
        match self {
            Self::Segment(segment) => Some(segment.ecn),
            Self::OneRtt(packet) => Some(packet.ecn),
            _ => None,
        }
    }

    /// Returns mutable access to the ECN state, for marking on the way.
    #[inline]
    pub fn ecn_mut(&mut self) -> Option<&mut SegmentEcn> {
        match self {
            Self::Segment(segment) => Some(&mut segment.ecn),
            Self::OneRtt(packet) => Some(&mut packet.ecn),
            _ => None,
        }
    }
}

/// ECN state in the headers of a packet (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentEcn {
    /// ECT(0): a congested router may mark the packet.
    pub capable: bool,
    /// CE: a router has marked the packet.
    pub congested: bool,
    /// CWR: the sender has reduced its window. TCP only.
    pub reduced: bool,
}

/// A DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The segment's number in the stream: the TSN, counted from 0 and never wrapping.
    pub segment: u64,
    /// Payload bytes.
    pub bytes: u32,
}

/// A run of received segments above the cumulative acknowledgement, as offsets from
/// [`Sack::cumulative`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapBlock {
    /// Offset of the first received segment.
    pub first: u32,
    /// Offset of the last received segment.
    pub last: u32,
}

/// Bytes of headers around payload, which determine a packet's size on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overhead {
    /// Network and transport headers of every packet.
    pub packet: u32,
    /// Additional bytes of a packet with data: SCTP's DATA chunk header, which counts in windows;
    /// MPTCP's DSS option.
    pub data: u32,
    /// Additional bytes of an acknowledgement: SCTP's SACK chunk without blocks; MPTCP's data ACK.
    pub acknowledgement: u32,
    /// Additional bytes of the first selective block.
    pub first_block: u32,
    /// Bytes of each selective block.
    pub block: u32,
    /// Additional bytes of packets that open or probe a path.
    pub control: u32,
    /// Additional bytes of the packet that ends the first handshake: MPTCP's keys.
    pub confirmation: u32,
}

impl Overhead {
    /// Returns the header bytes of a packet with data.
    pub const fn of_data(&self) -> u32 {
        self.packet + self.data
    }

    /// Returns the size of `packet` on the wire, in bytes.
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
