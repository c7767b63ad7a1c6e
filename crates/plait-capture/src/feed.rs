//! Files that are read one record ahead, so that they can be merged by time.

use crate::capture::CaptureReader;
use crate::error::ObservationError;
use crate::packet::{self, CapturedPacket};
use crate::records::Records;
use std::path::Path;

/// One of the two captures, read one packet ahead.
pub(crate) struct Feed {
    capture: CaptureReader,
    /// Time, record number, and packet.
    pub(crate) head: Option<(i64, u64, CapturedPacket)>,
}

impl Feed {
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self, ObservationError> {
        let mut feed = Self { capture: CaptureReader::open(folder, name)?, head: None };
        feed.advance()?;
        Ok(feed)
    }

    /// Returns the capture's name.
    pub(crate) fn name(&self) -> &str {
        self.capture.name()
    }

    /// Advances to the next TCP or UDP packet over IPv4.
    pub(crate) fn advance(&mut self) -> Result<(), ObservationError> {
        loop {
            let Some(record) = self.capture.next()? else {
                self.head = None;
                return Ok(());
            };
            let (time, number) = (record.time, record.number);
            match packet::parse(record.ip) {
                Ok(None) => {}
                Ok(Some(packet)) => {
                    self.head = Some((time, number, packet));
                    return Ok(());
                }
                Err(reason) => {
                    return Err(ObservationError::format(self.capture.name(), number, reason));
                }
            }
        }
    }
}

/// A file of records, read one record ahead.
pub(crate) struct ReadAhead<T> {
    records: Records,
    pub(crate) head: Option<T>,
    read: fn(&mut Records) -> Result<Option<T>, ObservationError>,
}

impl<T> ReadAhead<T> {
    pub(crate) fn open(
        folder: &Path,
        name: &str,
        read: fn(&mut Records) -> Result<Option<T>, ObservationError>,
    ) -> Result<Option<Self>, ObservationError> {
        let Some(mut records) = Records::open(folder, name)? else { return Ok(None) };
        let head = read(&mut records)?;
        Ok(Some(Self { records, head, read }))
    }

    /// Returns the record at the head, with its number.
    pub(crate) fn take(&mut self) -> Result<Option<(T, u64)>, ObservationError> {
        let number = self.records.number();
        let Some(head) = self.head.take() else { return Ok(None) };
        self.head = (self.read)(&mut self.records)?;
        Ok(Some((head, number)))
    }
}
