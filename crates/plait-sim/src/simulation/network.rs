//! The links of a run, the routes over them, and the agenda: everything between the endpoints.

use super::events::{At, Events};
use super::flying::{Flying, MOST_LEGS, PacketStore, Packing};
use super::layout::Layout;
use super::tap::PacketId;
use crate::agenda::EventKey;
use crate::link::{Admission, Exit, Link, QueueReport};
use crate::scenario::{Direction, Hop};
use plait_sched::{Duration, PathId, Time};
use plait_transport::packet::{Packet, PacketRef};

/// The end of a route: an end of a connection, or a sink of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// 0 is the scenario's own connection, the others are its flows.
    pub(super) connection: u32,
    /// The connection's path.
    pub(super) path: u8,
    /// Forward with the connection's data, or backward with its acknowledgements.
    pub(super) direction: Direction,
}

/// One link of a route. The legs of a route are consecutive.
#[derive(Clone, Copy, Debug)]
struct Leg {
    link: u32,
    route: u32,
    last: bool,
}

/// Counters of the packets of one route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RouteCounters {
    /// Packets put on the route.
    pub(crate) sent: u64,
    /// Copies that links made on the way.
    pub(crate) copied: u64,
    /// Packets that reached the end of the route.
    pub(crate) arrived: u64,
    /// Packets lost on a wire.
    pub(crate) lost: u64,
    /// Packets that found a queue full, or were dropped by its discipline.
    pub(crate) dropped: u64,
}

#[derive(Clone, Copy, Debug)]
struct Route {
    end: End,
    first: u32,
    counters: RouteCounters,
}

/// The number of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RouteId(u32);

/// A connection's packet at the end of its route. Its reader returns it with [`Network::close`].
pub(super) struct Arrival {
    pub(super) end: End,
    pub(super) number: u64,
    pub(super) packet: Box<Packet>,
    /// Its place among the packets that are stored whole.
    stored: Option<u32>,
}

/// Links, routes and pending events. The links are the first sources of events.
pub(crate) struct Network {
    pub(super) events: Events,
    links: Vec<Link<Flying>>,
    legs: Vec<Leg>,
    routes: Vec<Route>,
    store: PacketStore,
    pub(crate) now: Time,
    /// Losses and copies of the scenario's own packets, if a tap or a carrier needs them.
    fates: Option<Vec<(Fate, Whose)>>,
}

/// A loss or a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// The packet, or its copy, never arrives.
    Gone,
    /// A link made a copy of the packet.
    Copied,
}

/// The packet that a fate concerns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Whose {
    /// A packet of the scenario's own connection.
    Packet(PacketId),
    /// A carrier's datagram.
    Carried(u64),
}

impl Network {
    /// The network of `scenario`. Other sources of events than its links are at these `sides`.
    pub(super) fn new(layout: &mut Layout, timers: &[At]) -> Self {
        let sides = [&layout.sides(), timers].concat();
        let links = std::mem::take(&mut layout.links);
        Self {
            events: Events::new(&sides),
            links,
            legs: Vec::new(),
            routes: Vec::new(),
            store: PacketStore::default(),
            now: Time::ZERO,
            fates: None,
        }
    }

    /// Makes [`Network::next_fate`] report losses and copies from now on.
    pub(super) fn watch(&mut self) {
        self.fates = Some(Vec::new());
    }

    /// Returns a loss or a copy that has not been reported yet.
    pub(super) fn next_fate(&mut self) -> Option<(Fate, Whose)> {
        self.fates.as_mut()?.pop()
    }

    /// Removes a packet that never arrives.
    #[inline(never)]
    fn forget(&mut self, flying: &Flying) {
        self.store.forget(flying);
        self.note(Fate::Gone, flying);
    }

    /// Returns the packet that continues. The other one of packet and copy is still inside the
    /// link.
    #[cold]
    #[inline(never)]
    fn copy(&mut self, flying: &Flying) -> Flying {
        let route = self.legs[flying.leg()].route;
        self.routes[route as usize].counters.copied += 1;
        self.note(Fate::Copied, flying);
        self.store.copy(flying)
    }

    fn note(&mut self, fate: Fate, flying: &Flying) {
        let End { connection, path, direction } = self.end(flying);
        let Some(fates) = &mut self.fates else { return };
        if let Some(number) = flying.carried_number() {
            fates.push((fate, Whose::Carried(number)));
        } else if let (0, Some((number, data))) = (connection, flying.number()) {
            fates.push((fate, Whose::Packet(PacketId { path: PathId(path), direction, data, number })));
        }
    }

    fn end(&self, flying: &Flying) -> End {
        self.routes[self.legs[flying.leg()].route as usize].end
    }

