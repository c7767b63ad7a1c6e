//! QUIC connections over the simulator's links: the engine `quic`.
//!
//! The ends are the simulator's, which are those of the transport crate. Their packets travel as in
//! [`crate::session`]: as datagrams in a QUIC connection per path, with TLS, over the scenario's
//! links in virtual time. So a run adds noq to the simulation of Multipath QUIC: its headers, its
//! acknowledgements and probes, and packets that it drops because they are late. Connections are
//! opened before the clock starts, over the paths' delays alone.
//!
//! ```text
//! near Endpoint ──► Carrier::carry ──► Tunnels: image, noq, TLS ──► Datagram of so many bytes ──► links
//! far Endpoint  ◄── Carried packet ◄── Tunnels: noq, TLS, image ◄── Carrier::arrived         ◄──┘
//! ```
//!
//! noq's random numbers follow from the scenario's seed, and sizes do not depend on keys, so
//! results are repeatable to the byte. `transport.handshake` is the transport's own handshake.
//! [`refusal`] names what cannot be carried: protocols other than `mpquic`; `ecn`, because noq does
//! not report the marked datagram; packets that no datagram holds. Python refuses captures too,
//! which would be encrypted.

use crate::connection::{DatagramBatch, Egress, PathConnection};
use crate::connector::endpoint_config;
use crate::error::Error;
use crate::identity::{self, Identity, NAME};
use crate::settings::{MTUS, Settings, UDP, mtu_of};
use bytes::BytesMut;
use noq_proto::{
    ClientConfig, DatagramEvent, Endpoint, EndpointConfig, FourTuple, ServerConfig, TransportConfig,
};
use plait_sched::{PathId, Time};
use plait_sim::result::Engine;
use plait_sim::scenario::{Direction, Scenario};
use plait_sim::simulation::{self, Carried, Carrier, Datagram, Images};
use plait_transport::Transmit;
use plait_transport::endpoint::Config;
use plait_transport::image::Arriving;
use plait_transport::packet::{PacketRef, SegmentEcn, quic};
use plait_transport::wire::quic::TAG_BYTES;
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time for opening a connection, in addition to its round trips.
const OPENING: Duration = Duration::from_secs(10);

/// Room for acknowledgements. Where data goes both ways, full segments carry whole
/// acknowledgements, and the simulator's links accept that.
const RIDERS: u32 = 512;

/// One datagram at a time, because each has its own place in a link's queue.
const SINGLE: Egress = Egress { path: 0, burst: NonZeroUsize::MIN };

/// Returns the part of the scenario that QUIC connections cannot carry, and the reason; `None` if
/// there is none.
pub fn refusal(scenario: &Scenario) -> Option<(String, String)> {
    mtu(scenario).err()
}

/// Returns the bytes of UDP payload that a scenario needs, or the reason why it cannot be carried.
fn mtu(scenario: &Scenario) -> Result<u16, (String, String)> {
    let Config::Mpquic(config) = simulation::transport(scenario) else {
        let found = scenario.transport.protocol.name();
        let why = "QUIC connections carry \"mpquic\" alone";
        return Err((format!("transport.protocol = {found:?}"), why.to_owned()));
    };
    if config.ecn {
        let why = "noq does not tell which datagram was marked";
        return Err(("transport.ecn = true".to_owned(), why.to_owned()));
    }
    let (needed, most) = (mtu_of(config.connection.segment_bytes) + RIDERS, *MTUS.end());
    u16::try_from(needed)
        .ok()
        .filter(|needed| *needed <= most)
        .map(|needed| needed.max(*MTUS.start()))
        .ok_or_else(|| {
            let why = format!("{needed} bytes in a UDP datagram; at most {most} are taken");
            ("transport.packet".to_owned(), why)
        })
}

/// One end of a path's connection.
#[derive(Debug)]
struct TunnelEnd {
    endpoint: Endpoint,
    connection: Option<PathConnection>,
    remote: SocketAddr,
    local: SocketAddr,
}

