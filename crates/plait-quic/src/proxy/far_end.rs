//! The far end: its peers, their permissions, and connections to targets.

use super::connecting::Connecting;
use super::far_settings::{FarEvent, FarSettings};
use super::lookup::Lookups;
use super::pipe::{Pipe, PipeState, READ_BYTES};
use super::rate_limit::RateLimit;
use super::target::{Scope, scope};
use super::target_connection::{TargetConnection, TargetState};
use super::udp_flows::UdpFlows;
use super::{Allowed, Target, Tokens};
use crate::clients::ConnectedClient;
use crate::error::Error;
use crate::files::record::STREAMS;
use crate::files::{Listening, MAX_SLEEP, STATUS_INTERVAL, Sockets, now, own_addresses};
use crate::identity::Fingerprint;
use crate::pilot::Pilot;
use crate::streams::far::{Id, PeerEvent};
use crate::streams::{Far, Reason, StreamEvent, Streams};
use plait_sched::Scheduler;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// How long the end keeps running after a stop, so that peers hear of it.
const LINGER: Duration = Duration::from_secs(1);

/// The watcher, called in each turn and for each event. Returning `Break` ends the run.
pub(super) type Watch<'a> = dyn FnMut(Instant, Option<&FarEvent<'_>>) -> ControlFlow<()> + 'a;

/// A far end with a bound socket.
pub struct FarEnd<W> {
    secret: String,
    address: SocketAddr,
    fingerprint: Fingerprint,
    allowed: Vec<Allowed>,
    allowed_of: BTreeMap<String, Vec<Allowed>>,
    idle: Duration,
    /// Rate limits of clients, by client number.
    rates: BTreeMap<usize, RateLimit>,
    /// Tokens of connections that wait for their client's rate limit.
    limited: BTreeSet<usize>,
    /// Time of the last status report and the last check for idle connections.
    reported_at: Instant,
    far: Far<W>,
    sockets: Sockets,
    lookups: Lookups<usize>,
    connections: BTreeMap<usize, TargetConnection>,
    by_stream: BTreeMap<(Id, u32), usize>,
    udp_flows: UdpFlows,
    tokens: Tokens,
    /// Tokens of connections with pending work.
    due: BTreeSet<usize>,
    buffer: Vec<u8>,
}

