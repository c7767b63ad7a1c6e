//! Amounts with units, as people write them: `20ms`, `1.5Mbit`, `64KiB`, `0.2%`, `50p`. Errors
//! about another notation propose its likely meaning; it is never assumed.
//!
//! The grammar is `digits[.digits]unit`, without spaces, signs or exponents. Units are spelled
//! exactly as listed (a `Mbit` is no `mbit`).
//!
//! Decimal fractions use integer arithmetic. Finer digits are rounded to the nearest whole number
//! of the smallest unit, a half up, so that computed numbers can be written: `6.90624207817Mbit` is
//! 6 906 242 bit/s. Packets are whole, and an amount that would be rounded to zero is refused.
//!
//! ```
//! use plait_sched::units::{parse_duration, parse_rate};
//! assert_eq!(parse_rate("1.5Mbit"), Ok(1_500_000));
//! let error = parse_duration("20").unwrap_err();
//! assert_eq!(error.to_string(), "duration \"20\" has no unit: write ns, us, µs, ms, s or min");
//! let error = parse_rate("50Mbps").unwrap_err();
//! assert_eq!(error.to_string(), "rate \"50Mbps\" has an unknown unit: write 50Mbit");
//! ```

use core::fmt;

use crate::text::{ShortText, write_choices};
use crate::time::Duration;

mod meant;

/// The error in an amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnitErrorKind {
    /// The text is empty.
    Empty,
    /// There is a minus sign.
    Negative,
    /// It does not start with a decimal number.
    NotANumber,
    /// The number has no unit.
    MissingUnit,
    /// The unit is not one of the choices.
    UnknownUnit,
    /// The number has an exponent.
    Exponent,
    /// The amount is not a whole number of packets.
    NotWhole,
    /// The amount is more than zero, but less than half of the smallest unit.
    TooSmall,
    /// The amount is too large to be represented, or to make sense.
    TooLarge,
}

/// An amount that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UnitError {
    /// The kind of error.
    pub kind: UnitErrorKind,
    /// The quantity that was expected: `duration`, `rate`, `size`, `share` or `number of packets`.
    pub quantity: &'static str,
    /// The given text (its beginning, if it is long).
    pub value: ShortText,
    /// The valid units.
    pub choices: &'static [&'static str],
    /// The smallest amount; other amounts are multiples of it.
    pub smallest: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, quantity, value, choices, smallest } = self;
        write!(f, "{quantity} \"{value}\" ")?;
        match kind {
            UnitErrorKind::Empty => f.write_str("is empty: write a number and one of ")?,
            UnitErrorKind::Negative => f.write_str("is negative: write a number from 0 and one of ")?,
            UnitErrorKind::NotANumber => f.write_str("is not a decimal number with a unit, one of ")?,
            UnitErrorKind::MissingUnit => f.write_str("has no unit: write ")?,
            UnitErrorKind::UnknownUnit => f.write_str("has an unknown unit: write ")?,
            UnitErrorKind::Exponent => {
                f.write_str("has an exponent: write all digits of the number, and one of ")?;
            }
            UnitErrorKind::NotWhole => return write!(f, "is not a multiple of {smallest}"),
            UnitErrorKind::TooSmall => return write!(f, "is more than 0 and less than {smallest}"),
            UnitErrorKind::TooLarge => return f.write_str("is too large"),
        }
        if matches!(kind, UnitErrorKind::MissingUnit | UnitErrorKind::UnknownUnit)
            && meant::write(f, quantity, value)?
        {
            return Ok(());
        }
        write_choices(f, choices.iter().copied())
    }
}

impl core::error::Error for UnitError {}

/// A kind of amount: the names of its units and, at the same index, the value of each in the
/// smallest unit. Fractions of the smallest unit are rounded, unless it is `indivisible`.
struct Quantity {
    name: &'static str,
    units: &'static [&'static str],
    worth: &'static [u64],
    smallest: &'static str,
    indivisible: bool,
}

static DURATION: Quantity = Quantity {
    name: "duration",
    units: &["ns", "us", "µs", "ms", "s", "min"],
    worth: &[1, 1_000, 1_000, 1_000_000, 1_000_000_000, 60_000_000_000],
    smallest: "1ns",
    indivisible: false,
};
static RATE: Quantity = Quantity {
    name: "rate",
    units: &["bit", "kbit", "Mbit", "Gbit", "Tbit"],
    worth: &[1, 1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000],
    smallest: "1bit",
    indivisible: false,
};
static SIZE: Quantity = Quantity {
    name: "size",
    units: &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"],
    worth: &[1, 1_000, 1_000_000, 1_000_000_000, 1 << 10, 1 << 20, 1 << 30],
    smallest: "1B",
    indivisible: false,
};
static SHARE: Quantity = Quantity {
    name: "share",
    units: &["%"],
    worth: &[10_000_000],
    smallest: "0.0000001%",
    indivisible: false,
};
static PACKETS: Quantity =
    Quantity { name: "number of packets", units: &["p"], worth: &[1], smallest: "1p", indivisible: true };

