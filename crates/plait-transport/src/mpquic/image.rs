//! Encodes and decodes an endpoint's packets: QUIC packets without protection (`wire::quic`).
//!
//! A connection ID identifies the end and the path, as in the multipath extension: it is the sum of
//! the end's number and the path's. Packet numbers are truncated and recovered per path (RFC 9000
//! §17.1). Stream 0 carries the data of both directions. The contents of the handshake are not
//! modelled. An Initial packet of the client has its transmission time in place of the random
//! number of a ClientHello, and the server's answer returns this time.

use crate::boundaries::{Arriving, Boundaries};
use crate::packet::quic::{Challenge, EcnCounts, OneRtt, Packet, PathAck, PathBackup, Stream};
use crate::packet::{Data, SegmentEcn};
use crate::sink::Transmit;
use crate::wire::DecodeError;
use crate::wire::number::Truncated;
use crate::wire::quic::{self, Ack, AckRange, AckRanges, ConnectionId, Frame, Header, PathFrame, VarInt};
use plait_sched::{Duration, PathId, Time};

/// Bytes of a connection ID.
const ID_BYTES: usize = 8;

/// Smallest length of a packet number in bytes. It limits the reordering of packets before a number
/// becomes ambiguous.
const LEAST_NUMBER_BYTES: u8 = 2;

/// Bytes of a datagram with an Initial packet (RFC 9000 §14.1).
const INITIAL_BYTES: usize = 1200;

/// TLS' ClientHello and ServerHello (RFC 8446 §4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Stream for abandoned segments. The data of its frames is the segment's size in bytes.
const OVER: u32 = 1;

/// Smallest offset of the frames in a packet of the short form.
const FRAMES_AT: usize = 1 + ID_BYTES + 1;

/// Packet numbers of one path.
#[derive(Clone, Copy, Debug, Default)]
struct PacketNumbers {
    /// Largest of our numbers that the peer has acknowledged.
    acknowledged: Option<u64>,
    /// Largest number read from the peer.
    largest: Option<u64>,
}

/// One end's codec: encodes the packets of this end, and decodes those of its peer.
#[derive(Clone, Debug)]
pub struct Image {
    /// Connection IDs of path 0: this end's, and the peer's.
    own: u64,
    peer: u64,
    /// The peer's first limit (initial_max_data).
    window: u64,
    paths: Vec<PacketNumbers>,
    /// Number of Initial packets sent.
    initials: u64,
    sent: Boundaries,
    numbered: bool,
    /// True if the starts of our segments are not recorded.
    untold: bool,
}

impl Image {
    /// The `ack_delay_exponent`: delays are in microseconds.
    pub const ACK_DELAY_EXPONENT: u32 = 0;

    /// Largest number of bytes for an acknowledgement's ranges after the first: seven ranges whose
    /// lengths and gaps are below 16,384 packets.
    pub const FURTHER_RANGES: usize = 7 * 4;

    /// Creates the image of an end with connection IDs from `own` on. The peer has IDs from `peer`
    /// on, and `window` is its first limit.
    pub fn new(own: u64, peer: u64, window: u64, paths: usize) -> Self {
        let sent = Boundaries::default();
        Self {
            own,
            peer,
            window,
            paths: vec![PacketNumbers::default(); paths],
            initials: 0,
            sent,
            numbered: false,
            untold: false,
        }
    }

    /// Adds a path.
    pub fn add_path(&mut self) {
        self.paths.push(PacketNumbers::default());
    }

