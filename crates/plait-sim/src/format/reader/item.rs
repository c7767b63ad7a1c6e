//! A value of a table, and its conversion.

use std::ops::RangeInclusive;

use plait_sched::units::{parse_bytes, parse_duration, parse_rate, parse_share};
use plait_sched::{Duration, UnitError};
use toml::Value;

use super::spelling::unknown;
use super::{MAX_RATE, Reader, Source, join};
use crate::error::{ScenarioError, shortened};
use crate::format::keys::TableInfo;
use crate::format::text;

/// The spelling of a size without limit.
pub(crate) const UNLIMITED: &str = "unlimited";

/// The longest name, in characters.
const MAX_NAME: usize = 200;

/// Whether a text is valid as a name.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control)
}

/// A value and its place.
pub(crate) struct Item<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) place: String,
    /// The expected type of value.
    pub(crate) kind: &'static str,
    pub(crate) value: Value,
}

/// A choice that the file spells as a word.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// Every choice, with its spelling.
    const WORDS: &'static [(&'static str, Self)];
    /// Choices of the format that are not available yet.
    const LATER: &'static [&'static str] = &[];

    /// Returns the choice's spelling.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, choice)| *choice == self).map_or("", |(word, _)| word)
    }
}

impl<'a> Item<'a> {
    /// An error about this value.
    pub(crate) fn wrong(&self, reason: impl Into<String>) -> ScenarioError {
        ScenarioError::Value {
            file: self.source.file.to_owned(),
            key: self.place.clone(),
            value: shown(&self.value),
            reason: reason.into(),
        }
    }

    /// An error about a value whose type is not the key's type.
    pub(crate) fn mistyped(&self) -> ScenarioError {
        let article = if matches!(self.value, Value::Integer(_) | Value::Array(_)) { "an" } else { "a" };
        self.wrong(format!("expected {}, got {article} {}", self.kind, self.value.type_str()))
    }

    pub(crate) fn text(&self) -> Result<&str, ScenarioError> {
        self.value.as_str().ok_or_else(|| self.mistyped())
    }

    /// A name for display and comparison: one line, not empty.
    pub(crate) fn name(&self) -> Result<String, ScenarioError> {
        let text = self.text()?;
        if !is_name(text) {
            return Err(
                self.wrong(format!("a name has 1 to {MAX_NAME} characters, and no control characters"))
            );
        }
        Ok(text.to_owned())
    }

    pub(crate) fn boolean(&self) -> Result<bool, ScenarioError> {
        self.value.as_bool().ok_or_else(|| self.mistyped())
    }

    /// A whole number in a range. `T` must hold the whole range.
    pub(crate) fn integer<T>(&self, range: RangeInclusive<T>) -> Result<T, ScenarioError>
    where
        T: TryFrom<i64> + PartialOrd + std::fmt::Display,
    {
        let number = self.value.as_integer().ok_or_else(|| self.mistyped())?;
        match T::try_from(number) {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(self.wrong(format!("must be from {} to {}", range.start(), range.end()))),
        }
    }

    pub(crate) fn duration(&self, range: RangeInclusive<Duration>) -> Result<Duration, ScenarioError> {
        self.amount(parse_duration, &range, text::duration)
    }

    /// A duration that may be negative, in nanoseconds.
    pub(crate) fn signed_duration(&self, most: Duration) -> Result<i64, ScenarioError> {
        let text = self.text()?;
        let magnitude = text.strip_prefix('-').unwrap_or(text);
        let span = parse_duration(magnitude).map_err(|error| self.wrong(reason(&error)))?;
        if span > most {
            let most = text::duration(most);
            return Err(self.wrong(format!("must be from -{most} to {most}")));
        }
        let nanos = span.as_nanos() as i64;
        Ok(if text.len() == magnitude.len() { nanos } else { -nanos })
    }

    pub(crate) fn rate(&self) -> Result<u64, ScenarioError> {
        self.amount(parse_rate, &(1..=MAX_RATE), text::rate)
    }

