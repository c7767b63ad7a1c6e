//! What goes over the wire, without payload bytes: the stream is described by segment numbers and lengths.

use plait_sched::{Duration, PathId, Time};

/// Gap blocks that a [`Sack`] carries in memory; see [`Sack::blocks`].
pub const MAX_GAP_BLOCKS: usize = 32;

/// Duplicate numbers that a [`Sack`] lists.
pub const MAX_DUPLICATES: usize = 2;

/// A packet, as handed to and taken from the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    /// Whether it carries data of the stream.
    #[inline]
    pub const fn carries_data(&self) -> bool {
        match self {
            Self::Data(_) | Self::Segment(_) => true,
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
    fn reported_blocks(&self) -> u32 {
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
#[derive(Clone, Copy, Debug)]
pub struct Sack {
    /// The first segment that has not arrived: everything below has (cumulative TSN + 1).
    pub cumulative: u64,
    /// The advertised receiver window in bytes.
    pub window: u64,
    /// How many gap blocks the chunk reports on the wire.
    pub gap_blocks: u16,
    /// Data packets that arrived since the last acknowledgement, as far as two bits can tell: [`Sack::MAX_PACKETS`] at most (delayed
    /// acknowledgement for CMT).
    pub packets: u8,
    /// The blocks in memory report the changes of runs from this one in the receiver's count; from 0 if they report all runs.
    pub changes_from: u64,
    /// They report the changes before this one: so many there had been when the acknowledgement left.
    pub changes_end: u64,
    blocks: [GapBlock; MAX_GAP_BLOCKS],
    block_count: u8,
    duplicates: [u64; MAX_DUPLICATES],
    duplicate_count: u8,
}

/// What is reported counts, not what was reported before in the same place.
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
    /// As many packets as an acknowledgement can say that it answers (Iyengar et al. 2006, section 5).
    pub const MAX_PACKETS: u8 = 3;

    /// An acknowledgement without gap blocks and duplicates.
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

    /// Becomes as `other`; what neither reports is not copied.
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

    /// Begins anew, without gap blocks and duplicates.
    pub fn restart(&mut self, cumulative: u64, window: u64, packets: u8) {
        (self.cumulative, self.window, self.packets) = (cumulative, window, packets);
        (self.gap_blocks, self.changes_from, self.changes_end) = (0, 0, 0);
        (self.block_count, self.duplicate_count) = (0, 0);
    }

    /// The gap blocks that can be news to the sender. On the wire a SACK reports all of them; in memory it carries those
    /// that changed since the last acknowledgements on its path, newest first, and one older block in turn, so that
    /// handling one costs the same in every window. Each change is repeated in the following acknowledgements, as
    /// RFC 2018 does for TCP.
    pub fn blocks(&self) -> &[GapBlock] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// True if `segment` is reported as arrived, by the cumulative number or by a block in memory.
    pub fn covers(&self, segment: u64) -> bool {
        let Some(offset) = segment.checked_sub(self.cumulative) else { return true };
        self.blocks().iter().any(|block| u64::from(block.first) <= offset && offset <= u64::from(block.last))
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

/// What ECN counts add to a PATH_ACK.
const ECN_COUNTS: u32 = 9;

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

    /// Multipath QUIC over UDP and IPv4: 28, a short header with a connection ID of 8 bytes and a number of 2, the tag of 16; STREAM with a
    /// length and an offset of 8 bytes 12; PATH_ACK with one range 14, each further one 4, ECN counts 9 (4, 1 and 4). Packets that begin a connection fill a
    /// datagram of 1200 bytes (RFC 9000 §14.1).
    pub const MPQUIC: Self = Self {
        packet: 55,
        data: 12,
        acknowledgement: 14,
        first_block: 0,
        block: 4,
        control: 1228 - 55,
        confirmation: 0,
    };

    /// Headers of a packet with data.
    pub const fn of_data(&self) -> u32 {
        self.packet + self.data
    }

    /// What the frames of a QUIC packet take; MAX_DATA, DATA_BLOCKED, PATH_CHALLENGE and PATH_RESPONSE
    /// have 8 bytes and a type.
    fn frames(&self, packet: &OneRtt) -> u32 {
        let ack = |ack: PathAck| {
            let blocks = self.block * u32::from(ack.count).saturating_sub(1);
            self.acknowledgement + blocks + ECN_COUNTS * u32::from(ack.marks.is_some())
        };
        packet.stream.map_or(0, |stream| self.data + stream.data.bytes)
            + packet.ack.map_or(0, ack)
            + 9 * (u32::from(packet.max_data.is_some()) + u32::from(packet.blocked.is_some()))
            + 9 * u32::from(packet.challenge.is_some())
            + u32::from(packet.ping)
    }

    /// The size of `packet` on the wire, in bytes.
    pub fn wire_bytes(&self, packet: &Packet) -> u32 {
        let blocks = |count: u32| if count == 0 { 0 } else { self.first_block + count * self.block };
        self.packet
            + match packet {
                Packet::Data(data) => self.data + data.bytes,
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