    /// Puts segment numbers into STREAM frames, in place of QUIC's byte offsets. Segments may then
    /// have any length, and a peer that sees only packets decodes them with
    /// [`Boundaries::numbered`]. A segment without payload is abandoned: the peer counts it as
    /// arrived, and gets no bytes. Both ends must use this form; other implementations do not
    /// understand it.
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { numbered: true, ..self }
    }

    /// Returns the starts of the segments that this end has sent.
    pub const fn boundaries(&self) -> &Boundaries {
        &self.sent
    }

    /// Records no starts of sent segments, because the peer decodes them with
    /// [`Boundaries::uniform`]: [`Image::boundaries`] stays empty.
    #[must_use]
    pub fn untold(self) -> Self {
        Self { untold: true, ..self }
    }

    /// Appends a packet that leaves this end. `payload`: the bytes of its segment, if it carries
    /// one.
    pub fn encode(&mut self, transmit: &Transmit<'_, &Packet>, payload: &[u8], out: &mut Vec<u8>) {
        match transmit.packet {
            Packet::OneRtt(packet) => self.encode_one_rtt(transmit.path, packet, payload, out),
            Packet::Initial { sent_at } => self.encode_initial(transmit.path, CLIENT_HELLO, *sent_at, out),
            Packet::InitialReply { sent_at } => {
                self.encode_initial(transmit.path, SERVER_HELLO, *sent_at, out);
            }
        }
    }

    fn encode_one_rtt(&mut self, path: PathId, packet: &OneRtt, payload: &[u8], out: &mut Vec<u8>) {
        let mut frames: Vec<Frame<'_>> = Vec::with_capacity(4);
        if let Some(ack) = packet.ack.as_ref().and_then(path_ack) {
            frames.push(Frame::Path(ack));
        }
        frames.extend(packet.max_data.map(|limit| Frame::MaxData(integer(limit))));
        frames.extend(packet.blocked.map(|limit| Frame::DataBlocked(integer(limit))));
        frames.extend(packet.challenge.map(|challenge| match challenge {
            Challenge::Asked(time) => Frame::PathChallenge(time.as_nanos().to_be_bytes()),
            Challenge::Answered(time) => Frame::PathResponse(time.as_nanos().to_be_bytes()),
        }));
        frames.extend(packet.backup.map(|PathBackup { path, sequence }| {
            Frame::Path(PathFrame::Status { path: path.0.into(), sequence: sequence.into(), backup: true })
        }));
        if packet.ping {
            // At least four bytes together with the packet number (RFC 9001 §5.4.2).
            frames.extend([Frame::Ping, Frame::Padding(1)]);
        }
        let size = packet.stream.map_or(0, |stream| stream.data.bytes).to_be_bytes();
        if let Some(Stream { data, offset }) = packet.stream {
            let is_over = self.numbered && payload.is_empty() && data.bytes > 0;
            debug_assert!(is_over || payload.len() == data.bytes as usize, "the payload is the segment's");
            let place = if self.numbered {
                data.segment
            } else {
                if !self.untold {
                    self.sent.stream.note(data.segment, offset, data.bytes);
                }
                offset
            };
            let (id, data) = if is_over { (OVER.into(), &size[..]) } else { (VarInt::ZERO, payload) };
            let offset = integer(place);
            frames.push(Frame::Stream(quic::Stream { id, offset, data, fin: false, to_end: false }));
        }
        let acknowledged = self.paths.get(path.index()).and_then(|numbers| numbers.acknowledged);
        let number = truncated(packet.number, acknowledged);
        let destination = connection_id(self.peer, path);
        let header = Header::Short(quic::Short { spin: false, key_phase: false, destination, number });
        // Packets inside the datagrams of another connection leave on paths that this connection
        // has validated.
        if packet.challenge.is_some() && !self.numbered {
            // RFC 9000 §8.2.1, §8.2.2
            let mut bare = Vec::new();
            header.encode(&frames, &mut bare);
            let padding = INITIAL_BYTES.saturating_sub(bare.len());
            frames.extend((padding > 0).then_some(Frame::Padding(padding)));
        }
        header.encode(&frames, out);
    }

    fn encode_initial(&mut self, path: PathId, message: u8, sent_at: Time, out: &mut Vec<u8>) {
        let hello = [&[message, 0, 0, 8][..], &sent_at.as_nanos().to_be_bytes()].concat();
        let header = Header::Long(quic::Long {
            kind: quic::LongKind::Initial { token: &[] },
            destination: connection_id(self.peer, path),
            source: connection_id(self.own, path),
            number: truncated(self.initials, None),
        });
        self.initials += 1;
        let crypto = Frame::Crypto { offset: VarInt::ZERO, data: &hello };
        let mut short = Vec::new();
        header.encode(std::slice::from_ref(&crypto), &mut short);
        let padding = INITIAL_BYTES.saturating_sub(short.len()).max(1);
        header.encode(&[crypto, Frame::Padding(padding)], out);
    }

    /// Decodes a packet of the peer, and passes it on with its payload.
    ///
    /// # Errors
    /// If the packet is of another connection, malformed, has more than an endpoint accepts in one
    /// packet, or has data that does not begin at a segment of the peer.
    pub fn decode(
        &mut self,
        arriving: &Arriving<'_>,
        peer: &Boundaries,
        mut take: impl FnMut(Packet, &[u8]),
    ) -> Result<(), DecodeError> {
        let &Arriving { path, ecn, bytes } = arriving;
        let (packet, _) = quic::Packet::decode(bytes, ID_BYTES)?;
        let own = connection_id(self.own, path);
        let foreign = |id: ConnectionId, at: usize| {
            let value = id.as_bytes().iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
            DecodeError::Value { field: "destination connection ID", at, value }
        };
        let short = match packet.header {
            Header::Long(long) if long.destination != own => return Err(foreign(long.destination, 6)),
            Header::Long(_) => return read_hello(packet.frames, |packet| take(packet, &[])),
            Header::Short(short) => short,
        };
        let Some(numbers) = self.paths.get(path.index()).filter(|_| short.destination == own) else {
            return Err(foreign(short.destination, 1));
        };
        let mut read = OneRtt::new(short.number.expand(numbers.largest));
        // The mark comes from IP. QUIC does not signal a reduced window.
        read.ecn = SegmentEcn { reduced: false, ..ecn };
        let mut payload: &[u8] = &[];
        for frame in packet.frames {
            match frame? {
                Frame::Path(PathFrame::Ack { path, ack }) => {
                    once(&mut read.ack, self.read_ack(path, &ack)?, "PATH_ACK")?;
                }
                Frame::Ack(ack) => once(&mut read.ack, self.read_ack(0, &ack)?, "ACK")?,
                Frame::MaxData(limit) => once(&mut read.max_data, limit.get(), "MAX_DATA")?,
                Frame::DataBlocked(limit) => once(&mut read.blocked, limit.get(), "DATA_BLOCKED")?,
                Frame::PathChallenge(data) => {
                    once(&mut read.challenge, Challenge::Asked(time(data)), "PATH_CHALLENGE")?;
                }
                Frame::PathResponse(data) => {
                    once(&mut read.challenge, Challenge::Answered(time(data)), "PATH_RESPONSE")?;
                }
                Frame::Path(PathFrame::Status { path, sequence, backup: true }) => {
                    let Ok(path) = u8::try_from(path) else { continue };
                    let sequence = u32::try_from(sequence.get()).unwrap_or(u32::MAX);
                    let backup = PathBackup { path: PathId(path), sequence };
                    once(&mut read.backup, backup, "PATH_STATUS_BACKUP")?;
                }
                Frame::Ping => read.ping = true,
                Frame::Stream(stream) => {
                    let over = bytes_over(&stream).filter(|_| self.numbered);
                    let (id, data) = over.map_or((stream.id, stream.data), |_| (VarInt::ZERO, &[]));
                    let mut found = segment(&quic::Stream { id, data, ..stream }, peer)?;
                    found.data.bytes = over.unwrap_or(found.data.bytes);
                    once(&mut read.stream, found, "STREAM")?;
                    payload = data;
                }
                // The other frames of RFC 9000 §19 and of the multipath extension. They are about
                // the handshake, other streams, connection IDs and the end of a connection, which
                // are not modelled. A frame of an unknown type is an error (RFC 9000 §12.4).
                _ => {}
            }
        }
        let numbers = &mut self.paths[path.index()];
        numbers.largest = numbers.largest.max(Some(read.number));
        if let Some(limit) = read.max_data {
            // The limit is a window beyond the delivered data.
            self.sent.stream.settle(limit.saturating_sub(self.window));
        }
        take(Packet::OneRtt(read), payload);
        Ok(())
    }

    /// Reads the first ranges, as many as fit in memory.
    fn read_ack(&mut self, path: u32, wire: &Ack) -> Result<PathAck, DecodeError> {
        let numbers = self.paths.get_mut(path as usize).filter(|_| path <= u8::MAX.into());
        let Some(numbers) = numbers else {
            return Err(DecodeError::Value { field: "PATH_ACK's path", at: FRAMES_AT, value: path.into() });
        };
        numbers.acknowledged = numbers.acknowledged.max(Some(wire.ranges.largest()));
        let delay =
            Duration::from_nanos((wire.delay.get() << Self::ACK_DELAY_EXPONENT).saturating_mul(1_000));
        let mut ack = PathAck::new(PathId(path as u8), delay);
        ack.marks =
            wire.ecn.map(|counts| EcnCounts { capable: counts.ect0.get(), congested: counts.ce.get() });
        for range in wire.ranges.as_slice() {
            ack.push_range(range.smallest, range.largest);
        }
        Ok(ack)
    }
}

