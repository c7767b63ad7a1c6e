//! Everything that may come late at boot: the name, the route, an interface, the address of a
//! listener, a port. The connecting end waits, and no such lack ends a service with exit status 2.

use crate::namespaces::{NETWORK, is_possible};
use crate::running::{PROGRAM, Service, private};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;

/// Starts both ends without name and link, and adds one after the other. `$PROGRAM proxy` and
/// `$PROGRAM send --wait` wait for them. Later the first link is silent for some time.
const SCRIPT: &str = r#"
logs() { until grep -sq "$2" "$FOLDER/$1"; do sleep 0.05; done; }
printf '127.0.0.1 localhost\n' > "$FOLDER/hosts"
ip link set lo up
nsenter -t $peer -n "$PROGRAM" proxy --serve --allow '*:*' --key "$FOLDER/key.pem" --secret told-by-the-test --json > "$FOLDER/far" &
receiver=$!
nsenter -t $peer -n "$PROGRAM" recv --once --out "$FOLDER/out" --listen 0.0.0.0:4434 --key "$FOLDER/recv.pem" --secret told-by-the-test --json > "$FOLDER/recv" &
receiver="$receiver $!"
fingerprint() { logs $1 fingerprint; sed -n 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/p' "$FOLDER/$1"; }
far=$(fingerprint far)
recv=$(fingerprint recv)
"$PROGRAM" proxy both.test:4433 --secret told-by-the-test --fingerprint $far --backup net2 --json > "$FOLDER/near" 2> "$FOLDER/errors" &
near=$!
"$PROGRAM" send "$FOLDER/file" both.test:4434 --secret told-by-the-test --fingerprint $recv --wait 90s --json > "$FOLDER/send" &
send=$!
receiver="$receiver $near $send"
logs near '"error":"both.test:4433: '
logs send '"error":"both.test:4434: '
printf '10.77.9.9 both.test\n' >> "$FOLDER/hosts"
logs near 'no interface leads to 10.77.9.9:4433'
logs send 'no interface leads to 10.77.9.9:4434'
link 1
v4 1
wait $send
logs near '"event":"open"'
logs errors 'net2 is no path yet'
link 2
v4 2
logs near '%net2","rate_bps":[^}]*"usable":true'
# The far end has no way back through the first link. Nothing moves, so only silence tells.
far ip addr flush dev far1
logs near '"event":"path","path":"10.77.1.1%net1".*"usable":false'
logs far '"event":"path".*"path":"0".*"usable":false'
far ip addr add 10.77.1.2/24 dev far1
logs near '"event":"path","path":"10.77.1.1%net1".*"usable":true'
logs far '"event":"path".*"path":"0".*"usable":true'
kill -TERM $near
wait $near
"#;

#[test]
fn the_connecting_end_waits_for_name_route_and_links_and_logs_their_failures() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), vec![7; 100_000]).expect("it is written");
    let script = format!("{NETWORK}{SCRIPT}");
    let mut command = Command::new("timeout");
    command.args(["100", "unshare", "-rnm", "sh", "-c", &script]).env("PROGRAM", PROGRAM);
    let output = command.env("FOLDER", folder.path()).output().expect("it starts");
    let log = |name| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(
        output.status.success(),
        "{}\n{}\n{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        log("near"),
        log("errors"),
        log("far")
    );
    assert!(folder.path().join("out/file").exists());
}

/// Runs a command that fails. Returns its status and its message.
fn failure(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(PROGRAM).args(arguments).env("PLAIT_SECRET", "a long secret of both").output();
    let output = output.expect("it starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn only_wrong_input_has_the_status_that_a_restart_does_not_cure() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let file = private(folder.path(), "file", "data");
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0"), UdpSocket::bind("127.0.0.1:0"));
    let tcp = tcp.expect("a port");
    let udp = udp.expect("a port");
    let tcp = tcp.local_addr().expect("it has one").to_string();
    let udp_port = udp.local_addr().expect("it has one").to_string();
    let fingerprint = "0".repeat(64);
    let [tcp_forward, udp_forward] = [&tcp, &udp_port].map(|port| format!("{port}=example.org:1"));
    let near = ["proxy", "127.0.0.1:9", "--fingerprint", &fingerprint];
    let send = |to| ["send", &file, to, "--fingerprint", &fingerprint].map(str::to_owned);
    let with = |more: &[&str]| near.iter().chain(more).map(ToString::to_string).collect::<Vec<_>>();
    let listen = |command: &[&str], address: &str| {
        command.iter().chain(&["--listen", address]).map(ToString::to_string).collect::<Vec<_>>()
    };
    let in_use = "another program has port ";
    for (arguments, status, words) in [
        (listen(&["recv", "--out", &out], &udp_port), 1, ["--listen ", in_use]),
        (listen(&["proxy", "--serve"], &udp_port), 1, ["--listen ", in_use]),
        (
            listen(&["recv", "--out", &out], "192.0.2.77:4433"),
            1,
            ["--listen ", "does not have the address now"],
        ),
        (with(&["--metrics", &tcp]), 1, ["--metrics ", in_use]),
        (with(&["--socks", &tcp]), 1, ["--socks ", in_use]),
        (with(&["--forward", &tcp_forward]), 1, ["--forward ", in_use]),
        (with(&["--udp", &udp_forward]), 1, ["--udp ", in_use]),
        (send("plait.invalid:4433").to_vec(), 1, ["no connection: ", "plait.invalid:4433"]),
        (send("127.0.0.1").to_vec(), 2, ["127.0.0.1: ", "write HOST:PORT, such as 127.0.0.1:4433"]),
        (with(&["--secret", "replace-this-secret-of-home"]), 2, ["secret", "published example"]),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, message) = failure(&arguments);
        assert_eq!(code, Some(status), "{arguments:?}: {message}");
        assert!(words.iter().all(|word| message.contains(word)), "{arguments:?}: {message}");
    }
}

#[test]
fn a_near_end_whose_far_end_has_no_address_can_be_ended() {
    let fingerprint = "0".repeat(64);
    let options = ["proxy", "plait.invalid:4433", "--fingerprint", &fingerprint, "--json"];
    let mut near = Service::spawn(&options, Some("a long secret of both"));
    let waiting = near.event("waiting");
    assert!(waiting["error"].as_str().is_some_and(|error| error.starts_with("plait.invalid:4433: ")));
    near.end();
}
