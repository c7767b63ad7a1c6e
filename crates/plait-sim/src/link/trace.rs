//! Recorded capacity: Mahimahi's trace format, and the link that follows it.
//!
//! A trace is a text file with one whole number per line: a time in milliseconds at which the link
//! can deliver up to 1500 bytes. Numbers never decrease; a repeated number is another 1500 bytes in
//! the same millisecond. The trace repeats for ever, and its period is the last number. Several
//! small packets share an opportunity, and a large packet takes several. Unused opportunities
//! expire.
//!
//! The reader ignores blank lines, spaces around a number and lines that begin with `#` (Mahimahi
//! itself accepts none of them). It refuses everything else, with the line's number and the broken
//! rule.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use plait_sched::Time;

use crate::error::ScenarioError;

/// Bytes per delivery opportunity.
pub const OPPORTUNITY_BYTES: u32 = 1500;

/// The largest trace file: enough for an hour at 100 Mbit/s.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The largest timestamp: eleven days.
const MAX_MILLIS: u32 = 1_000_000_000;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A recorded capacity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    name: String,
    /// Milliseconds, never decreasing; the last one is the period and more than zero.
    opportunities: Box<[u32]>,
}

impl Trace {
    /// Reads the trace file at `path`. `name` is its name in the scenario.
    ///
    /// # Errors
    /// If the file cannot be read, is no regular file, is too large, or breaks a rule of the
    /// format.
    pub fn load(name: &str, path: &Path) -> Result<Self, ScenarioError> {
        Self::parse(name, &contents(name, path)?)
    }

    /// Reads a trace from the contents of a file; `name` is for errors.
    ///
    /// # Errors
    /// If the text breaks a rule of the format.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ScenarioError> {
        let refused =
            |line: Option<usize>, rule: String| ScenarioError::Trace { file: name.to_owned(), line, rule };
        let mut opportunities = Vec::new();
        let mut previous = 0;
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line[0] == b'#' {
                continue;
            }
            let here = Some(index + 1);
            let millis = whole_number(line).ok_or_else(|| {
                let shown = crate::error::shortened(&String::from_utf8_lossy(line));
                refused(here, format!("expected a whole number of milliseconds, got {shown}"))
            })?;
            if millis > u64::from(MAX_MILLIS) {
                return Err(refused(
                    here,
                    format!("{millis} is more than the largest timestamp, {MAX_MILLIS} ms"),
                ));
            }
            let millis = millis as u32;
            if millis < previous {
                return Err(refused(here, format!("timestamps never decrease: {millis} after {previous}")));
            }
            previous = millis;
            opportunities.push(millis);
        }
        if opportunities.is_empty() {
            return Err(refused(None, "a trace has at least one timestamp".to_owned()));
        }
        if previous == 0 {
            return Err(refused(
                None,
                "the last timestamp is the period and must be more than 0 ms".to_owned(),
            ));
        }
        Ok(Self { name: name.to_owned(), opportunities: opportunities.into_boxed_slice() })
    }

    /// The trace's name in the scenario: the file's name as written there.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The delivery opportunities of one period, in milliseconds.
    pub const fn opportunities(&self) -> &[u32] {
        &self.opportunities
    }

    /// The period, in milliseconds: the last timestamp.
    pub fn period_millis(&self) -> u64 {
        u64::from(self.opportunities[self.opportunities.len() - 1])
    }

    /// Bits per second over a whole period, rounded down, at least 1.
    pub fn mean_rate(&self) -> u64 {
        let bits = self.opportunities.len() as u64 * u64::from(OPPORTUNITY_BYTES) * 8;
        (bits * 1000 / self.period_millis()).max(1)
    }
}

/// Reads the content of the trace file at `path`. `name` is for errors.
///
/// # Errors
/// If the file cannot be read, is no regular file, or is too large.
pub(crate) fn contents(name: &str, path: &Path) -> Result<Vec<u8>, ScenarioError> {
    let refused = |rule: String| ScenarioError::Trace { file: name.to_owned(), line: None, rule };
    // Opening a pipe would wait for its writer, perhaps for ever.
    let metadata = std::fs::metadata(path).map_err(|error| refused(format!("cannot be read: {error}")))?;
    if !metadata.is_file() {
        return Err(refused("a trace is a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(refused("a trace file has at most 256 MiB".to_owned()));
    }
    Ok(bytes)
}

/// Parses decimal digits, without sign or separator. Saturates.
fn whole_number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        digit.is_ascii_digit().then(|| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    })
}

/// A position in an endlessly repeated trace.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    trace: Arc<Trace>,
    /// The start of the current repetition, in milliseconds.
    base: u64,
    /// The current opportunity.
    index: usize,
    /// The bytes that it still offers, more than zero.
    left: u32,
}

impl Cursor {
    pub(super) fn new(trace: Arc<Trace>) -> Self {
        Self { trace, base: 0, index: 0, left: OPPORTUNITY_BYTES }
    }

    fn millis(&self) -> u64 {
        self.base + u64::from(self.trace.opportunities[self.index])
    }

    fn time(&self) -> Time {
        Time::from_nanos(self.millis().saturating_mul(NANOS_PER_MILLI))
    }

    /// The first opportunity from `now` on. Earlier ones expire.
    pub(super) fn start(&mut self, now: Time) -> Time {
        let target = now.as_nanos().div_ceil(NANOS_PER_MILLI);
        if self.millis() < target {
            let period = self.trace.period_millis();
            if target > self.base + period {
                // The repetition whose last opportunity, at `base + period`, is not before the
                // target.
                self.base = (target - 1) / period * period;
                self.index = 0;
            }
            let offset = (target - self.base) as u32;
            self.index += self.trace.opportunities[self.index..].partition_point(|&millis| millis < offset);
            self.left = OPPORTUNITY_BYTES;
        }
        self.time()
    }

    /// Takes `bytes` from the current opportunity and from as many later ones as necessary.
    pub(super) fn serve(&mut self, mut bytes: u32) -> Time {
        loop {
            let departure = self.time();
            let taken = bytes.min(self.left);
            bytes -= taken;
            self.left -= taken;
            if self.left == 0 {
                self.next();
            }
            if bytes == 0 {
                return departure;
            }
        }
    }

    fn next(&mut self) {
        self.left = OPPORTUNITY_BYTES;
        self.index += 1;
        if self.index == self.trace.opportunities.len() {
            self.index = 0;
            self.base += self.trace.period_millis();
        }
    }
}
