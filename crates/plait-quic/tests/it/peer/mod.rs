//! An independent peer: noq's own endpoint with a plain driver. It reads streams and echoes their
//! data if asked to. Virtual time.

use crate::network::links::{FAST, Network, Path, SERVER, SLOW, To, address, path_to, some_moment};
use bytes::BytesMut;
use noq_proto::{
    Connection as Noq, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event as Told,
    FourTuple, PathEvent, PathId, PathStatus, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use plait_quic::connection::{DatagramBatch, ReceivedBatch};
use plait_quic::interop::{Connection, ConnectionEvent, Peer};
use plait_quic::sender::Progress;
use plait_quic::{Error, Identity, Settings, Terms, identity};
use plait_sched::{Builtin, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The application protocol of the peer (ALPN).
const PROTOCOL: &[u8] = b"a peer's own/3";

/// The peer.
struct Server {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Noq)>,
    received: BTreeMap<StreamId, Vec<u8>>,
    /// Received bytes that are not echoed yet.
    owed: Vec<u8>,
    echoes: bool,
    /// The path that the peer sets to backup.
    sets_back: Option<PathId>,
    /// The last status that the client sent for each path, by noq's path number, and the number of
    /// its changes.
    path_statuses: BTreeMap<PathId, (PathStatus, u32)>,
    delivered: Instant,
    gap: Duration,
}

impl Server {
    fn new(now: Instant, identity: &Identity, case: &Case<'_>) -> Self {
        let mut transport = TransportConfig::default();
        if case.multipath {
            transport.max_concurrent_multipath_paths(4);
        }
        transport.receive_window(VarInt::from_u32(case.window)).mtu_discovery_config(None);
        let crypto = identity.server_of(PROTOCOL).expect("TLS");
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let mut endpoint = EndpointConfig::default();
        endpoint.rng_seed(Some([9; 32]));
        Self {
            endpoint: Endpoint::new(Arc::new(endpoint), Some(Arc::new(config)), true),
            connection: None,
            received: BTreeMap::new(),
            owed: Vec::new(),
            echoes: case.echoes,
            sets_back: case.sets_back,
            path_statuses: BTreeMap::new(),
            delivered: now,
            gap: Duration::ZERO,
        }
    }

    fn handle(&mut self, now: Instant, remote: SocketAddr, bytes: &[u8]) {
        let mut answer = Vec::new();
        let tuple = FourTuple::new(remote, Some(SERVER));
        match self.endpoint.handle(now, tuple, None, BytesMut::from(bytes), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((of, connection)) = &mut self.connection
                    && *of == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                assert!(self.connection.is_none(), "one is enough");
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
                Told::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = connection.streams().accept(dir) {
                        self.received.insert(id, Vec::new());
                    }
                }
                Told::Path(PathEvent::RemoteStatus { id, status, .. }) => {
                    let path_statuses = self.path_statuses.entry(id).or_insert((PathStatus::Available, 0));
                    *path_statuses = (status, path_statuses.1 + u32::from(path_statuses.0 != status));
                }
                Told::Path(PathEvent::Established { id, .. }) if self.sets_back == Some(id) => {
                    connection.set_path_status(id, PathStatus::Backup).expect("it is open");
                }
                Told::ConnectionLost { .. } => return,
                _ => {}
            }
        }
        for (id, received) in &mut self.received {
            let mut stream = connection.recv_stream(*id);
            let Ok(mut chunks) = stream.read(true) else { continue };
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                received.extend_from_slice(&chunk.bytes);
                self.gap = self.gap.max(now.duration_since(self.delivered));
                self.delivered = now;
                if self.echoes {
                    self.owed.extend_from_slice(&chunk.bytes);
                }
            }
            let _ = chunks.finalize();
            if id.dir() == Dir::Bi
                && let Ok(written) = connection.send_stream(*id).write(&self.owed)
            {
                self.owed.drain(..written);
            }
        }
    }
}

/// A test case: the peer, the paths and the data.
pub(crate) struct Case<'a> {
    pub(crate) scheduler: &'a str,
    pub(crate) parameters: &'a [(&'a str, Value<'a>)],
    pub(crate) paths: &'a [Path],
    pub(crate) bytes: usize,
    pub(crate) terms: &'a [Terms],
    /// Whether the peer echoes all data.
    pub(crate) echoes: bool,
    /// Whether the peer supports multipath.
    pub(crate) multipath: bool,
    /// Receive window of the peer in bytes.
    pub(crate) window: u32,
    /// The path that the peer sets to backup, by noq's path number.
    pub(crate) sets_back: Option<PathId>,
    /// How long the client continues after all data has arrived.
    pub(crate) linger: Duration,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            scheduler: "lowest-rtt",
            parameters: &[],
            paths: &[FAST, SLOW],
            bytes: 2_000_000,
            terms: &[],
            echoes: false,
            multipath: true,
            window: 16 << 20,
            sets_back: None,
            linger: Duration::ZERO,
        }
    }
}

/// Results of a run.
pub(crate) struct Run {
    pub(crate) received: Vec<u8>,
    pub(crate) back: Vec<u8>,
    pub(crate) sent: Vec<u8>,
    pub(crate) duration: Duration,
    /// The longest time without in-order data at the peer, after the first data.
    pub(crate) gap: Duration,
    pub(crate) progress: Vec<Progress>,
    /// Path numbers of full packets, in the order of sending.
    pub(crate) order: Vec<usize>,
    pub(crate) trace: [u8; 32],
    /// The last status that the peer received for each path, by noq's path number, and the number
    /// of its changes.
    pub(crate) path_statuses: BTreeMap<PathId, (PathStatus, u32)>,
}

