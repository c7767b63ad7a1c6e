//! A trace of writes: times, sizes and options of messages, from a file.
//!
//! The file is a table in CSV. Its first line names the columns: `time_s` and `bytes`, and perhaps
//! `stream`, `priority` and `deadline_ms`. Every further line is a write. Times never decrease, and
//! writes of equal times are written in the order of the file. An empty cell of an optional column
//! is its default: stream 0, priority 0, no deadline. The reader ignores blank lines, and lines that
//! begin with `#`.

use super::{
    Application, ApplicationEvent, ApplicationInput, BlockOrder, ConnectionEnd, ConnectionWriter,
    Description, KIND, start_key, within,
};
use crate::error::{ScenarioError, shortened};
use crate::format::keys::{DURATION, Preset, TableInfo, key};
use crate::format::reader::{Item, MAX_BYTES, MAX_DURATION, MAX_RATE, Reader, unknown};
use crate::format::text;
use crate::link::trace;
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::Value;
use std::sync::Arc;

/// Largest number of writes in a file.
const MAX_WRITES: usize = 1_000_000;

/// Smallest mean interval between the writes of a trace that is repeated.
const MIN_INTERVAL: Duration = Duration::from_micros(1);

/// Largest number of a stream.
const MAX_STREAM: u64 = 999;

/// Largest priority.
const MAX_PRIORITY: u64 = u8::MAX as u64;

/// Writes at the times of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteTrace {
    /// The file's name in the scenario.
    pub file: String,
    /// The writes, at least one. Times never decrease.
    pub writes: Arc<[TracedWrite]>,
    /// Payload bytes of all writes.
    pub bytes: u64,
    /// The time at which the trace begins.
    pub start: Duration,
    /// The period after which the trace begins again; it is later than the last write.
    pub repeat: Option<Duration>,
}

/// A write of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedWrite {
    /// The time since the beginning of the trace.
    pub at: Duration,
    /// The size.
    pub bytes: u64,
    /// The stream.
    pub stream: u32,
    /// The priority.
    pub priority: u8,
    /// The deadline, relative to the writing.
    pub deadline: Option<Duration>,
}

impl Description for WriteTrace {
    type Application = TraceWriter;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"trace\"",
        doc: "The writes of a file: a table in CSV with the columns time_s and bytes, and perhaps \
            stream, priority and deadline_ms. Every line is a message, and its delay is a block \
            delay. Without repeat, the run ends when all messages have arrived.",
        keys: &[
            KIND,
            key(
                "file",
                "a file's name",
                Preset::Required,
                "The file, relative to the folder of the scenario.",
            ),
            start_key("The beginning of the trace: the times of the file count from here."),
            key(
                "repeat",
                DURATION,
                Preset::Otherwise("once"),
                "The period after which the trace begins again; longer than the time of its last write.",
            ),
        ],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
        let item = reader.need("file")?;
        let file = item.name()?;
        let writes =
            trace::contents(&file, &item.source.base.join(&file)).and_then(|bytes| parse(&file, &bytes));
        let writes = writes.map_err(|error| match error {
            ScenarioError::Trace { line: Some(line), rule, .. } => item.wrong(format!("line {line}: {rule}")),
            ScenarioError::Trace { line: None, rule, .. } => item.wrong(rule),
            other => other,
        })?;
        let bytes = writes.iter().map(|write| write.bytes).sum();
        let repeat = reader.take("repeat").map(|item| period(&item, &writes, bytes)).transpose()?;
        Ok(Self { file, writes: writes.into(), bytes, start, repeat })
    }

    fn write(&self, table: &mut Value) {
        table["file"] = self.file.clone().into();
        table["start"] = text::duration(self.start).into();
        if let Some(repeat) = self.repeat {
            table["repeat"] = text::duration(repeat).into();
        }
    }

    fn start(&self, _seed: u64) -> TraceWriter {
        TraceWriter {
            writes: Arc::clone(&self.writes),
            repeat: self.repeat,
            begin: Time::ZERO + self.start,
            next: 0,
            hears: self.blocks() == Some(BlockOrder::Any),
        }
    }

    fn begin(&self) -> Duration {
        self.start + self.writes[0].at
    }

    fn blocks(&self) -> Option<BlockOrder> {
        let first = &self.writes[0];
        let alike = |write: &TracedWrite| (write.stream, write.priority) == (first.stream, first.priority);
        Some(if self.writes.iter().all(alike) { BlockOrder::Written } else { BlockOrder::Any })
    }

    fn has_deadlines(&self) -> bool {
        self.writes.iter().any(|write| write.deadline.is_some())
    }

    fn is_complete(&self, delivered: u64, _answered: u64) -> bool {
        self.repeat.is_none() && delivered == self.bytes
    }
}

