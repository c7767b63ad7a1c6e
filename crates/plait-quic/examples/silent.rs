//! The cost of silent clients for a transfer.
//!
//! ```text
//! cargo build --release -p plait-quic
//! cargo run --release -p plait-quic --example silent -- target/release/plait-quic 100 5 50 1000
//! ```
//!
//! The program receives on 127.0.0.1 and sends a file of 50 MB over two paths. It does so five
//! times in each case: alone, beside 100 clients of one address, and beside 100 clients with an
//! address each. A client finishes the QUIC handshake and stays silent. It connects again 1000 ms
//! after its connection was closed. In a network namespace the loopback interface can have a rate
//! (`tc qdisc add dev lo root tbf rate 100mbit burst 64k latency 50ms`), which the clients share.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Event, FourTuple,
};
use plait_quic::{Fingerprint, identity};
use serde_json::Value;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SECRET: &str = "the secret of this measurement";

/// A client that stays silent after its handshake.
struct Silent {
    socket: UdpSocket,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    open_at: Instant,
}

impl Silent {
    fn new(local: IpAddr) -> Result<Self, Box<dyn Error>> {
        let socket = UdpSocket::bind((local, 0))?;
        socket.set_nonblocking(true)?;
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false);
        Ok(Self { socket, endpoint, connection: None, open_at: Instant::now() })
    }

    /// Does the pending work. Returns whether a handshake finished.
    fn step(
        &mut self,
        client: &ClientConfig,
        remote: SocketAddr,
        again: Duration,
    ) -> Result<bool, Box<dyn Error>> {
        let (now, mut buffer, mut answer) = (Instant::now(), [0; 2_048], Vec::new());
        if self.connection.is_none() && now >= self.open_at {
            self.connection = Some(self.endpoint.connect(now, client.clone(), remote, "plait")?);
        }
        let local = self.socket.local_addr()?.ip();
        while let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
            let (tuple, datagram) = (FourTuple::new(from, Some(local)), BytesMut::from(&buffer[..length]));
            match (self.endpoint.handle(now, tuple, None, datagram, &mut answer), &mut self.connection) {
                (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => {
                    connection.handle_event(event);
                }
                (Some(DatagramEvent::Response(transmit)), _) => {
                    let _ = self.socket.send_to(&answer[..transmit.size], remote);
                }
                _ => {}
            }
            answer.clear();
        }
        let Some((handle, connection)) = &mut self.connection else { return Ok(false) };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let mut finished = false;
        while let Some(event) = connection.poll() {
            finished |= matches!(event, Event::Connected);
        }
        while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut answer) {
            let _ = self.socket.send_to(&answer[..transmit.size], remote);
            answer.clear();
        }
        if connection.is_drained() || connection.is_closed() {
            // A new endpoint drops noq's state of the old connection.
            self.endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false);
            (self.connection, self.open_at) = (None, now + again);
        }
        Ok(finished)
    }
}

/// Silent clients, until this is dropped.
struct Crowd {
    ended: Arc<AtomicBool>,
    handshakes: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Crowd {
    fn start(
        locals: Vec<IpAddr>,
        remote: SocketAddr,
        fingerprint: Fingerprint,
        again: Duration,
    ) -> Result<Self, Box<dyn Error>> {
        let client = ClientConfig::new(Arc::new(identity::client(fingerprint)?));
        let mut clients = locals.into_iter().map(Silent::new).collect::<Result<Vec<_>, _>>()?;
        let (ended, handshakes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, count) = (Arc::clone(&ended), Arc::clone(&handshakes));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for one in &mut clients {
                    count.fetch_add(
                        u64::from(one.step(&client, remote, again).unwrap_or(false)),
                        Ordering::Relaxed,
                    );
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Ok(Self { ended, handshakes, thread: Some(thread) })
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// A receiver process, which ends with this program.
struct Receiver(Child);

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, clients, rounds, megabytes, again] = &arguments[..] else {
        return Err("PROGRAM CLIENTS ROUNDS MEGABYTES MILLISECONDS are needed".into());
    };
    let (clients, rounds, megabytes): (u32, usize, usize) =
        (clients.parse()?, rounds.parse()?, megabytes.parse()?);
    let folder = tempfile::tempdir()?;
    let again = Duration::from_millis(again.parse()?);
    let file = folder.path().join("file");
    std::fs::write(&file, vec![7; megabytes * 1_000_000])?;
    let mut receiver = Receiver(
        Command::new(program)
            .args(["recv", "--json", "--replace", "--listen", "127.0.0.1:0", "--out"])
            .arg(folder.path().join("inbox"))
            .env("PLAIT_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()?,
    );
    let mut lines = BufReader::new(receiver.0.stdout.take().ok_or("it is piped")?);
    let mut hello = String::new();
    lines.read_line(&mut hello)?;
    std::thread::spawn(move || for _ in lines.lines() {});
    let hello: Value = serde_json::from_str(&hello)?;
    let word = |key: &str| hello[key].as_str().ok_or("it is text");
    let (remote, fingerprint): (SocketAddr, Fingerprint) =
        (word("address")?.parse()?, word("fingerprint")?.parse()?);
    let one_address = || (0..clients).map(|_| IpAddr::from([127, 0, 0, 9])).collect();
    let addresses = || {
        let address =
            |number: u32| IpAddr::from(Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 1)) + number));
        (0..clients).map(address).collect()
    };
    let mut seconds = [const { Vec::new() }; 3];
    for round in 0..rounds {
        for (kind, seconds) in seconds.iter_mut().enumerate() {
            let locals: Vec<IpAddr> = match kind {
                0 => Vec::new(),
                1 => one_address(),
                _ => addresses(),
            };
            let crowd = Crowd::start(locals, remote, fingerprint, again)?;
            // The clients take their places before the transfer begins.
            std::thread::sleep(Duration::from_secs(2));
            let before = crowd.handshakes.load(Ordering::Relaxed);
            let (took, paths) = send(program, &file, remote, fingerprint, &format!("{kind}-{round}"))?;
            let handshakes = crowd.handshakes.load(Ordering::Relaxed) - before;
            println!(
                "{} {took:.3} s, {paths} paths, {handshakes} handshakes meanwhile",
                ["alone", "one address", "an address each"][kind]
            );
            seconds.push(took);
        }
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let [alone, one, each] = seconds.each_mut().map(median);
    println!(
        "median: alone {alone:.3} s; beside {clients} clients of one address {one:.3} s ({:+.1} %), of an address each {each:.3} s ({:+.1} %)",
        100.0 * (one / alone - 1.0),
        100.0 * (each / alone - 1.0)
    );
    Ok(())
}

/// Sends the file. Returns the duration and the number of paths.
fn send(
    program: &str,
    file: &Path,
    to: SocketAddr,
    fingerprint: Fingerprint,
    name: &str,
) -> Result<(f64, usize), Box<dyn Error>> {
    let output = Command::new(program)
        .arg("send")
        .arg(file)
        .arg(to.to_string())
        .args(["--json", "--quiet", "--as", name, "--fingerprint", &fingerprint.to_string()])
        .args(["--local", "127.0.0.2", "--local", "127.0.0.3"])
        .env("PLAIT_SECRET", SECRET)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let sent: Value = serde_json::from_str(text.lines().last().unwrap_or_default())?;
    let seconds = sent["seconds"].as_f64().ok_or_else(|| format!("not sent: {text}"))?;
    let paths = sent["paths"].as_array().into_iter().flatten();
    Ok((seconds, paths.filter(|path| path["opened"].as_u64() > Some(0)).count()))
}
