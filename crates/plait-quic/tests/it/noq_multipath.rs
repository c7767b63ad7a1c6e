//! Behaviour of noq's multipath in virtual time: the reasons why every path is a separate QUIC
//! connection.
//!
//! These tests record defects, not guarantees. If one fails after an update, noq has repaired
//! something, and the reasons in the crate's documentation need a review.

use crate::network::links::some_moment;
use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    FourTuple, PathError, PathEvent, PathId, PathStatus, ServerConfig, StreamEvent, Transmit,
    TransportConfig,
};
use plait_quic::Identity;
use plait_quic::identity;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

const MS: Duration = Duration::from_millis(1);
/// One-way delay of each path.
const DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];
/// noq gives up a path after this time without a packet.
const IDLE: Duration = Duration::from_secs(2);

fn local(path: usize) -> SocketAddr {
    (Ipv4Addr::new(10, 0, path as u8, 1), 40_000).into()
}

fn remote() -> SocketAddr {
    (Ipv4Addr::new(10, 9, 9, 9), 4433).into()
}

/// An end: its endpoint, and its only connection once it exists.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    connected: bool,
    abandoned: Vec<PathId>,
    received: u64,
}

impl End {
    fn new(server: Option<ServerConfig>) -> Self {
        let mut config = EndpointConfig::default();
        config.rng_seed(Some([u8::from(server.is_some()); 32]));
        let endpoint = Endpoint::new(Arc::new(config), server.map(Arc::new), true);
        Self { endpoint, connection: None, connected: false, abandoned: Vec::new(), received: 0 }
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("there is one").1
    }

    fn handle(&mut self, now: Instant, tuple: FourTuple, bytes: &[u8]) {
        let mut answer = Vec::new();
        match self.endpoint.handle(now, tuple, None, BytesMut::from(bytes), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut answer, None).ok();
            }
            _ => {}
        }
    }

    fn work(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::Path(PathEvent::Abandoned { id, .. }) => self.abandoned.push(id),
                Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Readable { .. }) => {
                    let id = noq_proto::StreamId::new(noq_proto::Side::Client, Dir::Uni, 0);
                    let mut stream = connection.recv_stream(id);
                    let Ok(mut chunks) = stream.read(true) else { continue };
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        self.received += chunk.bytes.len() as u64;
                    }
                    let _ = chunks.finalize();
                }
                _ => {}
            }
        }
    }
}

/// A client that sends continuously, its server, and two paths between them that can be cut.
struct Pair {
    now: Instant,
    client: End,
    server: End,
    in_flight: BTreeMap<(Instant, u64), (bool, usize, Vec<u8>)>,
    count: u64,
    cut: [bool; 2],
    sends: bool,
}

impl Pair {
    /// Connects the two ends and opens both paths.
    fn new() -> Self {
        let identity = Identity::generate().expect("a key");
        let mut transport = TransportConfig::default();
        transport.max_concurrent_multipath_paths(4).default_path_max_idle_timeout(Some(IDLE));
        transport.default_path_keep_alive_interval(Some(IDLE / 4)).mtu_discovery_config(None);
        let transport = Arc::new(transport);
        let mut server = ServerConfig::with_crypto(Arc::new(identity.server().expect("TLS")));
        server.transport_config(transport.clone());
        let mut client = ClientConfig::new(Arc::new(identity::client(identity.fingerprint()).expect("TLS")));
        client.transport_config(transport);
        let now = some_moment();
        let mut end = End::new(None);
        end.connection = end.endpoint.connect(now, client, remote(), "plait").ok();
        let mut pair = Self {
            now,
            client: end,
            server: End::new(Some(server)),
            in_flight: BTreeMap::new(),
            count: 0,
            cut: [false; 2],
            sends: false,
        };
        pair.run(500 * MS);
        assert!(pair.client.connected && pair.server.connected);
        let tuple = FourTuple::new(remote(), Some(local(1).ip()));
        pair.client.connection().open_path(tuple, PathStatus::Available, now).expect("it opens");
        pair.run(500 * MS);
        pair.client.connection().streams().open(Dir::Uni).expect("there is one");
        pair.sends = true;
        pair
    }

    fn run(&mut self, duration: Duration) {
        let until = self.now + duration;
        while self.now < until {
            self.step();
            self.now += MS;
        }
    }

