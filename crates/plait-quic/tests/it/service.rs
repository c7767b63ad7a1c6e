//! The programs as services: clients, configuration files, counters, logs, and restarts.

use crate::running::{PATIENCE, PROGRAM, Service, connect, is_time, private};
use std::io::{BufRead, Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::process::Command;
use std::time::Duration;

/// Starts a server that echoes each connection to its end. Returns its address.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one").to_string();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut reader = socket.try_clone().expect("another handle");
                let _ = std::io::copy(&mut reader, &mut socket);
            });
        }
    });
    address
}

/// Whether an echo comes back.
fn answers(address: &str) -> bool {
    let mut socket = connect(address);
    let mut heard = [0; 5];
    socket.write_all(b"hello").is_ok() && socket.read_exact(&mut heard).is_ok() && heard == *b"hello"
}

/// Returns a free UDP port.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

/// Reads the counters and checks the format of each line.
fn counters(address: &str) -> Vec<(String, f64)> {
    let mut socket = connect(address);
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").expect("it is taken");
    let mut text = String::new();
    socket.read_to_string(&mut text).expect("it is text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    let mut typed = std::collections::BTreeMap::new();
    let mut found = Vec::new();
    for line in body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a type");
            assert!(
                ["counter", "gauge"].contains(&kind)
                    && typed.insert(name.to_owned(), kind.to_owned()).is_none()
            );
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let name = series.split('{').next().unwrap_or_default();
            assert!(typed.contains_key(name), "{line}");
            assert_eq!(typed[name] == "counter", name.ends_with("_total"), "{line}");
            found.push((series.to_owned(), value.parse().expect("a number")));
        }
    }
    found
}

fn value(counters: &[(String, f64)], series: &str) -> f64 {
    let found = counters.iter().find(|(name, _)| name == series);
    found.unwrap_or_else(|| panic!("{series} in {counters:?}")).1
}

/// Two clients have their own secrets. Events, counters and limits are separate.
#[test]
fn clients_of_a_receiver_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = private(folder.path(), "file", &"x".repeat(5_000));
    let secret = private(folder.path(), "van.secret", "the secret of the van\n");
    let config = format!(
        "listen = \"127.0.0.1:0\"\nmetrics = 0\n[[client]]\nname = \"lab\"\nsecret = \"the secret of the lab\"\n\
         [[client]]\nname = \"van\"\nsecret-file = \"{secret}\"\nbytes = \"4kB\"\n"
    );
    let config = private(folder.path(), "recv.toml", &config);
    let out = folder.path().join("out");
    let out = out.to_str().expect("it is text");
    let mut service = Service::spawn(&["recv", "--json", "--config", &config, "--out", out], None);
    let metrics = service.event("metrics")["address"].as_str().expect("it is text").to_owned();
    service.hello = service.event("listening");
    assert!(service.hello["secret"].is_null());
    let (address, fingerprint) = (service.word("address"), service.word("fingerprint"));
    let send = |secret: &str, name: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["send", &file, &address, "--fingerprint", &fingerprint, "--as", name, "--quiet"]);
        let output = command.env("PLAIT_SECRET", secret).output().expect("it starts");
        (output.status.success(), String::from_utf8(output.stderr).expect("it is text"))
    };
    assert!(send("the secret of the lab", "a").0);
    assert_eq!(service.event("begun")["client"], "lab");
    assert_eq!(service.event("received")["client"], "lab");
    let (sent, words) = send("the secret of the van", "b");
    assert!(!sent && words.contains("a transfer of at least 5000 bytes: 4000 are allowed"), "{words}");
    let (sent, words) = send("the secret of nobody", "c");
    assert!(!sent && words.contains("the secret is wrong"), "{words}");
    assert!(service.event("rejected")["from"].as_str().is_some_and(|from| from.starts_with("127.0.0.1:")));
    let counted = counters(&metrics);
    assert_eq!(value(&counted, "plait_rejected_secrets_total"), 1.0);
    assert_eq!(value(&counted, "plait_transfers_kept_total{client=\"lab\"}"), 1.0);
    // Records and padding of segments count, too.
    let received = value(&counted, "plait_received_bytes_total{client=\"lab\"}");
    assert!((5_000.0..10_000.0).contains(&received), "{received}");
    assert_eq!(value(&counted, "plait_transfers{client=\"lab\"}"), 0.0);
    service.end();
}

