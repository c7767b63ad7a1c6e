//! Captured packets, and the fields that the replay needs: IPv4 with TCP, MPTCP's options and UDP.

use crate::ip;
use etherparse::{UdpHeaderSlice, err};
use plait_transport::wire::DecodeError;
use plait_transport::wire::mptcp::{Join, Keys, Mapping, MptcpOption, Number};
use plait_transport::wire::tcp::{self, Flags, TcpOption};
use std::fmt;
use std::net::Ipv4Addr;

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// An IPv4 packet with TCP or UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CapturedPacket {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    /// The IPv4 identification. Linux increments it with every packet of a socket.
    pub(crate) id: u16,
    /// The packet's length on the wire, IP header included.
    pub(crate) bytes: u32,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Tcp(TcpSegment),
    Udp {
        destination_port: u16,
        /// The first eight bytes of the payload, if it is long enough: the sequence number of a
        /// datagram.
        sequence: Option<u64>,
    },
}

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpSegment {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    pub(crate) window: u16,
    /// Payload bytes on the wire.
    pub(crate) payload: u32,
    pub(crate) options: TcpOptions,
}

/// The TCP options that the replay needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TcpOptions {
    pub(crate) window_scale: Option<u8>,
    /// TSval (RFC 7323 §3.2).
    pub(crate) timestamp: Option<u32>,
    /// The sender's key in an `MP_CAPABLE` that carries one.
    pub(crate) key: Option<u64>,
    /// The receiver's token and the sender's random number in the SYN of an `MP_JOIN`.
    pub(crate) join: Option<(u32, u32)>,
    /// The data-level length of an `MP_CAPABLE` with data (§3.1): the first bytes of the stream.
    pub(crate) first_length: Option<u16>,
    pub(crate) data_ack: Option<Number>,
    pub(crate) mapping: Option<Mapping>,
}

/// Reason why a packet cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Malformed {
    /// Too little of it was captured.
    Cut,
    /// The network header is malformed.
    Network,
    /// The transport header contradicts itself.
    Transport(DecodeError),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut => write!(f, "its headers were cut off: capture at least 160 bytes of each packet"),
            Self::Network => write!(f, "its IPv4 header is malformed"),
            Self::Transport(error) => write!(f, "its TCP header is malformed: {error}"),
        }
    }
}

impl From<Malformed> for String {
    fn from(malformed: Malformed) -> Self {
        malformed.to_string()
    }
}

/// Reads a packet from its IP header on. Returns `None` if it is neither TCP nor UDP, or a later
/// fragment.
pub(crate) fn parse(packet: &[u8]) -> Result<Option<CapturedPacket>, Malformed> {
    if packet.is_empty() {
        return Ok(None);
    }
    let (header, body) = ip::split(packet).map_err(|error| match error {
        err::ipv4::HeaderSliceError::Len(_) => Malformed::Cut,
        err::ipv4::HeaderSliceError::Content(_) => Malformed::Network,
    })?;
    let protocol = header.protocol().0;
    if header.fragments_offset().value() != 0 || !matches!(protocol, tcp::PROTOCOL | UDP) {
        return Ok(None);
    }
    let length = header.payload_len().map_err(|_| Malformed::Network)?;
    let content = if protocol == UDP { udp(body)? } else { Content::Tcp(segment(body, length)?) };
    Ok(Some(CapturedPacket {
        source: header.source_addr(),
        destination: header.destination_addr(),
        id: header.identification(),
        bytes: header.total_len().into(),
        content,
    }))
}

fn udp(body: &[u8]) -> Result<Content, Malformed> {
    let header = UdpHeaderSlice::from_slice(body).map_err(|_| Malformed::Cut)?;
    let sequence = body[header.slice().len()..].first_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    Ok(Content::Udp { destination_port: header.destination_port(), sequence })
}

/// Reads a TCP segment. `length` is the number of bytes of header and payload on the wire.
fn segment(body: &[u8], length: u16) -> Result<TcpSegment, Malformed> {
    let segment = tcp::Segment::decode(body).map_err(|error| {
        // A short header was cut by the capture if the packet was longer on the wire.
        let cut = error.is_short() && body.len() < length.into();
        if cut { Malformed::Cut } else { Malformed::Transport(error) }
    })?;
    let mut options = TcpOptions::default();
    for option in segment.options {
        options.note(&option.map_err(Malformed::Transport)?);
    }
    let header = segment.header;
    Ok(TcpSegment {
        source_port: header.source_port,
        destination_port: header.destination_port,
        sequence: header.sequence,
        acknowledgement: header.acknowledgement,
        syn: header.flags.has(Flags::SYN),
        ack: header.flags.has(Flags::ACK),
        window: header.window,
        payload: u32::from(length) - segment.header_bytes as u32,
        options,
    })
}

impl TcpOptions {
    #[inline]
    fn note(&mut self, option: &TcpOption<'_>) {
        match option {
            TcpOption::WindowScale(shift) => self.window_scale = Some(*shift),
            TcpOption::Timestamps { value, .. } => self.timestamp = Some(*value),
            TcpOption::Mptcp(MptcpOption::Capable(capable)) => {
                self.key = capable.sender_key();
                if let Keys::Both(_, _, Some(data)) = capable.keys {
                    self.first_length = Some(data.length);
                }
            }
            TcpOption::Mptcp(MptcpOption::Join(Join::Syn { token, nonce, .. })) => {
                self.join = Some((*token, *nonce));
            }
            TcpOption::Mptcp(MptcpOption::DataSequence(sequence)) => {
                self.data_ack = sequence.acknowledgement;
                self.mapping = sequence.mapping;
            }
            TcpOption::Mptcp(
                MptcpOption::Join(_)
                | MptcpOption::AddAddress(_)
                | MptcpOption::RemoveAddress(_)
                | MptcpOption::Priority { .. }
                | MptcpOption::Fail { .. }
                | MptcpOption::FastClose { .. }
                | MptcpOption::Reset { .. }
                | MptcpOption::Unknown { .. },
            )
            | TcpOption::NoOperation
            | TcpOption::MaximumSegmentSize(_)
            | TcpOption::SackPermitted
            | TcpOption::Sack(_)
            | TcpOption::Unknown { .. } => {}
        }
    }
}