/// Makes a connection to the peer.
pub(crate) fn connection(now: Instant, identity: &Identity, case: &Case<'_>) -> Result<Connection, Error> {
    let settings = Settings { seed: Some([3; 32]), ..Settings::default() };
    let peer = Peer {
        remote: (SERVER, 4433).into(),
        name: "plait".to_owned(),
        tls: Arc::new(identity::client_of(identity.fingerprint(), PROTOCOL).expect("TLS")),
        locals: (0..case.paths.len()).map(|path| address(path).ip()).collect(),
        terms: case.terms.to_vec(),
    };
    Connection::new(now, settings, peer, Builtin::new(case.scheduler, case.parameters).expect("a scheduler"))
}

/// Sends the data once all usable paths are open and the peer knows them. Runs for at most two
/// minutes of virtual time.
pub(crate) fn run(case: &Case<'_>) -> Run {
    let start = some_moment();
    let sent: Vec<u8> =
        (0..case.bytes as u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let identity = Identity::generate().expect("a key");
    let mut client = connection(start, &identity, case).expect("it can be made");
    let mut server = Server::new(start, &identity, case);
    let mut network = Network::new(start, case.paths, 1);
    let (mut now, mut stream, mut written, mut finished) = (start, None, 0, false);
    let (mut out, mut back, mut order, mut opened) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut begun, mut done_at, mut ready) = (None, None, None);
    let dark_first =
        case.paths.iter().filter(|path| path.outage.is_some_and(|[from, _]| from.is_zero())).count();
    let expected = if case.multipath { case.paths.len() - dark_first } else { 1 };
    loop {
        client.handle_timeout(now);
        while network.in_flight.first_key_value().is_some_and(|(key, _)| key.0 <= now) {
            match network.in_flight.pop_first().expect("it is there").1 {
                To::Server(piece) => server.handle(now, address(piece.path), &piece.bytes),
                To::Client(piece) => {
                    let batch = ReceivedBatch::single((SERVER, 4433).into(), None, &piece.bytes);
                    client.handle_datagrams(now, piece.path, &batch);
                }
            }
        }
        server.work(now);
        while let Some(event) = client.poll() {
            match event {
                ConnectionEvent::Opened(_) => opened += 1,
                ConnectionEvent::Readable(id) => {
                    while let Some(bytes) = client.read(id, usize::MAX) {
                        back.extend_from_slice(&bytes);
                    }
                }
                ConnectionEvent::Lost(reason) => panic!("{}: {reason}", case.scheduler),
                _ => {}
            }
        }
        if opened >= expected
            && stream.is_none()
            && now >= *ready.get_or_insert(now + Duration::from_millis(200))
        {
            stream = client.open(if case.echoes { Dir::Bi } else { Dir::Uni });
            (server.delivered, begun) = (now, Some(now));
            order.clear();
        }
        if let Some(id) = stream {
            while written < sent.len() && client.backlog() < 200_000 {
                match client.write(id, &sent[written..]) {
                    Ok(more) => written += more,
                    Err(_) => break,
                }
            }
            if written == sent.len() && !finished {
                finished = true;
                client.finish(id).expect("it is open");
            }
            client.announce((sent.len() - written) as u64);
        }
        client.transmit(now, &mut out);
        for batch in out.drain(..) {
            let each = batch.segment.unwrap_or(batch.bytes.len());
            let full = batch.bytes.chunks(each).filter(|piece| piece.len() == 1_232).count();
            order.extend(std::iter::repeat_n(batch.path, full));
            network.send(now, 2 * batch.path, &batch);
        }
        answer(now, &mut server, &mut network);
        let received = server.received.values().map(Vec::len).sum::<usize>();
        let all = received == sent.len() && (!case.echoes || back.len() == received) && finished;
        if all && done_at.is_none() {
            done_at = Some(now);
        }
        let over = done_at.is_some_and(|at| now.duration_since(at) >= case.linger);
        if over || now.duration_since(start) > Duration::from_secs(120) {
            break;
        }
        let arrival = network.in_flight.first_key_value().map(|(key, _)| key.0);
        let due = server.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout());
        now = [arrival, client.next_wakeup(), due, ready.filter(|_| stream.is_none())]
            .into_iter()
            .flatten()
            .min()
            .expect("something happens")
            .max(now);
    }
    Run {
        received: server.received.into_values().next().unwrap_or_default(),
        back,
        sent,
        duration: done_at.unwrap_or(now).duration_since(begun.unwrap_or(start)),
        gap: server.gap,
        progress: client.progress(),
        order,
        path_statuses: server.path_statuses,
        trace: sha2::Digest::finalize(network.trace).into(),
    }
}

/// Sends the peer's packets.
fn answer(now: Instant, server: &mut Server, network: &mut Network<'_>) {
    let Some((_, connection)) = &mut server.connection else { return };
    let mut bytes = Vec::new();
    while let Some(transmit) = connection.poll_transmit(now, NonZeroUsize::MIN, &mut bytes) {
        let path = path_to(transmit.destination);
        let batch = DatagramBatch {
            path,
            remote: transmit.destination,
            source: None,
            bytes: std::mem::take(&mut bytes),
            segment: transmit.segment_size,
        };
        network.send(now, 2 * path + 1, &batch);
    }
}
