//! The deadlines of messages: their key, and their form for the transport.

use crate::error::ScenarioError;
use crate::format::keys::{DURATION, KeyInfo, Preset, key};
use crate::format::reader::{MAX_DURATION, Reader};
use crate::format::text;
use plait_sched::{Duration, Time};
use plait_transport::WriteOptions;
use serde_json::Value;

/// The key of a deadline, with the description of the kind.
pub(super) const fn deadline_key(doc: &'static str) -> KeyInfo {
    key("deadline", DURATION, Preset::Otherwise("none"), doc)
}

/// Reads the deadline, if the table has one.
pub(super) fn deadline(reader: &mut Reader<'_>) -> Result<Option<Duration>, ScenarioError> {
    reader.take("deadline").map(|item| item.duration(Duration::from_nanos(1)..=MAX_DURATION)).transpose()
}

/// Writes the deadline, if there is one.
pub(super) fn write_deadline(table: &mut Value, deadline: Option<Duration>) {
    if let Some(deadline) = deadline {
        table["deadline"] = text::duration(deadline).into();
    }
}

/// The write options of a message of stream 0 whose deadline is `deadline` after `now`.
pub(super) fn within(now: Time, deadline: Option<Duration>) -> WriteOptions {
    WriteOptions {
        deadline: deadline.map(|deadline| now.saturating_add(deadline)),
        ..WriteOptions::default()
    }
}
