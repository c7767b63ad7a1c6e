//! Captures built by hand, packet by packet.

use crate::{ObservationError, observe};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};
use plait_sched::Duration;
use plait_sim::recorder::RecordOptions;
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use plait_transport::wire::mptcp::key::initial_data_number;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;

/// A search found this key. The lower half of its first data sequence number is 2³² − 1445.
pub(super) const KEY: u64 = 252_322;

const PORT: u16 = 5_001;
pub(super) const FLOW_PORT: u16 = 6_000;

/// All tables, with a single sample in the run.
pub(super) const ALL: RecordOptions = RecordOptions {
    packets: true,
    series: Some(Duration::from_millis(40)),
    decisions: true,
    decisions_from: plait_sched::Time::ZERO,
};

pub(super) const SCENARIO: &str = r#"
    duration = "100ms"
    transport = { protocol = "mptcp", profile = "standard" }
    [[path]]
    rate = "10Mbit"
    rtt = "20ms"
    queue = "50p"
    [[path]]
    rate = "10Mbit"
    rtt = "20ms"
    queue = "50p"
"#;

pub(super) fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml", Path::new(".")).unwrap_or_else(|error| panic!("{error}"))
}

/// Two hosts with two paths between them, and their captures. Times are in milliseconds.
pub(super) struct Hosts {
    pub(super) folder: tempfile::TempDir,
    pub(super) link: DataLink,
    records: [Vec<(u64, Vec<u8>)>; 2],
    id: u16,
    /// Whether a translator changes the sender's addresses and ports.
    translated: bool,
}

impl Hosts {
    /// Two hosts without any captured packet.
    pub(super) fn silent() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            folder,
            link: DataLink::LINUX_SLL2,
            records: [Vec::new(), Vec::new()],
            id: 0,
            translated: false,
        }
    }

    /// Two hosts after the handshakes of an MPTCP connection.
    pub(super) fn new() -> Self {
        let mut hosts = Self::silent();
        hosts.connect();
        hosts
    }

    /// Two hosts after these handshakes, with the sender behind an address translator.
    pub(super) fn translated() -> Self {
        let mut hosts = Self { translated: true, ..Self::silent() };
        hosts.connect();
        hosts
    }

    fn connect(&mut self) {
        let join = [&[30, 12, 0x10, 1][..], &[7; 4], &[8; 4]].concat();
        for (path, options) in [&[][..], &join].into_iter().enumerate() {
            self.put(0, Some(0), packet([0, 1], path as u8, (40_000, PORT), 0, 2, options, 0));
        }
        let keys = [&[30, 20, 1, 1][..], &KEY.to_be_bytes(), &[0; 8]].concat();
        self.put(0, Some(0), packet([0, 1], 0, (40_000, PORT), 1, 16, &keys, 0));
    }

    fn put(&mut self, sent: u64, arrived: Option<u64>, mut packet: Vec<u8>) {
        packet[4..6].copy_from_slice(&self.id.to_be_bytes());
        self.id = self.id.wrapping_add(1);
        // Backward packets are captured at the receiver first.
        let from = usize::from(packet[15] == 2);
        self.records[from].push((sent, packet.clone()));
        if let Some(arrived) = arrived {
            if self.translated {
                // The translator maps all source addresses to one, and ports distinguish the
                // subflows.
                let port = 50_000 + u16::from(packet[14]);
                packet[12..16].copy_from_slice(&[100, 64, 0, 1]);
                packet[20..22].copy_from_slice(&port.to_be_bytes());
            }
            self.records[1 - from].push((arrived, packet));
        }
    }

    /// Data of the connection: `length` bytes from `start` on the subflow, with `options`.
    pub(super) fn data(
        &mut self,
        (sent, arrived): (u64, Option<u64>),
        path: u8,
        (start, length): (u32, u16),
        options: &[u8],
    ) {
        let packet = packet([0, 1], path, (40_000, PORT), start + 1, 16, options, length);
        self.put(sent, arrived, packet);
    }

    /// Data of the connection with a mapping of its own, to `offset` in the stream.
    pub(super) fn mapped(&mut self, times: (u64, Option<u64>), path: u8, piece: (u32, u16), offset: u64) {
        self.data(times, path, piece, &long_mapping(offset, piece.0, piece.1));
    }

    /// An acknowledgement of the connection.
    pub(super) fn acknowledge(&mut self, times: (u64, u64), path: u8, data: u64, window: u16) {
        let number = (origin() + data).to_be_bytes();
        let options = [&[30, 12, 0x20, 3][..], &number].concat();
        let mut packet = packet([1, 0], path, (PORT, 40_000), 1, 16, &options, 0);
        packet[34..36].copy_from_slice(&window.to_be_bytes());
        self.put(times.0, Some(times.1), packet);
    }

    /// A packet of a TCP flow in the given direction, a SYN if it has no payload.
    pub(super) fn flow(&mut self, times: (u64, Option<u64>), direction: [u8; 2], start: u32, length: u16) {
        let (sequence, flags) = if length == 0 { (0, 2) } else { (start + 1, 16) };
        let packet = packet(direction, 0, (41_000, FLOW_PORT), sequence, flags, &[], length);
        self.put(times.0, times.1, packet);
    }

    /// A datagram of 100 bytes.
    pub(super) fn datagram(&mut self, times: (u64, Option<u64>), number: u64) {
        let mut bytes = packet([0, 1], 0, (41_000, FLOW_PORT), 0, 0, &[], 60);
        bytes[9] = 17;
        bytes[28..36].copy_from_slice(&number.to_be_bytes());
        self.put(times.0, times.1, bytes);
    }

    /// Writes all files, after `change` has edited `observed.json`.
    pub(super) fn write(&mut self, change: impl FnOnce(&mut Value)) {
        self.records.iter_mut().for_each(|records| records.sort_by_key(|(time, _)| *time));
        self.write_captures();
        self.write_observed(change);
    }

    /// Writes only the captures.
    pub(super) fn write_captures(&self) {
        let link = match self.link {
            DataLink::LINUX_SLL2 => [&[8, 0][..], &[0; 18]].concat(),
            DataLink::LINUX_SLL => [&[0; 14][..], &[8, 0]].concat(),
            _ => [&[0; 12][..], &[8, 0]].concat(),
        };
        for (name, records) in ["sender.pcap", "receiver.pcap"].iter().zip(&self.records) {
            let file = File::create(self.folder.path().join(name)).unwrap();
            let header = PcapHeader {
                datalink: self.link,
                ts_resolution: TsResolution::NanoSecond,
                ..PcapHeader::default()
            };
            let mut writer = PcapWriter::with_header(file, header).unwrap();
            for (millis, packet) in records {
                let bytes = [&link[..], packet].concat();
                let time = std::time::Duration::from_millis(1_000_000 + *millis);
                writer.write_packet(&PcapPacket::new(time, bytes.len() as u32, &bytes)).unwrap();
            }
        }
    }

    fn write_observed(&self, change: impl FnOnce(&mut Value)) {
        let counts = json!({ "lost": 0, "dropped": 0 });
        let path = |number: u8| {
            json!({
                "name": format!("path{}", number + 1), "warmup": counts, "end": counts,
                "sender": format!("10.0.{number}.1"), "receiver": format!("10.0.{number}.2"),
            })
        };
        let mut observed = json!({
            "version": 1, "start_ns": 1_000_000_000_000i64, "end_ns": 1_000_100_000_000i64, "port": PORT,
            "written_bytes": 0, "paths": [path(0), path(1)],
        });
        change(&mut observed);
        self.file("observed.json", observed.to_string());
    }

    pub(super) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    /// Writes and observes the run.
    pub(super) fn observe(&mut self) -> Result<RunResult, ObservationError> {
        self.write(|_| {});
        observe(&scenario(SCENARIO), self.folder.path(), &ALL)
    }

    /// Returns the message of the expected error.
    pub(super) fn refused(&mut self) -> String {
        self.observe().expect_err("something is wrong").to_string()
    }
}

