//! An end's packets as bytes: QUIC packets without protection (`wire::quic`).
//!
//! A connection ID names the end and the path, as the multipath extension has it: it is the end's own number plus the path's. Numbers
//! of packets are truncated and recovered per path (RFC 9000 §17.1). Stream 0 carries both streams. What the handshake would say is not
//! modelled: an Initial packet has the time at which the client's left, in place of the random number of a ClientHello, and its answer
//! that of the client again.

use crate::boundaries::{Arriving, Boundaries};
use crate::packet::{Challenge, Data, EcnCounts, OneRtt, Packet, PathAck, SegmentEcn, Stream};
use crate::sink::Transmit;
use crate::wire::DecodeError;
use crate::wire::number::Truncated;
use crate::wire::quic::{self, Ack, AckRange, AckRanges, ConnectionId, Frame, Header, PathFrame, VarInt};
use plait_sched::{Duration, PathId, Time};

/// Bytes of a connection ID.
const ID_BYTES: usize = 8;

/// Bytes of a packet number at least: so many packets may overtake one before it is mistaken for another.
const LEAST_NUMBER_BYTES: u8 = 2;

/// Bytes of a datagram with an Initial packet (RFC 9000 §14.1).
const INITIAL_BYTES: usize = 1200;

/// TLS' ClientHello and ServerHello (RFC 8446 §4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;

/// Frames of stream 1 tell that a segment is over. Their data is the segment's size in bytes.
const OVER: u32 = 1;

/// Where frames begin in a packet of the short form at the earliest.
const FRAMES_AT: usize = 1 + ID_BYTES + 1;

/// The numbers of one path's packets.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    /// The largest of our own that the peer has acknowledged.
    acknowledged: Option<u64>,
    /// The largest of the peer's that was read.
    largest: Option<u64>,
}

/// One end's view of the bytes: it writes what the end sends, and reads what its peer sends.
#[derive(Clone, Debug)]
pub struct Image {
    /// What packets for this end carry on path 0, and for the peer.
    own: u64,
    peer: u64,
    /// The peer's first limit (initial_max_data).
    window: u64,
    paths: Vec<Numbers>,
    /// Initial packets that were sent.
    initials: u64,
    sent: Boundaries,
    numbered: bool,
    /// Nobody is told where our segments begin.
    untold: bool,
}

impl Image {
    /// `ack_delay_exponent`: delays are told in microseconds.
    pub const ACK_DELAY_EXPONENT: u32 = 0;

    /// Bytes of an acknowledgement's ranges behind the first one at most: of seven that are shorter than 16,384 packets, as
    /// their gaps are.
    pub const FURTHER_RANGES: usize = 7 * 4;

    /// For an end with connection IDs from `own` on, whose peer has them from `peer` on and takes `window` bytes at first.
    pub fn new(own: u64, peer: u64, window: u64, paths: usize) -> Self {
        let sent = Boundaries::default();
        Self {
            own,
            peer,
            window,
            paths: vec![Numbers::default(); paths],
            initials: 0,
            sent,
            numbered: false,
            untold: false,
        }
    }

    /// There is another path.
    pub fn add_path(&mut self) {
        self.paths.push(Numbers::default());
    }

    /// STREAM frames say the segment's number where QUIC has the place of its first byte. So segments may have any length, and a peer that sees nothing but
    /// packets reads them with [`Boundaries::numbered`]. A segment without payload is over: the peer counts it as arrived, and gets no bytes.
    /// Both ends have to be told; nobody else understands it.
    #[must_use]
    pub fn numbered(self) -> Self {
        Self { numbered: true, ..self }
    }

    /// Where the segments begin that this end has sent.
    pub const fn boundaries(&self) -> &Boundaries {
        &self.sent
    }

    /// Nothing is kept of where the segments begin that this end sends, because the peer reads them with [`Boundaries::uniform`]: [`Image::boundaries`] are none.
    #[must_use]
    pub fn untold(self) -> Self {
        Self { untold: true, ..self }
    }

