//! TCP segments with the options of RFC 7323 (timestamps, window scale), RFC 2018 and 2883 (selective acknowledgements) and,
//! for MPTCP, RFC 8684.

use super::ip::{self, Ends};
use super::{Made, PORT, SENDER_PORT, addresses};
use crate::sending::initial_data_number;
use hmac::{Hmac, KeyInit as _, Mac as _};
use plait_sched::{PathId, Time};
use plait_sim::scenario::{OwnOptions, Profile, Protocol, Scenario, Way};
use plait_sim::simulation::{Origin, Sighting};
use plait_transport::mptcp::{ClockConfig, Joins, Rules};
use plait_transport::packet::{Ack, Packet, Segment};
use plait_transport::reassembly::Reassembly;
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;

const PROTOCOL: u8 = 6;
/// The sender's and the receiver's key.
const KEYS: [u64; 2] = [0x706c_6169_7400_0001, 0x706c_6169_7400_0002];
/// Random numbers of either end in joins; the path's number is added.
const NONCES: [u32; 2] = [0x706c_0100, 0x706c_0200];
/// Initial sequence numbers: not far from their wrap, which readers have to master.
const INITIAL: u32 = u32::MAX - 100_000;
/// The window that the sender of the data advertises: it gets none.
const SENDER_WINDOW: u16 = u16::MAX;
/// The largest shift of a window (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;
/// IPv4 and TCP without options.
const PLAIN_HEADERS: u32 = 40;

const SYN: u8 = 2;
const ACK: u8 = 16;

/// MPTCP's option and its subtypes.
const MPTCP: u8 = 30;
const CAPABLE: u8 = 0x01;
const JOIN: u8 = 0x10;
const DSS: u8 = 0x20;

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
struct Subflow {
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
    /// The receiver has the packet that confirms a join.
    confirmed: bool,
    /// Sequence numbers of the data that arrived last.
    latest: (u32, u32),
    /// Made up, and not at the receiver yet.
    pending: Option<Vec<u8>>,
}

impl Subflow {
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
    rules: Rules,
    handshake: bool,
    initial: PathId,
    clock: ClockConfig,
    segment: u16,
    window: u64,
    scale: u8,
    backup: Vec<bool>,
    subflows: Vec<Subflow>,
    /// The stream's first number, of either direction.
    origins: [u64; 2],
    options: Vec<u8>,
}