impl TunnelEnd {
    /// Handles a datagram, and accepts the first connection.
    fn handle(&mut self, now: Instant, datagram: &[u8]) -> Result<(), Error> {
        let tuple = FourTuple::new(self.remote, Some(self.local.ip()));
        let mut answer = Vec::new();
        match self.endpoint.handle(now, tuple, None, BytesMut::from(datagram), &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some(connection) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection =
                    Some(PathConnection::new(accepted.map_err(|error| Error::Tls(error.cause.to_string()))?));
            }
            Some(DatagramEvent::NewConnection(_) | DatagramEvent::Response(_)) | None => {}
        }
        self.work(now);
        Ok(())
    }

    fn work(&mut self, now: Instant) {
        if let Some(connection) = &mut self.connection {
            connection.work(now, &mut self.endpoint, 0);
        }
    }

    fn transmit(&mut self, now: Instant, out: &mut Vec<DatagramBatch>) {
        if let Some(connection) = &mut self.connection {
            connection.transmit(now, SINGLE, out);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(PathConnection::next_wakeup)
    }

    fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(PathConnection::is_connected)
    }
}

/// A path's connection: its near end and its far end.
#[derive(Debug)]
struct Tunnel {
    ends: [TunnelEnd; 2],
    /// Beginning of the run, as noq sees it.
    epoch: Instant,
}

impl Tunnel {
    fn instant(&self, now: Time) -> Instant {
        self.epoch + Duration::from_nanos(now.as_nanos())
    }

    fn next_wakeup(&self) -> Option<Time> {
        let due = self.ends.iter().filter_map(TunnelEnd::next_wakeup).min()?;
        Some(Time::from_nanos(due.saturating_duration_since(self.epoch).as_nanos() as u64))
    }

    /// Opens the connection, over the delays of both directions alone.
    fn open(&mut self, path: usize, delays: [Duration; 2]) -> Result<(), Error> {
        let mut now = self.epoch;
        let until = now + OPENING + 20 * (delays[0] + delays[1]);
        let mut in_flight: BTreeMap<(Instant, u64), (usize, Vec<u8>)> = BTreeMap::new();
        let (mut count, mut out) = (0, Vec::new());
        loop {
            for (end, own) in self.ends.iter_mut().enumerate() {
                own.work(now);
                own.transmit(now, &mut out);
                for batch in out.drain(..) {
                    in_flight.insert((now + delays[end], count), (1 - end, batch.bytes));
                    count += 1;
                }
            }
            if in_flight.is_empty() && self.ends.iter().all(TunnelEnd::is_connected) {
                self.epoch = now;
                return Ok(());
            }
            let arrival = in_flight.first_key_value().map(|(key, _)| key.0);
            let timer = self.ends.iter().filter_map(TunnelEnd::next_wakeup).min();
            let next = arrival.into_iter().chain(timer).min();
            now = next.filter(|next| *next <= until).ok_or(Error::Silent(OPENING.as_secs()))?.max(now);
            while let Some(first) = in_flight.first_entry()
                && first.key().0 <= now
            {
                let (end, datagram) = first.remove();
                self.ends[end].handle(now, &datagram)?;
            }
            if let Some(reason) = self.lost() {
                return Err(Error::Tls(format!("path {path}: {reason}")));
            }
        }
    }

    /// Returns the reason if the connection is lost.
    fn lost(&self) -> Option<String> {
        let lost =
            |end: &TunnelEnd| end.connection.as_ref().and_then(PathConnection::lost).map(ToString::to_string);
        self.ends.iter().find_map(lost)
    }
}

/// A QUIC connection per path of a scenario, between the ends of a simulation.
#[derive(Debug)]
pub struct Tunnels {
    tunnels: Vec<Tunnel>,
    images: Images,
    /// Datagrams in flight by number: path, direction, content, and number of additional copies.
    in_flight: BTreeMap<u64, (PathId, Direction, Vec<u8>, u32)>,
    /// Numbers of transmissions by path, direction and packet number.
    transmissions: BTreeMap<(u8, bool, u64), u64>,
    datagrams: VecDeque<Datagram>,
    packets: VecDeque<Carried>,
    count: u64,
    out: Vec<DatagramBatch>,
    failure: Option<String>,
}

