//! SCTP packets (RFC 9260). A segment of the stream is a message of its own, in one DATA chunk: its TSN is its number.

use super::{Made, PORT, SENDER_PORT, ZEROS, addresses};
use crate::ip::{self, Ends};
use plait_sched::PathId;
use plait_sim::scenario::{OwnOptions, Scenario, Way};
use plait_sim::simulation::{Origin, Sighting};
use plait_transport::packet::{Packet, Sack};
use plait_transport::reassembly::Reassembly;
use plait_transport::wire::number::Sequence;
use plait_transport::wire::sctp::{self, Chunk, Data, GapBlock, Header, HeartbeatInfo, Init, Parameter};

/// Verification tags that the sender and the receiver of the data chose.
const TAGS: [u32; 2] = [0x706c_6101, 0x706c_6102];
/// The TSNs of either end.
const TSN: Sequence = Sequence { initial: 0 };
const STREAMS: u16 = 1;
/// What the receiver wants back.
const COOKIE: [u8; 16] = *b"plait simulation";
/// IPv4 header, common header, and a SACK without blocks.
const AROUND_BLOCKS: usize = ip::HEADER + sctp::HEADER_BYTES + sctp::Sack::HEADER_BYTES;

/// Makes the packets of an association.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    paths: usize,
    /// The largest packet.
    packet: u32,
    window: u64,
    /// SACKs tell how many packets of data they answer (Iyengar et al. 2006, section 5).
    counts_packets: bool,
    /// The next identification, of each path and direction.
    ids: Vec<[u16; 2]>,
}

