//! Conversion between counters that never wrap and their numbers on the wire.
//!
//! An endpoint counts in 64 bits. SCTP's TSN, TCP's sequence numbers and MPTCP's short data
//! sequence numbers are the lower 32 bits of the sum of such a counter and an initial number
//! (serial numbers: RFC 1982, RFC 9293 §3.4, RFC 9260 §1.6). QUIC sends as many low bits as the
//! receiver needs (RFC 9000 §17.1). Decoding takes an *expected* value, and returns the counter
//! nearest to it.

/// Returns the number nearest to `expected` with the lower 32 bits `low`. Of two equally near
/// numbers, returns the smaller.
///
/// Numbers also wrap at 2⁶⁴: a number below 0 becomes a number just below 2⁶⁴.
pub const fn nearest(low: u32, expected: u64) -> u64 {
    let ahead = low.wrapping_sub(expected as u32) as i32;
    expected.wrapping_add_signed(ahead as i64)
}

/// A space of 32-bit numbers: a counter that starts at 0, where its number on the wire is
/// `initial`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// Number of counter 0: the initial TSN, or the initial sequence number.
    pub initial: u32,
}

impl Sequence {
    /// Returns the number of `counter` on the wire.
    pub const fn wrap(self, counter: u64) -> u32 {
        self.initial.wrapping_add(counter as u32)
    }

    /// Returns the counter nearest to `expected` with the wire number `number`. A number from
    /// before the start gives a counter just below 2⁶⁴.
    pub const fn unwrap(self, number: u32, expected: u64) -> u64 {
        nearest(number.wrapping_sub(self.initial), expected)
    }
}

/// The low bits of a QUIC packet number, as sent (RFC 9000 §17.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truncated {
    /// The low bits; others are 0.
    pub low: u32,
    /// Number of bytes for the low bits, 1 to 4.
    pub bytes: u8,
}

impl Truncated {
    /// Truncates `number` to as many bytes as the receiver needs to expand it unambiguously: RFC
    /// 9000 A.2. `acknowledged` is the largest acknowledged number of the space. From 2³¹
    /// unacknowledged numbers on, four bytes do not suffice; a sender must stop before.
    pub const fn new(number: u64, acknowledged: Option<u64>) -> Self {
        let unacknowledged = match acknowledged {
            None => number.saturating_add(1),
            Some(acknowledged) => number.saturating_sub(acknowledged),
        };
        // Twice the range: log2(n) + 1 bits, rounded up.
        let bits = u64::BITS - unacknowledged.saturating_sub(1).leading_zeros() + 1;
        let bytes = if bits > 32 { 4 } else { bits.div_ceil(8) };
        Self { low: (number & ((1 << (8 * bytes)) - 1)) as u32, bytes: bytes as u8 }
    }

    /// Returns the full packet number, where `largest` is the largest number received in the space:
    /// RFC 9000 A.3.
    pub const fn expand(self, largest: Option<u64>) -> u64 {
        let expected = match largest {
            None => 0,
            Some(largest) => largest.saturating_add(1),
        };
        let window = 1u64 << (8 * self.bytes);
        let candidate = expected & !(window - 1) | self.low as u64;
        if candidate.saturating_add(window / 2) <= expected && candidate < (1 << 62) - window {
            candidate + window
        } else if candidate > expected.saturating_add(window / 2) && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_quic() {
        // RFC 9000 A.2: with 0xabe8b3 acknowledged, 0xac5c02 takes 16 bits, and 0xace8fe 18, so
        // three bytes.
        let acknowledged = Some(0xab_e8b3);
        assert_eq!(Truncated::new(0xac_5c02, acknowledged), Truncated { low: 0x5c02, bytes: 2 });
        assert_eq!(Truncated::new(0xac_e8fe, acknowledged), Truncated { low: 0xac_e8fe, bytes: 3 });
        // RFC 9000 A.3: after 0xa82f30ea, 0x9b32 in two bytes is 0xa82f9b32.
        assert_eq!(Truncated { low: 0x9b32, bytes: 2 }.expand(Some(0xa82f_30ea)), 0xa82f_9b32);
    }

    #[test]
    fn the_first_packet_numbers() {
        assert_eq!(Truncated::new(0, None), Truncated { low: 0, bytes: 1 });
        assert_eq!(Truncated { low: 0, bytes: 1 }.expand(None), 0);
        assert_eq!(Truncated { low: 255, bytes: 1 }.expand(None), 255);
        assert_eq!(Truncated { low: 255, bytes: 1 }.expand(Some(256)), 255);
        let end = (1 << 62) - 1;
        assert_eq!(Truncated::new(end, Some(end - 3)).expand(Some(end - 2)), end);
    }

    #[test]
    fn thirty_two_bits_around_their_wrap() {
        let sequence = Sequence { initial: u32::MAX - 1 };
        assert_eq!([0, 1, 2, 3].map(|counter| sequence.wrap(counter)), [u32::MAX - 1, u32::MAX, 0, 1]);
        assert_eq!(sequence.unwrap(0, 5), 2);
        assert_eq!(sequence.unwrap(1, 1 << 32), 3 + (1 << 32));
        assert_eq!(sequence.unwrap(u32::MAX - 2, 0), u64::MAX, "from before the start");
        assert_eq!(nearest(1 << 31, 0), 1 << 31 | u64::MAX << 32, "as far ahead as behind: behind");
    }
}
