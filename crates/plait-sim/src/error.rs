//! Errors in input: one enum, whose text is always one line that names the place, the value and the
//! valid choices.

use std::fmt;

/// The reason why a scenario, or a file that it names, was refused. `file` is the scenario's file
/// as the user named it. `key` is a place in the file, with indices from 0, and the name of the
/// entry: `path[1].forward.rate (lte)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScenarioError {
    /// The scenario's file cannot be read.
    File {
        /// The file.
        file: String,
        /// The operating system's message.
        reason: String,
    },
    /// The text is not valid TOML, or not valid JSON.
    Syntax {
        /// The file.
        file: String,
        /// Line and column, from 1, where known.
        position: Option<(usize, usize)>,
        /// The parser's message.
        reason: String,
    },
    /// A table has a key that it cannot have.
    UnknownKey {
        /// The file.
        file: String,
        /// The place and the key.
        key: String,
        /// A valid key of similar spelling.
        near: Option<&'static str>,
        /// The valid keys of the table.
        valid: Vec<&'static str>,
    },
    /// A table lacks a key or table that has no default.
    Missing {
        /// The file.
        file: String,
        /// The table.
        table: String,
        /// The missing key or table.
        what: String,
    },
    /// A value is of the wrong type, cannot be read, is out of range or not one of the choices.
    Value {
        /// The file.
        file: String,
        /// The place.
        key: String,
        /// The value, shortened.
        value: String,
        /// The rule that it breaks.
        reason: String,
    },
    /// A combination of values that are valid one by one breaks a rule, or is not available yet.
    Rule {
        /// The file.
        file: String,
        /// The place: a key or a table.
        key: String,
        /// The rule that is broken.
        reason: String,
    },
    /// A trace file cannot be read or breaks a rule of the format.
    Trace {
        /// The trace file.
        file: String,
        /// The line, from 1, if the error is in one line.
        line: Option<usize>,
        /// The rule.
        rule: String,
    },
}

impl ScenarioError {
    /// Adds the name of the entry after its place: `path[1].rate (lte)`. `names` are pairs of place
    /// and name.
    pub(crate) fn with_names(mut self, names: &[(String, String)]) -> Self {
        let place = match &mut self {
            Self::UnknownKey { key, .. } | Self::Value { key, .. } | Self::Rule { key, .. } => key,
            Self::Missing { table, .. } => table,
            Self::File { .. } | Self::Syntax { .. } | Self::Trace { .. } => return self,
        };
        if let Some((_, name)) = names.iter().find(|(entry, _)| place.starts_with(entry.as_str())) {
            place.push_str(&format!(" ({name})"));
        }
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::File { file, reason } => format!("{file}: cannot be read: {reason}"),
            Self::Syntax { file, position: Some((line, column)), reason } => {
                format!("{file}: line {line}, column {column}: {reason}")
            }
            Self::Syntax { file, position: None, reason } => format!("{file}: {reason}"),
            Self::UnknownKey { file, key, near, valid } => {
                let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
                format!("{file}: {key}: unknown key ({near}valid: {})", valid.join(", "))
            }
            Self::Missing { file, table, what } if table.is_empty() => format!("{file}: {what} is missing"),
            Self::Missing { file, table, what } => format!("{file}: {table}: {what} is missing"),
            Self::Value { file, key, value, reason } => format!("{file}: {key} = {value}: {reason}"),
            Self::Rule { file, key, reason } => format!("{file}: {key}: {reason}"),
            Self::Trace { file, line: Some(line), rule } => format!("{file}: line {line}: {rule}"),
            Self::Trace { file, line: None, rule } => format!("{file}: {rule}"),
        };
        write_one_line(f, &line)
    }
}

impl std::error::Error for ScenarioError {}

/// Escapes line breaks: an error is one line, although names and texts of the user can contain
/// anything.
fn write_one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use fmt::Write as _;
    for character in text.chars() {
        if breaks_a_line(character) {
            write!(f, "{}", character.escape_default())?;
        } else {
            f.write_char(character)?;
        }
    }
    Ok(())
}

fn breaks_a_line(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Number of characters of a user's value in an error message.
const SHOWN: usize = 60;

/// Returns `text`, cut with an ellipsis if it is long.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_the_file_is_called() {
        let error = ScenarioError::File { file: "a\nb\u{2028}c".to_owned(), reason: "gone".to_owned() };
        assert_eq!(error.to_string(), "a\\nb\\u{2028}c: cannot be read: gone");
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        assert_eq!(shortened(&"µ".repeat(60)), "µ".repeat(60));
        assert_eq!(shortened(&"µ".repeat(61)), format!("{}…", "µ".repeat(60)));
    }
}
