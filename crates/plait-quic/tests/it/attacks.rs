//! Attacks and accidents over real sockets that are listed in `docs/real-links-attacks.md`. Other
//! modules have further ones.

use crate::running::{PROGRAM, Service, connect, private, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// A killed sender does not say that it ends. The same command continues the transfer as soon as
/// the receiver notices the silence.
#[test]
fn the_next_sender_takes_over_from_a_silent_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, vec![7; 400_000_000]).expect("there is room");
    let out = folder.path().join("out");
    let receive = ["recv", "--listen", "127.0.0.1:0", "--out", out.to_str().expect("text")];
    let receiver = Service::start(&receive, Some("a long secret of both"));
    let (address, fingerprint) = (receiver.word("address"), receiver.word("fingerprint"));
    let command = || {
        let mut command = Command::new(PROGRAM);
        command.arg("send").arg(&file).args([&address, "--fingerprint", &fingerprint, "--json"]);
        command.env("PLAIT_SECRET", "a long secret of both").stdout(Stdio::piped());
        command
    };
    let mut first = command().spawn().expect("it starts");
    until(&mut BufReader::new(first.stdout.take().expect("it is piped")), "progress");
    first.kill().expect("it runs");
    first.wait().expect("it ends");
    let second = command().output().expect("it starts");
    let sent = until(&mut &second.stdout[..], "sent");
    assert!(sent["resumed_bytes"].as_u64() > Some(0), "{sent}");
}

#[test]
fn socks_for_everyone_is_asked_for() {
    let zeros = "0".repeat(64);
    let near = |more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(["proxy", "127.0.0.1:9", "--fingerprint", &zeros, "--socks", "0.0.0.0:0"]).args(more);
        command.env("PLAIT_SECRET", "a long secret of both").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let output = near(&[]).wait_with_output().expect("it ends");
    let words = String::from_utf8(output.stderr).expect("it is text");
    assert!(
        output.status.code() == Some(2) && words.contains("add --open-socks, or choose 127.0.0.1"),
        "{words}"
    );
    let mut open = near(&["--open-socks", "--forward", "127.0.0.1:0=db.test:5432"]);
    let mut line = String::new();
    BufReader::new(open.stdout.take().expect("it is piped")).read_line(&mut line).expect("it is text");
    assert!(line.starts_with("SOCKS5 at 0.0.0.0:") && line.contains("; TCP at 127.0.0.1:"), "{line}");
    open.kill().expect("it runs");
    open.wait().expect("it ends");
}

/// A rule for all hosts excludes every address of this machine. A rule with its name may allow it.
#[test]
fn stars_lead_to_no_address_of_the_machine() {
    let own = nix::ifaddrs::getifaddrs().expect("there are interfaces").filter_map(|one| {
        let address = one.address?.as_sockaddr_in()?.ip();
        (!address.is_link_local()).then_some(address)
    });
    let far = Service::start(
        &["proxy", "--serve", "--listen", "127.0.0.1:0", "--allow", "*:*"],
        Some("a long secret of both"),
    );
    let (address, fingerprint) = (far.word("address"), far.word("fingerprint"));
    let near = ["proxy", &address, "--fingerprint", &fingerprint, "--socks", "127.0.0.1:0"];
    let near = Service::start(&near, Some("a long secret of both"));
    for ip in own {
        let listener = TcpListener::bind((ip, 0)).expect("it is ours");
        let port = listener.local_addr().expect("it has one").port();
        let mut socket = connect(&near.word("socks"));
        let request = [&[5, 1, 0, 5, 1, 0, 1][..], &ip.octets(), &port.to_be_bytes()].concat();
        socket.write_all(&request).expect("it is taken");
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).expect("it is answered");
        assert_eq!(answer[3], 2, "{ip} is not allowed");
    }
}

#[test]
fn received_files_are_of_their_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, out) = (private(folder.path(), "file", "content"), folder.path().join("out"));
    let receive = ["recv", "--listen", "127.0.0.1:0", "--out", out.to_str().expect("text")];
    let receiver = Service::start(&receive, Some("a long secret of both"));
    let to = [&*file, &*receiver.word("address"), "--fingerprint", &*receiver.word("fingerprint")];
    let sent =
        Command::new(PROGRAM).arg("send").args(to).env("PLAIT_SECRET", "a long secret of both").output();
    assert!(sent.expect("it starts").status.success());
    let mode = std::fs::metadata(out.join("file")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