fn connection_id(first: u64, path: PathId) -> ConnectionId {
    ConnectionId::new(&first.wrapping_add(path.0.into()).to_be_bytes()).unwrap_or_default()
}

/// Converts a counter, which stays below 2⁶².
fn integer(value: u64) -> VarInt {
    VarInt::new(value).unwrap_or(VarInt::MAX)
}

fn truncated(number: u64, acknowledged: Option<u64>) -> Truncated {
    let least = Truncated::new(number, acknowledged);
    let bytes = least.bytes.max(LEAST_NUMBER_BYTES);
    Truncated { low: (number & ((1 << (8 * bytes)) - 1)) as u32, bytes }
}

fn time(data: [u8; 8]) -> Time {
    Time::from_nanos(u64::from_be_bytes(data))
}

fn path_ack(ack: &PathAck) -> Option<PathFrame> {
    let range = |&(smallest, largest): &(u64, u64)| AckRange { smallest, largest };
    let mut ranges = AckRanges::new(range(ack.ranges().first()?))?;
    let mut room = Image::FURTHER_RANGES;
    for next in ack.ranges()[1..].iter().map(range) {
        let numbers = [ranges.smallest() - next.largest - 2, next.largest - next.smallest];
        let bytes = numbers.into_iter().map(|number| integer(number).encoded_bytes()).sum();
        // Earlier acknowledgements contained the older ranges.
        let Some(left) = room.checked_sub(bytes) else { break };
        room = left;
        let fits = ranges.push(next);
        debug_assert!(fits, "ranges descend with gaps");
    }
    let counts = |marks: EcnCounts| quic::EcnCounts {
        ect0: integer(marks.capable),
        ect1: VarInt::ZERO,
        ce: integer(marks.congested),
    };
    let delay = integer((ack.delay.as_nanos() / 1_000) >> Image::ACK_DELAY_EXPONENT);
    let ack_frame = Ack { delay, ranges, ecn: ack.marks.map(counts) };
    Some(PathFrame::Ack { path: ack.path.0.into(), ack: ack_frame })
}

