//! Bytes that are not what they should be.

use core::fmt;

/// Why bytes could not be decoded. Places are bytes from the start of what was decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end before a field does.
    Short {
        /// What is cut off.
        field: &'static str,
        /// Where it begins.
        at: usize,
        /// So many more bytes it would need.
        missing: usize,
    },
    /// A length or a count that the format does not allow.
    Length {
        /// What has this length.
        field: &'static str,
        /// Where it begins.
        at: usize,
        /// The length, in the unit of its field.
        length: u64,
    },
    /// A value that the format does not allow.
    Value {
        /// The field.
        field: &'static str,
        /// Where it begins.
        at: usize,
        /// The value.
        value: u64,
    },
    /// The packet was damaged on its way, or is no packet of this protocol.
    Checksum {
        /// Which checksum.
        field: &'static str,
        /// Where it is.
        at: usize,
        /// What the packet says.
        stored: u32,
        /// What its bytes amount to.
        computed: u32,
    },
}

impl DecodeError {
    /// True if more bytes might have helped: what is read was cut, as captures are.
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
