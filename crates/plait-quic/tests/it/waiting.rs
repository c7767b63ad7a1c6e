//! Senders whose receiver starts later.

use crate::running::{PROGRAM, Service, line, private};
use std::io::BufReader;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

/// Both modes find a receiver that starts later. Without one, waiting ends.
#[test]
fn a_sender_that_waits_finds_a_receiver_that_comes_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (private(folder.path(), "file", &"x".repeat(300_000)), folder.path().join("out"));
    let (key, record) = (folder.path().join("key.pem"), folder.path().join("record"));
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("it has one").to_string();
    drop(socket);
    let (key, directory) = (key.to_str().expect("text"), out.to_str().expect("text"));
    let receive = ["recv", "--listen", &address, "--key", key, "--out", directory];
    let secret = Some("a long secret of both");
    // The first receiver makes the key and ends.
    let fingerprint = Service::start(&receive, secret).word("fingerprint");
    let send = |more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["send", &file, &address, "--fingerprint", &fingerprint, "--json"]).args(more);
        command.env("PLAIT_SECRET", "a long secret of both").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let recorded = ["--as", "first", "--record", record.to_str().expect("text"), "--wait", "60s"];
    for (name, more) in
        [("first", &recorded[..]), ("second", &["--as", "second", "--interop", "--wait", "60s"])]
    {
        let mut sender = send(more);
        let mut lines = BufReader::new(sender.stdout.take().expect("it is piped"));
        let waiting = line(&mut lines);
        assert_eq!(waiting["event"], "waiting", "{waiting}");
        assert!(waiting["error"].as_str().is_some_and(|error| error.contains("nothing listens there")));
        let _receiver = Service::start(&receive, secret);
        assert!(sender.wait().expect("it ends").success(), "{name}");
        assert!(out.join(name).exists());
    }
    assert!(std::fs::read_dir(&record).expect("it is there").count() > 0);
    for more in [&[][..], &["--wait", "1s"]] {
        let output = send(more).wait_with_output().expect("it ends");
        let words = String::from_utf8(output.stderr).expect("it is text");
        assert!(!output.status.success() && words.contains("nothing listens there"), "{words}");
    }
}
