//! A file, written at once.

use super::{Application, ApplicationInput, ConnectionEnd, ConnectionWriter, Description, KIND};
use super::{deadline, deadline_key, size_key, start_key, within, write_deadline};
use crate::error::ScenarioError;
use crate::format::keys::TableInfo;
use crate::format::reader::{MAX_BYTES, MAX_DURATION, Reader};
use crate::format::text;
use plait_sched::{Duration, Time};
use serde_json::Value;

/// One file, written at once. The run ends when it has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct File {
    /// Its size.
    pub size: u64,
    /// The time of writing.
    pub start: Duration,
    /// The deadline of the file, relative to its writing.
    pub deadline: Option<Duration>,
}

impl Description for File {
    type Application = FileWriter;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"file\"",
        doc: "One file, written at once; the run ends when all of it has arrived.",
        keys: &[
            KIND,
            size_key("size", "The size, in payload bytes."),
            start_key("The time of the write."),
            deadline_key(
                "The time limit for its complete delivery. Schedulers may know it, and metrics report it.",
            ),
        ],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
        Ok(Self { size: reader.need("size")?.bytes(&(1..=MAX_BYTES))?, start, deadline: deadline(reader)? })
    }

    fn write(&self, table: &mut Value) {
        table["size"] = text::bytes(self.size).into();
        table["start"] = text::duration(self.start).into();
        write_deadline(table, self.deadline);
    }

    fn start(&self, _seed: u64) -> FileWriter {
        FileWriter { size: self.size, start: Some(Time::ZERO + self.start), deadline: self.deadline }
    }

    fn begin(&self) -> Duration {
        self.start
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    fn is_complete(&self, delivered: u64, _answered: u64) -> bool {
        delivered == self.size
    }
}

/// Writes the file once.
#[derive(Clone, Debug)]
pub(crate) struct FileWriter {
    size: u64,
    /// The start, until it has come.
    start: Option<Time>,
    deadline: Option<Duration>,
}

impl Application for FileWriter {
    fn begins_at_once(&self) -> bool {
        self.start == Some(Time::ZERO)
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.start
    }

    fn handle(&mut self, now: Time, _input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        if self.start.take().is_some() {
            ends.write(ConnectionEnd::Near, self.size, &within(now, self.deadline));
            ends.finish(ConnectionEnd::Near);
        }
    }
}