/// Reads the period of a trace with these writes, of this size.
fn period(item: &Item<'_>, writes: &[TracedWrite], bytes: u64) -> Result<Duration, ScenarioError> {
    let period = item.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
    let last = writes.last().map_or(Duration::ZERO, |write| write.at);
    if period <= last {
        return Err(item.wrong(format!("must be later than the last write, at {}", text::duration(last))));
    }
    if period.as_nanos() < MIN_INTERVAL.as_nanos() * writes.len() as u64 {
        let least = text::duration(MIN_INTERVAL);
        return Err(item.wrong(format!("the mean interval between writes is less than {least}")));
    }
    // Numbers of bytes must not overflow in the longest run.
    if u128::from(bytes) * 8_000_000_000 > u128::from(MAX_RATE) * u128::from(period.as_nanos()) {
        return Err(item.wrong(format!("the mean rate is more than {}", text::rate(MAX_RATE))));
    }
    Ok(period)
}

/// A column of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Time,
    Bytes,
    Stream,
    Priority,
    Deadline,
}

/// The columns by their names; the first two are required.
const COLUMNS: [(&str, Column); 5] = [
    ("time_s", Column::Time),
    ("bytes", Column::Bytes),
    ("stream", Column::Stream),
    ("priority", Column::Priority),
    ("deadline_ms", Column::Deadline),
];

/// Reads the writes from the contents of a file; `name` is for errors.
fn parse(name: &str, bytes: &[u8]) -> Result<Vec<TracedWrite>, ScenarioError> {
    let refused = |line, rule| ScenarioError::Trace { file: name.to_owned(), line, rule };
    let content =
        std::str::from_utf8(bytes).map_err(|_| refused(None, "it is no text in UTF-8".to_owned()))?;
    let lines = content.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate();
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let header =
        lines.next().map(|(index, line)| columns(line).map_err(|rule| refused(Some(index + 1), rule)));
    let columns = header
        .unwrap_or_else(|| Err(refused(None, "it has no line; expected time_s,bytes first".to_owned())))?;
    let mut writes: Vec<TracedWrite> = Vec::new();
    let mut written = 0;
    for (index, line) in lines {
        let write = row(&columns, line).map_err(|rule| refused(Some(index + 1), rule))?;
        written += write.bytes;
        let rule = match writes.last() {
            Some(last) if write.at < last.at => Some(format!(
                "times never decrease: {} after {}",
                text::duration(write.at),
                text::duration(last.at)
            )),
            _ if written > MAX_BYTES => {
                Some(format!("all writes together have at most {}", text::bytes(MAX_BYTES)))
            }
            _ if writes.len() == MAX_WRITES => Some(format!("a file has at most {MAX_WRITES} writes")),
            _ => None,
        };
        if let Some(rule) = rule {
            return Err(refused(Some(index + 1), rule));
        }
        writes.push(write);
    }
    if writes.is_empty() {
        Err(refused(None, "it has no write; expected one a line".to_owned()))
    } else {
        Ok(writes)
    }
}

/// Reads the line that names the columns.
fn columns(line: &str) -> Result<Vec<Column>, String> {
    let names = COLUMNS.map(|(name, _)| name);
    if line.contains([';', '\t']) {
        return Err(format!("{:?}: expected commas between columns", shortened(line)));
    }
    let mut columns = Vec::new();
    for name in line.split(',').map(str::trim) {
        let known = COLUMNS.iter().find(|(known, _)| *known == name);
        let (_, column) =
            known.ok_or_else(|| format!("column {:?}: {}", shortened(name), unknown(name, &names)))?;
        if columns.contains(column) {
            return Err(format!("column {name:?}: it is there twice"));
        }
        columns.push(*column);
    }
    match COLUMNS[..2].iter().find(|(_, column)| !columns.contains(column)) {
        Some((name, _)) => Err(format!("column {name:?} is missing (valid: {})", names.join(", "))),
        None => Ok(columns),
    }
}

