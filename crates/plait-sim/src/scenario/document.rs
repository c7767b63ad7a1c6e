//! Converts a text to a table, with all errors that do not concern a single key.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::reader::is_name;
use crate::error::{ScenarioError, shortened};

/// The largest scenario file. A sweep's generated scenario has a few kilobytes. The limit avoids
/// reading gigabytes of a wrong file.
const MAX_BYTES: u64 = 16 << 20;

/// Reads the text of the file at `path`.
pub(super) fn read(path: &Path, origin: &str) -> Result<String, ScenarioError> {
    let refused = |reason: String| ScenarioError::File { file: origin.to_owned(), reason };
    // Opening a pipe would wait for its writer, perhaps for ever.
    let metadata = std::fs::metadata(path).map_err(|error| refused(error.to_string()))?;
    if !metadata.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(error.to_string()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused("a scenario has at most 16 MiB".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text".to_owned()))
}

/// Parses a TOML text.
pub(super) fn from_toml(text: &str, origin: &str) -> Result<toml::Table, ScenarioError> {
    text.parse::<toml::Table>().map_err(|error| ScenarioError::Syntax {
        file: origin.to_owned(),
        position: error.span().map(|span| position(text, span.start)),
        reason: syntax_reason(text, &error),
    })
}

/// The parser's message, and the piece of text that it concerns, if this is a piece of a line.
fn syntax_reason(text: &str, error: &toml::de::Error) -> String {
    let mut reason = one_line(error.message());
    if reason.starts_with("invalid type: integer") || reason.contains("number too large") {
        reason = format!("expected a whole number up to {}", i64::MAX);
    }
    let piece = error.span().and_then(|span| text.get(span)).map(str::trim);
    match piece.filter(|piece| !piece.is_empty() && !piece.contains('\n')) {
        Some(piece) => format!("{reason}: {}", shortened(piece)),
        None => reason,
    }
}

/// Parses a JSON text. JSON's numbers, strings, arrays and objects are TOML's. JSON has no dates,
/// and TOML has no null.
pub(super) fn from_json(text: &str, origin: &str) -> Result<toml::Table, ScenarioError> {
    // A value refuses duplicate keys; a table would not.
    let value = serde_json::from_str::<toml::Value>(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let reason = one_line(&error.to_string());
        // The parser ends its message with the position, which has a field of its own here.
        let reason = reason.split(" at line ").next().unwrap_or_default().to_owned();
        ScenarioError::Syntax {
            file: origin.to_owned(),
            position: (line > 0).then_some((line, column)),
            reason,
        }
    })?;
    match value {
        toml::Value::Table(table) => Ok(table),
        other => Err(ScenarioError::Syntax {
            file: origin.to_owned(),
            position: None,
            reason: format!("expected an object, got {}", other.type_str()),
        }),
    }
}

/// Line and column, in characters and from 1, of the byte at `offset`.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

/// Joins a parser's message of several lines into one.
fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The names of the lists' entries, with their places: `path[1]` and `lte`. Invalid names are left
/// out.
pub(super) fn names(table: &toml::Table) -> Vec<(String, String)> {
    let entries = ["path", "link", "flow"].into_iter().flat_map(|list| {
        let entries = table.get(list).and_then(toml::Value::as_array).into_iter().flatten();
        entries.enumerate().map(move |(index, entry)| (format!("{list}[{index}]"), entry))
    });
    let named = entries.filter_map(|(place, entry)| {
        let name = entry.get("name")?.as_str().filter(|name| is_name(name))?;
        Some((place, shortened(name)))
    });
    named.collect()
}
