//! The near end: listeners, clients, and the paths to the far end.

mod client;

use self::client::Client;
use super::pipe::{Flow, PIECE, Pipe, Socket};
use super::plan::{Forward, Plan, Told};
use super::ports::{Leads, Ports};
use super::socks;
use super::{Target, Tokens, plan::Status};
use crate::error::Error;
use crate::files::record::{self, Record, STREAMS};
use crate::files::routes::Routes;
use crate::files::{Local, Meter, NAP, now};
use crate::hello::Offer;
use crate::identity;
use crate::pilot::Pilot;
use crate::recording::Recording;
use crate::streams::{Event, MAX_STREAMS, Near, Reason};
use crate::ways::Order;
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

/// Largest number of connections accepted from one listener in a turn.
const ACCEPTED: usize = 64;

/// The watcher, called in each turn and for each event. Returning `Break` ends the run.
type Watch<'a> = dyn FnMut(Instant, Option<&Told<'_>>) -> ControlFlow<()> + 'a;

/// The target of a listener's connections.
enum Door {
    Socks,
    Forward(Target),
}

/// A near end with bound sockets.
pub struct Entrance {
    plan: Plan,
    routes: Routes,
    listeners: BTreeMap<usize, (TcpListener, Door)>,
    socks: Option<SocketAddr>,
    forwards: Vec<Forward>,
    udp: Vec<Forward>,
    ports: Ports,
    clients: BTreeMap<usize, Client>,
    by_stream: BTreeMap<u32, usize>,
    tokens: Tokens,
    /// Tokens of clients with pending work.
    due: BTreeSet<usize>,
    buffer: Vec<u8>,
    recording: Option<Recording>,
    /// Time at which the far end was lost.
    lost_at: Option<Instant>,
}

impl Entrance {
    /// Binds a socket for each path, and the listeners.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] with the path or listener that cannot be opened.
    pub fn open(plan: Plan) -> Result<Self, Error> {
        plan.connect.settings.check()?;
        if plan.socks.is_none() && plan.forwards.is_empty() && plan.udp.is_empty() {
            return Err(Error::Setting("nothing is to be carried: choose --socks, --forward, --udp".into()));
        }
        let routes = Routes::open(now(), &plan.connect)?;
        let begin = |record: &Record| record.begin(STREAMS, &plan.connect.settings, &routes.locals());
        let recording = plan.connect.record.as_ref().map(begin).transpose()?;
        let mut entrance = Self {
            routes,
            recording,
            listeners: BTreeMap::new(),
            socks: None,
            forwards: Vec::new(),
            udp: Vec::new(),
            ports: Ports::new(),
            clients: BTreeMap::new(),
            by_stream: BTreeMap::new(),
            tokens: Tokens::new(),
            due: BTreeSet::new(),
            buffer: vec![0; PIECE],
            lost_at: None,
            plan,
        };
        if let Some(address) = entrance.plan.socks {
            entrance.socks = Some(entrance.listen(address, Door::Socks)?);
        }
        for Forward { listen, target } in entrance.plan.forwards.clone() {
            let listen = entrance.listen(listen, Door::Forward(target.clone()))?;
            entrance.forwards.push(Forward { listen, target });
        }
        for Forward { listen, target } in entrance.plan.udp.clone() {
            let (registry, token) = (entrance.routes.sockets.registry(), entrance.tokens.next());
            let bound = entrance.ports.add(registry, listen, token, Leads::To(target.clone()));
            let listen = bound.map_err(|error| Error::Setting(format!("--udp {listen}: {error}")))?;
            entrance.udp.push(Forward { listen, target });
        }
        Ok(entrance)
    }

    fn listen(&mut self, address: SocketAddr, door: Door) -> Result<SocketAddr, Error> {
        let failed = |error| Error::Setting(format!("{address}: {error}"));
        let mut listener = TcpListener::bind(address).map_err(failed)?;
        let token = self.tokens.next();
        self.routes.sockets.registry().register(&mut listener, Token(token), Interest::READABLE)?;
        let bound = listener.local_addr()?;
        self.listeners.insert(token, (listener, door));
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
        self.routes.locals()
    }

