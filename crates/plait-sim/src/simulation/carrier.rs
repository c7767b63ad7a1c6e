//! What stands between the ends and the links: a carrier takes an end's packets and puts datagrams of its own on the paths.

use crate::result::Engine;
use crate::scenario::Way;
use plait_sched::{PathId, Time};
use plait_transport::Transmit;
use plait_transport::packet::Packet;

/// A carrier's datagram, to be put on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub way: Way,
    /// The carrier's name for it.
    pub number: u64,
    /// Its size on the wire, headers included.
    pub bytes: u32,
}

/// A packet that a carrier has carried to an end.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub way: Way,
    /// What it says.
    pub packet: Packet,
    /// Of data the number of its transmission, as it was in [`Transmit`]; of anything else without meaning.
    pub transmission: u64,
}

/// Carries the packets of the scenario's own connection. Without one (`()`) the packets themselves are on the links, and the compiler leaves
/// all of this out.
///
/// After each call [`Carrier::next_datagram`] is asked until there is none, and so is [`Carrier::next_packet`].
pub trait Carrier {
    /// Which engine a run with it is.
    const ENGINE: Engine;
    /// Whether it carries at all.
    const CARRIES: bool = true;

    /// An end sends a packet.
    fn carry(&mut self, _now: Time, _way: Way, _transmit: &Transmit<'_>) {}

    /// A datagram has come to the end of its path.
    fn arrived(&mut self, _now: Time, _number: u64) {}

    /// A link made a copy of a datagram: one more of it arrives, or is gone.
    fn copied(&mut self, _number: u64) {}

    /// A datagram that was put on a path, or copied there, will not arrive.
    fn gone(&mut self, _number: u64) {}

    /// [`Carrier::next_wakeup`] has come.
    fn handle_timeout(&mut self, _now: Time) {}

    /// When [`Carrier::handle_timeout`] must be called next.
    fn next_wakeup(&mut self) -> Option<Time> {
        None
    }

    /// What is to be put on a path now.
    fn next_datagram(&mut self) -> Option<Datagram> {
        None
    }

    /// A packet that has come to an end.
    fn next_packet(&mut self) -> Option<Carried> {
        None
    }

    /// Why it cannot go on; that ends the run.
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Carries nothing.
impl Carrier for () {
    const ENGINE: Engine = Engine::Simulator;
    const CARRIES: bool = false;
}

impl<C: Carrier> Carrier for &mut C {
    const ENGINE: Engine = C::ENGINE;
    const CARRIES: bool = C::CARRIES;

    fn carry(&mut self, now: Time, way: Way, transmit: &Transmit<'_>) {
        (**self).carry(now, way, transmit);
    }

    fn arrived(&mut self, now: Time, number: u64) {
        (**self).arrived(now, number);
    }

    fn copied(&mut self, number: u64) {
        (**self).copied(number);
    }

    fn gone(&mut self, number: u64) {
        (**self).gone(number);
    }

    fn handle_timeout(&mut self, now: Time) {
        (**self).handle_timeout(now);
    }

    fn next_wakeup(&mut self) -> Option<Time> {
        (**self).next_wakeup()
    }

    fn next_datagram(&mut self) -> Option<Datagram> {
        (**self).next_datagram()
    }

    fn next_packet(&mut self) -> Option<Carried> {
        (**self).next_packet()
    }

    fn failure(&self) -> Option<&str> {
        (**self).failure()
    }
}
