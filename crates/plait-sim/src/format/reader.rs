//! Readers of tables, with errors that name the place. A [`Reader`] takes keys out of a table; an
//! [`Item`] is a value and its place.

use std::ops::RangeInclusive;
use std::path::Path;

use plait_sched::units::{parse_bytes, parse_duration, parse_rate, parse_share};
use plait_sched::{Duration, UnitError};
use toml::Value;

use super::keys::{KeyInfo, Preset, TableInfo};
use super::text;
use crate::error::{ScenarioError, shortened};

/// The longest span in a scenario, 10⁶ s: eleven days. Sums of a few such spans are far from
/// overflowing.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(1_000_000);
/// The fastest link, 1 Tbit/s: a packet still takes a few nanoseconds.
pub(crate) const MAX_RATE: u64 = 1_000_000_000_000;
/// The largest buffer, queue or file, 1 PB.
pub(crate) const MAX_BYTES: u64 = 1_000_000_000_000_000;

/// The origin of a scenario.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The scenario's file, as errors name it.
    pub(crate) file: &'a str,
    /// The folder of the files that the scenario names.
    pub(crate) base: &'a Path,
}

impl Source<'_> {
    /// An error about the combination of values.
    pub(crate) fn rule(&self, key: impl Into<String>, reason: impl Into<String>) -> ScenarioError {
        ScenarioError::Rule { file: self.file.to_owned(), key: key.into(), reason: reason.into() }
    }

    /// An error about a `key` at `place` that is not among the keys of `info`.
    pub(crate) fn unknown_key(&self, place: String, key: &str, info: &TableInfo) -> ScenarioError {
        let valid: Vec<_> = info.keys.iter().map(|info| info.key).collect();
        let near = nearest(key, &valid);
        ScenarioError::UnknownKey { file: self.file.to_owned(), key: place, near, valid }
    }

    /// An error about a missing key or table.
    pub(crate) fn missing(&self, table: impl Into<String>, what: impl Into<String>) -> ScenarioError {
        ScenarioError::Missing { file: self.file.to_owned(), table: table.into(), what: what.into() }
    }
}

/// A table whose keys are all known.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source<'a>,
    /// The table's place; empty for the top.
    pub(crate) place: String,
    info: &'static TableInfo,
    table: toml::Table,
}

impl<'a> Reader<'a> {
    /// Refuses keys that `info` does not list.
    pub(crate) fn new(
        source: Source<'a>,
        place: String,
        table: toml::Table,
        info: &'static TableInfo,
    ) -> Result<Self, ScenarioError> {
        if let Some(key) = table.keys().find(|key| info.key(key).is_none()) {
            let here = join(&place, key);
            if info.later.contains(&key.as_str()) {
                let valid: Vec<_> = info.keys.iter().map(|info| info.key).collect();
                return Err(source.rule(here, format!("not available yet (valid: {})", valid.join(", "))));
            }
            return Err(source.unknown_key(here, key, info));
        }
        Ok(Self { source, place, info, table })
    }

