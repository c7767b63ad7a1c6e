//! The program over interfaces that appear and disappear, in unprivileged network namespaces. Needs
//! `timeout`, `unshare`, `ip`, `tc` and a kernel that lets users create namespaces.

use std::process::Command;

/// Sets up two namespaces with links of 20 Mbit/s. The first link is always up. The second is down
/// at the beginning and removed later. The third appears last. The only output is the sender's
/// result.
const SCRIPT: &str = r#"
set -eu
unshare -n sleep 120 > /dev/null 2>&1 &
peer=$!
receiver=
trap 'kill $peer $receiver 2> /dev/null || true' EXIT
while [ "$(readlink /proc/$peer/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
far() { nsenter -t $peer -n "$@"; }
add() {
    ip link add net$1 type veth peer name far$1
    ip link set far$1 netns $peer
    ip addr add 10.77.$1.1/24 dev net$1
    tc qdisc add dev net$1 root tbf rate 20mbit burst 16kb latency 50ms
    far ip addr add 10.77.$1.2/24 dev far$1
    far ip link set far$1 up
}
start() {
    ip link set net$1 up
    ip route add 10.77.9.9 via 10.77.$1.2 dev net$1 metric $1
}
far ip link set lo up
far ip addr add 10.77.9.9/32 dev lo
add 1
start 1
add 2
# Not by `far`: $! would be a shell of its own, and killing it would leave the receiver running.
nsenter -t $peer -n "$PROGRAM" recv --once --out "$FOLDER/out" --listen 0.0.0.0:4433 --secret told --json --quiet > "$FOLDER/recv" &
receiver=$!
while ! grep -q fingerprint "$FOLDER/recv"; do sleep 0.01; done
fingerprint=$(sed -n 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/p' "$FOLDER/recv")
{ sleep 1; start 2; sleep 2; ip link del net2; sleep 0.5; add 3; start 3; } &
"$PROGRAM" send "$FOLDER/file" 10.77.9.9:4433 --secret told --fingerprint "$fingerprint" --json --quiet $MORE
"#;

/// Whether this machine allows such namespaces and shaped links.
fn is_possible() -> bool {
    let words = "ip link add here type veth peer name there && tc qdisc add dev here root tbf rate 1mbit burst 16kb latency 50ms";
    let tried = Command::new("unshare").args(["-rn", "sh", "-c", words]).output();
    tried.is_ok_and(|output| output.status.success())
}

fn send(more: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("out")).expect("it is made");
    let content: Vec<u8> =
        (0..20_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    std::fs::write(folder.path().join("file"), &content).expect("it is written");
    let mut command = Command::new("timeout");
    command
        .args(["100", "unshare", "-rn", "sh", "-c", SCRIPT])
        .env("PROGRAM", env!("CARGO_BIN_EXE_plait-quic"));
    let output = command.env("FOLDER", folder.path()).env("MORE", more).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let received = std::fs::read(folder.path().join("out/file")).expect("it is there");
    assert!(received == content, "bytes differ");
    serde_json::from_str(&said).expect("it is JSON")
}

fn sent_by(report: &serde_json::Value) -> Vec<(String, u64)> {
    let paths = report["paths"].as_array().expect("they are listed");
    let one = |path: &serde_json::Value| {
        let name =
            path["name"].as_str().and_then(|name| Some(name.split_once('%')?.1)).unwrap_or("none").to_owned();
        (name, path["bytes"].as_u64().expect("a number"))
    };
    paths.iter().map(one).collect()
}

#[test]
fn interfaces_that_appear_are_paths_and_those_that_vanish_stop_nothing() {
    if !is_possible() {
        eprintln!("not tried: no namespaces or no token bucket filter here");
        return;
    }
    for more in ["", "--interop", "--interface net1 --interface net2 --interface net3"] {
        let report = send(more);
        let sent = sent_by(&report);
        let names: Vec<&str> = sent.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["net1", "net2", "net3"], "\"{more}\"");
        assert!(sent.iter().all(|(_, bytes)| *bytes > 1_000_000), "\"{more}\": {sent:?}");
    }
}
