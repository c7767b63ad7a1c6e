//! TCP segments and MPTCP's options, encoded by the images of both ends. This module adds the
//! synthetic handshakes.

use super::{SyntheticPacket, ZEROS};
use crate::ip::{self, Ipv4Addresses};
use plait_sched::{PathId, Time};
use plait_sim::scenario::{Direction, Scenario};
use plait_sim::simulation::{self, Origin, PacketId, Sighting};
use plait_transport::Transmit;
use plait_transport::endpoint::{self, Side};
use plait_transport::image::Arriving;
use plait_transport::mptcp::{Agreed, Config, Image, Joins};
use plait_transport::packet::PacketRef;
use plait_transport::packet::tcp::Packet;
use plait_transport::wire::tcp;
use std::net::{IpAddr, Ipv4Addr};

/// Initial sequence numbers. The sender's is close to the wrap, which readers have to handle.
const INITIAL: [u32; 2] = [u32::MAX - 100_000, 0];

/// State of a subflow that the images of its ends do not keep.
#[derive(Clone, Debug, Default)]
struct WrittenSubflow {
    /// Next IPv4 identification per direction.
    ids: [u16; 2],
    /// Whether the sender has the answer to its SYN.
    answered: bool,
    /// A synthetic packet that has not reached the receiver yet.
    pending: Option<Vec<u8>>,
}

/// Builds the packets of a connection.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    config: Config,
    agreed: Agreed,
    /// Images of the data's sender and of its receiver.
    images: [Image; 2],
    subflows: Vec<WrittenSubflow>,
}

impl Encoder {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let endpoint::Config::Mptcp(config) = simulation::transport(scenario) else {
            unreachable!("the scenario's transport is TCP or MPTCP")
        };
        let paths = scenario.paths.len();
        let mut agreed = Agreed::made_up(&config, paths, INITIAL);
        for (index, (agreed_path, path)) in agreed.paths.iter_mut().zip(&scenario.paths).enumerate() {
            let (sender, receiver) = super::addresses(index);
            agreed_path.addresses = [sender.into(), receiver.into()];
            agreed_path.ports = [super::SENDER_PORT + index as u16, super::PORT];
            agreed_path.backup = path.backup;
        }
        let images = [Side::Client, Side::Server].map(|side| Image::new(&config, &agreed, side));
        Self { config, agreed, images, subflows: vec![WrittenSubflow::default(); paths] }
    }

    /// Appends the headers of a packet that leaves.
    pub(super) fn leave(&mut self, id: PacketId, packet: &Packet, origin: Origin<'_>, headers: &mut Vec<u8>) {
        self.put(id.path, id.direction, packet, origin, headers);
    }

    /// Updates the receiving image with a packet that arrives with `headers`.
    pub(super) fn arrive(&mut self, seen: &Sighting<'_>, headers: &[u8]) {
        let mut bytes = headers[ip::HEADER..].to_vec();
        bytes.resize(ip::total(headers) as usize - ip::HEADER, 0);
        let ecn = seen.packet.ecn().unwrap_or_default();
        let arriving = Arriving { path: seen.id.path, ecn, bytes: &bytes };
        let [sender, receiver] = &mut self.images;
        let (own, peer) = match seen.id.direction {
            Direction::Forward => (receiver, sender),
            Direction::Backward => (sender, receiver),
        };
        let read = own.decode(&arriving, peer.boundaries(), |_, _| {});
        debug_assert!(read.is_ok(), "our own packet: {read:?}");
    }

    /// Returns the packet that ends a handshake, if it is not simulated. It leaves when the answer
    /// to the SYN arrives.
    pub(super) fn confirm(&mut self, seen: &Sighting<'_>) -> Option<Vec<u8>> {
        let (PacketRef::Tcp(Packet::SynAck { .. }), path) = (seen.packet, seen.id.path) else { return None };
        let simulated = self.config.rules.joins == Joins::Confirmed || self.config.two_way;
        if std::mem::replace(&mut self.subflows[path.index()].answered, true) || simulated {
            return None;
        }
        let timestamp = self.config.clock.at_sender(seen.time);
        let headers = self.synthetic(path, Direction::Forward, &Packet::Confirm { timestamp });
        self.subflows[path.index()].pending = Some(headers.clone());
        Some(headers)
    }

    /// Takes the synthetic packet that reaches the receiver just before the next packet that
    /// arrives.
    pub(super) fn pending(&mut self, path: PathId) -> Option<Vec<u8>> {
        self.subflows[path.index()].pending.take()
    }

    /// Builds the handshakes of subflows that are open from the start.
    pub(super) fn prelude(&mut self) -> Vec<SyntheticPacket> {
        let mut packets = Vec::new();
        if self.config.handshake {
            return packets;
        }
        let sent = self.config.clock.at_sender(Time::ZERO);
        let back = self.config.clock.at_receiver(Time::ZERO);
        let window = self.config.connection.receive_window;
        let initial = self.config.initial_path;
        let others = (0..self.subflows.len() as u8).map(PathId).filter(|&path| path != initial);
        for path in std::iter::once(initial).chain(others) {
            let steps = [
                (Direction::Forward, Packet::Syn { timestamp: sent }),
                (Direction::Backward, Packet::SynAck { timestamp: back, echo: sent, window }),
                (Direction::Forward, Packet::Confirm { timestamp: sent }),
            ];
            for (direction, packet) in steps {
                let headers = self.synthetic(path, direction, &packet);
                let id = PacketId { path, direction, data: false, number: 0 };
                self.arrive(&Sighting { time: Time::ZERO, id, packet: (&packet).into(), bytes: 0 }, &headers);
                packets.push(SyntheticPacket { path, direction, headers });
            }
        }
        packets
    }

    /// Builds a packet that is not simulated.
    fn synthetic(&mut self, path: PathId, direction: Direction, packet: &Packet) -> Vec<u8> {
        let mut headers = Vec::new();
        self.put(path, direction, packet, Origin::Sender { offset: None }, &mut headers);
        headers
    }

    /// Appends a packet without its payload.
    fn put(
        &mut self,
        path: PathId,
        direction: Direction,
        packet: &Packet,
        origin: Origin<'_>,
        headers: &mut Vec<u8>,
    ) {
        let [client, server] = self.agreed.paths[path.index()].addresses.map(v4);
        let [sender, receiver] = &mut self.images;
        let (addresses, own, peer) = match direction {
            Direction::Forward => (Ipv4Addresses { from: client, to: server }, sender, receiver),
            Direction::Backward => (Ipv4Addresses { from: server, to: client }, receiver, sender),
        };
        let id = &mut self.subflows[path.index()].ids[usize::from(direction == Direction::Backward)];
        let payload = &ZEROS[..packet.data().map_or(0, |data| data.bytes as usize)];
        let transmit = Transmit { path, packet, transmission: 0, origin };
        ip::put(addresses, tcp::PROTOCOL, *id, payload.len(), headers, |out| {
            own.encode(&transmit, payload, peer.boundaries(), out);
            out.truncate(out.len() - payload.len());
        });
        *id = id.wrapping_add(1);
    }
}

/// Returns the IPv4 address; captures contain IPv4 only.
fn v4(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}
