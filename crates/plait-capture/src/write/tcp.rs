//! TCP segments: sequence numbers in bytes for segments' numbers, handshakes, acknowledgements.

use super::options::{self, KEYS, Multipath};
use super::{Made, PORT, SENDER_PORT, ZEROS, addresses};
use crate::ip::{self, Ends};
use plait_sched::{PathId, Time};
use plait_sim::scenario::{MptcpOptions, OwnOptions, Profile, Protocol, Scenario, Way};
use plait_sim::simulation::{Origin, Sighting};
use plait_transport::mptcp::{ClockConfig, Joins, Rules};
use plait_transport::packet::{Ack, Packet, TcpSegment};
use plait_transport::reassembly::Reassembly;
use plait_transport::wire::checksum::Addresses;
use plait_transport::wire::mptcp::Keys;
use plait_transport::wire::mptcp::key::initial_data_number;
use plait_transport::wire::number::Sequence;
use plait_transport::wire::tcp::{self, Flags, Header, Options};
use std::collections::VecDeque;

/// Initial sequence numbers: not far from their wrap, which readers have to master.
const INITIAL: u32 = u32::MAX - 100_000;
/// Those of a subflow's bytes, which follow the SYN.
const BYTES: Sequence = Sequence { initial: INITIAL.wrapping_add(1) };
/// The window that the sender of the data advertises: it gets none.
const SENDER_WINDOW: u16 = u16::MAX;
/// The largest shift of a window (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;
/// IPv4 and TCP without options.
const PLAIN_HEADERS: u32 = 40;

/// A segment of a subflow, in bytes.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Of the subflow.
    start: u64,
    /// Of the stream.
    offset: u64,
}

/// What both ends of a subflow count.
#[derive(Clone, Debug, Default)]
struct WrittenSubflow {
    /// The next identification, of each direction.
    ids: [u16; 2],
    /// Where segments begin, from the one with number `first` on: all that can be sent again or acknowledged.
    places: VecDeque<Place>,
    first: u64,
    /// Where the next segment begins on the subflow.
    next: u64,
    /// The newest timestamp that came from the receiver.
    echo: u32,
    /// The sender has the answer to its SYN.
    answered: bool,
    /// Sequence numbers of the data that arrived last.
    latest: (u32, u32),
    /// Made up, and not at the receiver yet.
    pending: Option<Vec<u8>>,
}