    /// Number of links among the sources of events.
    pub(super) fn link_count(&self) -> usize {
        self.links.len()
    }

    /// The shortest time from the sending of a packet to its arrival at the other end. Zero if that
    /// is not known: with several links on a route, or with a queue that decides later.
    pub(super) fn lookahead(&self) -> Duration {
        let single = self.legs.iter().all(|leg| leg.last);
        let least = self.links.iter().map(|link| link.lookahead().unwrap_or_default()).min();
        least.filter(|_| single).unwrap_or_default()
    }

    /// Adds a route over `hops`, taken in this direction of the scenario.
    pub(super) fn add_route(
        &mut self,
        layout: &Layout,
        hops: &[Hop],
        direction: Direction,
        end: End,
    ) -> RouteId {
        let (first, route) = (self.legs.len() as u32, self.routes.len() as u32);
        let links = hops.iter().filter_map(|&hop| layout.link(hop, direction));
        self.legs.extend(links.map(|link| Leg { link, route, last: false }));
        assert!(self.legs.len() > first as usize, "a route has at least one link");
        assert!(self.legs.len() <= MOST_LEGS, "{} legs", self.legs.len());
        if let Some(leg) = self.legs.last_mut() {
            leg.last = true;
        }
        self.routes.push(Route { end, first, counters: RouteCounters::default() });
        RouteId(route)
    }

    /// Puts a connection's packet on a route.
    #[inline]
    pub(super) fn send(&mut self, route: RouteId, packet: PacketRef<'_>, number: u64, bytes: u32) {
        let leg = self.begin(route);
        let (link, order) = (self.legs[leg].link as usize, self.events.next_order());
        let packing = Packing { packet, number, leg, store: &mut self.store };
        match self.links[link].send_as(self.now, bytes, order, packing) {
            Admission::Queued => {}
            Admission::First => self.reschedule(link),
            Admission::DroppedFull => {
                let flying = self.store.pack(packet, number, leg);
                self.drop(&flying);
            }
        }
    }

    /// Puts a datagram on a route.
    pub(super) fn send_datagram(&mut self, route: RouteId, bytes: u32) {
        let leg = self.begin(route);
        self.put(Flying::datagram(self.now).on(leg), bytes);
    }

    /// Puts a carrier's datagram on a route.
    pub(super) fn send_carried(&mut self, route: RouteId, number: u64, bytes: u32) {
        let leg = self.begin(route);
        self.put(Flying::carried(number).on(leg), bytes);
    }

    /// Counts a packet on its route, and returns its first leg.
    #[inline]
    fn begin(&mut self, route: RouteId) -> usize {
        let route = &mut self.routes[route.0 as usize];
        route.counters.sent += 1;
        route.first as usize
    }

    /// Puts a packet on the link of its leg.
    #[inline(never)]
    fn put(&mut self, flying: Flying, bytes: u32) {
        let (link, order) = (self.legs[flying.leg()].link as usize, self.events.next_order());
        match self.links[link].send(self.now, bytes, order, flying) {
            Admission::Queued => {}
            Admission::First => self.reschedule(link),
            Admission::DroppedFull => self.drop(&flying),
        }
    }

    /// A wire loses a packet.
    #[inline(never)]
    fn lose(&mut self, flying: &Flying) {
        let route = self.legs[flying.leg()].route;
        self.routes[route as usize].counters.lost += 1;
        self.forget(flying);
    }

    /// A queue drops silently, like real queues: the sender detects the loss by itself.
    #[inline(never)]
    fn drop(&mut self, flying: &Flying) {
        let route = self.legs[flying.leg()].route;
        self.routes[route as usize].counters.dropped += 1;
        self.forget(flying);
    }

    /// Passes a packet on at the end of a leg that is not its last.
    #[inline(never)]
    fn pass_on(&mut self, flying: Flying, bytes: u32) {
        self.put(flying.on(flying.leg() + 1), bytes);
    }

    /// Takes the next packet out of `link`. Returns it if it has reached the end of its route.
    #[inline]
    pub(super) fn pop(&mut self, link: usize) -> Option<(End, Flying)> {
        let (exit, bytes) = self.links[link].pop_sized();
        if let Some(next) = self.links[link].next() {
            self.store.announce(next);
        }
        self.reschedule(link);
        let exit = match exit {
            Exit::Copied(flying) => Exit::Delivered(self.copy(&flying)),
            exit => exit,
        };
        match exit {
            Exit::Nothing | Exit::Copied(_) => None,
            Exit::Lost(flying) => {
                self.lose(&flying);
                None
            }
            Exit::Dropped(flying) => {
                self.drop(&flying);
                None
            }
            Exit::Delivered(flying) => {
                let leg = self.legs[flying.leg()];
                if !leg.last {
                    self.pass_on(flying, bytes);
                    return None;
                }
                let route = &mut self.routes[leg.route as usize];
                route.counters.arrived += 1;
                Some((route.end, flying))
            }
        }
    }

