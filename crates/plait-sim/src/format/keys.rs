//! The description of a table and its keys.

/// A key of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyInfo {
    /// Its name in the file.
    pub key: &'static str,
    /// The expected type of value, a text that follows "expected".
    pub kind: &'static str,
    /// Its default.
    pub default: Preset,
    /// Its meaning: unit and trade-off.
    pub doc: &'static str,
}

/// The default of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// No default: the key must be given.
    Required,
    /// No default value. This text describes the behaviour without the key.
    Otherwise(&'static str),
    /// A string.
    Text(&'static str),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Boolean(bool),
}

/// A table of the scenario file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// Its name in the file, such as `[transport]`.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [KeyInfo],
    /// Keys of the format that are not available yet, and refused.
    pub later: &'static [&'static str],
}

impl TableInfo {
    /// Returns the description of `key`.
    pub fn key(&self, key: &str) -> Option<&'static KeyInfo> {
        self.keys.iter().find(|info| info.key == key)
    }
}

pub(crate) const fn key(
    key: &'static str,
    kind: &'static str,
    default: Preset,
    doc: &'static str,
) -> KeyInfo {
    KeyInfo { key, kind, default, doc }
}

pub(crate) const DURATION: &str = "a duration such as \"20ms\"";
pub(crate) const RATE: &str = "a rate such as \"10Mbit\"";
pub(crate) const SIZE: &str = "a size such as \"35kB\"";
pub(crate) const SIZE_OR_UNLIMITED: &str = "a size such as \"35kB\", or \"unlimited\"";
pub(crate) const WHOLE: &str = "a whole number";
pub(crate) const TRUTH: &str = "true or false";
