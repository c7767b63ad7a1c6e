//! Readers of tables, with errors that name the place. A [`Reader`] takes keys out of a table; an
//! [`Item`] is a value and its place.

mod item;
mod spelling;

pub(crate) use item::{Item, UNLIMITED, Word, is_name, reason, shown};
pub(crate) use spelling::{nearest, unknown};

use std::path::Path;

use plait_sched::Duration;
use toml::Value;

use super::keys::{KeyInfo, Preset, TableInfo};
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

fn join(place: &str, key: &str) -> String {
    let bare =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let key = if bare { shortened(key) } else { format!("{:?}", shortened(key)) };
    if place.is_empty() { key } else { format!("{place}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_bare_are_quoted() {
        assert_eq!(join("path[0]", "rate"), "path[0].rate");
        assert_eq!(join("", "a b\n"), "\"a b\\n\"");
    }
}