    /// Appends a packet as it leaves the end. `payload`: the bytes of its segment, if it carries one.
    pub fn encode(&mut self, transmit: &Transmit<'_>, payload: &[u8], out: &mut Vec<u8>) {
        match transmit.packet {
            Packet::OneRtt(packet) => self.encode_one_rtt(transmit.path, packet, payload, out),
            Packet::Initial { sent_at } => self.encode_initial(transmit.path, CLIENT_HELLO, *sent_at, out),
            Packet::InitialReply { sent_at } => {
                self.encode_initial(transmit.path, SERVER_HELLO, *sent_at, out);
            }
            other => unreachable!("QUIC sends no {other:?}"),
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
        if packet.ping {
            // With the number four bytes at least (RFC 9001 §5.4.2).
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
        // Packets inside another connection's datagrams leave on paths that it has validated.
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

    /// Reads a packet of the peer's, and hands it on with its payload.
    ///
    /// # Errors
    /// If it is not of this connection, cannot be read, has more than an endpoint takes in one packet, or data that begins where no
    /// segment of the peer's does.
    pub fn decode(
        &mut self,
        arriving: &Arriving<'_>,
        peer: &Boundaries,
        mut take: impl FnMut(&Packet, &[u8]),
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
        // The mark is IP's; that a window was reduced is nothing that QUIC says.
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
                Frame::Ping => read.ping = true,
                Frame::Stream(stream) => {
                    let over = bytes_over(&stream).filter(|_| self.numbered);
                    let (id, data) = over.map_or((stream.id, stream.data), |_| (VarInt::ZERO, &[]));
                    let mut found = segment(&quic::Stream { id, data, ..stream }, peer)?;
                    found.data.bytes = over.unwrap_or(found.data.bytes);
                    once(&mut read.stream, found, "STREAM")?;
                    payload = data;
                }
                _ => {}
            }
        }
        let numbers = &mut self.paths[path.index()];
        numbers.largest = numbers.largest.max(Some(read.number));
        if let Some(limit) = read.max_data {
            // The limit is a window beyond what was delivered.
            self.sent.stream.settle(limit.saturating_sub(self.window));
        }
        take(&Packet::OneRtt(read), payload);
        Ok(())
    }

    /// The first ranges, as many as there is room for in memory.
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

/// Counters stay below 2⁶².
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
        // The older ones were in earlier acknowledgements.
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

/// Takes what a packet has once for an endpoint.
fn once<T>(place: &mut Option<T>, value: T, field: &'static str) -> Result<(), DecodeError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(DecodeError::Length { field, at: FRAMES_AT, length: 2 }),
    }
}

/// The peer's segment in a frame. A forgotten segment reads as the oldest remembered one: both were
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

/// How many bytes a segment had of which a frame says that it is over.
fn bytes_over(stream: &quic::Stream<'_>) -> Option<u32> {
    let bytes = stream.data.try_into().ok().filter(|_| stream.id == VarInt::from(OVER))?;
    Some(u32::from_be_bytes(bytes)).filter(|bytes| *bytes > 0)
}

/// What begins a connection, or its answer.
fn read_hello(frames: quic::Frames<'_>, mut take: impl FnMut(&Packet)) -> Result<(), DecodeError> {
    for frame in frames {
        let Frame::Crypto { data, .. } = frame? else { continue };
        let wrong =
            DecodeError::Length { field: "CRYPTO's message", at: FRAMES_AT, length: data.len() as u64 };
        let (&[message, _, _, _], data) = data.split_first_chunk::<4>().ok_or(wrong)?;
        let sent_at = time(data.try_into().map_err(|_| wrong)?);
        match message {
            CLIENT_HELLO => take(&Packet::Initial { sent_at }),
            SERVER_HELLO => take(&Packet::InitialReply { sent_at }),
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
