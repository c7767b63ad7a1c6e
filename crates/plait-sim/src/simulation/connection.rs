//! One connection: its two ends, what is written into it, and the routes between.

use super::application::Application;
use super::network::{End, Network, RouteId};
use super::tap::{PacketId, Sighting, Tap};
use crate::recorder::Recorder;
use crate::scenario::Way;
use plait_sched::{Builtin, Connection as Facts, Decision, Path, PathId, PathState, Scheduler, Time};
use plait_transport::endpoint::Endpoint;
use plait_transport::packet::{Overhead, Packet};
use plait_transport::{Error, Observer, Sent, Sink, Transmit};

/// What a connection is made of.
pub(super) struct Parts<S, O> {
    pub(super) near: Endpoint<S>,
    pub(super) far: Endpoint<Builtin>,
    pub(super) overhead: Overhead,
    pub(super) observer: O,
    pub(super) application: Application,
    /// The routes of each path: from the near end to the far one, and back.
    pub(super) routes: Vec<[RouteId; 2]>,
    /// When it falls silent.
    pub(super) until: Time,
}

/// What records a connection, beside observing its ends.
pub(crate) trait Record: Observer {
    /// The transmission of this number arrives.
    fn arriving(&mut self, _transmission: u64) {}
    /// The receiver has taken what arrived.
    fn settle(&mut self, _now: Time) {}
    /// The application wrote a block.
    fn block_written(&mut self, _now: Time) {}
}

impl Record for Recorder {
    fn arriving(&mut self, transmission: u64) {
        self.arriving(transmission);
    }

    fn settle(&mut self, now: Time) {
        self.settle(now);
    }

    fn block_written(&mut self, now: Time) {
        self.block_written(now);
    }
}

/// Passes on what an end tells of the stream that it sends.
struct Sending<'a, O>(&'a mut O);

impl<O: Observer> Observer for Sending<'_, O> {
    #[inline]
    fn sent(&mut self, now: Time, sent: &Sent) {
        self.0.sent(now, sent);
    }

    #[inline]
    fn decided(&mut self, now: Time, decision: &Decision, connection: &Facts, paths: &[Path]) {
        self.0.decided(now, decision, connection, paths);
    }

    fn path_state(&mut self, now: Time, path: PathId, state: PathState) {
        self.0.path_state(now, path, state);
    }
}

/// Passes on what an end tells of the stream that it receives.
struct Receiving<'a, O>(&'a mut O);

impl<O: Observer> Observer for Receiving<'_, O> {
    #[inline]
    fn arrived(&mut self, now: Time, path: PathId, segment: u64, bytes: u32) {
        self.0.arrived(now, path, segment, bytes);
    }

    fn duplicate(&mut self, now: Time, path: PathId, segment: u64) {
        self.0.duplicate(now, path, segment);
    }

    #[inline]
    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        self.0.delivered(now, segment, bytes);
    }

    fn refused(&mut self, now: Time, path: PathId, segment: u64) {
        self.0.refused(now, path, segment);
    }
}

/// What a connection can have to do at a moment: its sources in the agenda.
#[derive(Clone, Copy)]
pub(super) enum Timer {
    Near,
    Far,
    Application,
}

/// How many sources of the agenda a connection has.
pub(super) const TIMERS: usize = 3;

/// A connection in progress: the near end sends what is observed, the far end may send, too.
pub(crate) struct Connection<S, O, T = ()> {
    pub(crate) near: Endpoint<S>,
    far: Endpoint<Builtin>,
    overhead: Overhead,
    pub(crate) observer: O,
    application: Application,
    routes: Vec<[RouteId; 2]>,
    until: Time,
    /// The first of its sources in the agenda.
    source: usize,
    /// Who sees its packets.
    pub(super) tap: T,
    /// How many packets without data it has sent, of both ends.
    others: u64,
}

/// The way of a connection's packets to the network, in a form that leaves its ends free.
macro_rules! wire {
    ($connection:ident, $network:ident, $way:expr) => {
        Wire {
            network: $network,
            routes: &$connection.routes,
            overhead: $connection.overhead,
            tap: &mut $connection.tap,
            others: &mut $connection.others,
            way: $way,
        }
    };
}

impl<S: Scheduler, O: Record, T: Tap> Connection<S, O, T> {
    /// A connection whose sources in the agenda begin at `source`.
    pub(super) fn new(parts: Parts<S, O>, source: usize, tap: T) -> Self {
        let Parts { near, far, overhead, observer, application, routes, until } = parts;
        Self { near, far, overhead, observer, application, routes, until, source, tap, others: 0 }
    }

