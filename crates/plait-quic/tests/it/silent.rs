//! Tests with clients that connect and stay silent, in virtual time: they do not block other
//! clients.

use crate::network::links::some_moment;
use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    FourTuple, StreamEvent,
};
use plait_quic::connection::ReceivedBatch;
use plait_quic::hello::Hello;
use plait_quic::streams::Far;
use plait_quic::streams::far::PeerEvent;
use plait_quic::{
    Client as Known, Clients, Error, Fingerprint, Identity, Limits, Offer, Secret, Settings, identity,
};
use plait_sched::Builtin;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9)), 4433);

struct Client {
    address: SocketAddr,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    /// Bytes that it sends after connecting.
    payload: Option<Vec<u8>>,
    /// Number of datagrams sent.
    sent: usize,
    lost: bool,
    /// Whether the far end has answered its greeting.
    answered: bool,
}

/// A far end and its clients. Datagrams arrive at once.
struct Fixture {
    now: Instant,
    far: Far,
    fingerprint: Fingerprint,
    clients: Vec<Client>,
    events: Vec<PeerEvent>,
}

impl Fixture {
    fn new(clients: impl Into<Clients>) -> Self {
        let identity = Identity::generate().expect("a key");
        let scheduler = || Builtin::new("lowest-rtt", &[]).map_err(|error| Error::Setting(error.to_string()));
        let far = Far::new(Settings::default(), &identity, clients, scheduler).expect("an end");
        let (now, fingerprint) = (some_moment(), identity.fingerprint());
        Self { now, far, fingerprint, clients: Vec::new(), events: Vec::new() }
    }

    /// Starts a client that sends the secret for a path of a session, or nothing.
    fn begin(&mut self, address: [u8; 4], payload: Option<(u8, u8)>) {
        let config = ClientConfig::new(Arc::new(identity::client(self.fingerprint).expect("it is TLS")));
        let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false);
        let connected = endpoint.connect(self.now, config, SERVER, "plait");
        let (handle, connection) = connected.expect("it begins");
        let payload = payload.map(|(session, path)| {
            let (secret, session, offer) = (Secret::new("told"), [session; 16], Offer::STREAMS);
            Hello { secret, session, path, continues: path > 0, paths: 8, segment: 1_000, offer }.encode()
        });
        let address = SocketAddr::new(address.into(), 40_000 + self.clients.len() as u16);
        self.clients.push(Client {
            address,
            endpoint,
            handle,
            connection,
            payload,
            sent: 0,
            lost: false,
            answered: false,
        });
    }

    /// Connects a client, which sends the secret for a path of session 7, or nothing. Returns the
    /// number of its datagrams.
    fn connect(&mut self, address: [u8; 4], path: Option<u8>) -> usize {
        self.begin(address, path.map(|path| (7, path)));
        self.settle();
        // noq paces the packet that answers a Retry.
        for _ in 0..100 {
            if self.clients.last().is_some_and(|client| client.connection.is_handshaking()) {
                self.now += Duration::from_millis(1);
                self.settle();
            }
        }
        self.clients.last().map_or(0, |client| client.sent)
    }

    /// Runs this many steps of five milliseconds.
    fn wait(&mut self, steps: usize) {
        for _ in 0..steps {
            self.settle();
            self.now += Duration::from_millis(5);
        }
    }

    /// Exchanges datagrams until no end has anything to send at this moment.
    fn settle(&mut self) {
        loop {
            let mut quiet = true;
            for client in &mut self.clients {
                for datagram in client.transmit(self.now) {
                    quiet = false;
                    let local = Some(SERVER.ip());
                    self.far
                        .handle_datagrams(self.now, &ReceivedBatch::single(client.address, local, &datagram));
                }
            }
            self.far.handle_timeout(self.now);
            while let Some(event) = self.far.poll() {
                self.events.push(event);
            }
            let mut out = Vec::new();
            self.far.transmit(self.now, &mut out);
            for outgoing in out {
                let Some(client) = self.clients.iter_mut().find(|client| client.address == outgoing.remote)
                else {
                    continue;
                };
                for piece in outgoing.bytes.chunks(outgoing.segment.unwrap_or(outgoing.bytes.len()).max(1)) {
                    quiet = false;
                    client.handle(self.now, piece);
                }
            }
            if quiet {
                return;
            }
        }
    }

    /// Returns the number of answered connections.
    fn paths(&self) -> usize {
        self.clients.iter().filter(|client| client.answered && !client.lost).count()
    }
}

impl Client {
    fn handle(&mut self, now: Instant, datagram: &[u8]) {
        let (tuple, mut answer) = (FourTuple::new(SERVER, Some(self.address.ip())), Vec::new());
        let event = self.endpoint.handle(now, tuple, None, BytesMut::from(datagram), &mut answer);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.connection.handle_event(event);
        }
    }

    fn transmit(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if self.connection.poll_timeout().is_some_and(|due| due <= now) {
            self.connection.handle_timeout(now);
        }
        while let Some(event) = self.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.connection.handle_event(event);
            }
        }
        while let Some(event) = self.connection.poll() {
            self.lost |= matches!(event, Event::ConnectionLost { .. });
            self.answered |= matches!(event, Event::Stream(StreamEvent::Readable { .. }));
        }
        if !self.connection.is_handshaking()
            && let Some(payload) = self.payload.take()
        {
            let stream = self.connection.streams().open(Dir::Bi).expect("one is allowed");
            let written = self.connection.send_stream(stream).write(&payload);
            assert_eq!(written.ok(), Some(payload.len()));
        }
        let (mut datagrams, mut bytes) = (Vec::new(), Vec::new());
        while self.connection.poll_transmit(now, NonZeroUsize::MIN, &mut bytes).is_some() {
            datagrams.push(std::mem::take(&mut bytes));
        }
        self.sent += datagrams.len();
        datagrams
    }
}