/// The whole, in parts per billion.
pub const WHOLE_PPB: u32 = 1_000_000_000;

/// Reads a span of time: `5ns`, `200us`, `20ms`, `1.5s`, `2min`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    DURATION.parse(text).map(Duration::from_nanos)
}

/// Reads a data rate in bits per second, decimal prefixes: `800bit`, `500kbit`, `1.5Mbit`,
/// `10Gbit`.
pub fn parse_rate(text: &str) -> Result<u64, UnitError> {
    RATE.parse(text)
}

/// Reads a number of bytes: `1500B`, `35kB` (35 000), `64KiB` (65 536), `1.5MB`, `4MiB`, `1GB`.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    SIZE.parse(text)
}

/// Reads a share of a whole, such as `0.2%`, in parts per billion (at most [`WHOLE_PPB`]). `0.5` is
/// refused, because it might be a half, or half a per cent.
pub fn parse_share(text: &str) -> Result<u32, UnitError> {
    match u32::try_from(SHARE.parse(text)?) {
        Ok(share) if share <= WHOLE_PPB => Ok(share),
        _ => Err(SHARE.error(UnitErrorKind::TooLarge, text)),
    }
}

/// Reads a number of packets: `50p`.
pub fn parse_packets(text: &str) -> Result<u64, UnitError> {
    PACKETS.parse(text)
}

impl Quantity {
    fn error(&self, kind: UnitErrorKind, text: &str) -> UnitError {
        let Self { name, units, smallest, .. } = *self;
        UnitError { kind, quantity: name, value: ShortText::new(text), choices: units, smallest }
    }

    fn parse(&self, text: &str) -> Result<u64, UnitError> {
        self.amount(text).map_err(|kind| self.error(kind, text))
    }

    fn amount(&self, text: &str) -> Result<u64, UnitErrorKind> {
        if text.is_empty() {
            return Err(UnitErrorKind::Empty);
        }
        if text.starts_with(['-', '−']) {
            return Err(UnitErrorKind::Negative);
        }
        let (whole, rest) = digits(text);
        let (fraction, unit) = match rest.strip_prefix('.') {
            Some(rest) => digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() || (fraction.is_empty() && rest.starts_with('.')) {
            return Err(UnitErrorKind::NotANumber);
        }
        let position = self.units.iter().position(|known| *known == unit).ok_or(if unit.is_empty() {
            UnitErrorKind::MissingUnit
        } else if is_exponent(unit) {
            UnitErrorKind::Exponent
        } else {
            UnitErrorKind::UnknownUnit
        })?;
        let worth = u128::from(self.worth[position]);

        // No unit is worth 2^64, so u128 holds every whole part that fits the result, with room to
        // spare.
        let whole = number(whole).and_then(|n| n.checked_mul(worth)).ok_or(UnitErrorKind::TooLarge)?;
        // Digits after the 18th change nothing: a unit is worth 2^40 at most.
        let fraction = fraction.trim_end_matches('0');
        let (kept, cut) = fraction.split_at(fraction.len().min(FRACTION_DIGITS));
        let scale = 10_u128.pow(kept.len() as u32);
        let part = number(kept).unwrap_or_default() * worth;
        if self.indivisible && (!part.is_multiple_of(scale) || !cut.is_empty()) {
            return Err(UnitErrorKind::NotWhole);
        }
        let total = whole.saturating_add((part + scale / 2) / scale);
        if total == 0 && !fraction.is_empty() {
            return Err(UnitErrorKind::TooSmall);
        }
        u64::try_from(total).map_err(|_| UnitErrorKind::TooLarge)
    }
}

/// Number of digits read after the decimal point.
const FRACTION_DIGITS: usize = 18;

/// Whether the text after a number begins with an exponent: `e30s`, `E-3ms`.
fn is_exponent(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['e', 'E']) else { return false };
    rest.strip_prefix(['+', '-', '−']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

/// Splits the text into its leading decimal digits and the rest.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Returns the value of a row of digits (0 for an empty one) if it is below 2^96, so that products
/// with a unit fit.
fn number(digits: &str) -> Option<u128> {
    digits
        .bytes()
        .try_fold(0_u128, |n, digit| Some(n * 10 + u128::from(digit - b'0')).filter(|&n| n < 1 << 96))
}
