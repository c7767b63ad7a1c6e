//! The links of a run, the routes over them, and the agenda: everything between the endpoints.

use super::events::{At, Events, Place};
use super::flying::{Flying, MOST_LEGS, PacketStore};
use super::layout::Layout;
use super::routes::{End, Leg, RouteCounters, RouteId};
use super::tap::PacketId;
use crate::agenda::EventKey;
use crate::link::{Admission, Exit, Link, QueueReport};
use crate::scenario::{Direction, Hop};
use plait_sched::{Duration, PathId, Time};
use plait_transport::packet::{Packet, PacketRef};

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
        self.legs[flying.leg()].counters.copied += 1;
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
        self.legs[flying.leg()].end
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
        let first = self.legs.len();
        let links = hops.iter().filter_map(|&hop| layout.link(hop, direction));
        let counters = RouteCounters::default();
        self.legs.extend(links.map(|link| Leg { link, last: false, end, counters }));
        assert!(self.legs.len() > first, "a route has at least one link");
        assert!(self.legs.len() <= MOST_LEGS, "{} legs", self.legs.len());
        if let Some(leg) = self.legs.last_mut() {
            leg.last = true;
        }
        RouteId { leg: first as u32, link: self.legs[first].link }
    }

    /// Puts a connection's packet on a route.
    #[inline]
    pub(super) fn send(&mut self, route: RouteId, packet: PacketRef<'_>, number: u64, bytes: u32) {
        let leg = self.begin(route);
        let place = &mut self.links[route.link as usize];
        if !place.is_steady() {
            let flying = self.store.pack(packet, number, leg);
            return self.put(flying, bytes);
        }
        let (order, packing) = (self.events.next_order(), || self.store.pack_here(packet, number, leg));
        match place.send_steadily(self.now, bytes, order, packing) {
            Admission::Queued => {}
            Admission::First => self.reschedule(route.link as usize),
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
        self.legs[route.leg as usize].counters.sent += 1;
        route.leg as usize
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
        self.legs[flying.leg()].counters.lost += 1;
        self.forget(flying);
    }

    /// A queue drops silently, like real queues: the sender detects the loss by itself.
    #[inline(never)]
    fn drop(&mut self, flying: &Flying) {
        self.legs[flying.leg()].counters.dropped += 1;
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
                let leg = &mut self.legs[flying.leg()];
                if !leg.last {
                    self.pass_on(flying, bytes);
                    return None;
                }
                leg.counters.arrived += 1;
                Some((leg.end, flying))
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
    /// all its routes. Its packets arrive at this end. The packet is read from the place where it
    /// was written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pop_open(&mut self, at: At, source: Place, link: usize) -> Option<Arrival> {
        let place = &mut self.links[link];
        let next = place.second().map(|(key, next)| {
            self.store.announce(next);
            key
        });
        let (arrived, flying) = place.pass();
        match next {
            Some(key) => self.events.set(source, key),
            None => self.events.set(source, EventKey::NEVER),
        }
        if !arrived {
            let flying = *flying;
            self.lose(&flying);
            return None;
        }
        let leg = &mut self.legs[flying.leg()];
        leg.counters.arrived += 1;
        let (number, stored) = (flying.counter(), flying.place());
        let packet = self.store.take(flying, stored).expect("a connection's packet is packed or stored");
        // Known to the compiler, unlike that of the leg.
        let direction = if at == At::Far { Direction::Forward } else { Direction::Backward };
        Some(Arrival { end: End { direction, ..leg.end }, number, packet, stored })
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
        let source = self.events.place(link);
        self.events.set(source, self.links[link].head().unwrap_or(EventKey::NEVER));
    }

    /// Sets a timer. If the new time is later, the timer keeps its earlier time: it then expires
    /// too early, which is harmless, and is set again. Retransmission timers move with every
    /// acknowledgement and hardly ever expire.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn set_timer(&mut self, source: Place, at: Option<Time>) {
        let Some(at) = at else { return };
        if at < self.events.key(source).time {
            let order = self.events.next_order();
            self.events.set(source, EventKey { time: at.max(self.now), since: self.now, order });
        }
    }

    /// The counters of a route so far.
    pub(crate) fn counters(&self, route: RouteId) -> RouteCounters {
        self.legs_of(route).map(|leg| leg.counters).sum()
    }

    /// The legs of a route.
    fn legs_of(&self, route: RouteId) -> impl Iterator<Item = &Leg> {
        self.legs[route.leg as usize..].split_inclusive(|leg| leg.last).next().unwrap_or_default().iter()
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
        let mut waiting = 0;
        for leg in &self.legs[route.leg as usize..] {
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
        let routes = self.legs.split_inclusive(|leg| leg.last);
        let under_way = routes.map(|legs| {
            let RouteCounters { sent, copied, arrived, lost, dropped } =
                legs.iter().map(|leg| leg.counters).sum();
            (sent + copied).checked_sub(arrived + lost + dropped)
        });
        let under_way: Option<u64> = under_way.sum();
        links && under_way.is_some_and(|under_way| under_way + uncounted == inside)
    }
}
