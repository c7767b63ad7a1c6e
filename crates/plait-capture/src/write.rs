//! Captures of a simulated run, as the same run over real hosts would leave them: for Wireshark, and for the tests that hold
//! what is read against what was simulated.

use crate::folder::{RECEIVER, SENDER};
use crate::sending::initial_data_number;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};
use plait_sim::recorder::frames::{NEVER, PacketFrame};
use plait_sim::scenario::{Protocol, Scenario};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

/// The clock at the scenario's time 0, in nanoseconds since 1970.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// The receiver's port.
pub const PORT: u16 = 5_001;
/// The sender's port on the first path; the others follow.
const SENDER_PORT: u16 = 40_000;
/// Enough for all headers.
const SNAP: u32 = 160;
/// The sender's and the receiver's key.
const KEYS: [u64; 2] = [0x706c_6169_7400_0001, 0x706c_6169_7400_0002];
/// Initial sequence numbers: not far from their wrap, which readers have to master.
const INITIAL: u32 = u32::MAX - 100_000;

const SYN: u8 = 2;
const ACK: u8 = 16;

/// The addresses of the sender and of the receiver on a path.
pub fn addresses(path: usize) -> (Ipv4Addr, Ipv4Addr) {
    let end = |host: u8| Ipv4Addr::new(10, 0, path as u8, host);
    (end(1), end(2))
}

/// Writes `sender.pcap` and `receiver.pcap` into `folder`: the handshakes, just before the scenario's time 0, and every data
/// packet of `packets`, which were recorded in a run of `scenario`.
///
/// The table does not tell of acknowledgements, nor when a packet arrived whose segment had arrived before: the former are
/// not written, the latter is missing at the receiver.
///
/// # Errors
/// If a file cannot be written, or the scenario's protocol is neither MPTCP nor TCP.
pub fn write(scenario: &Scenario, packets: &PacketFrame, folder: &Path) -> io::Result<()> {
    let multipath = match scenario.transport.protocol {
        Protocol::Mptcp => true,
        Protocol::Tcp => false,
        Protocol::CmtSctp => {
            let reason = "captures are written of mptcp and tcp, not of cmt-sctp";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
    };
    let mut sender = open(&folder.join(SENDER))?;
    let mut receiver = open(&folder.join(RECEIVER))?;
    let mut subflows = vec![Subflow::default(); scenario.paths.len()];
    for (path, subflow) in subflows.iter_mut().enumerate() {
        for packet in subflow.handshake(path, multipath) {
            put(&mut sender, START_NS - 1, &packet, packet.outgoing)?;
            put(&mut receiver, START_NS - 1, &packet, !packet.outgoing)?;
        }
    }
    let offsets = offsets(packets);
    let mut arrivals = Vec::new();
    for row in 0..packets.len() {
        let path = usize::from(packets.path[row]);
        let offset = offsets[packets.sequence[row] as usize];
        let packet = subflows[path].data(path, multipath, packets, row, offset);
        put(&mut sender, START_NS + packets.sent[row], &packet, true)?;
        if packets.arrived[row] != NEVER {
            arrivals.push((packets.arrived[row], packet));
        }
    }
    arrivals.sort_by_key(|(time, _)| *time);
    for (time, packet) in arrivals {
        put(&mut receiver, START_NS + time, &packet, false)?;
    }
    Ok(())
}

/// The offset in the stream of every segment.
fn offsets(packets: &PacketFrame) -> Vec<u64> {
    let segments = packets.sequence.iter().max().map_or(0, |last| *last as usize + 1);
    let mut bytes = vec![0; segments];
    for (&segment, &length) in packets.sequence.iter().zip(&packets.bytes) {
        bytes[segment as usize] = u64::from(length);
    }
    // What was never sent, because the run ended, is as long as the longest.
    let longest = packets.bytes.iter().copied().max().map_or(0, u64::from);
    let mut offset = 0;
    for length in &mut bytes {
        let start = offset;
        offset += if *length == 0 { longest } else { *length };
        *length = start;
    }
    bytes
}

type Writer = PcapWriter<BufWriter<File>>;

fn open(path: &Path) -> io::Result<Writer> {
    let header = PcapHeader {
        version_major: 2,
        version_minor: 4,
        ts_correction: 0,
        ts_accuracy: 0,
        snaplen: SNAP,
        datalink: DataLink::LINUX_SLL2,
        ts_resolution: TsResolution::NanoSecond,
        endianness: Endianness::Little,
    };
    PcapWriter::with_header(BufWriter::new(File::create(path)?), header).map_err(io_error)
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
    }
}

fn put(writer: &mut Writer, time: i64, packet: &Packet, outgoing: bool) -> io::Result<()> {
    let mut bytes = link_header(packet.path, outgoing).to_vec();
    bytes.extend_from_slice(&packet.headers);
    let length = bytes.len() as u32 + packet.payload;
    let time = Duration::from_nanos(time.unsigned_abs());
    writer.write_packet(&PcapPacket::new(time, length, &bytes)).map(|_| ()).map_err(io_error)
}

/// `LINKTYPE_LINUX_SLL2`: protocol, interface, kind of hardware, direction, address.
fn link_header(path: usize, outgoing: bool) -> [u8; 20] {
    let mut header = [0; 20];
    header[0] = 0x08;
    header[7] = path as u8 + 1;
    header[9] = 1;
    header[10] = if outgoing { 4 } else { 0 };
    header[11] = 6;
    header
}

/// A packet without its payload, whose bytes are all zero.
#[derive(Clone, Debug)]
struct Packet {
    path: usize,
    headers: Vec<u8>,
    payload: u32,
    /// From the sender to the receiver.
    outgoing: bool,
}

