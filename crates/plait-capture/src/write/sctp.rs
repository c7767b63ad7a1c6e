//! SCTP packets (RFC 9260). Each segment of the stream is a message of its own, in one DATA chunk;
//! its TSN is its number.

use super::{PORT, SENDER_PORT, SyntheticPacket, ZEROS, addresses};
use crate::ip::{self, Ipv4Addresses};
use plait_sched::PathId;
use plait_sim::scenario::{Direction, OwnOptions, Scenario};
use plait_sim::simulation::{Origin, PacketId};
use plait_transport::Transmit;
use plait_transport::cmt_sctp::{Chosen, Image, Telling};
use plait_transport::packet::sctp::Packet;
use plait_transport::wire::sctp::{self, Chunk, Header, Init, Parameter};

/// Ports, tags and initial TSNs of the sender and of the receiver of the data.
const CHOSEN: [Chosen; 2] = [
    Chosen { port: SENDER_PORT, tag: 0x706c_6101, initial_tsn: 0 },
    Chosen { port: PORT, tag: 0x706c_6102, initial_tsn: 0 },
];
const STREAMS: u16 = 1;
/// State cookie of the receiver.
const COOKIE: [u8; 16] = *b"plait simulation";

/// Builds the packets of an association.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    paths: usize,
    window: u64,
    /// Images of the data's sender and of its receiver.
    images: [Image; 2],
    /// Next IPv4 identification per path and direction.
    ids: Vec<[u16; 2]>,
}

