//! The commands `send`, `recv` and `proxy`, around [`files`](crate::files) and [`proxy`](crate::proxy).
//!
//! Two programs offer them: `plait-quic`, and Python's `plait` through [`run`]. The [`Host`] of
//! `plait` adds schedulers from files, and turns a recording into a folder of results.

mod config;
mod counts;
mod describe;
mod host;
mod metrics;
mod options;
mod output;
mod path_log;
mod paths;
mod proxy;
mod recv;
mod send;
mod waiting;

use crate::error::Error;
use crate::identity::Fingerprint;
use crate::names::shown;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
pub use describe::describe;
pub use host::Host;
use host::Plain;
pub use options::congestion;
use options::{Action, Program};
use output::{Output, write_error};
use serde_json::json;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

/// Exit status after a failure. Another attempt may succeed, so systemd restarts a service.
const FAILED: u8 = 1;
/// Exit status after wrong input ([`Error::is_bad_input`]), which a restart does not cure.
const BAD_INPUT: u8 = 2;

/// Prints the command for the opening end: the address, the fingerprint, and a secret if it was made
/// here. A given secret is never printed; the command names a file for it.
fn announce(
    output: &Output<'_>,
    command: &str,
    address: SocketAddr,
    fingerprint: Fingerprint,
    secret: Option<&str>,
) {
    let value = || {
        let fingerprint = fingerprint.to_string();
        json!({"event": "listening", "address": address, "fingerprint": fingerprint, "secret": secret})
    };
    output.result(value, || {
        let host = match address.ip() {
            ip if ip.is_unspecified() => "HOST".to_owned(),
            IpAddr::V6(ip) => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        let secret = secret.map_or("-file FILE".to_owned(), |secret| format!(" {secret}"));
        format!("{command} {host}:{} --fingerprint {fingerprint} --secret{secret}", address.port())
    });
}

/// Runs `plait-quic` with its arguments; the first is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run(arguments, &Plain))
}

/// Runs a command and returns its exit status. The first argument is the program's name.
///
/// The status is 0 after success, 1 after a failure, 2 after wrong input, and 130 after SIGINT.
/// After SIGTERM it is 143, or 0 for commands that run until they are stopped.
pub fn run(arguments: impl IntoIterator<Item = OsString>, host: &dyn Host) -> u8 {
    let (arguments, config) = match config::read(arguments.into_iter().collect()) {
        Ok(read) => read,
        Err(error) => {
            write_error(&format!("{}: {error}\n", host.name()));
            return BAD_INPUT;
        }
    };
    let mut program = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) if error.use_stderr() => {
            let words = config.named(argument(&error).as_deref(), in_one_line(&error));
            write_error(&format!("{}: {}\n", host.name(), shown(&words)));
            return BAD_INPUT;
        }
        Err(shown) => {
            let _ = shown.print();
            return 0;
        }
    };
    match &mut program.action {
        Action::Send(options) => options.common.more = config,
        Action::Recv(options) => options.common.more = config,
        Action::Proxy(options) => options.common.more = config,
    }
    let (common, lasts) = match &program.action {
        Action::Send(options) => (&options.common, false),
        Action::Recv(options) => (&options.common, !options.once && !options.is_piped()),
        Action::Proxy(options) => (&options.common, true),
    };
    let is_piped = matches!(&program.action, Action::Recv(options) if options.is_piped());
    let output = match Output::new(host, common, lasts, is_piped) {
        Ok(output) => output,
        Err(error) => {
            write_error(&format!("{}: {error}\n", host.name()));
            return FAILED;
        }
    };
    let outcome = match &program.action {
        Action::Send(options) => send::run(options, host, &output),
        Action::Recv(options) => recv::run(options, host, &output),
        Action::Proxy(options) => proxy::run(options, host, &output),
    };
    let outcome = output.end(outcome);
    match (&outcome, output.signal()) {
        (_, Some(signal_hook::consts::SIGTERM)) if lasts => 0,
        (_, Some(signal)) => {
            // Standard input cannot be read again.
            let continues = matches!(&program.action, Action::Send(options) if !options.is_piped());
            output.fail(if continues {
                "interrupted: type the same command again to continue"
            } else {
                "interrupted"
            });
            128 + signal as u8
        }
        // The host knows the reason and reports it.
        (Err(Error::Stopped), None) => FAILED,
        (Err(error), None) => {
            output.fail(&error.to_string());
            if error.is_bad_input() { BAD_INPUT } else { FAILED }
        }
        (Ok(()), None) => 0,
    }
}

/// Returns the name of the wrong argument.
fn argument(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => Some(argument.clone()),
        _ => None,
    }
}

/// Formats an argument error in one line, with the suggested option if there is one.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage")).map(str::trim);
    let words: Vec<&str> =
        lines.filter(|line| !line.is_empty() && !line.starts_with("For more information")).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use plait_transport::congestion::Algorithm;

    #[test]
    fn the_program_is_consistent() {
        Program::command().debug_assert();
        assert!(describe("send").is_some_and(|send| send["arguments"][0]["name"] == "files"));
        assert_eq!(describe("fetch"), None);
    }

    #[test]
    fn controllers_are_named_as_in_scenarios() {
        assert_eq!(congestion("cubic"), Ok(Algorithm::Cubic));
        assert!(congestion("vegas").is_err_and(|choices| choices.contains("cubic")));
    }
}
