//! Assigns packets to connections and flows by their addresses and ports.

use crate::error::ObservationError;
use crate::folder::OBSERVED;
use crate::packet::{CapturedPacket, Content};
use std::net::Ipv4Addr;

/// Kind of the traffic between two addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum TrafficKind {
    /// A TCP connection or a subflow.
    Connection,
    /// A connection or subflow whose data comes from the end that accepted the connection.
    Served,
    /// UDP.
    Datagrams,
}

/// Whether a packet belongs to the data of its connection or to the acknowledgements of that data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum PacketRole {
    Data,
    Acknowledgements,
}

/// The connection or flow of a packet, and its path and role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Route {
    /// 0 is the scenario's connection, the others are its flows.
    pub(crate) party: usize,
    /// The party's path.
    pub(crate) path: usize,
    /// Index of the capture in which the party's data leaves: 0 is the sender's.
    pub(crate) from: usize,
    pub(crate) role: PacketRole,
}

/// Kind, the data's source and destination address, and the port. The port is the destination's, or
/// the source's if the server sends the data.
type RouteKey = (TrafficKind, Ipv4Addr, Ipv4Addr, u16);

/// All routes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    routes: Vec<(RouteKey, Route)>,
}

impl Routes {
    /// Adds a route for the data of `party` on its `path`.
    pub(crate) fn add(
        &mut self,
        kind: TrafficKind,
        (source, destination, port): (Ipv4Addr, Ipv4Addr, u16),
        party: usize,
        path: usize,
        from: usize,
    ) -> Result<(), ObservationError> {
        let key = (kind, source, destination, port);
        if self.routes.iter().any(|(other, _)| *other == key) {
            let reason = format!("{source} to {destination}, port {port}, is there twice");
            return Err(ObservationError::whole(OBSERVED, reason));
        }
        self.routes.push((key, Route { party, path, from, role: PacketRole::Data }));
        Ok(())
    }

    /// Must be called once all routes are added.
    pub(crate) fn finish(&mut self) {
        self.routes.sort_by_key(|&(key, _)| key);
    }

    /// Whether the data of any connection leaves in the capture of `side`.
    pub(crate) fn sends_from(&self, side: usize) -> bool {
        self.routes.iter().any(|((kind, ..), route)| *kind != TrafficKind::Datagrams && route.from == side)
    }

    fn get(&self, key: RouteKey) -> Option<Route> {
        let index = self.routes.binary_search_by_key(&key, |&(key, _)| key).ok()?;
        Some(self.routes[index].1)
    }

    /// Returns the route of a packet, if it belongs to the scenario.
    pub(crate) fn find(&self, packet: &CapturedPacket) -> Option<Route> {
        let CapturedPacket { source, destination, .. } = *packet;
        match packet.content {
            Content::Udp { destination_port, .. } => {
                self.get((TrafficKind::Datagrams, source, destination, destination_port))
            }
            Content::Tcp(tcp) => {
                let (from, to) = (tcp.source_port, tcp.destination_port);
                let data = self.get((TrafficKind::Connection, source, destination, to));
                let data = data.or_else(|| self.get((TrafficKind::Served, source, destination, from)));
                data.or_else(|| {
                    let route = self.get((TrafficKind::Connection, destination, source, from));
                    let route = route.or_else(|| self.get((TrafficKind::Served, destination, source, to)))?;
                    Some(Route { role: PacketRole::Acknowledgements, ..route })
                })
            }
        }
    }

    /// Whether the packet is payload of the scenario's connection between addresses that belong to
    /// no path.
    pub(crate) fn strays(&self, packet: &CapturedPacket) -> bool {
        let Content::Tcp(tcp) = packet.content else { return false };
        let own = || self.routes.iter().filter(|(_, route)| route.party == 0).map(|(key, _)| key);
        tcp.payload > 0
            && own().any(|&(_, source, ..)| source == packet.source)
            && own().any(|&(kind, _, to, port)| {
                let known = if kind == TrafficKind::Served { tcp.source_port } else { tcp.destination_port };
                to == packet.destination && port == known
            })
    }
}
