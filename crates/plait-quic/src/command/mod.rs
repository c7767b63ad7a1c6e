//! The program: options, and what is printed, around [`files`](crate::files).

mod paths;
mod proxy;
mod recv;
mod send;

use crate::error::Error;
use crate::files::{PathStatus, Record, Status};
use crate::identity::{Fingerprint, Secret};
use crate::pilot::Change;
use crate::proxy::{Allowed, Forward};
use crate::recording::RECORDING;
use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
use paths::{DecisionOptions, PathOptions};
use plait_transport::congestion::Algorithm;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Files over several network interfaces at once, with Plait's schedulers.
#[derive(Parser)]
#[command(name = "plait-quic", version)]
struct Program {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Send a file to a receiver, over one path from each local address.
    Send(SendOptions),
    /// Receive files into a folder; who sends has to know the secret.
    Recv(RecvOptions),
    /// Carry TCP connections over several paths: taken here, made at the other end (--serve).
    Proxy(ProxyOptions),
}

/// What both ends can set.
#[derive(Args, Clone, Debug)]
struct Common {
    /// What the sender has to know; also as PLAIT_SECRET in the environment, where other users' `ps` does not see it.
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// Bytes of a UDP datagram's payload. Every path has to carry it: 1472 is what Ethernet does.
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().mtu)]
    mtu: u16,
    /// Results as lines of JSON on standard output.
    #[arg(long)]
    json: bool,
    /// No progress on standard error.
    #[arg(long)]
    quiet: bool,
}

#[derive(Args, Debug)]
struct SendOptions {
    /// The file.
    file: PathBuf,
    /// The receiver's address.
    #[arg(value_name = "HOST:PORT")]
    to: String,
    /// The SHA-256 of the receiver's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    fingerprint: Fingerprint,
    /// One QUIC connection with QUIC's own multipath, and an ordinary stream. Schedulers that need more than to choose a path are refused.
    #[arg(long)]
    interop: bool,
    #[command(flatten)]
    paths: PathOptions,
    /// Write down what happens, in this folder: plait explain, report and replay read it.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct RecvOptions {
    /// The folder in which files are kept.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where to listen; port 0 is any that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:4433")]
    listen: SocketAddr,
    /// End after one file.
    #[arg(long)]
    once: bool,
    /// Bytes that may be on their way, or wait for what is missing.
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().window)]
    window: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct ProxyOptions {
    /// The other end's address.
    #[arg(value_name = "HOST:PORT", required_unless_present = "serve", requires = "fingerprint")]
    to: Option<String>,
    /// The SHA-256 of the other end's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,
    /// Where to speak SOCKS5 (CONNECT, without authentication): 127.0.0.1:1080 if nothing else is said and nothing is forwarded.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = SOCKS)]
    socks: Option<SocketAddr>,
    /// Connections that are taken at ADDR:PORT lead to HOST:PORT, as the other end sees it.
    #[arg(long, value_name = "ADDR:PORT=HOST:PORT")]
    forward: Vec<Forward>,
    /// Connections to this port go before others.
    #[arg(long, value_name = "PORT")]
    interactive: Vec<u16>,
    /// Connections to this port go before all others and on every path, there and back: for shells, games, voice.
    #[arg(long, value_name = "PORT")]
    redundant_port: Vec<u16>,
    /// Write down, in this folder, what this end sends: plait explain and report read it. Ends when the other end is lost; with --serve it is of the first that comes.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    #[command(flatten)]
    paths: PathOptions,
    /// Be the other end: make connections for who knows the secret.
    #[arg(long, conflicts_with_all = ["to", "fingerprint", "socks", "forward", "interactive", "redundant_port", "local", "interface", "cost", "budget", "backup"])]
    serve: bool,
    /// Where the other end listens; port 0 is any that is free.
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:4433", requires = "serve")]
    listen: SocketAddr,
    /// Where connections may lead, for example example.org:443, '*:443' or '*:*'; nowhere else. * is every host but this machine itself and what only its link knows.
    #[arg(long, value_name = "HOST:PORT", requires = "serve")]
    allow: Vec<Allowed>,
    /// Bytes that may be on their way to this end, or wait for what is missing.
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().window, requires = "serve")]
    window: u64,
    #[command(flatten)]
    common: Common,
}

/// Where SOCKS5 is spoken if nobody says where.
const SOCKS: &str = "127.0.0.1:1080";

