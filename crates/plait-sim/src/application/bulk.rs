//! Bulk data: the application has data to send at all times.

use super::{Application, ApplicationInput, ConnectionEnd, ConnectionWriter, Description, KIND, start_key};
use crate::error::ScenarioError;
use crate::format::keys::TableInfo;
use crate::format::reader::{MAX_DURATION, Reader};
use crate::format::text;
use plait_sched::{Duration, Time};
use serde_json::Value;

/// Data to send at all times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bulk {
    /// The time of the first write.
    pub start: Duration,
}

impl Description for Bulk {
    type Application = BulkWriter;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"bulk\"",
        doc: "The application always has data to send.",
        keys: &[KIND, start_key("The beginning.")],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        Ok(Self { start: reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)? })
    }

    fn write(&self, table: &mut Value) {
        table["start"] = text::duration(self.start).into();
    }

    fn start(&self, _seed: u64) -> BulkWriter {
        BulkWriter { start: Some(Time::ZERO + self.start) }
    }

    fn begin(&self) -> Duration {
        self.start
    }

    fn is_endless(&self) -> bool {
        true
    }
}

/// Writes without end.
#[derive(Clone, Debug)]
pub(crate) struct BulkWriter {
    /// The start, until it has come.
    start: Option<Time>,
}

impl Application for BulkWriter {
    fn begins_at_once(&self) -> bool {
        self.start == Some(Time::ZERO)
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.start
    }

    fn handle(&mut self, _now: Time, _input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        if self.start.take().is_some() {
            ends.write_endlessly(ConnectionEnd::Near);
        }
    }
}