impl Wire {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let transport = &scenario.transport;
        let OwnOptions::Mptcp {
            profile, handshake, timestamp_granularity, clock_offset, initial_path, ..
        } = &transport.own
        else {
            unreachable!("the scenario's transport is TCP or MPTCP")
        };
        let initial = initial_path.as_ref().and_then(|name| {
            let place = scenario.paths.iter().position(|path| path.name == *name);
            place.map(|place| PathId(place as u8))
        });
        let window = transport.receive_buffer;
        let scale = (0..MAX_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX));
        Self {
            multipath: transport.protocol == Protocol::Mptcp,
            rules: if *profile == Profile::Linux { Rules::LINUX } else { Rules::STANDARD },
            handshake: *handshake,
            initial: initial.unwrap_or(PathId(0)),
            clock: ClockConfig { granularity: *timestamp_granularity, receiver_offset: *clock_offset },
            segment: transport.packet.saturating_sub(PLAIN_HEADERS) as u16,
            window,
            scale: scale.unwrap_or(MAX_SCALE),
            backup: scenario.paths.iter().map(|path| path.backup).collect(),
            subflows: vec![Subflow::default(); scenario.paths.len()],
            origins: KEYS.map(|key| initial_data_number(key).wrapping_add(1)),
            options: Vec::new(),
        }
    }

    fn role(&self, path: PathId) -> Role {
        match (self.multipath, path == self.initial) {
            (false, _) => Role::Plain,
            (true, true) => Role::First,
            (true, false) => Role::Join,
        }
    }

    /// A join is confirmed by a packet that is simulated.
    fn confirms(&self, path: PathId) -> bool {
        self.role(path) == Role::Join && self.rules.joins == Joins::Confirmed
    }

    /// The headers of a packet that leaves.
    pub(super) fn leave(&mut self, seen: &Sighting<'_>, origin: Origin<'_>, headers: &mut Vec<u8>) {
        let path = seen.id.path;
        match (seen.packet, origin) {
            (Packet::Segment(segment), Origin::Sender { offset }) => {
                self.segment(path, segment, offset, headers);
            }
            (Packet::Ack(ack), Origin::Receiver(reassembly)) => self.ack(path, ack, reassembly, headers),
            (Packet::Syn { timestamp }, _) if self.subflows[path.index()].answered => {
                self.confirmation(path, *timestamp, headers);
            }
            (Packet::Syn { timestamp }, _) => self.syn(path, *timestamp, headers),
            (Packet::SynAck { timestamp, echo }, _) if self.subflows[path.index()].confirmed => {
                // The fourth packet of a join (RFC 8684 §3.2): an acknowledgement.
                self.options.clear();
                self.put_timestamps(*timestamp, *echo);
                let window = self.scaled(self.window);
                self.wrap(path, Way::Backward, 0, INITIAL.wrapping_add(1), ACK, window, 0, headers);
            }
            (Packet::SynAck { timestamp, echo }, _) => self.syn_ack(path, *timestamp, *echo, headers),
            (other, _) => unreachable!("TCP sends no {other:?}"),
        }
    }

    /// Takes note of a packet that arrives with its `headers`.
    pub(super) fn arrive(&mut self, seen: &Sighting<'_>, headers: &[u8]) {
        let confirms = self.confirms(seen.id.path);
        let subflow = &mut self.subflows[seen.id.path.index()];
        match seen.packet {
            Packet::Segment(segment) => {
                let [a, b, c, d] = [headers[24], headers[25], headers[26], headers[27]];
                let start = u32::from_be_bytes([a, b, c, d]);
                subflow.latest = (start, start.wrapping_add(segment.data.bytes));
            }
            Packet::Ack(ack) => {
                subflow.echo = ack.timestamp;
                while subflow.first < ack.subflow && subflow.places.pop_front().is_some() {
                    subflow.first += 1;
                }
            }
            Packet::Syn { .. } => subflow.confirmed |= confirms && headers[33] == ACK,
            Packet::SynAck { timestamp, .. } => subflow.echo = *timestamp,
            _ => {}
        }
    }

    /// The packet that ends a handshake, where it is not simulated: to be written when the answer to the SYN has come.
    pub(super) fn confirm(&mut self, seen: &Sighting<'_>) -> Option<Vec<u8>> {
        let (Packet::SynAck { .. }, path) = (seen.packet, seen.id.path) else { return None };
        let subflow = &mut self.subflows[path.index()];
        if std::mem::replace(&mut subflow.answered, true) || self.confirms(path) {
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
            self.syn_ack(path, back, sent, &mut headers);
            made(Way::Backward, std::mem::take(&mut headers));
            self.subflows[path.index()].echo = back;
            self.confirmation(path, sent, &mut headers);
            made(Way::Forward, headers);
        }
        packets
    }

    fn segment(&mut self, path: PathId, segment: &Segment, offset: Option<u64>, headers: &mut Vec<u8>) {
        let subflow = &mut self.subflows[path.index()];
        if segment.subflow >= subflow.first + subflow.places.len() as u64 {
            let place = Place { start: subflow.next, offset: offset.unwrap_or(0) };
            subflow.places.push_back(place);
            subflow.next += u64::from(segment.data.bytes);
        }
        // A retransmission keeps its number, also if the stream has gone on meanwhile.
        let index = segment.subflow.saturating_sub(subflow.first) as usize;
        let place = subflow.places.get(index).copied().unwrap_or(Place { start: 0, offset: 0 });
        let echo = subflow.echo;
        self.options.clear();
        self.put_timestamps(segment.timestamp, echo);
        if self.multipath {
            self.put_mapping(place, segment.data.bytes);
        }
        let sequence = INITIAL.wrapping_add(1).wrapping_add(place.start as u32);
        let bytes = segment.data.bytes;
        self.wrap(path, Way::Forward, sequence, 1, ACK, SENDER_WINDOW, bytes, headers);
    }

    fn ack(&mut self, path: PathId, ack: &Ack, reassembly: &Reassembly, headers: &mut Vec<u8>) {
        self.options.clear();
        self.put_timestamps(ack.timestamp, ack.echo);
        let data = reassembly.delivered_bytes();
        if self.multipath {
            self.put_data_ack(data);
        }
        let subflow = &self.subflows[path.index()];
        let number = |number: u64| INITIAL.wrapping_add(1).wrapping_add(subflow.start(number) as u32);
        let acknowledgement = number(ack.subflow);
        // RFC 2883 §4: what arrived again is reported first.
        let duplicate = ack.duplicate.then_some(subflow.latest);
        let blocks = ack.blocks().map(|(first, last)| (number(first), number(last + 1)));
        let blocks: Vec<(u32, u32)> = duplicate.into_iter().chain(blocks).collect();
        if !blocks.is_empty() {
            self.options.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
            for edge in blocks.iter().flat_map(|&(left, right)| [left, right]) {
                self.options.extend_from_slice(&edge.to_be_bytes());
            }
        }
        // TCP's window begins at the acknowledgement, MPTCP's at the data acknowledgement: with one path they are the same.
        let window = self.scaled(ack.window_end.saturating_sub(data));
        self.wrap(path, Way::Backward, 1, acknowledgement, ACK, window, 0, headers);
    }

    fn syn(&mut self, path: PathId, timestamp: u32, headers: &mut Vec<u8>) {
        self.begin_syn(timestamp, 0, 0);
        match self.role(path) {
            Role::Plain => {}
            Role::First => self.put_capable(&[]),
            Role::Join => {
                self.put_join(path, 12);
                self.options.extend_from_slice(&Sha256::digest(KEYS[1].to_be_bytes())[..4]);
                self.options.extend_from_slice(&nonce(path, 0));
            }
        }
        self.wrap(path, Way::Forward, INITIAL, 0, SYN, SENDER_WINDOW, 0, headers);
    }

    fn syn_ack(&mut self, path: PathId, timestamp: u32, echo: u32, headers: &mut Vec<u8>) {
        self.begin_syn(timestamp, echo, self.scale);
        match self.role(path) {
            Role::Plain => {}
            Role::First => self.put_capable(&KEYS[1..]),
            Role::Join => {
                self.put_join(path, 16);
                self.options.extend_from_slice(&authentication(path, 1)[..8]);
                self.options.extend_from_slice(&nonce(path, 1));
            }
        }
        // The window of a SYN is not scaled.
        let window = u16::try_from(self.window).unwrap_or(u16::MAX);
        let acknowledgement = INITIAL.wrapping_add(1);
        self.wrap(path, Way::Backward, 0, acknowledgement, SYN | ACK, window, 0, headers);
    }

    /// The third packet of a handshake.
    fn confirmation(&mut self, path: PathId, timestamp: u32, headers: &mut Vec<u8>) {
        self.options.clear();
        self.put_timestamps(timestamp, self.subflows[path.index()].echo);
        match self.role(path) {
            Role::Plain => {}
            Role::First => self.put_capable(&KEYS),
            Role::Join => {
                self.options.extend_from_slice(&[MPTCP, 24, JOIN, 0]);
                self.options.extend_from_slice(&authentication(path, 0)[..20]);
            }
        }
        let sequence = INITIAL.wrapping_add(1);
        self.wrap(path, Way::Forward, sequence, 1, ACK, SENDER_WINDOW, 0, headers);
    }

    /// Begins the options of a SYN: largest segment, SACK permitted, timestamps, window scale.
    fn begin_syn(&mut self, timestamp: u32, echo: u32, scale: u8) {
        self.options.clear();
        self.options.extend_from_slice(&[2, 4]);
        self.options.extend_from_slice(&self.segment.to_be_bytes());
        self.options.extend_from_slice(&[4, 2, 8, 10]);
        self.options.extend_from_slice(&timestamp.to_be_bytes());
        self.options.extend_from_slice(&echo.to_be_bytes());
        self.options.extend_from_slice(&[1, 3, 3, scale]);
    }

    fn put_timestamps(&mut self, timestamp: u32, echo: u32) {
        self.options.extend_from_slice(&[1, 1, 8, 10]);
        self.options.extend_from_slice(&timestamp.to_be_bytes());
        self.options.extend_from_slice(&echo.to_be_bytes());
    }

    /// MP_CAPABLE of version 1 (RFC 8684 §3.1), with HMAC-SHA256.
    fn put_capable(&mut self, keys: &[u64]) {
        const CHECKSUMS: u8 = 0x80;
        const SHA256: u8 = 0x01;
        let flags = SHA256 | if self.rules.long_numbers { 0 } else { CHECKSUMS };
        self.options.extend_from_slice(&[MPTCP, 4 + 8 * keys.len() as u8, CAPABLE, flags]);
        keys.iter().for_each(|key| self.options.extend_from_slice(&key.to_be_bytes()));
    }

    /// Begins an MP_JOIN (§3.2) with the backup flag and the address' number.
    fn put_join(&mut self, path: PathId, length: u8) {
        let backup = u8::from(self.backup[path.index()]);
        // The first subflow's address has number 0.
        let address = if path < self.initial { path.0 + 1 } else { path.0 };
        self.options.extend_from_slice(&[MPTCP, length, JOIN | backup, address]);
    }

    /// A mapping (§3.3.1): numbers of 32 bits with a checksum, or of 64 bits without. It is of the size that is simulated.
    fn put_mapping(&mut self, place: Place, bytes: u32) {
        let number = self.origins[0].wrapping_add(place.offset);
        let long = self.rules.long_numbers;
        let (length, flags) = if long { (22, 0b1101) } else { (20, 0b0101) };
        let begin = self.options.len();
        self.options.extend_from_slice(&[MPTCP, length, DSS, flags]);
        self.options.extend_from_slice(&(self.origins[1] as u32).to_be_bytes());
        if long {
            self.options.extend_from_slice(&number.to_be_bytes());
        } else {
            self.options.extend_from_slice(&(number as u32).to_be_bytes());
        }
        self.options.extend_from_slice(&(place.start as u32).wrapping_add(1).to_be_bytes());
        self.options.extend_from_slice(&(bytes as u16).to_be_bytes());
        if long {
            self.options.extend_from_slice(&[1, 1]);
        } else {
            // Over the whole number, the mapping's other fields and the payload, which is zeros.
            let others = ip::checksum(0, &number.to_be_bytes());
            let sum = ip::checksum(u32::from(!others), &self.options[begin + 12..]);
            self.options.extend_from_slice(&sum.to_be_bytes());
        }
    }

    fn put_data_ack(&mut self, data: u64) {
        let number = self.origins[0].wrapping_add(data);
        if self.rules.long_numbers {
            self.options.extend_from_slice(&[MPTCP, 12, DSS, 0b0011]);
            self.options.extend_from_slice(&number.to_be_bytes());
        } else {
            self.options.extend_from_slice(&[MPTCP, 8, DSS, 0b0001]);
            self.options.extend_from_slice(&(number as u32).to_be_bytes());
        }
    }

    /// A window as the header carries it.
    fn scaled(&self, window: u64) -> u16 {
        u16::try_from(window >> self.scale).unwrap_or(u16::MAX)
    }

    /// Puts headers with the options at hand before `payload` zeros.
    #[expect(clippy::too_many_arguments, reason = "a header has so many fields")]
    fn wrap(
        &mut self,
        path: PathId,
        way: Way,
        sequence: u32,
        acknowledgement: u32,
        flags: u8,
        window: u16,
        payload: u32,
        headers: &mut Vec<u8>,
    ) {
        self.options.resize(self.options.len().next_multiple_of(4), 0);
        let (sender, receiver) = addresses(path.index());
        let sender_port = SENDER_PORT + u16::from(path.0);
        let backward = way == Way::Backward;
        let (ends, ports) = if backward {
            (Ends { from: receiver, to: sender }, [PORT, sender_port])
        } else {
            (Ends { from: sender, to: receiver }, [sender_port, PORT])
        };
        let length = 20 + self.options.len() as u32 + payload;
        let id = &mut self.subflows[path.index()].ids[usize::from(backward)];
        headers.extend_from_slice(&ip::header(ends, PROTOCOL, *id, ip::HEADER as u32 + length));
        *id = id.wrapping_add(1);
        let start = headers.len();
        ports.iter().for_each(|port| headers.extend_from_slice(&port.to_be_bytes()));
        headers.extend_from_slice(&sequence.to_be_bytes());
        headers.extend_from_slice(&acknowledgement.to_be_bytes());
        headers.extend_from_slice(&[(5 + (self.options.len() / 4) as u8) << 4, flags]);
        headers.extend_from_slice(&window.to_be_bytes());
        headers.extend_from_slice(&[0; 4]);
        headers.extend_from_slice(&self.options);
        let sum = ip::checksum(ip::pseudo_header(ends, PROTOCOL, length), &headers[start..]);
        headers[start + 16..start + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The random number of an end in the join of a path.
fn nonce(path: PathId, end: usize) -> [u8; 4] {
    (NONCES[end] + u32::from(path.0)).to_be_bytes()
}

/// What proves that an end knows both keys (RFC 8684 §3.2): its own key and random number come first.
fn authentication(path: PathId, end: usize) -> [u8; 32] {
    let keys = [KEYS[end], KEYS[1 - end]].map(u64::to_be_bytes).concat();
    let mut hmac = Hmac::<Sha256>::new_from_slice(&keys).unwrap_or_else(|_| unreachable!("any key will do"));
    hmac.update(&nonce(path, end));
    hmac.update(&nonce(path, 1 - end));
    hmac.finalize().into_bytes().into()
}
