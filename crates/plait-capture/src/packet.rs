//! Packets as captured: IPv4, TCP with its MPTCP options (RFC 8684), UDP.

use std::net::Ipv4Addr;

/// An IPv4 packet of a kind that matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    pub(crate) source: Ipv4Addr,
    pub(crate) destination: Ipv4Addr,
    /// The identification. Linux counts it up with every packet of a socket.
    pub(crate) id: u16,
    /// The packet's length on the wire, IP header included.
    pub(crate) bytes: u32,
    pub(crate) content: Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Tcp(Tcp),
    Udp {
        destination_port: u16,
        /// The first eight bytes of the payload, if there are so many: the sequence number of a datagram.
        sequence: Option<u64>,
    },
}

/// A TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tcp {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    pub(crate) window: u16,
    /// Payload bytes on the wire.
    pub(crate) payload: u32,
    pub(crate) options: Options,
}

/// The options that matter here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Options {
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

/// A number of the stream as an option carries it: whole, or its lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Short(u32),
    Long(u64),
}

impl Number {
    /// The whole number, the one nearest to `reference`.
    pub(crate) fn expand(self, reference: u64) -> u64 {
        match self {
            Self::Long(number) => number,
            Self::Short(low) => nearest(low, reference),
        }
    }
}

/// The number nearest to `reference` whose lower half is `low`.
pub(crate) fn nearest(low: u32, reference: u64) -> u64 {
    let ahead = low.wrapping_sub(reference as u32) as i32;
    reference.wrapping_add_signed(i64::from(ahead))
}

/// A mapping of a DSS option (§3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mapping {
    pub(crate) data: Number,
    /// The first byte's number on the subflow; 1 is the first after the SYN.
    pub(crate) subflow: u32,
    /// Zero is the infinite mapping of a connection that falls back.
    pub(crate) length: u16,
}

const HEADERS_CUT: &str = "its headers were cut off: capture at least 160 bytes of each packet";

/// Reads a packet from its IP header on; `None` if it is of no kind that matters here.
pub(crate) fn parse(ip: &[u8]) -> Result<Option<Packet>, &'static str> {
    if ip.is_empty() {
        return Ok(None);
    }
    if ip.len() < 20 {
        return Err(HEADERS_CUT);
    }
    let header = usize::from(ip[0] & 15) * 4;
    if ip[0] >> 4 != 4 || header < 20 {
        return Err("its IPv4 header is malformed");
    }
    let fragment = u16_at(ip, 6) & 0x1fff;
    let protocol = ip[9];
    if fragment != 0 || !matches!(protocol, 6 | 17) {
        return Ok(None);
    }
    let total = usize::from(u16_at(ip, 2));
    let Some(body) = ip.get(header..ip.len().min(total)) else { return Err("its IPv4 header is malformed") };
    let length = total - header;
    let content = if protocol == 6 { tcp(body, length)? } else { udp(body)? };
    Ok(Some(Packet {
        source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
        destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
        id: u16_at(ip, 4),
        bytes: total as u32,
        content,
    }))
}

fn udp(body: &[u8]) -> Result<Content, &'static str> {
    if body.len() < 8 {
        return Err(HEADERS_CUT);
    }
    let sequence = (body.len() >= 16).then(|| u64_at(body, 8));
    Ok(Content::Udp { destination_port: u16_at(body, 2), sequence })
}

/// `length`: of header and payload on the wire.
fn tcp(body: &[u8], length: usize) -> Result<Content, &'static str> {
    if body.len() < 20 {
        return Err(HEADERS_CUT);
    }
    let header = usize::from(body[12] >> 4) * 4;
    if header < 20 || header > length {
        return Err("its TCP header is malformed");
    }
    let Some(options) = body.get(20..header) else { return Err(HEADERS_CUT) };
    let flags = body[13];
    Ok(Content::Tcp(Tcp {
        source_port: u16_at(body, 0),
        destination_port: u16_at(body, 2),
        sequence: u32_at(body, 4),
        acknowledgement: u32_at(body, 8),
        syn: flags & 2 != 0,
        ack: flags & 16 != 0,
        window: u16_at(body, 14),
        payload: (length - header) as u32,
        options: self::options(options)?,
    }))
}

fn options(mut rest: &[u8]) -> Result<Options, &'static str> {
    let mut options = Options::default();
    while let Some((&kind, tail)) = rest.split_first() {
        match kind {
            0 => break,
            1 => {
                rest = tail;
                continue;
            }
            _ => {}
        }
        let length = tail.first().map_or(0, |&length| usize::from(length));
        if length < 2 || length > rest.len() {
            return Err("a TCP option is malformed");
        }
        let (option, tail) = rest.split_at(length);
        rest = tail;
        match (kind, length) {
            (3, 3) => options.window_scale = Some(option[2]),
            (8, 10) => options.timestamp = Some(u32_at(option, 2)),
            (30, 3..) => multipath(option, &mut options)?,
            _ => {}
        }
    }
    Ok(options)
}

fn multipath(option: &[u8], options: &mut Options) -> Result<(), &'static str> {
    const CAPABLE: u8 = 0;
    const JOIN: u8 = 1;
    const DSS: u8 = 2;
    match option[2] >> 4 {
        CAPABLE if option.len() >= 12 => {
            options.key = Some(u64_at(option, 4));
            if option.len() >= 22 {
                options.first_length = Some(u16_at(option, 20));
            }
        }
        // That of a SYN has this length, and no other one.
        JOIN if option.len() == 12 => options.join = Some((u32_at(option, 4), u32_at(option, 8))),
        DSS => data_sequence(option, options)?,
        _ => {}
    }
    Ok(())
}

/// A DSS option: flags, then what they announce.
fn data_sequence(option: &[u8], options: &mut Options) -> Result<(), &'static str> {
    const CUT: &str = "a DSS option is too short for what its flags announce";
    let flags = *option.get(3).ok_or(CUT)?;
    let mut place = 4;
    let mut number = |long: bool| {
        let size = if long { 8 } else { 4 };
        let bytes = option.get(place..place + size).ok_or(CUT)?;
        place += size;
        Ok::<_, &'static str>(if long {
            Number::Long(u64_at(bytes, 0))
        } else {
            Number::Short(u32_at(bytes, 0))
        })
    };
    if flags & 1 != 0 {
        options.data_ack = Some(number(flags & 2 != 0)?);
    }
    if flags & 4 != 0 {
        let data = number(flags & 8 != 0)?;
        let rest = option.get(place..place + 6).ok_or(CUT)?;
        options.mapping = Some(Mapping { data, subflow: u32_at(rest, 0), length: u16_at(rest, 4) });
    }
    Ok(())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
