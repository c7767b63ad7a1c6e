//! Where packets go that an end wants to send.

use crate::packet::Packet;
use crate::reassembly::Reassembly;
use plait_sched::PathId;

/// A packet for the network, lent until it is taken.
#[derive(Clone, Copy, Debug)]
pub struct Transmit<'a> {
    /// The path that carries it.
    pub path: PathId,
    /// The packet.
    pub packet: &'a Packet,
    /// For data: the number of the transmission, counted over the connection; for tracing, not for the wire.
    pub transmission: u64,
    /// What the packet does not say in memory.
    pub origin: Origin<'a>,
}

/// What the end knows that sends a packet, and that the packet does not say in memory.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// The data's sender.
    Sender {
        /// Where the payload begins in the stream, in bytes; `None` if there is none.
        offset: Option<u64>,
    },
    /// The data's receiver, with what waits there for its delivery.
    Receiver(&'a Reassembly),
}

/// Takes packets as an end sends them, in their order.
pub trait Sink {
    /// Another packet leaves.
    fn send(&mut self, transmit: &Transmit<'_>);

    /// Another packet leaves, whose segment was considered lost or is probed with. Multipath QUIC tells.
    fn send_again(&mut self, transmit: &Transmit<'_>) {
        self.send(transmit);
    }
}

/// Keeps them.
impl Sink for Vec<(PathId, Packet)> {
    fn send(&mut self, transmit: &Transmit<'_>) {
        self.push((transmit.path, *transmit.packet));
    }
}
