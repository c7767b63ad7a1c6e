//! Selects the options of an endpoint's packets, and their values.

use super::{Agreed, Role};
use crate::protocol::Side;
use crate::wire::mptcp::key::{self, End};
use crate::wire::mptcp::{Capable, DataSequence, Join, Keys, Mapping, MptcpOption, Number};
use crate::wire::tcp::{OPTION_BYTES, Options, SackBlock, SackBlocks, TcpOption};
use plait_sched::PathId;

/// MPTCP of RFC 8684.
const VERSION: u8 = 1;

/// Collects the options of a packet. In our packets they always fit.
fn all<const N: usize>(list: [TcpOption<'_>; N]) -> Options {
    let mut options = Options::new();
    list.iter().for_each(|option| push(&mut options, option));
    options
}

fn push(options: &mut Options, option: &TcpOption<'_>) {
    let fits = options.push(option);
    debug_assert!(fits, "no room for {option:?} beside {options:?}");
}

/// Options of a SYN: largest segment, SACK permitted, timestamps, window scale.
pub(super) fn of_syn(segment: u16, value: u32, echo: u32, scale: u8) -> Options {
    all([
        TcpOption::MaximumSegmentSize(segment),
        TcpOption::SackPermitted,
        TcpOption::Timestamps { value, echo },
        TcpOption::NoOperation,
        TcpOption::WindowScale(scale),
    ])
}

/// Options of every other packet.
pub(super) fn timestamps(value: u32, echo: u32) -> Options {
    all([TcpOption::NoOperation, TcpOption::NoOperation, TcpOption::Timestamps { value, echo }])
}

/// Adds as many selective blocks as fit.
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
    /// True if numbers of the stream have 64 bits and there are no checksums.
    pub(super) long: bool,
    pub(super) side: Side,
    /// The keys of this end and of its peer.
    pub(super) keys: [u64; 2],
}

impl Multipath {
    pub(super) fn put(self, options: &mut Options, option: MptcpOption<'_>) {
        push(options, &TcpOption::Mptcp(option));
        // Linux pads a mapping without a checksum in the same way.
        if matches!(option, MptcpOption::DataSequence(DataSequence { mapping: Some(_), .. })) && self.long {
            push(options, &TcpOption::NoOperation);
            push(options, &TcpOption::NoOperation);
        }
    }

    fn capable(self, keys: Keys) -> MptcpOption<'static> {
        let flags = Capable::HMAC_SHA256 | if self.long { 0 } else { Capable::CHECKSUMS };
        MptcpOption::Capable(Capable { version: VERSION, flags, keys })
    }

    /// Returns the option of a SYN: MP_CAPABLE without a key, or MP_JOIN with the peer's token and
    /// a random number.
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

    /// Returns the option of a SYN/ACK: MP_CAPABLE with the key, or MP_JOIN with a truncated proof
    /// and a random number.
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

    /// Returns the option of the third packet: MP_CAPABLE with both keys, or MP_JOIN with a proof.
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

    /// Returns a mapping of `payload` from data sequence number `number` on, which begins at
    /// `start` on the subflow. `got` is the data acknowledgement of the other direction, if the
    /// packet carries one. The size is that in [`Overhead`](crate::packet::Overhead).
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

    /// Returns a data acknowledgement.
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

/// Returns an end's random number in the join of a path.
fn nonce(side: Side, path: PathId) -> u32 {
    let first = match side {
        Side::Client => 0x706c_0100,
        Side::Server => 0x706c_0200,
    };
    first + u32::from(path.0)
}
