//! What a table's description is made of.

/// A key of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyInfo {
    /// How it is spelled.
    pub key: &'static str,
    /// What it takes, to be read after "expected".
    pub kind: &'static str,
    /// What it is if nobody says.
    pub default: Preset,
    /// What it means: unit and trade-off.
    pub doc: &'static str,
}

/// The default of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preset {
    /// None: the key must be given.
    Required,
    /// None: without the key something else holds, in these words.
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
    /// How it is written, such as `[transport]`.
    pub name: &'static str,
    /// What it describes.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [KeyInfo],
    /// Keys of the format that are not available yet, and refused.
    pub later: &'static [&'static str],
}

impl TableInfo {
    /// The description of `key`.
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
