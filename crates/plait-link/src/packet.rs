//! The fields of an IP packet that a link needs, and the one field that a link changes.
//!
//! Data that is not an IP packet belongs to flow 0 and is not ECN-capable.

/// The ECN bits of the traffic class (RFC 3168).
const ECN: u8 = 0b11;

/// Returns a number for the packet's flow: a hash of addresses, protocol and, if present, ports,
/// for IPv4 and IPv6.
pub fn flow(packet: &[u8]) -> u64 {
    let (addresses, protocol, rest) = match version(packet) {
        Some(4) => {
            let header = usize::from(packet[0] & 15) * 4;
            // A later fragment has no ports.
            let later = u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff != 0;
            (&packet[12..20], packet[9], if later { &[][..] } else { packet.get(header..).unwrap_or(&[]) })
        }
        Some(6) => (&packet[8..40], packet[6], &packet[40..]),
        _ => return 0,
    };
    let ports = match protocol {
        TCP | UDP | SCTP => rest.get(..4).unwrap_or(&[]),
        _ => &[],
    };
    // FNV-1a: disciplines hash the number once more.
    let protocol = [protocol];
    let bytes = addresses.iter().chain(&protocol).chain(ports);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;

fn version(packet: &[u8]) -> Option<u8> {
    match packet.first()? >> 4 {
        4 if packet.len() >= 20 => Some(4),
        6 if packet.len() >= 40 => Some(6),
        _ => None,
    }
}

fn ecn(packet: &[u8]) -> u8 {
    match version(packet) {
        Some(4) => packet[1] & ECN,
        Some(6) => packet[1] >> 4 & ECN,
        _ => 0,
    }
}

/// Whether the sender is ECN-capable: ECT(0), ECT(1), or already marked.
pub fn understands_marks(packet: &[u8]) -> bool {
    ecn(packet) != 0
}

/// Marks the packet as having met congestion (CE), and corrects the header's checksum. Leaves a
/// packet that is not ECN-capable unchanged.
pub fn mark(packet: &mut [u8]) {
    if !understands_marks(packet) {
        return;
    }
    match version(packet) {
        Some(4) => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= ECN;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            // RFC 1624, equation 3.
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let sum = (sum & 0xffff) + (sum >> 16);
            let sum = (sum & 0xffff) + (sum >> 16);
            packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        Some(6) => packet[1] |= ECN << 4,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a UDP packet from 10.0.0.1:7 to 10.0.0.2:8, with the header checksum of RFC 1071.
    fn udp(class: u8) -> Vec<u8> {
        let mut packet = vec![0x45, class, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let checksum = !sum(&packet);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet.extend([0, 7, 0, 8, 0, 8, 0, 0]);
        packet
    }

    fn sum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn a_marked_packet_has_a_right_checksum() {
        for class in [0b01, 0b10, 0b1011_1010, 0b11] {
            let mut packet = udp(class);
            assert!(understands_marks(&packet));
            mark(&mut packet);
            assert_eq!((packet[1], sum(&packet[..20])), (class | ECN, 0xffff), "class {class:#b}");
        }
        let mut unaware = udp(0);
        mark(&mut unaware);
        assert_eq!(unaware, udp(0));
    }

    #[test]
    fn flows_differ_by_ports_and_protocols() {
        let one = udp(0);
        let mut port = udp(0);
        port[21] = 9;
        let mut protocol = udp(0);
        protocol[9] = TCP;
        assert_eq!(flow(&one), flow(&udp(2)));
        assert_ne!(flow(&one), flow(&port));
        assert_ne!(flow(&one), flow(&protocol));
    }

    #[test]
    fn what_is_cut_or_no_packet_is_survived() {
        let mut long = [0x6f; 60];
        for start in [0x00, 0x45, 0x4f, 0x60, 0xff] {
            long[0] = start;
            for end in 0..=long.len() {
                let mut packet = long[..end].to_vec();
                flow(&packet);
                mark(&mut packet);
            }
        }
        assert_eq!((flow(b""), flow(b"hello"), understands_marks(&[0xff; 40])), (0, 0, false));
    }
}
