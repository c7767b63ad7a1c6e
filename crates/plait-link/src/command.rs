//! Runs a command in the near namespace, optionally a server in the far one, and the links between
//! them.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};

use plait_sched::Duration;
use plait_sim::scenario::{Direction, Scenario};

use crate::driver::{self, Clock, Ports};
use crate::error::Error;
use crate::namespace::Namespaces;
use crate::plan::{self, PathAddresses};
use crate::relay::{PathCounters, Relay};
use crate::system::{self, Signals};

/// The programs to run, and their settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The command and its arguments. It runs at the near end.
    pub command: Vec<OsString>,
    /// A command line for `sh`. It runs at the far end at the same time.
    pub server: Option<String>,
    /// Time within which the server must listen.
    pub patience: Duration,
    /// The largest packet, in bytes.
    pub mtu: u32,
    /// True if MPTCP may use every path.
    pub mptcp: bool,
    /// Time before the next event from which the loop spins instead of sleeping.
    pub spin: Duration,
}

/// Result of a command that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The command's exit status, or 128 and the signal that ended it.
    pub status: i32,
    /// Packet counters of every path, forward and backward.
    pub counters: Vec<[PathCounters; 2]>,
}

/// Interval at which the loop checks whether a server listens.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the command until it ends. This thread stays in the near namespace, so the process should
/// have one thread and no other task.
///
/// # Errors
/// If the links cannot be set up, the command does not start, or the server ends or does not listen
/// in time.
pub fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, Error> {
    let ends = plan::path_addresses(scenario);
    let signals = Signals::new().map_err(|error| Error::system("waiting for signals", error))?;
    let (namespaces, mut tunnels) = Namespaces::new(&ends, options.mtu)?;
    let launcher = Launcher { namespaces: &namespaces, variables: plan::environment(&ends, plan::PEER) };
    if options.mptcp {
        configure_mptcp(&launcher, &ends)?;
    }
    let server = match &options.server {
        Some(line) => Some(Server::start(&launcher, line, options.patience, &signals)?),
        None => None,
    };
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(Error::Input("no command: expected one, behind --".to_owned()));
    };
    let mut command = launcher.command(program, false);
    let named = program.display();
    let child = command.args(arguments).spawn().map_err(|error| Error::Input(format!("{named}: {error}")))?;
    let mut relay = Relay::new(scenario);
    let clock = Clock::start();
    let status = await_child(&mut relay, &mut tunnels, clock, options.spin, &signals, Some(child))?;
    drop(server);
    Ok(Outcome { status, counters: counters(scenario, &relay) })
}

/// Relays packets until the child ends, or without a child until an interrupt.
pub(crate) fn await_child(
    relay: &mut Relay,
    ports: &mut impl Ports,
    clock: Clock,
    spin: Duration,
    signals: &Signals,
    mut child: Option<Child>,
) -> Result<i32, Error> {
    driver::run(relay, ports, clock, spin, signals, |signal| {
        let Some(child) = &mut child else {
            return Ok((signal.number != libc::SIGCHLD).then_some(0));
        };
        // The terminal sends signals to the command itself, and only the command knows whether a
        // signal ends it.
        if signal.number != libc::SIGCHLD && signal.personal {
            system::send_signal(child.id() as i32, signal.number);
        }
        let ended = child.try_wait().map_err(|error| Error::system("waiting for the command", error))?;
        Ok(ended.map(exit_code))
    })
}

/// Returns the packet counters of all paths.
pub fn counters(scenario: &Scenario, relay: &Relay) -> Vec<[PathCounters; 2]> {
    let paths = 0..scenario.paths.len();
    paths
        .map(|path| {
            [Direction::Forward, Direction::Backward].map(|direction| relay.counters(path, direction))
        })
        .collect()
}

/// Returns the exit code in the convention of shells.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Starts programs at either end.
struct Launcher<'a> {
    namespaces: &'a Namespaces,
    variables: Vec<(String, String)>,
}