/// A far end has targets for each client, and counts by client.
#[test]
fn clients_of_a_proxy_have_targets_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = echo();
    let config = format!(
        "serve = true\nlisten = \"127.0.0.1:0\"\nmetrics = \"127.0.0.1:0\"\n\
         [[client]]\nname = \"lab\"\nsecret = \"the secret of the lab\"\nallow = [\"{echo}\"]\nstreams = 1\n\
         [[client]]\nname = \"van\"\nsecret = \"the secret of the van\"\n"
    );
    let config = private(folder.path(), "proxy.toml", &config);
    let mut far = Service::spawn(&["proxy", "--json", "--config", &config], None);
    let metrics = far.event("metrics")["address"].as_str().expect("it is text").to_owned();
    far.hello = far.event("listening");
    let forward = format!("127.0.0.1:0={echo}");
    let (address, fingerprint) = (far.word("address"), far.word("fingerprint"));
    let options = ["proxy", &address, "--fingerprint", &fingerprint, "--forward", &forward];
    let near = |secret| Service::start(&options, Some(secret));
    let entrance =
        |near: &Service| near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    let (mut lab, van) = (near("the secret of the lab"), near("the secret of the van"));
    let mut stays = connect(&entrance(&lab));
    stays.write_all(b"hello").expect("it is taken");
    stays.read_exact(&mut [0; 5]).expect("it comes back");
    let connected = far.event("connected");
    assert_eq!(connected["udp"], false);
    assert_eq!((&connected["client"], &connected["target"]), (&"lab".into(), &echo.as_str().into()));
    assert!(connected["from"].as_str().is_some_and(|from| from.starts_with("127.0.0.1:")));
    assert!(!answers(&entrance(&lab)), "one stream is allowed");
    let refused = far.event("refused");
    assert_eq!(
        (&refused["client"], &refused["reason"]),
        (&"lab".into(), &"there are too many connections".into())
    );
    assert!(!answers(&entrance(&van)), "it has no targets");
    assert_eq!(far.event("refused")["client"], "van");
    // Counters of near ends are up to half a second old.
    (0..3).for_each(|_| drop(lab.event("progress")));
    let counted = counters(&metrics);
    assert_eq!(value(&counted, "plait_near_ends{client=\"lab\"}"), 1.0);
    assert_eq!(value(&counted, "plait_connections{client=\"lab\"}"), 1.0);
    // Data on the refused connection may have arrived, too.
    assert!([5.0, 10.0].contains(&value(&counted, "plait_received_bytes_total{client=\"lab\"}")));
    assert_eq!(value(&counted, "plait_sent_bytes_total{client=\"lab\"}"), 5.0);
    assert!(value(&counted, "plait_path_received_bytes_total{client=\"lab\",path=\"0\"}") >= 5.0);
    let refusals = |client: &str| {
        let of = |(name, _): &&(String, f64)| {
            name.starts_with(&format!("plait_connections_refused_total{{client=\"{client}\""))
        };
        counted.iter().filter(of).map(|(_, count)| count).sum::<f64>()
    };
    assert_eq!((refusals("lab"), refusals("van")), (1.0, 1.0));
    drop(lab);
    assert_eq!(far.event("left")["client"], "lab");
    far.end();
}

/// Datagrams count against the rate of their client, and their flows against its limit of streams.
#[test]
fn limits_of_a_client_hold_for_datagrams() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let target = echo.local_addr().expect("it has one");
    std::thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((count, from)) = echo.recv_from(&mut buffer) {
            let _ = echo.send_to(&buffer[..count], from);
        }
    });
    let config = format!(
        "serve = true\nlisten = \"127.0.0.1:0\"\nallow = [\"{target}\"]\n\
         [[client]]\nname = \"lab\"\nsecret = \"the secret of the lab\"\nstreams = 1\nrate = \"400kbit\"\n"
    );
    let mut far =
        Service::start(&["proxy", "--config", &private(folder.path(), "proxy.toml", &config)], None);
    let (to, fingerprint) = (far.word("address"), far.word("fingerprint"));
    let udp = format!("127.0.0.1:0={target}");
    let near = ["proxy", &to, "--fingerprint", &fingerprint, "--udp", &udp];
    let near = Service::start(&near, Some("the secret of the lab"));
    let entrance = near.hello["udp"][0]["listen"].as_str().expect("it is text");
    let client = || {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.connect(entrance).expect("it is an address");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("it can be set");
        socket
    };
    let (first, begun) = (client(), crate::allowance::now());
    let (mut buffer, mut delivered) = ([0; 2_000], 0);
    // Ten datagrams in 20 ms are ten times the rate.
    while begun.elapsed() < Duration::from_secs(2) {
        (0..10).for_each(|_| drop(first.send(&[7; 1_000])));
        while let Ok(count) = first.recv(&mut buffer) {
            delivered += count;
        }
    }
    // Both directions share 50,000 bytes per second. The burst is half of that and one datagram.
    let most = 26_000.0 + 50_000.0 * begun.elapsed().as_secs_f64();
    // Replies may starve, because the flood uses their share.
    assert!(delivered > 0 && 2.0 * delivered as f64 <= most, "{delivered} of {most}");
    assert_eq!(far.event("connected")["client"], "lab");
    client().send(b"a second flow").expect("it is taken");
    let refused = far.event("refused");
    assert_eq!(
        (&refused["client"], &refused["reason"]),
        (&"lab".into(), &"there are too many connections".into())
    );
}

