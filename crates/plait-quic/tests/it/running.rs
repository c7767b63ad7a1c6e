//! The program as a child process: its output, its files and its sockets.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::Duration;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_plait-quic");

/// Longest time that a test waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// A running command, with its output.
pub(crate) struct Service {
    pub(crate) child: Child,
    pub(crate) lines: BufReader<ChildStdout>,
    pub(crate) errors: BufReader<ChildStderr>,
    /// First JSON line of a listening end.
    pub(crate) hello: serde_json::Value,
}

impl Service {
    /// Starts a command and waits for its JSON line `listening`.
    pub(crate) fn start(arguments: &[&str], secret: Option<&str>) -> Self {
        let mut service = Self::spawn(&[arguments, &["--json"]].concat(), secret);
        service.hello = service.event("listening");
        service
    }

    /// Starts a command.
    pub(crate) fn spawn(arguments: &[&str], secret: Option<&str>) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).env_remove("PLAIT_SECRET");
        command.envs(secret.map(|secret| ("PLAIT_SECRET", secret)));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let errors = BufReader::new(child.stderr.take().expect("it is piped"));
        Self { child, lines, errors, hello: serde_json::Value::Null }
    }

    pub(crate) fn word(&self, key: &str) -> String {
        self.hello[key].as_str().unwrap_or_else(|| panic!("{key} in {}", self.hello)).to_owned()
    }

    /// Returns the next event of this name.
    pub(crate) fn event(&mut self, name: &str) -> serde_json::Value {
        until(&mut self.lines, name)
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(self.child.id() as i32);
        nix::sys::signal::kill(id, signal).expect("it runs");
    }

    pub(crate) fn end(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0), "a service is ended so");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a line of JSON.
pub(crate) fn line(lines: &mut impl BufRead) -> serde_json::Value {
    let mut text = String::new();
    lines.read_line(&mut text).expect("it is text");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Reads lines of JSON up to the event of this name.
pub(crate) fn until(lines: &mut impl BufRead, event: &str) -> serde_json::Value {
    loop {
        let value = line(lines);
        assert!(value["time"].as_str().is_some_and(is_time), "{value}");
        if value["event"] == event {
            return value;
        }
    }
}

/// Whether a text is RFC 3339 in UTC, with milliseconds: 2026-01-31T12:00:00.123Z.
pub(crate) fn is_time(text: &str) -> bool {
    let shape: String = text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect();
    shape == "0000-00-00T00:00:00.000Z"
}

/// Writes a file that only its owner may read.
pub(crate) fn private(folder: &Path, name: &str, content: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, content).expect("there is room");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    file.to_str().expect("it is text").to_owned()
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    socket
}
