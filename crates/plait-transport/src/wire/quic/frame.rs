//! Frames (RFC 9000 §12.4, §19).

use super::stream::{self, ends_within};
use super::varint::put_counted;
use super::{Ack, ConnectionId, PathFrame, Stream, VarInt};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;

const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const ACK: u8 = 0x02;
const ACK_ECN: u8 = 0x03;
const RESET_STREAM: u8 = 0x04;
const STOP_SENDING: u8 = 0x05;
const CRYPTO: u8 = 0x06;
const NEW_TOKEN: u8 = 0x07;
const STREAM_END: u8 = 0x0f;
const MAX_DATA: u8 = 0x10;
const MAX_STREAM_DATA: u8 = 0x11;
const MAX_STREAMS: u8 = 0x12;
const MAX_STREAMS_ONE_WAY: u8 = 0x13;
const DATA_BLOCKED: u8 = 0x14;
const STREAM_DATA_BLOCKED: u8 = 0x15;
const STREAMS_BLOCKED: u8 = 0x16;
const STREAMS_BLOCKED_ONE_WAY: u8 = 0x17;
const NEW_CONNECTION_ID: u8 = 0x18;
const RETIRE_CONNECTION_ID: u8 = 0x19;
const PATH_CHALLENGE: u8 = 0x1a;
const PATH_RESPONSE: u8 = 0x1b;
const CLOSE: u8 = 0x1c;
const CLOSE_BY_APPLICATION: u8 = 0x1d;
const HANDSHAKE_DONE: u8 = 0x1e;

/// Streams of a kind are numbered with 60 bits (RFC 9000 §4.6).
const MOST_STREAMS: u64 = 1 << 60;

/// A frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// At least one byte of padding. Each byte is a frame of its own.
    Padding(usize),
    /// Asks for an acknowledgement.
    Ping,
    /// Received packets; with multipath, those of path 0.
    Ack(Ack),
    /// The sender abandons a stream.
    ResetStream {
        /// The stream.
        id: VarInt,
        /// The application's reason.
        error: VarInt,
        /// Bytes of the stream that count in flow control.
        final_size: VarInt,
    },
    /// The receiver abandons a stream.
    StopSending {
        /// The stream.
        id: VarInt,
        /// The application's reason.
        error: VarInt,
    },
    /// Data of the handshake.
    Crypto {
        /// Offset of the data in bytes.
        offset: VarInt,
        /// The data.
        data: &'a [u8],
    },
    /// A token for another connection, at least one byte.
    NewToken(&'a [u8]),
    /// Data of a stream.
    Stream(Stream<'a>),
    /// Largest number of bytes that the receiver accepts on all streams together.
    MaxData(VarInt),
    /// Largest number of bytes that the receiver accepts on a stream.
    MaxStreamData {
        /// The stream.
        id: VarInt,
        /// Bytes from its start.
        limit: VarInt,
    },
    /// Largest number of streams that the peer may open, at most 2⁶⁰.
    MaxStreams {
        /// Kind of the streams.
        directions: Directions,
        /// Limit, counted from the start of the connection.
        limit: VarInt,
    },
    /// The sender has more data than MAX_DATA permits.
    DataBlocked(VarInt),
    /// The sender has more data for a stream than MAX_STREAM_DATA permits.
    StreamDataBlocked {
        /// The stream.
        id: VarInt,
        /// The limit that blocks the sender.
        limit: VarInt,
    },
    /// The sender wants to open more streams than permitted.
    StreamsBlocked {
        /// Kind of the streams.
        directions: Directions,
        /// The limit that blocks the sender, at most 2⁶⁰.
        limit: VarInt,
    },
    /// Another connection ID; with multipath, for path 0.
    NewConnectionId(NewConnectionId),
    /// The connection ID with this number is no longer used.
    RetireConnectionId(VarInt),
    /// Data that the peer must return over the same path.
    PathChallenge([u8; 8]),
    /// Data of a PATH_CHALLENGE, returned.
    PathResponse([u8; 8]),
    /// The connection ends.
    ConnectionClose(Close<'a>),
    /// The server has finished the handshake.
    HandshakeDone,
    /// A frame of the multipath extension.
    Path(PathFrame),
}

/// The two kinds of streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Directions {
    /// Data flows in both directions.
    Both,
    /// Data flows only from the stream's initiator.
    One,
}

/// A connection ID that the peer may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewConnectionId {
    /// The number.
    pub sequence: VarInt,
    /// Connection IDs with smaller numbers must be retired. Not larger than `sequence`.
    pub retire_prior_to: VarInt,
    /// The connection ID, at least one byte.
    pub id: ConnectionId,
    /// The token at the end of a stateless reset.
    pub reset_token: [u8; 16],
}

