//! Fuzz targets for whole endpoints behind their images: for any input from a peer, an endpoint
//! neither panics nor sends a packet that cannot be encoded.
//!
//! Two endpoints exchange data in both directions for a while. Then packets of the fuzzer arrive in
//! the name of one endpoint. Their checksums are corrected, so that the code behind the checksums
//! is reached.

use plait_sched::{Builtin, Duration, PathId, Time};
use plait_sim::scenario::Scenario;
use plait_sim::simulation;
use plait_transport::endpoint::{Config, Endpoint, Side};
use plait_transport::image::{Arriving, Image};
use plait_transport::packet::{Packet, SegmentEcn};
use plait_transport::wire::DecodeError;
use plait_transport::wire::checksum::Addresses;
use plait_transport::{PathConfig, Sink, Transmit};
use std::net::Ipv4Addr;
use std::path::Path;
use std::rc::Rc;

const PATHS: usize = 2;
/// Bytes in front of each packet in an input: its path, and its length.
const HEAD: usize = 3;
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Both endpoints, and the packets that the first of them sent.
#[derive(Clone)]
struct Talk {
    now: Time,
    ends: [(Endpoint<Builtin>, Image); 2],
    protocol: Protocol,
    sent: Rc<[Vec<u8>]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Sctp,
    Tcp,
    Quic,
}

thread_local! {
    static SCTP: Talk = Talk::begun(Protocol::Sctp, "protocol = \"cmt-sctp\"");
    static MPTCP: Talk = Talk::begun(Protocol::Tcp, "protocol = \"mptcp\", profile = \"standard\"");
    static LINUX: Talk = Talk::begun(Protocol::Tcp, "protocol = \"mptcp\", profile = \"linux\"");
    static QUIC: Talk = Talk::begun(Protocol::Quic, "protocol = \"mpquic\"");
}

/// A CMT-SCTP endpoint.
pub fn sctp(bytes: &[u8]) {
    SCTP.with(Talk::clone).hears(bytes);
}

/// Packets that its peer actually sent.
pub fn sctp_seeds() -> Vec<Vec<u8>> {
    SCTP.with(|talk| talk.sent.to_vec())
}

/// An MPTCP endpoint by the RFCs.
pub fn mptcp(bytes: &[u8]) {
    MPTCP.with(Talk::clone).hears(bytes);
}

/// Packets that its peer actually sent.
pub fn mptcp_seeds() -> Vec<Vec<u8>> {
    MPTCP.with(|talk| talk.sent.to_vec())
}

/// An MPTCP endpoint as in Linux.
pub fn linux(bytes: &[u8]) {
    LINUX.with(Talk::clone).hears(bytes);
}

/// Packets that its peer actually sent.
pub fn linux_seeds() -> Vec<Vec<u8>> {
    LINUX.with(|talk| talk.sent.to_vec())
}

/// A Multipath QUIC endpoint.
pub fn quic(bytes: &[u8]) {
    QUIC.with(Talk::clone).hears(bytes);
}

/// Packets that its peer actually sent.
pub fn quic_seeds() -> Vec<Vec<u8>> {
    QUIC.with(|talk| talk.sent.to_vec())
}

/// Encoded packets with their paths.
struct Written<'a> {
    own: &'a mut Image,
    peer: &'a Image,
    packets: Vec<(PathId, Vec<u8>)>,
}

impl Sink for Written<'_> {
    fn send(&mut self, transmit: &Transmit<'_>) {
        let payload = &ZEROS[..transmit.packet.payload_bytes() as usize];
        let mut bytes = Vec::new();
        self.own.encode(transmit, payload, self.peer.boundaries(), &mut bytes);
        self.packets.push((transmit.path, bytes));
    }
}