impl Launcher<'_> {
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, far: bool) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        system::prepare(&mut command, far.then(|| self.namespaces.far()));
        command
    }
}

/// Sets limits at both ends, and the near end's addresses for further subflows.
fn configure_mptcp(launcher: &Launcher<'_>, ends: &[PathAddresses]) -> Result<(), Error> {
    let mut lines = Vec::new();
    for far in [false, true] {
        lines.push((far, "mptcp limits set subflow 8 add_addr_accepted 8".to_owned()));
    }
    for one in ends {
        lines.push((false, format!("mptcp endpoint add {} dev {} subflow", one.near, one.interface)));
    }
    for (far, line) in lines {
        let done = launcher.command("ip", far).args(line.split(' ')).stdin(Stdio::null()).output();
        let done =
            done.map_err(|error| Error::Input(format!("--mptcp needs the program ip (iproute2): {error}")))?;
        if !done.status.success() {
            let message = String::from_utf8_lossy(&done.stderr);
            return Err(Error::Input(format!("--mptcp: ip {line}: {}", message.trim())));
        }
    }
    Ok(())
}

/// The program at the far end, in a process group of its own. Dropping this value ends the program.
struct Server(Child);

impl Server {
    /// Starts the server, and waits until it listens.
    fn start(
        launcher: &Launcher<'_>,
        line: &str,
        patience: Duration,
        signals: &Signals,
    ) -> Result<Self, Error> {
        // The command's standard output is for the user; the server's goes to standard error like
        // other messages.
        let errors = std::io::stderr().as_fd().try_clone_to_owned();
        let errors = errors.map_err(|error| Error::system("standard error", error))?;
        let mut command = launcher.command("sh", true);
        command.args(["-c", line]).process_group(0).stdin(Stdio::null()).stdout(errors);
        let child = command.spawn().map_err(|error| Error::system("starting the server", error))?;
        let mut server = Self(child);
        let clock = Clock::start();
        while !server.listens() {
            let mut polled = [system::readable(signals.descriptor())];
            system::wait(&mut polled, Some(POLL_INTERVAL))
                .map_err(|error| Error::system("waiting", error))?;
            while let Some(signal) = signals.next() {
                if signal.number != libc::SIGCHLD {
                    return Err(Error::Server("interrupted before the server listened".to_owned()));
                }
            }
            if let Some(status) = server.reap() {
                return Err(Error::Server(format!("the server {line:?} ended before it listened: {status}")));
            }
            if clock.now().as_nanos() > patience.as_nanos() {
                let seconds = patience.as_secs_f64();
                return Err(Error::Server(format!(
                    "the server {line:?} does not listen after {seconds} s (--wait)"
                )));
            }
        }
        Ok(server)
    }

    /// Returns the server's status if it has ended.
    fn reap(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }

    /// Whether any process in the server's namespace listens on TCP or has a UDP socket.
    fn listens(&self) -> bool {
        /// `TCP_LISTEN`, as /proc/net/tcp prints it.
        const LISTEN: &str = "0A";
        let read =
            |file: &str| fs::read_to_string(format!("/proc/{}/net/{file}", self.0.id())).unwrap_or_default();
        let listening = |line: &str| line.split_whitespace().nth(3) == Some(LISTEN);
        let tcp = ["tcp", "tcp6"].iter().any(|file| read(file).lines().any(listening));
        tcp || ["udp", "udp6"].iter().any(|file| read(file).lines().nth(1).is_some())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = -(self.0.id() as i32);
        system::send_signal(group, libc::SIGTERM);
        let clock = Clock::start();
        while self.reap().is_none() && clock.now().as_nanos() < 1_000_000_000 {
            let _ = system::wait(&mut [], Some(POLL_INTERVAL));
        }
        // Ends the rest of the group, and the server itself if it ignored the first signal.
        system::send_signal(group, libc::SIGKILL);
        let _ = self.0.wait();
    }
}