/// Reason why a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Close<'a> {
    /// An error code of QUIC (§20.1), or of the application.
    pub error: VarInt,
    /// Type of the faulty frame, 0 if unknown; `None` if the application closes.
    pub frame: Option<VarInt>,
    /// A text for humans.
    pub reason: &'a [u8],
}

impl NewConnectionId {
    pub(super) fn encode(&self, out: &mut impl BufMut) {
        self.sequence.encode(out);
        self.retire_prior_to.encode(out);
        self.id.encode(out);
        out.put_slice(&self.reset_token);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const FIELD: &str = "new connection ID";
        let sequence = reader.varint(FIELD)?;
        let before = *reader;
        let retire_prior_to = reader.varint(FIELD)?;
        if retire_prior_to > sequence {
            let value = retire_prior_to.get();
            return Err(DecodeError::Value { field: "retire prior to", at: before.at(), value });
        }
        let id = ConnectionId::decode(reader, 1, FIELD)?;
        Ok(Self { sequence, retire_prior_to, id, reset_token: reader.array(FIELD)? })
    }
}

impl<'a> Frame<'a> {
    /// Appends the frame.
    pub fn encode(&self, out: &mut impl BufMut) {
        let put = |out: &mut _, kind: u8, numbers: &[VarInt]| {
            let kind = VarInt::from_u32(kind.into());
            [kind].iter().chain(numbers).for_each(|number| number.encode(out));
        };
        match self {
            Self::Padding(bytes) => out.put_bytes(PADDING, *bytes),
            Self::Ping => out.put_u8(PING),
            Self::Ack(ack) => {
                out.put_u8(if ack.ecn.is_some() { ACK_ECN } else { ACK });
                ack.encode(out);
            }
            Self::ResetStream { id, error, final_size } => {
                put(out, RESET_STREAM, &[*id, *error, *final_size]);
            }
            Self::StopSending { id, error } => put(out, STOP_SENDING, &[*id, *error]),
            Self::Crypto { offset, data } => {
                put(out, CRYPTO, &[*offset]);
                put_counted(data, out);
            }
            Self::NewToken(token) => {
                out.put_u8(NEW_TOKEN);
                put_counted(token, out);
            }
            Self::Stream(stream) => stream.encode(out),
            Self::MaxData(limit) => put(out, MAX_DATA, &[*limit]),
            Self::MaxStreamData { id, limit } => put(out, MAX_STREAM_DATA, &[*id, *limit]),
            Self::MaxStreams { directions, limit } => {
                put(out, directions.choose(MAX_STREAMS, MAX_STREAMS_ONE_WAY), &[*limit]);
            }
            Self::DataBlocked(limit) => put(out, DATA_BLOCKED, &[*limit]),
            Self::StreamDataBlocked { id, limit } => put(out, STREAM_DATA_BLOCKED, &[*id, *limit]),
            Self::StreamsBlocked { directions, limit } => {
                put(out, directions.choose(STREAMS_BLOCKED, STREAMS_BLOCKED_ONE_WAY), &[*limit]);
            }
            Self::NewConnectionId(id) => {
                out.put_u8(NEW_CONNECTION_ID);
                id.encode(out);
            }
            Self::RetireConnectionId(sequence) => put(out, RETIRE_CONNECTION_ID, &[*sequence]),
            Self::PathChallenge(data) => {
                out.put_u8(PATH_CHALLENGE);
                out.put_slice(data);
            }
            Self::PathResponse(data) => {
                out.put_u8(PATH_RESPONSE);
                out.put_slice(data);
            }
            Self::ConnectionClose(Close { error, frame, reason }) => {
                match frame {
                    Some(frame) => put(out, CLOSE, &[*error, *frame]),
                    None => put(out, CLOSE_BY_APPLICATION, &[*error]),
                }
                put_counted(reason, out);
            }
            Self::HandshakeDone => out.put_u8(HANDSHAKE_DONE),
            Self::Path(frame) => frame.encode(out),
        }
    }

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        const FIELD: &str = "frame type";
        let before = *reader;
        let kind = reader.varint(FIELD)?;
        let value = kind.get();
        let refused = DecodeError::Value { field: FIELD, at: before.at(), value };
        // RFC 9000 §12.4: types have the shortest encoding.
        if reader.at() - before.at() != kind.encoded_bytes() {
            return Err(refused);
        }
        let Ok(kind) = u8::try_from(value) else {
            return PathFrame::decode(value, reader)?.map(Self::Path).ok_or(refused);
        };
        let streams = |reader: &mut Reader<'a>| {
            let at = reader.at();
            let limit = reader.varint("number of streams")?;
            let value = limit.get();
            if value > MOST_STREAMS {
                return Err(DecodeError::Value { field: "number of streams", at, value });
            }
            Ok(limit)
        };
        Ok(match kind {
            PADDING => Self::Padding(1 + reader.skip(PADDING)),
            PING => Self::Ping,
            ACK | ACK_ECN => Self::Ack(Ack::decode(kind == ACK_ECN, reader)?),
            RESET_STREAM => Self::ResetStream {
                id: reader.varint("RESET_STREAM")?,
                error: reader.varint("RESET_STREAM")?,
                final_size: reader.varint("RESET_STREAM")?,
            },
            STOP_SENDING => Self::StopSending {
                id: reader.varint("STOP_SENDING")?,
                error: reader.varint("STOP_SENDING")?,
            },
            CRYPTO => {
                let before = *reader;
                let offset = reader.varint("CRYPTO's offset")?;
                let data = reader.counted("CRYPTO's data")?;
                ends_within(offset, data, &before, "CRYPTO's offset")?;
                Self::Crypto { offset, data }
            }
            NEW_TOKEN => {
                let before = *reader;
                let token = reader.counted("NEW_TOKEN")?;
                if token.is_empty() {
                    return Err(before.length("NEW_TOKEN", 0u8));
                }
                Self::NewToken(token)
            }
            stream::TYPE..=STREAM_END => Self::Stream(Stream::decode(kind, reader)?),
            MAX_DATA => Self::MaxData(reader.varint("MAX_DATA")?),
            MAX_STREAM_DATA => Self::MaxStreamData {
                id: reader.varint("MAX_STREAM_DATA")?,
                limit: reader.varint("MAX_STREAM_DATA")?,
            },
            MAX_STREAMS => Self::MaxStreams { directions: Directions::Both, limit: streams(reader)? },
            MAX_STREAMS_ONE_WAY => Self::MaxStreams { directions: Directions::One, limit: streams(reader)? },
            DATA_BLOCKED => Self::DataBlocked(reader.varint("DATA_BLOCKED")?),
            STREAM_DATA_BLOCKED => Self::StreamDataBlocked {
                id: reader.varint("STREAM_DATA_BLOCKED")?,
                limit: reader.varint("STREAM_DATA_BLOCKED")?,
            },
            STREAMS_BLOCKED => Self::StreamsBlocked { directions: Directions::Both, limit: streams(reader)? },
            STREAMS_BLOCKED_ONE_WAY => {
                Self::StreamsBlocked { directions: Directions::One, limit: streams(reader)? }
            }
            NEW_CONNECTION_ID => Self::NewConnectionId(NewConnectionId::decode(reader)?),
            RETIRE_CONNECTION_ID => Self::RetireConnectionId(reader.varint("RETIRE_CONNECTION_ID")?),
            PATH_CHALLENGE => Self::PathChallenge(reader.array("PATH_CHALLENGE")?),
            PATH_RESPONSE => Self::PathResponse(reader.array("PATH_RESPONSE")?),
            CLOSE | CLOSE_BY_APPLICATION => Self::ConnectionClose(Close {
                error: reader.varint("CONNECTION_CLOSE")?,
                frame: (kind == CLOSE).then(|| reader.varint("CONNECTION_CLOSE")).transpose()?,
                reason: reader.counted("CONNECTION_CLOSE's reason")?,
            }),
            HANDSHAKE_DONE => Self::HandshakeDone,
            _ => return PathFrame::decode(value, reader)?.map(Self::Path).ok_or(refused),
        })
    }
}

impl Directions {
    const fn choose(self, both: u8, one: u8) -> u8 {
        match self {
            Self::Both => both,
            Self::One => one,
        }
    }
}

/// An iterator over the frames of a packet. It ends after the first malformed frame, because the
/// next frame's start is unknown (RFC 9000 §12.4).
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    reader: Reader<'a>,
}

impl<'a> Frames<'a> {
    /// Creates an iterator over the frames of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self::of(Reader::new(payload))
    }

    pub(super) const fn of(reader: Reader<'a>) -> Self {
        Self { reader }
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reader.is_empty() {
            return None;
        }
        let frame = Frame::decode(&mut self.reader);
        if frame.is_err() {
            self.reader.rest();
        }
        Some(frame)
    }
}

impl core::iter::FusedIterator for Frames<'_> {}
