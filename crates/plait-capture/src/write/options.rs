//! TCP's options as the packets of a simulated connection carry them: which, and with what numbers.

use super::ZEROS;
use plait_sched::PathId;
use plait_transport::wire::mptcp::key::{self, End};
use plait_transport::wire::mptcp::{Capable, DataSequence, Join, Keys, Mapping, MptcpOption, Number};
use plait_transport::wire::tcp::{OPTION_BYTES, Options, SackBlock, SackBlocks, TcpOption};

/// The sender's and the receiver's key.
pub(super) const KEYS: [u64; 2] = [0x706c_6169_7400_0001, 0x706c_6169_7400_0002];
/// Random numbers of either end in joins; the path's number is added.
const NONCES: [u32; 2] = [0x706c_0100, 0x706c_0200];
/// MPTCP of RFC 8684.
const VERSION: u8 = 1;

/// Puts the options of a packet together. In this project's packets no two of them need more room than there is.
fn all<const N: usize>(list: [TcpOption<'_>; N]) -> Options {
    let mut options = Options::new();
    list.iter().for_each(|option| push(&mut options, option));
    options
}

fn push(options: &mut Options, option: &TcpOption<'_>) {
    let fits = options.push(option);
    debug_assert!(fits, "no room for {option:?} beside {options:?}");
}

/// Those of a SYN: largest segment, SACK permitted, timestamps, window scale.
pub(super) fn of_syn(segment: u16, value: u32, echo: u32, scale: u8) -> Options {
    all([
        TcpOption::MaximumSegmentSize(segment),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { value, echo },
        TcpOption::NoOperation,
        TcpOption::WindowScale(scale),
    ])
}

/// Those of every other packet.
pub(super) fn timestamps(value: u32, echo: u32) -> Options {
    all([TcpOption::NoOperation, TcpOption::NoOperation, TcpOption::Timestamps { value, echo }])
}

/// Adds selective blocks, as many as there is room for: left and right edges.
pub(super) fn put_blocks(options: &mut Options, edges: impl Iterator<Item = (u32, u32)>) {
    const AROUND: usize = 4;
    const BLOCK: usize = 8;
    let room = OPTION_BYTES.saturating_sub(options.padded().len() + AROUND) / BLOCK;
    let mut blocks = SackBlocks::default();
    for (left, right) in edges.take(room) {
        blocks.push(SackBlock { left, right });
    }
    if !blocks.as_slice().is_empty() {
        for option in [TcpOption::NoOperation, TcpOption::NoOperation, TcpOption::Sack(blocks)] {
            push(options, &option);
        }
    }
}

/// MPTCP's options of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multipath {
    /// Numbers of the stream have 64 bits, and there are no checksums.
    pub(super) long: bool,
}

impl Multipath {
    pub(super) fn put(self, options: &mut Options, option: MptcpOption<'_>) {
        push(options, &TcpOption::Mptcp(option));
        // As Linux pads a mapping without a checksum.
        if matches!(option, MptcpOption::DataSequence(DataSequence { mapping: Some(_), .. })) && self.long {
            push(options, &TcpOption::NoOperation);
            push(options, &TcpOption::NoOperation);
        }
    }

    /// With HMAC-SHA256.
    pub(super) fn capable(self, keys: Keys) -> MptcpOption<'static> {
        let flags = Capable::HMAC_SHA256 | if self.long { 0 } else { Capable::CHECKSUMS };
        MptcpOption::Capable(Capable { version: VERSION, flags, keys })
    }

    /// Of a SYN: the receiver's token and a random number.
    pub(super) fn join(self, path: PathId, backup: bool, address: u8) -> MptcpOption<'static> {
        let (token, nonce) = (key::token(KEYS[1]), end(path, 0).nonce);
        MptcpOption::Join(Join::Syn { backup, address, token, nonce })
    }

    /// Of the answer: a proof, cut, and a random number.
    pub(super) fn join_answer(self, path: PathId, backup: bool, address: u8) -> MptcpOption<'static> {
        let proof = key::truncated(&key::proof(end(path, 1), end(path, 0)));
        MptcpOption::Join(Join::SynAck { backup, address, proof, nonce: end(path, 1).nonce })
    }

    /// Of the third packet: a proof.
    pub(super) fn join_proof(self, path: PathId) -> MptcpOption<'static> {
        MptcpOption::Join(Join::Ack { proof: key::shortened(&key::proof(end(path, 0), end(path, 1))) })
    }

    /// A mapping of `bytes` zeros from `number` on, which begin at `start` on the subflow; and what the sender has got of the
    /// other direction. It is of the size that is simulated.
    pub(super) fn mapping(self, number: u64, start: u64, bytes: u32, got: u64) -> MptcpOption<'static> {
        let subflow = (start as u32).wrapping_add(1);
        let length = bytes as u16;
        let mapping = if self.long {
            Mapping { data: Number::Long(number), subflow, length, checksum: None }
        } else {
            let checksum = Mapping::checksum(number, subflow, length, &ZEROS[..bytes as usize]);
            Mapping { data: Number::Short(number as u32), subflow, length, checksum: Some(checksum) }
        };
        let acknowledgement = Some(Number::Short(got as u32));
        MptcpOption::DataSequence(DataSequence { acknowledgement, mapping: Some(mapping), fin: false })
    }

    /// A data acknowledgement.
    pub(super) fn data_ack(self, number: u64) -> MptcpOption<'static> {
        let number = if self.long { Number::Long(number) } else { Number::Short(number as u32) };
        MptcpOption::DataSequence(DataSequence { acknowledgement: Some(number), ..DataSequence::default() })
    }
}

/// The sender (0) or the receiver (1) in the join of a path.
fn end(path: PathId, end: usize) -> End {
    End { key: KEYS[end], nonce: NONCES[end] + u32::from(path.0) }
}