/// Sets a value. Fails if the packet has two of the kind, since an endpoint takes one.
fn once<T>(place: &mut Option<T>, value: T, field: &'static str) -> Result<(), DecodeError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(DecodeError::Length { field, at: FRAMES_AT, length: 2 }),
    }
}

/// Returns the peer's segment in a frame. A forgotten segment gives the oldest kept one. Both were
/// delivered, so the receiver finds a duplicate.
fn segment(stream: &quic::Stream<'_>, peer: &Boundaries) -> Result<Stream, DecodeError> {
    if stream.id != VarInt::ZERO {
        let value = stream.id.get();
        return Err(DecodeError::Value { field: "STREAM's identifier", at: FRAMES_AT, value });
    }
    let offset = stream.offset.get();
    let found = peer.stream.acknowledged_at(offset);
    let wrong = DecodeError::Value { field: "STREAM's offset", at: FRAMES_AT, value: offset };
    let data = Data { segment: found.ok_or(wrong)?, bytes: stream.data.len() as u32 };
    Ok(Stream { data, offset })
}

/// Returns the size of the abandoned segment that a frame announces, if it announces one.
fn bytes_over(stream: &quic::Stream<'_>) -> Option<u32> {
    let bytes = stream.data.try_into().ok().filter(|_| stream.id == VarInt::from(OVER))?;
    Some(u32::from_be_bytes(bytes)).filter(|bytes| *bytes > 0)
}

/// Reads an Initial packet or its answer.
fn read_hello(frames: quic::Frames<'_>, mut take: impl FnMut(Packet)) -> Result<(), DecodeError> {
    for frame in frames {
        let Frame::Crypto { data, .. } = frame? else { continue };
        let wrong =
            DecodeError::Length { field: "CRYPTO's message", at: FRAMES_AT, length: data.len() as u64 };
        let (&[message, _, _, _], data) = data.split_first_chunk::<4>().ok_or(wrong)?;
        let sent_at = time(data.try_into().map_err(|_| wrong)?);
        match message {
            CLIENT_HELLO => take(Packet::Initial { sent_at }),
            SERVER_HELLO => take(Packet::InitialReply { sent_at }),
            _ => {
                return Err(DecodeError::Value {
                    field: "CRYPTO's message",
                    at: FRAMES_AT,
                    value: message.into(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
