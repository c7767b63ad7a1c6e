//! ADD_ADDR (RFC 8684 §3.4.1).

use super::{ADD_ADDRESS, length};
use crate::wire::DecodeError;
use crate::wire::reader::Reader;
use bytes::BufMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ECHO: u8 = 1;
const IPV4: usize = 4;
const IPV6: usize = 16;
const PORT: usize = 2;
const PROOF: usize = 8;

/// Another address of the sender. The option's length tells which fields it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddAddress {
    /// True if the receiver of the announcement echoes it as a confirmation.
    pub echo: bool,
    /// The address identifier.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// The port to connect to, if it differs from that of the first subflow.
    pub port: Option<u16>,
    /// The lower 64 bits of the HMAC over these fields. An echo has none, and version 0 (RFC 6824)
    /// never has one.
    pub proof: Option<u64>,
}

impl AddAddress {
    pub(super) fn encoded_bytes(&self) -> usize {
        let when = |there: bool, bytes: usize| if there { bytes } else { 0 };
        let address = if self.address.is_ipv4() { IPV4 } else { IPV6 };
        2 + address + when(self.port.is_some(), PORT) + when(self.proof.is_some(), PROOF)
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&[ADD_ADDRESS << 4 | if self.echo { ECHO } else { 0 }, self.id]);
        match self.address {
            IpAddr::V4(address) => out.put_slice(&address.octets()),
            IpAddr::V6(address) => out.put_slice(&address.octets()),
        }
        self.port.into_iter().for_each(|port| out.put_u16(port));
        self.proof.into_iter().for_each(|proof| out.put_u64(proof));
    }

    pub(super) fn decode(flags: u8, value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const FIELD: &str = "ADD_ADDR";
        let whole = *value;
        let id = value.u8(FIELD)?;
        let (family, extras) = match value.left() {
            bytes @ IPV6.. => (IPV6, bytes - IPV6),
            bytes @ IPV4.. => (IPV4, bytes - IPV4),
            _ => return Err(length(&whole, FIELD)),
        };
        let (port, proof) = match extras {
            0 => (false, false),
            PORT => (true, false),
            PROOF => (false, true),
            10 => (true, true),
            _ => return Err(length(&whole, FIELD)),
        };
        let address = if family == IPV4 {
            IpAddr::V4(Ipv4Addr::from(value.array::<IPV4>(FIELD)?))
        } else {
            IpAddr::V6(Ipv6Addr::from(value.array::<IPV6>(FIELD)?))
        };
        let port = port.then(|| value.u16(FIELD)).transpose()?;
        let proof = proof.then(|| value.u64(FIELD)).transpose()?;
        Ok(Self { echo: flags & ECHO != 0, id, address, port, proof })
    }
}
