//! One connection: its two ends, its application, and the routes between the ends.

use super::carrier::{Carried, Carrier, Datagram};
use super::events::{At, Place};
use super::network::{Arrival, Network};
use super::observers::{Receiving, Record, Sending};
use super::routes::{End, RouteId};
use super::tap::{PacketId, Sighting, Tap};
use super::writer::Both;
use crate::application::{Application as _, ApplicationInput, ConnectionEnd, RunningApplication};
use crate::scenario::Direction;
use plait_sched::{Builtin, PathId, Scheduler, Time};
use plait_transport::endpoint::Endpoint;
use plait_transport::packet::{Overhead, Packet};
use plait_transport::{Error, Sink, Transmit};

/// The parts of a connection.
pub(super) struct Parts<S, O> {
    pub(super) near: Endpoint<S>,
    pub(super) far: Endpoint<Builtin>,
    pub(super) overhead: Overhead,
    pub(super) observer: O,
    pub(super) application: RunningApplication,
    /// The end that opens the connection.
    pub(super) client: ConnectionEnd,
    /// The routes of each path: from the near end to the far one, and back.
    pub(super) routes: Vec<[RouteId; 2]>,
    /// The time from which on the near end sends nothing.
    pub(super) until: Time,
}

/// A connection's sources of events, beside its links.
#[derive(Clone, Copy)]
pub(super) enum Timer {
    Near,
    Far,
    Application,
    Carrier,
}

/// The sides of a connection's [`Timer`]s.
pub(super) const TIMERS: [At; 4] = [At::Near, At::Far, At::Near, At::Clocks];

/// A connection in progress. The near end sends the observed stream; the far end may send, too.
pub(crate) struct ConnectionRun<S, O, T = (), C = ()> {
    pub(crate) near: Endpoint<S>,
    far: Endpoint<Builtin>,
    overhead: Overhead,
    pub(crate) observer: O,
    application: RunningApplication,
    /// Whether the application receives deliveries. `heard` counts the payload bytes that it knows
    /// of, at the near end and at the far end.
    hears: bool,
    heard: [u64; 2],
    /// Messages that have just arrived.
    arrived: Vec<u64>,
    client: ConnectionEnd,
    /// Payload bytes written at the near end; `u64::MAX` for an endless stream.
    written_bytes: u64,
    routes: Vec<[RouteId; 2]>,
    until: Time,
    /// The places of its sources of events.
    timers: [Place; TIMERS.len()],
    /// The observer of its packets.
    pub(super) tap: T,
    /// The carrier of its packets.
    pub(super) carrier: C,
    /// Number of packets without data that both ends have sent.
    others: u64,
}

/// Builds the `RouteSink` of a connection from single fields, so that its ends can be borrowed
/// separately.
macro_rules! route_sink {
    ($connection:ident, $network:ident, $direction:expr) => {
        RouteSink {
            network: $network,
            routes: &$connection.routes,
            overhead: &$connection.overhead,
            tap: &mut $connection.tap,
            carrier: &mut $connection.carrier,
            others: &mut $connection.others,
            direction: $direction,
        }
    };
}

impl<S: Scheduler, O: Record, T: Tap, C: Carrier> ConnectionRun<S, O, T, C> {
    /// Creates a connection whose sources of events begin at `source`.
    pub(super) fn new(parts: Parts<S, O>, network: &Network, source: usize, tap: T, carrier: C) -> Self {
        let Parts { near, far, overhead, observer, application, client, routes, until } = parts;
        Self {
            near,
            far,
            overhead,
            observer,
            hears: application.hears(),
            heard: [0; 2],
            arrived: Vec::new(),
            application,
            client,
            written_bytes: 0,
            routes,
            until,
            timers: std::array::from_fn(|timer| network.events.place(source + timer)),
            tap,
            carrier,
            others: 0,
        }
    }

    /// Lets the application write at the very start, and sends. A connection that is not `open` yet
    /// sends nothing until its application writes.
    pub(super) fn begin(&mut self, network: &mut Network, open: bool) -> Result<(), Error> {
        let at_once = self.application.begins_at_once();
        if at_once {
            let _ = self.tell(network.now, ApplicationInput::Timer);
        }
        let next = self.application.next_wakeup();
        self.set_timer(network, Timer::Application, next);
        if open || at_once { self.drain(network, self.client) } else { Ok(()) }
    }