impl Talk {
    /// Exchanges data for some round trips, with some packets lost.
    fn begun(protocol: Protocol, transport: &str) -> Self {
        let text = format!(
            "duration = \"9s\"\ntransport = {{ {transport}, receive_buffer = \"100kB\" }}\n\
             workload = {{ kind = \"request-response\", request = \"9kB\", response = \"90kB\" }}\n\
             [[path]]\nrate = \"1Mbit\"\nrtt = \"20ms\"\nqueue = \"50p\"\n[[path]]\nrate = \"1Mbit\"\nrtt = \"40ms\"\nqueue = \"50p\""
        );
        let scenario = Scenario::from_toml(&text, "talk", Path::new("."))
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let config = simulation::transport(&scenario);
        let images = Image::pair(&config, PATHS, [u32::MAX - 2_000, 5]);
        let [near, far] = images;
        let end = |side| end(&config, side);
        let ends = [(end(Side::Client), near), (end(Side::Server), far)];
        let mut talk = Self { now: Time::ZERO, ends, protocol, sent: Rc::from([]) };
        let mut sent = Vec::new();
        talk.ends.iter_mut().for_each(|(end, _)| end.write(60_000));
        let mut number = 0;
        for _ in 0..12 {
            for from in 0..2 {
                for (path, bytes) in talk.send(from) {
                    number += 1;
                    if from == 0 {
                        sent.push(input(path, &bytes));
                    }
                    if number % 5 != 0 {
                        let read = talk.arrive(1 - from, path, &bytes);
                        assert_eq!(read, Ok(()), "an end's own packet");
                    }
                }
            }
            talk.now += Duration::from_millis(15);
        }
        talk.sent = sent.into();
        let delivered = talk.ends[1].0.reassembly().delivered_bytes();
        assert!(delivered > 10_000, "they talk: {delivered} bytes");
        talk
    }

    /// Encodes the packets that an endpoint has to send.
    fn send(&mut self, from: usize) -> Vec<(PathId, Vec<u8>)> {
        let [near, far] = &mut self.ends;
        let ((end, own), (_, peer)) = if from == 0 { (near, far) } else { (far, near) };
        if end.next_wakeup().is_some_and(|at| at <= self.now) {
            let _ = end.handle_timeout(self.now, &mut ());
        }
        let mut written = Written { own, peer, packets: Vec::new() };
        let _ = end.transmit(self.now, &mut written, &mut ());
        written.packets
    }

    /// Delivers a packet to an endpoint.
    fn arrive(&mut self, to: usize, path: PathId, bytes: &[u8]) -> Result<(), DecodeError> {
        let now = self.now;
        let [near, far] = &mut self.ends;
        let ((end, own), (_, peer)) = if to == 0 { (near, far) } else { (far, near) };
        let arriving = Arriving { path, ecn: SegmentEcn::default(), bytes };
        let take = |packet: &Packet, _: &[u8]| end.handle_packet(now, path, packet, &mut ());
        own.decode(&arriving, peer.boundaries(), take)
    }

    /// Delivers the fuzzer's packets to the far endpoint.
    fn hears(mut self, mut bytes: &[u8]) {
        while let Some((&[path, high, low], rest)) = bytes.split_first_chunk::<HEAD>() {
            let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
            let (packet, others) = rest.split_at(length);
            let path = PathId(path % PATHS as u8);
            let mut packet = packet.to_vec();
            self.mend(path, &mut packet);
            let _ = self.arrive(1, path, &packet);
            self.send(1);
            self.now += Duration::from_millis(3);
            bytes = others;
        }
    }

    /// Corrects the checksum of a packet.
    fn mend(&self, path: PathId, packet: &mut [u8]) {
        match self.protocol {
            Protocol::Sctp if packet.len() >= 12 => {
                packet[8..12].fill(0);
                let sum = crc32c::crc32c(packet);
                packet[8..12].copy_from_slice(&sum.to_le_bytes());
            }
            Protocol::Tcp if packet.len() >= 18 => {
                packet[16..18].fill(0);
                let end = |end: u8| Ipv4Addr::new(10, 0, path.0, end).into();
                let addresses = Addresses { source: end(1), destination: end(2) };
                let sum = addresses.pseudo_header(6, packet.len() as u32).with(packet).checksum();
                packet[16..18].copy_from_slice(&sum.to_be_bytes());
            }
            _ => {}
        }
    }
}

fn end(config: &Config, side: Side) -> Endpoint<Builtin> {
    let scheduler = Builtin::new("lowest-rtt", &[]).expect("a built-in scheduler");
    let paths = [PathConfig::default(); PATHS];
    Endpoint::new(config, side, &paths, scheduler).expect("it needs nothing")
}

fn input(path: PathId, bytes: &[u8]) -> Vec<u8> {
    let [high, low] = (bytes.len() as u16).to_be_bytes();
    [&[path.0, high, low][..], bytes].concat()
}
