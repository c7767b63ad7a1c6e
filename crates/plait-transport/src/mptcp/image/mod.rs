//! An end's packets as bytes: segments of TCP (`wire::tcp`), with MPTCP's options (`wire::mptcp`).
//!
//! Endpoints count segments of a subflow and of the stream; on the wire both are bytes. A subflow's bytes follow its SYN, and the
//! stream's follow a number that comes from its sender's key. Plain TCP, and what fell back to it, has no mapping: a place on the
//! subflow is one in the stream.
//!
//! # Not written
//! - Linux repeats its key with the first segments until one is acknowledged (MP_CAPABLE with data); here that is the third packet of
//!   the handshake alone, and a mapping says the rest.
//! - A SYN that is sent again asks for ECN as the first one does.
//! - No end closes: there are no FIN and DATA_FIN.

mod options;
mod reading;

use super::{Config, Grant};
use crate::boundaries::{Boundaries, Mapped, Segmentation};
use crate::packet::{Ack, Packet, TcpSegment};
use crate::protocol::Side;
use crate::sink::Transmit;
use crate::wire::checksum::Addresses;
use crate::wire::mptcp::key::initial_data_number;
use crate::wire::number::Sequence;
use crate::wire::tcp::{Flags, Header, Options, SackBlock};
use options::Multipath;
use plait_sched::PathId;
use std::net::{IpAddr, Ipv4Addr};

/// The window of an end that has nothing to say of it: it got no data.
const NO_WINDOW: u16 = u16::MAX;

/// What both ends of a connection know of it from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Addresses and ports of each path.
    pub paths: Vec<Place>,
    /// The keys of the client and of the server (RFC 8684 §3.1).
    pub keys: [u64; 2],
    /// Their initial sequence numbers, on every subflow.
    pub initial: [u32; 2],
}

/// Where a path's ends are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The client's address and the server's.
    pub addresses: [IpAddr; 2],
    /// The client's port and the server's.
    pub ports: [u16; 2],
    /// The number of the addresses (RFC 8684 §3.2); those of the first subflow are 0.
    pub number: u8,
    /// The subflow is to be used only if there is no other.
    pub backup: bool,
}

impl Agreed {
    /// Made up: addresses that are nobody's (RFC 6890), and keys and ports that are always the same.
    pub fn made_up(config: &Config, paths: usize, initial: [u32; 2]) -> Self {
        let place = |path: usize| {
            let address = |end: u8| IpAddr::V4(Ipv4Addr::new(10, 0, path as u8, end));
            Place {
                addresses: [address(1), address(2)],
                ports: [40_000 + path as u16, 5_001],
                number: Self::number(config.initial_path, PathId(path as u8)),
                backup: false,
            }
        };
        let keys = [0x706c_6169_7400_0001, 0x706c_6169_7400_0002];
        Self { paths: (0..paths).map(place).collect(), keys, initial }
    }

    /// The number of a path's addresses.
    pub fn number(initial: PathId, path: PathId) -> u8 {
        if path < initial { path.0 + 1 } else { path.0 }
    }
}

/// What a subflow is in a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// There is no MPTCP.
    Plain,
    First,
    Join,
}

/// What is known of one subflow.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Up to where the peer has sent, as far as was read.
    newest: u64,
    /// Up to where it has acknowledged ours.
    acknowledged: u64,
    /// The timestamp of the answer to the SYN.
    answer: u32,
}

/// One end's view of the bytes: it writes what the end sends, and reads what its peer sends.
#[derive(Clone, Debug)]
pub struct Image {
    side: Side,
    agreed: Agreed,
    multipath: bool,
    /// The peer speaks TCP, as its acknowledgements said.
    fallen_back: bool,
    initial_path: PathId,
    /// The largest segment, which is told without regard to options (RFC 6691).
    segment: u16,
    scale: u8,
    ecn: bool,
    two_way: bool,
    options: Multipath,
    /// The numbers of this end's first byte and of its peer's, in the stream.
    origins: [u64; 2],
    /// Up to where the peer has sent of the stream, and acknowledged ours, as far as was read.
    stream: Heard,
    heard: Vec<Heard>,
    sent: Boundaries,
}

/// What of a segment's header differs from packet to packet.
#[derive(Clone, Copy, Debug)]
struct Fields {
    /// The place of its first byte on the subflow.
    sequence: u32,
    acknowledgement: u32,
    flags: Flags,
    window: u16,
    options: Options,
}

impl Image {
    /// For one end of a connection.
    pub fn new(config: &Config, agreed: &Agreed, side: Side) -> Self {
        let order = |pair: [u64; 2]| match side {
            Side::Client => pair,
            Side::Server => [pair[1], pair[0]],
        };
        Self {
            side,
            agreed: agreed.clone(),
            multipath: config.multipath,
            fallen_back: false,
            initial_path: config.initial_path,
            segment: u16::try_from(config.packet_bytes().saturating_sub(PLAIN_HEADERS)).unwrap_or(u16::MAX),
            scale: config.window_scale(),
            ecn: config.ecn,
            two_way: config.two_way,
            options: Multipath { long: config.rules.long_numbers, side, keys: order(agreed.keys) },
            origins: order(agreed.keys.map(|key| initial_data_number(key).wrapping_add(1))),
            stream: Heard::default(),
            heard: vec![Heard::default(); agreed.paths.len()],
            sent: Boundaries::of_subflows(agreed.paths.len()),
        }
    }

