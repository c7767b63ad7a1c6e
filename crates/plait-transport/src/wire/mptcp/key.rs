//! Values derived from the keys of a connection (RFC 8684 §3.1, §3.2), all with SHA-256.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// Returns the token of the end with this key: the upper 32 bits of the key's hash. The token
/// identifies a connection.
pub fn token(key: u64) -> u32 {
    let [a, b, c, d, ..] = hash(key);
    u32::from_be_bytes([a, b, c, d])
}

/// Returns the initial data sequence number of the end with this key: the lower 64 bits of the
/// key's hash. The stream's first byte has the number after it.
pub fn initial_data_number(key: u64) -> u64 {
    let [.., a, b, c, d, e, f, g, h] = hash(key);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn hash(key: u64) -> [u8; 32] {
    Sha256::digest(key.to_be_bytes()).into()
}

/// The secrets of one end in a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The end's key.
    pub key: u64,
    /// The end's random number in the join.
    pub nonce: u32,
}

/// Returns the proof, in a join, that `prover` knows both keys. It is an HMAC; its key and its
/// message begin with the values of `prover` (§3.2).
pub fn proof(prover: End, peer: End) -> [u8; 32] {
    let keys = [prover.key, peer.key].map(u64::to_be_bytes).concat();
    let mut hmac = Hmac::<Sha256>::new_from_slice(&keys).unwrap_or_else(|_| unreachable!("any key will do"));
    hmac.update(&prover.nonce.to_be_bytes());
    hmac.update(&peer.nonce.to_be_bytes());
    hmac.finalize().into_bytes().into()
}

/// Returns the part of a proof in the MP_JOIN of a SYN/ACK: its upper 64 bits.
pub fn truncated(proof: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *proof;
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Returns the part of a proof in the MP_JOIN of the third packet: its upper 160 bits.
pub fn shortened(proof: &[u8; 32]) -> [u8; 20] {
    let mut upper = [0; 20];
    upper.copy_from_slice(&proof[..20]);
    upper
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proofs from Linux' own test (net/mptcp/crypto_test.c in 6.12); keys and nonces are given as
    /// letters.
    #[test]
    fn proofs_are_those_of_linux() {
        let key = |text: &[u8; 8]| u64::from_be_bytes(*text);
        let nonce = |text: &[u8; 4]| u32::from_be_bytes(*text);
        let cases = [
            (b"0b0b0b0b", b"0b0b0b0b", b"4869", b"2054", 0x8385_e24f_b423_5ac3),
            (b"aaaaaaaa", b"aaaaaaaa", b"dddd", b"dddd", 0x2c5e_2191_64ff_1dca),
            (b"01020304", b"05060708", b"cdcd", b"cdcd", 0xe73b_9ba9_9699_69ce),
        ];
        for (first, second, one, two, expected) in cases {
            let prover = End { key: key(first), nonce: nonce(one) };
            let peer = End { key: key(second), nonce: nonce(two) };
            assert_eq!(truncated(&proof(prover, peer)), expected);
        }
    }

    /// By sha256sum: 66840dda154e8a11…f5a101d3d29d6f72.
    #[test]
    fn tokens_and_first_numbers_are_parts_of_the_hash() {
        let key = 0x0102_0304_0506_0708;
        assert_eq!((token(key), initial_data_number(key)), (0x6684_0dda, 0xf5a1_01d3_d29d_6f72));
    }
}
