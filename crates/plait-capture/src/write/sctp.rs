//! SCTP packets (RFC 9260). A segment of the stream is a message of its own, in one DATA chunk: its TSN is its number.

use super::ip::{self, Ends};
use super::{Made, PORT, SENDER_PORT, addresses};
use plait_sched::{PathId, Time};
use plait_sim::scenario::{OwnOptions, Scenario, Way};
use plait_sim::simulation::{Origin, Sighting};
use plait_transport::packet::{Data, Packet, Sack};
use plait_transport::reassembly::Reassembly;

const PROTOCOL: u8 = 132;
/// Verification tags that the sender and the receiver of the data chose.
const TAGS: [u32; 2] = [0x706c_6101, 0x706c_6102];
/// The first TSN of either end.
const INITIAL_TSN: u32 = 0;
const STREAMS: u16 = 1;
/// A message that is whole: no fragment comes before or after it.
const WHOLE: u8 = 3;
/// What the receiver wants back.
const COOKIE: [u8; 16] = *b"plait simulation";
/// IPv4 header and common header, chunk header and the rest of a SACK.
const AROUND_BLOCKS: u32 = 48;
/// What data's checksums are computed over.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The types of chunks.
#[derive(Clone, Copy, Debug)]
enum Chunk {
    Data = 0,
    Init = 1,
    InitAck = 2,
    Sack = 3,
    Heartbeat = 4,
    HeartbeatAck = 5,
    CookieEcho = 10,
    CookieAck = 11,
}

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
    chunk: Vec<u8>,
}

