//! Observation of the wire: every packet of the scenario's own connection, at both ends of its
//! paths.

use crate::scenario::Direction;
use plait_sched::{PathId, Time};
use plait_transport::packet::{Packet, PacketRef};

pub use plait_transport::Origin;

/// The identity of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub direction: Direction,
    /// Whether it carries data. Data packets have their own series of numbers.
    pub data: bool,
    /// For data, the number of its transmission in the connection; otherwise the number among all
    /// packets without data. Both ascend in the order of sending.
    pub number: u64,
}

/// A packet that a tap sees at an end.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// The time.
    pub time: Time,
    /// The packet's identity.
    pub id: PacketId,
    /// The packet's content.
    pub packet: PacketRef<'a>,
    /// Its size on the wire, including headers.
    pub bytes: u32,
}

/// Observes packets. Without a tap (`()`), the compiler removes all of this, so that it costs
/// nothing.
pub trait Tap {
    /// Whether it observes at all.
    const LOOKS: bool = true;

    /// A packet is put on the wire. A queue there may still drop it.
    fn sent(&mut self, _seen: &Sighting<'_>, _origin: Origin<'_>) {}

    /// A packet arrives. The end has not processed it yet.
    fn arrived(&mut self, _seen: &Sighting<'_>) {}

    /// The packet to hand to the end instead of an arriving packet, from a tap that carries bytes.
    fn instead(&mut self, _seen: &Sighting<'_>) -> Option<Packet> {
        None
    }

    /// A link made a copy of a packet: one more packet of this identity arrives, or is gone.
    fn copied(&mut self, _id: PacketId) {}

    /// A packet that was sent, or copied, will not arrive.
    fn gone(&mut self, _id: PacketId) {}

    /// Called from time to time. Returns true to interrupt the run.
    fn gives_up(&self) -> bool {
        false
    }
}

/// Observes no packets.
impl Tap for () {
    const LOOKS: bool = false;
}

impl<T: Tap> Tap for &mut T {
    const LOOKS: bool = T::LOOKS;

    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        (**self).sent(seen, origin);
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        (**self).arrived(seen);
    }

    fn instead(&mut self, seen: &Sighting<'_>) -> Option<Packet> {
        (**self).instead(seen)
    }

    fn copied(&mut self, id: PacketId) {
        (**self).copied(id);
    }

    fn gone(&mut self, id: PacketId) {
        (**self).gone(id);
    }

    fn gives_up(&self) -> bool {
        (**self).gives_up()
    }
}
