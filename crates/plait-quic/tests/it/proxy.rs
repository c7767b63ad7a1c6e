//! The proxy over real sockets: two programs, an echo server, and a relay that can cut a path.

mod udp;

use crate::running::{PATIENCE, PROGRAM, Service, connect, line};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fn start(arguments: &[&str], secret: Option<&str>) -> Service {
    Service::start(&[&["proxy", "--quiet"], arguments].concat(), secret)
}

fn far(allowed: &[&str]) -> Service {
    let allowed: Vec<&str> = allowed.iter().flat_map(|one| ["--allow", one]).collect();
    start(&[&["--serve", "--listen", "127.0.0.1:0"][..], &allowed].concat(), None)
}

fn near(far: &Service, to: &str, more: &[&str]) -> Service {
    let fingerprint = far.word("fingerprint");
    let locals = ["--local", "127.0.0.2", "--local", "127.0.0.3"];
    start(&[&[to, "--fingerprint", &fingerprint][..], &locals, more].concat(), Some(&far.word("secret")))
}

/// Starts a server that echoes each connection to its end. Returns its address.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it has one");
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.expect("a connection");
            thread::spawn(move || {
                let mut other = socket.try_clone().expect("another handle");
                let _ = std::io::copy(&mut socket, &mut other);
                let _ = other.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

fn content(seed: u32, bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_add(seed << 20).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Sends data, ends the sending direction, and expects the same data back.
fn converse(mut socket: TcpStream, payload: &[u8]) {
    let mut writer = socket.try_clone().expect("another handle");
    let written = payload.to_vec();
    let writing = thread::spawn(move || {
        writer.write_all(&written).expect("it is taken");
        writer.shutdown(Shutdown::Write).expect("it ends");
    });
    let mut received = Vec::new();
    socket.read_to_end(&mut received).expect("it ends in good order");
    writing.join().expect("all was said");
    assert!(received == payload, "{} of {} bytes", received.len(), payload.len());
}

/// A relay between a near end's addresses and a far end. It counts the bytes of each address, and
/// drops the packets of a cut one.
struct Relay {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
    carried: Arc<[AtomicU64; 2]>,
}

const CUT: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

fn relay(far: SocketAddr) -> Relay {
    let front = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let (cut, carried) = (Arc::new(AtomicBool::new(false)), Arc::new([AtomicU64::new(0), AtomicU64::new(0)]));
    let relay = Relay {
        address: front.local_addr().expect("it has one"),
        cut: cut.clone(),
        carried: carried.clone(),
    };
    let mut backs: BTreeMap<SocketAddr, UdpSocket> = BTreeMap::new();
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((length, from)) = front.recv_from(&mut buffer) {
            let is_cut = from.ip() == CUT;
            if is_cut && cut.load(Ordering::Relaxed) {
                continue;
            }
            carried[usize::from(is_cut)].fetch_add(length as u64, Ordering::Relaxed);
            let back = backs.entry(from).or_insert_with(|| {
                let back = UdpSocket::bind("127.0.0.1:0").expect("a port");
                back.connect(far).expect("it is an address");
                let (reader, front, cut) = (
                    back.try_clone().expect("another handle"),
                    front.try_clone().expect("another handle"),
                    cut.clone(),
                );
                thread::spawn(move || {
                    let mut buffer = [0; 65_536];
                    while let Ok(length) = reader.recv(&mut buffer) {
                        if !(is_cut && cut.load(Ordering::Relaxed)) {
                            let _ = front.send_to(&buffer[..length], from);
                        }
                    }
                });
                back
            });
            let _ = back.send(&buffer[..length]);
        }
    });
    relay
}

#[test]
fn twenty_connections_outlive_a_path() {
    let echo = echo();
    let far = far(&[&echo.to_string()]);
    let relay = relay(far.word("address").parse().expect("it is one"));
    let forward = format!("127.0.0.1:0={echo}");
    let near = near(&far, &relay.address.to_string(), &["--forward", &forward, "--scheduler", "round-robin"]);
    let entrance = near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    converse(connect(&entrance), b"are you there?");
    let talks: Vec<_> = (0..20)
        .map(|seed| {
            let (entrance, cut) = (entrance.clone(), relay.cut.clone());
            thread::spawn(move || {
                let socket = connect(&entrance);
                let payload = content(seed, 1_000_000);
                if seed == 0 {
                    // Cuts the path while the other connections are in progress.
                    let (mut writer, mut reader) = (socket.try_clone().expect("another handle"), socket);
                    writer.write_all(&payload[..1_000]).expect("it is taken");
                    reader.read_exact(&mut [0; 1_000]).expect("it comes back");
                    cut.store(true, Ordering::Relaxed);
                    converse(reader, &payload[1_000..]);
                } else {
                    converse(socket, &payload);
                }
            })
        })
        .collect();
    for talk in talks {
        talk.join().expect("every byte came back");
    }
    let [other, cut] = [0, 1].map(|at| relay.carried[at].load(Ordering::Relaxed));
    assert!(cut > 2_000 && other > cut, "{cut} and {other} bytes");
    // The proxy continues to work.
    converse(connect(&entrance), &content(99, 100_000));
}

/// Sends a request to a SOCKS server. Returns the reply code and the connection.
fn ask(socks: &str, kind: u8, address: &[u8], port: u16) -> (u8, TcpStream) {
    let mut socket = connect(socks);
    socket.write_all(&[5, 1, 0]).expect("it is taken");
    let mut answer = [0; 2];
    socket.read_exact(&mut answer).expect("it is answered");
    assert_eq!(answer, [5, 0]);
    let request = [&[5, 1, 0, kind][..], address, &port.to_be_bytes()].concat();
    socket.write_all(&request).expect("it is taken");
    let mut answer = [0; 10];
    socket.read_exact(&mut answer).expect("it is answered");
    assert_eq!((answer[0], answer[3]), (5, 1));
    (answer[1], socket)
}

#[test]
fn socks_leads_where_it_is_allowed_and_says_why_not() {
    let echo = echo();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let allowed = [
        &*format!("127.0.0.1:{}", echo.port()),
        &format!("localhost:{}", echo.port()),
        "127.0.0.1:9",
        &closed.to_string(),
        "nowhere.invalid:80",
        "*:7",
    ];
    let far = far(&allowed);
    let near = near(&far, &far.word("address"), &["--socks", "127.0.0.1:0"]);
    let socks = near.word("socks");
    let name = |name: &str| [&[name.len() as u8], name.as_bytes()].concat();
    let (code, socket) = ask(&socks, 1, &[127, 0, 0, 1], echo.port());
    assert_eq!(code, 0);
    converse(socket, &content(1, 300_000));
    let (code, socket) = ask(&socks, 3, &name("localhost"), echo.port());
    assert_eq!(code, 0);
    converse(socket, b"by name");
    let refused = [
        (1, vec![127, 0, 0, 1], echo.port() ^ 1, 2),
        (4, [&[0; 15][..], &[1]].concat(), echo.port(), 2),
        (3, name("example.org"), 80, 2),
        // A rule for all hosts excludes this machine under any name.
        (1, vec![127, 0, 0, 1], 7, 2),
        (3, name("localhost"), 7, 2),
        (1, vec![127, 0, 0, 1], closed.port(), 5),
        (3, name("nowhere.invalid"), 80, 4),
    ];
    for (kind, address, port, expected) in refused {
        let (code, mut socket) = ask(&socks, kind, &address, port);
        assert_eq!(code, expected, "{address:?} {port}");
        assert_eq!(socket.read(&mut [0; 1]).ok(), Some(0), "and that was all");
    }
    let mut other = connect(&socks);
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is taken");
    assert!(other.read(&mut [0; 1]).is_ok_and(|count| count == 0) || other.peer_addr().is_err());
}

/// Many short connections in sequence leave nothing behind.
#[test]
fn hundreds_of_connections_one_after_the_other() {
    let echo = echo();
    let far = far(&[&echo.to_string()]);
    let near = near(&far, &far.word("address"), &["--forward", &format!("127.0.0.1:0={echo}")]);
    let entrance = near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    for seed in 0..600 {
        converse(connect(&entrance), &content(seed, 100 + seed));
    }
}

/// A reset of one end of a connection resets the other end. Other connections continue.
#[test]
fn what_is_broken_off_is_broken_off_at_the_other_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = listener.local_addr().expect("it has one");
    let far = far(&[&server.to_string()]);
    let near = near(&far, &far.word("address"), &["--forward", &format!("127.0.0.1:0={server}")]);
    let entrance = near.hello["forwards"][0]["listen"].as_str().expect("it is text").to_owned();
    let meet = || {
        let client = connect(&entrance);
        let server = listener.accept().expect("it is connected to").0;
        server.set_read_timeout(Some(PATIENCE)).expect("it can be set");
        (client, server)
    };
    let (mut stays, mut served) = meet();
    let (client, mut server) = meet();
    socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).expect("it can be set");
    drop(client);
    let seen = server.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(seen, Err(std::io::ErrorKind::ConnectionReset));
    let (mut client, server) = meet();
    socket2::SockRef::from(&server).set_linger(Some(Duration::ZERO)).expect("it can be set");
    drop(server);
    let seen = client.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(seen, Err(std::io::ErrorKind::ConnectionReset));
    stays.write_all(b"still here").expect("it is taken");
    let mut received = [0; 10];
    served.read_exact(&mut received).expect("it comes");
    assert_eq!(&received, b"still here");
}

