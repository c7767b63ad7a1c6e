//! Output of a command: results on standard output, everything else on standard error.

use super::host::Host;
use super::options::Common;
use crate::error::Error;
use crate::files::{PathStatus, system_now};
use crate::names::{is_shown, shown};
use crate::pilot::SchedulerChange;
use crate::report;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Clears the current line of the terminal.
const CLEAR: &str = "\r\x1b[K";

/// Output of a command, and the signals that end it.
pub(super) struct Output<'a> {
    host: &'a dyn Host,
    json: bool,
    quiet: bool,
    /// Whether standard error is a terminal. Progress then replaces itself in one line; a log gets
    /// none.
    terminal: bool,
    /// Whether standard output is for a file. Results then go to standard error.
    is_piped: bool,
    /// Whether the command is a service, whose output is a log.
    lasts: bool,
    /// Number of the received signal; 0 for none.
    signal: Arc<AtomicUsize>,
    /// The first error of standard output.
    failed: RefCell<Option<Error>>,
}

impl<'a> Output<'a> {
    /// Registers handlers: the first SIGINT or SIGTERM ends the command in an orderly way, the
    /// second one ends the process.
    pub(super) fn new(
        host: &'a dyn Host,
        common: &Common,
        lasts: bool,
        is_piped: bool,
    ) -> Result<Self, Error> {
        let signal = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(std::sync::atomic::AtomicBool::new(false));
        for number in [SIGINT, SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&again))?;
            signal_hook::flag::register(number, Arc::clone(&again))?;
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        let terminal = io::stderr().is_terminal();
        let Common { json, quiet, .. } = *common;
        Ok(Self { host, json, quiet, terminal, is_piped, lasts, signal, failed: RefCell::new(None) })
    }

    /// Whether events are lines of JSON.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns the signal that ends the command.
    pub(super) fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) as i32 {
            0 => None,
            number => Some(number),
        }
    }

    /// Returns whether the command continues.
    pub(super) fn turn(&self) -> ControlFlow<()> {
        let ends = self.signal().is_some() || !self.host.goes_on() || self.failed.borrow().is_some();
        if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Ends the output. An error of standard output replaces the outcome.
    pub(super) fn end<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.clear();
        self.failed.take().map_or(outcome, Err)
    }

    /// Writes a result, as JSON or text.
    pub(super) fn result(&self, value: impl FnOnce() -> Value, words: impl FnOnce() -> String) {
        self.clear();
        let text = if self.json { shown_json(&stamped(value())) } else { shown(&words()) };
        if self.is_piped {
            return write_error(&format!("{text}\n"));
        }
        let mut out = io::stdout().lock();
        if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
            self.failed.borrow_mut().get_or_insert(Error::Io(error));
        }
    }

    /// Writes an event, as JSON on standard output or as a line of the log. `--quiet` hides it.
    pub(super) fn event(&self, value: impl FnOnce() -> Value, words: impl FnOnce() -> String) {
        if self.quiet {
        } else if self.json {
            self.result(value, String::new);
        } else {
            self.log(&words());
        }
    }

    /// Writes progress, as JSON or in the line of a terminal.
    pub(super) fn progress(&self, value: impl FnOnce() -> Value, words: impl FnOnce() -> String) {
        if self.quiet {
        } else if self.json {
            self.result(value, String::new);
        } else {
            self.live(words);
        }
    }

    /// Writes progress in the line of a terminal only.
    pub(super) fn live(&self, words: impl FnOnce() -> String) {
        if self.terminal && !self.quiet && !self.json {
            write_error(&format!("{CLEAR}{}", shown(&words())));
        }
    }

    /// Reports a change of the scheduler.
    pub(super) fn change(&self, change: &SchedulerChange, names: &[String]) {
        self.event(|| change.to_json(names), || change.to_string());
    }

    /// Reports a failure or a recovery, as JSON or as a line of the log. `--quiet` does not hide
    /// it.
    pub(super) fn failure(&self, value: impl FnOnce() -> Value, words: &str) {
        if self.json {
            self.result(value, String::new);
        } else {
            self.log(&format!("{}: {words}", self.host.name()));
        }
    }

    /// Reports the reason for which the command ends, always on standard error, and also as JSON if
    /// requested.
    pub(super) fn fail(&self, words: &str) {
        if self.json {
            self.result(|| json!({"event": "failed", "error": words}), String::new);
        }
        self.warn(words);
    }

    /// Writes a warning, on standard error only.
    pub(super) fn warn(&self, words: &str) {
        self.log(&format!("{}: {words}", self.host.name()));
    }

    /// Writes a line of the log. The lines of a service have the time, except on a terminal.
    fn log(&self, line: &str) {
        self.clear();
        let line = shown(line);
        if self.terminal || !self.lasts {
            write_error(&format!("{line}\n"));
        } else {
            write_error(&format!("{} {line}\n", timestamp()));
        }
    }

    fn clear(&self) {
        if self.terminal && !self.quiet && !self.json {
            write_error(CLEAR);
        }
    }
}

/// Formats JSON in one line. Control characters for terminals occur in strings only, and are
/// escaped.
fn shown_json(value: &Value) -> String {
    let escaped = |one: char| match is_shown(one) {
        true => one.to_string(),
        false => format!("\\u{:04x}", u32::from(one)),
    };
    value.to_string().chars().map(escaped).collect()
}

/// Returns the time of day in RFC 3339, in UTC, with three digits of the second's fraction.
fn timestamp() -> String {
    let now = OffsetDateTime::from(system_now());
    // The format of RFC 3339 drops zeros at the end of the fraction.
    let second = now.truncate_to_second().format(&Rfc3339).unwrap_or_default();
    format!("{}.{:03}Z", second.trim_end_matches('Z'), now.millisecond())
}

/// Adds the time to an event.
fn stamped(mut event: Value) -> Value {
    event["time"] = timestamp().into();
    event
}

/// Writes to standard error, which may be closed.
pub(super) fn write_error(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Formats paths as text.
pub(super) fn path_words(paths: &[PathStatus]) -> String {
    let path = |path: &PathStatus| match (path.usable, &path.trouble) {
        (true, _) => format!("{} {}", path.name, megabits(path.rate_bps)),
        (false, Some(trouble)) => format!("{} down ({trouble})", path.name),
        (false, None) => format!("{} down", path.name),
    };
    paths.iter().map(path).collect::<Vec<_>>().join("  ")
}

/// Formats the bytes of a finished transfer, with its time and rate.
pub(super) fn transferred(bytes: u64, resumed: u64, duration: Duration) -> String {
    let (seconds, rate) = (duration.as_secs_f64(), megabits(report::goodput(bytes, resumed, duration)));
    match bytes.saturating_sub(resumed) {
        new if new == bytes => format!("{bytes} bytes in {seconds:.2} s, {rate}"),
        0 => format!("{bytes} bytes were there already"),
        new => format!("{new} of {bytes} bytes in {seconds:.2} s, {rate} (the rest was there)"),
    }
}

/// Formats a rate in bit/s as text.
pub(super) fn megabits(rate: f64) -> String {
    format!("{:.1} Mbit/s", rate / 1e6)
}