    fn step(&mut self) {
        while self.in_flight.first_key_value().is_some_and(|(key, _)| key.0 <= self.now) {
            let (_, (up, path, bytes)) = self.in_flight.pop_first().expect("it is there");
            if up {
                self.server.handle(self.now, FourTuple::new(local(path), Some(remote().ip())), &bytes);
            } else {
                self.client.handle(self.now, FourTuple::new(remote(), Some(local(path).ip())), &bytes);
            }
        }
        self.client.work(self.now);
        self.server.work(self.now);
        if self.sends {
            let id = noq_proto::StreamId::new(noq_proto::Side::Client, Dir::Uni, 0);
            while self
                .client
                .connection()
                .send_stream(id)
                .write(&[7; 10_000])
                .is_ok_and(|written| written > 0)
            {}
        }
        for up in [true, false] {
            let end = if up { &mut self.client } else { &mut self.server };
            let Some((_, connection)) = &mut end.connection else { continue };
            let mut bytes = Vec::new();
            // At most one packet per millisecond and path is 10 Mbit/s; more would only build a
            // queue.
            for _ in 0..8 {
                let Some(transmit) = connection.poll_transmit(self.now, NonZeroUsize::MIN, &mut bytes) else {
                    break;
                };
                let path = Self::path(up, &transmit);
                if !self.cut[path] {
                    self.count += 1;
                    let key = (self.now + DELAYS[path], self.count);
                    self.in_flight.insert(key, (up, path, bytes[..transmit.size].to_vec()));
                }
                bytes.clear();
            }
        }
    }

    fn path(up: bool, transmit: &Transmit) -> usize {
        let address = if up { transmit.src_ip.unwrap_or(local(0).ip()) } else { transmit.destination.ip() };
        match address {
            IpAddr::V4(ip) => ip.octets()[2].into(),
            IpAddr::V6(_) => unreachable!("all addresses have 4 bytes"),
        }
    }
}

fn second() -> PathId {
    PathId::ZERO.saturating_add(1_u8)
}

/// The measured round trip of the second path is its own forward delay plus the first path's return
/// delay.
#[test]
fn all_paths_are_acknowledged_on_the_lowest() {
    let mut pair = Pair::new();
    pair.run(Duration::from_secs(1));
    let there = pair.client.connection().path_stats(second()).expect("it is open");
    let back = pair.server.connection().path_stats(second()).expect("it is open");
    assert!(there.frame_tx.stream >= 10, "{there:?}");
    assert_eq!(back.frame_tx.path_acks + back.frame_tx.acks, 0);
    assert!(there.rtt > 45 * MS && there.rtt < 70 * MS, "it is 80 ms long: {:?}", there.rtt);
}

/// noq gives up a path on which nothing comes back.
#[test]
fn a_path_that_is_busy_in_one_direction_is_given_up() {
    let mut pair = Pair::new();
    pair.run(IDLE + Duration::from_secs(1));
    assert_eq!(pair.client.abandoned, [second()]);
}

/// Data stops until the idle timeout of the first path, although the second one works.
#[test]
fn a_dead_first_path_stops_everything() {
    let received = |dead: usize| {
        let mut pair = Pair::new();
        pair.run(500 * MS);
        pair.cut[dead] = true;
        pair.run(300 * MS);
        let before = pair.server.received;
        pair.run(Duration::from_secs(1));
        pair.server.received - before
    };
    assert_eq!(received(0), 0);
    assert!(received(1) > 500_000, "the second path is none that anything waits for");
}

#[test]
fn a_server_opens_no_paths() {
    let mut pair = Pair::new();
    let tuple = FourTuple::new(local(2), Some(remote().ip()));
    let now = pair.now;
    let opened = pair.server.connection().open_path(tuple, PathStatus::Available, now);
    assert!(matches!(opened, Err(PathError::ServerSideNotAllowed)), "{opened:?}");
}

/// A client that has refused the server's certificate has keys for two packet number spaces, and
/// sends its close in both. With room for one datagram per call, it never reaches the second space
/// and starts again.
#[test]
fn a_close_during_the_handshake_does_not_end_one_datagram_at_a_time() {
    let identity = Identity::generate().expect("a key");
    let believed = Identity::generate().expect("another key").fingerprint();
    let config = ClientConfig::new(Arc::new(identity::client(believed).expect("TLS")));
    let server_config = ServerConfig::with_crypto(Arc::new(identity.server().expect("TLS")));
    let closes = |most: usize| {
        let now = some_moment();
        let (mut client, mut server) = (End::new(None), End::new(Some(server_config.clone())));
        client.connection = client.endpoint.connect(now, config.clone(), remote(), "plait").ok();
        let most = NonZeroUsize::new(most).expect("at least one");
        let mut bytes = Vec::new();
        while let Some(transmit) = client.connection().poll_transmit(now, most, &mut bytes) {
            server.handle(now, FourTuple::new(local(0), None), &bytes[..transmit.size]);
            server.work(now);
            bytes.clear();
        }
        while let Some(transmit) = server.connection().poll_transmit(now, NonZeroUsize::MIN, &mut bytes) {
            client.handle(now, FourTuple::new(remote(), None), &bytes[..transmit.size]);
            client.work(now);
            bytes.clear();
        }
        let mut poll = || {
            bytes.clear();
            client.connection().poll_transmit(now, most, &mut bytes)
        };
        (0..100).take_while(|_| poll().is_some()).count()
    };
    assert!(closes(8) < 10);
    assert_eq!(closes(1), 100);
}