#[test]
fn what_is_refused_says_why() {
    let far = far(&[]);
    let (address, fingerprint) = (far.word("address"), far.word("fingerprint"));
    let options = ["--fingerprint", &fingerprint, "--socks", "127.0.0.1:0"];
    let mut near = start(&[&[&*address][..], &options].concat(), Some("guessed"));
    let mut guessed = String::new();
    near.errors.read_to_string(&mut guessed).expect("it is text");
    assert!(!near.child.wait().expect("it ends").success());
    assert!(guessed.contains("the secret is wrong"), "{guessed}");
    let words = |arguments: &[&str]| {
        let output =
            Command::new(PROGRAM).args(arguments).env("PLAIT_SECRET", "told").output().expect("it starts");
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("it is text")
    };
    assert!(words(&["proxy", "host:1"]).contains("--fingerprint"));
    assert!(words(&["proxy"]).contains("HOST:PORT"));
    assert!(words(&["proxy", "--serve", "--socks", "127.0.0.1:0"]).contains("cannot be used with"));
    assert!(words(&["proxy", "--serve", "--allow", "everything"]).contains("HOST:PORT is needed"));
    assert!(
        words(&["proxy", &address, "--fingerprint", &fingerprint, "--forward", "80"])
            .contains("ADDR:PORT=HOST:PORT is needed")
    );
    assert!(words(&["proxy", "--serve", "--scheduler", "fastest"]).contains("unknown scheduler \"fastest\""));
    let sent = words(&[
        "send",
        "Cargo.toml",
        &address,
        "--fingerprint",
        &fingerprint,
        "--secret",
        &far.word("secret"),
    ]);
    assert!(sent.contains("files are taken by plait recv"), "{sent}");
}

#[test]
fn news_are_lines_of_json() {
    let echo = echo();
    let serve = ["proxy", "--serve", "--listen", "127.0.0.1:0", "--allow", &echo.to_string()];
    let mut far = Service::start(&serve, None);
    let near = near(&far, &far.word("address"), &["--socks", "127.0.0.1:0"]);
    let (code, socket) = ask(&near.word("socks"), 1, &[127, 0, 0, 1], echo.port());
    assert_eq!(code, 0);
    converse(socket, b"hello");
    assert_eq!(ask(&near.word("socks"), 1, &[127, 0, 0, 1], 1).0, 2);
    let events: Vec<String> = (0..3).map(|_| line(&mut far.lines)["event"].to_string()).collect();
    assert_eq!(events, [r#""came""#, r#""connected""#, r#""refused""#]);
    drop(near);
}
