//! Carriers: a carrier stands between the ends and the links. It takes an end's packets and puts
//! its own datagrams on the paths. A carrier that is a protocol stack replaces the ends: it takes
//! the bytes that the application writes (`stack.rs`).

use super::stack::{StackEvent, StackState};
use crate::result::Engine;
use crate::scenario::Direction;
use plait_sched::{PathId, Time};
use plait_transport::Transmit;
use plait_transport::packet::Packet;

/// A carrier's datagram that is to be put on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub direction: Direction,
    /// The carrier's identifier of the datagram.
    pub number: u64,
    /// Its size on the wire, including headers.
    pub bytes: u32,
}

/// A packet that a carrier has carried to an end.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// Its path.
    pub path: PathId,
    /// Its direction.
    pub direction: Direction,
    /// Its content.
    pub packet: Packet,
    /// For data, the number of its transmission from [`Transmit`]; otherwise without meaning.
    pub transmission: u64,
}

/// Carries the packets of the scenario's own connection. Without a carrier (`()`) the links carry
/// the packets themselves, and the compiler removes all of this.
///
/// After each call, the simulation calls [`Carrier::next_datagram`] until it returns `None`, and
/// [`Carrier::next_packet`] as well.
pub trait Carrier {
    /// The engine of a run with this carrier.
    const ENGINE: Engine;
    /// Whether it carries packets at all.
    const CARRIES: bool = true;
    /// Whether it replaces the ends of the connection. Their packets then never leave.
    const IS_STACK: bool = false;

    /// The near end's application has written this number of bytes since the start; `u64::MAX` if
    /// it writes endlessly. Called for stacks alone.
    fn write(&mut self, _now: Time, _written_bytes: u64) {}

    /// Returns the next event of a stack's ends. The simulation asks after each call.
    fn next_event(&mut self) -> Option<StackEvent> {
        None
    }

    /// Returns the present state of a stack's near end; `None` if it is not a stack.
    fn state(&mut self, _now: Time) -> Option<StackState> {
        None
    }

    /// Takes a packet that an end sends.
    fn carry(&mut self, _now: Time, _way: Direction, _transmit: &Transmit<'_>) {}

    /// A datagram has reached the end of its path.
    fn arrived(&mut self, _now: Time, _number: u64) {}

    /// A link made a copy of a datagram: one more datagram of this number arrives, or is gone.
    fn copied(&mut self, _number: u64) {}

    /// A datagram that was put on a path, or copied there, will not arrive.
    fn gone(&mut self, _number: u64) {}

    /// Called at the time of [`Carrier::next_wakeup`].
    fn handle_timeout(&mut self, _now: Time) {}

    /// The time of the next call of [`Carrier::handle_timeout`].
    fn next_wakeup(&mut self) -> Option<Time> {
        None
    }

    /// Returns the next datagram that is to be put on a path now.
    fn next_datagram(&mut self) -> Option<Datagram> {
        None
    }

    /// Returns the next packet that has reached an end.
    fn next_packet(&mut self) -> Option<Carried> {
        None
    }

    /// The reason why it cannot continue, which ends the run.
    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Carries no packets.
impl Carrier for () {
    const ENGINE: Engine = Engine::Simulator;
    const CARRIES: bool = false;
}

impl<C: Carrier> Carrier for &mut C {
    const ENGINE: Engine = C::ENGINE;
    const CARRIES: bool = C::CARRIES;
    const IS_STACK: bool = C::IS_STACK;

    fn write(&mut self, now: Time, written_bytes: u64) {
        (**self).write(now, written_bytes);
    }

    fn next_event(&mut self) -> Option<StackEvent> {
        (**self).next_event()
    }

    fn state(&mut self, now: Time) -> Option<StackState> {
        (**self).state(now)
    }

    fn carry(&mut self, now: Time, direction: Direction, transmit: &Transmit<'_>) {
        (**self).carry(now, direction, transmit);
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
