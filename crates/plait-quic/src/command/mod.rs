//! The commands `send`, `recv` and `proxy`, around [`files`] and [`proxy`](crate::proxy).
//!
//! Two programs offer them: `plait-quic`, and Python's `plait` through [`run`]. The [`Host`] of
//! `plait` adds schedulers from files, and turns a recording into a folder of results.

mod config;
mod counts;
mod describe;
mod host;
mod metrics;
mod output;
mod paths;
mod proxy;
mod recv;
mod send;

use crate::error::Error;
use crate::files::{self, Listen, Modes, STREAM};
use crate::identity::{self, Fingerprint, Secret};
use crate::names::shown;
use crate::proxy::{Allowed, Forward};
use crate::settings::Settings;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};
use config::Config;
pub use describe::describe;
pub use host::Host;
use host::Plain;
use metrics::Metrics;
use output::{Output, write_error};
use paths::PathOptions;
use plait_sched::units;
use plait_transport::congestion::Algorithm;
use serde_json::json;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Exit status after a failure.
const FAILED: u8 = 1;
/// Exit status after invalid arguments.
const BAD_INPUT: u8 = 2;

/// Files over several network interfaces at once, with Plait's schedulers.
#[derive(Parser)]
#[command(name = "plait-quic", version, disable_help_subcommand = true)]
struct Program {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
enum Action {
    /// Send files and folders to a receiver, over one path from each local address.
    Send(SendOptions),
    /// Receive files into a folder; who sends has to know the secret.
    Recv(RecvOptions),
    /// Carry TCP connections and UDP datagrams over several paths to the other end (--serve).
    Proxy(ProxyOptions),
}

/// Options of both ends.
#[derive(Args, Clone, Debug)]
struct Common {
    /// What the sender has to know; also as PLAIT_SECRET in the environment, where other users' `ps` does not see it.
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// The file whose first line is the secret. Nobody but its owner may read it.
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    secret_file: Option<PathBuf>,
    /// Bytes of a UDP datagram's payload at most; Ethernet carries 1472. A path that carries less gets no data. The end that listens uses the size of the other one.
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().mtu)]
    mtu: u16,
    /// Results as lines of JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Nothing on standard error but failures, and what ends them.
    #[arg(long)]
    quiet: bool,
    /// A TOML file with options: its keys are their names, and [[client]] tables have a secret and limits each. Arguments go before it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Clients and name of the configuration file.
    #[arg(skip)]
    more: Config,
}

/// Options of a service.
#[derive(Args, Clone, Debug)]
struct ServiceOptions {
    /// Answer with counters in Prometheus' text format at http://ADDR:PORT/metrics. A port alone is one of 127.0.0.1.
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
}

/// Options of the end that listens.
#[derive(Args, Clone, Debug)]
struct ListenOptions {
    /// The address to listen on; port 0 is any that is free. Default: [::]:4433, which is all addresses of IPv6 and IPv4.
    #[arg(long, value_name = "ADDR:PORT", value_parser = files::address)]
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
    /// Files, and folders with all that is in them. - is standard input, with --as. Symbolic links in folders are reported, not followed.
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The name of the file or folder at the receiver. Default: its own name.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// The receiver's address.
    #[arg(value_name = "HOST:PORT")]
    to: String,
    /// The SHA-256 of the receiver's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    fingerprint: Fingerprint,
    /// Look again for a receiver that does not answer, until this time is over, for example 60s. Default: an error at once.
    #[arg(long, value_name = "TIME", value_parser = time)]
    wait: Option<Duration>,
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
    /// The folder in which files are kept. - writes the first file to standard output and ends; its reader must not pause for long.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Permissions of received files, in octal digits; keep: those that they have at the sender. Default: those of their owner there, and none of others.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<Modes>,
    /// Let a received file take the place of another one of its name.
    #[arg(long)]
    replace: bool,
    /// End after one transfer: with 0 if all of it has arrived, else with 1.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    service: ServiceOptions,
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
    /// End a connection on which nothing has moved for so long, for example 30min. If one end has said its last: after 4 minutes at most.
    #[arg(long, value_name = "TIME", default_value = "124min", value_parser = time)]
    idle: Duration,
    #[command(flatten)]
    service: ServiceOptions,
    #[command(flatten)]
    listen: ListenOptions,
    #[command(flatten)]
    common: Common,
}

