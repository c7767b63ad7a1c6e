//! The sending side of a connection, as its capture shows it: maps payloads to bytes of the stream.

use crate::error::ObservationError;
use crate::packet::TcpSegment;
use plait_transport::wire::mptcp::key::initial_data_number;
use plait_transport::wire::number::{Sequence, nearest};
use std::collections::BTreeMap;

/// Mappings that a subflow remembers, for packets without a mapping.
const MAPPINGS: usize = 1 << 16;

/// Upper limit of a stream's length. A larger offset is a number from before the stream's start.
const LONGEST_STREAM: u64 = 1 << 56;

/// A record of a capture, for error messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordPosition<'a> {
    pub(crate) file: &'a str,
    pub(crate) record: u64,
}

impl RecordPosition<'_> {
    pub(crate) fn malformed(self, reason: impl Into<String>) -> ObservationError {
        ObservationError::format(self.file, self.record, reason)
    }

    pub(crate) fn mismatch(self, reason: impl Into<String>) -> ObservationError {
        ObservationError::mismatch(self.file, self.record, reason)
    }
}

/// The payload of a packet. Both numberings count bytes from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payload {
    /// Index of the subflow within its path. Subflows of a path follow each other when one is
    /// reopened.
    pub(crate) subflow: usize,
    /// The first byte's number on the subflow.
    pub(crate) start: u64,
    /// The first byte's offset in the stream.
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

#[derive(Clone, Debug)]
struct SubflowMappings {
    /// The sender's port, which distinguishes the subflow from others between the same addresses.
    port: u16,
    /// Sequence number of the SYN.
    initial: u32,
    /// End of the data sent so far, for the expansion of 32-bit numbers.
    end: u64,
    /// First byte on the subflow → first byte in the stream, length.
    mappings: BTreeMap<u64, (u64, u64)>,
}

/// A connection's sender.
#[derive(Clone, Debug)]
pub(crate) struct CapturedSender {
    multipath: bool,
    /// True if an MPTCP connection may continue without mappings, because the hosts report a
    /// fall-back.
    may_fall_back: bool,
    /// Whether the connection fell back. From then on the stream continues as its only subflow does
    /// (RFC 8684 §3.7).
    pub(crate) fell_back: bool,
    /// The data sequence number of the stream's first byte.
    origin: Option<u64>,
    /// End of the data sent so far, as a data sequence number.
    end: u64,
    /// Subflows by path.
    subflows: Vec<Vec<SubflowMappings>>,
}

impl CapturedSender {
    pub(crate) fn new(multipath: bool, may_fall_back: bool, paths: usize) -> Self {
        let subflows = vec![Vec::new(); paths];
        Self { multipath, may_fall_back, fell_back: false, origin: None, end: 0, subflows }
    }

    /// Returns the number of paths of the connection.
    pub(crate) fn paths(&self) -> usize {
        self.subflows.len()
    }

    /// Returns the subflow of `path` with the sender's `port`.
    pub(crate) fn subflow(&self, path: usize, port: u16) -> Option<usize> {
        self.subflows[path].iter().rposition(|subflow| subflow.port == port)
    }

    /// Returns the number of a segment's first payload byte on its subflow.
    pub(crate) fn start(&self, path: usize, subflow: usize, sequence: u32) -> u64 {
        let subflow = &self.subflows[path][subflow];
        Sequence { initial: subflow.initial.wrapping_add(1) }.unwrap(sequence, subflow.end)
    }

    /// Returns the stream offset of a data acknowledgement. For a connection with one path, or
    /// after a fall-back, returns that of a TCP acknowledgement.
    pub(crate) fn acknowledged(&self, path: usize, tcp: &TcpSegment) -> Option<u64> {
        if self.multipath && !self.fell_back {
            let origin = self.origin?;
            return Some(tcp.options.data_ack?.expand(self.end).wrapping_sub(origin));
        }
        let subflow = self.subflow(path, tcp.destination_port)?;
        tcp.ack.then(|| self.start(path, subflow, tcp.acknowledgement))
    }

    /// Returns the stream offset of a data sequence number, or `None` for a number of another
    /// connection.
    pub(crate) fn offset(&self, number: u64) -> Option<u64> {
        let offset = number.wrapping_sub(self.origin?);
        (offset < LONGEST_STREAM).then_some(offset)
    }

