//! Errors of malformed input.

use core::fmt;

/// Reason why bytes could not be decoded. Places are byte offsets from the start of the decoded
/// input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before a field does.
    Short {
        /// The truncated field.
        field: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// Number of missing bytes.
        missing: usize,
    },
    /// A length or a count that the format does not allow.
    Length {
        /// The field with this length.
        field: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// The length, in the unit of its field.
        length: u64,
    },
    /// A value that the format does not allow.
    Value {
        /// The field.
        field: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// The value.
        value: u64,
    },
    /// The packet was damaged on its way, or belongs to another protocol.
    Checksum {
        /// Name of the checksum.
        field: &'static str,
        /// Offset of its first byte.
        at: usize,
        /// The checksum in the packet.
        stored: u32,
        /// The checksum of the packet's bytes.
        computed: u32,
    },
}

impl DecodeError {
    /// True if the input was cut off, like packets in captures, so that more bytes might have
    /// helped.
    pub const fn is_short(&self) -> bool {
        matches!(self, Self::Short { .. })
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { field, at, missing } => {
                let bytes = if missing == 1 { "byte is" } else { "bytes are" };
                write!(f, "{field} at byte {at}: {missing} {bytes} missing")
            }
            Self::Length { field, at, length } => {
                write!(f, "{field} at byte {at}: its length cannot be {length}")
            }
            Self::Value { field, at, value } => write!(f, "{field} at byte {at}: {value:#x} is not allowed"),
            Self::Checksum { field, at, stored, computed } => {
                write!(f, "{field} at byte {at}: it is {stored:#x}, and should be {computed:#x}")
            }
        }
    }
}

impl core::error::Error for DecodeError {}
