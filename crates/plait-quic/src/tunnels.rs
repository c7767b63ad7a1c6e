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
//! [`refusal`] names unsupported features: protocols other than `mpquic`; `ecn`, because noq does
//! not report the marked datagram; packets that no datagram holds. Python refuses captures too,
//! which would be encrypted.

mod tunnel;

use crate::connection::DatagramBatch;
use crate::error::Error;
use crate::identity::Identity;
use crate::settings::{MTUS, Settings, UDP, mtu_of};
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
use std::sync::Arc;
use std::time::Duration;
use tunnel::{SINGLE, Tunnel};

/// Room for acknowledgements. Where data goes both ways, full segments carry whole
/// acknowledgements, and the simulator's links accept that.
const RIDERS: u32 = 512;

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
            let mut tunnel = Tunnel::new(path, &seed, &identity, &transport)?;
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