    /// Handles the `timer`th of the connection's sources of events.
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
            n if C::CARRIES && n == Timer::Carrier as usize => {
                if self.carrier.next_wakeup().is_some_and(|due| due <= network.now) {
                    self.carrier.handle_timeout(network.now);
                    self.hear_stack(network.now);
                }
                self.deliver_carried(network)
            }
            _ => {
                let _ = self.tell(network.now, ApplicationInput::Timer);
                let next = self.application.next_wakeup();
                self.set_timer(network, Timer::Application, next);
                self.drain(network, self.client)
            }
        }
    }

    /// Passes an event to the application. Returns whether the application wrote at the near end
    /// and at the far end.
    fn tell(&mut self, now: Time, input: ApplicationInput) -> [bool; 2] {
        let mut ends = Both {
            now,
            near: &mut self.near,
            far: &mut self.far,
            observer: &mut self.observer,
            written_bytes: &mut self.written_bytes,
            wrote: [false; 2],
        };
        self.application.handle(now, input, &mut ends);
        ends.wrote
    }

    /// Reports new deliveries at an end to the application. The caller sends the data that the
    /// application writes at that end.
    #[inline(never)]
    fn hear(&mut self, network: &mut Network, at: ConnectionEnd) -> Result<(), Error> {
        let bytes = match at {
            ConnectionEnd::Near => self.near.reassembly().delivered_bytes(),
            ConnectionEnd::Far => self.far.reassembly().delivered_bytes(),
        };
        let before = std::mem::replace(&mut self.heard[at as usize], bytes);
        if before == bytes {
            return Ok(());
        }
        if at == ConnectionEnd::Far {
            let mut arrived = std::mem::take(&mut self.arrived);
            arrived.extend(self.near.messages_ended(before, bytes));
            for number in arrived.drain(..) {
                let _ = self.tell(network.now, ApplicationInput::Arrived(number));
            }
            self.arrived = arrived;
        }
        let wrote = self.tell(network.now, ApplicationInput::Delivered { at, bytes });
        let next = self.application.next_wakeup();
        self.set_timer(network, Timer::Application, next);
        let other = if at == ConnectionEnd::Near { ConnectionEnd::Far } else { ConnectionEnd::Near };
        if wrote[other as usize] { self.drain(network, other) } else { Ok(()) }
    }

    /// Handles a packet at the end of its route.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn receive(&mut self, network: &mut Network, arrival: Arrival) -> Result<(), Error> {
        let arrived = self.arrive(network, arrival.end, &arrival.packet, arrival.number);
        network.close(arrival);
        arrived
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn arrive(&mut self, network: &mut Network, end: End, packet: &Packet, number: u64) -> Result<(), Error> {
        let path = PathId(end.path);
        let mut instead = None;
        if T::LOOKS {
            let packet = packet.by_ref();
            let id = PacketId { path, direction: end.direction, data: packet.carries_data(), number };
            let bytes = self.overhead.wire_bytes(packet);
            let seen = Sighting { time: network.now, id, packet, bytes };
            self.tap.arrived(&seen);
            instead = self.tap.instead(&seen);
        }
        let packet = instead.as_ref().unwrap_or(packet);
        match end.direction {
            Direction::Forward => {
                self.observer.arriving(number);
                self.far.handle_packet(network.now, path, packet, &mut Receiving(&mut self.observer));
                self.observer.settle(network.now);
                if self.hears {
                    self.hear(network, ConnectionEnd::Far)?;
                }
                self.drain_far(network)
            }
            Direction::Backward => {
                self.near.handle_packet(network.now, path, packet, &mut Sending(&mut self.observer));
                if self.hears {
                    self.hear(network, ConnectionEnd::Near)?;
                }
                self.drain_near(network)
            }
        }
    }

    /// Handles a carrier's datagram at the end of its route.
    #[inline(never)]
    pub(super) fn arrive_carried(&mut self, network: &mut Network, number: u64) -> Result<(), Error> {
        self.carrier.arrived(network.now, number);
        self.hear_stack(network.now);
        self.deliver_carried(network)
    }

    /// Hands the carrier's packets to the ends and its datagrams to the links.
    fn deliver_carried(&mut self, network: &mut Network) -> Result<(), Error> {
        while let Some(Carried { path, direction, packet, transmission }) = self.carrier.next_packet() {
            self.arrive(network, End { connection: 0, path: path.0, direction }, &packet, transmission)?;
        }
        self.launch_carried(network);
        Ok(())
    }

    /// Puts the carrier's datagrams on the links.
    #[inline]
    fn launch_carried(&mut self, network: &mut Network) {
        if !C::CARRIES {
            return;
        }
        while let Some(Datagram { path, direction, number, bytes }) = self.carrier.next_datagram() {
            let route = self.routes[path.index()][usize::from(direction == Direction::Backward)];
            network.send_carried(route, number, bytes);
        }
        let wakeup = self.carrier.next_wakeup();
        self.set_timer(network, Timer::Carrier, wakeup);
    }

    #[inline]
    fn drain(&mut self, network: &mut Network, end: ConnectionEnd) -> Result<(), Error> {
        match end {
            ConnectionEnd::Near => self.drain_near(network),
            ConnectionEnd::Far => self.drain_far(network),
        }
    }

    #[inline]
    fn drain_far(&mut self, network: &mut Network) -> Result<(), Error> {
        if C::IS_STACK {
            return Ok(());
        }
        let now = network.now;
        let mut sink = route_sink!(self, network, Direction::Backward);
        self.far.transmit(now, &mut sink, &mut ())?;
        self.launch_carried(network);
        let timer = self.far.next_wakeup();
        self.set_timer(network, Timer::Far, timer);
        Ok(())
    }

    #[inline]
    fn drain_near(&mut self, network: &mut Network) -> Result<(), Error> {
        if C::IS_STACK {
            self.carrier.write(network.now, self.written_bytes);
            self.hear_stack(network.now);
            self.launch_carried(network);
            return Ok(());
        }
        if network.now >= self.until {
            return Ok(());
        }
        let now = network.now;
        let mut sink = route_sink!(self, network, Direction::Forward);
        self.near.transmit(now, &mut sink, &mut self.observer)?;
        self.launch_carried(network);
        let timer = self.near.next_wakeup();
        self.set_timer(network, Timer::Near, timer);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn set_timer(&self, network: &mut Network, timer: Timer, at: Option<Time>) {
        network.set_timer(self.timers[timer as usize], at);
    }

    /// True if the ends meet only by the packets of the links, so each may be ahead of the other.
    pub(super) fn meets_by_packets(&self) -> bool {
        !(T::LOOKS || C::CARRIES || self.hears) && self.client == ConnectionEnd::Near
    }

    /// The route of a path's data.
    pub(crate) fn data_route(&self, path: usize) -> RouteId {
        self.routes[path][0]
    }

    /// Whether all written data is acknowledged. The far end writes only if it is the client.
    pub(super) fn is_drained(&self) -> bool {
        self.near.is_drained() && (self.client == ConnectionEnd::Near || self.far.is_drained())
    }

    /// Number of paths.
    pub(crate) fn paths(&self) -> usize {
        self.routes.len()
    }

    /// Payload bytes that the application has written; `u64::MAX` for an endless stream.
    pub(crate) const fn written_bytes(&self) -> u64 {
        self.written_bytes
    }
}

/// Sends the packets of one end over its routes.
struct RouteSink<'a, T, C> {
    network: &'a mut Network,
    routes: &'a [[RouteId; 2]],
    overhead: &'a Overhead,
    tap: &'a mut T,
    carrier: &'a mut C,
    others: &'a mut u64,
    direction: Direction,
}

impl<T: Tap, C: Carrier> Sink for RouteSink<'_, T, C> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(&mut self, transmit: &Transmit<'_>) {
        if C::CARRIES {
            self.carrier.carry(self.network.now, self.direction, transmit);
            return;
        }
        let &Transmit { path, packet, transmission, origin } = transmit;
        let (bytes, data) = (self.overhead.wire_bytes(packet), packet.carries_data());
        *self.others += u64::from(!data);
        let number = if data { transmission } else { *self.others };
        if T::LOOKS {
            let id = PacketId { path, direction: self.direction, data, number };
            self.tap.sent(&Sighting { time: self.network.now, id, packet, bytes }, origin);
        }
        let route = self.routes[path.index()][usize::from(self.direction == Direction::Backward)];
        self.network.send(route, packet, number, bytes);
    }
}
