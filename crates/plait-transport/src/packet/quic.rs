//! QUIC's packets and frames.

use super::{Data, Overhead, SegmentEcn};
use plait_sched::{Duration, PathId, Time};

/// A packet of QUIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be an allocation per packet")]
pub enum Packet {
    /// A packet with a short header.
    OneRtt(OneRtt),
    /// Begins a connection (RFC 9000 §17.2.2).
    Initial {
        /// Transmission time.
        sent_at: Time,
    },
    /// Answers an Initial, with its time copied. Afterwards both ends may send data.
    InitialReply {
        /// Transmission time of the Initial.
        sent_at: Time,
    },
}

impl Packet {
    /// Returns the data of the stream in the packet.
    #[inline]
    pub const fn data(&self) -> Option<Data> {
        match self {
            Self::OneRtt(OneRtt { stream: Some(stream), .. }) => Some(stream.data),
            Self::OneRtt(_) | Self::Initial { .. } | Self::InitialReply { .. } => None,
        }
    }

    /// Returns the packet's bytes without the headers that every packet has.
    #[inline]
    pub(super) fn bytes_within(&self, overhead: &Overhead) -> u32 {
        match self {
            Self::OneRtt(packet) => overhead.frames(packet),
            Self::Initial { .. } | Self::InitialReply { .. } => overhead.control,
        }
    }
}

/// A QUIC packet with a short header, and its frames (RFC 9000 §17.3.1, §19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneRtt {
    /// Packet number, unique on its path and direction.
    pub number: u64,
    /// STREAM: data of the stream.
    pub stream: Option<Stream>,
    /// PATH_ACK (draft-ietf-quic-multipath-21 §4.1).
    pub ack: Option<PathAck>,
    /// MAX_DATA: limit up to which the peer may send, as a stream offset in bytes.
    pub max_data: Option<u64>,
    /// DATA_BLOCKED: the last limit known to the sender, which has more data.
    pub blocked: Option<u64>,
    /// PATH_CHALLENGE or PATH_RESPONSE.
    pub challenge: Option<Challenge>,
    /// PATH_STATUS_BACKUP: the sender cannot use this path now.
    pub backup: Option<PathBackup>,
    /// PING: requests an acknowledgement.
    pub ping: bool,
    /// ECN state of the IP header.
    pub ecn: SegmentEcn,
}

impl OneRtt {
    /// Creates a packet without frames.
    pub const fn new(number: u64) -> Self {
        let ecn = SegmentEcn { capable: false, congested: false, reduced: false };
        Self {
            number,
            stream: None,
            ack: None,
            max_data: None,
            blocked: None,
            challenge: None,
            backup: None,
            ping: false,
            ecn,
        }
    }

    /// Returns the data if the packet contains nothing else.
    #[inline]
    pub fn plain_stream(&self) -> Option<Stream> {
        let alone = self.ack.is_none()
            && (self.max_data.is_none() && self.blocked.is_none())
            && (self.challenge.is_none() && self.backup.is_none())
            && !self.ping;
        self.stream.filter(|_| alone)
    }

    /// True if the packet is ack-eliciting (RFC 9002 §2). A MAX_DATA frame alone is not
    /// ack-eliciting here: it is repeated, and DATA_BLOCKED requests it.
    pub const fn wants_acknowledgement(&self) -> bool {
        self.stream.is_some()
            || self.challenge.is_some()
            || self.blocked.is_some()
            || self.backup.is_some()
            || self.ping
    }
}

/// A PATH_STATUS_BACKUP frame (draft-ietf-quic-multipath-21, "Path Status Management").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathBackup {
    /// The path that the sender cannot use now.
    pub path: PathId,
    /// Number of the status, per path. Frames with smaller numbers are out of date.
    pub sequence: u32,
}

/// A STREAM frame of the connection's only stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// The data.
    pub data: Data,
    /// Offset of the data in the stream, in bytes.
    pub offset: u64,
}

