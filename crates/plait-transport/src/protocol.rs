//! The interface between a protocol and an [`Endpoint`](crate::endpoint::Endpoint).
//!
//! A new protocol takes:
//!
//! - its folder, in which a struct implements `Protocol`;
//! - its packets (`packet/PROTOCOL.rs`) and their bytes (`wire/PROTOCOL`, `PROTOCOL/image.rs`);
//! - its part of a scenario (`plait-sim/src/scenario/transport/PROTOCOL.rs`: options, overhead,
//!   controllers, configuration of the ends);
//! - a line in each list of protocols: `endpoint.rs`, `packet/mod.rs`, `image.rs`, and
//!   `scenario/transport/mod.rs`.
//!
//! If the core has to know which protocol it serves, the line between them is in the wrong place.
//! Packets of a new protocol need no compact form inside links until there are many of them
//! (`plait-sim/src/simulation/flying.rs`).

use crate::core::{Core, OneWayDelays, PathConfig};
use crate::error::Error;
use crate::observer::Observer;
use crate::reassembly::Reassembly;
use crate::sink::SinkOf;
use plait_sched::{Duration, PathId, Scheduler, Time};

/// Which of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Opens the connection.
    Client,
    /// Waits for it.
    Server,
}

/// A change of a path, as its host knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathChange {
    /// Another path, behind those that there are.
    Added(PathConfig),
    /// The path is absent at the moment: its data in flight is lost, and it carries no new data
    /// while another path works.
    Gone(PathId),
    /// It may work again: it is asked at once.
    Back(PathId),
    /// Another network replaces the path: it is opened again, without a known round trip or window
    /// (RFC 9000 §9.4). Packet numbers continue.
    Renewed(PathId, PathConfig),
    /// Its host has measured this round trip, of a handshake below for example. It counts where the
    /// path has no sample: schedulers would take that for the shortest round trip.
    Measured(PathId, Duration),
    /// The path carries no more data. Packets with data from this number on never left: their data
    /// is sent elsewhere.
    Spent(PathId, u64),
}

/// The parts of a protocol outside the connection core: its sequence spaces, reading
/// acknowledgements and finding losses, when to acknowledge. The protocol owns the core, which has
/// the shared parts.
pub(crate) trait Protocol<S: Scheduler> {
    /// Its loss recovery on one path.
    type Recovery;
    /// Its packets.
    type Packet;
    /// The stream that this end sends, the queues and windows of the paths, the scheduler.
    fn core(&self) -> &Core<S, Self::Recovery>;
    /// Mutable access to the core.
    fn core_mut(&mut self) -> &mut Core<S, Self::Recovery>;
    /// Received data of the peer's stream.
    fn reassembly(&self) -> &Reassembly;
    /// Takes a packet from the network.
    fn handle_packet(&mut self, now: Time, path: PathId, packet: &Self::Packet, observer: &mut impl Observer);
    /// A timer may have run out.
    fn handle_timeout(&mut self, now: Time, observer: &mut impl Observer) -> Result<(), Error>;
    /// Sends all that there is to send now.
    fn transmit(
        &mut self,
        now: Time,
        sink: &mut impl SinkOf<Self::Packet>,
        observer: &mut impl Observer,
    ) -> Result<(), Error>;
    /// When the next timer runs out.
    fn next_wakeup(&self) -> Option<Time>;
    /// Number of accesses to the protocol's own records.
    fn looks(&self) -> u64;
    /// One-way delays, if the protocol measures them.
    fn delays(&self, _path: PathId) -> Option<OneWayDelays> {
        None
    }
    /// Paths come and go while the connection lasts; false if the protocol's do not.
    fn change_path(&mut self, _now: Time, _change: &PathChange, _observer: &mut impl Observer) -> bool {
        false
    }
    /// True if the connection continues as one of a simpler protocol.
    fn fell_back(&self) -> bool {
        false
    }
}
