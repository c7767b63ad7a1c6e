//! The commands `send`, `recv` and `proxy`, around [`files`](crate::files) and [`proxy`](crate::proxy).
//!
//! Two programs have them: `plait-quic`, and Python's `plait` by [`run`] with a [`Host`] that adds
//! schedulers from files and makes a folder of results of a recording.

mod describe;
mod host;
mod output;
mod paths;
mod proxy;
mod recv;
mod send;

use crate::error::Error;
use crate::files::Listen;
use crate::identity::{self, Fingerprint, Secret};
use crate::proxy::{Allowed, Forward};
use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
pub use describe::describe;
pub use host::Host;
use host::Plain;
use output::{Output, write_error};
use paths::PathOptions;
use plait_transport::congestion::Algorithm;
use serde_json::json;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit status after a failure.
const FAILED: u8 = 1;
/// Exit status after arguments that cannot be.
const BAD_INPUT: u8 = 2;

/// Files over several network interfaces at once, with Plait's schedulers.
#[derive(Parser)]
#[command(name = "plait-quic", version, disable_help_subcommand = true)]
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
    /// Carry TCP connections and UDP datagrams over several paths to the other end (--serve).
    Proxy(ProxyOptions),
}

/// What both ends can set.
#[derive(Args, Clone, Debug)]
struct Common {
    /// What the sender has to know; also as PLAIT_SECRET in the environment, where other users' `ps` does not see it.
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// The file whose first line is the secret. Nobody but its owner may read it.
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
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

/// The end that listens.
#[derive(Args, Clone, Debug)]
struct ListenOptions {
    /// The address to listen on; port 0 is any that is free. Default: 0.0.0.0:4433.
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// The file that keeps certificate and key, so that the fingerprint is the same after a restart. It is made if it is not there.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The receive window: bytes in flight to this end, or behind a gap. Default: 16 MiB.
    #[arg(long, value_name = "BYTES")]
    window: Option<u64>,
}

#[derive(Args, Debug)]
struct SendOptions {
    /// The file.
    file: PathBuf,
    /// The name at the receiver. Default: the file's own name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
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
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct RecvOptions {
    /// The folder in which files are kept.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Permissions of received files, in octal digits.
    #[arg(long, value_name = "MODE", default_value = "600", value_parser = mode)]
    mode: u32,
    /// Let a received file take the place of another one of its name.
    #[arg(long)]
    replace: bool,
    /// End after one file: with 0 if it has arrived, else with 1.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    listen: ListenOptions,
    #[command(flatten)]
    common: Common,
}

#[derive(Args, Debug)]
struct ProxyOptions {
    /// The other end's address.
    #[arg(value_name = "HOST:PORT", requires = "fingerprint")]
    to: Option<String>,
    /// The SHA-256 of the other end's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,
    /// Where to speak SOCKS5 (CONNECT and UDP ASSOCIATE, without authentication). Default: 127.0.0.1:1080, unless something is forwarded.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = SOCKS)]
    socks: Option<SocketAddr>,
    /// Let --socks listen on other than a loopback address: everyone who reaches it can use the other end.
    #[arg(long)]
    open_socks: bool,
    /// Connections that are taken at ADDR:PORT lead to HOST:PORT, as the other end sees it.
    #[arg(long, value_name = "ADDR:PORT=HOST:PORT")]
    forward: Vec<Forward>,
    /// UDP datagrams that come to ADDR:PORT lead to HOST:PORT, as the other end sees it; answers come back.
    #[arg(long, value_name = "ADDR:PORT=HOST:PORT")]
    udp: Vec<Forward>,
    /// Connections and datagrams to this port go before others.
    #[arg(long, value_name = "PORT")]
    interactive: Vec<u16>,
    /// Connections and datagrams to this port go before all others and on every path, there and back: for shells, games, voice.
    #[arg(long, value_name = "PORT")]
    redundant_port: Vec<u16>,
    #[command(flatten)]
    paths: PathOptions,
    /// Be the other end: make connections for who knows the secret.
    #[arg(long, conflicts_with_all = ["to", "fingerprint", "socks", "open_socks", "forward", "udp", "interactive", "redundant_port", "local", "interface", "cost", "budget", "backup"])]
    serve: bool,
    /// Where connections and datagrams may lead, for example example.org:443, '*:443' or '*:*'; nowhere else. * is every host but this machine, by any of its addresses, and what only its link knows.
    #[arg(long, value_name = "HOST:PORT", requires = "serve")]
    allow: Vec<Allowed>,
    #[command(flatten)]
    listen: ListenOptions,
    #[command(flatten)]
    common: Common,
}

/// The UDP port of the end that listens.
const PORT: u16 = 4433;

/// Where SOCKS5 is spoken by default.
const SOCKS: &str = "127.0.0.1:1080";

impl Common {
    fn settings(&self, congestion: Algorithm) -> Settings {
        Settings { mtu: self.mtu, congestion, ..Settings::default() }
    }

