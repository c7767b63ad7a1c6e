//! UDP at the far end: a socket for each flow, which only receives from its target.

use super::datagram_socket::{CHECK_INTERVAL, DatagramSocket, IDLE, LONGEST, MAX_RECEIVES};
use super::far_end::Watch;
use super::far_settings::FarEvent;
use super::rate_limit::RateLimit;
use super::target::Scope;
use crate::clients::ConnectedClient;
use crate::files::own_addresses;
use crate::streams::far::Id;
use crate::streams::{Far, MAX_DATAGRAM, Reason, Streams};
use bytes::Bytes;
use mio::Registry;
use plait_sched::Scheduler;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Instant;

/// Largest number of datagrams that are buffered while the target's address is looked up.
const MAX_EARLY: usize = 64;

#[derive(Debug)]
struct UdpFlow {
    peer: Id,
    flow: u32,
    from: ConnectedClient,
    target: String,
    scope: Scope,
    /// The socket, once the address is known.
    socket: Option<DatagramSocket>,
    early: Vec<Bytes>,
    used: Instant,
    /// Whether a datagram that is too large was reported.
    told: bool,
}

/// The client and target of a connected flow, or the flow that cannot be connected and the reason.
type Connected<'a> = Result<(&'a ConnectedClient, &'a str), (Id, u32, Reason)>;

/// All flows of all peers.
#[derive(Debug)]
pub(super) struct UdpFlows {
    udp_flows: BTreeMap<usize, UdpFlow>,
    by_flow: BTreeMap<(Id, u32), usize>,
    checked_at: Option<Instant>,
    buffer: Vec<u8>,
}

impl UdpFlows {
    pub(super) fn new() -> Self {
        let (udp_flows, by_flow) = Default::default();
        Self { udp_flows, by_flow, checked_at: None, buffer: vec![0; LONGEST] }
    }

    /// Opens a flow of a peer. `token` identifies the lookup of its target.
    pub(super) fn open(
        &mut self,
        moment: Instant,
        token: usize,
        ((peer, flow), from): ((Id, u32), ConnectedClient),
        target: String,
        scope: Scope,
    ) {
        self.by_flow.insert((peer, flow), token);
        let (socket, early, used, told) = (None, Vec::new(), moment, false);
        self.udp_flows.insert(token, UdpFlow { peer, flow, from, target, scope, socket, early, used, told });
    }

    /// Connects a flow after the lookup of its target. Returns `None` if no flow has this token.
    pub(super) fn connect(
        &mut self,
        registry: &Registry,
        token: usize,
        addresses: &[SocketAddr],
    ) -> Option<Connected<'_>> {
        let udp_flow = self.udp_flows.get_mut(&token)?;
        let own = own_addresses();
        let mut admitted =
            addresses.iter().filter(|address| udp_flow.scope.admits(address.ip(), &own)).peekable();
        let failure = match (addresses.is_empty(), admitted.peek()) {
            (true, _) => Reason::Unresolved,
            (false, None) => Reason::Denied,
            (false, Some(_)) => Reason::Unreachable,
        };
        udp_flow.socket =
            admitted.find_map(|address| DatagramSocket::connect(registry, *address, token).ok());
        let Some(socket) = &udp_flow.socket else {
            return Some(Err((udp_flow.peer, udp_flow.flow, failure)));
        };
        udp_flow.early.drain(..).for_each(|bytes| socket.send(&bytes, None));
        Some(Ok((&udp_flow.from, &udp_flow.target)))
    }

    /// Removes a flow. Returns its client and its target.
    pub(super) fn forget(&mut self, peer: Id, flow: u32) -> Option<(ConnectedClient, String)> {
        let token = self.by_flow.remove(&(peer, flow))?;
        self.udp_flows.remove(&token).map(|udp_flow| (udp_flow.from, udp_flow.target))
    }

    pub(super) fn forget_peer(&mut self, id: &Id) {
        let theirs = self.by_flow.range((*id, 0)..=(*id, u32::MAX)).map(|(key, _)| *key);
        for (peer, flow) in theirs.collect::<Vec<_>>() {
            self.forget(peer, flow);
        }
    }

    /// Marks a flow's socket as readable.
    pub(super) fn mark_readable(&mut self, token: usize) {
        if let Some(socket) = self.udp_flows.get_mut(&token).and_then(|udp_flow| udp_flow.socket.as_mut()) {
            socket.readable = true;
        }
    }

    /// Whether a socket may have more datagrams to read.
    pub(super) fn has_more(&self) -> bool {
        self.udp_flows.values().any(|udp_flow| udp_flow.socket.as_ref().is_some_and(|socket| socket.readable))
    }

    /// Returns the number of flows of a peer.
    pub(super) fn count(&self, id: &Id) -> usize {
        self.by_flow.range((*id, 0)..=(*id, u32::MAX)).count()
    }

    /// Carries datagrams in both directions and removes idle flows. Datagrams beyond their client's
    /// rate are dropped. Tells the first datagram of a flow that is too large.
    pub(super) fn carry<W: Scheduler>(
        &mut self,
        moment: Instant,
        far: &mut Far<W>,
        rates: &mut BTreeMap<usize, RateLimit>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let mut passes = |from: &ConnectedClient, bytes: usize| {
            rates.get_mut(&from.number).is_none_or(|rate| rate.pass(moment, bytes))
        };
        for id in far.ids() {
            while let Some((flow, bytes)) = far.streams(&id).and_then(Streams::receive_datagram) {
                let token = self.by_flow.get(&(id, flow));
                let Some(udp_flow) = token.and_then(|token| self.udp_flows.get_mut(token)) else { continue };
                udp_flow.used = moment;
                match &udp_flow.socket {
                    _ if !passes(&udp_flow.from, bytes.len()) => {}
                    Some(socket) => socket.send(&bytes, None),
                    None if udp_flow.early.len() < MAX_EARLY => udp_flow.early.push(bytes),
                    None => {}
                }
            }
        }
        for udp_flow in self.udp_flows.values_mut() {
            let Some(socket) = udp_flow.socket.as_mut().filter(|socket| socket.readable) else { continue };
            for _ in 0..MAX_RECEIVES {
                let Some((count, _)) = socket.receive(&mut self.buffer) else { break };
                udp_flow.used = moment;
                if count > MAX_DATAGRAM && !std::mem::replace(&mut udp_flow.told, true) {
                    let (from, target) = (&udp_flow.from, &*udp_flow.target);
                    watch(moment, Some(&FarEvent::TooLarge { from, target, bytes: count }))?;
                }
                if passes(&udp_flow.from, count) {
                    far.send_datagram(moment, &udp_flow.peer, udp_flow.flow, &self.buffer[..count]);
                }
            }
        }
        if self.checked_at.is_some_and(|at| moment.duration_since(at) < CHECK_INTERVAL) {
            return ControlFlow::Continue(());
        }
        self.checked_at = Some(moment);
        let idle = self.udp_flows.values().filter(|udp_flow| moment.duration_since(udp_flow.used) >= IDLE);
        for (peer, flow) in idle.map(|udp_flow| (udp_flow.peer, udp_flow.flow)).collect::<Vec<_>>() {
            if let Some(streams) = far.streams(&peer) {
                streams.reset(flow, Reason::Broken);
            }
            self.forget(peer, flow);
        }
        ControlFlow::Continue(())
    }
}