impl Tunnels {
    /// Opens the connections.
    ///
    /// # Errors
    /// [`Error::Setting`] with the reason of [`refusal`]; [`Error::Tls`].
    pub fn new(scenario: &Scenario) -> Result<Self, Error> {
        let mtu = mtu(scenario).map_err(|(what, why)| Error::Setting(format!("{what}: {why}")))?;
        let identity = Identity::generate()?;
        let transport = || {
            let mut transport = Settings { mtu, ..Settings::default() }.transport();
            // A path may be dead for as long as the scenario says.
            transport.max_idle_timeout(None).initial_mtu(mtu).min_mtu(mtu);
            Arc::new(transport)
        };
        let tunnels = (0..scenario.paths.len()).map(|path| {
            let delays = [Direction::Forward, Direction::Backward]
                .map(|direction| scenario.delay(path, direction).as_nanos());
            let seed = scenario.seed.to_be_bytes();
            let mut tunnel = tunnel(path, &seed, &identity, &transport)?;
            tunnel.open(path, delays.map(Duration::from_nanos))?;
            Ok(tunnel)
        });
        Ok(Self {
            tunnels: tunnels.collect::<Result<_, Error>>()?,
            images: Images::new(scenario, [0; 2]),
            in_flight: BTreeMap::new(),
            transmissions: BTreeMap::new(),
            datagrams: VecDeque::new(),
            packets: VecDeque::new(),
            count: 0,
            out: Vec::new(),
            failure: None,
        })
    }

    /// Puts all queued datagrams of an end on a path's link.
    fn flush(&mut self, now: Time, path: PathId, direction: Direction) {
        let tunnel = &mut self.tunnels[path.index()];
        let instant = tunnel.instant(now);
        tunnel.ends[usize::from(direction == Direction::Backward)].transmit(instant, &mut self.out);
        for DatagramBatch { bytes: datagram, .. } in self.out.drain(..) {
            let (number, bytes) = (self.count, datagram.len() as u32 + UDP);
            self.count += 1;
            self.datagrams.push_back(Datagram { path, direction, number, bytes });
            self.in_flight.insert(number, (path, direction, datagram, 0));
        }
        if let Some(reason) = tunnel.lost() {
            self.failure.get_or_insert(format!("path {}: the QUIC connection is lost: {reason}", path.0));
        }
    }

    /// Takes a datagram, or one of its copies, that arrived or was lost.
    fn take(&mut self, number: u64) -> Option<(PathId, Direction, Vec<u8>)> {
        match self.in_flight.get_mut(&number)? {
            (.., 0) => self
                .in_flight
                .remove(&number)
                .map(|(path, direction, datagram, _)| (path, direction, datagram)),
            (path, direction, datagram, copies) => {
                *copies -= 1;
                Some((*path, *direction, datagram.clone()))
            }
        }
    }

    /// Reads the packets that arrived at the end of a path.
    fn read(&mut self, path: PathId, direction: Direction) {
        let far = usize::from(direction == Direction::Forward);
        let Some(connection) = &mut self.tunnels[path.index()].ends[far].connection else { return };
        while let Some(datagram) = connection.receive() {
            // The image has room for the tag, though nothing is protected here.
            let bytes = &[&datagram[..], &[0; TAG_BYTES]].concat();
            let arriving = Arriving { path, ecn: SegmentEcn::default(), bytes };
            let (packets, transmissions) = (&mut self.packets, &mut self.transmissions);
            let read = self.images.decode(direction, &arriving, |packet| {
                let number = stream_number(packet.by_ref());
                let transmission = number.and_then(|number| {
                    transmissions.remove(&(path.0, direction == Direction::Forward, number))
                });
                packets.push_back(Carried {
                    path,
                    direction,
                    packet: *packet,
                    transmission: transmission.unwrap_or(0),
                });
            });
            if let Err(error) = read {
                self.failure.get_or_insert(format!("path {}: {error}", path.0));
            }
        }
    }
}

/// Returns the number of a packet, if it carries data.
fn stream_number(packet: PacketRef<'_>) -> Option<u64> {
    match packet {
        PacketRef::Quic(quic::Packet::OneRtt(packet)) if packet.stream.is_some() => Some(packet.number),
        _ => None,
    }
}

