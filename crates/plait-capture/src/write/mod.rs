//! Writes captures of simulated runs, as the same run over real hosts would leave them. They serve
//! Wireshark, and tests that compare the observed result with the simulated one.
//!
//! A [`Capture`] is a [`Tap`]. It sees every packet of the scenario's own connection when the
//! packet leaves one end of a path and when it reaches the other. It builds the headers that a real
//! host would send, and writes them as pcapng. Competing flows are not written. The stream's bytes
//! are zeros, and checksums are computed over these. TCP packets are stored as headers only, with
//! the packet's length on the wire. SCTP packets are stored whole, since Wireshark reads nothing of
//! a truncated chunk. The same run gives the same bytes.
//!
//! # Synthetic parts
//! - Addresses, ports, keys, initial sequence numbers and identifications are constants or
//!   counters.
//! - The packet that ends TCP's handshake, if the sender does not wait for it. It leaves when the
//!   answer to the SYN has arrived, and reaches the receiver just before the packet that is the
//!   next to arrive.
//! - The whole handshake, if the scenario has none (SCTP, and TCP without `handshake`): just before
//!   time 0.
//!
//! Such packets carry the comment [`SYNTHETIC`].
//!
//! A packet in memory lacks some fields of the wire: the place of a segment in the stream, all gap
//! blocks. The tap gets them from the sending end ([`Origin`]).
//!
//! | file | content |
//! |---|---|
//! | `in_flight.rs` | headers of packets in flight |
//! | `tcp.rs`, `sctp.rs`, `../ip.rs` | headers |
//! | `file.rs` | a pcapng file, complete or absent |
//!
//! Python writes decisions as qlog (`python/plait/results/qlog.py`). `docs/capture.md` documents
//! both.

mod file;
mod in_flight;
mod sctp;
mod tcp;

use crate::ip;
use crate::write::file::{CaptureFile, Interface};
use crate::write::in_flight::InFlightHeaders;
use plait_sched::{PathId, Time};
use plait_sim::scenario::{Direction, OwnOptions, Scenario};
use plait_sim::simulation::{Origin, PacketId, Sighting, Tap};
use plait_transport::packet::PacketRef;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// The clock at the scenario's time 0, in nanoseconds since 1970.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// The receiver's port.
pub const PORT: u16 = 5_001;
/// The comment of packets that were not simulated.
pub const SYNTHETIC: &str = "synthetic: not simulated";
/// The sender's port on the first path. TCP uses the next ports for the other paths.
const SENDER_PORT: u16 = 40_000;
/// The stream's bytes, over which checksums are computed.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Interval between two packets of a handshake before time 0, in nanoseconds.
const PRELUDE_STEP: i64 = 1_000;

/// Returns the addresses of the sender and of the receiver on a path.
pub fn addresses(path: usize) -> (Ipv4Addr, Ipv4Addr) {
    let end = |host: u8| Ipv4Addr::new(10, 0, path as u8, host);
    (end(1), end(2))
}

/// An end of a path, named by its role for the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The source of the data.
    Sender,
    /// The destination of the data.
    Receiver,
}

impl Role {
    const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];

    /// Returns the side's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
        }
    }

    const fn of_departure(direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self::Sender,
            Direction::Backward => Self::Receiver,
        }
    }
}

/// Error for a file that cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteError {
    file: PathBuf,
    reason: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: cannot be written: {}", self.file.display(), self.reason)
    }
}

impl std::error::Error for WriteError {}

/// Encoder of the protocol's headers.
#[derive(Debug)]
enum Encoder {
    Tcp(Box<tcp::Encoder>),
    Sctp(sctp::Encoder),
}

impl Encoder {
    /// Creates the encoder, or returns `None` for a protocol that is not written.
    fn new(scenario: &Scenario) -> Option<Self> {
        match &scenario.transport.own {
            OwnOptions::CmtSctp(_) => Some(Self::Sctp(sctp::Encoder::new(scenario))),
            OwnOptions::Mptcp(_) => Some(Self::Tcp(Box::new(tcp::Encoder::new(scenario)))),
            _ => None,
        }
    }

    /// Adds the stored part of the payload.
    fn fill(&self, headers: &mut Vec<u8>) {
        if let Self::Sctp(_) = self {
            headers.resize(ip::total(headers) as usize, 0);
        }
    }

    /// Appends the headers of a packet that leaves to `headers`, which is empty.
    fn leave(&mut self, seen: &Sighting<'_>, origin: Origin<'_>, headers: &mut Vec<u8>) {
        match (self, seen.packet) {
            (Self::Tcp(wire), PacketRef::Tcp(packet)) => wire.leave(seen.id, packet, origin, headers),
            (Self::Sctp(wire), PacketRef::Sctp(packet)) => wire.leave(seen.id, packet, origin, headers),
            (_, packet) => unreachable!("the scenario's ends send no {packet:?}"),
        }
    }
}

/// Destination of the packets of one end of a path: the index of the file, and the number of the
/// interface in it.
type Port = (usize, u32);

/// The captures of a run in progress. [`Capture::finish`] puts the files at their places. Without
/// that call no file remains.
#[derive(Debug)]
pub struct Capture {
    encoder: Encoder,
    files: Vec<CaptureFile>,
    /// Per path, the ports of the sender and of the receiver.
    ports: Vec<[Port; 2]>,
    in_flight: InFlightHeaders,
    /// Headers of the current packet.
    headers: Vec<u8>,
    error: Option<WriteError>,
}

