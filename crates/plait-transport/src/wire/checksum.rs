//! The Internet checksum (RFC 1071) of TCP and of MPTCP's mappings.

use std::net::IpAddr;

/// A sum of 16-bit words in one's complement arithmetic. The order in which words are added does
/// not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum(u64);

impl Sum {
    /// Returns the sum with `bytes` added, which begin at an even offset. The last byte of an odd
    /// number is the upper half of a word.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        // Sums of longer words fold to the same value (RFC 1071 §2); 64 bits hold those of 2³²
        // words.
        let (words, rest) = bytes.as_chunks::<4>();
        let sum: u64 = words.iter().map(|&word| u64::from(u32::from_be_bytes(word))).sum();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self(self.folded() + sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Returns the sum with a 16-bit word added.
    #[must_use]
    pub fn with_word(self, word: u16) -> Self {
        Self(self.folded() + u64::from(word))
    }

    fn folded(self) -> u64 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    /// Returns the checksum to store: the complement of the sum. Over data that contains its
    /// checksum, the complement is 0.
    pub fn checksum(self) -> u16 {
        !(self.folded() as u16)
    }
}

/// The part of the network header that a checksum covers: the pseudo header (RFC 9293 §3.1, RFC
/// 8200 §8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// Source address of the packet.
    pub source: IpAddr,
    /// Destination address of the packet.
    pub destination: IpAddr,
}

impl Addresses {
    /// Returns the sum of the pseudo header of a packet of `protocol` with `length` bytes after the
    /// network header.
    pub fn pseudo_header(&self, protocol: u8, length: u32) -> Sum {
        let sum = Sum::default().with(&length.to_be_bytes()).with_word(protocol.into());
        [self.source, self.destination].into_iter().fold(sum, |sum, address| match address {
            IpAddr::V4(address) => sum.with(&address.octets()),
            IpAddr::V6(address) => sum.with(&address.octets()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_example_of_the_rfc() {
        // RFC 1071 §3: the sum is ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().with(&bytes).checksum(), !0xddf2);
        let parts = Sum::default().with(&bytes[6..]).with(&bytes[..6]);
        assert_eq!(parts.checksum(), !0xddf2, "words in another order");
        assert_eq!(Sum::default().with(&[0xab]).checksum(), !0xab00, "an odd byte");
    }

    #[test]
    fn a_pseudo_header_is_that_of_its_fields() {
        let addresses = Addresses {
            source: Ipv4Addr::new(10, 0, 0, 1).into(),
            destination: Ipv4Addr::new(10, 0, 0, 2).into(),
        };
        let words = [0x0a00, 0x0001, 0x0a00, 0x0002, 6, 1480];
        let sum = words.into_iter().fold(Sum::default(), Sum::with_word);
        assert_eq!(addresses.pseudo_header(6, 1480).checksum(), sum.checksum());
    }

    #[test]
    fn sums_do_not_overflow() {
        let ones = vec![0xff; 1 << 20];
        let sum = (0..1 << 8).fold(Sum::default(), |sum, _| sum.with(&ones));
        assert_eq!(sum.checksum(), 0);
    }
}
