//! IPv4 headers (RFC 791) and the Internet checksum (RFC 1071).

use std::net::Ipv4Addr;

/// Bytes of the header.
pub(super) const HEADER: usize = 20;

/// Who sends to whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) from: Ipv4Addr,
    pub(super) to: Ipv4Addr,
}

/// The header of a packet that may not be fragmented. `total`: its length on the wire, this header included.
pub(super) fn header(ends: Ends, protocol: u8, id: u16, total: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&u16::try_from(total).unwrap_or(u16::MAX).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    (header[6], header[8], header[9]) = (0x40, 64, protocol);
    header[12..16].copy_from_slice(&ends.from.octets());
    header[16..20].copy_from_slice(&ends.to.octets());
    let sum = checksum(0, &header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// The length on the wire of a packet that begins with such a header.
pub(super) fn total(headers: &[u8]) -> u32 {
    u32::from(u16::from_be_bytes([headers[2], headers[3]]))
}

/// The sum of the pseudo header of a segment that is `length` bytes long.
pub(super) fn pseudo_header(ends: Ends, protocol: u8, length: u32) -> u32 {
    sum(&ends.from.octets()) + sum(&ends.to.octets()) + u32::from(protocol) + length
}

/// The checksum of `bytes`, added to a sum of others.
pub(super) fn checksum(others: u32, bytes: &[u8]) -> u16 {
    let mut sum = others + sum(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_a_known_header() {
        // The example of RFC 1071, section 3: the sum is ddf2.
        assert_eq!(checksum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    #[test]
    fn a_header_sums_up_to_zero() {
        let ends = Ends { from: Ipv4Addr::new(10, 0, 0, 1), to: Ipv4Addr::new(10, 0, 0, 2) };
        let header = header(ends, 6, 7, 1500);
        assert_eq!(checksum(0, &header), 0);
        assert_eq!(total(&header), 1500);
    }
}
