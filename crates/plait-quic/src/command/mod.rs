//! The program: sockets, files and a clock around [`Sender`](crate::Sender) and [`Receiver`](crate::Receiver).

mod recv;
mod send;
mod sockets;

use crate::error::Error;
use crate::identity::{Fingerprint, Secret};
use crate::settings::Settings;
use clap::{Args, Parser, Subcommand};
use plait_transport::congestion::Algorithm;
use std::ffi::OsString;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    /// A local address to send from: a path. With %INTERFACE its packets leave there whatever the routes prefer. Default: the system's choice.
    #[arg(long, value_name = "ADDR[%INTERFACE]")]
    local: Vec<Local>,
    /// Which scheduler decides; +rp and +bm are its options.
    #[arg(long, value_name = "NAME", default_value = "lowest-rtt")]
    scheduler: String,
    /// Congestion control of each path.
    #[arg(long, value_name = "NAME", default_value = "cubic", value_parser = congestion)]
    congestion: Algorithm,
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

/// A local address, and perhaps its interface.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Local {
    address: IpAddr,
    interface: Option<String>,
}

impl std::str::FromStr for Local {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, interface) = match text.split_once('%') {
            Some((address, interface)) => (address, Some(interface.to_owned())),
            None => (text, None),
        };
        let address = address.parse().map_err(|_| format!("\"{address}\" is no IP address"))?;
        Ok(Self { address, interface })
    }
}

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
        Action::Send(options) => send::run(options),
        Action::Recv(options) => recv::run(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
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

/// Of a secret that is the sender's to say.
fn told(common: &Common) -> Result<Secret, Error> {
    let missing = || {
        Error::Setting("a secret is needed: --secret or PLAIT_SECRET, as the receiver prints it".to_owned())
    };
    common.secret().as_deref().map(Secret::new).ok_or_else(missing)
}

#[expect(clippy::disallowed_methods, reason = "here is where the clock is")]
fn now() -> Instant {
    Instant::now()
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

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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
    fn local_addresses_may_name_their_interface() {
        let local = "10.0.0.1%wlan0".parse::<Local>().expect("it is one");
        assert_eq!(
            (local.address.to_string().as_str(), local.interface.as_deref()),
            ("10.0.0.1", Some("wlan0"))
        );
        assert_eq!("::1".parse::<Local>().expect("it is one").interface, None);
        assert!("wlan0".parse::<Local>().is_err());
    }

    #[test]
    fn controllers_are_named_as_in_scenarios() {
        assert_eq!(congestion("cubic"), Ok(Algorithm::Cubic));
        assert!(congestion("vegas").is_err_and(|choices| choices.contains("cubic")));
    }
}
