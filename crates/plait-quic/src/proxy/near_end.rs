//! The near end: listeners, clients, and the paths to the far end.

mod client;

use self::client::LocalClient;
use super::near_settings::{Forward, NearEvent, NearSettings, NearStatus};
use super::pipe::{Pipe, READ_BYTES};
use super::socks;
use super::udp_ports::{PortTarget, UdpPorts};
use super::{Target, Tokens};
use crate::connector::SessionConfig;
use crate::error::Error;
use crate::files::local_paths::LocalPaths;
use crate::files::record::{self, RecordSettings, STREAMS};
use crate::files::{Local, MAX_SLEEP, Meter, now};
use crate::hello::Offer;
use crate::identity;
use crate::opening_end::OpeningEnd;
use crate::pilot::Pilot;
use crate::recording::Recording;
use crate::streams::{Near, Reason, StreamEvent};
use mio::net::TcpListener;
use mio::{Interest, Token};
use plait_sched::Scheduler;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time for a SOCKS client to send its target.
const GREETING: Duration = Duration::from_secs(10);

/// Pause before the next search for a lost far end. It doubles with each failure, up to
/// `LONGEST_PAUSE`.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The watcher, called in each turn and for each event. Returning `Break` ends the run.
type Watch<'a> = dyn FnMut(Instant, Option<&NearEvent<'_>>) -> ControlFlow<()> + 'a;

/// The target of a listener's connections.
enum ListenerTarget {
    Socks,
    Forward(Target),
}

/// A near end with bound sockets.
pub struct NearEnd {
    settings: NearSettings,
    paths: LocalPaths,
    listeners: BTreeMap<usize, (TcpListener, ListenerTarget)>,
    socks: Option<SocketAddr>,
    forwards: Vec<Forward>,
    udp: Vec<Forward>,
    udp_ports: UdpPorts,
    clients: BTreeMap<usize, LocalClient>,
    by_stream: BTreeMap<u32, usize>,
    tokens: Tokens,
    /// Tokens of clients with pending work.
    due: BTreeSet<usize>,
    buffer: Vec<u8>,
    recording: Option<Recording>,
    /// Time at which the lost far end was heard last.
    lost_at: Option<Instant>,
}

impl NearEnd {
    /// Binds a socket for each path, and the listeners.
    ///
    /// # Errors
    /// Returns [`Error::Absent`] if no path leads to the far end yet, and [`Error::Io`] with a
    /// listener that cannot be opened.
    pub fn open(settings: NearSettings) -> Result<Self, Error> {
        settings.connect.settings.check()?;
        if settings.socks.is_none() && settings.forwards.is_empty() && settings.udp.is_empty() {
            return Err(Error::Setting("nothing is to be carried: choose --socks, --forward, --udp".into()));
        }
        let paths = LocalPaths::open(now(), &settings.connect)?;
        let begin =
            |record: &RecordSettings| record.begin(STREAMS, &settings.connect.settings, &paths.locals());
        let recording = settings.connect.record.as_ref().map(begin).transpose()?;
        let mut near_end = Self {
            paths,
            recording,
            listeners: BTreeMap::new(),
            socks: None,
            forwards: Vec::new(),
            udp: Vec::new(),
            udp_ports: UdpPorts::new(),
            clients: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            tokens: Tokens::new(),
            due: BTreeSet::new(),
            buffer: vec![0; READ_BYTES],
            lost_at: None,
            settings,
        };
        if let Some(address) = near_end.settings.socks {
            near_end.socks = Some(near_end.listen(address, ListenerTarget::Socks)?);
        }
        for Forward { listen, target } in near_end.settings.forwards.clone() {
            let listen = near_end.listen(listen, ListenerTarget::Forward(target.clone()))?;
            near_end.forwards.push(Forward { listen, target });
        }
        for Forward { listen, target } in near_end.settings.udp.clone() {
            let (registry, token) = (near_end.paths.sockets.registry(), near_end.tokens.next());
            let bound = near_end.udp_ports.add(registry, listen, token, PortTarget::Fixed(target.clone()));
            let listen = bound.map_err(|error| Error::unbound("--udp", listen, &error))?;
            near_end.udp.push(Forward { listen, target });
        }
        Ok(near_end)
    }

    fn listen(&mut self, address: SocketAddr, target: ListenerTarget) -> Result<SocketAddr, Error> {
        let option = match target {
            ListenerTarget::Socks => "--socks",
            ListenerTarget::Forward(_) => "--forward",
        };
        let mut listener =
            TcpListener::bind(address).map_err(|error| Error::unbound(option, address, &error))?;
        let token = self.tokens.next();
        self.paths.sockets.registry().register(&mut listener, Token(token), Interest::READABLE)?;
        let bound = listener.local_addr()?;
        self.listeners.insert(token, (listener, target));
        Ok(bound)
    }