/// An address may start a few handshakes at once, and then ten each second. Other addresses are not
/// affected.
#[test]
fn an_address_has_few_handshakes_without_the_secret() {
    let mut fixture = Fixture::new(Secret::new("told"));
    (0..100).for_each(|_| fixture.begin([10, 0, 0, 1], None));
    fixture.wait(10);
    let finished = |fixture: &Fixture| {
        let is_finished = |client: &&Client| !client.connection.is_handshaking() && !client.lost;
        fixture.clients.iter().filter(is_finished).count()
    };
    assert_eq!((finished(&fixture), fixture.far.connections()), (32, 32), "others are not answered");
    fixture.connect([10, 0, 0, 2], Some(0));
    assert!(matches!(fixture.events[..], [PeerEvent::Connected { .. }]), "{:?}", fixture.events);
    // A client with the secret at the same address also connects, but later.
    fixture.begin([10, 0, 0, 1], Some((7, 1)));
    fixture.wait(3_200);
    assert_eq!(fixture.paths(), 2);
}

/// Twenty near ends behind one address, with eight paths each, reconnect at the same time.
#[test]
fn near_ends_of_one_address_come_back_together() {
    let limits = Limits { at_once: 20, ..Limits::default() };
    let client = Known { name: String::new(), secret: Secret::new("told"), limits };
    let mut fixture = Fixture::new(Clients::new(vec![client]).expect("it is one"));
    (0..20).for_each(|session| fixture.begin([10, 0, 0, 1], Some((session, 0))));
    fixture.wait(10);
    assert_eq!(fixture.paths(), 20, "all at once");
    for path in 1..8 {
        (0..20).for_each(|session| fixture.begin([10, 0, 0, 1], Some((session, path))));
    }
    // A client repeats an ignored handshake after 1, 3 and 7 seconds, each with some randomness.
    fixture.wait(1_600);
    assert_eq!(fixture.paths(), 160);
}

/// A hundred addresses take all places for connections without the secret, so later ones must prove
/// their addresses. A client with the secret connects at once, and so does each of its further
/// paths.
#[test]
fn many_addresses_keep_nobody_out() {
    let mut fixture = Fixture::new(Secret::new("told"));
    let sent: Vec<usize> = (0..100).map(|last| fixture.connect([10, 0, 1, last], None)).collect();
    let open = fixture.clients.iter().filter(|client| !client.lost).count();
    assert_eq!(open, 64);
    // The first clients are accepted directly. Later ones must repeat their first packet with a
    // token (Retry).
    assert_eq!(sent[99], sent[0] + 1);
    for path in 0..8 {
        fixture.connect([10, 0, 2, path], Some(path));
        assert_eq!(fixture.paths(), usize::from(path) + 1);
    }
    // A later flood ends no path of connected clients.
    for last in 0..200 {
        fixture.connect([10, 0, 3, last], None);
    }
    assert_eq!(fixture.paths(), 8);
    // Silent connections end after ten seconds.
    fixture.now += Duration::from_secs(11);
    fixture.settle();
    fixture.settle();
    let open = fixture.clients.iter().filter(|client| !client.lost).count();
    assert!(open <= 8, "{open}");
}

/// A client opens its connection with the ID of the Retry. If another connection had the same ID,
/// it would receive the client's packets. With noq's default of 3 random bytes, 12 pairs of 20,000
/// IDs are expected to be equal.
#[test]
fn ids_of_retries_are_unique() {
    let mut fixture = Fixture::new(Secret::new("told"));
    (0..8).for_each(|last| _ = fixture.connect([10, 0, 1, last], None));
    fixture.begin([10, 0, 2, 0], None);
    let (now, client) = (fixture.now, fixture.clients.last_mut().expect("it began"));
    let initial = client.transmit(now).swap_remove(0);
    let mut ids = BTreeSet::new();
    for number in 0..20_000_u16 {
        let [high, low] = number.to_be_bytes();
        let address = SocketAddr::new([10, 1, high, low].into(), 40_000);
        fixture.far.handle_datagrams(now, &ReceivedBatch::single(address, Some(SERVER.ip()), &initial));
        let mut out = Vec::new();
        fixture.far.transmit(now, &mut out);
        let retry = out.into_iter().find(|outgoing| outgoing.remote == address).expect("an answer").bytes;
        // RFC 9000 §17.2.5: first byte, version, length and bytes of both connection IDs.
        assert_eq!(retry[0] >> 4, 0b1111, "it is no Retry");
        let source = 6 + usize::from(retry[5]);
        ids.insert(retry[source..=source + usize::from(retry[source])].to_vec());
    }
    assert_eq!(ids.len(), 20_000);
}