/// Converts milliseconds into the hosts' clock.
pub(super) fn clock(millis: i64) -> i64 {
    1_000_000_000_000 + millis * 1_000_000
}

fn origin() -> u64 {
    initial_data_number(KEY) + 1
}

/// A DSS option with a 64-bit number.
fn long_mapping(offset: u64, start: u32, length: u16) -> Vec<u8> {
    let head = [30, 18, 0x20, 0b1100];
    let number = (origin() + offset).to_be_bytes();
    [&head[..], &number, &(start + 1).to_be_bytes(), &length.to_be_bytes()].concat()
}

/// A DSS option with a 32-bit number.
pub(super) fn short_mapping(offset: u64, start: u32, length: u16) -> Vec<u8> {
    let head = [30, 14, 0x20, 0b0100];
    let number = ((origin() + offset) as u32).to_be_bytes();
    [&head[..], &number, &(start + 1).to_be_bytes(), &length.to_be_bytes()].concat()
}

/// An IPv4 packet from one host to the other (0: the sender), with `length` zero bytes of payload.
fn packet(
    [from, to]: [u8; 2],
    path: u8,
    (source, destination): (u16, u16),
    sequence: u32,
    flags: u8,
    options: &[u8],
    length: u16,
) -> Vec<u8> {
    let header = 20 + options.len().next_multiple_of(4);
    let total = 20 + header as u16 + length;
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&total.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, path, from + 1, 10, 0, path, to + 1]);
    packet.extend_from_slice(&source.to_be_bytes());
    packet.extend_from_slice(&destination.to_be_bytes());
    packet.extend_from_slice(&sequence.to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0, 0, (header as u8 / 4) << 4, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend_from_slice(options);
    packet.resize(usize::from(total), 0);
    packet
}