/// The controllers of TCP and QUIC; SCTP's is none of them.
fn congestion(name: &str) -> Result<Algorithm, String> {
    let known = || Algorithm::ALL.iter().filter(|algorithm| !matches!(algorithm, Algorithm::NewReno));
    let found = known().find(|algorithm| algorithm.info().name == name).copied();
    let names = || known().map(|algorithm| algorithm.info().name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("choose {}", names()))
}

/// Runs the program with its arguments; the first is its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let program = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let outcome = match &program.action {
        Action::Send(options) => send::run(options).map(|()| true),
        Action::Recv(options) => recv::run(options),
        Action::Proxy(options) => proxy::run(options).map(|()| true),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("plait-quic: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

impl Common {
    fn settings(&self) -> Settings {
        Settings { mtu: self.mtu, ..Settings::default() }
    }

    fn secret(&self) -> Option<String> {
        self.secret.clone().or_else(|| std::env::var("PLAIT_SECRET").ok()).filter(|secret| !secret.is_empty())
    }
}

/// A recording in a folder, which is made.
fn record(folder: &Path, decision: &DecisionOptions) -> Result<Record, Error> {
    let refused = |error| Error::Setting(format!("--record {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(refused)?;
    Ok(Record { place: folder.join(RECORDING), scheduler: decision.name().to_owned() })
}

/// Of a secret that is the sender's to say.
fn told(common: &Common) -> Result<Secret, Error> {
    let missing = || {
        Error::Setting("a secret is needed: --secret or PLAIT_SECRET, as the receiver prints it".to_owned())
    };
    common.secret().as_deref().map(Secret::new).ok_or_else(missing)
}

/// To standard error, which may be closed.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// To standard output, at once.
fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// What is not there yet, for people.
fn tell_awaited(common: &Common, awaited: &[String]) {
    for name in awaited.iter().filter(|_| !common.quiet) {
        say(&format!("plait-quic: {name} is not there yet: it becomes a path when it is\n"));
    }
}

/// How a transfer stands, for people on standard error, or as a line of JSON.
fn show(common: &Common, names: &[String], status: &Status) -> Result<(), Error> {
    if common.quiet {
        return Ok(());
    }
    for change in &status.changes {
        report_change(common, names, change)?;
    }
    if common.json {
        let line = json!({
            "event": "progress", "file": status.name, "bytes": status.bytes, "size": status.size,
            "seconds": status.elapsed.as_secs_f64(), "paths": path_values(&status.paths),
        });
        return print(&line.to_string());
    }
    let share = 100.0 * status.bytes as f64 / status.size.max(1) as f64;
    say_again(&format!("{share:5.1} %  {}", path_words(&status.paths)));
    Ok(())
}

/// Another scheduler decides from now on, and why.
fn report_change(common: &Common, names: &[String], change: &Change) -> Result<(), Error> {
    if common.json {
        return print(&change.to_json(names).to_string());
    }
    clear(common);
    say(&format!("{change}\n"));
    Ok(())
}

/// Paths as JSON.
fn path_values(paths: &[PathStatus]) -> Vec<Value> {
    let path = |path: &PathStatus| {
        let srtt = path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3);
        json!({"name": path.name, "usable": path.usable, "bytes": path.bytes, "rate_bps": path.rate_bps, "srtt_ms": srtt, "trouble": path.trouble})
    };
    paths.iter().map(path).collect()
}

/// Paths for people.
fn path_words(paths: &[PathStatus]) -> String {
    let path = |path: &PathStatus| match (path.usable, &path.trouble) {
        (true, _) => format!("{} {:.1} Mbit/s", path.name, path.rate_bps / 1e6),
        (false, Some(trouble)) => format!("{} down ({trouble})", path.name),
        (false, None) => format!("{} down", path.name),
    };
    paths.iter().map(path).collect::<Vec<_>>().join("  ")
}

/// To standard error, in the place of the line before where that is a terminal.
fn say_again(line: &str) {
    say(&if std::io::stderr().is_terminal() { format!("\r\x1b[K{line}") } else { format!("{line}\n") });
}

/// Takes the line of progress away, where there is one.
fn clear(common: &Common) {
    if !common.quiet && !common.json && std::io::stderr().is_terminal() {
        say("\r\x1b[K");
    }
}

fn megabits(bytes: u64, duration: Duration) -> f64 {
    bytes as f64 * 8e-6 / duration.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_program_is_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn controllers_are_named_as_in_scenarios() {
        assert_eq!(congestion("cubic"), Ok(Algorithm::Cubic));
        assert!(congestion("vegas").is_err_and(|choices| choices.contains("cubic")));
    }
}
