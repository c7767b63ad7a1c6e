//! QUIC's packets and frames.

use super::{Data, Overhead, SegmentEcn};
use plait_sched::{Duration, PathId, Time};

/// A QUIC packet with a short header, and its frames (RFC 9000 §17.3.1, §19).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneRtt {
    /// Its number on its path, which no other packet of that direction has.
    pub number: u64,
    /// STREAM: data.
    pub stream: Option<Stream>,
    /// PATH_ACK (draft-ietf-quic-multipath-21 §4.1).
    pub ack: Option<PathAck>,
    /// MAX_DATA: how far in the stream, in bytes, the peer may send.
    pub max_data: Option<u64>,
    /// DATA_BLOCKED: its sender has more, and this is the last limit of which it has heard.
    pub blocked: Option<u64>,
    /// PATH_CHALLENGE or PATH_RESPONSE.
    pub challenge: Option<Challenge>,
    /// PING: it only wants to be acknowledged.
    pub ping: bool,
    /// What its IP header says of congestion.
    pub ecn: SegmentEcn,
}

impl OneRtt {
    /// A packet without frames.
    pub const fn new(number: u64) -> Self {
        let ecn = SegmentEcn { capable: false, congested: false, reduced: false };
        let (max_data, blocked) = (None, None);
        Self { number, stream: None, ack: None, max_data, blocked, challenge: None, ping: false, ecn }
    }

    /// The data, if there is nothing else in it.
    #[inline]
    pub fn plain_stream(&self) -> Option<Stream> {
        let alone = self.ack.is_none()
            && (self.max_data.is_none() && self.blocked.is_none())
            && self.challenge.is_none()
            && !self.ping;
        self.stream.filter(|_| alone)
    }

    /// True if something in it wants to be acknowledged (RFC 9002 §2). MAX_DATA does not by itself here: it is
    /// repeated, and asked for by DATA_BLOCKED.
    pub const fn wants_acknowledgement(&self) -> bool {
        self.stream.is_some() || self.challenge.is_some() || self.blocked.is_some() || self.ping
    }
}

/// A STREAM frame of the connection's only stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stream {
    /// What it carries.
    pub data: Data,
    /// Where it begins in the stream, in bytes.
    pub offset: u64,
}

/// What validates a path (RFC 9000 §8.2); the data of the frame is the time at which the question left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Challenge {
    /// PATH_CHALLENGE.
    Asked(Time),
    /// PATH_RESPONSE, with the question's data.
    Answered(Time),
}

/// Ranges of numbers that a PATH_ACK reports, at most. An endpoint may report fewer than it knows (RFC 9000 §13.2.3).
pub const MAX_ACK_RANGES: usize = 8;

/// Packets of a path by their ECN codepoint, since its beginning (RFC 9000 §19.3.2). Nobody sends ECT(1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// ECT(0): nobody marked them.
    pub capable: u64,
    /// CE: somebody did.
    pub congested: u64,
}

/// An acknowledgement of one path's packet numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathAck {
    /// The path whose numbers these are.
    pub path: PathId,
    /// How long the one with the largest number had waited.
    pub delay: Duration,
    /// How many of the path's packets came with which mark; `None` if none came with any.
    pub marks: Option<EcnCounts>,
    count: u8,
    ranges: [(u64, u64); MAX_ACK_RANGES],
}

impl PathAck {
    /// An acknowledgement of nothing yet.
    pub const fn new(path: PathId, delay: Duration) -> Self {
        Self { path, delay, marks: None, count: 0, ranges: [(0, 0); MAX_ACK_RANGES] }
    }

    /// Ranges of numbers that arrived, from the first to the last of each, the highest range first.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges[..usize::from(self.count)]
    }

    /// The largest number that arrived.
    pub fn largest(&self) -> Option<u64> {
        self.ranges().first().map(|range| range.1)
    }

    /// Adds a range below those that are there; false if there is no room.
    pub fn push_range(&mut self, first: u64, last: u64) -> bool {
        let Some(place) = self.ranges.get_mut(usize::from(self.count)) else { return false };
        *place = (first, last);
        self.count += 1;
        true
    }
}

/// What ECN counts add to a PATH_ACK.
const ECN_COUNTS: u32 = 9;

impl Overhead {
    /// Multipath QUIC over UDP and IPv4: 28, a short header with a connection ID of 8 bytes and a number of 2, the tag of 16; STREAM with a
    /// length and an offset of 8 bytes 12; PATH_ACK with one range 14, each further one 4, ECN counts 9 (4, 1 and 4). Packets that begin a connection, and those
    /// that validate a path, fill a datagram of 1200 bytes (RFC 9000 §14.1, §8.2.1, §8.2.2).
    pub const MPQUIC: Self = Self {
        packet: 55,
        data: 12,
        acknowledgement: 14,
        first_block: 0,
        block: 4,
        control: 1228 - 55,
        confirmation: 0,
    };

    /// What the frames of a QUIC packet take; MAX_DATA, DATA_BLOCKED, PATH_CHALLENGE and PATH_RESPONSE
    /// have 8 bytes and a type.
    pub(super) fn frames(&self, packet: &OneRtt) -> u32 {
        let ack = |ack: PathAck| {
            let blocks = self.block * u32::from(ack.count).saturating_sub(1);
            self.acknowledgement + blocks + ECN_COUNTS * u32::from(ack.marks.is_some())
        };
        let frames = packet.stream.map_or(0, |stream| self.data + stream.data.bytes)
            + packet.ack.map_or(0, ack)
            + 9 * (u32::from(packet.max_data.is_some()) + u32::from(packet.blocked.is_some()))
            + u32::from(packet.ping);
        if packet.challenge.is_some() { (frames + 9).max(self.control) } else { frames }
    }
}