    /// Returns the addresses and interfaces that become paths when they appear.
    pub fn awaited(&self) -> Vec<String> {
        self.routes.awaited()
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

    /// Runs like [`Entrance::run`], with a pilot that may replace the scheduler. `pilots` makes it.
    ///
    /// # Errors
    /// Returns the errors of [`Entrance::run`].
    pub fn run_piloted<W: Scheduler>(
        mut self,
        mut maker: impl FnMut() -> Result<W, Error>,
        mut pilots: impl FnMut() -> Option<Box<dyn Pilot<W>>>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let mut pause = PAUSE;
        loop {
            let begun = now();
            let order = Order {
                remote: self.routes.remote(),
                locals: self.routes.addresses(),
                terms: self.routes.terms.clone(),
                fingerprint: self.plan.connect.fingerprint,
                secret: self.plan.connect.secret,
                session: identity::random()?,
                offer: Offer::STREAMS,
            };
            let mut near = Near::new(begun, self.plan.connect.settings, order, maker()?)?;
            if let Some(pilot) = pilots() {
                record::check(self.plan.connect.record.is_some(), true)?;
                near.set_pilot(pilot);
            }
            if let Some(recording) = self.recording.take() {
                near.record(recording);
            }
            self.routes.aim().iter().for_each(|reroute| near.reroute(begun, reroute));
            let driven = self.drive(&mut near, begun, watch);
            if let Err(error) = near.end_recording(now()) {
                let _ = watch(now(), Some(&Told::Unrecorded(&error)));
            }
            driven?;
            if near.is_open() {
                (pause, self.lost_at) = (PAUSE, Some(now()));
            }
            let refused = near.is_refused();
            match near.into_outcome() {
                None | Some(Error::Stopped) => return Ok(()),
                // These errors may pass: the far end is silent, was restarted, or has no room.
                Some(
                    error @ (Error::Silent(_) | Error::Refused(_) | Error::Away(_) | Error::TooSmall(_)),
                ) if !refused => {
                    for client in std::mem::take(&mut self.clients).into_values() {
                        client.break_off();
                    }
                    self.by_stream.clear();
                    self.ports.forget_flows();
                    if watch(now(), Some(&Told::Lost { error: &error, pause })).is_break() {
                        return Ok(());
                    }
                    if self.rest(pause, watch)?.is_break() {
                        return Ok(());
                    }
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
                Some(error) => return Err(error),
            }
        }
    }

    /// Waits before the next search for the far end. A change of the paths ends the wait early.
    fn rest(&mut self, pause: Duration, watch: &mut Watch<'_>) -> Result<ControlFlow<()>, Error> {
        let until = now() + pause;
        loop {
            let moment = now();
            self.routes.receive(|_, _, _, _| {});
            let flow = watch(moment, None);
            if flow.is_break() || moment >= until || !self.routes.rescan(moment).is_empty() {
                return Ok(flow);
            }
            self.routes.sockets.wait(NAP.min(until - moment))?;
        }
    }

    /// Runs the near end until it has an outcome.
    fn drive<W: Scheduler>(
        &mut self,
        near: &mut Near<W>,
        begun: Instant,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let (mut out, mut meter, mut was_open, mut changes) = (Vec::new(), Meter::new(begun), false, 0);
        loop {
            let moment = now();
            self.routes.receive(|path, remote, datagrams, each| {
                near.handle_datagrams(moment, path, remote, datagrams, each);
            });
            near.handle_timeout(moment);
            self.routes.rescan(moment).iter().for_each(|reroute| near.reroute(moment, reroute));
            if let Some(reason) = self.routes.refusal(moment) {
                near.give_up(reason);
            }
            let mut flow = self.serve(moment, near, watch);
            if near.is_open() && !std::mem::replace(&mut was_open, true) {
                let after = self.lost_at.take().map(|at| moment.duration_since(at));
                flow = both(flow, watch(moment, Some(&Told::Open { after })));
            }
            flow = both(flow, watch(moment, None));
            for change in &near.changes()[changes..] {
                flow = both(flow, watch(moment, Some(&Told::Changed(change))));
                changes += 1;
            }
            if meter.is_due(moment) {
                flow = both(flow, self.expire(moment, near, watch));
                let paths = self.routes.status(near.progress(), &mut meter, moment);
                let status = Status::of(near, moment.duration_since(begun), paths);
                flow = both(flow, watch(moment, Some(&Told::Status(&status))));
            }
            if flow.is_break() {
                near.stop();
            }
            near.transmit(moment, &mut out);
            self.routes.send(moment, &mut out, |path, trouble, reroute| {
                reroute.into_iter().for_each(|reroute| near.reroute(moment, reroute));
                near.handle_failure(path, trouble);
            });
            if near.outcome().is_some() {
                let paths = self.routes.status(near.progress(), &mut meter, moment);
                let status = Status::of(near, moment.duration_since(begun), paths);
                let _ = watch(moment, Some(&Told::Status(&status)));
                return Ok(());
            }
            self.wake(near);
            let due = near.next_wakeup().map_or(NAP, |due| due.saturating_duration_since(now()));
            let is_done = self.due.is_empty() && !self.ports.has_more();
            self.routes.sockets.wait(if is_done { due.min(NAP) } else { Duration::ZERO })?;
        }
    }

    /// Ends idle connections.
    fn expire<W: Scheduler>(
        &mut self,
        moment: Instant,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let is_idle = |client: &Client| matches!(client, Client::Joined { pipe, .. } if pipe.is_idle(moment, self.plan.idle));
        let idle = self.clients.iter().filter(|(_, client)| is_idle(client)).map(|(token, _)| *token);
        for token in idle.collect::<Vec<_>>() {
            if let Some(Client::Joined { pipe, target }) = self.clients.remove(&token) {
                self.by_stream.remove(&pipe.stream);
                near.streams().reset(pipe.stream, Reason::Broken);
                pipe.socket.break_off();
                watch(moment, Some(&Told::Idle { target: &target }))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Marks the clients of streams that have new data or new room.
    fn wake<W: Scheduler>(&mut self, near: &mut Near<W>) {
        while let Some(stream) = near.streams().woken() {
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
        for (token, ready) in self.routes.sockets.others().collect::<Vec<_>>() {
            if let Some(socket) = self.clients.get_mut(&token).map(Client::socket) {
                socket.note(ready);
                self.due.insert(token);
            }
            self.ports.wake(token);
        }
        // Readiness is reported only once, and some connections may not have been accepted then. So
        // every listener is checked in every turn.
        for token in self.listeners.keys().copied().collect::<Vec<_>>() {
            self.meet(moment, token, near);
        }
        let mut flow = self.hear(near, watch);
        self.wake(near);
        let late = |client: &Client| matches!(client, Client::Greeting { since, .. } if moment.duration_since(*since) >= GREETING);
        self.clients.retain(|_, client| !late(client));
        for token in std::mem::take(&mut self.due) {
            flow = both(flow, self.work(token, near, watch));
        }
        let Self { ports, plan, .. } = self;
        ports.carry(
            moment,
            near,
            |target| plan.class(target),
            |target, reason| {
                flow = both(flow, watch(moment, Some(&Told::Refused { target, reason })));
            },
        );
        flow
    }

    /// Accepts connections of a listener.
    fn meet<W: Scheduler>(&mut self, moment: Instant, token: usize, near: &mut Near<W>) {
        for _ in 0..ACCEPTED {
            let Some((listener, door)) = self.listeners.get(&token) else { return };
            // Errors other than an empty queue pass: the client is gone already, or the system has
            // no room.
            let Ok((io, _)) = listener.accept() else { return };
            let number = self.tokens.next();
            let Ok(socket) = Socket::new(self.routes.sockets.registry(), io, number) else { continue };
            if self.clients.len() >= MAX_STREAMS {
                socket.break_off();
                continue;
            }
            let client = match door {
                Door::Socks => Client::Greeting { socket, socks: socks::Client::default(), since: moment },
                Door::Forward(target) => {
                    let target = target.clone();
                    match near.streams().open(&target.to_string(), self.plan.class(&target)) {
                        Ok(stream) => {
                            self.by_stream.insert(stream, number);
                            Client::Joined { pipe: Pipe::new(moment, socket, stream), target }
                        }
                        Err(_) => {
                            socket.break_off();
                            continue;
                        }
                    }
                }
            };
            self.clients.insert(number, client);
        }
    }

    /// Handles events of streams.
    fn hear<W: Scheduler>(&mut self, near: &mut Near<W>, watch: &mut Watch<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        while let Some(event) = near.streams().poll() {
            match event {
                Event::Opened { .. } | Event::Flow { .. } => {}
                Event::Accepted { stream } => {
                    let Some(&token) = self.by_stream.get(&stream) else { continue };
                    if let Some(Client::Asked { mut socket, stream, target, rest }) = self.take_asked(token) {
                        // An empty buffer takes these few bytes at once.
                        let _ = socket.write(&socks::granted());
                        near.streams().write(stream, &rest);
                        self.clients
                            .insert(token, Client::Joined { pipe: Pipe::new(now(), socket, stream), target });
                        self.due.insert(token);
                    }
                }
                Event::Reset { stream, reason } => {
                    let client = self.by_stream.remove(&stream).and_then(|token| self.clients.remove(&token));
                    let target = match client {
                        Some(client) => {
                            let target = client.target().cloned();
                            client.refuse(reason);
                            target
                        }
                        None => self.ports.reset(now(), stream, reason),
                    };
                    if let Some(target) = target.filter(|_| reason != Reason::Broken) {
                        flow = both(flow, watch(now(), Some(&Told::Refused { target: &target, reason })));
                    }
                }
            }
        }
        flow
    }

    fn take_asked(&mut self, token: usize) -> Option<Client> {
        matches!(self.clients.get(&token), Some(Client::Asked { .. })).then(|| self.clients.remove(&token))?
    }

    /// Does the pending work of a client.
    fn work<W: Scheduler>(
        &mut self,
        token: usize,
        near: &mut Near<W>,
        watch: &mut Watch<'_>,
    ) -> ControlFlow<()> {
        let Some(client) = self.clients.remove(&token) else { return ControlFlow::Continue(()) };
        let kept = match client {
            Client::Greeting { .. } => return self.greet(token, client, near, watch),
            Client::Associated { mut socket, relay } => {
                let over = socket.skip(&mut self.buffer);
                if over {
                    self.ports.remove(relay, near);
                }
                (!over).then_some(Client::Associated { socket, relay })
            }
            Client::Asked { mut socket, stream, target, mut rest } => {
                // Bytes that the client sends before the answer are buffered, most of them by the
                // system.
                let mut gone = false;
                while socket.readable && rest.len() < socks::MOST && !gone {
                    match socket.read(&mut self.buffer[..socks::MOST]) {
                        Ok(None) => {}
                        Ok(Some(0)) | Err(_) => gone = true,
                        Ok(Some(count)) => rest.extend_from_slice(&self.buffer[..count]),
                    }
                }
                if gone {
                    near.streams().reset(stream, Reason::Broken);
                    None
                } else {
                    Some(Client::Asked { socket, stream, target, rest })
                }
            }
            Client::Joined { mut pipe, target } => {
                match pipe.pump(now(), near.streams(), &mut self.buffer, &mut { usize::MAX }) {
                    Flow::Open => Some(Client::Joined { pipe, target }),
                    Flow::Over | Flow::Broken => {
                        self.by_stream.remove(&pipe.stream);
                        None
                    }
                }
            }
        };
        if let Some(client) = kept {
            self.clients.insert(token, client);
        }
        ControlFlow::Continue(())
    }
}

fn both(one: ControlFlow<()>, other: ControlFlow<()>) -> ControlFlow<()> {
    if one.is_break() { one } else { other }
}