/// Path validation (RFC 9000 §8.2). The data of the frame is the transmission time of the
/// challenge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Challenge {
    /// PATH_CHALLENGE.
    Asked(Time),
    /// PATH_RESPONSE, with the data of the challenge.
    Answered(Time),
}

/// Largest number of ranges in a PATH_ACK. An endpoint may report fewer ranges than it knows (RFC
/// 9000 §13.2.3).
pub const MAX_ACK_RANGES: usize = 8;

/// Numbers of a path's packets by ECN codepoint, since its start (RFC 9000 §19.3.2). ECT(1) is
/// never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// Packets with ECT(0), which no router marked.
    pub capable: u64,
    /// Packets with CE, which a router marked.
    pub congested: u64,
}

/// An acknowledgement of one path's packet numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathAck {
    /// The path of the packet numbers.
    pub path: PathId,
    /// Delay of the acknowledgement for the packet with the largest number.
    pub delay: Duration,
    /// Number of the path's packets with each mark; `None` if no packet had a mark.
    pub marks: Option<EcnCounts>,
    count: u8,
    ranges: [(u64, u64); MAX_ACK_RANGES],
}

impl PathAck {
    /// Creates an acknowledgement without ranges.
    pub const fn new(path: PathId, delay: Duration) -> Self {
        Self { path, delay, marks: None, count: 0, ranges: [(0, 0); MAX_ACK_RANGES] }
    }

    /// Returns the received ranges, from the first to the last number of each, the highest range
    /// first.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges[..usize::from(self.count)]
    }

    /// Returns the largest received number.
    pub fn largest(&self) -> Option<u64> {
        self.ranges().first().map(|range| range.1)
    }

    /// Adds a range below the existing ones. Returns false without space for it.
    pub fn push_range(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.ranges.get_mut(usize::from(self.count)) else { return false };
        *place = (first, last);
        self.count += 1;
        true
    }
}

/// Bytes of ECN counts in a PATH_ACK.
const ECN_COUNTS: u32 = 9;

/// Bytes of a PATH_STATUS_BACKUP frame: type (2), path and sequence number.
const PATH_STATUS: u32 = 4;

impl Overhead {
    /// Multipath QUIC over UDP and IPv4. A packet has 28 bytes of IPv4 and UDP, a short header with
    /// a connection ID of 8 bytes and a number of 2, and a tag of 16. STREAM with a length and an
    /// offset of 8 bytes takes 12. PATH_ACK with one range takes 14, each further range 4, ECN
    /// counts 9 (4, 1 and 4). Packets that open a connection or validate a path fill a datagram of
    /// 1200 bytes (RFC 9000 §14.1, §8.2.1, §8.2.2).
    pub const MPQUIC: Self = Self {
        packet: 55,
        data: 12,
        acknowledgement: 14,
        first_block: 0,
        block: 4,
        control: 1228 - 55,
        confirmation: 0,
    };

    /// Returns the bytes of a packet's frames. MAX_DATA, DATA_BLOCKED, PATH_CHALLENGE and
    /// PATH_RESPONSE have 8 bytes and a type.
    fn frames(&self, packet: &OneRtt) -> u32 {
        let ack = |ack: PathAck| {
            let blocks = self.block * u32::from(ack.count).saturating_sub(1);
            self.acknowledgement + blocks + ECN_COUNTS * u32::from(ack.marks.is_some())
        };
        let frames = packet.stream.map_or(0, |stream| self.data + stream.data.bytes)
            + packet.ack.map_or(0, ack)
            + 9 * (u32::from(packet.max_data.is_some()) + u32::from(packet.blocked.is_some()))
            + PATH_STATUS * u32::from(packet.backup.is_some())
            + u32::from(packet.ping);
        if packet.challenge.is_some() { (frames + 9).max(self.control) } else { frames }
    }
}
