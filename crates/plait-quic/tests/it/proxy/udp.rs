//! UDP over the proxy: datagrams of forwarded ports and of SOCKS5 relays.

use super::{content, far, near, relay};
use crate::running::{PATIENCE, Service, connect, line};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Starts an echo server. Returns its address.
fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("it has one");
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..count], from);
        }
    });
    address
}

fn client(to: &str) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(to).expect("it is an address");
    socket.set_read_timeout(Some(Duration::from_millis(500))).expect("it can be set");
    socket
}

/// Sends a datagram until its echo arrives, because datagrams may be lost.
fn converse(socket: &UdpSocket, payload: &[u8]) {
    let mut buffer = [0; 65_536];
    for _ in 0..PATIENCE.as_millis() / 500 {
        socket.send(payload).expect("it is taken");
        while let Ok(count) = socket.recv(&mut buffer) {
            if &buffer[..count] == payload {
                return;
            }
        }
    }
    panic!("{} bytes do not come back", payload.len());
}

fn port(near: &Service) -> String {
    near.hello["udp"][0]["listen"].as_str().expect("it is text").to_owned()
}

#[test]
fn datagrams_of_any_size_come_back_over_two_paths() {
    let echo = echo();
    let far = far(&[&echo.to_string()]);
    let relay = relay(far.word("address").parse().expect("it is one"));
    let udp = format!("127.0.0.1:0={echo}");
    let near = near(&far, &relay.address.to_string(), &["--udp", &udp, "--scheduler", "round-robin"]);
    assert!(near.hello["socks"].is_null(), "{}", near.hello);
    let clients = [client(&port(&near)), client(&port(&near))];
    // The second path may open after the first datagrams.
    let mut carried = [0, 0];
    for _ in 0..50 {
        for bytes in [0, 1, 8, 9, 100, 1_000, 1_103, 1_104, 1_452, 5_000, 8_972] {
            clients.iter().zip(1..).for_each(|(client, seed)| converse(client, &content(seed, bytes)));
        }
        carried = [0, 1].map(|at| relay.carried[at].load(Ordering::Relaxed));
        if carried.iter().all(|&bytes| bytes > 10_000) {
            break;
        }
    }
    assert!(carried.iter().all(|&bytes| bytes > 10_000), "{carried:?} bytes");
    // The flows continue on the remaining path.
    relay.cut.store(true, Ordering::Relaxed);
    converse(&clients[0], &content(9, 1_452));
}

#[test]
fn a_redundant_port_is_on_both_paths_and_no_answer_comes_twice() {
    let echo = echo();
    let far = far(&[&echo.to_string()]);
    let relay = relay(far.word("address").parse().expect("it is one"));
    let (udp, port_) = (format!("127.0.0.1:0={echo}"), echo.port().to_string());
    let near = near(&far, &relay.address.to_string(), &["--udp", &udp, "--redundant-port", &port_]);
    let client = client(&port(&near));
    converse(&client, b"first");
    let before = [0, 1].map(|at| relay.carried[at].load(Ordering::Relaxed));
    let (mut delivered, mut buffer) = (BTreeSet::new(), [0; 1_000]);
    for number in 0..100_u32 {
        client.send(&[&number.to_be_bytes()[..], &[7; 496]].concat()).expect("it is taken");
        if let Ok(500) = client.recv(&mut buffer) {
            assert!(delivered.insert(buffer[..4].to_vec()), "{number} comes twice");
        }
    }
    while client.recv(&mut buffer).is_ok() {
        assert!(delivered.insert(buffer[..4].to_vec()), "one comes twice");
    }
    let after = [0, 1].map(|at| relay.carried[at].load(Ordering::Relaxed));
    assert!((0..2).all(|at| after[at] - before[at] > 50 * 500), "{before:?} {after:?}");
    assert!(delivered.len() > 50, "{} come", delivered.len());
}

#[test]
fn what_is_not_allowed_is_refused() {
    let (echo, far) = (echo(), far(&["example.org:53", "*:*"]));
    let udp = format!("127.0.0.1:0={echo}");
    let mut near = near(&far, &far.word("address"), &["--udp", &udp]);
    let client = client(&port(&near));
    client.send(b"may I?").expect("it is taken");
    let refused = line(&mut near.lines);
    assert_eq!((&refused["event"], &refused["target"]), (&"refused".into(), &echo.to_string().into()));
    assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("--allow")), "{refused}");
}

