//! The program over real sockets, on several addresses of the loopback interface.

use crate::running::{PROGRAM, line};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub(crate) struct Receiver {
    pub(crate) child: Child,
    pub(crate) lines: BufReader<std::process::ChildStdout>,
    address: String,
    fingerprint: String,
    secret: String,
}

impl Receiver {
    pub(crate) fn start(out: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["recv", "--json", "--quiet", "--listen", "0.0.0.0:0", "--out"]).arg(out).args(more);
        let mut child = command.env_remove("PLAIT_SECRET").stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let hello = line(&mut lines);
        let word = |key: &str| hello[key].as_str().expect("it is text").to_owned();
        let address = word("address").replace("0.0.0.0", "127.0.0.1");
        Self { child, lines, address, fingerprint: word("fingerprint"), secret: word("secret") }
    }

    pub(crate) fn send(&self, file: &Path, more: &[&str]) -> Output {
        self.send_all(&[file], more)
    }

    pub(crate) fn send_all(&self, files: &[&Path], more: &[&str]) -> Output {
        self.command(files, more).output().expect("it starts")
    }

    pub(crate) fn command(&self, files: &[&Path], more: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("send").args(files).arg(&self.address).args(["--fingerprint", &self.fingerprint]);
        command.args(["--json", "--quiet"]).env("PLAIT_SECRET", &self.secret).args(more);
        command
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn file(folder: &Path, bytes: usize) -> std::path::PathBuf {
    let file = folder.join("a file.bin");
    let content: Vec<u8> =
        (0..bytes).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    std::fs::write(&file, content).expect("it is written");
    file
}

#[test]
fn a_file_crosses_several_addresses() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 20_000_000), folder.path().join("out"));
    let mut receiver = Receiver::start(&out, &["--once"]);
    let locals = ["--local", "127.0.0.2", "--local", "127.0.0.3", "--local", "127.0.0.4"];
    let sent = receiver.send(&file, &[&locals[..], &["--scheduler", "round-robin"]].concat());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let result = line(&mut &sent.stdout[..]);
    let paths = result["paths"].as_array().expect("they are listed");
    assert_eq!(paths.len(), 3);
    assert!(paths.iter().all(|path| path["bytes"].as_u64() > Some(0)), "{result}");
    let received = line(&mut receiver.lines);
    assert_eq!((&received["sha256"], &received["event"]), (&result["sha256"], &"received".into()));
    assert!(receiver.child.wait().expect("it ends").success());
    assert!(
        std::fs::read(out.join("a file.bin")).expect("it is there")
            == std::fs::read(&file).expect("it is there")
    );
}

/// A receiver on this machine is reached over one path without `--local`. Progress is lines of
/// JSON; the last line is the result.
#[test]
fn schedulers_have_parameters_and_a_path_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 1_000_000), folder.path().join("out"));
    let receiver = Receiver::start(&out, &[]);
    let sent = receiver.send(&file, &["--scheduler", "round-robin:segments=3"]);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let text = String::from_utf8(sent.stdout).expect("it is text");
    let result = line(&mut text.lines().last().expect("a line").as_bytes());
    assert_eq!((&result["event"], &result["paths"][0]["name"]), (&"sent".into(), &"127.0.0.1".into()));
    assert_eq!(result["paths"].as_array().map(Vec::len), Some(1));
    let wrong = receiver.send(&file, &["--interface", "wlan99"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("interface wlan99: no address that leads to"));
}

/// One receiver accepts both modes, one after the other.
#[test]
fn a_file_crosses_several_addresses_with_multipath_of_quics_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 20_000_000), folder.path().join("out"));
    let receiver = Receiver::start(&out, &[]);
    let locals = ["--local", "127.0.0.2", "--local", "127.0.0.3", "--interop", "--scheduler"];
    for scheduler in [&["round-robin"][..], &["blest", "--congestion", "newreno"]] {
        let sent = receiver.send(&file, &[&locals[..], scheduler].concat());
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        let result = line(&mut &sent.stdout[..]);
        let paths = result["paths"].as_array().expect("they are listed");
        assert!(paths.len() == 2 && paths.iter().all(|path| path["bytes"].as_u64() > Some(0)), "{result}");
        let kept = out.join("a file.bin");
        assert!(std::fs::read(&kept).expect("it is there") == std::fs::read(&file).expect("it is there"));
        std::fs::remove_file(kept).expect("it is there");
    }
    assert!(receiver.send(&file, &[]).status.success(), "the other mode, to the same receiver");
    let refused = |more: &[&str]| {
        let output = receiver.send(&file, &[&["--interop"], more].concat());
        assert!(!output.status.success());
        assert_eq!(line(&mut &output.stdout[..])["event"], "failed");
        String::from_utf8(output.stderr).expect("it is text")
    };
    assert!(refused(&["--redundant"]).contains("\"reinject\""));
    assert!(refused(&["--congestion", "olia"]).contains("choose cubic or newreno"));
    assert!(refused(&["--budget", "127.0.0.1=1MB"]).contains("budget"));
    assert!(refused(&["--local", "127.0.0.2", "--local", "127.0.0.2"]).contains("given twice"));
}

