//! Finds the likely meaning of an amount in another notation: `50Mbps` is `50Mbit`.

use core::fmt;

use super::digits;
use crate::text::ShortText;

/// Other spellings of a unit, and the unit.
type Spellings = &'static [(&'static [&'static str], &'static str)];

const DURATION: Spellings = &[
    (&["nsec", "nanosecond", "nanoseconds"], "ns"),
    // The Greek letter looks like the sign for micro.
    (&["\u{3bc}s", "usec", "microsecond", "microseconds"], "us"),
    (&["MS", "Ms", "msec", "msecs", "millisecond", "milliseconds"], "ms"),
    (&["S", "sec", "secs", "second", "seconds"], "s"),
    (&["m", "mins", "minute", "minutes"], "min"),
];
const SIZE: Spellings = &[
    (&["b", "byte", "bytes", "Byte", "Bytes"], "B"),
    (&["k", "K", "kb", "KB", "Kb", "kByte", "kbyte"], "kB"),
    (&["M", "mb", "Mb", "MByte", "Mbyte"], "MB"),
    (&["G", "gb", "Gb", "GByte", "Gbyte"], "GB"),
    (&["Ki", "kib", "kiB", "KIB"], "KiB"),
    (&["Mi", "mib", "miB", "MIB"], "MiB"),
    (&["Gi", "gib", "giB", "GIB"], "GiB"),
];
const PACKETS: Spellings = &[(&["P", "pkt", "pkts", "packet", "packets", "Packets"], "p")];
/// Spellings that may follow the prefix of a rate in bits. Rates in bytes are left to the reader.
const BITS: &[&str] =
    &["", "b", "bit", "Bit", "bits", "bps", "Bit/s", "bit/s", "bits/s", "b/s", "bitps", "BIT"];

/// Writes the likely meaning if there is one. Returns whether it did.
pub(super) fn write(
    f: &mut fmt::Formatter<'_>,
    quantity: &str,
    value: &ShortText,
) -> Result<bool, fmt::Error> {
    if value.is_cut() {
        return Ok(false);
    }
    let (number, unit) = split(value.as_str());
    let unit = unit.trim();
    match quantity {
        "rate" => return rate(f, number, unit),
        "share" => return share(f, number, unit),
        _ => {}
    }
    let (units, spellings): (&[&str], Spellings) = match quantity {
        "duration" => (super::DURATION.units, DURATION),
        "size" => (super::SIZE.units, SIZE),
        _ => (super::PACKETS.units, PACKETS),
    };
    let spelled = spellings.iter().find(|(others, _)| others.contains(&unit)).map(|(_, unit)| *unit);
    match units.iter().copied().find(|known| *known == unit).or(spelled) {
        Some(unit) => write!(f, "{number}{unit}").map(|()| true),
        None => Ok(false),
    }
}

/// Splits the text into a decimal number and the rest.
fn split(text: &str) -> (&str, &str) {
    let (whole, rest) = digits(text);
    let fraction = rest.strip_prefix('.').map_or(0, |rest| 1 + digits(rest).0.len());
    text.split_at(whole.len() + fraction)
}

/// Writes a rate in bits per second. For `50/10Mbit`, as tariffs are written, it writes both rates.
fn rate(f: &mut fmt::Formatter<'_>, number: &str, unit: &str) -> Result<bool, fmt::Error> {
    if let Some(other) = unit.strip_prefix('/') {
        let (back, unit) = split(other);
        return match bits(unit.trim()) {
            Some(unit) if !back.is_empty() => {
                write!(f, "{number}{unit}, and {back}{unit} as the rate of the other direction")
                    .map(|()| true)
            }
            _ => Ok(false),
        };
    }
    match bits(unit) {
        Some(unit) => write!(f, "{number}{unit}").map(|()| true),
        None => Ok(false),
    }
}

fn bits(unit: &str) -> Option<&'static str> {
    let (prefix, known) = match unit.chars().next()? {
        'k' | 'K' => (1, "kbit"),
        'm' | 'M' => (1, "Mbit"),
        'g' | 'G' => (1, "Gbit"),
        't' | 'T' => (1, "Tbit"),
        _ => (0, "bit"),
    };
    BITS.contains(&&unit[prefix..]).then_some(known)
}

/// Writes a share that has no unit. A number up to 1 may be a part of one or a percentage; a larger
/// number is a percentage.
fn share(f: &mut fmt::Formatter<'_>, number: &str, unit: &str) -> Result<bool, fmt::Error> {
    if matches!(unit, "%" | "percent" | "per cent" | "pct") {
        return write!(f, "{number}%").map(|()| true);
    }
    if !unit.is_empty() {
        return Ok(false);
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let is_zero = whole.is_empty() && fraction.is_empty();
    let is_part = whole.is_empty() || (whole == "1" && fraction.is_empty());
    if is_zero || !is_part {
        return write!(f, "{number}%").map(|()| true);
    }
    write!(f, "{number}%, or ")?;
    // A hundred times as much: the decimal point moves by two digits.
    let (moved, rest) = fraction.split_at(fraction.len().min(2));
    let padding = &"00"[moved.len()..];
    if whole.is_empty() && (moved.trim_start_matches('0').is_empty()) {
        f.write_str("0")?;
    } else if whole.is_empty() {
        f.write_str(moved.trim_start_matches('0'))?;
        f.write_str(padding)?;
    } else {
        write!(f, "{whole}{moved}{padding}")?;
    }
    if !rest.is_empty() {
        write!(f, ".{rest}")?;
    }
    f.write_str("% for that part of the whole").map(|()| true)
}
