//! INIT and INIT ACK with their parameters (RFC 9260 §3.3.2, §3.3.3).

use super::Unrecognized;
use super::chunk::{put_value, value};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut as _;
use std::net::{Ipv4Addr, Ipv6Addr};

const IPV4_ADDRESS: u16 = 5;
const IPV6_ADDRESS: u16 = 6;
const STATE_COOKIE: u16 = 7;

/// The fields that an end announces when the association opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Init<'a> {
    /// The verification tag that the peer must use.
    pub tag: u32,
    /// The advertised receiver window, in bytes.
    pub window: u32,
    /// Number of streams on which the sender wants to send.
    pub outbound_streams: u16,
    /// Largest number of streams that the sender accepts.
    pub inbound_streams: u16,
    /// The TSN of the sender's first DATA chunk.
    pub initial_tsn: u32,
    /// Addresses, the cookie, and further parameters.
    pub parameters: Vec<Parameter<'a>>,
}

/// A parameter of INIT or INIT ACK (RFC 9260 §3.3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter<'a> {
    /// An address of the sender.
    Ipv4Address(Ipv4Addr),
    /// An address of the sender.
    Ipv6Address(Ipv6Addr),
    /// The cookie that the peer must echo.
    StateCookie(&'a [u8]),
    /// An unknown parameter.
    Unknown {
        /// The type.
        kind: u16,
        /// The value, without padding.
        value: &'a [u8],
    },
}

impl<'a> Init<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.tag);
        out.put_u32(self.window);
        out.put_u16(self.outbound_streams);
        out.put_u16(self.inbound_streams);
        out.put_u32(self.initial_tsn);
        for parameter in &self.parameters {
            parameter.encode(out);
        }
    }

    pub(super) fn decode(chunk: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut init = Self {
            tag: chunk.u32("initiate tag")?,
            window: chunk.u32("INIT's window")?,
            outbound_streams: chunk.u16("INIT's outbound streams")?,
            inbound_streams: chunk.u16("INIT's inbound streams")?,
            initial_tsn: chunk.u32("initial TSN")?,
            parameters: Vec::new(),
        };
        while !chunk.is_empty() {
            let parameter = Parameter::decode(chunk)?;
            init.parameters.push(parameter);
            if parameter.action().is_some_and(Unrecognized::stops) {
                chunk.rest();
            }
        }
        Ok(init)
    }
}

impl<'a> Parameter<'a> {
    /// Returns the action for an unknown parameter (RFC 9260 §3.2.1).
    pub const fn action(&self) -> Option<Unrecognized> {
        match self {
            Self::Unknown { kind, .. } => Some(Unrecognized::of((*kind >> 14) as u8)),
            _ => None,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u16, value: &[u8]| {
            out.put_u16(kind);
            put_value(out, |out| out.put_slice(value));
        };
        match self {
            Self::Ipv4Address(address) => put(IPV4_ADDRESS, &address.octets()),
            Self::Ipv6Address(address) => put(IPV6_ADDRESS, &address.octets()),
            Self::StateCookie(cookie) => put(STATE_COOKIE, cookie),
            Self::Unknown { kind, value } => put(*kind, value),
        }
    }

    fn decode(chunk: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let kind = chunk.u16("parameter type")?;
        let mut value = value(chunk, "parameter")?;
        let parameter = match kind {
            IPV4_ADDRESS => Self::Ipv4Address(Ipv4Addr::from(value.array::<4>("IPv4 address")?)),
            IPV6_ADDRESS => Self::Ipv6Address(Ipv6Addr::from(value.array::<16>("IPv6 address")?)),
            STATE_COOKIE => Self::StateCookie(value.rest()),
            kind => Self::Unknown { kind, value: value.rest() },
        };
        if value.is_empty() { Ok(parameter) } else { Err(value.length("address", value.left())) }
    }
}