    /// Writes what is written at the very start, and sends what there is to send. A connection that is not `open` yet
    /// stays silent until its application writes.
    pub(super) fn begin(&mut self, network: &mut Network, open: bool) -> Result<(), Error> {
        let at_once = self.application.is_due_at_start();
        if at_once {
            let _ = self.application.write(&mut self.near);
        }
        let next = self.application.next();
        self.set_timer(network, Timer::Application, next);
        if open || at_once { self.drain_near(network) } else { Ok(()) }
    }

    /// One of the sources in the agenda has come: the `timer`th.
    pub(super) fn handle_timer(&mut self, network: &mut Network, timer: usize) -> Result<(), Error> {
        match timer {
            n if n == Timer::Near as usize => {
                if network.now < self.until {
                    self.near.handle_timeout(network.now, &mut Sending(&mut self.observer))?;
                }
                self.drain_near(network)
            }
            n if n == Timer::Far as usize => {
                self.far.handle_timeout(network.now, &mut Receiving(&mut self.observer))?;
                self.drain_far(network)
            }
            _ => {
                if self.application.write(&mut self.near) {
                    self.observer.block_written(network.now);
                }
                let next = self.application.next();
                self.set_timer(network, Timer::Application, next);
                self.drain_near(network)
            }
        }
    }

    /// A packet comes out of one of the routes.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        network: &mut Network,
        end: End,
        packet: &Packet,
        number: u64,
    ) -> Result<(), Error> {
        let path = PathId(end.path);
        if T::LOOKS {
            let id = PacketId { path, way: end.way, data: is_data(packet), number };
            let bytes = self.overhead.wire_bytes(packet);
            self.tap.arrived(&Sighting { time: network.now, id, packet, bytes });
        }
        match end.way {
            Way::Forward => {
                self.observer.arriving(number);
                self.far.handle_packet(network.now, path, packet, &mut Receiving(&mut self.observer));
                self.observer.settle(network.now);
                self.drain_far(network)
            }
            Way::Backward => {
                self.near.handle_packet(network.now, path, packet, &mut Sending(&mut self.observer));
                self.drain_near(network)
            }
        }
    }

    #[inline]
    fn drain_far(&mut self, network: &mut Network) -> Result<(), Error> {
        let now = network.now;
        let mut wire = wire!(self, network, Way::Backward);
        self.far.transmit(now, &mut wire, &mut ())?;
        let timer = self.far.next_wakeup();
        self.set_timer(network, Timer::Far, timer);
        Ok(())
    }

    #[inline]
    fn drain_near(&mut self, network: &mut Network) -> Result<(), Error> {
        if network.now >= self.until {
            return Ok(());
        }
        let now = network.now;
        let mut wire = wire!(self, network, Way::Forward);
        self.near.transmit(now, &mut wire, &mut self.observer)?;
        let timer = self.near.next_wakeup();
        self.set_timer(network, Timer::Near, timer);
        Ok(())
    }

    fn set_timer(&self, network: &mut Network, timer: Timer, at: Option<Time>) {
        network.set_timer(self.source + timer as usize, at);
    }

    /// The route of a path's data.
    pub(crate) fn data_route(&self, path: usize) -> RouteId {
        self.routes[path][0]
    }

    /// How many paths it has.
    pub(crate) fn paths(&self) -> usize {
        self.routes.len()
    }

    /// Payload bytes that the application has written; `u64::MAX` if it never ends.
    pub(crate) const fn written_bytes(&self) -> u64 {
        self.application.written_bytes
    }
}

/// Takes the packets of one end to its routes.
struct Wire<'a, T> {
    network: &'a mut Network,
    routes: &'a [[RouteId; 2]],
    overhead: Overhead,
    tap: &'a mut T,
    others: &'a mut u64,
    way: Way,
}

impl<T: Tap> Sink for Wire<'_, T> {
    #[inline]
    fn send(&mut self, transmit: &Transmit<'_>) {
        let &Transmit { path, packet, transmission, origin } = transmit;
        let (bytes, data) = (self.overhead.wire_bytes(packet), is_data(packet));
        *self.others += u64::from(!data);
        let number = if data { transmission } else { *self.others };
        if T::LOOKS {
            let id = PacketId { path, way: self.way, data, number };
            self.tap.sent(&Sighting { time: self.network.now, id, packet, bytes }, origin);
        }
        let route = self.routes[path.index()][usize::from(self.way == Way::Backward)];
        self.network.send(route, packet, number, bytes);
    }
}

fn is_data(packet: &Packet) -> bool {
    match packet {
        Packet::Data(_) | Packet::Segment(_) => true,
        Packet::OneRtt(packet) => packet.stream.is_some(),
        _ => false,
    }
}
