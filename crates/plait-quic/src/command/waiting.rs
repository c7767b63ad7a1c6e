//! Waiting for everything that may come late: a name, a route, an address, an interface, the peer.

use super::output::Output;
use crate::error::Error;
use crate::files::{MAX_SLEEP, now};
use serde_json::json;
use std::time::Duration;

/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_secs(1);

/// Repeats an attempt that fails with [`Error::Absent`], as long as `may_wait` agrees. Reports each
/// new reason.
pub(super) fn retry<T>(
    output: &Output<'_>,
    may_wait: impl Fn() -> bool,
    mut attempt: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut reported = String::new();
    loop {
        match attempt() {
            Err(Error::Absent(reason)) if may_wait() => {
                if reason != reported {
                    let value = || json!({"event": "waiting", "error": reason});
                    output.failure(value, &format!("waiting: {reason}"));
                    reported = reason;
                }
                rest(output)?;
            }
            outcome => return outcome,
        }
    }
}

/// Returns the message about a path that is missing.
pub(super) fn missing(name: &str) -> String {
    format!("{name} is no path yet: it becomes one when it has an address and a route")
}

/// Waits until the next attempt.
#[expect(clippy::disallowed_methods, reason = "there is no socket to wait for")]
fn rest(output: &Output<'_>) -> Result<(), Error> {
    let until = now() + PAUSE;
    while now() < until {
        if output.turn().is_break() {
            return Err(Error::Stopped);
        }
        std::thread::sleep(MAX_SLEEP);
    }
    Ok(())
}
