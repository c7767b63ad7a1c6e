//! Files of little-endian records.

use crate::error::ObservationError;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// A file of records that is being read.
pub(crate) struct Records {
    name: String,
    reader: BufReader<File>,
    number: u64,
}

impl Records {
    /// Opens the file `name` in `folder`. Returns `None` if it does not exist.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Option<Self>, ObservationError> {
        match File::open(folder.join(name)) {
            Ok(file) => Ok(Some(Self { name: name.to_owned(), reader: BufReader::new(file), number: 0 })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ObservationError::File { file: name.to_owned(), reason: error.to_string() }),
        }
    }

    /// Returns the number of the record that was begun last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next record. Returns `None` at the end of the file.
    pub(crate) fn next<const N: usize>(&mut self) -> Result<Option<Fields<N>>, ObservationError> {
        let at_end = self.reader_is_empty()?;
        if at_end {
            return Ok(None);
        }
        self.number += 1;
        self.part().map(Some)
    }

    /// Reads a further part of the current record.
    pub(crate) fn part<const N: usize>(&mut self) -> Result<Fields<N>, ObservationError> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                ObservationError::format(&self.name, self.number, "the file ends in the middle of it")
            }
            _ => ObservationError::File { file: self.name.clone(), reason: error.to_string() },
        })?;
        Ok(Fields { bytes })
    }

    fn reader_is_empty(&mut self) -> Result<bool, ObservationError> {
        use std::io::BufRead as _;
        let filled = self.reader.fill_buf();
        filled
            .map(<[u8]>::is_empty)
            .map_err(|error| ObservationError::File { file: self.name.clone(), reason: error.to_string() })
    }

    pub(crate) fn malformed(&self, reason: impl Into<String>) -> ObservationError {
        ObservationError::format(&self.name, self.number, reason)
    }
}

/// The fields of a record, by byte offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<const N: usize> {
    bytes: [u8; N],
}

impl<const N: usize> Fields<N> {
    fn array<const M: usize>(&self, at: usize) -> [u8; M] {
        let mut array = [0; M];
        array.copy_from_slice(&self.bytes[at..at + M]);
        array
    }

    pub(crate) fn u8(&self, at: usize) -> u8 {
        self.bytes[at]
    }

    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }

    pub(crate) fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.array(at))
    }
}

/// `writes.bin` and `reads.bin`: the number of bytes that the application had written or read at a
/// time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Progress {
    pub(crate) time: i64,
    /// Bytes since the start.
    pub(crate) bytes: u64,
}

impl Records {
    pub(crate) fn progress(&mut self) -> Result<Option<Progress>, ObservationError> {
        let fields = self.next::<16>()?;
        Ok(fields.map(|fields| Progress { time: fields.i64(0), bytes: fields.u64(8) }))
    }

    /// `requests.bin`: one request.
    pub(crate) fn request(&mut self) -> Result<Option<RequestTimes>, ObservationError> {
        let fields = self.next::<40>()?;
        Ok(fields.map(|fields| RequestTimes {
            written: fields.i64(0),
            answered: fields.i64(8),
            delivered: fields.i64(16),
            request_bytes: fields.u64(24),
            response_bytes: fields.u64(32),
        }))
    }

    /// `drops.bin`: reads data that the receiver dropped after it had arrived.
    pub(crate) fn drop(&mut self) -> Result<Option<ReceiverDrop>, ObservationError> {
        let fields = self.next::<24>()?;
        Ok(fields.map(|fields| ReceiverDrop {
            time: fields.i64(0),
            start: fields.u64(8),
            end: fields.u64(16),
        }))
    }

    /// `series.bin`: reads a sample of one path at one time.
    pub(crate) fn sample(&mut self) -> Result<Option<Sample>, ObservationError> {
        let fields = self.next::<40>()?;
        Ok(fields.map(|fields| Sample {
            time: fields.i64(0),
            path: fields.u32(8),
            cwnd: fields.u32(12),
            ssthresh: fields.u32(16),
            srtt_us: fields.u32(20),
            in_flight: fields.u32(24),
            unsent_bytes: fields.u32(28),
            link_queue: fields.u32(32),
        }))
    }
}

/// A request and its response. Times of events that did not happen are negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RequestTimes {
    /// Time at which the client wrote the request.
    pub(crate) written: i64,
    /// Time at which the server wrote the response, after the whole request had arrived.
    pub(crate) answered: i64,
    /// Time at which the client had the whole response.
    pub(crate) delivered: i64,
    pub(crate) request_bytes: u64,
    pub(crate) response_bytes: u64,
}

/// Data that MPTCP dropped after its subflow had accepted it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceiverDrop {
    pub(crate) time: i64,
    /// The first data sequence number, and the one after the last.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A sample of a path. The last four bytes of the record are unused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sample {
    pub(crate) time: i64,
    pub(crate) path: u32,
    /// In packets, like `ssthresh`.
    pub(crate) cwnd: u32,
    /// In packets; unset from 2³¹ − 1 on.
    pub(crate) ssthresh: u32,
    /// Zero before the first sample.
    pub(crate) srtt_us: u32,
    pub(crate) in_flight: u32,
    /// In the subflow's queue.
    pub(crate) unsent_bytes: u32,
    /// Packets in the queues along the path's forward route.
    pub(crate) link_queue: u32,
}