    /// Opens a connection's packet at the end of its route. `None` for a datagram, which nobody
    /// reads.
    pub(super) fn open(&mut self, end: End, flying: &Flying) -> Option<Arrival> {
        let (number, _) = flying.number()?;
        let stored = flying.place();
        Some(Arrival { end, number, packet: self.store.take(flying, stored)?, stored })
    }

    /// [`Network::pop`] and [`Network::open`] for a link that keeps the order of its packets and ends
    /// all its routes. The packet is read from the place where it was written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pop_open(&mut self, link: usize) -> Option<Arrival> {
        let place = &mut self.links[link];
        let next = place.second();
        if let Some((_, next)) = next {
            self.store.announce(next);
        }
        self.events.set(link, next.map(|(key, _)| key));
        let (arrived, flying) = place.pass();
        if !arrived {
            let flying = *flying;
            self.lose(&flying);
            return None;
        }
        let route = &mut self.routes[self.legs[flying.leg()].route as usize];
        route.counters.arrived += 1;
        let (number, stored) = (flying.counter(), flying.place());
        let packet = self.store.take(flying, stored).expect("a connection's packet is packed or stored");
        Some(Arrival { end: route.end, number, packet, stored })
    }

    /// True if [`Network::pop_open`] takes packets from this source, when no route has several links.
    pub(super) fn keeps_order(&self, source: usize) -> bool {
        self.links.get(source).is_some_and(Link::keeps_order)
    }

    /// Returns a packet that was read.
    #[inline]
    pub(super) fn close(&mut self, Arrival { packet, stored, .. }: Arrival) {
        self.store.put_back(stored, packet);
    }

    #[inline]
    fn reschedule(&mut self, link: usize) {
        self.events.set(link, self.links[link].head());
    }

    /// Sets a timer. If the new time is later, the timer keeps its earlier time: it then expires
    /// too early, which is harmless, and is set again. Retransmission timers move with every
    /// acknowledgement and hardly ever expire.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set_timer(&mut self, source: usize, at: Option<Time>) {
        let Some(at) = at else { return };
        if self.events.get(source).is_none_or(|pending| at < pending.time) {
            let order = self.events.next_order();
            self.events.set(source, Some(EventKey { time: at.max(self.now), since: self.now, order }));
        }
    }

    /// The counters of a route so far.
    pub(crate) fn counters(&self, route: RouteId) -> RouteCounters {
        self.routes[route.0 as usize].counters
    }

    /// The report of each link's discipline since the last restart, in the order of the links;
    /// `None` for drop-tail.
    pub(super) fn reports(&self) -> Vec<Option<QueueReport>> {
        self.links.iter().map(Link::report).collect()
    }

    /// Restarts the reports.
    pub(super) fn restart_reports(&mut self) {
        self.links.iter_mut().for_each(Link::restart_report);
    }

    /// Packets of all senders that wait in the queues along a route.
    pub(super) fn waiting(&mut self, route: RouteId) -> u64 {
        let first = self.routes[route.0 as usize].first as usize;
        let mut waiting = 0;
        for leg in &self.legs[first..] {
            waiting += self.links[leg.link as usize].queue_packets(self.now);
            if leg.last {
                break;
            }
        }
        waiting
    }

    /// Checks the conservation of packets. Each packet that a link accepted or copied was
    /// delivered, was lost, or is inside. Each packet that was put on a route, or copied there,
    /// arrived, was lost, was dropped, or is inside a link. A copy counts on its route when the
    /// first of the two leaves its link.
    pub(super) fn is_conserved(&self) -> bool {
        let links = self.links.iter().all(|link| {
            let counters = link.counters();
            let out = counters.delivered + counters.lost + counters.discarded;
            counters.accepted + counters.duplicated == out + link.inside() as u64
        });
        let inside: u64 = self.links.iter().map(|link| link.inside() as u64).sum();
        let uncounted: u64 = self.links.iter().map(Link::copies_to_come).sum();
        let put = |counters: &RouteCounters| counters.sent + counters.copied;
        let gone = |counters: &RouteCounters| counters.arrived + counters.lost + counters.dropped;
        let routes = self.routes.iter().all(|route| put(&route.counters) >= gone(&route.counters));
        let under_way: u64 =
            self.routes.iter().map(|route| put(&route.counters) - gone(&route.counters)).sum();
        links && routes && under_way + uncounted == inside
    }
}