    /// Where the segments begin that this end has sent.
    pub const fn boundaries(&self) -> &Boundaries {
        &self.sent
    }

    /// Appends a packet as it leaves the end, on a path that was agreed upon. `payload`: the bytes of its segment, if it carries one.
    /// `peer`: where the segments begin that the peer has sent.
    pub fn encode(&mut self, transmit: &Transmit<'_>, payload: &[u8], peer: &Boundaries, out: &mut Vec<u8>) {
        let path = transmit.path;
        let fields = match transmit.packet {
            Packet::Segment(segment) => self.segment(path, segment, payload, peer),
            Packet::Ack(ack) => self.ack(path, ack, peer),
            Packet::Syn { timestamp } => self.syn(path, *timestamp),
            Packet::SynAck { timestamp, echo, window } => self.syn_ack(path, *timestamp, *echo, *window),
            Packet::Confirm { timestamp } => self.confirmation(path, *timestamp),
            other => unreachable!("TCP sends no {other:?}"),
        };
        let Fields { sequence, acknowledgement, flags, window, options } = fields;
        let [source_port, destination_port] = self.own_first(self.agreed.paths[path.index()].ports);
        let header =
            Header { source_port, destination_port, sequence, acknowledgement, flags, window, urgent: 0 };
        header.encode(&options, &self.addresses(path), payload, out);
        out.extend_from_slice(payload);
    }

    fn segment(&mut self, path: PathId, segment: &TcpSegment, payload: &[u8], peer: &Boundaries) -> Fields {
        debug_assert_eq!(payload.len(), segment.data.bytes as usize, "the payload is the segment's");
        let bytes = segment.data.bytes;
        let subflow = &mut self.sent.subflows[path.index()];
        // A retransmission keeps its number and its place, which the endpoint does not know any more of what the peer has acknowledged.
        if segment.number >= subflow.numbers.next() {
            let offset = segment.offset;
            subflow.push(bytes, Mapped { segment: segment.data.segment, offset });
            self.sent.stream.note(segment.data.segment, offset, bytes);
        }
        let start = subflow.numbers.start(segment.number).unwrap_or_default();
        let offset = subflow.mapped(segment.number).map_or(segment.offset, |mapped| mapped.offset);
        let mut options = options::timestamps(segment.timestamp, segment.echo);
        if self.multipath && !self.fallen_back {
            let got = match segment.ack {
                Some(ack) if ack.plain => None,
                ack => Some(self.origins[1].wrapping_add(ack.map_or(0, |ack| position(&ack)))),
            };
            let number = self.origins[0].wrapping_add(offset);
            let mapping = self.options.mapping(number, start, payload, got);
            self.options.put(&mut options, mapping);
        }
        let mut flags = if segment.push { Flags::ACK | Flags::PSH } else { Flags::ACK };
        if segment.ecn.reduced {
            flags = flags | Flags::CWR;
        }
        let (mut acknowledgement, mut window) = (self.peer_bytes().wrap(0), NO_WINDOW);
        if let Some(ack) = &segment.ack {
            flags = flags | congestion(ack);
            acknowledgement = self.acknowledgement(path, ack, peer);
            window = self.scaled(ack.window);
            options::put_blocks(&mut options, self.blocks(path, ack, peer));
        }
        Fields { sequence: self.own_bytes().wrap(start), acknowledgement, flags, window, options }
    }

    fn ack(&self, path: PathId, ack: &Ack, peer: &Boundaries) -> Fields {
        let mut options = options::timestamps(ack.timestamp, ack.echo);
        if !ack.plain {
            let data_ack = self.options.data_ack(self.origins[1].wrapping_add(position(ack)));
            self.options.put(&mut options, data_ack);
        }
        options::put_blocks(&mut options, self.blocks(path, ack, peer));
        Fields {
            sequence: self.next_of(path),
            acknowledgement: self.acknowledgement(path, ack, peer),
            flags: Flags::ACK | congestion(ack),
            window: self.scaled(ack.window),
            options,
        }
    }

    fn syn(&self, path: PathId, timestamp: u32) -> Fields {
        // Who gets no data tells of no window.
        let scale = if self.two_way { self.scale } else { 0 };
        let mut options = options::of_syn(self.segment, timestamp, 0, scale);
        let option = self.options.syn(path, self.role(path), &self.agreed);
        option.into_iter().for_each(|option| self.options.put(&mut options, option));
        // RFC 3168 §6.1.1.
        let ecn = if self.ecn { Flags::ECE | Flags::CWR } else { Flags::default() };
        let sequence = self.own_bytes().wrap(0).wrapping_sub(1);
        Fields { sequence, acknowledgement: 0, flags: Flags::SYN | ecn, window: NO_WINDOW, options }
    }

