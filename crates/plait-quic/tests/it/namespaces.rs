//! The program between unprivileged network namespaces: addresses of both families, interfaces
//! without a route, MTUs, closed ports. Needs `timeout`, `unshare`, `ip`, and a kernel that lets
//! users create namespaces.

use serde_json::Value;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Sets up two namespaces. `link N` joins them. The receiver's own addresses are 10.77.9.9 and
/// fd77:9::9, with the name `both.test`.
pub(crate) const NETWORK: &str = r#"
set -eu
unshare -n sleep 120 > /dev/null 2>&1 &
peer=$!
receiver=
trap 'kill $peer $receiver 2> /dev/null || true' EXIT
while [ "$(readlink /proc/$peer/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
far() { nsenter -t $peer -n "$@"; }
link() {
    ip link add net$1 type veth peer name far$1
    ip link set far$1 netns $peer
    ip link set net$1 up
    far ip link set far$1 up
}
# Waits until duplicate address detection has confirmed the link-local addresses of both ends.
link_local() {
    until ip -6 addr show dev net1 -tentative | grep -q fe80; do sleep 0.02; done
    until far ip -6 addr show dev far1 -tentative | grep -q fe80; do sleep 0.02; done
}
slow() {
    tc qdisc add dev net$1 root tbf rate 20mbit burst 16kb latency 50ms
}
v4() {
    ip addr add 10.77.$1.1/24 dev net$1
    far ip addr add 10.77.$1.2/24 dev far$1
    ip route add 10.77.9.9 via 10.77.$1.2 dev net$1 metric $1
}
v6() {
    ip addr add fd77:$1::1/64 dev net$1 nodad
    far ip addr add fd77:$1::2/64 dev far$1 nodad
    ip route add fd77:9::9 via fd77:$1::2 dev net$1 metric $1
}
printf '127.0.0.1 localhost\nfd77:9::9 both.test\n10.77.9.9 both.test\n' > "$FOLDER/hosts"
mount --bind "$FOLDER/hosts" /etc/hosts
far ip link set lo up
far ip addr add 10.77.9.9/32 dev lo
far ip addr add fd77:9::9/128 dev lo nodad
"#;

/// Runs the case's `$LINKS`, a receiver with `$LISTEN`, and a sender to `$TO` with `$MORE`.
const SCRIPT: &str = r#"
eval "$LINKS"
if [ -n "$LISTEN" ]; then
    # Not by `far`: $! would be a shell of its own, and killing it would leave the receiver running.
    nsenter -t $peer -n "$PROGRAM" recv --once --out "$FOLDER/out" $LISTEN --secret told --json --quiet > "$FOLDER/recv" &
    receiver=$!
    while ! grep -q fingerprint "$FOLDER/recv"; do sleep 0.01; done
    fingerprint=$(sed -n 's/.*"fingerprint":"\([0-9a-f]*\)".*/\1/p' "$FOLDER/recv")
else
    fingerprint=$(printf '%064d' 0)
fi
to=$(eval "echo $TO")
"$PROGRAM" send "$FOLDER/file" "$to" --secret told --fingerprint "$fingerprint" --json --quiet $MORE
"#;

/// Listens on port 4433 of both families. Not empty, because the script then starts no receiver.
const DEFAULT: &str = "--mode 600";

/// Whether this machine allows such namespaces.
pub(crate) fn is_possible() -> bool {
    let words = "ip link add here type veth peer name there && mount --bind /etc/hosts /etc/hosts \
        && tc qdisc add dev here root tbf rate 20mbit burst 16kb latency 50ms";
    let tried = Command::new("unshare").args(["-rnm", "sh", "-c", words]).output();
    let possible = tried.is_ok_and(|output| output.status.success());
    if !possible {
        eprintln!("not tried: no namespaces here");
    }
    possible
}

fn send(links: &str, listen: &str, to: &str, more: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("out")).expect("it is made");
    std::fs::write(folder.path().join("file"), vec![7; 4_000_000]).expect("it is written");
    let mut command = Command::new("timeout");
    command
        .args(["100", "unshare", "-rnm", "sh", "-c", &format!("{NETWORK}{SCRIPT}")])
        .env("PROGRAM", env!("CARGO_BIN_EXE_plait-quic"));
    command.env("FOLDER", folder.path()).env("LINKS", links).env("LISTEN", listen);
    command.env("TO", to).env("MORE", more).output().expect("it starts")
}

/// Sends a file and checks its success. Returns the interfaces of the paths, with the bytes that
/// each has sent.
fn carried(links: &str, listen: &str, to: &str, more: &str) -> Vec<(String, u64)> {
    let output = send(links, listen, to, more);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{links}: {printed}{}", String::from_utf8_lossy(&output.stderr));
    let report: Value =
        serde_json::from_str(printed.lines().last().expect("it says something")).expect("JSON");
    let one = |path: &Value| {
        let name = path["name"].as_str().expect("a name");
        let name = name.split_once('%').map_or(name, |(_, interface)| interface);
        (name.to_owned(), path["bytes"].as_u64().expect("a number"))
    };
    report["paths"].as_array().expect("paths").iter().map(one).collect()
}