impl Capture {
    /// Opens the captures of a run of `scenario` with the scheduler named `scheduler`. `file_of`
    /// returns the file for an end of a path; ends with the same file share it.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn create(
        scenario: &Scenario,
        scheduler: &str,
        file_of: &dyn Fn(usize, Role) -> PathBuf,
    ) -> Result<Self, WriteError> {
        let Some(encoder) = Encoder::new(scenario) else {
            let protocol = scenario.transport.protocol.name();
            let reason =
                format!("packets of {protocol} are not written to captures (cmt-sctp, mptcp and tcp are)");
            return Err(WriteError { file: file_of(0, Role::Sender), reason });
        };
        let comment = format!("scenario {}, scheduler {scheduler}, seed {}", scenario.name, scenario.seed);
        let mut files: Vec<CaptureFile> = Vec::new();
        let mut ports = Vec::with_capacity(scenario.paths.len());
        for (index, path) in scenario.paths.iter().enumerate() {
            let mut both = [(0, 0); 2];
            for (port, role) in both.iter_mut().zip(Role::BOTH) {
                let name = file_of(index, role);
                let number = match files.iter().position(|file| file.name() == name) {
                    Some(number) => number,
                    None => {
                        files.push(CaptureFile::create(name, &comment)?);
                        files.len() - 1
                    }
                };
                let (sender, receiver) = addresses(index);
                let address = if role == Role::Sender { sender } else { receiver };
                let interface = Interface { path: &path.name, role, address };
                *port = (number, files[number].add_interface(&interface)?);
            }
            ports.push(both);
        }
        let in_flight = InFlightHeaders::new(scenario.paths.len());
        let mut capture = Self { encoder, files, ports, in_flight, headers: Vec::new(), error: None };
        capture.write_prelude();
        Ok(capture)
    }

    /// Puts the files at their places, and returns their names.
    ///
    /// # Errors
    /// If a file cannot be written, or could not be written during the run. In the latter case no
    /// file is left.
    pub fn finish(self) -> Result<Vec<PathBuf>, WriteError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let whole: Result<Vec<_>, _> = self.files.into_iter().map(CaptureFile::complete).collect();
        whole?.into_iter().map(file::Complete::keep).collect()
    }

    /// Returns the error that occurred during the run, if any.
    pub fn error(&self) -> Option<&WriteError> {
        self.error.as_ref()
    }

    /// Writes handshakes that the scenario does not simulate.
    fn write_prelude(&mut self) {
        let packets = match &mut self.encoder {
            Encoder::Tcp(encoder) => encoder.prelude(),
            Encoder::Sctp(encoder) => encoder.prelude(),
        };
        let count = packets.len() as i64;
        for (index, packet) in (0..).zip(packets) {
            let time = START_NS - (count - index) * PRELUDE_STEP;
            for role in Role::BOTH {
                self.write(time, packet.path, packet.direction, role, &packet.headers, Some(SYNTHETIC));
            }
        }
    }

    /// Writes a packet as seen by a side.
    fn write(
        &mut self,
        time: i64,
        path: PathId,
        direction: Direction,
        role: Role,
        packet: &[u8],
        comment: Option<&'static str>,
    ) {
        if self.error.is_some() {
            return;
        }
        let (file, interface) = self.ports[path.index()][usize::from(role == Role::Receiver)];
        let inbound = role != Role::of_departure(direction);
        if let Err(error) = self.files[file].write(interface, time, packet, inbound, comment) {
            self.error = Some(error);
        }
    }

    /// Writes packets of the handshake that are not simulated and that follow from a packet's
    /// arrival.
    fn answer(&mut self, seen: &Sighting<'_>) {
        let Encoder::Tcp(encoder) = &mut self.encoder else { return };
        let (path, time) = (seen.id.path, clock(seen.time));
        if seen.id.direction == Direction::Forward {
            if let Some(headers) = encoder.pending(path) {
                self.write(time, path, Direction::Forward, Role::Receiver, &headers, Some(SYNTHETIC));
            }
        } else if let Some(headers) = encoder.confirm(seen) {
            self.write(time, path, Direction::Forward, Role::Sender, &headers, Some(SYNTHETIC));
        }
    }
}

/// Converts the scenario's time into the captures' clock.
fn clock(time: Time) -> i64 {
    START_NS.saturating_add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

impl Tap for Capture {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let mut headers = std::mem::take(&mut self.headers);
        headers.clear();
        self.encoder.leave(seen, origin, &mut headers);
        self.in_flight.put(seen.id, &headers);
        self.encoder.fill(&mut headers);
        let PacketId { path, direction, .. } = seen.id;
        self.write(clock(seen.time), path, direction, Role::of_departure(direction), &headers, None);
        self.headers = headers;
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        let PacketId { path, direction, .. } = seen.id;
        let mut headers = std::mem::take(&mut self.headers);
        headers.clear();
        self.in_flight.take(seen.id, &mut headers);
        self.encoder.fill(&mut headers);
        if direction == Direction::Forward {
            self.answer(seen);
        }
        let role = if direction == Direction::Forward { Role::Receiver } else { Role::Sender };
        self.write(clock(seen.time), path, direction, role, &headers, None);
        if let Encoder::Tcp(encoder) = &mut self.encoder {
            encoder.arrive(seen, &headers);
        }
        if direction == Direction::Backward {
            self.answer(seen);
        }
        self.headers = headers;
    }

    fn copied(&mut self, id: PacketId) {
        self.in_flight.copy(id);
    }

    fn gone(&mut self, id: PacketId) {
        self.in_flight.forget(id);
    }

    fn gives_up(&self) -> bool {
        self.error.is_some()
    }
}

/// A packet that is not simulated.
#[derive(Clone, Debug)]
struct SyntheticPacket {
    path: PathId,
    direction: Direction,
    headers: Vec<u8>,
}