    fn syn_ack(&self, path: PathId, timestamp: u32, echo: u32, window: u64) -> Fields {
        let mut options = options::of_syn(self.segment, timestamp, echo, self.scale);
        let option = self.options.syn_ack(path, self.role(path), &self.agreed);
        option.into_iter().for_each(|option| self.options.put(&mut options, option));
        let ecn = if self.ecn { Flags::ECE } else { Flags::default() };
        Fields {
            sequence: self.own_bytes().wrap(0).wrapping_sub(1),
            acknowledgement: self.peer_bytes().wrap(0),
            flags: Flags::SYN | Flags::ACK | ecn,
            // The window of a SYN is not scaled (RFC 7323 §2.2).
            window: u16::try_from(window).unwrap_or(u16::MAX),
            options,
        }
    }

    fn confirmation(&self, path: PathId, timestamp: u32) -> Fields {
        let mut options = options::timestamps(timestamp, self.heard[path.index()].answer);
        let option = self.options.confirmation(path, self.role(path));
        option.into_iter().for_each(|option| self.options.put(&mut options, option));
        let acknowledgement = self.peer_bytes().wrap(0);
        Fields {
            sequence: self.next_of(path),
            acknowledgement,
            flags: Flags::ACK,
            window: NO_WINDOW,
            options,
        }
    }

    /// The number of what this end sends next on a subflow.
    fn next_of(&self, path: PathId) -> u32 {
        self.own_bytes().wrap(self.sent.subflows[path.index()].numbers.end())
    }

    fn acknowledgement(&self, path: PathId, ack: &Ack, peer: &Boundaries) -> u32 {
        self.peer_bytes().wrap(peer.subflows[path.index()].numbers.start(ack.cumulative).unwrap_or_default())
    }

    /// RFC 2883 §4: what arrived again is reported first.
    fn blocks<'a>(
        &self,
        path: PathId,
        ack: &'a Ack,
        peer: &'a Boundaries,
    ) -> impl Iterator<Item = SackBlock> + use<'a> {
        let subflow: &Segmentation = &peer.subflows[path.index()].numbers;
        let bytes = self.peer_bytes();
        let edge = move |number: u64| bytes.wrap(subflow.start(number).unwrap_or_default());
        let end = move |number: u64| bytes.wrap(subflow.end_of(number).unwrap_or_default());
        let duplicate = ack.duplicate.map(|number| (number, number));
        let runs = duplicate.into_iter().chain(ack.blocks());
        runs.map(move |(first, last)| SackBlock { left: edge(first), right: end(last) })
    }

    fn scaled(&self, window: u64) -> u16 {
        u16::try_from(window >> self.scale).unwrap_or(u16::MAX)
    }

    fn role(&self, path: PathId) -> Role {
        match (self.multipath, path == self.initial_path) {
            (false, _) => Role::Plain,
            (true, true) => Role::First,
            (true, false) => Role::Join,
        }
    }

    /// What is of the client and of the server, as own and the peer's.
    const fn own_first<T: Copy>(&self, [client, server]: [T; 2]) -> [T; 2] {
        match self.side {
            Side::Client => [client, server],
            Side::Server => [server, client],
        }
    }

    /// Numbers of a subflow's bytes, which follow the SYN.
    const fn own_bytes(&self) -> Sequence {
        let [own, _] = self.own_first(self.agreed.initial);
        Sequence { initial: own.wrapping_add(1) }
    }

    const fn peer_bytes(&self) -> Sequence {
        let [_, peer] = self.own_first(self.agreed.initial);
        Sequence { initial: peer.wrapping_add(1) }
    }

    /// Of a packet of this end's.
    fn addresses(&self, path: PathId) -> Addresses {
        let [source, destination] = self.own_first(self.agreed.paths[path.index()].addresses);
        Addresses { source, destination }
    }
}

impl Config {
    /// The window's scale (RFC 7323 §2.2): the least by which the header's field has room for the largest window.
    pub fn window_scale(&self) -> u8 {
        let window = self.connection.receive_window;
        match self.rules.grant {
            Grant::Free => super::grant::window_scale(window, self.segment_bytes()),
            Grant::Buffer => (0..MAX_SCALE).find(|scale| window >> scale <= FIELD).unwrap_or(MAX_SCALE),
        }
    }

    /// The largest window up to `window` that the header's field can tell.
    pub(super) fn tellable(&self, window: u64) -> u64 {
        let scale = self.window_scale();
        (window >> scale).min(FIELD) << scale
    }
}

/// Headers of IPv4 and TCP without options.
const PLAIN_HEADERS: u64 = 40;
/// The largest shift of a window (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;
/// The largest window field.
const FIELD: u64 = u16::MAX as u64;

/// Up to where an acknowledgement has got the stream, in bytes.
const fn position(ack: &Ack) -> u64 {
    ack.window_end.saturating_sub(ack.window)
}

const fn congestion(ack: &Ack) -> Flags {
    if ack.congested { Flags::ECE } else { Flags(0) }
}
