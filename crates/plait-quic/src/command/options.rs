//! Options of the commands.

use super::config::Config;
use super::metrics::{self, Metrics};
use super::output::Output;
use super::paths::PathOptions;
use crate::error::Error;
use crate::files::{self, Listen, Modes, STREAM};
use crate::identity::{self, Fingerprint, Secret};
use crate::proxy::{Allowed, Forward};
use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
use plait_sched::units;
use plait_transport::congestion::Algorithm;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Files over several network interfaces at once, with Plait's schedulers.
#[derive(Parser)]
#[command(name = "plait-quic", version, disable_help_subcommand = true)]
pub(super) struct Program {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub(super) enum Action {
    /// Send files and folders to a receiver, over one path from each local address.
    Send(SendOptions),
    /// Receive files into a folder from senders that have the secret.
    Recv(RecvOptions),
    /// Carry TCP connections and UDP datagrams over several paths to the far end (--serve).
    Proxy(ProxyOptions),
}

/// Options of both ends.
#[derive(Args, Clone, Debug)]
pub(super) struct Common {
    /// The secret that both ends share. The environment variable PLAIT_SECRET can have it instead; other users do not see it in `ps`.
    #[arg(long, value_name = "TEXT")]
    pub(super) secret: Option<String>,
    /// The file whose first line is the secret. Only its owner may have permission to read it.
    #[arg(long, value_name = "FILE", conflicts_with = "secret")]
    pub(super) secret_file: Option<PathBuf>,
    /// The largest payload of a UDP datagram, in bytes; Ethernet carries 1472. A path that carries less gets no data. The listening end uses the size of the connecting end.
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().mtu)]
    mtu: u16,
    /// Print results as lines of JSON on standard output.
    #[arg(long)]
    pub(super) json: bool,
    /// Write only failures and recoveries to standard error.
    #[arg(long)]
    pub(super) quiet: bool,
    /// A TOML file with options as keys. Each [[client]] table has a secret and limits. Options on the command line take precedence.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Clients and name of the configuration file.
    #[arg(skip)]
    pub(super) more: Config,
}

/// Options of a service.
#[derive(Args, Clone, Debug)]
pub(super) struct ServiceOptions {
    /// Answer with counters in Prometheus' text format at http://ADDR:PORT/metrics. A port alone means 127.0.0.1:PORT.
    #[arg(long, value_name = "ADDR:PORT", value_parser = metrics::address)]
    pub(super) metrics: Option<SocketAddr>,
}

