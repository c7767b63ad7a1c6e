//! Capture files: packets with their times, for every supported format and link layer.

use crate::error::ObservationError;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, PcapError, TsResolution};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _};
use std::path::Path;

/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];

/// First bytes of a pcapng file.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// One captured packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaptureRecord<'a> {
    /// Nanoseconds of the clock that made the capture.
    pub(crate) time: i64,
    /// Number of the packet in the file, from 1, packets of all kinds included.
    pub(crate) number: u64,
    /// The packet from its IP header on, as far as it was captured; empty if it is not an IPv4
    /// packet.
    pub(crate) ip: &'a [u8],
}

/// Link type of an interface and unit of its times.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: DataLink,
    /// Nanoseconds per unit of time.
    unit: i64,
}

enum FormatReader {
    Pcap(PcapReader<File>, Interface),
    /// The reader, and the interfaces that have been described so far.
    PcapNg(PcapNgReader<File>, Vec<Interface>),
}

/// A capture file that is being read.
pub(crate) struct CaptureReader {
    name: String,
    reader: FormatReader,
    number: u64,
    /// The current packet.
    packet: Vec<u8>,
}

impl CaptureReader {
    /// Opens the capture `name` in `folder`.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self, ObservationError> {
        let unreadable = |error: &std::io::Error| ObservationError::File {
            file: name.to_owned(),
            reason: error.to_string(),
        };
        let mut file = File::open(folder.join(name)).map_err(|error| unreadable(&error))?;
        let mut magic = Vec::new();
        (&mut file).take(4).read_to_end(&mut magic).map_err(|error| unreadable(&error))?;
        file.rewind().map_err(|error| unreadable(&error))?;
        let refused = |error: PcapError| match error {
            PcapError::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => unreadable(&error),
            _ => ObservationError::Format {
                file: name.to_owned(),
                record: None,
                reason: "it is no capture in the formats pcap and pcapng".to_owned(),
            },
        };
        let reader = if magic == SECTION {
            FormatReader::PcapNg(PcapNgReader::new(file).map_err(refused)?, Vec::new())
        } else {
            let reader = PcapReader::new(file).map_err(refused)?;
            let header = reader.header();
            let unit = if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1_000 };
            let interface = Interface { link: known(header.datalink, name, None)?, unit };
            FormatReader::Pcap(reader, interface)
        };
        Ok(Self { name: name.to_owned(), reader, number: 0, packet: Vec::new() })
    }

    /// Returns the file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next packet.
    pub(crate) fn next(&mut self) -> Result<Option<CaptureRecord<'_>>, ObservationError> {
        self.number += 1;
        let (name, number) = (&self.name, self.number);
        let format = |reason: &str| ObservationError::format(name, number, reason);
        self.packet.clear();
        let (time, interface) = match &mut self.reader {
            FormatReader::Pcap(reader, interface) => {
                let record = match reader.next_raw_packet() {
                    None => return Ok(None),
                    Some(record) => record.map_err(|error| broken(name, number, &error))?,
                };
                let time =
                    i64::from(record.ts_sec) * 1_000_000_000 + i64::from(record.ts_frac) * interface.unit;
                self.packet.extend_from_slice(&record.data);
                (time, *interface)
            }
            FormatReader::PcapNg(reader, interfaces) => {
                let (id, time) = loop {
                    let block = match reader.next_block() {
                        None => return Ok(None),
                        Some(block) => block.map_err(|error| broken(name, number, &error))?,
                    };
                    match block {
                        Block::SectionHeader(_) => interfaces.clear(),
                        Block::InterfaceDescription(block) => {
                            interfaces.push(interface(&block, name, number)?);
                        }
                        Block::EnhancedPacket(packet) => {
                            self.packet.extend_from_slice(&packet.data);
                            break (packet.interface_id, packet.timestamp);
                        }
                        Block::SimplePacket(_) | Block::Packet(_) => {
                            return Err(format("it is no enhanced packet block: its time is not known"));
                        }
                        _ => {}
                    }
                };
                let interface = interfaces.get(id as usize);
                let interface = *interface.ok_or_else(|| format("its interface was not described"))?;
                // The library takes every unit for a nanosecond.
                let time = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
                (time.saturating_mul(interface.unit), interface)
            }
        };
        let data = &self.packet[..];
        let (header, protocol) = match interface.link {
            DataLink::RAW => return Ok(Some(CaptureRecord { time, number, ip: raw(data) })),
            DataLink::LINUX_SLL2 => (20, 0),
            DataLink::LINUX_SLL => (16, 14),
            _ => (14, 12),
        };
        if data.len() < header {
            return Err(format("its link header was cut off"));
        }
        let ip = if data[protocol..protocol + 2] == IPV4 { &data[header..] } else { &[] };
        Ok(Some(CaptureRecord { time, number, ip }))
    }
}

/// Returns `data`, a packet without a link header, if it is IPv4; else an empty slice.
fn raw(data: &[u8]) -> &[u8] {
    if data.first().is_some_and(|first| first >> 4 == 4) { data } else { &[] }
}

fn known(link: DataLink, file: &str, record: Option<u64>) -> Result<DataLink, ObservationError> {
    match link {
        DataLink::LINUX_SLL2 | DataLink::LINUX_SLL | DataLink::ETHERNET | DataLink::RAW => Ok(link),
        other => {
            let number = u32::from(other);
            let choices = "276 LINUX_SLL2, 113 LINUX_SLL, 1 EN10MB, 101 RAW";
            let reason = format!("link type {number} is not known (valid: {choices})");
            Err(ObservationError::Format { file: file.to_owned(), record, reason })
        }
    }
}

/// Reads the description of a pcapng interface. `record` is the number of the next packet.
fn interface(
    block: &InterfaceDescriptionBlock<'_>,
    file: &str,
    record: u64,
) -> Result<Interface, ObservationError> {
    let resolution = block.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    let unit = match resolution {
        None | Some(6) => 1_000,
        Some(9) => 1,
        Some(other) => {
            let reason = format!("the resolution of times is {other} (valid: 6 and 9, powers of ten)");
            return Err(ObservationError::format(file, record, reason));
        }
    };
    Ok(Interface { link: known(block.linktype, file, Some(record))?, unit })
}

fn broken(file: &str, record: u64, error: &PcapError) -> ObservationError {
    match error {
        PcapError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            ObservationError::format(file, record, "the file ends in the middle of it")
        }
        PcapError::IoError(error) => {
            ObservationError::File { file: file.to_owned(), reason: error.to_string() }
        }
        other => ObservationError::format(file, record, other.to_string().to_lowercase()),
    }
}