impl Encoder {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let paths = scenario.paths.len();
        let own = &scenario.transport.own;
        let packet = scenario.transport.packet;
        let packets = matches!(own, OwnOptions::CmtSctp(own) if own.delayed_ack_for_cmt);
        let telling = Telling { packets, changes: false };
        let image = |own: usize| Image::new(CHOSEN[own], CHOSEN[1 - own], packet, telling);
        Self {
            paths,
            window: scenario.transport.receive_buffer,
            images: [image(0), image(1)],
            ids: vec![[0; 2]; paths],
        }
    }

    /// Appends the headers of a packet that leaves.
    pub(super) fn leave(&mut self, id: PacketId, packet: &Packet, origin: Origin<'_>, headers: &mut Vec<u8>) {
        let PacketId { path, direction, .. } = id;
        let payload = &ZEROS[..packet.data().map_or(0, |data| data.bytes as usize)];
        let transmit = Transmit { path, packet, transmission: 0, origin };
        let (addresses, id) = self.addresses(path, direction);
        let image = &self.images[usize::from(direction == Direction::Backward)];
        ip::put(addresses, sctp::PROTOCOL, id, 0, headers, |out| image.encode(&transmit, payload, out));
        // The payload is added when the packet is stored.
        headers.truncate(headers.len() - payload.len().next_multiple_of(4));
    }

    /// Builds the handshake, on the first path; each end lists its addresses.
    pub(super) fn prelude(&mut self) -> Vec<SyntheticPacket> {
        let path = PathId(0);
        let mut answer = self.init(Direction::Backward);
        answer.parameters.push(Parameter::StateCookie(&COOKIE));
        let steps = [
            (Chunk::Init(self.init(Direction::Forward)), Direction::Forward, 0),
            (Chunk::InitAck(answer), Direction::Backward, CHOSEN[0].tag),
            (Chunk::CookieEcho(&COOKIE), Direction::Forward, CHOSEN[1].tag),
            (Chunk::CookieAck, Direction::Backward, CHOSEN[0].tag),
        ];
        let packets = steps.map(|(chunk, direction, tag)| {
            let mut headers = Vec::new();
            self.wrap(path, direction, tag, &chunk, &mut headers);
            SyntheticPacket { path, direction, headers }
        });
        packets.into()
    }

    fn init(&self, direction: Direction) -> Init<'static> {
        let own = |path| {
            let (sender, receiver) = addresses(path);
            Parameter::Ipv4Address(if direction == Direction::Forward { sender } else { receiver })
        };
        let chosen = CHOSEN[usize::from(direction == Direction::Backward)];
        Init {
            tag: chosen.tag,
            window: u32::try_from(self.window).unwrap_or(u32::MAX),
            outbound_streams: STREAMS,
            inbound_streams: STREAMS,
            initial_tsn: chosen.initial_tsn,
            parameters: (0..self.paths).map(own).collect(),
        }
    }

    /// Puts headers around a chunk of the handshake, for which an image has no tag yet.
    fn wrap(
        &mut self,
        path: PathId,
        direction: Direction,
        tag: u32,
        chunk: &Chunk<'_>,
        headers: &mut Vec<u8>,
    ) {
        let (addresses, id) = self.addresses(path, direction);
        let header = self.images[usize::from(direction == Direction::Backward)].header();
        let header = Header { verification_tag: tag, ..header };
        let chunks = std::slice::from_ref(chunk);
        ip::put(addresses, sctp::PROTOCOL, id, 0, headers, |out| header.encode(chunks, out));
    }

    /// Returns the addresses and the identification of the next packet.
    fn addresses(&mut self, path: PathId, direction: Direction) -> (Ipv4Addresses, u16) {
        let (sender, receiver) = addresses(path.index());
        let backward = direction == Direction::Backward;
        let (from, to) = if backward { (receiver, sender) } else { (sender, receiver) };
        let next = &mut self.ids[path.index()][usize::from(backward)];
        let id = *next;
        *next = id.wrapping_add(1);
        (Ipv4Addresses { from, to }, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::Time;
    use plait_transport::packet;
    use plait_transport::reassembly::Reassembly;
    use std::path::Path;

    fn wire(packet: u32) -> Encoder {
        let text = format!(
            "duration = \"1s\"\ntransport = {{ protocol = \"cmt-sctp\", packet = \"{packet}B\" }}\n[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\""
        );
        Encoder::new(
            &Scenario::from_toml(&text, "test.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}")),
        )
    }

    /// Encodes a SACK of a receiver that has received these segments.
    fn sack(wire: &mut Encoder, arrived: impl IntoIterator<Item = u64>, duplicate: Option<u64>) -> Vec<u8> {
        let mut reassembly = Reassembly::new(1 << 30, 0, false);
        for segment in arrived {
            reassembly.accept(Time::ZERO, PathId(0), &packet::Data { segment, bytes: 1 }, &mut ());
        }
        let mut sack = packet::sctp::Sack::new(reassembly.next_expected(), 1 << 33, 2);
        sack.gap_blocks = reassembly.waiting().runs().min(363) as u16;
        duplicate.into_iter().for_each(|segment| sack.push_duplicate(segment));
        let packet = Packet::Sack(sack);
        let id = PacketId { path: PathId(0), direction: Direction::Backward, data: false, number: 1 };
        let mut headers = Vec::new();
        wire.leave(id, &packet, Origin::Receiver(&reassembly), &mut headers);
        headers
    }

    fn numbers(bytes: &[u8]) -> Vec<u16> {
        bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn a_sack_reports_all_gap_blocks() {
        let headers = sack(&mut wire(1500), [0, 1, 2, 5, 6, 9], Some(1));
        assert_eq!(headers.len() as u32, ip::total(&headers));
        let chunk = &headers[32..];
        // Type and flags (two packets of data), length; everything up to TSN 2; the largest window
        // that the field can hold.
        assert_eq!(chunk[..12], [3, 2 << 6, 0, 28, 0, 0, 0, 2, 255, 255, 255, 255]);
        assert_eq!(numbers(&chunk[12..]), [2, 1, 3, 4, 7, 7, 0, 1]);
    }

    #[test]
    fn a_sack_is_cut_to_the_packet() {
        let every_other = (0..1_000).map(|number| 2 * number + 1);
        for (packet, duplicate, blocks) in
            [(1500, None, 363), (1500, Some(1), 362), (600, None, 138), (9000, None, 363)]
        {
            let headers = sack(&mut wire(packet), every_other.clone(), duplicate);
            assert_eq!(numbers(&headers[44..46]), [blocks], "{packet} {duplicate:?}");
            assert!(ip::total(&headers) <= packet.max(1500));
        }
    }

    #[test]
    fn runs_beyond_sixteen_bits_are_not_told() {
        let headers = sack(&mut wire(1500), [3].into_iter().chain(65_000..66_000).chain([70_000]), None);
        assert_eq!(numbers(&headers[44..]), [2, 0, 4, 4, 65_001, 65_535]);
    }

    #[test]
    fn before_anything_arrived_in_order_the_number_before_the_first_is_acknowledged() {
        assert_eq!(sack(&mut wire(1500), [1], None)[36..40], [255; 4]);
    }

    #[test]
    fn checksums_are_those_of_whole_packets() {
        let mut packet = sack(&mut wire(1500), [0], None);
        assert!(sctp::decode(&packet[ip::HEADER..]).is_ok());
        packet[ip::HEADER + 3] ^= 1;
        assert!(sctp::decode(&packet[ip::HEADER..]).is_err());
    }
}