impl Wire {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let paths = scenario.paths.len();
        let own = &scenario.transport.own;
        Self {
            paths,
            packet: scenario.transport.packet,
            window: scenario.transport.receive_buffer,
            counts_packets: matches!(own, OwnOptions::CmtSctp(own) if own.delayed_ack_for_cmt),
            ids: vec![[0; 2]; paths],
        }
    }

    /// The headers of a packet that leaves.
    pub(super) fn leave(&mut self, seen: &Sighting<'_>, origin: Origin<'_>, headers: &mut Vec<u8>) {
        let (path, way) = (seen.id.path, seen.id.way);
        let tag = TAGS[usize::from(way == Way::Forward)];
        let info = |sent_at: plait_sched::Time| {
            HeartbeatInfo { sent_at: sent_at.as_nanos(), path: path.0.into() }.encode()
        };
        match (seen.packet, origin) {
            (Packet::Data(data), _) => {
                let payload = &ZEROS[..data.bytes as usize];
                let chunk = Data {
                    tsn: TSN.wrap(data.segment),
                    stream: 0,
                    sequence: data.segment as u16,
                    protocol: 0,
                    beginning: true,
                    ending: true,
                    unordered: false,
                    immediate: false,
                    payload,
                };
                self.wrap(path, way, tag, &Chunk::Data(chunk), headers);
                // The payload is added when the packet is stored.
                headers.truncate(headers.len() - payload.len().next_multiple_of(4));
            }
            (Packet::Sack(sack), Origin::Receiver(reassembly)) => {
                let chunk = Chunk::Sack(self.sack(sack, reassembly));
                self.wrap(path, way, tag, &chunk, headers);
            }
            (Packet::Heartbeat { sent_at }, _) => {
                self.wrap(path, way, tag, &Chunk::Heartbeat(&info(*sent_at)), headers);
            }
            (Packet::HeartbeatAck { sent_at }, _) => {
                self.wrap(path, way, tag, &Chunk::HeartbeatAck(&info(*sent_at)), headers);
            }
            (other, _) => unreachable!("SCTP sends no {other:?}"),
        }
    }

    /// The handshake, on the first path; every end lists its addresses.
    pub(super) fn prelude(&mut self) -> Vec<Made> {
        let path = PathId(0);
        let mut answer = self.init(Way::Backward);
        answer.parameters.push(Parameter::StateCookie(&COOKIE));
        let steps = [
            (Chunk::Init(self.init(Way::Forward)), Way::Forward, 0),
            (Chunk::InitAck(answer), Way::Backward, TAGS[0]),
            (Chunk::CookieEcho(&COOKIE), Way::Forward, TAGS[1]),
            (Chunk::CookieAck, Way::Backward, TAGS[0]),
        ];
        let packets = steps.map(|(chunk, way, tag)| {
            let mut headers = Vec::new();
            self.wrap(path, way, tag, &chunk, &mut headers);
            Made { path, way, headers }
        });
        packets.into()
    }

    /// In memory a SACK has the runs that changed; on the wire it reports all that fit the packet and their numbers' 16 bits.
    fn sack(&self, sack: &Sack, reassembly: &Reassembly) -> sctp::Sack {
        let duplicates = sack.duplicates();
        let room = (self.packet as usize).saturating_sub(AROUND_BLOCKS) / sctp::Sack::ITEM_BYTES;
        let room = room.saturating_sub(duplicates.len()).min(usize::from(sack.gap_blocks));
        let runs = reassembly.waiting().iter().take(room).map_while(|(first, last)| {
            let offset = |segment: u64| u16::try_from(segment + 1 - sack.cumulative).ok();
            // The part of a run that can be told is told.
            Some(GapBlock { start: offset(first)?, end: offset(last).unwrap_or(u16::MAX) })
        });
        sctp::Sack {
            cumulative: TSN.wrap(sack.cumulative).wrapping_sub(1),
            window: u32::try_from(sack.window).unwrap_or(u32::MAX),
            packets: if self.counts_packets { sack.packets.min(3) } else { 0 },
            blocks: runs.collect(),
            duplicates: duplicates.iter().map(|&segment| TSN.wrap(segment)).collect(),
        }
    }

    fn init(&self, way: Way) -> Init<'static> {
        let own = |path| {
            let (sender, receiver) = addresses(path);
            Parameter::Ipv4Address(if way == Way::Forward { sender } else { receiver })
        };
        Init {
            tag: TAGS[usize::from(way == Way::Backward)],
            window: u32::try_from(self.window).unwrap_or(u32::MAX),
            outbound_streams: STREAMS,
            inbound_streams: STREAMS,
            initial_tsn: TSN.initial,
            parameters: (0..self.paths).map(own).collect(),
        }
    }

    /// Puts headers around the chunk.
    fn wrap(&mut self, path: PathId, way: Way, tag: u32, chunk: &Chunk<'_>, headers: &mut Vec<u8>) {
        let (sender, receiver) = addresses(path.index());
        let backward = way == Way::Backward;
        let (ends, [source_port, destination_port]) = if backward {
            (Ends { from: receiver, to: sender }, [PORT, SENDER_PORT])
        } else {
            (Ends { from: sender, to: receiver }, [SENDER_PORT, PORT])
        };
        let id = &mut self.ids[path.index()][usize::from(backward)];
        let header = Header { source_port, destination_port, verification_tag: tag };
        let chunks = std::slice::from_ref(chunk);
        ip::put(ends, sctp::PROTOCOL, *id, 0, headers, |out| header.encode(chunks, out));
        *id = id.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::Time;
    use plait_sim::simulation::PacketId;
    use plait_transport::packet;
    use std::path::Path;

    fn wire(packet: u32) -> Wire {
        let text = format!(
            "duration = \"1s\"\ntransport = {{ packet = \"{packet}B\" }}\n[[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\""
        );
        Wire::new(&Scenario::from_toml(&text, "test.toml", Path::new(".")).unwrap_or_else(|e| panic!("{e}")))
    }

    /// A SACK of a receiver that has got these segments.
    fn sack(wire: &mut Wire, arrived: impl IntoIterator<Item = u64>, duplicate: Option<u64>) -> Vec<u8> {
        let mut reassembly = Reassembly::new(1 << 30, 0, false);
        for segment in arrived {
            reassembly.accept(Time::ZERO, PathId(0), &packet::Data { segment, bytes: 1 }, &mut ());
        }
        let mut sack = packet::Sack::new(reassembly.next_expected(), 1 << 33, 2);
        sack.gap_blocks = reassembly.waiting().runs().min(363) as u16;
        duplicate.into_iter().for_each(|segment| sack.push_duplicate(segment));
        let packet = Packet::Sack(sack);
        let id = PacketId { path: PathId(0), way: Way::Backward, data: false, number: 1 };
        let seen = Sighting { time: Time::ZERO, id, packet: &packet, bytes: 0 };
        let mut headers = Vec::new();
        wire.leave(&seen, Origin::Receiver(&reassembly), &mut headers);
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
        // Type and flags (two packets of data), length; everything up to TSN 2; the window as large as can be told.
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
