//! IPv4 headers (RFC 791) around packets: encoding and decoding.

use etherparse::err::ipv4::HeaderSliceError;
use etherparse::{IpNumber, Ipv4Header, Ipv4HeaderSlice};
use plait_transport::wire::checksum::Addresses;
use std::net::Ipv4Addr;

/// Bytes of a header without options.
pub(crate) const HEADER: usize = 20;

/// Source and destination of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ipv4Addresses {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
}

impl From<Ipv4Addresses> for Addresses {
    fn from(addresses: Ipv4Addresses) -> Self {
        Self { source: addresses.from.into(), destination: addresses.to.into() }
    }
}

/// Appends a packet with the don't-fragment flag: its header, and the body that `body` appends. The
/// packet has `beyond` more bytes on the wire.
pub(crate) fn put(
    addresses: Ipv4Addresses,
    protocol: u8,
    id: u16,
    beyond: usize,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    body(out);
    let mut header = Ipv4Header {
        total_len: u16::try_from(out.len() - start + beyond).unwrap_or(u16::MAX),
        identification: id,
        dont_fragment: true,
        time_to_live: 64,
        protocol: IpNumber(protocol),
        source: addresses.from.octets(),
        destination: addresses.to.octets(),
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    out[start..start + HEADER].copy_from_slice(&header.to_bytes());
}

/// Returns the length on the wire of a packet that begins with an IPv4 header, or 0 without one.
pub(crate) fn total(packet: &[u8]) -> u32 {
    Ipv4HeaderSlice::from_slice(packet).map_or(0, |header| header.total_len().into())
}

/// Splits a packet, as far as it was captured, into its header and its body.
pub(crate) fn split(packet: &[u8]) -> Result<(Ipv4HeaderSlice<'_>, &[u8]), HeaderSliceError> {
    let header = Ipv4HeaderSlice::from_slice(packet)?;
    // Links may add padding behind a short packet.
    let end = packet.len().min(header.total_len().into());
    Ok((header, packet.get(header.slice().len()..end).unwrap_or(&[])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_transport::wire::checksum::Sum;

    #[test]
    fn a_header_sums_up_to_zero_and_is_read_again() {
        let addresses = Ipv4Addresses { from: Ipv4Addr::new(10, 0, 0, 1), to: Ipv4Addr::new(10, 0, 0, 2) };
        let mut packet = Vec::new();
        put(addresses, 6, 7, 1, &mut packet, |out| out.push(1));
        assert_eq!((packet.len(), Sum::default().with(&packet[..HEADER]).checksum()), (HEADER + 1, 0));
        assert_eq!(total(&packet), 22);
        packet.extend_from_slice(&[2, 3]);
        let (header, body) = split(&packet).unwrap();
        assert_eq!((header.source_addr(), header.destination_addr()), (addresses.from, addresses.to));
        assert_eq!((header.identification(), body), (7, &[1, 2][..]));
    }
}