impl ServiceOptions {
    /// Starts the counters' server, if it is requested.
    fn open(&self, command: &str, output: &Output<'_>) -> Result<Option<Metrics>, Error> {
        let metrics = self.metrics.map(|address| Metrics::open(address, command)).transpose()?;
        if let Some(metrics) = &metrics {
            let address = metrics.address();
            let words = || format!("counters at http://{address}/metrics");
            output.event(|| json!({"event": "metrics", "address": address}), words);
        }
        Ok(metrics)
    }
}

/// Default address of the SOCKS5 listener.
const SOCKS: &str = "127.0.0.1:1080";

impl Common {
    fn settings(&self, congestion: Algorithm) -> Settings {
        Settings { mtu: self.mtu, congestion, ..Settings::default() }
    }

    /// Returns the secret that the user gave.
    fn given(&self) -> Result<Option<String>, Error> {
        if let Some(file) = &self.secret_file {
            return identity::secret_in(file).map(Some);
        }
        let given = self.secret.clone().or_else(|| std::env::var("PLAIT_SECRET").ok());
        Ok(given.filter(|secret| !secret.is_empty()))
    }

    /// Warns of secrets that are easy to guess.
    fn warn_of_weak(&self, output: &Output<'_>) -> Result<(), Error> {
        let own = self.given()?.filter(|secret| identity::is_weak(secret)).map(|_| "the secret".to_owned());
        for whose in
            own.into_iter().chain(self.more.weak.iter().map(|name| format!("the secret of client {name}")))
        {
            output.warn(&format!("{whose} is short and can be guessed: choose 12 characters or more"));
        }
        Ok(())
    }

    /// Returns the secret for the peer.
    fn secret(&self) -> Result<Secret, Error> {
        let missing = || {
            "a secret is needed: --secret, --secret-file or PLAIT_SECRET, as the receiver prints it"
                .to_owned()
        };
        self.given()?.as_deref().map(Secret::new).ok_or_else(|| Error::Setting(missing()))
    }
}

impl ListenOptions {
    fn listen(&self, common: &Common, congestion: Algorithm) -> Result<Listen, Error> {
        let settings = common.settings(congestion);
        let settings = Settings { window: self.window.unwrap_or(settings.window), ..settings };
        let address = self.listen.unwrap_or_else(files::anywhere);
        let clients = common.more.clients.clone();
        Ok(Listen { address, secret: common.given()?, clients, key: self.key.clone(), settings })
    }
}

impl RecvOptions {
    /// Whether the file goes to standard output.
    fn is_piped(&self) -> bool {
        self.out.as_os_str() == STREAM
    }
}

/// Prints the command for the other end: the address, the fingerprint, and a secret if it was made
/// here. A given secret is never printed.
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
        let secret = secret.map_or(String::new(), |secret| format!(" --secret {secret}"));
        format!("{command} {host}:{} --fingerprint {fingerprint}{secret}", address.port())
    });
}

/// Parses a duration with its unit; at least 1 s.
fn time(text: &str) -> Result<Duration, String> {
    let time =
        Duration::from_nanos(units::parse_duration(text).map_err(|error| error.to_string())?.as_nanos());
    if time < Duration::from_secs(1) { Err("choose 1s or more".to_owned()) } else { Ok(time) }
}

/// Parses the permissions of files: octal digits, or `keep` for the sender's permissions.
fn mode(text: &str) -> Result<Modes, String> {
    if text == "keep" {
        return Ok(Modes::Sent);
    }
    let read = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777 && mode & 0o400 != 0);
    read.map(Modes::Fixed).ok_or_else(|| "expected octal digits such as 600 or 644, or keep".to_owned())
}

/// Parses the name of a congestion controller of TCP or QUIC. SCTP's controller is excluded.
///
/// # Errors
/// Returns a text with the choices.
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

/// Runs a command and returns its exit status. The first argument is the program's name.
///
/// The status is 0 after success, 1 after a failure, 2 after wrong arguments, and 130 after SIGINT.
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
            output.fail("interrupted");
            128 + signal as u8
        }
        // The host knows the reason and reports it.
        (Err(Error::Stopped), None) => FAILED,
        (Err(error), None) => {
            output.fail(&error.to_string());
            if matches!(error, Error::Setting(_) | Error::Fingerprint(_)) { BAD_INPUT } else { FAILED }
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