/// A SOCKS5 UDP header: no fragment, IPv4.
fn header(to: SocketAddr) -> Vec<u8> {
    let SocketAddr::V4(to) = to else { panic!("{to}") };
    [&[0, 0, 0, 1], &to.ip().octets()[..], &to.port().to_be_bytes()].concat()
}

#[test]
fn a_client_of_socks_has_a_relay_as_long_as_it_is_connected() {
    let (echo, other) = (echo(), echo());
    let far = far(&["127.0.0.1:*"]);
    let near = near(&far, &far.word("address"), &["--socks", "127.0.0.1:0"]);
    let mut control = connect(&near.word("socks"));
    control.write_all(&[5, 1, 0, 5, 3, 0, 1, 0, 0, 0, 0, 0, 0]).expect("it is taken");
    let mut answer = [0; 12];
    control.read_exact(&mut answer).expect("it is answered");
    assert_eq!(answer[..6], [5, 0, 5, 0, 0, 1], "{answer:?}");
    let bound = SocketAddr::from((
        [answer[6], answer[7], answer[8], answer[9]],
        u16::from_be_bytes([answer[10], answer[11]]),
    ));
    let client = client(&bound.to_string());
    for to in [echo, other] {
        converse(&client, &[&header(to)[..], &content(1, 700)].concat());
    }
    // Other clients get no service, and fragments are dropped.
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    stranger.set_read_timeout(Some(Duration::from_millis(500))).expect("it can be set");
    stranger.send_to(&[&header(echo)[..], b"me too"].concat(), bound).expect("it is taken");
    assert!(stranger.recv(&mut [0; 100]).is_err());
    client.send(&[&[0, 0, 1], &header(echo)[3..], b"a part"].concat()).expect("it is taken");
    assert!(client.recv(&mut [0; 100]).is_err());
    drop(control);
    let gone = (0..60).any(|_| {
        let _ = client.send(&[&header(echo)[..], b"are you there?"].concat());
        client.recv(&mut [0; 100]).is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
    });
    assert!(gone, "nobody listens there any more");
}

/// The first datagram of a flow that is too large is logged with its size and the limit.
#[test]
fn datagrams_that_are_too_large_are_told_once() {
    let blast = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let target = blast.local_addr().expect("it has one");
    // Answers to a datagram are larger than the proxy carries.
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((_, from)) = blast.recv_from(&mut buffer) {
            let _ = blast.send_to(&[0; 9_001], from);
            let _ = blast.send_to(&[0; 8_972], from);
        }
    });
    let mut far = far(&[&target.to_string()]);
    let udp = format!("127.0.0.1:0={target}");
    let mut near = near(&far, &far.word("address"), &["--udp", &udp]);
    let clients = [client(&port(&near)), client(&port(&near))];
    for client in &clients {
        for bytes in [8_973, 9_500, 60_000] {
            client.send(&vec![0; bytes]).expect("it is taken");
        }
        let ask = || client.send(&[0]).and_then(|_| client.recv(&mut [0; 65_536])).ok();
        assert_eq!((0..PATIENCE.as_millis() / 500).find_map(|_| ask()), Some(8_972));
    }
    for client in &clients {
        let told = near.event("too-large");
        assert_eq!((told["bytes"].as_u64(), told["limit"].as_u64()), (Some(8_973), Some(8_972)), "{told}");
        assert_eq!(told["source"], client.local_addr().expect("it has one").to_string());
        assert_eq!(told["target"], target.to_string());
        let told = far.event("too-large");
        assert_eq!((told["bytes"].as_u64(), &told["target"]), (Some(9_001), &target.to_string().into()));
    }
    clients[0].send(&[0; 9_000]).expect("it is taken");
    let ask = || clients[0].send(&[0]).and_then(|_| clients[0].recv(&mut [0; 65_536])).ok();
    assert!((0..PATIENCE.as_millis() / 500).find_map(|_| ask()).is_some());
    for end in [&mut near, &mut far] {
        end.end();
        let mut rest = String::new();
        end.lines.read_to_string(&mut rest).expect("it is text");
        assert!(!rest.contains("too-large"), "{rest}");
    }
}