    pub(crate) fn bytes(&self, range: &RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        self.amount(parse_bytes, range, text::bytes)
    }

    /// [`Item::bytes`] that may also be "unlimited", which is `None`.
    pub(crate) fn bytes_or_unlimited(
        &self,
        range: &RangeInclusive<u64>,
    ) -> Result<Option<u64>, ScenarioError> {
        if self.text()? == UNLIMITED { Ok(None) } else { self.bytes(range).map(Some) }
    }

    pub(crate) fn share(&self) -> Result<u32, ScenarioError> {
        let text = self.text()?;
        parse_share(text).map_err(|error| match error.kind {
            plait_sched::units::UnitErrorKind::TooLarge => self.wrong("must be from 0% to 100%"),
            _ => self.wrong(reason(&error)),
        })
    }

    /// A number with or without a fraction.
    pub(crate) fn number(&self) -> Result<f64, ScenarioError> {
        let whole = self.value.as_integer().map(|number| number as f64);
        self.value.as_float().or(whole).ok_or_else(|| self.mistyped())
    }

    pub(crate) fn word<T: Word>(&self) -> Result<T, ScenarioError> {
        let text = self.text()?;
        if let Some((_, choice)) = T::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(*choice);
        }
        let valid: Vec<_> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let reason = unknown(text, &valid);
        Err(self.wrong(if T::LATER.contains(&text) {
            reason.replacen("unknown", "not available yet", 1)
        } else {
            reason
        }))
    }

    /// Reads the value as a table.
    pub(crate) fn reader(self, info: &'static TableInfo) -> Result<Reader<'a>, ScenarioError> {
        match self.value {
            Value::Table(table) => Reader::new(self.source, self.place, table, info),
            _ => Err(self.mistyped()),
        }
    }

    /// Selects one of several descriptions of a table by the word at `key`, which is required.
    pub(crate) fn variant<T: Word>(
        &self,
        info: &'static TableInfo,
        key: &'static str,
    ) -> Result<T, ScenarioError> {
        let table = self.value.as_table().ok_or_else(|| self.mistyped())?;
        let value = table.get(key).ok_or_else(|| self.source.missing(self.place.clone(), key))?;
        let kind = info.key(key).map_or("", |info| info.kind);
        Item { source: self.source, place: join(&self.place, key), kind, value: value.clone() }.word()
    }

    /// The elements of a list.
    pub(crate) fn list(self, kind: &'static str) -> Result<Vec<Item<'a>>, ScenarioError> {
        let Value::Array(values) = self.value else {
            return Err(self.mistyped());
        };
        let item = |(index, value)| {
            let place = format!("{}[{index}]", self.place);
            Item { source: self.source, place, kind, value }
        };
        Ok(values.into_iter().enumerate().map(item).collect())
    }

    fn amount<T: PartialOrd + Copy>(
        &self,
        parse: fn(&str) -> Result<T, UnitError>,
        range: &RangeInclusive<T>,
        print: fn(T) -> String,
    ) -> Result<T, ScenarioError> {
        let amount = parse(self.text()?).map_err(|error| self.wrong(reason(&error)))?;
        if range.contains(&amount) {
            Ok(amount)
        } else {
            Err(self.wrong(format!("must be from {} to {}", print(*range.start()), print(*range.end()))))
        }
    }
}

/// The reason for an error about an amount, without the amount.
pub(crate) fn reason(error: &UnitError) -> String {
    let whole = error.to_string();
    let repeated = format!("\"{}\" ", error.value);
    whole.split_once(&repeated).map_or(whole.clone(), |(quantity, problem)| format!("{quantity}{problem}"))
}

/// A value as it appears in an error message.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", shortened(text)),
        Value::Array(values) => format!("[list of {}]", values.len()),
        Value::Table(table) => format!("{{table of {}}}", table.len()),
        other => shortened(&other.to_string()),
    }
}