impl<W: Scheduler> FarEnd<W> {
    /// Makes a certificate and binds the socket. `maker` makes a scheduler for the data to each
    /// peer.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] or [`Error::Io`] with the setting that cannot be used.
    pub fn open(
        far_settings: FarSettings,
        maker: impl FnMut() -> Result<W, Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let FarSettings { listen, allowed, allowed_of, idle, record } = far_settings;
        let settings = listen.settings;
        let Listening { sockets, address, identity, secret, clients } = listen.open()?;
        let mut far = Far::new(settings, &identity, clients, maker)?;
        if let Some(record) = record {
            far.record(record.begin(STREAMS, &settings, &[])?);
        }
        let lookups = Lookups::new(sockets.registry())?;
        Ok(Self {
            secret,
            address,
            fingerprint: identity.fingerprint(),
            allowed,
            allowed_of,
            idle,
            rates: BTreeMap::new(),
            limited: BTreeSet::new(),
            reported_at: now(),
            far,
            sockets,
            lookups,
            connections: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            udp_flows: UdpFlows::new(),
            tokens: Tokens::new(),
            due: BTreeSet::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Sets the maker of pilots. The pilot of a peer may replace its scheduler.
    pub fn set_pilots(&mut self, pilots: impl FnMut() -> Box<dyn Pilot<W>> + Send + 'static) {
        self.far.set_pilots(pilots);
    }

    /// Returns the local address of the listening socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the fingerprint of the certificate, which peers need.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the secret of near ends. It is empty if each client has its own.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Carries connections and datagrams until `watch` returns `Break`. Connections are then reset,
    /// and peers are told.
    ///
    /// # Errors
    /// Returns the system's error if waiting for the sockets fails.
    pub fn run(&mut self, watch: &mut Watch<'_>) -> Result<(), Error> {
        let (mut out, mut ended) = (Vec::new(), None::<Instant>);
        loop {
            let moment = now();
            let far = &mut self.far;
            self.sockets.receive(0, |batch| far.handle_datagrams(moment, batch));
            self.far.handle_timeout(moment);
            if ended.is_none() && (self.serve(moment, watch).is_break() || watch(moment, None).is_break()) {
                ended = Some(moment);
                self.far.stop(moment);
                std::mem::take(&mut self.connections).into_values().for_each(TargetConnection::abort);
            }
            self.far.transmit(moment, &mut out);
            self.sockets.send_all(0, &mut out);
            if ended.is_some_and(|at| moment.duration_since(at) >= LINGER || self.far.connections() == 0) {
                return Ok(());
            }
            self.mark_ready();
            let due = self.far.next_wakeup().map_or(MAX_SLEEP, |due| due.saturating_duration_since(now()));
            let is_done = self.due.is_empty() && !self.udp_flows.has_more();
            self.sockets.wait(if is_done { due.min(MAX_SLEEP) } else { Duration::ZERO })?;
        }
    }

    /// Marks the connections of streams that have new data or new room.
    fn mark_ready(&mut self) {
        for id in self.far.ids() {
            let Some(streams) = self.far.streams(&id) else { continue };
            while let Some(stream) = streams.next_ready() {
                self.due.extend(self.by_stream.get(&(id, stream)));
            }
        }
    }

    /// Serves peers, streams and connections.
    fn serve(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        for (token, ready) in self.sockets.other_events().collect::<Vec<_>>() {
            if let Some(socket) = self.connections.get_mut(&token).and_then(TargetConnection::socket) {
                socket.note(ready);
                self.due.insert(token);
            }
            self.udp_flows.mark_readable(token);
        }
        while let Some(event) = self.far.poll() {
            match event {
                PeerEvent::Connected { from, .. } => {
                    let rate = self.far.limits(&from).rate;
                    self.rates.entry(from.number).or_insert_with(|| RateLimit::new(moment, rate));
                    watch(moment, Some(&FarEvent::ClientConnected { from: &from }))?;
                }
                PeerEvent::Disconnected { status, error } => {
                    self.forget_peer(&status.id);
                    watch(moment, Some(&FarEvent::ClientDisconnected { status: &status, error: &error }))?;
                }
                PeerEvent::Rejected { remote } => watch(moment, Some(&FarEvent::Rejected { remote }))?,
                PeerEvent::Changed { from, change } => {
                    watch(moment, Some(&FarEvent::Changed { from: &from, change: &change }))?;
                }
            }
        }
        for id in self.far.ids() {
            self.handle_events(moment, &id, watch)?;
        }
        while let Some((token, addresses)) = self.lookups.next() {
            if let Some(connected) = self.udp_flows.connect(self.sockets.registry(), token, &addresses) {
                match connected {
                    Ok((from, target)) => {
                        watch(moment, Some(&FarEvent::TargetConnected { from, target, udp: true }))?;
                    }
                    Err((peer, flow, reason)) => self.refuse(moment, (peer, flow), reason, watch)?,
                }
            }
            if let Some(connection) = self.connections.get_mut(&token) {
                self.due.insert(token);
                let there = !addresses.is_empty();
                let own = own_addresses();
                let admits = |address: &SocketAddr| connection.scope.admits(address.ip(), &own);
                let admitted: Vec<SocketAddr> = addresses.into_iter().filter(admits).collect();
                if there && admitted.is_empty() {
                    let key = (connection.peer, connection.stream);
                    self.refuse(moment, key, Reason::Denied, watch)?;
                } else {
                    connection.state = TargetState::Connecting(Connecting::new(admitted));
                }
            }
        }
        self.mark_ready();
        // A connection attempt without an answer causes no event, so its timeout is checked in
        // every turn.
        let connecting = |one: &TargetConnection| matches!(one.state, TargetState::Connecting(_));
        self.due.extend(self.connections.iter().filter(|(_, one)| connecting(one)).map(|(token, _)| *token));
        self.due.append(&mut self.limited);
        let due = std::mem::take(&mut self.due);
        let mut streams: BTreeMap<usize, usize> = BTreeMap::new();
        for connection in due.iter().filter_map(|token| self.connections.get(token)) {
            *streams.entry(connection.from.number).or_default() += 1;
        }
        for token in due {
            self.work(moment, token, &mut streams, watch)?;
        }
        self.udp_flows.carry(moment, &mut self.far, &mut self.rates, watch)?;
        self.report(moment, watch)
    }

    /// Ends idle connections and reports the state of all clients.
    fn report(&mut self, moment: Instant, watch: &mut Watch<'_>) -> ControlFlow<()> {
        if moment.duration_since(self.reported_at) < STATUS_INTERVAL {
            return ControlFlow::Continue(());
        }
        self.reported_at = moment;
        let idle = |one: &TargetConnection| matches!(&one.state, TargetState::Connected(pipe) if pipe.is_idle(moment, self.idle));
        let over: Vec<usize> =
            self.connections.iter().filter(|(_, one)| idle(one)).map(|(token, _)| *token).collect();
        for token in over {
            let Some(connection) = self.forget(token) else { continue };
            if let Some(streams) = self.far.streams(&connection.peer) {
                streams.reset(connection.stream, Reason::Broken);
            }
            watch(moment, Some(&FarEvent::Idle { from: &connection.from, target: &connection.target }))?;
            connection.abort();
        }
        watch(moment, Some(&FarEvent::Status(&self.far.statuses())))
    }

    fn forget_peer(&mut self, id: &Id) {
        self.udp_flows.forget_peer(id);
        let theirs = self.by_stream.range((*id, 0)..=(*id, u32::MAX)).map(|(_, token)| *token);
        for token in theirs.collect::<Vec<_>>() {
            if let Some(connection) = self.forget(token) {
                connection.abort();
            }
        }
    }

    fn forget(&mut self, token: usize) -> Option<TargetConnection> {
        let connection = self.connections.remove(&token)?;
        self.by_stream.remove(&(connection.peer, connection.stream));
        Some(connection)
    }

    /// Handles the events of a peer's streams and flows.
    fn handle_events(&mut self, moment: Instant, id: &Id, watch: &mut Watch<'_>) -> ControlFlow<()> {
        while let Some(event) = self.far.streams(id).and_then(Streams::poll) {
            match event {
                StreamEvent::Accepted { .. } => {}
                StreamEvent::Flow { flow, target, .. } => {
                    let Some(from) = self.far.client(id).cloned() else { continue };
                    let (token, key) = (self.tokens.next(), (*id, flow));
                    let begun = self.look_up(id, &from, token, &target);
                    self.udp_flows.open(moment, token, (key, from), target, begun.unwrap_or(Scope::Others));
                    if let Err(reason) = begun {
                        self.refuse(moment, key, reason, watch)?;
                    }
                }
                StreamEvent::Opened { stream, target, .. } => {
                    let Some(from) = self.far.client(id).cloned() else { continue };
                    let (peer, token) = (*id, self.tokens.next());
                    let begun = self.look_up(id, &from, token, &target);
                    let (scope, state) = (begun.unwrap_or(Scope::Others), TargetState::Resolving);
                    self.by_stream.insert((peer, stream), token);
                    self.connections
                        .insert(token, TargetConnection { peer, from, stream, target, scope, state });
                    if let Err(reason) = begun {
                        self.refuse(moment, (peer, stream), reason, watch)?;
                    }
                }
                StreamEvent::Reset { stream, .. } => {
                    if let Some(connection) =
                        self.by_stream.get(&(*id, stream)).copied().and_then(|token| self.forget(token))
                    {
                        connection.abort();
                    }
                    self.udp_flows.forget(*id, stream);
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether a peer has as many connections and flows of datagrams as its client is allowed.
    fn is_full(&self, id: &Id, from: &ConnectedClient) -> bool {
        let connections = self.by_stream.range((*id, 0)..=(*id, u32::MAX)).count();
        let most = self.far.limits(from).streams;
        most.is_some_and(|most| connections + self.udp_flows.count(id) >= most)
    }

    /// Returns the targets that a client may connect to.
    fn allowed(&self, from: &ConnectedClient) -> &[Allowed] {
        self.allowed_of.get(&*from.name).unwrap_or(&self.allowed)
    }

    /// Begins the lookup of a target, and returns the scope of its addresses.
    ///
    /// # Errors
    /// The reason why the client may not use the target now.
    fn look_up(
        &mut self,
        id: &Id,
        from: &ConnectedClient,
        token: usize,
        target: &str,
    ) -> Result<Scope, Reason> {
        if self.is_full(id, from) {
            return Err(Reason::Busy);
        }
        let target = target.parse::<Target>().map_err(|_| Reason::Denied)?;
        let scope = scope(self.allowed(from), &target).ok_or(Reason::Denied)?;
        if self.lookups.begin(token, &target) { Ok(scope) } else { Err(Reason::Busy) }
    }

    /// Refuses a stream or a flow of datagrams.
    fn refuse(
        &mut self,
        moment: Instant,
        (peer, stream): (Id, u32),
        reason: Reason,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let token = self.by_stream.get(&(peer, stream)).copied();
        let connection = token.and_then(|token| self.forget(token)).map(|one| (one.from, one.target));
        let Some((from, target)) = connection.or_else(|| self.udp_flows.forget(peer, stream)) else {
            return ControlFlow::Continue(());
        };
        if let Some(streams) = self.far.streams(&peer) {
            streams.reset(stream, reason);
        }
        watch(moment, Some(&FarEvent::Refused { from: &from, target: &target, reason }))
    }

    /// Does the pending work of a connection. `clients` counts the pending connections of each
    /// client, which share its rate.
    fn work(
        &mut self,
        moment: Instant,
        token: usize,
        clients: &mut BTreeMap<usize, usize>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let Some(connection) = self.connections.get_mut(&token) else { return ControlFlow::Continue(()) };
        let Some(streams) = self.far.streams(&connection.peer) else { return ControlFlow::Continue(()) };
        if let TargetState::Connecting(connecting) = &mut connection.state {
            match connecting.step(moment, self.sockets.registry(), token) {
                None => {}
                Some(Err(reason)) => {
                    let key = (connection.peer, connection.stream);
                    return self.refuse(moment, key, reason, watch);
                }
                Some(Ok(socket)) => {
                    streams.accept(connection.stream);
                    connection.state = TargetState::Connected(Pipe::new(moment, socket, connection.stream));
                    let TargetConnection { from, target, .. } = &*connection;
                    watch(moment, Some(&FarEvent::TargetConnected { from, target, udp: false }))?;
                }
            }
        }
        if let TargetState::Connected(pipe) = &mut connection.state {
            let waiting = clients.entry(connection.from.number).or_insert(1);
            let rate = self.rates.get_mut(&connection.from.number);
            let most = rate.map_or(usize::MAX, |rate| rate.share(moment, *waiting));
            *waiting = waiting.saturating_sub(1);
            let mut left = most;
            let state = pipe.pump(moment, streams, &mut self.buffer, &mut left);
            if let Some(rate) = self.rates.get_mut(&connection.from.number) {
                rate.take(most - left);
            }
            if left == 0 {
                self.limited.insert(token);
            }
            if matches!(state, PipeState::Closed | PipeState::Broken) {
                self.forget(token);
            }
        }
        ControlFlow::Continue(())
    }
}