/// Reads a write.
fn row(columns: &[Column], line: &str) -> Result<TracedWrite, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{:?}: expected {} values, got {}", shortened(line), columns.len(), cells.len()));
    }
    let mut write = TracedWrite { at: Duration::ZERO, bytes: 0, stream: 0, priority: 0, deadline: None };
    for (column, cell) in columns.iter().zip(cells) {
        let name = COLUMNS.iter().find(|(_, one)| one == column).map_or("", |(name, _)| name);
        let wrong = |expected: String| format!("{name} = {:?}: expected {expected}", shortened(cell));
        let number = |most: u64| wrong(format!("a whole number from 0 to {most}"));
        match column {
            Column::Time => {
                let expected = || wrong(format!("seconds from 0 to {}", MAX_DURATION.as_secs_f64()));
                write.at = span(cell, 1e9).ok_or_else(expected)?;
            }
            Column::Bytes => {
                let expected = || wrong(format!("a whole number from 1 to {MAX_BYTES}"));
                write.bytes = whole(cell, 1..=MAX_BYTES).ok_or_else(expected)?;
            }
            _ if cell.is_empty() => {}
            Column::Stream => {
                let stream = whole(cell, 0..=MAX_STREAM).ok_or_else(|| number(MAX_STREAM))?;
                write.stream = stream as u32;
            }
            Column::Priority => {
                let priority = whole(cell, 0..=MAX_PRIORITY).ok_or_else(|| number(MAX_PRIORITY))?;
                write.priority = priority as u8;
            }
            Column::Deadline => {
                let most = MAX_DURATION.as_millis_f64();
                let expected = || wrong(format!("milliseconds from 0.000001 to {most}"));
                let deadline = span(cell, 1e6).filter(|deadline| !deadline.is_zero());
                write.deadline = Some(deadline.ok_or_else(expected)?);
            }
        }
    }
    Ok(write)
}

/// Reads a number of units of `nanos` nanoseconds, to the nearest nanosecond. Up to
/// [`MAX_DURATION`], decimal numbers are exact to the nanosecond.
fn span(cell: &str, nanos: f64) -> Option<Duration> {
    let nanos = (cell.parse::<f64>().ok()? * nanos).round();
    let most = MAX_DURATION.as_nanos() as f64;
    (0.0..=most).contains(&nanos).then(|| Duration::from_nanos(nanos as u64))
}

/// Reads a whole number in a range.
fn whole(cell: &str, range: std::ops::RangeInclusive<u64>) -> Option<u64> {
    cell.parse().ok().filter(|number| range.contains(number))
}

/// Writes the messages of a trace.
#[derive(Clone, Debug)]
pub(crate) struct TraceWriter {
    writes: Arc<[TracedWrite]>,
    repeat: Option<Duration>,
    /// The beginning of the current repetition.
    begin: Time,
    /// The next write.
    next: usize,
    hears: bool,
}

impl TraceWriter {
    /// The next write, and its time.
    fn due(&self) -> Option<(Time, TracedWrite)> {
        self.writes.get(self.next).map(|write| (self.begin.saturating_add(write.at), *write))
    }

    /// Moves to the next write.
    fn advance(&mut self) {
        self.next += 1;
        if let Some(repeat) = self.repeat.filter(|_| self.next == self.writes.len()) {
            self.begin = self.begin.saturating_add(repeat);
            self.next = 0;
        }
    }
}

impl Application for TraceWriter {
    fn begins_at_once(&self) -> bool {
        self.due().is_some_and(|(at, _)| at == Time::ZERO)
    }

    fn hears(&self) -> bool {
        self.hears
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.due().map(|(at, _)| at)
    }

    fn handle(&mut self, now: Time, input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        match input {
            ApplicationInput::Timer => {}
            ApplicationInput::Arrived(number) => {
                ends.note(ApplicationEvent::BlockArrived(number));
                return;
            }
            ApplicationInput::Delivered { .. } => return,
        }
        while let Some((_, write)) = self.due().filter(|(at, _)| *at <= now) {
            let TracedWrite { bytes, stream, priority, deadline, .. } = write;
            let options = WriteOptions { stream, priority, ..within(now, deadline) };
            ends.write(ConnectionEnd::Near, bytes, &options);
            ends.note(ApplicationEvent::BlockWritten { bytes, deadline });
            self.advance();
            if self.next == self.writes.len() {
                ends.finish(ConnectionEnd::Near);
            }
        }
    }
}

#[cfg(test)]
mod tests;