impl Carrier for Tunnels {
    const ENGINE: Engine = Engine::Quic;

    fn carry(&mut self, now: Time, direction: Direction, transmit: &Transmit<'_>) {
        let path = transmit.path;
        if let Some(number) = stream_number(transmit.packet) {
            self.transmissions
                .insert((path.0, direction == Direction::Forward, number), transmit.transmission);
        }
        let mut bytes = Vec::new();
        self.images.encode(direction, transmit, &mut bytes);
        bytes.truncate(bytes.len() - TAG_BYTES);
        let tunnel = &mut self.tunnels[path.index()];
        let instant = tunnel.instant(now);
        if let Some(connection) = &mut tunnel.ends[usize::from(direction == Direction::Backward)].connection {
            connection.send(instant, bytes.into(), SINGLE, &mut self.out);
            if connection.oversized() > 0 {
                self.failure.get_or_insert(format!("path {}: a packet is too large for a datagram", path.0));
            }
        }
        self.flush(now, path, direction);
    }

    fn arrived(&mut self, now: Time, number: u64) {
        let Some((path, direction, datagram)) = self.take(number) else { return };
        let tunnel = &mut self.tunnels[path.index()];
        let instant = tunnel.instant(now);
        if let Err(error) =
            tunnel.ends[usize::from(direction == Direction::Forward)].handle(instant, &datagram)
        {
            self.failure.get_or_insert(error.to_string());
        }
        self.read(path, direction);
        self.flush(
            now,
            path,
            if direction == Direction::Forward { Direction::Backward } else { Direction::Forward },
        );
    }

    fn copied(&mut self, number: u64) {
        if let Some((.., copies)) = self.in_flight.get_mut(&number) {
            *copies += 1;
        }
    }

    fn gone(&mut self, number: u64) {
        self.take(number);
    }

    fn handle_timeout(&mut self, now: Time) {
        for path in 0..self.tunnels.len() {
            let tunnel = &mut self.tunnels[path];
            let instant = tunnel.instant(now);
            tunnel.ends.iter_mut().for_each(|end| end.work(instant));
            for direction in [Direction::Forward, Direction::Backward] {
                self.flush(now, PathId(path as u8), direction);
            }
        }
    }

    fn next_wakeup(&mut self) -> Option<Time> {
        self.tunnels.iter().filter_map(Tunnel::next_wakeup).min()
    }

    fn next_datagram(&mut self) -> Option<Datagram> {
        self.datagrams.pop_front()
    }

    fn next_packet(&mut self) -> Option<Carried> {
        self.packets.pop_front()
    }

    fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
}

/// Creates a path's connection, which is not open yet.
#[expect(clippy::disallowed_methods, reason = "noq counts from some moment; which one has no effect")]
fn tunnel(
    path: usize,
    seed: &[u8],
    identity: &Identity,
    transport: &dyn Fn() -> Arc<TransportConfig>,
) -> Result<Tunnel, Error> {
    let address = |end: u8| SocketAddr::new(Ipv4Addr::new(10, end, 0, path as u8 + 1).into(), 4_433);
    let config = |end: usize| -> EndpointConfig {
        let mut bytes = [0; 32];
        bytes[..seed.len()].copy_from_slice(seed);
        endpoint_config(&Settings { seed: Some(bytes), ..Settings::default() }, (2 * path + end) as u8)
    };
    let mut server = ServerConfig::with_crypto(Arc::new(identity.server()?));
    server.transport_config(transport());
    let mut client = ClientConfig::new(Arc::new(identity::client(identity.fingerprint())?));
    client.transport_config(transport());
    let end = |number: usize, server: Option<Arc<ServerConfig>>| TunnelEnd {
        endpoint: Endpoint::new(Arc::new(config(number)), server, false),
        connection: None,
        remote: address(1 - number as u8),
        local: address(number as u8),
    };
    let epoch = Instant::now();
    let mut near = end(0, None);
    let connected = near.endpoint.connect(epoch, client, near.remote, NAME);
    near.connection = Some(PathConnection::new(connected.map_err(|error| Error::Tls(error.to_string()))?));
    Ok(Tunnel { ends: [near, end(1, Some(Arc::new(server)))], epoch })
}