    /// Reads a packet on its way to the receiver. Returns its payload, if it has any.
    pub(crate) fn read(
        &mut self,
        position: RecordPosition<'_>,
        path: usize,
        tcp: &TcpSegment,
    ) -> Result<Option<Payload>, ObservationError> {
        if tcp.syn {
            self.open(path, tcp);
        }
        if let (None, Some(key)) = (self.origin, tcp.options.key) {
            let first = initial_data_number(key).wrapping_add(1);
            self.origin = Some(first);
            self.end = first;
        }
        if tcp.syn || tcp.payload == 0 {
            return Ok(None);
        }
        let Some(subflow) = self.subflow(path, tcp.source_port) else {
            let port = tcp.source_port;
            return Err(
                position.malformed(format!("the SYN of its subflow, from port {port}, was not captured"))
            );
        };
        let start = self.start(path, subflow, tcp.sequence);
        if start >= LONGEST_STREAM {
            return Err(position.malformed("its payload lies before the start of its subflow"));
        }
        let offset = if self.multipath { self.map(position, path, subflow, start, tcp)? } else { start };
        let end = start + u64::from(tcp.payload);
        let subflow_state = &mut self.subflows[path][subflow];
        subflow_state.end = subflow_state.end.max(end);
        Ok(Some(Payload { subflow, start, offset, length: tcp.payload }))
    }

    fn open(&mut self, path: usize, tcp: &TcpSegment) {
        let subflows = &mut self.subflows[path];
        let again =
            |subflow: &SubflowMappings| subflow.port == tcp.source_port && subflow.initial == tcp.sequence;
        if !subflows.iter().any(again) {
            let (port, initial) = (tcp.source_port, tcp.sequence);
            subflows.push(SubflowMappings { port, initial, end: 0, mappings: BTreeMap::new() });
        }
    }

    /// Returns the stream offset of the payload that begins at `start` on the subflow.
    fn map(
        &mut self,
        position: RecordPosition<'_>,
        path: usize,
        subflow: usize,
        start: u64,
        tcp: &TcpSegment,
    ) -> Result<u64, ObservationError> {
        let Some(origin) = self.origin else {
            self.fell_back = true;
            return Ok(start);
        };
        let subflow = &mut self.subflows[path][subflow];
        let announced = match (tcp.options.mapping, tcp.options.first_length) {
            (Some(mapping), _) => {
                let data = mapping.data.expand(self.end);
                let first = nearest(mapping.subflow.wrapping_sub(1), start);
                self.end = if data.wrapping_sub(self.end) < LONGEST_STREAM { data } else { self.end };
                self.fell_back |= mapping.length == 0;
                let length = if mapping.length == 0 { LONGEST_STREAM } else { mapping.length.into() };
                Some((first, data.wrapping_sub(origin), length))
            }
            // The first data may come with MP_CAPABLE in place of a DSS option.
            (None, Some(length)) => Some((0, 0, u64::from(length))),
            (None, None) => None,
        };
        if let Some((first, offset, length)) = announced {
            if offset >= LONGEST_STREAM {
                return Err(
                    position.malformed("its data sequence number lies before the start of the stream")
                );
            }
            subflow.mappings.insert(first, (offset, length));
            if subflow.mappings.len() > MAPPINGS {
                subflow.mappings.pop_first();
            }
        }
        let end = start + u64::from(tcp.payload);
        let known = subflow.mappings.range(..=start).next_back();
        match known {
            Some((&first, &(offset, length))) if end <= first + length => Ok(offset + (start - first)),
            // The sender falls back without a signal, as its peer did before. All data sent so far
            // went over this subflow.
            known if self.may_fall_back && tcp.options.data_ack.is_none() => {
                let ahead = known.map_or(0, |(&first, &(offset, _))| offset.wrapping_sub(first));
                self.fell_back = true;
                subflow.mappings.insert(start, (start.wrapping_add(ahead), LONGEST_STREAM));
                Ok(start.wrapping_add(ahead))
            }
            _ => Err(position.malformed("no mapping of its subflow covers its payload")),
        }
    }
}
