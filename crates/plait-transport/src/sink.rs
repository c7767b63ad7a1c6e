//! The destination of an end's packets.

use crate::packet::{Packet, PacketRef};
use crate::reassembly::Reassembly;
use plait_sched::PathId;

/// A packet for the network, lent until it is taken. `P` is a borrowed packet, of any protocol for
/// an engine.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'a, P = PacketRef<'a>> {
    /// The path that carries it.
    pub path: PathId,
    /// The packet.
    pub packet: P,
    /// For data: the number of the transmission, counted over the connection; for tracing, not for
    /// the wire.
    pub transmission: u64,
    /// Data for the wire that the packet in memory lacks.
    pub origin: Origin<'a>,
}

/// Data of the sending end that a packet in memory lacks.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// The data's sender.
    Sender {
        /// Offset of the payload in the stream, in bytes; `None` if there is no payload.
        offset: Option<u64>,
    },
    /// The data's receiver, with its segments that wait for delivery.
    Receiver(&'a Reassembly),
}

/// Takes packets as an end sends them, in their order.
pub trait Sink {
    /// Another packet leaves.
    fn send(&mut self, transmit: &Transmit<'_>);

    /// Sends another packet for a segment that was declared lost, or as a probe. Only Multipath
    /// QUIC calls it.
    fn send_again(&mut self, transmit: &Transmit<'_>) {
        self.send(transmit);
    }
}

/// Keeps them.
impl Sink for Vec<(PathId, Packet)> {
    fn send(&mut self, transmit: &Transmit<'_>) {
        self.push((transmit.path, transmit.packet.to_packet()));
    }
}

/// Takes the packets `P` of one protocol. Every [`Sink`] does.
pub trait SinkOf<P> {
    /// Another packet leaves; see [`Sink::send`].
    fn send(&mut self, transmit: &Transmit<'_, &P>);

    /// See [`Sink::send_again`].
    fn send_again(&mut self, transmit: &Transmit<'_, &P>);
}

impl<K: Sink, P> SinkOf<P> for K
where
    for<'a> PacketRef<'a>: From<&'a P>,
{
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(&mut self, transmit: &Transmit<'_, &P>) {
        Sink::send(self, &transmit.with(transmit.packet.into()));
    }

    #[inline]
    fn send_again(&mut self, transmit: &Transmit<'_, &P>) {
        Sink::send_again(self, &transmit.with(transmit.packet.into()));
    }
}

impl<'a, P> Transmit<'a, P> {
    /// Returns the same with `packet`, in another type.
    #[inline]
    pub(crate) const fn with<Q>(&self, packet: Q) -> Transmit<'a, Q> {
        Transmit { path: self.path, packet, transmission: self.transmission, origin: self.origin }
    }
}