/// The far end restarts with its key, after SIGTERM and after SIGKILL. Near ends reconnect by
/// themselves and report it.
#[test]
fn near_ends_come_back_after_a_restart_of_the_far_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = echo();
    let key = folder.path().join("key.pem");
    let listen = format!("127.0.0.1:{}", free_port());
    let serve =
        ["proxy", "--serve", "--listen", &listen, "--key", key.to_str().expect("text"), "--allow", &echo];
    let start = || Service::start(&serve, Some("a long secret of both"));
    let mut far = start();
    let forward = format!("127.0.0.1:0={echo}");
    let fingerprint = far.word("fingerprint");
    let options = ["proxy", &listen, "--fingerprint", &fingerprint, "--forward", &forward, "--quiet"];
    let mut near = Service::start(&options, Some("a long secret of both"));
    let entrance = near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    assert!(answers(&entrance));
    // The far end announces its end.
    far.end();
    let lost = near.event("lost");
    assert!(lost["error"].as_str().is_some_and(|error| error.contains("the far end has ended")), "{lost}");
    let mut far = start();
    let open = near.event("open");
    assert!(open["after_s"].as_f64().is_some() && open["paths"][0].is_string(), "{open}");
    assert!(answers(&entrance));
    // The far end is killed and replaced. The new one does not know the connection and says so.
    far.signal(nix::sys::signal::Signal::SIGKILL);
    far.child.wait().expect("it ends");
    #[expect(clippy::disallowed_methods, reason = "the far end is absent for this long")]
    std::thread::sleep(Duration::from_secs(4));
    let _far = start();
    let lost = near.event("lost");
    assert!(
        lost["error"].as_str().is_some_and(|error| error.contains("the far end was restarted")),
        "{lost}"
    );
    // The absence begins with the kill, not with the discovery after the restart.
    let open = near.event("open");
    assert!(open["after_s"].as_f64().is_some_and(|after| after >= 4.0), "{open}");
    assert!(answers(&entrance));
}

/// An end that stops or is killed resets its connections. Otherwise programs would take the end of
/// the data as regular.
#[test]
fn connections_of_an_end_that_ends_are_reset() {
    use nix::sys::signal::Signal;
    for (ends_near, signal) in
        [(true, Signal::SIGTERM), (true, Signal::SIGKILL), (false, Signal::SIGTERM), (false, Signal::SIGKILL)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let target = listener.local_addr().expect("it has one").to_string();
        let serve = ["proxy", "--serve", "--listen", "127.0.0.1:0", "--allow", &target];
        let far = Service::start(&serve, Some("a long secret of both"));
        let (to, fingerprint) = (far.word("address"), far.word("fingerprint"));
        let forward = format!("127.0.0.1:0={target}");
        let options = ["proxy", &to, "--fingerprint", &fingerprint, "--forward", &forward];
        let near = Service::start(&options, Some("a long secret of both"));
        let mut client = connect(near.hello["forwards"][0]["listen"].as_str().expect("it is text"));
        client.write_all(b"hello").expect("it is taken");
        let (mut server, _) = listener.accept().expect("a connection");
        server.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        let mut heard = [0; 5];
        server.read_exact(&mut heard).expect("it comes");
        server.write_all(b"world").expect("it is taken");
        client.read_exact(&mut heard).expect("it comes");
        (if ends_near { &near } else { &far }).signal(signal);
        // After SIGKILL, the peer of the killed end learns it later.
        let met = if ends_near { [client, server] } else { [server, client] };
        let count = if signal == Signal::SIGTERM { 2 } else { 1 };
        for mut socket in met.into_iter().take(count) {
            let report = socket.read(&mut heard).expect_err("it is broken off").kind();
            assert_eq!(report, std::io::ErrorKind::ConnectionReset, "near {ends_near}, {signal}");
        }
    }
}

