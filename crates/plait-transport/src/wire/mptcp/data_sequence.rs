//! DSS (RFC 8684 §3.3): data acknowledgements and mappings.

use super::DATA_SEQUENCE;
use crate::wire::DecodeError;
use crate::wire::checksum::Sum;
use crate::wire::number::nearest;
use crate::wire::reader::Reader;
use bytes::BufMut;

const ACKNOWLEDGEMENT: u8 = 1;
const LONG_ACKNOWLEDGEMENT: u8 = 2;
const MAPPING: u8 = 4;
const LONG_MAPPING: u8 = 8;
const FIN: u8 = 16;

/// The data-level acknowledgement and the mapping of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataSequence {
    /// The next expected data sequence number (Data ACK, §3.3.2).
    pub acknowledgement: Option<Number>,
    /// Maps bytes of the subflow to bytes of the stream.
    pub mapping: Option<Mapping>,
    /// True if the stream ends with the mapping (DATA_FIN, §3.3.3).
    pub fin: bool,
}

/// A data sequence number as sent: whole, or its lower half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// The lower 32 bits.
    Short(u32),
    /// All 64 bits.
    Long(u64),
}

impl Number {
    /// Returns the whole number nearest to `expected`.
    pub const fn expand(self, expected: u64) -> u64 {
        match self {
            Self::Long(number) => number,
            Self::Short(low) => nearest(low, expected),
        }
    }

    const fn encoded_bytes(self) -> usize {
        match self {
            Self::Short(_) => 4,
            Self::Long(_) => 8,
        }
    }

    fn encode(self, out: &mut impl BufMut) {
        match self {
            Self::Short(number) => out.put_u32(number),
            Self::Long(number) => out.put_u64(number),
        }
    }

    fn decode(long: bool, field: &'static str, value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(if long { Self::Long(value.u64(field)?) } else { Self::Short(value.u32(field)?) })
    }
}

/// A range of the stream's bytes on a subflow (§3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The first byte's data sequence number.
    pub data: Number,
    /// The first byte's number on the subflow, relative to the SYN: the first byte after the SYN
    /// has 1.
    pub subflow: u32,
    /// Length in bytes, with a DATA_FIN counted as one. A length of 0 is the infinite mapping of a
    /// connection that falls back.
    pub length: u16,
    /// The checksum, if checksums are used.
    pub checksum: Option<u16>,
}

impl Mapping {
    /// Returns the checksum of a mapping of `payload` that begins at the whole number `data`, for
    /// either size of the number in the option.
    pub fn checksum(data: u64, subflow: u32, length: u16, payload: &[u8]) -> u16 {
        let fields = Sum::default().with(&data.to_be_bytes()).with(&subflow.to_be_bytes()).with_word(length);
        fields.with(payload).checksum()
    }
}

impl DataSequence {
    pub(super) fn encoded_bytes(&self) -> usize {
        let mapping = self.mapping.map_or(0, |mapping| {
            mapping.data.encoded_bytes() + 6 + if mapping.checksum.is_some() { 2 } else { 0 }
        });
        2 + self.acknowledgement.map_or(0, Number::encoded_bytes) + mapping
    }

    fn flags(&self) -> u8 {
        let acknowledgement = match self.acknowledgement {
            None => 0,
            Some(Number::Short(_)) => ACKNOWLEDGEMENT,
            Some(Number::Long(_)) => ACKNOWLEDGEMENT | LONG_ACKNOWLEDGEMENT,
        };
        let mapping = match self.mapping.map(|mapping| mapping.data) {
            None => 0,
            Some(Number::Short(_)) => MAPPING,
            Some(Number::Long(_)) => MAPPING | LONG_MAPPING,
        };
        acknowledgement | mapping | if self.fin { FIN } else { 0 }
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_slice(&[DATA_SEQUENCE << 4, self.flags()]);
        self.acknowledgement.into_iter().for_each(|number| number.encode(out));
        if let Some(mapping) = self.mapping {
            mapping.data.encode(out);
            out.put_u32(mapping.subflow);
            out.put_u16(mapping.length);
            mapping.checksum.into_iter().for_each(|checksum| out.put_u16(checksum));
        }
    }

    #[inline]
    pub(super) fn decode(value: &mut Reader<'_>) -> Result<Self, DecodeError> {
        const FIELD: &str = "DSS option";
        let flags = value.u8(FIELD)?;
        let has = |flag: u8| flags & flag != 0;
        let acknowledgement = has(ACKNOWLEDGEMENT)
            .then(|| Number::decode(has(LONG_ACKNOWLEDGEMENT), FIELD, value))
            .transpose()?;
        let mapping = if has(MAPPING) {
            Some(Mapping {
                data: Number::decode(has(LONG_MAPPING), FIELD, value)?,
                subflow: value.u32(FIELD)?,
                length: value.u16(FIELD)?,
                // The option's length tells whether there is a checksum.
                checksum: (!value.is_empty()).then(|| value.u16(FIELD)).transpose()?,
            })
        } else {
            None
        };
        Ok(Self { acknowledgement, mapping, fin: has(FIN) })
    }
}