    /// Returns the address of the SOCKS5 listener.
    pub fn socks(&self) -> Option<SocketAddr> {
        self.socks
    }

    /// Returns the other listeners.
    pub fn forwards(&self) -> &[Forward] {
        &self.forwards
    }

    /// Returns the UDP ports whose datagrams are carried.
    pub fn udp(&self) -> &[Forward] {
        &self.udp
    }

    /// Returns the paths, in the order of the scheduler's path numbers.
    pub fn paths(&self) -> Vec<Local> {
        self.paths.locals()
    }

    /// Returns the addresses and interfaces that become paths when they appear.
    pub fn awaited(&self) -> Vec<String> {
        self.paths.awaited()
    }

    /// Carries connections and datagrams until `watch` returns `Break`. `maker` makes the
    /// scheduler: once, and again after each loss of the far end.
    ///
    /// # Errors
    /// Returns the error with which the far end refuses to carry anything.
    pub fn run<W: Scheduler>(
        self,
        maker: impl FnMut() -> Result<W, Error>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        self.run_piloted(maker, || None, watch)
    }

    /// Runs like [`NearEnd::run`], with a pilot that may replace the scheduler. `pilots` makes it.
    ///
    /// # Errors
    /// Returns the errors of [`NearEnd::run`].
    pub fn run_piloted<W: Scheduler>(
        mut self,
        mut maker: impl FnMut() -> Result<W, Error>,
        mut pilots: impl FnMut() -> Option<Box<dyn Pilot<W>>>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let mut pause = PAUSE;
        loop {
            let begun = now();
            let config = SessionConfig {
                remote: self.paths.remote(),
                locals: self.paths.addresses(),
                terms: self.paths.terms.clone(),
                fingerprint: self.settings.connect.fingerprint,
                secret: self.settings.connect.secret,
                session: identity::random()?,
                offer: Offer::STREAMS,
            };
            let mut near = Near::new(begun, self.settings.connect.settings, config, maker()?)?;
            if let Some(pilot) = pilots() {
                record::check(self.settings.connect.record.is_some(), true)?;
                near.set_pilot(pilot);
            }
            if let Some(recording) = self.recording.take() {
                near.record(recording);
            }
            self.paths.restart_search().iter().for_each(|change| near.handle_address_change(begun, change));
            let driven = self.drive(&mut near, begun, watch);
            if let Err(error) = near.end_recording(now()) {
                let _ = watch(now(), Some(&NearEvent::Unrecorded(&error)));
            }
            driven?;
            if near.is_open() {
                (pause, self.lost_at) = (PAUSE, Some(near.heard_at().unwrap_or_else(now)));
            }
            let refused = near.is_refused();
            match near.into_outcome() {
                None | Some(Ok(()) | Err(Error::Stopped)) => return Ok(()),
                // These errors may pass: the far end is silent, was restarted, or has no room.
                Some(Err(
                    error @ (Error::Silent(_)
                    | Error::Absent(_)
                    | Error::Refused(_)
                    | Error::Unavailable(_)
                    | Error::TooSmall(_)),
                )) if !refused => {
                    for client in std::mem::take(&mut self.clients).into_values() {
                        client.abort();
                    }
                    self.by_stream.clear();
                    self.udp_ports.forget_flows();
                    if watch(now(), Some(&NearEvent::Lost { error: &error, pause })).is_break() {
                        return Ok(());
                    }
                    if self.wait_to_retry(pause, watch)?.is_break() {
                        return Ok(());
                    }
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
                Some(Err(error)) => return Err(error),
            }
        }
    }

    /// Waits before the next search for the far end. A change of the paths ends the wait early.
    fn wait_to_retry(&mut self, pause: Duration, watch: &mut Watch<'_>) -> Result<ControlFlow<()>, Error> {
        let until = now() + pause;
        loop {
            let moment = now();
            self.paths.receive(|_, _| {});
            let flow = watch(moment, None);
            if flow.is_break() || moment >= until || !self.paths.rescan(moment).is_empty() {
                return Ok(flow);
            }
            self.paths.sockets.wait(MAX_SLEEP.min(until - moment))?;
        }
    }

    /// Runs the near end until it has an outcome.
    fn drive<W: Scheduler>(
        &mut self,
        near: &mut Near<W>,
        begun: Instant,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let (mut meter, mut was_open, mut changes) = (Meter::new(begun), false, 0);
        loop {
            let moment = now();
            self.paths.drive(moment, near);
            let mut flow = self.serve(moment, near, watch);
            if near.is_open() && !std::mem::replace(&mut was_open, true) {
                let after = self.lost_at.take().map(|at| moment.duration_since(at));
                let paths = self.paths.locals().into_iter().zip(near.progress());
                let open = paths.filter(|(_, path)| path.opened > 0);
                let paths = open.map(|(local, _)| local.to_string()).collect();
                flow = both(flow, watch(moment, Some(&NearEvent::Open { after, paths })));
            }
            flow = both(flow, watch(moment, None));
            for change in &near.changes()[changes..] {
                flow = both(flow, watch(moment, Some(&NearEvent::Changed(change))));
                changes += 1;
            }
            if meter.is_due(moment) {
                flow = both(flow, self.expire(moment, near, watch));
                let paths = self.paths.status(near.progress(), &mut meter, moment);
                let status = NearStatus::of(near, moment.duration_since(begun), paths);
                flow = both(flow, watch(moment, Some(&NearEvent::Status(&status))));
            }
            if flow.is_break() {
                near.stop();
            }
            self.paths.transmit(moment, near);
            if near.outcome().is_some() {
                let paths = self.paths.status(near.progress(), &mut meter, moment);
                let status = NearStatus::of(near, moment.duration_since(begun), paths);
                let _ = watch(moment, Some(&NearEvent::Status(&status)));
                return Ok(());
            }
            self.mark_ready(near);
            let due = near.next_wakeup().map_or(MAX_SLEEP, |due| due.saturating_duration_since(now()));
            let is_done = self.due.is_empty() && !self.udp_ports.has_more();
            self.paths.sockets.wait(if is_done { due.min(MAX_SLEEP) } else { Duration::ZERO })?;
        }
    }

    /// Marks the clients of streams that have new data or new room.
    fn mark_ready<W: Scheduler>(&mut self, near: &mut Near<W>) {
        while let Some(stream) = near.streams().next_ready() {
            self.due.extend(self.by_stream.get(&stream));
        }
    }

    /// Serves listeners, clients and UDP ports.
    fn serve<W: Scheduler>(
        &mut self,
        moment: Instant,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        for (token, ready) in self.paths.sockets.other_events().collect::<Vec<_>>() {
            if let Some(socket) = self.clients.get_mut(&token).map(LocalClient::socket) {
                socket.note(ready);
                self.due.insert(token);
            }
            self.udp_ports.mark_readable(token);
        }
        // Readiness is reported only once, and some connections may not have been accepted then. So
        // every listener is checked in every turn.
        for token in self.listeners.keys().copied().collect::<Vec<_>>() {
            self.accept_connections(moment, token, near);
        }
        let mut flow = self.handle_events(near, watch);
        self.mark_ready(near);
        let late = |client: &LocalClient| matches!(client, LocalClient::Greeting { since, .. } if moment.duration_since(*since) >= GREETING);
        self.clients.retain(|_, client| !late(client));
        for token in std::mem::take(&mut self.due) {
            flow = both(flow, self.work(token, near, watch));
        }
        let Self { udp_ports, settings, .. } = self;
        udp_ports.carry(
            moment,
            near,
            |target| settings.class(target),
            |event| flow = both(flow, watch(moment, Some(event))),
        );
        flow
    }

    /// Handles events of streams.
    fn handle_events<W: Scheduler>(&mut self, near: &mut Near<W>, watch: &mut Watch<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        while let Some(event) = near.streams().poll() {
            match event {
                StreamEvent::Opened { .. } | StreamEvent::Flow { .. } => {}
                StreamEvent::Accepted { stream } => {
                    let Some(&token) = self.by_stream.get(&stream) else { continue };
                    if let Some(LocalClient::Requested { mut socket, stream, target, rest }) =
                        self.take_requested(token)
                    {
                        // An empty buffer takes these few bytes at once.
                        let _ = socket.write(&socks::granted());
                        near.streams().write(stream, &rest);
                        let pipe = Pipe::new(now(), socket, stream);
                        self.clients.insert(token, LocalClient::Connected { pipe, target });
                        self.due.insert(token);
                    }
                }
                StreamEvent::Reset { stream, reason } => {
                    let client = self.by_stream.remove(&stream).and_then(|token| self.clients.remove(&token));
                    let target = match client {
                        Some(client) => {
                            let target = client.target().cloned();
                            client.refuse(reason);
                            target
                        }
                        None => self.udp_ports.reset(now(), stream, reason),
                    };
                    if let Some(target) = target.filter(|_| reason != Reason::Broken) {
                        flow =
                            both(flow, watch(now(), Some(&NearEvent::Refused { target: &target, reason })));
                    }
                }
            }
        }
        flow
    }

    fn take_requested(&mut self, token: usize) -> Option<LocalClient> {
        matches!(self.clients.get(&token), Some(LocalClient::Requested { .. }))
            .then(|| self.clients.remove(&token))?
    }
}

fn both(one: ControlFlow<()>, other: ControlFlow<()>) -> ControlFlow<()> {
    if one.is_break() { one } else { other }
}