/// A near end that starts first waits for the far end. A near end beyond the limit waits for a free
/// place.
#[test]
fn near_ends_wait_for_what_passes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (echo, key) = (echo(), folder.path().join("key.pem"));
    let port = free_port();
    let config = format!(
        "serve = true\nlisten = \"127.0.0.1:{port}\"\nkey = \"{}\"\nallow = [\"{echo}\"]\n\
         [[client]]\nname = \"lab\"\nsecret = \"the secret of the lab\"\nnear-ends = 1\n",
        key.display()
    );
    let config = private(folder.path(), "proxy.toml", &config);
    let far = Service::start(&["proxy", "--config", &config], None);
    let fingerprint = far.word("fingerprint");
    let to = format!("127.0.0.1:{port}");
    let options = ["proxy", &to, "--fingerprint", &fingerprint, "--socks", "127.0.0.1:0"];
    let mut first = Service::start(&options, Some("the secret of the lab"));
    first.event("open");
    let mut second = Service::start(&options, Some("the secret of the lab"));
    let lost = second.event("lost");
    assert!(lost["error"].as_str().is_some_and(|error| error.contains("1 near ends are allowed")), "{lost}");
    assert_eq!(lost["pause_s"], 1.0);
    assert_eq!(second.event("lost")["pause_s"], 2.0, "the pause grows");
    first.end();
    second.event("open");
    let wrong =
        Command::new(PROGRAM).args(options).env("PLAIT_SECRET", "another one").output().expect("it starts");
    assert!(
        !wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("the secret is wrong")
    );
}

/// Lines of a log have the time and the address. A log has no periodic progress.
#[test]
fn a_log_has_times_and_addresses_and_no_progress() {
    let echo = echo();
    let serve = ["proxy", "--serve", "--listen", "127.0.0.1:0", "--allow", &echo];
    let mut far = Service::spawn(&serve, Some("short"));
    let mut typed = String::new();
    far.lines.read_line(&mut typed).expect("it is text");
    assert!(!typed.contains("short"), "a given secret is never printed: {typed}");
    let words: Vec<&str> = typed.split_whitespace().collect();
    let forward = format!("127.0.0.1:0={echo}");
    let near = ["proxy", words[2], "--fingerprint", words[4], "--forward", &forward];
    let mut ends = Service::start(&near, Some("short"));
    let entrance = ends.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    assert!(answers(&entrance));
    let guess = Command::new(PROGRAM).args(near).env("PLAIT_SECRET", "guess").output().expect("it starts");
    assert!(!guess.status.success());
    (0..3).for_each(|_| drop(ends.event("progress")));
    ends.end();
    far.end();
    let mut log = String::new();
    far.errors.read_to_string(&mut log).expect("it is text");
    let lines: Vec<&str> = log.lines().collect();
    for line in &lines {
        assert!(line.split(' ').next().is_some_and(is_time), "{line}");
    }
    let report = |words: &str| lines.iter().filter(|line| line.contains(words)).count();
    assert_eq!(report("the secret is short and can be guessed"), 1, "{log}");
    assert_eq!(report("127.0.0.1:"), lines.len() - 1, "every other line names an address: {log}");
    assert_eq!(
        (report(" has connected"), report(": connected"), report(" is gone: it has ended")),
        (1, 1, 1),
        "{log}"
    );
    assert_eq!(report("rejected: the secret is wrong"), 1, "{log}");
    assert_eq!(lines.len(), 5, "{log}");
}

/// Connections end if they are idle, or if the client is gone and the target does not read.
#[test]
fn connections_on_which_nothing_moves_are_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let target = listener.local_addr().expect("it has one").to_string();
    let serve = ["proxy", "--serve", "--listen", "127.0.0.1:0", "--allow", &target, "--idle", "1s"];
    let mut far = Service::start(&serve, Some("a long secret of both"));
    let (address, fingerprint) = (far.word("address"), far.word("fingerprint"));
    let forward = format!("127.0.0.1:0={target}");
    let options = ["proxy", &address, "--fingerprint", &fingerprint, "--forward", &forward, "--idle", "3s"];
    let mut near = Service::start(&options, Some("a long secret of both"));
    let entrance = near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    let quiet = connect(&entrance);
    let (mut server, _) = listener.accept().expect("it is connected to");
    server.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    assert_eq!(far.event("idle")["target"], target.as_str());
    let seen = server.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(seen, Err(std::io::ErrorKind::ConnectionReset));
    drop(quiet);
    // The data fills all buffers, and the client is gone before the target reads it.
    let client = connect(&entrance);
    let (server, _) = listener.accept().expect("it is connected to");
    client.set_write_timeout(Some(Duration::from_millis(300))).expect("it can be set");
    while (&client).write(&[7; 65_536]).is_ok() {}
    drop(client);
    far.event("idle");
    drop(server);
    near.end();
}