#[test]
fn what_is_refused_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 1_000), folder.path().join("out"));
    let receiver = Receiver::start(&out, &[]);
    let refused = |more: &[&str]| {
        let output = receiver.send(&file, more);
        assert!(!output.status.success());
        assert_eq!(line(&mut &output.stdout[..])["event"], "failed");
        String::from_utf8(output.stderr).expect("it is text")
    };
    assert!(refused(&["--secret", "guessed"]).contains("the secret is wrong"));
    assert!(refused(&["--scheduler", "fastest"]).contains("unknown scheduler \"fastest\""));
    assert!(refused(&["--mtu", "100"]).contains("choose 1200 to"));
    assert!(receiver.send(&file, &[]).status.success());
    let again = receiver.send(&file, &[]);
    let report = line(&mut &again.stdout[..]);
    assert!(again.status.success(), "the same file is there: {report}");
    assert_eq!(report["resumed_bytes"], 1_000);
    std::fs::write(&file, vec![7; 1_000]).expect("it is written");
    assert!(refused(&[]).contains("another file has the name a file.bin:"));
    std::fs::write(&file, vec![7; 999]).expect("it is written");
    assert!(refused(&[]).contains("another file has the name a file.bin:"));
    let none: Vec<_> = std::fs::read_dir(&out).expect("it is there").collect();
    assert_eq!(none.len(), 1, "nothing half done is left");
    assert!(receiver.send(&file, &["--as", ".b: \"ü\""]).status.success());
    assert_eq!(std::fs::read(out.join(".b: \"ü\"")).expect("it is there"), vec![7; 999]);
    for (name, why) in
        [("a/b", "U+002F"), ("e\u{202e}txt", "U+202E"), ("..", "no file's"), (".plait-x", "begins with")]
    {
        assert!(refused(&["--as", name]).contains(why), "{name}");
    }
}

#[test]
fn files_are_replaced_and_have_permissions_as_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 1_000), folder.path().join("out"));
    let receiver = Receiver::start(&out, &["--replace", "--mode", "640"]);
    for content in [vec![1; 1_000], vec![2; 1_000], vec![3; 70]] {
        std::fs::write(&file, &content).expect("it is written");
        let sent = receiver.send(&file, &[]);
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        assert_eq!(std::fs::read(out.join("a file.bin")).expect("it is there"), content);
    }
    let mode = std::fs::metadata(out.join("a file.bin")).expect("it is there").permissions().mode();
    assert_eq!((mode & 0o777, std::fs::read_dir(&out).expect("it is there").count()), (0o640, 1));
}

/// Senders accept a receiver that restarts with its key. They refuse one with a new key and say
/// why.
#[test]
fn a_kept_key_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 1_000), folder.path().join("out"));
    let (key, secret) = (folder.path().join("key.pem"), folder.path().join("secret"));
    std::fs::write(&secret, "a long secret\n").expect("it is written");
    let start = || {
        let more = ["--key", key.to_str().expect("text"), "--secret-file", secret.to_str().expect("text")];
        let mut command = Command::new(PROGRAM);
        command.args(["recv", "--json", "--listen", "127.0.0.1:0", "--out"]).arg(&out).args(more);
        command.env_remove("PLAIT_SECRET").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let output = start().wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&output.stderr).contains("others may read it"), "the secret's file");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let mut fingerprints = Vec::new();
    for count in 0..2 {
        let mut child = start();
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let hello = line(&mut lines);
        assert!(hello["secret"].is_null(), "a given secret is not shown");
        let word = |key: &str| hello[key].as_str().expect("it is text").to_owned();
        let mut receiver = Receiver {
            child,
            lines,
            address: word("address"),
            fingerprint: word("fingerprint"),
            secret: "a long secret".to_owned(),
        };
        let sent = receiver.send(&file, &["--as", &count.to_string()]);
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        fingerprints.push(receiver.fingerprint.clone());
        receiver.fingerprint = "0".repeat(64);
        let refused = receiver.send(&file, &[]);
        assert!(
            String::from_utf8_lossy(&refused.stderr)
                .contains("the certificate is not the one of the fingerprint")
        );
    }
    assert_eq!(fingerprints[0], fingerprints[1]);
    assert_eq!(std::fs::metadata(&key).expect("it is there").permissions().mode() & 0o777, 0o600);
}

/// A service manager ends programs by SIGTERM. The peer is told, and the same file can be sent
/// again at once.
#[test]
fn a_sender_that_is_ended_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (file(folder.path(), 400_000_000), folder.path().join("out"));
    let mut receiver = Receiver::start(&out, &[]);
    let mut command = Command::new(PROGRAM);
    command.arg("send").arg(&file).arg(&receiver.address).args([
        "--json",
        "--fingerprint",
        &receiver.fingerprint,
    ]);
    let mut sending =
        command.env("PLAIT_SECRET", &receiver.secret).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(sending.stdout.take().expect("it is piped"));
    assert_eq!(line(&mut lines)["event"], "progress");
    let id = nix::unistd::Pid::from_raw(sending.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    assert_eq!(sending.wait().expect("it ends").code(), Some(143));
    assert_eq!(line(&mut receiver.lines)["event"], "failed", "the receiver was told");
    let sent = receiver.send(&file, &[]);
    let report = line(&mut &sent.stdout[..]);
    assert!(sent.status.success() && report["resumed_bytes"].as_u64() > Some(0), "{report}");
    let id = nix::unistd::Pid::from_raw(receiver.child.id() as i32);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    assert_eq!(receiver.child.wait().expect("it ends").code(), Some(0), "a service is ended so");
}