impl WrittenSubflow {
    /// Where a segment begins; the end of everything for the next one.
    fn start(&self, number: u64) -> u64 {
        let index = number.saturating_sub(self.first) as usize;
        self.places.get(index).map_or(self.next, |place| place.start)
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

/// Makes the packets of a connection.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    multipath: bool,
    /// The sender knows that its peer speaks TCP.
    fallen_back: bool,
    rules: Rules,
    handshake: bool,
    initial: PathId,
    clock: ClockConfig,
    segment: u16,
    window: u64,
    scale: u8,
    backup: Vec<bool>,
    subflows: Vec<WrittenSubflow>,
    /// The stream's first number, of either direction.
    origins: [u64; 2],
    options: Multipath,
}

/// What of a segment's header differs from packet to packet.
#[derive(Clone, Copy, Debug)]
struct Fields {
    sequence: u32,
    acknowledgement: u32,
    flags: Flags,
    window: u16,
    options: Options,
}

impl Wire {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let transport = &scenario.transport;
        let OwnOptions::Mptcp(MptcpOptions {
            profile,
            handshake,
            timestamp_granularity,
            clock_offset,
            initial_path,
            ..
        }) = &transport.own
        else {
            unreachable!("the scenario's transport is TCP or MPTCP")
        };
        let initial = initial_path.as_ref().and_then(|name| {
            let place = scenario.paths.iter().position(|path| path.name == *name);
            place.map(|place| PathId(place as u8))
        });
        let rules = if *profile == Profile::Linux { Rules::LINUX } else { Rules::STANDARD };
        let window = transport.receive_buffer;
        let scale = (0..MAX_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX));
        Self {
            multipath: transport.protocol == Protocol::Mptcp,
            fallen_back: false,
            rules,
            handshake: *handshake,
            initial: initial.unwrap_or(PathId(0)),
            clock: ClockConfig {
                granularity: *timestamp_granularity,
                sender_offset: 0,
                receiver_offset: *clock_offset,
            },
            segment: transport.packet.saturating_sub(PLAIN_HEADERS) as u16,
            window,
            scale: scale.unwrap_or(MAX_SCALE),
            backup: scenario.paths.iter().map(|path| path.backup).collect(),
            subflows: vec![WrittenSubflow::default(); scenario.paths.len()],
            origins: KEYS.map(|key| initial_data_number(key).wrapping_add(1)),
            options: Multipath { long: rules.long_numbers },
        }
    }

    fn role(&self, path: PathId) -> Role {
        match (self.multipath, path == self.initial) {
            (false, _) => Role::Plain,
            (true, true) => Role::First,
            (true, false) => Role::Join,
        }
    }

    /// A subflow is confirmed by a packet that is simulated.
    fn confirms(&self) -> bool {
        self.rules.joins == Joins::Confirmed
    }

    /// The headers of a packet that leaves.
    pub(super) fn leave(&mut self, seen: &Sighting<'_>, origin: Origin<'_>, headers: &mut Vec<u8>) {
        let path = seen.id.path;
        match (seen.packet, origin) {
            (Packet::Segment(segment), Origin::Sender { offset }) => {
                self.segment(path, segment, offset, headers);
            }
            (Packet::Ack(ack), Origin::Receiver(reassembly)) => self.ack(path, ack, reassembly, headers),
            (Packet::Confirm { timestamp }, _) => self.confirmation(path, *timestamp, headers),
            (Packet::Syn { timestamp }, _) => self.syn(path, *timestamp, headers),
            (Packet::SynAck { timestamp, echo, window }, _) => {
                self.syn_ack(path, *timestamp, *echo, *window, headers);
            }
            (other, _) => unreachable!("TCP sends no {other:?}"),
        }
    }

    /// Takes note of a packet that arrives with its `headers`.
    pub(super) fn arrive(&mut self, seen: &Sighting<'_>, headers: &[u8]) {
        let subflow = &mut self.subflows[seen.id.path.index()];
        match seen.packet {
            Packet::Segment(segment) => {
                if let Ok(sent) = tcp::Segment::decode(&headers[ip::HEADER..]) {
                    let start = sent.header.sequence;
                    subflow.latest = (start, start.wrapping_add(segment.data.bytes));
                }
            }
            Packet::Ack(ack) => {
                self.fallen_back |= ack.plain;
                subflow.echo = ack.timestamp;
                while subflow.first < ack.cumulative && subflow.places.pop_front().is_some() {
                    subflow.first += 1;
                }
            }
            Packet::SynAck { timestamp, .. } => subflow.echo = *timestamp,
            _ => {}
        }
    }

    /// The packet that ends a handshake, where it is not simulated: to be written when the answer to the SYN has come.
    pub(super) fn confirm(&mut self, seen: &Sighting<'_>) -> Option<Vec<u8>> {
        let (Packet::SynAck { .. }, path) = (seen.packet, seen.id.path) else { return None };
        let subflow = &mut self.subflows[path.index()];
        if std::mem::replace(&mut subflow.answered, true) || self.confirms() {
            return None;
        }
        let mut headers = Vec::new();
        self.confirmation(path, self.clock.at_sender(seen.time), &mut headers);
        self.subflows[path.index()].pending = Some(headers.clone());
        Some(headers)
    }

    /// What was made up at the sender, and reaches the receiver now that something else does.
    pub(super) fn pending(&mut self, path: PathId) -> Option<Vec<u8>> {
        self.subflows[path.index()].pending.take()
    }

    /// Handshakes of subflows that are open from the start.
    pub(super) fn prelude(&mut self) -> Vec<Made> {
        let mut packets = Vec::new();
        if self.handshake {
            return packets;
        }
        let (sent, back) = (self.clock.at_sender(Time::ZERO), self.clock.at_receiver(Time::ZERO));
        let others = (0..self.subflows.len() as u8).map(PathId).filter(|&path| path != self.initial);
        for path in std::iter::once(self.initial).chain(others.collect::<Vec<_>>()) {
            let mut made = |way: Way, headers: Vec<u8>| packets.push(Made { path, way, headers });
            let mut headers = Vec::new();
            self.syn(path, sent, &mut headers);
            made(Way::Forward, std::mem::take(&mut headers));
            self.syn_ack(path, back, sent, self.window, &mut headers);
            made(Way::Backward, std::mem::take(&mut headers));
            self.subflows[path.index()].echo = back;
            self.confirmation(path, sent, &mut headers);
            made(Way::Forward, headers);
        }
        packets
    }

    fn segment(&mut self, path: PathId, segment: &TcpSegment, offset: Option<u64>, headers: &mut Vec<u8>) {
        let subflow = &mut self.subflows[path.index()];
        if segment.number >= subflow.first + subflow.places.len() as u64 {
            let place = Place { start: subflow.next, offset: offset.unwrap_or(0) };
            subflow.places.push_back(place);
            subflow.next += u64::from(segment.data.bytes);
        }
        // A retransmission keeps its number, also if the stream has gone on meanwhile.
        let index = segment.number.saturating_sub(subflow.first) as usize;
        let place = subflow.places.get(index).copied().unwrap_or(Place { start: 0, offset: 0 });
        let echo = subflow.echo;
        let mut options = options::timestamps(segment.timestamp, echo);
        let bytes = segment.data.bytes;
        if self.multipath && !self.fallen_back {
            let number = self.origins[0].wrapping_add(place.offset);
            let mapping = self.options.mapping(number, place.start, bytes, self.origins[1]);
            self.options.put(&mut options, mapping);
        }
        let sequence = BYTES.wrap(place.start);
        let flags = if segment.push { Flags::ACK | Flags::PSH } else { Flags::ACK };
        let fields = Fields { sequence, acknowledgement: 1, flags, window: SENDER_WINDOW, options };
        self.wrap(path, Way::Forward, fields, bytes, headers);
    }

    fn ack(&mut self, path: PathId, ack: &Ack, reassembly: &Reassembly, headers: &mut Vec<u8>) {
        let mut options = options::timestamps(ack.timestamp, ack.echo);
        let data = reassembly.delivered_bytes();
        if self.multipath && !ack.plain {
            let data_ack = self.options.data_ack(self.origins[0].wrapping_add(data));
            self.options.put(&mut options, data_ack);
        }
        let subflow = &self.subflows[path.index()];
        let number = |number: u64| BYTES.wrap(subflow.start(number));
        let acknowledgement = number(ack.cumulative);
        // RFC 2883 §4: what arrived again is reported first.
        let duplicate = ack.duplicate.map(|_| subflow.latest);
        let blocks = ack.blocks().map(|(first, last)| (number(first), number(last + 1)));
        options::put_blocks(&mut options, duplicate.into_iter().chain(blocks));
        // TCP's window begins at the acknowledgement, MPTCP's at the data acknowledgement: with one path they are the same.
        let window = self.scaled(ack.window_end.saturating_sub(data));
        let fields = Fields { sequence: 1, acknowledgement, flags: Flags::ACK, window, options };
        self.wrap(path, Way::Backward, fields, 0, headers);
    }

    fn syn(&mut self, path: PathId, timestamp: u32, headers: &mut Vec<u8>) {
        let mut options = options::of_syn(self.segment, timestamp, 0, 0);
        let (multipath, backup) = (self.options, self.backup[path.index()]);
        match self.role(path) {
            Role::Plain => {}
            Role::First => multipath.put(&mut options, multipath.capable(Keys::None)),
            Role::Join => multipath.put(&mut options, multipath.join(path, backup, self.address(path))),
        }
        let (flags, window) = (Flags::SYN, SENDER_WINDOW);
        let fields = Fields { sequence: INITIAL, acknowledgement: 0, flags, window, options };
        self.wrap(path, Way::Forward, fields, 0, headers);
    }

    fn syn_ack(&mut self, path: PathId, timestamp: u32, echo: u32, window: u64, headers: &mut Vec<u8>) {
        let mut options = options::of_syn(self.segment, timestamp, echo, self.scale);
        let (multipath, backup) = (self.options, self.backup[path.index()]);
        match self.role(path) {
            Role::Plain => {}
            Role::First => multipath.put(&mut options, multipath.capable(Keys::Sender(KEYS[1]))),
            Role::Join => {
                multipath.put(&mut options, multipath.join_answer(path, backup, self.address(path)));
            }
        }
        // The window of a SYN is not scaled.
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        let (acknowledgement, flags) = (BYTES.wrap(0), Flags::SYN | Flags::ACK);
        let fields = Fields { sequence: 0, acknowledgement, flags, window, options };
        self.wrap(path, Way::Backward, fields, 0, headers);
    }

    /// The third packet of a handshake.
    fn confirmation(&mut self, path: PathId, timestamp: u32, headers: &mut Vec<u8>) {
        let mut options = options::timestamps(timestamp, self.subflows[path.index()].echo);
        let multipath = self.options;
        match self.role(path) {
            Role::Plain => {}
            Role::First => {
                multipath.put(&mut options, multipath.capable(Keys::Both(KEYS[0], KEYS[1], None)));
            }
            Role::Join => multipath.put(&mut options, multipath.join_proof(path)),
        }
        let (sequence, flags, window) = (BYTES.wrap(0), Flags::ACK, SENDER_WINDOW);
        let fields = Fields { sequence, acknowledgement: 1, flags, window, options };
        self.wrap(path, Way::Forward, fields, 0, headers);
    }

    /// The number of a path's address: that of the first subflow is 0.
    fn address(&self, path: PathId) -> u8 {
        if path < self.initial { path.0 + 1 } else { path.0 }
    }

    /// A window as the header carries it.
    fn scaled(&self, window: u64) -> u16 {
        u16::try_from(window >> self.scale).unwrap_or(u16::MAX)
    }

    /// Puts headers before `payload` zeros.
    fn wrap(&mut self, path: PathId, way: Way, fields: Fields, payload: u32, headers: &mut Vec<u8>) {
        let (sender, receiver) = addresses(path.index());
        let sender_port = SENDER_PORT + u16::from(path.0);
        let backward = way == Way::Backward;
        let (ends, [source_port, destination_port]) = if backward {
            (Ends { from: receiver, to: sender }, [PORT, sender_port])
        } else {
            (Ends { from: sender, to: receiver }, [sender_port, PORT])
        };
        let Fields { sequence, acknowledgement, flags, window, options } = fields;
        let header =
            Header { source_port, destination_port, sequence, acknowledgement, flags, window, urgent: 0 };
        let payload = &ZEROS[..payload as usize];
        let id = &mut self.subflows[path.index()].ids[usize::from(backward)];
        ip::put(ends, tcp::PROTOCOL, *id, payload.len(), headers, |out| {
            header.encode(&options, &Addresses::from(ends), payload, out);
        });
        *id = id.wrapping_add(1);
    }
}