/// What a subflow's sender counts.
#[derive(Clone, Debug, Default)]
struct Subflow {
    id: u16,
    /// The next number, from 0.
    next: u64,
    /// The numbers of the segments that it carried.
    carried: BTreeMap<u64, u64>,
}

impl Subflow {
    fn handshake(&mut self, path: usize, multipath: bool) -> [Packet; 3] {
        // Version 1: MP_CAPABLE without a key, with the receiver's, with both; MP_JOIN with address, token, random numbers.
        let capable = |keys: &[u64]| {
            let mut option = vec![30, 4 + 8 * keys.len() as u8, 0x01, 0x01];
            keys.iter().for_each(|key| option.extend_from_slice(&key.to_be_bytes()));
            option
        };
        let join = |length: u8| {
            let mut option = vec![0; usize::from(length)];
            option[..4].copy_from_slice(&[30, length, 0x10, path as u8]);
            option
        };
        let [syn, answer, last] = match (multipath, path) {
            (false, _) => [vec![], vec![], vec![]],
            (true, 0) => [capable(&[]), capable(&KEYS[1..]), capable(&KEYS)],
            (true, _) => [join(12), join(16), join(24)],
        };
        let scale = [1, 3, 3, 14];
        let syn = [scale.to_vec(), syn].concat();
        let answer = [scale.to_vec(), answer].concat();
        let [first, third] = [(INITIAL, 0, SYN, syn), (INITIAL.wrapping_add(1), 1, ACK, last)].map(
            |(sequence, acknowledgement, flags, options)| {
                self.packet(path, true, sequence, acknowledgement, flags, &options, 0)
            },
        );
        let second = self.packet(path, false, 0, INITIAL.wrapping_add(1), SYN | ACK, &answer, 0);
        [first, second, third]
    }

    /// The transmission in `row`, whose segment begins at `offset` in the stream.
    fn data(
        &mut self,
        path: usize,
        multipath: bool,
        packets: &PacketFrame,
        row: usize,
        offset: u64,
    ) -> Packet {
        let (segment, bytes) = (packets.sequence[row], packets.bytes[row]);
        let start = *self.carried.entry(segment).or_insert(self.next);
        if start == self.next {
            self.next += u64::from(bytes);
        }
        let millis = (packets.sent[row] / 1_000_000) as u32;
        let mut options = vec![1, 1, 8, 10];
        options.extend_from_slice(&millis.to_be_bytes());
        options.extend_from_slice(&[0; 4]);
        if multipath {
            options.extend_from_slice(&data_sequence(offset, start, bytes));
        }
        let sequence = INITIAL.wrapping_add(1).wrapping_add(start as u32);
        self.packet(path, true, sequence, 1, ACK, &options, bytes)
    }

    #[expect(clippy::too_many_arguments, reason = "a header has so many fields")]
    fn packet(
        &mut self,
        path: usize,
        outgoing: bool,
        sequence: u32,
        acknowledgement: u32,
        flags: u8,
        options: &[u8],
        payload: u32,
    ) -> Packet {
        let (sender, receiver) = addresses(path);
        let port = SENDER_PORT + path as u16;
        let ends = [(sender, port), (receiver, PORT)];
        let [from, to] = if outgoing { ends } else { [ends[1], ends[0]] };
        let padded = options.len().next_multiple_of(4);
        let mut tcp = Vec::with_capacity(60);
        tcp.extend_from_slice(&from.1.to_be_bytes());
        tcp.extend_from_slice(&to.1.to_be_bytes());
        tcp.extend_from_slice(&sequence.to_be_bytes());
        tcp.extend_from_slice(&acknowledgement.to_be_bytes());
        tcp.extend_from_slice(&[(5 + padded as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend_from_slice(options);
        tcp.resize(20 + padded, 0);
        let length = tcp.len() as u32 + payload;
        let pseudo = [&from.0.octets()[..], &to.0.octets(), &[0, 6], &(length as u16).to_be_bytes()].concat();
        let sum = checksum(&[&pseudo[..], &tcp].concat());
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        let mut ip = vec![0x45, 0];
        ip.extend_from_slice(&(20 + length as u16).to_be_bytes());
        ip.extend_from_slice(&self.id.to_be_bytes());
        ip.extend_from_slice(&[0x40, 0, 64, 6, 0, 0]);
        ip.extend_from_slice(&from.0.octets());
        ip.extend_from_slice(&to.0.octets());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip.extend_from_slice(&tcp);
        self.id = self.id.wrapping_add(1);
        Packet { path, headers: ip, payload, outgoing }
    }
}

/// A DSS option with 32-bit numbers and a checksum, of the size that the simulator counts (RFC 8684 §3.3).
fn data_sequence(offset: u64, start: u64, bytes: u32) -> [u8; 20] {
    let number = initial_data_number(KEYS[0]).wrapping_add(1).wrapping_add(offset);
    let mut option = [0; 20];
    option[..4].copy_from_slice(&[30, 20, 0x20, 0b0101]);
    option[4..8].copy_from_slice(&(initial_data_number(KEYS[1]) as u32).wrapping_add(1).to_be_bytes());
    option[8..12].copy_from_slice(&(number as u32).to_be_bytes());
    option[12..16].copy_from_slice(&(start as u32).wrapping_add(1).to_be_bytes());
    option[16..18].copy_from_slice(&(bytes as u16).to_be_bytes());
    let summed = [&number.to_be_bytes()[..], &option[12..18], &[0, 0]].concat();
    option[18..20].copy_from_slice(&checksum(&summed).to_be_bytes());
    option
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
