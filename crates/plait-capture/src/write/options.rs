//! TCP's options: of RFC 7323 (timestamps, window scale), RFC 2018 (selective acknowledgements) and RFC 8684 (MPTCP).

use super::ip;
use hmac::{Hmac, KeyInit as _, Mac as _};
use plait_sched::PathId;
use sha2::{Digest as _, Sha256};

/// The sender's and the receiver's key.
pub(super) const KEYS: [u64; 2] = [0x706c_6169_7400_0001, 0x706c_6169_7400_0002];
/// Random numbers of either end in joins; the path's number is added.
const NONCES: [u32; 2] = [0x706c_0100, 0x706c_0200];

/// MPTCP's option; its subtypes with version 1, or with flags that are not set.
const MPTCP: u8 = 30;
const CAPABLE: u8 = 0x01;
const JOIN: u8 = 0x10;
const DSS: u8 = 0x20;

/// The options of a packet.
#[derive(Clone, Debug)]
pub(super) struct Options {
    bytes: Vec<u8>,
    long: bool,
}

impl Options {
    /// None yet. If `long`, MPTCP's numbers have 64 bits, and there are no checksums.
    pub(super) fn new(long: bool) -> Self {
        Self { bytes: Vec::new(), long }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// All of them, as long as headers can be.
    pub(super) fn padded(&mut self) -> &[u8] {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        &self.bytes
    }

    /// Those of a SYN: largest segment, SACK permitted, timestamps, window scale.
    pub(super) fn put_syn(&mut self, segment: u16, timestamp: u32, echo: u32, scale: u8) {
        self.bytes.extend_from_slice(&[2, 4]);
        self.bytes.extend_from_slice(&segment.to_be_bytes());
        self.bytes.extend_from_slice(&[4, 2, 8, 10]);
        self.put_numbers([timestamp, echo]);
        self.bytes.extend_from_slice(&[1, 3, 3, scale]);
    }

    pub(super) fn put_timestamps(&mut self, timestamp: u32, echo: u32) {
        self.bytes.extend_from_slice(&[1, 1, 8, 10]);
        self.put_numbers([timestamp, echo]);
    }

    /// Selective blocks: left and right edges.
    pub(super) fn put_blocks(&mut self, blocks: impl Iterator<Item = (u32, u32)>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[1, 1, 5, 2]);
        blocks.for_each(|(left, right)| self.put_numbers([left, right]));
        match self.bytes.len() - start {
            4 => self.bytes.truncate(start),
            length => self.bytes[start + 3] = length as u8 - 2,
        }
    }

    /// MP_CAPABLE of version 1 (RFC 8684 §3.1), with HMAC-SHA256 and with none, the receiver's or both keys.
    pub(super) fn put_capable(&mut self, keys: &[u64]) {
        const CHECKSUMS: u8 = 0x80;
        const SHA256: u8 = 0x01;
        let flags = SHA256 | if self.long { 0 } else { CHECKSUMS };
        self.bytes.extend_from_slice(&[MPTCP, 4 + 8 * keys.len() as u8, CAPABLE, flags]);
        keys.iter().for_each(|key| self.bytes.extend_from_slice(&key.to_be_bytes()));
    }

    /// The MP_JOIN of a SYN (§3.2), with the backup flag and the address' number: the receiver's token and a random number.
    pub(super) fn put_join(&mut self, path: PathId, backup: bool, address: u8) {
        self.bytes.extend_from_slice(&[MPTCP, 12, JOIN | u8::from(backup), address]);
        self.bytes.extend_from_slice(&Sha256::digest(KEYS[1].to_be_bytes())[..4]);
        self.bytes.extend_from_slice(&nonce(path, 0));
    }

    /// That of the answer: a proof, cut, and a random number.
    pub(super) fn put_join_answer(&mut self, path: PathId, backup: bool, address: u8) {
        self.bytes.extend_from_slice(&[MPTCP, 16, JOIN | u8::from(backup), address]);
        self.bytes.extend_from_slice(&proof(path, 1)[..8]);
        self.bytes.extend_from_slice(&nonce(path, 1));
    }

    /// That of the third packet: a proof.
    pub(super) fn put_join_proof(&mut self, path: PathId) {
        self.bytes.extend_from_slice(&[MPTCP, 24, JOIN, 0]);
        self.bytes.extend_from_slice(&proof(path, 0)[..20]);
    }

    /// A mapping (§3.3.1) of `bytes` zeros from `number` on, which begin at `start` on the subflow; and what the sender has
    /// got of the other direction. It is of the size that is simulated.
    pub(super) fn put_mapping(&mut self, number: u64, start: u64, bytes: u32, got: u64) {
        let (length, flags) = if self.long { (22, 0b1101) } else { (20, 0b0101) };
        self.bytes.extend_from_slice(&[MPTCP, length, DSS, flags]);
        self.put_numbers([got as u32]);
        if self.long {
            self.bytes.extend_from_slice(&number.to_be_bytes());
        } else {
            self.put_numbers([number as u32]);
        }
        let fields = self.bytes.len();
        self.put_numbers([(start as u32).wrapping_add(1)]);
        self.bytes.extend_from_slice(&(bytes as u16).to_be_bytes());
        if self.long {
            self.bytes.extend_from_slice(&[1, 1]);
        } else {
            // Over the whole number, what follows it, and the payload.
            let others = !ip::checksum(0, &number.to_be_bytes());
            let sum = ip::checksum(u32::from(others), &self.bytes[fields..]);
            self.bytes.extend_from_slice(&sum.to_be_bytes());
        }
    }

    /// A data acknowledgement (§3.3.2).
    pub(super) fn put_data_ack(&mut self, number: u64) {
        if self.long {
            self.bytes.extend_from_slice(&[MPTCP, 12, DSS, 0b0011]);
            self.bytes.extend_from_slice(&number.to_be_bytes());
        } else {
            self.bytes.extend_from_slice(&[MPTCP, 8, DSS, 0b0001]);
            self.put_numbers([number as u32]);
        }
    }

    fn put_numbers<const N: usize>(&mut self, numbers: [u32; N]) {
        numbers.iter().for_each(|number| self.bytes.extend_from_slice(&number.to_be_bytes()));
    }
}

/// The random number of an end in the join of a path.
fn nonce(path: PathId, end: usize) -> [u8; 4] {
    (NONCES[end] + u32::from(path.0)).to_be_bytes()
}

/// What proves that an end knows both keys (RFC 8684 §3.2): its own key and random number come first.
fn proof(path: PathId, end: usize) -> [u8; 32] {
    let keys = [KEYS[end], KEYS[1 - end]].map(u64::to_be_bytes).concat();
    let mut hmac = Hmac::<Sha256>::new_from_slice(&keys).unwrap_or_else(|_| unreachable!("any key will do"));
    hmac.update(&nonce(path, end));
    hmac.update(&nonce(path, 1 - end));
    hmac.finalize().into_bytes().into()
}
