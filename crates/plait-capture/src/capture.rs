//! Capture files: packets with their times, whatever the link layer.

use crate::error::ObservationError;
use pcap_file::pcap::PcapReader;
use pcap_file::{DataLink, PcapError, TsResolution};
use std::borrow::Cow;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

/// EtherType of IPv4.
const IPV4: [u8; 2] = [0x08, 0x00];

/// One captured packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// Nanoseconds of the clock that the capture was made with.
    pub(crate) time: i64,
    /// Counted from 1 over everything in the file.
    pub(crate) number: u64,
    /// From the IP header on, as far as it was captured; empty if it is no IPv4 packet.
    pub(crate) ip: &'a [u8],
}

/// A capture file that is being read.
pub(crate) struct Capture {
    name: String,
    reader: PcapReader<File>,
    link: DataLink,
    /// Nanoseconds of a unit of a record's fraction.
    unit: i64,
    number: u64,
}

impl Capture {
    /// Opens the capture `name` in `folder`.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self, ObservationError> {
        let file = File::open(folder.join(name))
            .map_err(|error| ObservationError::File { file: name.to_owned(), reason: error.to_string() })?;
        let refused =
            |reason: String| ObservationError::Format { file: name.to_owned(), record: None, reason };
        let reader = PcapReader::new(file).map_err(|error| match error {
            PcapError::IoError(error) if error.kind() != ErrorKind::UnexpectedEof => {
                ObservationError::File { file: name.to_owned(), reason: error.to_string() }
            }
            _ => refused("it is no capture in the pcap format (pcapng is another)".to_owned()),
        })?;
        let header = reader.header();
        let link = header.datalink;
        if !matches!(link, DataLink::LINUX_SLL2 | DataLink::LINUX_SLL | DataLink::ETHERNET) {
            let number = u32::from(link);
            return Err(refused(format!(
                "link type {number} is not known (valid: 276 LINUX_SLL2, 113 LINUX_SLL, 1 EN10MB)"
            )));
        }
        let unit = if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1_000 };
        Ok(Self { name: name.to_owned(), reader, link, unit, number: 0 })
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, ObservationError> {
        let number = self.number + 1;
        self.number = number;
        let record = match self.reader.next_raw_packet() {
            None => return Ok(None),
            Some(Ok(record)) => record,
            Some(Err(error)) => return Err(broken(&self.name, number, &error)),
        };
        let time = i64::from(record.ts_sec) * 1_000_000_000 + i64::from(record.ts_frac) * self.unit;
        let Cow::Borrowed(data) = record.data else {
            return Err(ObservationError::format(&self.name, number, "it cannot be read in place"));
        };
        let (header, protocol) = match self.link {
            DataLink::LINUX_SLL2 => (20, 0),
            DataLink::LINUX_SLL => (16, 14),
            _ => (14, 12),
        };
        if data.len() < header {
            return Err(ObservationError::format(&self.name, number, "its link header was cut off"));
        }
        let ip = if data[protocol..protocol + 2] == IPV4 { &data[header..] } else { &[] };
        Ok(Some(Record { time, number, ip }))
    }
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