/// Returns the message of a failing sender, and its duration.
fn failure(links: &str, listen: &str, to: &str, more: &str) -> (String, Duration) {
    #[expect(clippy::disallowed_methods, reason = "what is tried is how soon the program gives up")]
    let begun = Instant::now();
    let output = send(links, listen, to, more);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let printed = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&printed).into_owned(), begun.elapsed())
}

/// The message has the interface as the user wrote it, and its tentative address.
#[test]
fn an_address_that_is_not_ready_is_named_with_its_interface() {
    if !is_possible() {
        return;
    }
    let tentative = "link 1; ip link set net1 down; echo 500 > /proc/sys/net/ipv6/conf/net1/dad_transmits; \
        ip link set net1 up; until ip -6 addr show dev net1 tentative | grep -q fe80; do sleep 0.02; done";
    let (printed, _) = failure(tentative, "", "[fe80::1%net1]:4433", "");
    let words = "[fe80::1%net1]:4433: the address fe80::";
    assert!(printed.contains(words) && printed.contains(" of net1 is not ready yet: try again"), "{printed}");
    let (printed, _) = failure("link 1; ip addr flush dev net1", "", "[fe80::1%net1]:4433", "");
    assert!(printed.contains("[fe80::1%net1]:4433: net1 has no IPv6 address"), "{printed}");
}

#[test]
fn a_path_of_each_family_carries_its_part() {
    if !is_possible() {
        return;
    }
    for more in ["", "--interop"] {
        let carried = carried("link 1; v4 1; slow 1; link 2; v6 2; slow 2", DEFAULT, "both.test:4433", more);
        let used = |name: &str| carried.iter().any(|(path, bytes)| path == name && *bytes > 500_000);
        assert!(used("net1") && used("net2"), "\"{more}\": {carried:?}");
    }
}

#[test]
fn every_address_of_a_name_is_tried() {
    if !is_possible() {
        return;
    }
    // At the address of the first family, there is no answer, or the port is closed.
    for links in ["link 1; v4 1; v6 1; far ip addr del fd77:9::9/128 dev lo", "link 1; v4 1; v6 1"] {
        let carried = carried(links, "--listen 0.0.0.0:4433", "both.test:4433", "");
        assert_eq!(carried.len(), 1, "{links}: {carried:?}");
        assert!(carried[0].0 == "net1" && carried[0].1 >= 4_000_000, "{links}: {carried:?}");
    }
}

#[test]
fn two_machines_on_one_cable_need_no_addresses() {
    if !is_possible() {
        return;
    }
    let to = r#"[$(far ip -6 addr show far1 | sed -n "s/.*inet6 \(fe80[^/]*\).*/\1/p")%net1]:4433"#;
    let carried = carried("link 1; link_local", DEFAULT, to, "");
    assert!(carried.len() == 1 && carried[0].0 == "net1", "{carried:?}");
}

#[test]
fn interfaces_without_a_route_take_no_place() {
    if !is_possible() {
        return;
    }
    let bridges = "for n in 1 2 3 4 5 6 7 8; do link $n; ip addr add 172.17.$n.1/24 dev net$n; done; ";
    let carried = carried(&format!("{bridges} link 10; v4 10"), DEFAULT, "10.77.9.9:4433", "");
    assert!(carried.len() == 1 && carried[0].0 == "net10", "{carried:?}");
}

#[test]
fn a_port_at_which_nothing_listens_is_an_error_at_once() {
    if !is_possible() {
        return;
    }
    for to in ["10.77.9.9:4433", "[fd77:9::9]:4433", "both.test:4433"] {
        for more in ["", "--interop"] {
            let (printed, took) = failure("link 1; v4 1; v6 1; link 2; v4 2", "", to, more);
            let expected = format!("{to}: nothing listens there (connection refused)");
            assert!(printed.contains(&expected), "{more}: {printed}");
            assert!(took < Duration::from_secs(10), "{took:?}");
        }
    }
}

#[test]
fn a_link_that_drops_full_datagrams_carries_nothing_and_one_path_of_it_is_an_error() {
    if !is_possible() {
        return;
    }
    // The far end of a veth silently drops packets above its MTU; the near end refuses them.
    for narrow in ["far ip link set far1 mtu 1400", "ip link set net1 mtu 1400"] {
        let links = format!("link 1; v4 1; {narrow}");
        let two = format!("{links}; link 2; v4 2");
        let carried = carried(&two, DEFAULT, "10.77.9.9:4433", "--mtu 1472");
        let expected: [(&str, bool); 2] = [("net1", false), ("net2", true)];
        let found: Vec<_> = carried.iter().map(|(name, bytes)| (name.as_str(), *bytes > 0)).collect();
        assert_eq!(found, expected, "{narrow}: {carried:?}");
        let (printed, took) = failure(&links, DEFAULT, "10.77.9.9:4433", "--mtu 1472");
        assert!(
            printed.contains("no path carries datagrams of 1472 bytes: 10.77.1.1 carries 13"),
            "{narrow}: {printed}"
        );
        assert!(took < Duration::from_secs(15), "{took:?}");
    }
}
