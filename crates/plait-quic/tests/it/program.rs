//! The program over real sockets, on several addresses of the loopback interface.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_plait-quic");

struct Receiver {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    address: String,
    fingerprint: String,
    secret: String,
}

impl Receiver {
    fn start(out: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["recv", "--json", "--quiet", "--listen", "0.0.0.0:0", "--out"]).arg(out).args(more);
        let mut child = command.env_remove("PLAIT_SECRET").stdout(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped"));
        let hello = line(&mut lines);
        let word = |key: &str| hello[key].as_str().expect("it is text").to_owned();
        let address = word("address").replace("0.0.0.0", "127.0.0.1");
        Self { child, lines, address, fingerprint: word("fingerprint"), secret: word("secret") }
    }

    fn send(&self, file: &Path, more: &[&str]) -> Output {
        let mut command = Command::new(PROGRAM);
        command.arg("send").arg(file).arg(&self.address).args([
            "--fingerprint",
            &self.fingerprint,
            "--json",
            "--quiet",
        ]);
        command.env("PLAIT_SECRET", &self.secret).args(more).output().expect("it starts")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(lines: &mut impl BufRead) -> serde_json::Value {
    let mut text = String::new();
    lines.read_line(&mut text).expect("it is text");
    serde_json::from_str(&text).expect("it is JSON")
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

/// To this machine, without an address: one path. Progress is lines of JSON, the last one what came of it.
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
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("interface wlan99: no IPv4 address"));
}

/// One receiver takes both kinds, one after the other.
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
        assert!(
            paths.len() == 2 && paths.iter().all(|path| path["bytes"].as_u64() > Some(0)),
            "{result}"
        );
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
    assert!(refused(&["--secret", "guessed"]).contains("the secret is not the receiver's"));
    assert!(refused(&["--scheduler", "fastest"]).contains("unknown scheduler \"fastest\""));
    assert!(refused(&["--mtu", "100"]).contains("choose 1200 to"));
    assert!(receiver.send(&file, &[]).status.success());
    let again = refused(&[]);
    assert!(again.contains("has a file a file.bin already"), "{again}");
    let none: Vec<_> = std::fs::read_dir(&out).expect("it is there").collect();
    assert_eq!(none.len(), 1, "nothing half done is left");
}
