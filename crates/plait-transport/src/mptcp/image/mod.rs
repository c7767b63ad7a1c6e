//! Encodes and decodes an endpoint's packets: TCP segments (`wire::tcp`) with MPTCP's options
//! (`wire::mptcp`).
//!
//! Endpoints count the segments of a subflow and of the stream; on the wire both are byte
//! sequences. A subflow's bytes follow its SYN. The stream's numbers begin with a number derived
//! from its sender's key. Plain TCP, also after a fall-back, has no mapping: an offset on the
//! subflow is an offset in the stream.
//!
//! # Not written
//! - Linux repeats its key with the first segments until one is acknowledged (MP_CAPABLE with
//!   data). Here only the third packet of the handshake has the keys, and segments have mappings.
//! - A retransmitted SYN requests ECN as the first one does.
//! - Neither end closes: there are no FIN and DATA_FIN.

mod options;
mod reading;

use super::{Config, Grant};
use crate::boundaries::{Boundaries, Mapped, Segmentation};
use crate::packet::tcp::{Ack, Packet, TcpSegment};
use crate::protocol::Side;
use crate::sink::Transmit;
use crate::wire::checksum::Addresses;
use crate::wire::mptcp::key::initial_data_number;
use crate::wire::number::Sequence;
use crate::wire::tcp::{Flags, Header, Options, SackBlock};
use options::Multipath;
use plait_sched::PathId;
use std::net::{IpAddr, Ipv4Addr};

/// Window field of an end that has received no data and therefore advertises no window.
const NO_WINDOW: u16 = u16::MAX;

/// Values of a connection that both ends know from the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Addresses and ports of each path.
    pub paths: Vec<Place>,
    /// The keys of the client and of the server (RFC 8684 §3.1).
    pub keys: [u64; 2],
    /// Their initial sequence numbers, on every subflow.
    pub initial: [u32; 2],
}

/// Addresses and ports of a path's ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The client's address and the server's.
    pub addresses: [IpAddr; 2],
    /// The client's port and the server's.
    pub ports: [u16; 2],
    /// Identifier of the addresses (RFC 8684 §3.2); 0 for the first subflow.
    pub number: u8,
    /// True if the subflow is to be used only if there is no other.
    pub backup: bool,
}

impl Agreed {
    /// Creates arbitrary values: addresses of private use (RFC 6890), and fixed keys and ports.
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

    /// Returns the address identifier of a path.
    pub fn number(initial: PathId, path: PathId) -> u8 {
        if path < initial { path.0 + 1 } else { path.0 }
    }
}

/// Role of a subflow in a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// Plain TCP without MPTCP.
    Plain,
    First,
    Join,
}

/// Progress of one subflow or of the stream, as read from the peer's packets.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Offset of the newest segment of the peer.
    newest: u64,
    /// Offset up to which the peer has acknowledged our data.
    acknowledged: u64,
    /// Timestamp of the SYN/ACK.
    answer: u32,
}

/// One end's codec: encodes the packets of this end, and decodes those of its peer.
#[derive(Clone, Debug)]
pub struct Image {
    side: Side,
    agreed: Agreed,
    multipath: bool,
    /// True if the peer's acknowledgements have shown that it uses plain TCP.
    fallen_back: bool,
    initial_path: PathId,
    /// Largest segment size, announced without regard to options (RFC 6691).
    segment: u16,
    scale: u8,
    ecn: bool,
    two_way: bool,
    options: Multipath,
    /// Data sequence numbers of the first byte of this end and of the peer.
    origins: [u64; 2],
    /// Progress of the stream: the newest data of the peer, and its acknowledgement of our data.
    stream: Heard,
    heard: Vec<Heard>,
    sent: Boundaries,
}

/// The fields of a segment's header that differ from packet to packet.
#[derive(Clone, Copy, Debug)]
struct Fields {
    /// Sequence number of the first byte.
    sequence: u32,
    acknowledgement: u32,
    flags: Flags,
    window: u16,
    options: Options,
}

impl Image {
    /// Creates the image of one end of a connection.
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

    /// Returns the starts of the segments that this end has sent.
    pub const fn boundaries(&self) -> &Boundaries {
        &self.sent
    }

    /// Appends a packet that leaves this end on an agreed path. `payload`: the bytes of its
    /// segment, if it carries one. `peer`: the starts of the segments that the peer has sent.
    pub fn encode(
        &mut self,
        transmit: &Transmit<'_, &Packet>,
        payload: &[u8],
        peer: &Boundaries,
        out: &mut Vec<u8>,
    ) {
        let path = transmit.path;
        let fields = match transmit.packet {
            Packet::Segment(segment) => self.segment(path, segment, payload, peer),
            Packet::Ack(ack) => self.ack(path, ack, peer),
            Packet::Syn { timestamp } => self.syn(path, *timestamp),
            Packet::SynAck { timestamp, echo, window } => self.syn_ack(path, *timestamp, *echo, *window),
            Packet::Confirm { timestamp } => self.confirmation(path, *timestamp),
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
        // A retransmission keeps its number and offset. The endpoint no longer knows the offset of
        // data that the peer has acknowledged.
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
        // An end that receives no data advertises no window.
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

    /// Returns the sequence number of this end's next byte on a subflow.
    fn next_of(&self, path: PathId) -> u32 {
        self.own_bytes().wrap(self.sent.subflows[path.index()].numbers.end())
    }

    fn acknowledgement(&self, path: PathId, ack: &Ack, peer: &Boundaries) -> u32 {
        self.peer_bytes().wrap(peer.subflows[path.index()].numbers.start(ack.cumulative).unwrap_or_default())
    }

    /// RFC 2883 §4: a duplicate is reported first.
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

    /// Orders values of the client and the server as this end's and the peer's.
    const fn own_first<T: Copy>(&self, [client, server]: [T; 2]) -> [T; 2] {
        match self.side {
            Side::Client => [client, server],
            Side::Server => [server, client],
        }
    }

    /// Returns the sequence numbers of this end's bytes on a subflow, which follow the SYN.
    const fn own_bytes(&self) -> Sequence {
        let [own, _] = self.own_first(self.agreed.initial);
        Sequence { initial: own.wrapping_add(1) }
    }

    const fn peer_bytes(&self) -> Sequence {
        let [_, peer] = self.own_first(self.agreed.initial);
        Sequence { initial: peer.wrapping_add(1) }
    }

    /// Returns the addresses of a packet of this end.
    fn addresses(&self, path: PathId) -> Addresses {
        let [source, destination] = self.own_first(self.agreed.paths[path.index()].addresses);
        Addresses { source, destination }
    }
}

impl Config {
    /// Returns the window scale (RFC 7323 §2.2): the smallest one for which the largest window fits
    /// the header's field.
    pub fn window_scale(&self) -> u8 {
        let window = self.connection.receive_window;
        match self.rules.grant {
            Grant::Free => super::grant::window_scale(window, self.segment_bytes()),
            Grant::Buffer => (0..MAX_SCALE).find(|scale| window >> scale <= FIELD).unwrap_or(MAX_SCALE),
        }
    }

    /// Returns the largest window up to `window` that the header's field can express.
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

/// Returns the stream offset of an acknowledgement, in bytes.
const fn position(ack: &Ack) -> u64 {
    ack.window_end.saturating_sub(ack.window)
}

const fn congestion(ack: &Ack) -> Flags {
    if ack.congested { Flags::ECE } else { Flags(0) }
}
