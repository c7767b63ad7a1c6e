//! Looking at the wire: every packet of the scenario's own connection at the two ends of its paths.

use crate::scenario::Way;
use plait_sched::{PathId, Time};
use plait_transport::packet::Packet;

pub use plait_transport::Origin;

/// Which packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketId {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub way: Way,
    /// Whether it carries data. Data is numbered by itself.
    pub data: bool,
    /// Of data the number of its transmission in the connection; of anything else its number among all others. Both
    /// ascend in the order of sending.
    pub number: u64,
}

/// A packet that is seen at an end.
#[derive(Clone, Copy, Debug)]
pub struct Sighting<'a> {
    /// When.
    pub time: Time,
    /// Which one.
    pub id: PacketId,
    /// What it says.
    pub packet: &'a Packet,
    /// Its size on the wire, headers included.
    pub bytes: u32,
}

/// Sees packets. What is not looked at costs nothing: without a tap (`()`) the compiler leaves all of it out.
pub trait Tap {
    /// Whether it looks at all.
    const LOOKS: bool = true;

    /// A packet is put on the wire; a queue there may still drop it.
    fn sent(&mut self, _seen: &Sighting<'_>, _origin: Origin<'_>) {}

    /// A packet arrives; the end has not looked at it yet.
    fn arrived(&mut self, _seen: &Sighting<'_>) {}

    /// What the end is to be handed instead of an arriving packet, from a tap that carried its bytes itself.
    fn instead(&mut self, _seen: &Sighting<'_>) -> Option<Packet> {
        None
    }

    /// A link made a copy of a packet: one more of it arrives, or is gone.
    fn copied(&mut self, _id: PacketId) {}

    /// A packet that was sent, or copied, will not arrive.
    fn gone(&mut self, _id: PacketId) {}

    /// Asked now and then; true ends the run as an interruption does.
    fn gives_up(&self) -> bool {
        false
    }
}

/// Looks at nothing.
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