impl Wire {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let paths = scenario.paths.len();
        let own = &scenario.transport.own;
        Self {
            paths,
            packet: scenario.transport.packet,
            window: scenario.transport.receive_buffer,
            counts_packets: matches!(own, OwnOptions::CmtSctp { delayed_ack_for_cmt: true, .. }),
            ids: vec![[0; 2]; paths],
            chunk: Vec::new(),
        }
    }

    /// The headers of a packet that leaves.
    pub(super) fn leave(&mut self, seen: &Sighting<'_>, origin: Origin<'_>, headers: &mut Vec<u8>) {
        let (path, way) = (seen.id.path, seen.id.way);
        let tag = TAGS[usize::from(way == Way::Forward)];
        match (seen.packet, origin) {
            (Packet::Data(data), _) => {
                self.data(data);
                self.wrap(path, way, tag, data.bytes, headers);
            }
            (Packet::Sack(sack), Origin::Receiver(reassembly)) => {
                self.sack(sack, reassembly);
                self.wrap(path, way, tag, 0, headers);
            }
            (Packet::Heartbeat { sent_at }, _) => {
                self.heartbeat(Chunk::Heartbeat, path, *sent_at);
                self.wrap(path, way, tag, 0, headers);
            }
            (Packet::HeartbeatAck { sent_at }, _) => {
                self.heartbeat(Chunk::HeartbeatAck, path, *sent_at);
                self.wrap(path, way, tag, 0, headers);
            }
            (other, _) => unreachable!("SCTP sends no {other:?}"),
        }
    }

    /// The handshake, on the first path; every end lists its addresses.
    pub(super) fn prelude(&mut self) -> Vec<Made> {
        let path = PathId(0);
        let steps = [
            (Chunk::Init, Way::Forward, 0),
            (Chunk::InitAck, Way::Backward, TAGS[0]),
            (Chunk::CookieEcho, Way::Forward, TAGS[1]),
            (Chunk::CookieAck, Way::Backward, TAGS[0]),
        ];
        let packets = steps.map(|(chunk, way, tag)| {
            match chunk {
                Chunk::Init | Chunk::InitAck => self.init(chunk, way),
                Chunk::CookieEcho => {
                    self.begin(chunk, 0);
                    self.chunk.extend_from_slice(&COOKIE);
                }
                _ => self.begin(chunk, 0),
            }
            let mut headers = Vec::new();
            self.wrap(path, way, tag, 0, &mut headers);
            Made { path, way, headers }
        });
        packets.into()
    }

    /// Begins a chunk; its length follows when it is wrapped.
    fn begin(&mut self, chunk: Chunk, flags: u8) {
        self.chunk.clear();
        self.chunk.extend_from_slice(&[chunk as u8, flags, 0, 0]);
    }

    fn data(&mut self, data: &Data) {
        self.begin(Chunk::Data, WHOLE);
        self.chunk.extend_from_slice(&tsn(data.segment).to_be_bytes());
        self.chunk.extend_from_slice(&[0, 0]);
        self.chunk.extend_from_slice(&(data.segment as u16).to_be_bytes());
        self.chunk.extend_from_slice(&[0; 4]);
    }

    /// In memory a SACK has the runs that changed; on the wire it reports all that fit the packet and their numbers' 16 bits.
    fn sack(&mut self, sack: &Sack, reassembly: &Reassembly) {
        let flags = if self.counts_packets { sack.packets.min(3) << 6 } else { 0 };
        self.begin(Chunk::Sack, flags);
        self.chunk.extend_from_slice(&tsn(sack.cumulative).wrapping_sub(1).to_be_bytes());
        self.chunk.extend_from_slice(&u32::try_from(sack.window).unwrap_or(u32::MAX).to_be_bytes());
        let duplicates = sack.duplicates();
        let room = (self.packet.saturating_sub(AROUND_BLOCKS) / 4) as usize;
        let room = room.saturating_sub(duplicates.len()).min(usize::from(sack.gap_blocks));
        let counts = self.chunk.len();
        self.chunk.extend_from_slice(&[0; 4]);
        let runs = reassembly.waiting().iter().take(room).map_while(|(first, last)| {
            let offset = |segment: u64| u16::try_from(segment + 1 - sack.cumulative).ok();
            // The part of a run that can be told is told.
            Some((offset(first)?, offset(last).unwrap_or(u16::MAX)))
        });
        let mut blocks = 0u16;
        for (first, last) in runs {
            self.chunk.extend_from_slice(&first.to_be_bytes());
            self.chunk.extend_from_slice(&last.to_be_bytes());
            blocks += 1;
        }
        for &segment in duplicates {
            self.chunk.extend_from_slice(&tsn(segment).to_be_bytes());
        }
        self.chunk[counts..counts + 2].copy_from_slice(&blocks.to_be_bytes());
        self.chunk[counts + 2..counts + 4].copy_from_slice(&(duplicates.len() as u16).to_be_bytes());
    }

    /// With the time of its sending, and the path.
    fn heartbeat(&mut self, chunk: Chunk, path: PathId, sent_at: Time) {
        self.begin(chunk, 0);
        self.chunk.extend_from_slice(&[0, 1, 0, 20]);
        self.chunk.extend_from_slice(&sent_at.as_nanos().to_be_bytes());
        self.chunk.extend_from_slice(&u64::from(path.0).to_be_bytes());
    }

    fn init(&mut self, chunk: Chunk, way: Way) {
        self.begin(chunk, 0);
        self.chunk.extend_from_slice(&TAGS[usize::from(way == Way::Backward)].to_be_bytes());
        self.chunk.extend_from_slice(&u32::try_from(self.window).unwrap_or(u32::MAX).to_be_bytes());
        self.chunk.extend_from_slice(&STREAMS.to_be_bytes());
        self.chunk.extend_from_slice(&STREAMS.to_be_bytes());
        self.chunk.extend_from_slice(&INITIAL_TSN.to_be_bytes());
        for path in 0..self.paths {
            let (sender, receiver) = addresses(path);
            let address = if way == Way::Forward { sender } else { receiver };
            self.chunk.extend_from_slice(&[0, 5, 0, 8]);
            self.chunk.extend_from_slice(&address.octets());
        }
        if matches!(chunk, Chunk::InitAck) {
            self.chunk.extend_from_slice(&[0, 7, 0, 4 + COOKIE.len() as u8]);
            self.chunk.extend_from_slice(&COOKIE);
        }
    }

    /// Puts headers around the chunk, which is followed by `payload` zeros, padded to words.
    fn wrap(&mut self, path: PathId, way: Way, tag: u32, payload: u32, headers: &mut Vec<u8>) {
        let length = self.chunk.len() as u32 + payload;
        let length_field = u16::try_from(length).unwrap_or(u16::MAX);
        self.chunk[2..4].copy_from_slice(&length_field.to_be_bytes());
        let zeros = payload.next_multiple_of(4);
        let total = ip::HEADER as u32 + 12 + self.chunk.len() as u32 + zeros;
        let (sender, receiver) = addresses(path.index());
        let backward = way == Way::Backward;
        let (ends, ports) = if backward {
            (Ends { from: receiver, to: sender }, [PORT, SENDER_PORT])
        } else {
            (Ends { from: sender, to: receiver }, [SENDER_PORT, PORT])
        };
        let id = &mut self.ids[path.index()][usize::from(backward)];
        headers.extend_from_slice(&ip::header(ends, PROTOCOL, *id, total));
        *id = id.wrapping_add(1);
        let common = headers.len();
        ports.iter().for_each(|port| headers.extend_from_slice(&port.to_be_bytes()));
        headers.extend_from_slice(&tag.to_be_bytes());
        headers.extend_from_slice(&[0; 4]);
        headers.extend_from_slice(&self.chunk);
        let sum = crc32c::crc32c_append(crc32c::crc32c(&headers[common..]), &ZEROS[..zeros as usize]);
        headers[common + 8..common + 12].copy_from_slice(&sum.to_le_bytes());
    }
}

/// A segment's TSN.
fn tsn(segment: u64) -> u32 {
    INITIAL_TSN.wrapping_add(segment as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sim::simulation::PacketId;
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
            reassembly.accept(Time::ZERO, PathId(0), &Data { segment, bytes: 1 }, &mut ());
        }
        let mut sack = Sack::new(reassembly.next_expected(), 1 << 33, 2);
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
    fn the_checksum_is_that_of_the_rfc() {
        // 32 zeros: RFC 3720, appendix B.4; the same polynomial.
        assert_eq!(crc32c::crc32c(&ZEROS[..32]), 0x8a91_36aa);
        let headers = sack(&mut wire(1500), [0], None);
        let mut packet = headers[20..].to_vec();
        let stored = u32::from_le_bytes([packet[8], packet[9], packet[10], packet[11]]);
        packet[8..12].fill(0);
        assert_eq!(crc32c::crc32c(&packet), stored);
    }
}