/// Options of the end that listens.
#[derive(Args, Clone, Debug)]
pub(super) struct ListenOptions {
    /// The address to listen on; port 0 means any free port. Default: [::]:4433, on all addresses of IPv6 and IPv4.
    #[arg(long, value_name = "ADDR:PORT", value_parser = files::address)]
    pub(super) listen: Option<SocketAddr>,
    /// The file with certificate and key; it is created if missing. With it, the fingerprint is the same after a restart.
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// The receive window: bytes in flight to this end, or behind a gap. Default: 16 MiB.
    #[arg(long, value_name = "BYTES")]
    pub(super) window: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct SendOptions {
    /// Files, and folders with their content. - is standard input, with --as. Symbolic links in folders are reported, not followed.
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    pub(super) files: Vec<PathBuf>,
    /// The name of the file or folder at the receiver. Default: its own name.
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The receiver's address.
    #[arg(value_name = "HOST:PORT")]
    pub(super) to: String,
    /// The SHA-256 of the receiver's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    pub(super) fingerprint: Fingerprint,
    /// Keep trying for this long, for example 60s, if the receiver does not answer, or if its name, a route or an interface is missing. Default: an error at once.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(super) wait: Option<Duration>,
    /// Use one QUIC connection with QUIC's own multipath, and an ordinary stream. Schedulers that do more than choose a path are refused.
    #[arg(long)]
    pub(super) interop: bool,
    #[command(flatten)]
    pub(super) paths: PathOptions,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct RecvOptions {
    /// The folder for received files. - writes the first file to standard output and ends; its reader must not pause for long.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Permissions of received files, in octal digits; keep: the same as at the sender. Default: the owner's permissions at the sender, and none for others.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(super) mode: Option<Modes>,
    /// Let a received file replace an existing file of the same name.
    #[arg(long)]
    pub(super) replace: bool,
    /// End after one transfer: with exit status 0 if it is complete, else with 1.
    #[arg(long)]
    pub(super) once: bool,
    #[command(flatten)]
    pub(super) service: ServiceOptions,
    #[command(flatten)]
    pub(super) listen: ListenOptions,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Args, Debug)]
pub(super) struct ProxyOptions {
    /// The far end's address.
    #[arg(value_name = "HOST:PORT", requires = "fingerprint")]
    pub(super) to: Option<String>,
    /// The SHA-256 of the far end's certificate, which it prints.
    #[arg(long, value_name = "HEX")]
    pub(super) fingerprint: Option<Fingerprint>,
    /// The address of a SOCKS5 server (CONNECT and UDP ASSOCIATE, without authentication). Default: 127.0.0.1:1080, but none with --forward or --udp.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = SOCKS)]
    pub(super) socks: Option<SocketAddr>,
    /// Let --socks listen on an address that is not loopback. Every host that reaches it can then use the far end.
    #[arg(long)]
    pub(super) open_socks: bool,
    /// Forward connections at ADDR:PORT to HOST:PORT; the far end connects there.
    #[arg(long, value_name = "ADDR:PORT=HOST:PORT")]
    pub(super) forward: Vec<Forward>,
    /// Forward UDP datagrams at ADDR:PORT to HOST:PORT by way of the far end, and answers back.
    #[arg(long, value_name = "ADDR:PORT=HOST:PORT")]
    pub(super) udp: Vec<Forward>,
    /// Give priority to connections and datagrams to this port.
    #[arg(long, value_name = "PORT")]
    pub(super) interactive: Vec<u16>,
    /// Send connections and datagrams to this port first and on every path, in both directions: for shells, games, voice.
    #[arg(long, value_name = "PORT")]
    pub(super) redundant_port: Vec<u16>,
    #[command(flatten)]
    pub(super) paths: PathOptions,
    /// Be the far end: make connections for every client with the secret.
    #[arg(long, conflicts_with_all = ["to", "fingerprint", "socks", "open_socks", "forward", "udp", "interactive", "redundant_port", "local", "interface", "cost", "budget", "backup"])]
    pub(super) serve: bool,
    /// The only targets of connections and datagrams, for example example.org:443, '*:443' or '*:*'. * is every host but this machine and link-local addresses.
    #[arg(long, value_name = "HOST:PORT", requires = "serve")]
    pub(super) allow: Vec<Allowed>,
    /// End a connection without traffic after this time, for example 30min. If one end has closed its side, it ends after 4 minutes at most.
    #[arg(long, value_name = "TIME", default_value = "124min", value_parser = time)]
    pub(super) idle: Duration,
    #[command(flatten)]
    pub(super) service: ServiceOptions,
    #[command(flatten)]
    pub(super) listen: ListenOptions,
    #[command(flatten)]
    pub(super) common: Common,
}

impl ServiceOptions {
    /// Starts the counters' server, if it is requested.
    pub(super) fn open(&self, command: &str, output: &Output<'_>) -> Result<Option<Metrics>, Error> {
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
pub(super) const SOCKS: &str = "127.0.0.1:1080";

impl Common {
    pub(super) fn settings(&self, congestion: Algorithm) -> Settings {
        Settings { mtu: self.mtu, congestion, ..Settings::default() }
    }

    /// Returns the secret that the user gave.
    pub(super) fn given(&self) -> Result<Option<String>, Error> {
        let given = match &self.secret_file {
            Some(file) => Some(identity::secret_in(file)?),
            None => self.secret.clone().or_else(|| std::env::var("PLAIT_SECRET").ok()),
        };
        let given = given.filter(|secret| !secret.is_empty());
        given.as_deref().map_or(Ok(()), |secret| identity::refuse_published(secret, "the secret"))?;
        Ok(given)
    }

    /// Warns of secrets that are easy to guess.
    pub(super) fn warn_of_weak(&self, output: &Output<'_>) -> Result<(), Error> {
        let own = self.given()?.filter(|secret| identity::is_weak(secret)).map(|_| "the secret".to_owned());
        for whose in
            own.into_iter().chain(self.more.weak.iter().map(|name| format!("the secret of client {name}")))
        {
            output.warn(&format!("{whose} is short and can be guessed: choose 12 characters or more"));
        }
        Ok(())
    }

    /// Returns the secret for the peer.
    pub(super) fn secret(&self) -> Result<Secret, Error> {
        let missing = || {
            "a secret is needed, the same as at the listening end: --secret, --secret-file or PLAIT_SECRET"
                .to_owned()
        };
        self.given()?.as_deref().map(Secret::new).ok_or_else(|| Error::Setting(missing()))
    }
}

impl ListenOptions {
    pub(super) fn listen(&self, common: &Common, congestion: Algorithm) -> Result<Listen, Error> {
        let settings = common.settings(congestion);
        let settings = Settings { window: self.window.unwrap_or(settings.window), ..settings };
        let address = self.listen.unwrap_or_else(files::anywhere);
        let clients = common.more.clients.clone();
        Ok(Listen { address, secret: common.given()?, clients, key: self.key.clone(), settings })
    }
}

impl SendOptions {
    /// Whether standard input is sent.
    pub(super) fn is_piped(&self) -> bool {
        self.files.iter().any(|file| file.as_os_str() == STREAM)
    }
}

impl RecvOptions {
    /// Whether the file goes to standard output.
    pub(super) fn is_piped(&self) -> bool {
        self.out.as_os_str() == STREAM
    }
}

/// Parses a duration with its unit; at least 1 s.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let time =
        Duration::from_nanos(units::parse_duration(text).map_err(|error| error.to_string())?.as_nanos());
    if time < Duration::from_secs(1) { Err("choose 1s or more".to_owned()) } else { Ok(time) }
}

/// Parses the permissions of files: octal digits, or `keep` for the sender's permissions.
pub(super) fn mode(text: &str) -> Result<Modes, String> {
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