    /// Takes the user's value of `key`, if there is one.
    ///
    /// # Panics
    /// If the table's description has no such key.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'a>> {
        let info = self.describe(key);
        let value = self.table.remove(key)?;
        Some(self.item(info, value))
    }

    /// Whether the user gave a value for `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Takes the user's value of `key`, or its default.
    pub(crate) fn need(&mut self, key: &'static str) -> Result<Item<'a>, ScenarioError> {
        let info = self.describe(key);
        match self.table.remove(key).or_else(|| value_of(info.default)) {
            Some(value) => Ok(self.item(info, value)),
            None => Err(self.source.missing(self.place.clone(), key)),
        }
    }

    /// Replaces the description's defaults for keys that the user did not give.
    pub(crate) fn prefer(&mut self, defaults: &[(&'static str, Preset)]) {
        for &(key, preset) in defaults {
            self.describe(key);
            let Some(value) = value_of(preset) else { continue };
            self.table.entry(key).or_insert(value);
        }
    }

    /// Checks that every key has been read. The reader would otherwise accept a described key and
    /// ignore it.
    pub(crate) fn finish(self) {
        debug_assert!(self.table.is_empty(), "{} was not read to its end: {:?}", self.info.name, self.table);
    }

    /// Returns the place of `key` in this table.
    pub(crate) fn place_of(&self, key: &str) -> String {
        join(&self.place, key)
    }

    fn describe(&self, key: &str) -> &'static KeyInfo {
        self.info.key(key).unwrap_or_else(|| panic!("{} describes no key {key}", self.info.name))
    }

    fn item(&self, info: &'static KeyInfo, value: Value) -> Item<'a> {
        Item { source: self.source, place: join(&self.place, info.key), kind: info.kind, value }
    }
}

/// Returns a default as a value, if it has one.
fn value_of(preset: Preset) -> Option<Value> {
    match preset {
        Preset::Text(text) => Some(Value::String(text.to_owned())),
        Preset::Integer(number) => Some(Value::Integer(number)),
        Preset::Boolean(truth) => Some(Value::Boolean(truth)),
        Preset::Required | Preset::Otherwise(_) => None,
    }
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

/// Refuses a name that another entry already has. The list of entries is named `what`.
pub(crate) fn unique<'a>(
    source: Source<'_>,
    place: &str,
    name: &str,
    what: &str,
    mut others: impl Iterator<Item = &'a str>,
) -> Result<(), ScenarioError> {
    match others.position(|other| other == name) {
        Some(other) => {
            Err(source.rule(place, format!("its name, {name:?}, is that of {what}[{other}] already")))
        }
        None => Ok(()),
    }
}

/// The reason for an error about a word that is none of `valid`.
pub(crate) fn unknown(word: &str, valid: &[&str]) -> String {
    let near = nearest(word, valid).map_or(String::new(), |near| format!("did you mean {near}? "));
    format!("unknown ({near}valid: {})", valid.join(", "))
}

/// The spelling of a size without limit.
pub(crate) const UNLIMITED: &str = "unlimited";

/// The longest name, in characters.
const MAX_NAME: usize = 200;

/// Whether a text is valid as a name.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control)
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

fn join(place: &str, key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let key = if bare { shortened(key) } else { format!("{:?}", shortened(key)) };
    if place.is_empty() { key } else { format!("{place}.{key}") }
}

/// Returns the choice of which `word` is most probably a misspelling.
pub(crate) fn nearest<'a>(word: &str, choices: &[&'a str]) -> Option<&'a str> {
    const LONGEST: usize = 40;
    if word.chars().count() > LONGEST {
        return None;
    }
    let word: Vec<char> = word.to_lowercase().replace('-', "_").chars().collect();
    let tolerated = (word.len() / 3).clamp(1, 3);
    choices
        .iter()
        .map(|&choice| (distance(&word, &choice.replace('-', "_").chars().collect::<Vec<_>>()), choice))
        .filter(|&(distance, choice)| distance <= tolerated && distance < choice.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, choice)| choice)
}

/// The Levenshtein distance: insertions, deletions and substitutions.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, r) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_recognised_and_far_ones_are_not() {
        let choices = ["protocol", "packet", "ack_every", "rtt", "rate"];
        assert_eq!(nearest("protocl", &choices), Some("protocol"));
        assert_eq!(nearest("ack-every", &choices), Some("ack_every"));
        assert_eq!(nearest("Rate", &choices), Some("rate"));
        assert_eq!(nearest("bandwidth", &choices), None);
        assert_eq!(nearest("", &choices), None);
        assert_eq!(nearest(&"x".repeat(100_000), &choices), None);
    }

    #[test]
    fn keys_that_are_not_bare_are_quoted() {
        assert_eq!(join("path[0]", "rate"), "path[0].rate");
        assert_eq!(join("", "a b\n"), "\"a b\\n\"");
    }
}
