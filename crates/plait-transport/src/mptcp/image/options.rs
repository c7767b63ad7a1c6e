//! The options of an end's packets: which, and with what numbers.

use super::{Agreed, Role};
use crate::protocol::Side;
use crate::wire::mptcp::key::{self, End};
use crate::wire::mptcp::{Capable, DataSequence, Join, Keys, Mapping, MptcpOption, Number};
use crate::wire::tcp::{OPTION_BYTES, Options, SackBlock, SackBlocks, TcpOption};
use plait_sched::PathId;

/// MPTCP of RFC 8684.
const VERSION: u8 = 1;

/// Puts the options of a packet together. In our packets no two of them need more room than there is.
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

/// Adds selective blocks, as many as there is room for.
pub(super) fn put_blocks(options: &mut Options, edges: impl Iterator<Item = SackBlock>) {
    const AROUND: usize = 4;
    const BLOCK: usize = 8;
    let room = OPTION_BYTES.saturating_sub(options.padded().len() + AROUND) / BLOCK;
    let mut blocks = SackBlocks::default();
    edges.take(room).for_each(|block| {
        blocks.push(block);
    });
    if !blocks.as_slice().is_empty() {
        for option in [TcpOption::NoOperation, TcpOption::NoOperation, TcpOption::Sack(blocks)] {
            push(options, &option);
        }
    }
}

/// MPTCP's options of one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Multipath {
    /// Numbers of the stream have 64 bits, and there are no checksums.
    pub(super) long: bool,
    pub(super) side: Side,
    /// The end's own key and its peer's.
    pub(super) keys: [u64; 2],
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

    fn capable(self, keys: Keys) -> MptcpOption<'static> {
        let flags = Capable::HMAC_SHA256 | if self.long { 0 } else { Capable::CHECKSUMS };
        MptcpOption::Capable(Capable { version: VERSION, flags, keys })
    }

    /// Of a SYN: nothing of the keys, or the peer's token and a random number.
    pub(super) fn syn(self, path: PathId, role: Role, agreed: &Agreed) -> Option<MptcpOption<'static>> {
        match role {
            Role::Plain => None,
            Role::First => Some(self.capable(Keys::None)),
            Role::Join => Some(MptcpOption::Join(Join::Syn {
                backup: agreed.paths[path.index()].backup,
                address: agreed.paths[path.index()].number,
                token: key::token(self.keys[1]),
                nonce: self.end(path).nonce,
            })),
        }
    }

    /// Of its answer: the key, or a proof, cut, and a random number.
    pub(super) fn syn_ack(self, path: PathId, role: Role, agreed: &Agreed) -> Option<MptcpOption<'static>> {
        match role {
            Role::Plain => None,
            Role::First => Some(self.capable(Keys::Sender(self.keys[0]))),
            Role::Join => Some(MptcpOption::Join(Join::SynAck {
                backup: agreed.paths[path.index()].backup,
                address: agreed.paths[path.index()].number,
                proof: key::truncated(&key::proof(self.end(path), self.peer(path))),
                nonce: self.end(path).nonce,
            })),
        }
    }

    /// Of the third packet: both keys, or a proof.
    pub(super) fn confirmation(self, path: PathId, role: Role) -> Option<MptcpOption<'static>> {
        let [own, peer] = self.keys;
        match role {
            Role::Plain => None,
            Role::First => Some(self.capable(Keys::Both(own, peer, None))),
            Role::Join => {
                let proof = key::shortened(&key::proof(self.end(path), self.peer(path)));
                Some(MptcpOption::Join(Join::Ack { proof }))
            }
        }
    }

    /// A mapping of `payload` from `number` on, which begins at `start` on the subflow, and what has arrived of the other
    /// direction, if the packet is to tell. It is of the size that [`Overhead`](crate::packet::Overhead) has for it.
    pub(super) fn mapping(
        self,
        number: u64,
        start: u64,
        payload: &[u8],
        got: Option<u64>,
    ) -> MptcpOption<'static> {
        let subflow = (start as u32).wrapping_add(1);
        let length = payload.len() as u16;
        let mapping = if self.long {
            Mapping { data: Number::Long(number), subflow, length, checksum: None }
        } else {
            let checksum = Some(Mapping::checksum(number, subflow, length, payload));
            Mapping { data: Number::Short(number as u32), subflow, length, checksum }
        };
        let acknowledgement = got.map(|got| Number::Short(got as u32));
        MptcpOption::DataSequence(DataSequence { acknowledgement, mapping: Some(mapping), fin: false })
    }

    /// A data acknowledgement.
    pub(super) fn data_ack(self, number: u64) -> MptcpOption<'static> {
        let number = if self.long { Number::Long(number) } else { Number::Short(number as u32) };
        MptcpOption::DataSequence(DataSequence { acknowledgement: Some(number), ..DataSequence::default() })
    }

    fn end(self, path: PathId) -> End {
        End { key: self.keys[0], nonce: nonce(self.side, path) }
    }

    fn peer(self, path: PathId) -> End {
        let side = match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        End { key: self.keys[1], nonce: nonce(side, path) }
    }
}

/// An end's random number in the join of a path.
fn nonce(side: Side, path: PathId) -> u32 {
    let first = match side {
        Side::Client => 0x706c_0100,
        Side::Server => 0x706c_0200,
    };
    first + u32::from(path.0)
}