    /// The secret that the user gave.
    fn given(&self) -> Result<Option<String>, Error> {
        if let Some(file) = &self.secret_file {
            let text = identity::read_private(file)?;
            let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty());
            let missing = || Error::Setting(format!("{}: its first line is empty", file.display()));
            return line.map(|line| Some(line.to_owned())).ok_or_else(missing);
        }
        let given = self.secret.clone().or_else(|| std::env::var("PLAIT_SECRET").ok());
        Ok(given.filter(|secret| !secret.is_empty()))
    }

    /// The secret of the peer.
    fn secret(&self) -> Result<Secret, Error> {
        let missing = || "a secret is needed: --secret, --secret-file or PLAIT_SECRET, as the receiver prints it".to_owned();
        self.given()?.as_deref().map(Secret::new).ok_or_else(|| Error::Setting(missing()))
    }
}

impl ListenOptions {
    fn listen(&self, common: &Common, congestion: Algorithm) -> Result<Listen, Error> {
        let settings = common.settings(congestion);
        let settings = Settings { window: self.window.unwrap_or(settings.window), ..settings };
        let address = self.listen.unwrap_or((Ipv4Addr::UNSPECIFIED, PORT).into());
        Ok(Listen { address, secret: common.given()?, key: self.key.clone(), settings })
    }
}

/// Tells what the other end has to type: the command, the address, the fingerprint, and a secret that was made here. A
/// given secret is never printed.
fn announce(
    output: &Output<'_>,
    command: &str,
    address: SocketAddr,
    fingerprint: Fingerprint,
    secret: Option<String>,
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
        let secret = secret.as_ref().map_or(String::new(), |secret| format!(" --secret {secret}"));
        format!("{command} {host}:{} --fingerprint {fingerprint}{secret}", address.port())
    });
}

/// Permissions of a file in octal digits.
fn mode(text: &str) -> Result<u32, String> {
    let read = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777 && mode & 0o400 != 0);
    read.ok_or_else(|| "expected octal digits such as 600 or 644".to_owned())
}

/// The controllers of TCP and QUIC; SCTP's is none of them.
///
/// # Errors
/// Names the choices.
pub fn congestion(name: &str) -> Result<Algorithm, String> {
    let known = || Algorithm::ALL.iter().filter(|algorithm| !matches!(algorithm, Algorithm::NewReno));
    let found = known().find(|algorithm| algorithm.info().name == name).copied();
    let names = || known().map(|algorithm| algorithm.info().name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("choose {}", names()))
}

/// Runs `plait-quic` with its arguments; the first is its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run(arguments, &Plain))
}

/// Runs a command: its exit status. The first argument is the program's name.
///
/// 0 done, 1 failed, 2 wrong arguments, 130 after SIGINT. After SIGTERM 143, and 0 for commands that run until they
/// are ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>, host: &dyn Host) -> u8 {
    let program = match Program::try_parse_from(arguments) {
        Ok(program) => program,
        Err(error) if error.use_stderr() => {
            write_error(&format!("{}: {}\n", host.name(), in_one_line(&error)));
            return BAD_INPUT;
        }
        Err(shown) => {
            let _ = shown.print();
            return 0;
        }
    };
    let (common, lasts) = match &program.action {
        Action::Send(options) => (&options.common, false),
        Action::Recv(options) => (&options.common, !options.once),
        Action::Proxy(options) => (&options.common, true),
    };
    let output = match Output::new(host, common) {
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
            output.fail("interrupted");
            128 + signal as u8
        }
        // The host knows why, and tells.
        (Err(Error::Stopped), None) => FAILED,
        (Err(error), None) => {
            output.fail(&error.to_string());
            if matches!(error, Error::Setting(_) | Error::Fingerprint(_)) { BAD_INPUT } else { FAILED }
        }
        (Ok(()), None) => 0,
    }
}

/// A wrong argument in one line, with the option that was perhaps meant.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage")).map(str::trim);
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_program_is_consistent() {
        Program::command().debug_assert();
        assert!(describe("send").is_some_and(|send| send["arguments"][0]["name"] == "file"));
        assert_eq!(describe("fetch"), None);
    }

    #[test]
    fn controllers_are_named_as_in_scenarios() {
        assert_eq!(congestion("cubic"), Ok(Algorithm::Cubic));
        assert!(congestion("vegas").is_err_and(|choices| choices.contains("cubic")));
    }
}
