//! UDP at the far end: a socket for each flow, which only receives from its target.

use super::datagrams::{IDLE, LONGEST, LOOK, Port, ROUNDS};
use super::rate::Rate;
use super::target::Scope;
use crate::clients::Guest;
use crate::files::own_addresses;
use crate::streams::far::Id;
use crate::streams::{Far, Reason, Streams};
use bytes::Bytes;
use mio::Registry;
use plait_sched::Scheduler;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

/// Largest number of datagrams that are buffered while the target's address is looked up.
const MOST_EARLY: usize = 64;

#[derive(Debug)]
struct Outlet {
    peer: Id,
    flow: u32,
    from: Guest,
    target: String,
    scope: Scope,
    /// The socket, once the address is known.
    port: Option<Port>,
    early: Vec<Bytes>,
    used: Instant,
}

/// The client and target of a connected flow, or the flow that cannot be connected and the reason.
type Connected<'a> = Result<(&'a Guest, &'a str), (Id, u32, Reason)>;

/// All flows of all peers.
#[derive(Debug)]
pub(super) struct Outlets {
    outlets: BTreeMap<usize, Outlet>,
    by_flow: BTreeMap<(Id, u32), usize>,
    looked: Option<Instant>,
    buffer: Vec<u8>,
}

impl Outlets {
    pub(super) fn new() -> Self {
        let (outlets, by_flow) = Default::default();
        Self { outlets, by_flow, looked: None, buffer: vec![0; LONGEST] }
    }

    /// Opens a flow of a peer. `token` identifies the lookup of its target.
    pub(super) fn open(
        &mut self,
        moment: Instant,
        token: usize,
        ((peer, flow), from): ((Id, u32), Guest),
        target: String,
        scope: Scope,
    ) {
        self.by_flow.insert((peer, flow), token);
        let (port, early) = (None, Vec::new());
        self.outlets.insert(token, Outlet { peer, flow, from, target, scope, port, early, used: moment });
    }

    /// Connects a flow after the lookup of its target. Returns `None` if no flow has this token.
    pub(super) fn connect(
        &mut self,
        registry: &Registry,
        token: usize,
        addresses: &[SocketAddr],
    ) -> Option<Connected<'_>> {
        let outlet = self.outlets.get_mut(&token)?;
        let own = own_addresses();
        let mut admitted =
            addresses.iter().filter(|address| outlet.scope.admits(address.ip(), &own)).peekable();
        let failure = match (addresses.is_empty(), admitted.peek()) {
            (true, _) => Reason::Unresolved,
            (false, None) => Reason::Denied,
            (false, Some(_)) => Reason::Unreachable,
        };
        outlet.port = admitted.find_map(|address| Port::connect(registry, *address, token).ok());
        let Some(port) = &outlet.port else { return Some(Err((outlet.peer, outlet.flow, failure))) };
        outlet.early.drain(..).for_each(|bytes| port.send(&bytes, None));
        Some(Ok((&outlet.from, &outlet.target)))
    }

    /// Removes a flow. Returns its client and its target.
    pub(super) fn forget(&mut self, peer: Id, flow: u32) -> Option<(Guest, String)> {
        let token = self.by_flow.remove(&(peer, flow))?;
        self.outlets.remove(&token).map(|outlet| (outlet.from, outlet.target))
    }

    pub(super) fn forget_peer(&mut self, id: &Id) {
        let theirs = self.by_flow.range((*id, 0)..=(*id, u32::MAX)).map(|(key, _)| *key);
        for (peer, flow) in theirs.collect::<Vec<_>>() {
            self.forget(peer, flow);
        }
    }

    /// Marks a flow's socket as readable.
    pub(super) fn wake(&mut self, token: usize) {
        if let Some(port) = self.outlets.get_mut(&token).and_then(|outlet| outlet.port.as_mut()) {
            port.readable = true;
        }
    }

    /// Whether a socket may have more datagrams to read.
    pub(super) fn has_more(&self) -> bool {
        self.outlets.values().any(|outlet| outlet.port.as_ref().is_some_and(|port| port.readable))
    }

    /// Returns the number of flows of a peer.
    pub(super) fn count(&self, id: &Id) -> usize {
        self.by_flow.range((*id, 0)..=(*id, u32::MAX)).count()
    }

    /// Carries datagrams in both directions and removes idle flows. Datagrams beyond their client's
    /// rate are dropped.
    pub(super) fn carry<W: Scheduler>(
        &mut self,
        moment: Instant,
        far: &mut Far<W>,
        rates: &mut BTreeMap<usize, Rate>,
    ) {
        let mut passes = |from: &Guest, bytes: usize| {
            rates.get_mut(&from.number).is_none_or(|rate| rate.pass(moment, bytes))
        };
        for id in far.ids() {
            while let Some((flow, bytes)) = far.streams(&id).and_then(Streams::receive_datagram) {
                let token = self.by_flow.get(&(id, flow));
                let Some(outlet) = token.and_then(|token| self.outlets.get_mut(token)) else { continue };
                outlet.used = moment;
                match &outlet.port {
                    _ if !passes(&outlet.from, bytes.len()) => {}
                    Some(port) => port.send(&bytes, None),
                    None if outlet.early.len() < MOST_EARLY => outlet.early.push(bytes),
                    None => {}
                }
            }
        }
        for outlet in self.outlets.values_mut() {
            let Some(port) = outlet.port.as_mut().filter(|port| port.readable) else { continue };
            for _ in 0..ROUNDS {
                let Some((count, _)) = port.receive(&mut self.buffer) else { break };
                outlet.used = moment;
                if passes(&outlet.from, count) {
                    far.send_datagram(moment, &outlet.peer, outlet.flow, &self.buffer[..count]);
                }
            }
        }
        if self.looked.is_some_and(|at| moment.duration_since(at) < LOOK) {
            return;
        }
        self.looked = Some(moment);
        let idle = self.outlets.values().filter(|outlet| moment.duration_since(outlet.used) >= IDLE);
        for (peer, flow) in idle.map(|outlet| (outlet.peer, outlet.flow)).collect::<Vec<_>>() {
            if let Some(streams) = far.streams(&peer) {
                streams.reset(flow, Reason::Broken);
            }
            self.forget(peer, flow);
        }
    }
}
